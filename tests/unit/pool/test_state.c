/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/state.c: interned names and the virtual session state. */
#include "pool/settings.h"
#include "pool/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct names *names;

static int setup(void **state)
{
    (void)state;
    names = names_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    names_free(names);
    return 0;
}

static void assert_text(name_id id, const char *text)
{
    assert_true(bytes_equal(names_text(names, id), bytes_text(text)));
}

static void equal_texts_have_one_number(void **state)
{
    (void)state;
    name_id a = names_ref_text(names, bytes_text("shop"));
    name_id b = names_ref_text(names, bytes_text("shop"));
    name_id c = names_ref_text(names, bytes_text("Shop"));
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_text(a, "shop");
    assert_text(c, "Shop");
    assert_int_equal(names_count(names), 2);
}

static void nothing_is_number_zero(void **state)
{
    (void)state;
    assert_int_equal(names_ref_text(names, bytes_of(NULL, 0)), 0);
    assert_int_equal(names_ref(names, 0), 0);
    names_unref(names, 0);
    assert_int_equal(names_text(names, 0).len, 0);
    assert_int_equal(names_count(names), 0);
}

static void the_last_reference_forgets_and_the_slot_is_used_again(void **state)
{
    (void)state;
    name_id a = names_ref_text(names, bytes_text("one"));
    assert_int_equal(names_ref(names, a), a);
    names_unref(names, a);
    assert_text(a, "one");
    names_unref(names, a);
    assert_int_equal(names_count(names), 0);
    name_id b = names_ref_text(names, bytes_text("two"));
    assert_int_equal(a, b);
    assert_text(b, "two");
    assert_int_equal(names_count(names), 1);
}

/* More than the table starts with, and more than it has buckets: chains and growth. */
static void thousands_of_names_are_told_apart(void **state)
{
    enum { MANY = 3000 };
    static name_id id[MANY];
    char text[32];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "schema%d", i);
        id[i] = names_ref_text(names, bytes_text(text));
    }
    assert_int_equal(names_count(names), MANY);
    for (int i = 0; i < MANY; i += 3) /* out of the middle of chains */
        names_unref(names, id[i]);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "schema%d", i);
        if (i % 3 == 0)
            id[i] = names_ref_text(names, bytes_text(text));
        else
            assert_int_equal(names_ref_text(names, bytes_text(text)), id[i]);
        assert_text(id[i], text);
    }
    assert_int_equal(names_count(names), MANY);
}

static void a_name_of_the_protocols_longest_is_kept_whole(void **state)
{
    uint8_t a[256];
    uint8_t b[256];
    (void)state;
    memset(a, 'x', sizeof a);
    memcpy(b, a, sizeof b);
    b[255] = 'y';
    name_id ia = names_ref_text(names, bytes_of(a, sizeof a));
    name_id ib = names_ref_text(names, bytes_of(b, sizeof b));
    assert_int_not_equal(ia, ib);
    assert_int_equal(names_text(names, ia).len, 256);
}

static void texts_beyond_the_limit_are_cut(void **state)
{
    static uint8_t text[5000];
    (void)state;
    memset(text, 'x', sizeof text);
    name_id id = names_ref_text(names, bytes_of(text, sizeof text));
    assert_int_equal(names_text(names, id).len, 4096);
    assert_int_equal(names_ref_text(names, bytes_of(text, 4096)), id);
}

static void names_may_hold_any_byte(void **state)
{
    (void)state;
    name_id a = names_ref_text(names, bytes_of("a\0b", 3));
    name_id b = names_ref_text(names, bytes_of("a\0c", 3));
    assert_int_not_equal(a, b);
    assert_true(bytes_equal(names_text(names, a), bytes_of("a\0b", 3)));
}

static void a_state_owns_its_names(void **state)
{
    struct session_state a = {0};
    struct session_state b = {0};
    (void)state;
    session_state_set_schema(names, &a, bytes_text("shop"));
    session_state_set_charset(names, &a, bytes_text("utf8mb4"), bytes_text("utf8mb4_bin"),
                              bytes_text("utf8mb4"), 46);
    a.multi_statements = true;
    assert_false(session_state_equal(&a, &b));
    session_state_copy(names, &b, &a);
    assert_true(session_state_equal(&a, &b));
    session_state_fini(names, &a);
    assert_int_equal(names_count(names), 2);
    assert_text(b.schema, "shop");
    assert_text(b.charset, "utf8mb4 utf8mb4_bin utf8mb4 46");
    session_state_copy(names, &b, &b); /* onto itself */
    assert_text(b.schema, "shop");
    session_state_fini(names, &b);
    assert_int_equal(names_count(names), 0);
    assert_int_equal(b.schema, 0);
    assert_false(b.multi_statements);
}

static void each_part_makes_a_state_another(void **state)
{
    struct session_state a = {0};
    struct session_state b = {0};
    (void)state;
    session_state_set_schema(names, &a, bytes_text("one"));
    assert_false(session_state_equal(&a, &b));
    session_state_set_schema(names, &b, bytes_text("one"));
    assert_true(session_state_equal(&a, &b));
    session_state_set_charset(names, &a, bytes_text("latin1"), bytes_text("latin1_swedish_ci"),
                              bytes_text("latin1"), 8);
    assert_false(session_state_equal(&a, &b));
    session_state_set_charset(names, &b, bytes_text("latin1"), bytes_text("latin1_bin"),
                              bytes_text("latin1"), 8);
    assert_false(session_state_equal(&a, &b));
    session_state_set_charset(names, &b, bytes_text("latin1"), bytes_text("latin1_swedish_ci"),
                              bytes_text("latin1"), 47); /* what the columns are told in */
    assert_false(session_state_equal(&a, &b));
    session_state_set_charset(names, &b, bytes_text("latin1"), bytes_text("latin1_swedish_ci"),
                              bytes_text("latin1"), 8);
    assert_true(session_state_equal(&a, &b));
    b.multi_statements = true;
    assert_false(session_state_equal(&a, &b));
    session_state_fini(names, &a);
    session_state_fini(names, &b);
}

static void setting_the_same_again_changes_nothing(void **state)
{
    struct session_state a = {0};
    (void)state;
    session_state_set_schema(names, &a, bytes_text("shop"));
    name_id before = a.schema;
    session_state_set_schema(names, &a, bytes_text("shop"));
    assert_int_equal(a.schema, before);
    session_state_set_schema(names, &a, bytes_text(""));
    assert_int_equal(a.schema, 0);
    assert_int_equal(names_count(names), 0);
}

static void charset_names_of_any_length_are_taken(void **state)
{
    struct session_state a = {0};
    char longer[200];
    (void)state;
    memset(longer, 'd', sizeof longer);
    struct bytes name = bytes_of(longer, sizeof longer);
    session_state_set_charset(names, &a, name, name, name, 65535);
    assert_int_equal(names_text(names, a.charset).len, 3 * 64 + 2 + 6); /* cut */
    session_state_fini(names, &a);
}

static void a_unit_splits_into_its_parts(void **state)
{
    (void)state;
    struct charset_unit u = charset_split(bytes_text("utf8mb4 utf8mb4_general_ci utf8mb4 45"));
    assert_true(bytes_equal(u.client, bytes_text("utf8mb4")));
    assert_true(bytes_equal(u.collation, bytes_text("utf8mb4_general_ci")));
    assert_true(bytes_equal(u.results, bytes_text("utf8mb4")));
    assert_int_equal(u.number, 45);
    assert_true(charset_unit_is_plain(&u));
    u = charset_split(bytes_text("latin1 utf8mb4_bin NULL 0"));
    assert_true(bytes_equal(u.results, bytes_text("NULL")));
    assert_int_equal(u.number, 0);
    assert_false(charset_unit_is_plain(&u));
    u = charset_split(bytes_of(NULL, 0));
    assert_int_equal(u.client.len, 0);
    assert_int_equal(u.number, 0);
}

static void settings_are_part_of_a_state(void **state)
{
    struct session_state a = {0};
    struct session_state b = {0};
    (void)state;
    name_id value[VARIABLES_COUNT] = {0};
    struct settings *none = settings_make(names_settings(names), value);
    session_state_set_settings(names, &a, none);
    assert_false(session_state_equal(&a, &b));
    session_state_copy(names, &b, &a);
    assert_true(session_state_equal(&a, &b));
    settings_unref(names_settings(names), none);
    session_state_fini(names, &a);
    assert_int_equal(settings_count(names_settings(names)), 1);
    session_state_fini(names, &b);
    assert_int_equal(settings_count(names_settings(names)), 0);
}

static void charsets_with_ascii_tails_are_known_by_their_whole_name(void **state)
{
    static const char *const tails[] = {"gbk",   "gbk gbk_bin", "big5 big5_chinese_ci", "sjis",
                                        "cp932", "gb18030",     "gb2312 gb2312_bin"};
    static const char *const none[] = {"", "utf8mb4", "gb", "gbk2 gbk_bin", "latin1 gbk", "ujis"};
    (void)state;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        assert_true(charset_has_ascii_tails(bytes_text(tails[i])));
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(charset_has_ascii_tails(bytes_text(none[i])));
}

#define NAMES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAMES_TEST(equal_texts_have_one_number),
        NAMES_TEST(nothing_is_number_zero),
        NAMES_TEST(the_last_reference_forgets_and_the_slot_is_used_again),
        NAMES_TEST(thousands_of_names_are_told_apart),
        NAMES_TEST(a_name_of_the_protocols_longest_is_kept_whole),
        NAMES_TEST(texts_beyond_the_limit_are_cut),
        NAMES_TEST(names_may_hold_any_byte),
        NAMES_TEST(a_state_owns_its_names),
        NAMES_TEST(each_part_makes_a_state_another),
        NAMES_TEST(setting_the_same_again_changes_nothing),
        NAMES_TEST(charset_names_of_any_length_are_taken),
        cmocka_unit_test(a_unit_splits_into_its_parts),
        NAMES_TEST(settings_are_part_of_a_state),
        cmocka_unit_test(charsets_with_ascii_tails_are_known_by_their_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
