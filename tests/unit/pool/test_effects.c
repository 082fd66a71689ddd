/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/effects.c: texts whose effect and reply are known. */
#include "pool/effects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pool/settings.h"

static struct names *names;
static struct effects *effects;
static struct session_state before, after;

static void into_schema(struct session_state *s, const char *schema)
{
    session_state_set_schema(names, s, bytes_text(schema));
}

static void with_time_zone(struct session_state *s, const char *zone)
{
    name_id value[VARIABLES_COUNT] = {0};
    struct settings_table *table = names_settings(names);
    struct settings *empty = settings_make(table, value);
    struct settings *made = settings_with(table, empty, VARIABLE_time_zone, bytes_text(zone));
    session_state_set_settings(names, s, made);
    settings_unref(table, empty);
    settings_unref(table, made);
}

static int setup(void **state)
{
    (void)state;
    names = names_new();
    effects = effects_new(names);
    into_schema(&before, "shop");
    with_time_zone(&before, "SYSTEM");
    session_state_set_charset(names, &before, bytes_text("utf8mb4"), bytes_text("utf8mb4_bin"),
                              bytes_text("utf8mb4"), 46);
    session_state_copy(names, &after, &before);
    with_time_zone(&after, "+00:00");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    effects_free(effects);
    session_state_fini(names, &before);
    session_state_fini(names, &after);
    size_t left = names_count(names) + settings_count(names_settings(names));
    names_free(names);
    return left ? -1 : 0;
}

/* Out of copies that go, so that what is kept is the table's own. */
static void add_reply(const char *text, bool prepared, bool warned, const char *reply, size_t bytes)
{
    struct session_state b = {0};
    struct session_state a = {0};
    char *t = strdup(text);
    char *r = malloc(bytes ? bytes : 1);
    assert_non_null(t);
    assert_non_null(r);
    memcpy(r, reply, bytes);
    session_state_copy(names, &b, &before);
    session_state_copy(names, &a, &after);
    effects_add(effects, &b, bytes_text(t), prepared, &a, warned, bytes_of(r, bytes));
    session_state_fini(names, &b);
    session_state_fini(names, &a);
    free(t);
    free(r);
}

static void add(const char *text)
{
    add_reply(text, false, false, "reply", 5);
}

static const struct effect *find(const char *text)
{
    return effects_find(effects, &before, bytes_text(text), false);
}

static void what_was_added_is_found_whole(void **state)
{
    (void)state;
    assert_null(find("SET time_zone='+00:00'"));
    add_reply("SET time_zone='+00:00'", false, true, "\7\0\0\1\0\0\0\2\0\1\0", 11);
    const struct effect *e = find("SET time_zone='+00:00'");
    assert_non_null(e);
    assert_true(session_state_equal(&e->before, &before));
    assert_true(session_state_equal(&e->after, &after));
    assert_true(e->warned);
    assert_true(
        bytes_equal(bytes_of(e->reply, e->reply_bytes), bytes_of("\7\0\0\1\0\0\0\2\0\1\0", 11)));
    assert_int_equal(effects_count(effects), 1);
}

static void a_text_is_its_bytes(void **state)
{
    static const char *const others[] = {"SET a=1 ", " SET a=1", "set a=1",
                                         "SET a=",   "SET a=2",  ""};
    (void)state;
    add("SET a=1");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_null(find(others[i]));
    effects_add(effects, &before, bytes_of("SET a=1\0x", 9), false, &after, false,
                bytes_of("other", 5));
    assert_int_equal(effects_count(effects), 2);
    assert_int_equal(find("SET a=1")->reply_bytes, 5);
    assert_int_equal(find("SET a=1")->reply[0], 'r');
    assert_int_equal(effects_find(effects, &before, bytes_of("SET a=1\0x", 9), false)->reply[0],
                     'o');
}

/* Each part of a state by itself. */
static void in_another_state_nothing_is_known(void **state)
{
    struct session_state other = {0};
    (void)state;
    add("SET a=1");
    session_state_copy(names, &other, &before);
    assert_non_null(effects_find(effects, &other, bytes_text("SET a=1"), false));
    into_schema(&other, "blog");
    assert_null(effects_find(effects, &other, bytes_text("SET a=1"), false));
    into_schema(&other, "");
    assert_null(effects_find(effects, &other, bytes_text("SET a=1"), false));

    session_state_copy(names, &other, &before);
    with_time_zone(&other, "+02:00");
    assert_null(effects_find(effects, &other, bytes_text("SET a=1"), false));
    session_state_copy(names, &other, &before);
    session_state_set_charset(names, &other, bytes_text("utf8mb4"), bytes_text("utf8mb4_bin"),
                              bytes_text("utf8mb4"), 45);
    assert_null(effects_find(effects, &other, bytes_text("SET a=1"), false));
    session_state_copy(names, &other, &before);
    other.multi_statements = true;
    assert_null(effects_find(effects, &other, bytes_text("SET a=1"), false));
    session_state_fini(names, &other);
}

static void one_text_has_an_effect_in_each_state(void **state)
{
    struct session_state blog = {0};
    (void)state;
    session_state_copy(names, &blog, &before);
    into_schema(&blog, "blog");
    add("SELECT @@sql_mode");
    effects_add(effects, &blog, bytes_text("SELECT @@sql_mode"), false, &blog, false,
                bytes_of("blog", 4));
    assert_int_equal(effects_count(effects), 2);
    assert_int_equal(find("SELECT @@sql_mode")->reply_bytes, 5);
    assert_int_equal(
        effects_find(effects, &blog, bytes_text("SELECT @@sql_mode"), false)->reply_bytes, 4);
    session_state_fini(names, &blog);
}

/* Text results and binary ones differ. */
static void a_text_and_what_was_prepared_are_told_apart(void **state)
{
    (void)state;
    add_reply("SELECT @@sql_mode", true, false, "binary", 6);
    assert_null(find("SELECT @@sql_mode"));
    add("SELECT @@sql_mode");
    assert_int_equal(find("SELECT @@sql_mode")->reply_bytes, 5);
    assert_int_equal(
        effects_find(effects, &before, bytes_text("SELECT @@sql_mode"), true)->reply_bytes, 6);
    assert_int_equal(effects_count(effects), 2);
}

static void the_first_that_is_known_stays(void **state)
{
    (void)state;
    add("SET a=1");
    add_reply("SET a=1", false, true, "newer one", 9);
    assert_int_equal(effects_count(effects), 1);
    assert_int_equal(find("SET a=1")->reply_bytes, 5);
    assert_false(find("SET a=1")->warned);
}

static void beyond_the_limits_nothing_is_kept(void **state)
{
    static char text[EFFECT_TEXT_MAX_BYTES + 2];
    static char reply[EFFECT_REPLY_MAX_BYTES + 1];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    add(text);
    assert_int_equal(effects_count(effects), 0);
    text[EFFECT_TEXT_MAX_BYTES] = '\0';
    add(text);
    assert_int_equal(effects_count(effects), 1);
    assert_non_null(find(text));
    add_reply("SELECT 1", false, false, reply, sizeof reply);
    assert_int_equal(effects_count(effects), 1);
    add_reply("SELECT 1", false, false, reply, sizeof reply - 1);
    assert_int_equal(effects_count(effects), 2);
    add_reply("SELECT 2", false, false, reply, 0); /* no reply was seen */
    assert_null(find("SELECT 2"));
}

static const char *numbered(int i)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "SET max_join_size=%d", i);
    return text;
}

static void the_least_recently_used_goes_first(void **state)
{
    (void)state;
    for (int i = 0; i < EFFECTS_MAX; i++)
        add(numbered(i));
    assert_int_equal(effects_count(effects), EFFECTS_MAX);
    assert_non_null(find(numbered(0))); /* used: 1 is the oldest now */
    add(numbered(EFFECTS_MAX));
    assert_int_equal(effects_count(effects), EFFECTS_MAX);
    assert_null(find(numbered(1)));
    for (int i = 0; i <= EFFECTS_MAX; i++)
        if (i != 1)
            assert_non_null(find(numbered(i)));
    add(numbered(0)); /* known: it counts as used, and nothing goes */
    assert_int_equal(effects_count(effects), EFFECTS_MAX);
    assert_non_null(find(numbered(2)));
}

/* Out of the middle and off both ends of the order and of the chains. */
static void thousands_pass_through_and_leave_nothing(void **state)
{
    enum { MANY = 4 * EFFECTS_MAX };
    (void)state;
    for (int i = 0; i < MANY; i++) {
        add(numbered(i));
        if (i % 3 == 0)
            assert_non_null(find(numbered(i - i % 100)));
        assert_non_null(find(numbered(i)));
    }
    assert_int_equal(effects_count(effects), EFFECTS_MAX);
    effects_forget_all(effects);
    assert_int_equal(effects_count(effects), 0);
    for (int i = 0; i < MANY; i++)
        assert_null(find(numbered(i)));
}

static void what_was_forgotten_can_be_learned_again(void **state)
{
    (void)state;
    add("SET a=1");
    effects_forget_all(effects);
    effects_forget_all(effects);
    assert_null(find("SET a=1"));
    add_reply("SET a=1", false, false, "moved", 5);
    assert_int_equal(find("SET a=1")->reply[0], 'm');
}

/* A reset of the table, or the eviction of an entry, gives back what it alone refers to. */
static void states_live_as_long_as_their_effects(void **state)
{
    struct session_state gone = {0};
    (void)state;
    size_t names_before = names_count(names);
    size_t settings_before = settings_count(names_settings(names));
    session_state_copy(names, &gone, &before);
    into_schema(&gone, "only here");
    with_time_zone(&gone, "-11:00");
    effects_add(effects, &gone, bytes_text("SET a=1"), false, &gone, false, bytes_of("r", 1));
    session_state_fini(names, &gone);
    assert_int_equal(names_count(names), names_before + 2);
    assert_true(settings_count(names_settings(names)) > settings_before);
    effects_forget_all(effects);
    assert_int_equal(names_count(names), names_before);
    assert_int_equal(settings_count(names_settings(names)), settings_before);
}

#define EFFECTS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EFFECTS_TEST(what_was_added_is_found_whole),
        EFFECTS_TEST(a_text_is_its_bytes),
        EFFECTS_TEST(in_another_state_nothing_is_known),
        EFFECTS_TEST(one_text_has_an_effect_in_each_state),
        EFFECTS_TEST(a_text_and_what_was_prepared_are_told_apart),
        EFFECTS_TEST(the_first_that_is_known_stays),
        EFFECTS_TEST(beyond_the_limits_nothing_is_kept),
        EFFECTS_TEST(the_least_recently_used_goes_first),
        EFFECTS_TEST(thousands_pass_through_and_leave_nothing),
        EFFECTS_TEST(what_was_forgotten_can_be_learned_again),
        EFFECTS_TEST(states_live_as_long_as_their_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
