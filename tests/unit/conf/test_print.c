/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/print.c, conf/value_print.c, and the example: what is printed reads back, without secrets.
 */
#include "tests/unit/conf/loading.h"

#include "conf/value.h"

static void print_is_no_change(const struct option_row *row, void *context)
{
    (void)context;
    fail_msg("%s.%s reads back as something else", row->section, row->key);
}

static void what_is_printed_reads_back(void **state)
{
    static const char file[] =
        "mysql = { listen = ( \"[::1]:0\", \"unix:/a?mode=0600&group=g\" );\n"
        " backend = \"mysql://u%20x@[::1]:33/d%2Fb?clients=trust&pool_max=7\";\n"
        " probe_query = \"SELECT \\\"\\\\ \\x01 $${x} ${A}\"; max_pinned = 2; max_age = \"off\";\n"
        " tls = \"verify\"; retry_reads = false; };\n"
        "redis = { stream_above = 1000000; };\n"
        "process = { log_format = \"json\"; drain_timeout = \"1500ms\"; };\n";
    (void)state;
    struct options *first = load_good(file, ENV("A=${B}"));
    assert_string_equal(first->mysql.probe_query, "SELECT \"\\ \x01 ${x} ${B}");
    char *text = printed(first);
    struct options *second = load_good(text, NULL);
    options_diff(first, second, print_is_no_change, NULL);
    free(text);
    options_free(first);
    options_free(second);
}

static void a_socket_url_reads_back(void **state)
{
    (void)state;
    struct options *first = load_good(
        "mysql = { backend = \"mysql+unix://u@/run/my%20sql/m.sock?db=a%26b&clients=trust\"; };",
        NULL);
    assert_string_equal(first->mysql.backend[0].path, "/run/my sql/m.sock");
    char *text = printed(first);
    struct options *second = load_good(text, NULL);
    options_diff(first, second, print_is_no_change, NULL);
    free(text);
    options_free(first);
    options_free(second);
}

static void secrets_are_masked(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { backend = \"mysql://u:hunter2@h\"; users = ( { name = "
                                  "\"a\"; password = \"hunter2\"; "
                                  "pool_max = 3; }, { name = \"b\"; hash = "
                                  "\"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19\"; } ); };",
                                  NULL);
    char *text = printed(o);
    assert_null(strstr(text, "hunter2"));
    assert_null(strstr(text, "2470C0"));
    assert_non_null(strstr(text, "backend = \"mysql://u:***@h:3306\"; # /proc/self/fd/"));
    assert_non_null(strstr(text, "{ name = \"a\"; password = \"***\"; pool_max = 3; }"));
    assert_non_null(strstr(text, "{ name = \"b\"; hash = \"***\"; }"));
    free(text);
    options_free(o);
}

static void each_value_names_its_source(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = {\n pool_max = 5; };", ENV("SLUICE_MYSQL_RESERVED=2"));
    char *text = printed(o);
    assert_non_null(strstr(text, ":2\n    pool_total = 64; # default\n"));
    assert_non_null(strstr(text, "    reserved = 2; # environment SLUICE_MYSQL_RESERVED\n"));
    assert_non_null(strstr(text, "    listen = \"127.0.0.1:6033\"; # default\n"));
    free(text);
    text = option_text(o, &option_table[OPTION_mysql_max_pinned]);
    assert_string_equal(text, "\"75%\"");
    free(text);
    options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(a_socket_url_reads_back),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(each_value_names_its_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
