/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/prepared.c: who finds which entry, what lives on and what goes, the slots of a backend. */
#include "pool/prepared.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_ENTRIES = 8, MAX_BYTES = 64 * 1024 };

static struct names *names;
static struct prepared_cache *cache;
static struct session_state shop;  /* schema shop */
static struct session_state stock; /* schema stock */
static const struct prepared_facts facts = {.flags = 5, .kinds = 6, .kind = 7};

static int setup(void **state)
{
    (void)state;
    names = names_new();
    cache = prepared_cache_new(names, MAX_ENTRIES, MAX_BYTES);
    session_state_set_schema(names, &shop, bytes_text("shop"));
    session_state_set_schema(names, &stock, bytes_text("stock"));
    return 0;
}

/* Every test leaves nobody who refers to an entry, or this ends the program. */
static int teardown(void **state)
{
    (void)state;
    prepared_cache_free(cache);
    prepared_cache_free(NULL);
    session_state_fini(names, &shop);
    session_state_fini(names, &stock);
    assert_int_equal(names_count(names), 0);
    names_free(names);
    return 0;
}

static struct prepared *add_in(const struct session_state *in, const char *text, bool shared)
{
    struct prepared *p = prepared_add(cache, in, bytes_text(text), &facts, shared);
    prepared_set_reply(cache, p, bytes_text("reply"), 2, 3);
    return p;
}

static struct prepared *add(const char *text)
{
    return add_in(&shop, text, true);
}

static struct prepared *add_number(int i)
{
    char text[32];
    (void)snprintf(text, sizeof text, "SELECT %d", i);
    return add(text);
}

/* Is it found? Leaves no reference, but makes it the last used one. */
static bool is_known(const struct session_state *in, struct bytes text)
{
    struct prepared *p = prepared_find(cache, in, text);
    if (p)
        prepared_unref(cache, p);
    return p != NULL;
}

static bool number_is_known(int i)
{
    char text[32];
    (void)snprintf(text, sizeof text, "SELECT %d", i);
    return is_known(&shop, bytes_text(text));
}

static void count_one(void *ctx, const struct prepared *p)
{
    assert_non_null(p->text);
    ++*(size_t *)ctx;
}

static size_t count_each(void)
{
    size_t n = 0;
    prepared_cache_each(cache, count_one, &n);
    return n;
}

/* ---- finding ---- */

static void an_entry_is_found_by_its_text_and_state_alone(void **state)
{
    (void)state;
    struct prepared *p = add("SELECT ?");
    struct prepared *found = prepared_find(cache, &shop, bytes_text("SELECT ?"));
    assert_ptr_equal(found, p);
    assert_int_equal(p->refs, 2);
    prepared_unref(cache, found);
    assert_false(is_known(&stock, bytes_text("SELECT ?")));
    assert_false(is_known(&shop, bytes_text("select ?")));
    assert_false(is_known(&shop, bytes_text("SELECT ? ")));
    assert_false(is_known(&shop, bytes_text("SELECT ")));
    assert_false(is_known(&shop, bytes_of(NULL, 0)));
    prepared_unref(cache, p);
    assert_true(is_known(&shop, bytes_text("SELECT ?")));
}

static void one_text_in_two_states_is_two_entries(void **state)
{
    (void)state;
    struct prepared *a = add_in(&shop, "SELECT ?", true);
    struct prepared *b = add_in(&stock, "SELECT ?", true);
    assert_ptr_not_equal(a, b);
    assert_int_equal(prepared_count(cache), 2);
    assert_true(session_state_equal(&b->state, &stock));
    struct prepared *found = prepared_find(cache, &stock, bytes_text("SELECT ?"));
    assert_ptr_equal(found, b);
    prepared_unref(cache, found);
    prepared_unref(cache, b);
    prepared_unref(cache, a);
}

static void bytes_of_value_zero_are_part_of_the_text(void **state)
{
    static const char text[] = "SELECT 'a\0b'";
    (void)state;
    struct prepared *p = prepared_add(cache, &shop, bytes_of(text, sizeof text - 1), &facts, true);
    prepared_set_reply(cache, p, bytes_text("reply"), 0, 1);
    assert_true(is_known(&shop, bytes_of(text, sizeof text - 1)));
    assert_false(is_known(&shop, bytes_text(text)));
    assert_false(is_known(&shop, bytes_of("SELECT 'a\0c'", sizeof text - 1)));
    prepared_unref(cache, p);
}

/* One that differs in its last byte alone, and by one more: as long as texts get. */
static void long_texts_are_compared_to_their_last_byte(void **state)
{
    enum { LONG = 100 * 1024 };
    char *text = malloc(LONG + 1);
    (void)state;
    memset(text, 'x', LONG + 1);
    struct prepared *p = prepared_add(cache, &shop, bytes_of(text, LONG), &facts, true);
    prepared_set_reply(cache, p, bytes_text("reply"), 0, 1);
    assert_true(is_known(&shop, bytes_of(text, LONG)));
    assert_false(is_known(&shop, bytes_of(text, LONG + 1)));
    assert_false(is_known(&shop, bytes_of(text, LONG - 1)));
    text[LONG - 1] = 'y';
    assert_false(is_known(&shop, bytes_of(text, LONG)));
    prepared_unref(cache, p);
    free(text);
}

static void what_the_caller_gave_is_copied(void **state)
{
    char text[] = "SELECT ?";
    char reply[] = "reply";
    (void)state;
    struct prepared *p = prepared_add(cache, &shop, bytes_text(text), &facts, true);
    prepared_set_reply(cache, p, bytes_text(reply), 1, 2);
    memset(text, 0, sizeof text);
    memset(reply, 0, sizeof reply);
    assert_true(is_known(&shop, bytes_text("SELECT ?")));
    assert_int_equal(p->reply_bytes, 5);
    assert_memory_equal(p->reply, "reply", 5);
    assert_int_equal(p->parameters, 1);
    assert_int_equal(p->columns, 2);
    assert_int_equal(p->facts.flags, 5);
    assert_int_equal(p->facts.kinds, 6);
    assert_int_equal(p->facts.kind, 7);
    prepared_unref(cache, p);
}

static void an_entry_without_a_reply_is_not_found_and_not_kept(void **state)
{
    (void)state;
    struct prepared *p = prepared_add(cache, &shop, bytes_text("SELECT ?"), &facts, true);
    assert_false(is_known(&shop, bytes_text("SELECT ?")));
    assert_int_equal(prepared_count(cache), 1);
    prepared_unref(cache, p); /* the server refused it */
    assert_int_equal(prepared_count(cache), 0);
    assert_int_equal(count_each(), 0);
}

static void an_unshared_entry_is_its_owners_alone(void **state)
{
    (void)state;
    struct prepared *p = add_in(&shop, "SELECT ?", false);
    assert_false(is_known(&shop, bytes_text("SELECT ?")));
    assert_int_equal(prepared_count(cache), 0);
    assert_int_equal(count_each(), 1);
    prepared_unref(cache, p);
    assert_int_equal(count_each(), 0);
}

/* ---- replacing ---- */

static void a_replaced_entry_lives_on_for_those_who_refer_to_it(void **state)
{
    (void)state;
    struct prepared *old = add("SELECT ?");
    struct prepared *fresh = prepared_add(cache, &shop, bytes_text("SELECT ?"), &facts, true);
    assert_ptr_not_equal(old, fresh);
    assert_false(old->shared);
    assert_int_equal(old->refs, 1);
    assert_string_equal(old->text, "SELECT ?");
    assert_memory_equal(old->reply, "reply", 5);
    assert_int_equal(prepared_count(cache), 1);
    assert_false(is_known(&shop, bytes_text("SELECT ?"))); /* no reply yet */
    prepared_set_reply(cache, fresh, bytes_text("another reply"), 2, 4);
    struct prepared *found = prepared_find(cache, &shop, bytes_text("SELECT ?"));
    assert_ptr_equal(found, fresh);
    prepared_unref(cache, found);
    prepared_unref(cache, old);
    assert_int_equal(count_each(), 1);
    prepared_unref(cache, fresh);
}

static void a_replaced_entry_that_nobody_refers_to_goes_at_once(void **state)
{
    (void)state;
    prepared_unref(cache, add("SELECT ?"));
    prepared_unref(cache, add("SELECT ?"));
    assert_int_equal(prepared_count(cache), 1);
    assert_int_equal(count_each(), 1);
}

static void an_unshared_one_replaces_nothing(void **state)
{
    (void)state;
    struct prepared *p = add("SELECT ?");
    prepared_unref(cache, add_in(&shop, "SELECT ?", false));
    struct prepared *found = prepared_find(cache, &shop, bytes_text("SELECT ?"));
    assert_ptr_equal(found, p);
    prepared_unref(cache, found);
    prepared_unref(cache, p);
}

static void unsharing_hides_an_entry_from_others(void **state)
{
    (void)state;
    struct prepared *p = add("SELECT ?");
    prepared_unshare(cache, p);
    prepared_unshare(cache, p);
    assert_false(is_known(&shop, bytes_text("SELECT ?")));
    assert_int_equal(prepared_count(cache), 0);
    assert_int_equal(count_each(), 1);
    prepared_unref(cache, p);
    assert_int_equal(count_each(), 0);

    p = add("SELECT ?");
    prepared_unref(cache, p);
    prepared_unshare(cache, p); /* frees it */
    assert_int_equal(count_each(), 0);
}

static void forgotten_replies_are_asked_for_anew(void **state)
{
    (void)state;
    struct prepared *p = add("SELECT 1");
    struct prepared *q = add("SELECT 2");
    prepared_unref(cache, add("SELECT 3"));
    prepared_forget_replies(cache);
    assert_int_equal(count_each(), 2);
    assert_false(is_known(&shop, bytes_text("SELECT 1")));
    assert_memory_equal(p->reply, "reply", 5); /* for who has it */
    prepared_set_reply(cache, p, bytes_text("longer reply"), 2, 4);
    assert_true(is_known(&shop, bytes_text("SELECT 1")));
    assert_int_equal(p->columns, 4);
    assert_memory_equal(p->reply, "longer reply", 12);
    prepared_unref(cache, p);
    prepared_unref(cache, q);
    assert_int_equal(prepared_count(cache), 1); /* q had an old reply */
}

/* ---- bounds ---- */

static void the_least_recently_used_goes_first_by_count(void **state)
{
    (void)state;
    for (int i = 0; i < MAX_ENTRIES; i++)
        prepared_unref(cache, add_number(i));
    assert_int_equal(prepared_count(cache), MAX_ENTRIES);
    assert_true(number_is_known(0)); /* which is used last now */
    prepared_unref(cache, add_number(100));
    assert_int_equal(prepared_count(cache), MAX_ENTRIES);
    assert_true(number_is_known(0));
    assert_false(number_is_known(1));
    for (int i = 2; i < MAX_ENTRIES; i++)
        assert_true(number_is_known(i));
    assert_true(number_is_known(100));
}

static void the_least_recently_used_go_first_by_bytes(void **state)
{
    enum { LONG = MAX_BYTES / 4 };
    char *text = calloc(1, LONG);
    (void)state;
    for (char c = 'a'; c <= 'd'; c++) { /* three and what they cost besides fit */
        memset(text, c, LONG);
        struct prepared *p = prepared_add(cache, &shop, bytes_of(text, LONG), &facts, true);
        prepared_set_reply(cache, p, bytes_text("reply"), 0, 1);
        prepared_unref(cache, p);
    }
    assert_int_equal(prepared_count(cache), 3);
    memset(text, 'a', LONG);
    assert_false(is_known(&shop, bytes_of(text, LONG)));
    memset(text, 'b', LONG);
    assert_true(is_known(&shop, bytes_of(text, LONG)));
    free(text);
}

static void an_entry_above_the_bound_goes_when_nobody_refers_to_it(void **state)
{
    uint8_t *reply = calloc(1, MAX_BYTES);
    (void)state;
    struct prepared *small = add_number(1);
    prepared_unref(cache, small);
    struct prepared *p = add("SELECT ?");
    prepared_set_reply(cache, p, bytes_of(reply, MAX_BYTES), 1, 1);
    assert_true(is_known(&shop, bytes_text("SELECT ?")));
    prepared_unref(cache, p);
    assert_false(is_known(&shop, bytes_text("SELECT ?")));
    free(reply);
}

static void those_in_use_are_not_counted(void **state)
{
    enum { MANY = 3 * MAX_ENTRIES };
    struct prepared *p[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++)
        p[i] = add_number(i);
    assert_int_equal(prepared_count(cache), MANY);
    prepared_cache_trim(cache);
    assert_int_equal(prepared_count(cache), MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(number_is_known(i));
    for (int i = 0; i < MANY; i++)
        prepared_unref(cache, p[i]);
    assert_int_equal(prepared_count(cache), MAX_ENTRIES);
    assert_int_equal(count_each(), MAX_ENTRIES);
    prepared_cache_trim(cache);
    assert_int_equal(prepared_count(cache), 0);
}

static size_t heap_bytes(void)
{
    return mallinfo2().uordblks;
}

/* All open at once, so that the table grows; then closed, in an order of its own. */
static void a_hundred_thousand_texts_leave_bounded_memory(void **state)
{
    enum { MANY = 100000, STEP = 7919, LEFT_BYTES = MAX_BYTES + 16 * 1024 };
    (void)state;
    struct prepared **p = calloc(MANY, sizeof(struct prepared *));
    size_t before = heap_bytes();
    for (int i = 0; i < MANY; i++)
        p[i] = add_number(i);
    assert_int_equal(prepared_count(cache), MANY);
    for (int i = 0; i < MANY; i += 997)
        assert_true(number_is_known(i));
    for (size_t i = 0, at = 0; i < MANY; i++, at = (at + STEP) % MANY)
        prepared_unref(cache, p[at]);
    assert_int_equal(prepared_count(cache), MAX_ENTRIES);
    assert_true(heap_bytes() <= before + LEFT_BYTES); /* 0 <= 0 under the sanitizer */
    for (int i = 0; i < MANY; i++)
        prepared_unref(cache, add_number(i));
    assert_int_equal(prepared_count(cache), MAX_ENTRIES);
    assert_true(heap_bytes() <= before + LEFT_BYTES);
    free(p);
}

/* ---- slots ---- */

static void a_slot_gives_the_id_and_holds_a_reference(void **state)
{
    struct prepared_slots slots = {0};
    (void)state;
    struct prepared *p = add_number(1);
    assert_int_equal(prepared_slots_find(&slots, p, NULL), 0);
    assert_int_equal(prepared_slots_put(&slots, cache, p, 17, NULL, 4), 0);
    assert_int_equal(p->refs, 2);
    prepared_unref(cache, p);
    assert_int_equal(prepared_slots_find(&slots, p, NULL), 17);
    assert_int_equal(prepared_slots_take(&slots, cache, p, NULL), 17);
    assert_int_equal(slots.count, 0);
    assert_true(number_is_known(1));
}

static void the_slot_least_recently_used_goes_above_the_limit(void **state)
{
    enum { LIMIT = 20 }; /* more than there is room for at first */
    struct prepared *p[LIMIT + 1];
    struct prepared_slots slots = {0};
    (void)state;
    for (int i = 0; i <= LIMIT; i++)
        p[i] = add_number(i);
    for (int i = 0; i < LIMIT; i++)
        assert_int_equal(prepared_slots_put(&slots, cache, p[i], (uint32_t)i + 1, NULL, LIMIT), 0);
    assert_int_equal(prepared_slots_find(&slots, p[0], NULL), 1);
    assert_int_equal(prepared_slots_put(&slots, cache, p[LIMIT], 99, NULL, LIMIT), 2);
    assert_int_equal(slots.count, LIMIT);
    assert_int_equal(p[1]->refs, 1);
    assert_int_equal(prepared_slots_find(&slots, p[1], NULL), 0);
    assert_int_equal(prepared_slots_find(&slots, p[0], NULL), 1);
    assert_int_equal(prepared_slots_find(&slots, p[LIMIT], NULL), 99);
    prepared_slots_clear(&slots, cache);
    for (int i = 0; i <= LIMIT; i++) {
        assert_int_equal(p[i]->refs, 1);
        prepared_unref(cache, p[i]);
    }
}

static void a_limit_below_one_keeps_the_one_just_put(void **state)
{
    struct prepared_slots slots = {0};
    (void)state;
    struct prepared *p = add_number(1);
    struct prepared *q = add_number(2);
    assert_int_equal(prepared_slots_put(&slots, cache, p, 1, NULL, 0), 0);
    assert_int_equal(prepared_slots_put(&slots, cache, q, 2, NULL, 0), 1);
    assert_int_equal(prepared_slots_find(&slots, q, NULL), 2);
    prepared_slots_clear(&slots, cache);
    prepared_unref(cache, p);
    prepared_unref(cache, q);
}

static void an_entry_put_again_gives_its_earlier_id(void **state)
{
    struct prepared_slots slots = {0};
    (void)state;
    struct prepared *p = add_number(1);
    assert_int_equal(prepared_slots_put(&slots, cache, p, 5, NULL, 1), 0);
    assert_int_equal(prepared_slots_put(&slots, cache, p, 6, NULL, 1), 5);
    assert_int_equal(prepared_slots_put(&slots, cache, p, 6, NULL, 1), 0);
    assert_int_equal(slots.count, 1);
    assert_int_equal(p->refs, 2);
    assert_int_equal(prepared_slots_take(&slots, cache, p, NULL), 6);
    assert_int_equal(prepared_slots_take(&slots, cache, p, NULL), 0);
    prepared_unref(cache, p);
}

static void slots_are_taken_in_the_order_of_their_last_use(void **state)
{
    struct prepared *p[3];
    struct prepared_slots slots = {.clock = UINT32_MAX - 2}; /* it wraps on the way */
    (void)state;
    for (int i = 0; i < 3; i++) {
        p[i] = add_number(i);
        (void)prepared_slots_put(&slots, cache, p[i], (uint32_t)i + 1, NULL, 8);
    }
    assert_int_equal(prepared_slots_find(&slots, p[1], NULL), 2);
    assert_int_equal(prepared_slots_find(&slots, p[0], NULL), 1);
    assert_int_equal(prepared_slots_take_any(&slots, cache), 3);
    assert_int_equal(prepared_slots_take_any(&slots, cache), 2);
    assert_int_equal(prepared_slots_take_any(&slots, cache), 1);
    assert_int_equal(prepared_slots_take_any(&slots, cache), 0);
    assert_null(slots.slot);
    for (int i = 0; i < 3; i++)
        prepared_unref(cache, p[i]);
}

static void asking_whether_it_is_there_does_not_use_a_slot(void **state)
{
    struct prepared_slots slots = {0};
    (void)state;
    struct prepared *p = add_number(1);
    struct prepared *q = add_number(2);
    assert_false(prepared_slots_has(&slots, p, NULL));
    (void)prepared_slots_put(&slots, cache, p, 1, NULL, 8);
    (void)prepared_slots_put(&slots, cache, q, 2, NULL, 8);
    assert_true(prepared_slots_has(&slots, p, NULL));
    assert_int_equal(prepared_slots_take_any(&slots, cache), 1);
    assert_false(prepared_slots_has(&slots, p, NULL));
    prepared_slots_clear(&slots, cache);
    prepared_unref(cache, p);
    prepared_unref(cache, q);
}

static void a_slot_keeps_a_replaced_entry_to_the_last(void **state)
{
    struct prepared_slots slots = {0};
    (void)state;
    struct prepared *old = add("SELECT ?");
    (void)prepared_slots_put(&slots, cache, old, 1, NULL, 8);
    prepared_unref(cache, old);
    struct prepared *fresh = add("SELECT ?");
    assert_int_equal(prepared_slots_find(&slots, fresh, NULL), 0);
    assert_int_equal(prepared_slots_find(&slots, old, NULL), 1);
    prepared_slots_clear(&slots, cache); /* frees it */
    assert_int_equal(count_each(), 1);
    prepared_slots_clear(&slots, cache);
    prepared_unref(cache, fresh);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_is_found_by_its_text_and_state_alone),
        TEST(one_text_in_two_states_is_two_entries),
        TEST(bytes_of_value_zero_are_part_of_the_text),
        TEST(long_texts_are_compared_to_their_last_byte),
        TEST(what_the_caller_gave_is_copied),
        TEST(an_entry_without_a_reply_is_not_found_and_not_kept),
        TEST(an_unshared_entry_is_its_owners_alone),
        TEST(a_replaced_entry_lives_on_for_those_who_refer_to_it),
        TEST(a_replaced_entry_that_nobody_refers_to_goes_at_once),
        TEST(an_unshared_one_replaces_nothing),
        TEST(unsharing_hides_an_entry_from_others),
        TEST(forgotten_replies_are_asked_for_anew),
        TEST(the_least_recently_used_goes_first_by_count),
        TEST(the_least_recently_used_go_first_by_bytes),
        TEST(an_entry_above_the_bound_goes_when_nobody_refers_to_it),
        TEST(those_in_use_are_not_counted),
        TEST(a_hundred_thousand_texts_leave_bounded_memory),
        TEST(a_slot_gives_the_id_and_holds_a_reference),
        TEST(the_slot_least_recently_used_goes_above_the_limit),
        TEST(a_limit_below_one_keeps_the_one_just_put),
        TEST(an_entry_put_again_gives_its_earlier_id),
        TEST(slots_are_taken_in_the_order_of_their_last_use),
        TEST(asking_whether_it_is_there_does_not_use_a_slot),
        TEST(a_slot_keeps_a_replaced_entry_to_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
