/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/settings.c: interned values of session variables. */
#include "pool/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/mysql_caps.h"
#include "protocol/sql_scan.h"

static struct names *names;
static struct settings_table *table;
static name_id none[VARIABLES_COUNT];

static int setup(void **state)
{
    (void)state;
    names = names_new();
    table = names_settings(names);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    names_free(names);
    return 0;
}

/* `base` with one more value; its reference is used up. */
static struct settings *also(struct settings *base, enum variable v, const char *value)
{
    struct settings *s = settings_with(table, base, v, bytes_text(value));
    settings_unref(table, base);
    return s;
}

static struct settings *empty(void)
{
    return settings_make(table, none);
}

static void assert_value(const struct settings *s, enum variable v, const char *text)
{
    assert_true(bytes_equal(names_text(names, s->value[v]), bytes_text(text)));
}

static void equal_values_are_one_object_however_they_came_about(void **state)
{
    (void)state;
    struct settings *a =
        also(also(empty(), VARIABLE_time_zone, "+00:00"), VARIABLE_sql_notes, "ON");
    struct settings *b =
        also(also(empty(), VARIABLE_sql_notes, "ON"), VARIABLE_time_zone, "+00:00");
    assert_ptr_equal(a, b);
    struct settings *c = also(settings_ref(a), VARIABLE_time_zone, "+02:00");
    assert_ptr_not_equal(a, c);
    assert_value(a, VARIABLE_time_zone, "+00:00");
    assert_value(c, VARIABLE_time_zone, "+02:00");
    assert_value(c, VARIABLE_sql_notes, "ON");
    c = also(c, VARIABLE_time_zone, "+00:00");
    assert_ptr_equal(a, c);
    settings_unref(table, a);
    settings_unref(table, b);
    settings_unref(table, c);
}

static void values_that_differ_in_case_are_two_objects(void **state)
{
    (void)state;
    struct settings *a = also(empty(), VARIABLE_time_zone, "SYSTEM");
    struct settings *b = also(empty(), VARIABLE_time_zone, "system");
    assert_ptr_not_equal(a, b);
    settings_unref(table, a);
    settings_unref(table, b);
}

static void the_last_reference_gives_everything_back(void **state)
{
    (void)state;
    struct settings *a = also(also(empty(), VARIABLE_autocommit, "ON"), VARIABLE_sql_mode, "ANSI");
    assert_int_equal(settings_count(table), 2); /* it, and what it binds */
    assert_ptr_equal(settings_ref(a), a);
    settings_unref(table, a);
    assert_value(a, VARIABLE_sql_mode, "ANSI");
    settings_unref(table, a);
    assert_int_equal(settings_count(table), 0);
    assert_int_equal(names_count(names), 0);
}

static void no_object_is_fine(void **state)
{
    (void)state;
    assert_null(settings_ref(NULL));
    settings_unref(table, NULL);
    settings_table_free(NULL);
    assert_int_equal(settings_count(table), 0);
}

static void a_table_goes_with_what_is_left_in_it(void **state)
{
    (void)state; /* the teardown, under AddressSanitizer, finds what stays */
    (void)also(also(empty(), VARIABLE_autocommit, "OFF"), VARIABLE_sql_mode, "ANSI");
    (void)also(empty(), VARIABLE_sql_notes, "OFF");
}

static void bound_keeps_what_a_prepare_binds_and_nothing_else(void **state)
{
    (void)state;
    struct settings *a = also(also(empty(), VARIABLE_autocommit, "ON"), VARIABLE_sql_mode, "ANSI");
    assert_ptr_not_equal(a->bound, a);
    assert_value(a->bound, VARIABLE_sql_mode, "ANSI");
    assert_int_equal(a->bound->value[VARIABLE_autocommit], 0);
    assert_ptr_equal(a->bound->bound, a->bound);

    /* Another that differs in what is not bound only shares it; it is an object like others. */
    struct settings *b = also(settings_ref(a), VARIABLE_autocommit, "OFF");
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(a->bound, b->bound);
    struct settings *same = also(empty(), VARIABLE_sql_mode, "ANSI");
    assert_ptr_equal(same, a->bound);
    struct settings *c = also(settings_ref(a), VARIABLE_sql_mode, "");
    assert_ptr_not_equal(a->bound, c->bound);

    settings_unref(table, a);
    settings_unref(table, same);
    assert_value(b->bound, VARIABLE_sql_mode, "ANSI"); /* b holds it */
    settings_unref(table, b);
    settings_unref(table, c);
    assert_int_equal(settings_count(table), 0);
}

static void bound_of_what_is_all_bound_is_itself(void **state)
{
    (void)state;
    struct settings *a = also(empty(), VARIABLE_sql_select_limit, "10");
    assert_ptr_equal(a->bound, a);
    assert_int_equal(settings_count(table), 1);
    settings_unref(table, a);
    assert_int_equal(settings_count(table), 0);
}

/* More than there are buckets: chains, and removal from within them. */
static void thousands_of_settings_are_told_apart(void **state)
{
    enum { MANY = 2000 };
    static struct settings *made[MANY];
    char text[16];
    (void)state;
    struct settings *base = empty();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        made[i] = settings_with(table, base, VARIABLE_group_concat_max_len, bytes_text(text));
    }
    settings_unref(table, base);
    assert_int_equal(settings_count(table), MANY);
    for (int i = 0; i < MANY; i += 2)
        settings_unref(table, made[i]);
    for (int i = 1; i < MANY; i += 2) {
        (void)snprintf(text, sizeof text, "%d", i);
        assert_value(made[i], VARIABLE_group_concat_max_len, text);
        struct settings *again = settings_make(table, made[i]->value);
        assert_ptr_equal(again, made[i]);
        settings_unref(table, again);
        settings_unref(table, made[i]);
    }
    assert_int_equal(settings_count(table), 0);
    assert_int_equal(names_count(names), 0);
}

static void the_sql_mode_says_how_text_is_read(void **state)
{
    static const struct {
        const char *sql_mode;
        uint32_t scan_mode;
        uint16_t status;
    } cases[] = {
        {"", 0, 0},
        {"STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", 0, 0},
        {"ANSI_QUOTES", SQL_MODE_ANSI_QUOTES, 0},
        {"NO_BACKSLASH_ESCAPES", SQL_MODE_NO_BACKSLASH_ESCAPES, MYSQL_STATUS_NO_BACKSLASH_ESCAPES},
        {"REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI",
         SQL_MODE_ANSI_QUOTES | SQL_MODE_IGNORE_SPACE, 0},
        {"IGNORE_SPACE,NO_BACKSLASH_ESCAPES", SQL_MODE_IGNORE_SPACE | SQL_MODE_NO_BACKSLASH_ESCAPES,
         MYSQL_STATUS_NO_BACKSLASH_ESCAPES},
        {"ANSI", 0, 0}, /* whole words; the servers list what it stands for */
        {"ANSI_QUOTES2,XIGNORE_SPACE", 0, 0},
        {",,ansi_quotes", SQL_MODE_ANSI_QUOTES, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings *s = also(empty(), VARIABLE_sql_mode, cases[i].sql_mode);
        assert_int_equal(s->scan_mode, cases[i].scan_mode);
        assert_int_equal(s->status, cases[i].status);
        settings_unref(table, s);
    }
}

static void ignore_space_stands_where_the_servers_write_it(void **state)
{
    static const char *const cases[][2] = {
        {"", "IGNORE_SPACE"},
        {"IGNORE_SPACE,STRICT_TRANS_TABLES", "IGNORE_SPACE,STRICT_TRANS_TABLES"},
        {"STRICT_TRANS_TABLES", "IGNORE_SPACE,STRICT_TRANS_TABLES"},
        {"ANSI_QUOTES", "ANSI_QUOTES,IGNORE_SPACE"},
        {"REAL_AS_FLOAT,ANSI_QUOTES,ONLY_FULL_GROUP_BY,ANSI",
         "REAL_AS_FLOAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings *base = also(empty(), VARIABLE_sql_mode, cases[i][0]);
        struct settings *s = settings_ignoring_space(table, base);
        assert_true(
            bytes_equal(names_text(names, s->value[VARIABLE_sql_mode]), bytes_text(cases[i][1])));
        settings_unref(table, s);
        settings_unref(table, base);
    }
}

static void autocommit_shows_in_the_status(void **state)
{
    static const char *const on[] = {"ON", "1"};
    static const char *const off[] = {"OFF", "0", ""};
    (void)state;
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        struct settings *s = also(empty(), VARIABLE_autocommit, on[i]);
        assert_int_equal(s->status, MYSQL_STATUS_AUTOCOMMIT);
        settings_unref(table, s);
    }
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        struct settings *s = also(empty(), VARIABLE_autocommit, off[i]);
        assert_int_equal(s->status, 0);
        settings_unref(table, s);
    }
}

static void every_variable_is_found_by_its_name_in_any_case(void **state)
{
    (void)state;
    for (int v = 0; v < VARIABLES_COUNT; v++) {
        char upper[64];
        const char *name = variable_name((enum variable)v);
        size_t len = strlen(name);
        for (size_t i = 0; i <= len; i++)
            upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
        assert_int_equal(variable_find(bytes_text(name)), v);
        assert_int_equal(variable_find(bytes_text(upper)), v);
        assert_int_equal(variable_find(bytes_of(name, len - 1)), VARIABLES_COUNT);
    }
}

static void the_transaction_variables_have_two_names(void **state)
{
    (void)state;
    assert_int_equal(variable_find(bytes_text("tx_isolation")), VARIABLE_transaction_isolation);
    assert_int_equal(variable_find(bytes_text("TX_Read_Only")), VARIABLE_transaction_read_only);
}

static void other_names_are_no_variable(void **state)
{
    static const char *const others[] = {
        "", "a", "autocommit2", "sql_modE ", "timestamp", "character_set_client", "tx_isolatio"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(variable_find(bytes_text(others[i])), VARIABLES_COUNT);
}

static void assert_written(enum variable v, const char *value, bool mariadb, const char *text)
{
    char out[128];
    size_t len = variable_write(out, sizeof out, v, bytes_text(value), mariadb);
    assert_true(bytes_equal(bytes_of(out, len), bytes_text(text)));
}

static void a_variable_is_written_as_set_reads_it(void **state)
{
    (void)state;
    assert_written(VARIABLE_sql_mode, "ANSI", false, "@@session.sql_mode='ANSI'");
    assert_written(VARIABLE_sql_mode, "", true, "@@session.sql_mode=''");
    assert_written(VARIABLE_sql_select_limit, "18446744073709551615", false,
                   "@@session.sql_select_limit=18446744073709551615");
    assert_written(VARIABLE_autocommit, "OFF", true, "@@session.autocommit=OFF");
    assert_written(VARIABLE_transaction_isolation, "READ-COMMITTED", false,
                   "@@session.transaction_isolation='READ-COMMITTED'");
    assert_written(VARIABLE_transaction_isolation, "READ-COMMITTED", true,
                   "@@session.tx_isolation='READ-COMMITTED'");
    assert_written(VARIABLE_transaction_read_only, "ON", true, "@@session.tx_read_only=ON");
    assert_written(VARIABLE_transaction_read_only, "ON", false,
                   "@@session.transaction_read_only=ON");
}

static void without_room_nothing_is_written(void **state)
{
    const char *whole = "@@session.time_zone='+00:00'";
    char out[64];
    (void)state;
    struct bytes value = bytes_text("+00:00");
    size_t len = strlen(whole);
    for (size_t room = 0; room <= len; room++)
        assert_int_equal(variable_write(out, room, VARIABLE_time_zone, value, false), 0);
    /* One more for the NUL, which snprintf wants. */
    assert_int_equal(variable_write(out, len + 1, VARIABLE_time_zone, value, false), len);
}

static void only_plain_ascii_can_be_set_again(void **state)
{
    static const char *const unsafe[] = {"it's",      "say \"x\"", "back\\slash", "a`b",
                                         "tab\there", "\x7f",      "caf\xc3\xa9"};
    char longest[1025];
    (void)state;
    assert_true(variable_value_is_safe(bytes_text("")));
    assert_true(variable_value_is_safe(bytes_text("index_merge=on,mrr=off, Europe/Rome +00:00 ~")));
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        assert_false(variable_value_is_safe(bytes_text(unsafe[i])));
    assert_false(variable_value_is_safe(bytes_of("a\0b", 3)));
    memset(longest, 'x', sizeof longest);
    assert_true(variable_value_is_safe(bytes_of(longest, sizeof longest - 1)));
    assert_false(variable_value_is_safe(bytes_of(longest, sizeof longest)));
}

static void the_table_tells_forms_and_bindings(void **state)
{
    (void)state;
    assert_int_equal(variable_form(VARIABLE_sql_mode), VARIABLE_WORD);
    assert_int_equal(variable_form(VARIABLE_wait_timeout), VARIABLE_NUMBER);
    assert_int_equal(variable_form(VARIABLE_autocommit), VARIABLE_SWITCH);
    assert_true(variable_binds(VARIABLE_sql_mode));
    assert_false(variable_binds(VARIABLE_autocommit));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(equal_values_are_one_object_however_they_came_about),
        TEST(values_that_differ_in_case_are_two_objects),
        TEST(the_last_reference_gives_everything_back),
        TEST(no_object_is_fine),
        TEST(a_table_goes_with_what_is_left_in_it),
        TEST(bound_keeps_what_a_prepare_binds_and_nothing_else),
        TEST(bound_of_what_is_all_bound_is_itself),
        TEST(thousands_of_settings_are_told_apart),
        TEST(the_sql_mode_says_how_text_is_read),
        TEST(ignore_space_stands_where_the_servers_write_it),
        TEST(autocommit_shows_in_the_status),
        TEST(every_variable_is_found_by_its_name_in_any_case),
        TEST(the_transaction_variables_have_two_names),
        TEST(other_names_are_no_variable),
        TEST(a_variable_is_written_as_set_reads_it),
        TEST(without_room_nothing_is_written),
        TEST(only_plain_ascii_can_be_set_again),
        TEST(the_table_tells_forms_and_bindings),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
