/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/load.c, conf/layer.c, conf/check.c: files, URLs with parameters, flags, checks. */
#include "tests/unit/conf/loading.h"

#include "conf/check.h"

static void a_file_sets_values_of_each_type(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = {\n"
                                  "  listen = ( \"127.0.0.1:1\", \"unix:/a\" );\n"
                                  "  backend = \"mysql://u:p@h/d\";\n"
                                  "  pool_max = 8; max_pinned = 3; queue_timeout = \"250ms\";\n"
                                  "  client_idle_timeout = \"5min\"; retry_reads = false;\n"
                                  "  tls = \"verify-ca\"; probe_query = \"DO 1\";\n"
                                  "};\n"
                                  "redis: { shared_reply_max = \"1GiB\"; stream_above = 2048; };\n"
                                  "process = { log_level = \"debug\"; };\n",
                                  NULL);
    assert_int_equal(o->mysql.listen_count, 2);
    assert_string_equal(o->mysql.backend[0].host, "h");
    assert_string_equal(o->mysql.backend[0].password, "p");
    assert_string_equal(o->mysql.backend[0].schema, "d");
    assert_int_equal(o->mysql.backend[0].port, 3306);
    assert_int_equal(o->mysql.backend[0].tls, TLS_VERIFY_CA);
    assert_int_equal(o->mysql.pool_max, 8);
    assert_int_equal(o->mysql.max_pinned, 3);
    assert_int_equal(o->mysql.queue_timeout_ms, 250);
    assert_int_equal(o->mysql.client_idle_timeout_ms, 300000);
    assert_false(o->mysql.retry_reads);
    assert_string_equal(o->mysql.probe_query, "DO 1");
    assert_int_equal(o->redis.shared_reply_max_bytes, 1 << 30);
    assert_int_equal(o->redis.stream_above_bytes, 2048);
    assert_int_equal(o->process.log_level, LOG_DEBUG);
    options_free(o);
}

static void numbers_may_be_strings_and_pool_size_is_pool_max(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { pool_size = \"7\"; retry_reads = \"no\"; };", NULL);
    assert_int_equal(o->mysql.pool_max, 7);
    assert_false(o->mysql.retry_reads);
    options_free(o);
}

static void users_are_groups(void **state)
{
    char path[64];
    char text[512];
    (void)state;
    int fd = memory_file("s3cret\n", 7, path);
    (void)snprintf(text, sizeof text,
                   "mysql = { users = ( { name = \"a\"; password = \"p\"; pool_max = 4; },\n"
                   " { name = \"b\"; password_file = \"%s\"; },\n"
                   " { name = \"c\"; hash = \"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19\"; } ); };",
                   path);
    struct options *o = load_good(text, NULL);
    assert_int_equal(o->mysql.user_count, 3);
    assert_int_equal(o->mysql.users[0].pool_max, 4);
    assert_string_equal(o->mysql.users[1].password, "s3cret");
    assert_int_equal(o->mysql.users[1].pool_max, 0);
    assert_true(o->mysql.users[2].has_hash);
    assert_int_equal(o->mysql.users[2].hash[0], 0x24);
    options_free(o);
    (void)close(fd);
}

static void mistakes_in_users_are_told(void **state)
{
    (void)state;
    assert_bad("mysql = { users = (\n{ password = \"p\"; } ); };", NULL, ":2: mysql.users: a user");
    assert_bad("mysql = { users = ( { name = \"a\"; } ); };", NULL, "needs one of");
    assert_bad("mysql = { users = ( { name = \"a\"; password = \"p\"; hash = "
               "\"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19\"; } ); };",
               NULL, "needs one of");
    assert_bad(
        "mysql = { users = ( { name = \"a\"; password = \"p\"; password_file = \"/x\"; } ); };",
        NULL, "both");
    assert_bad("mysql = { users = ( { name = \"a\"; password_file = \"/nonexistent/x\"; } ); };",
               NULL, "No such file");
    assert_bad("mysql = { users = ( { name = \"a\"; hash = \"*12\"; } ); };", NULL,
               "40 hexadecimal");
    assert_bad("mysql = { users = ( { name = \"a\"; password = \"p\"; pool_max = 0; } ); };", NULL,
               "1..10000");
    assert_bad("mysql = { users = ( { name = \"a\"; password = \"p\"; pool_max = 65; } ); };", NULL,
               "pool_total");
    assert_bad("mysql = { users = ( { name = \"a\"; pasword = \"p\"; } ); };", NULL,
               "unknown key pasword");
    assert_bad("mysql = { users = ( \"a\" ); };", NULL, "a user is {");
    assert_bad("mysql = { users = ( { name = \"a\"; password = \"p\"; },"
               "{ name = \"a\"; password = \"q\"; } ); };",
               NULL, "twice");
}

static void a_mistake_names_its_line_and_bounds(void **state)
{
    (void)state;
    assert_bad("mysql = {\n\n  pool_max = 0;\n};", NULL,
               ":3: mysql.pool_max: 0 is out of range, expected 1..10000 connections");
    assert_bad("mysql = {\n  pool_mx = 3;\n};", NULL,
               ":2: mysql.pool_mx: unknown key, did you mean pool_max?");
    assert_bad("\nmyslq = { };", NULL, ":2: myslq: unknown section, did you mean mysql?");
    assert_bad("pool_max = 3;", NULL, ":1: pool_max: unknown section");
    assert_bad("mysql = 3;", NULL, "is a section");
    assert_bad("mysql = { queue_timeout = 5; };", NULL, "add a unit");
    assert_bad("mysql = { queue_timeout = \"off\"; };", NULL, "not a duration");
    assert_bad("mysql = { max_age = \"0s\"; };", NULL, "expected 1ms..30d or off");
    assert_bad("mysql = { pool_max = 1.5; };", NULL, "point");
    assert_bad("mysql = { pool_max = 99999999999L; };", NULL, "out of range");
    assert_bad("mysql = { pool_max = { a = 1; }; };", NULL, "one value");
    assert_bad("mysql = { pool_max = ( 1 ); };", NULL, "one value");
    assert_bad("mysql = { listen = ( ( 1 ) ); };", NULL, "one value");
    assert_bad("mysql = { tls = \"maybe\"; };", NULL,
               "none of off|prefer|require|verify-ca|verify");
    assert_bad("mysql = {\n pool_max = ;\n};", NULL, ":2: syntax error");
    assert_bad("mysql = { pool_max = 3; pool_max = 4; };", NULL, "duplicate");
    assert_bad("mysql = { pool_max = 3;\n pool_size = 4; };", NULL,
               ":2: mysql.pool_max: given twice");
}

static void all_mistakes_are_told_at_once_up_to_a_limit(void **state)
{
    char text[4096] = "mysql = {\n";
    struct problems problems = {0};
    (void)state;
    assert_null(load_with("mysql = { pool_max = 0; tls = \"x\"; };\nprocess = { threads = 99; };",
                          NULL, NULL, 0, &problems));
    assert_int_equal(problems.count, 3);
    problems_fini(&problems);
    for (int i = 0; i < PROBLEMS_MAX + 5; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "zzzzzzzzzz%d = 1;\n", i);
    strcat(text, "};");
    assert_null(load_with(text, NULL, NULL, 0, &problems));
    assert_int_equal(problems.count, PROBLEMS_MAX);
    assert_int_equal(problems.dropped, 5);
    char *out_text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&out_text, &len);
    problems_print(&problems, out);
    (void)fclose(out);
    assert_non_null(strstr(out_text, "and 5 more\n"));
    free(out_text);
    problems_fini(&problems);
}

static void strings_are_expanded_and_only_once(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { pool_max = \"${N}\"; probe_query = "
                                  "\"a${Q}b${NONE:-d}c${EMPTY:-e}$${x} $1 $\"; };",
                                  ENV("N=9", "Q=${N}", "EMPTY="));
    assert_int_equal(o->mysql.pool_max, 9);
    assert_string_equal(o->mysql.probe_query, "a${N}bdce${x} $1 $");
    options_free(o);
    assert_bad("mysql = { probe_query = \"${NONE}\"; };", NULL, "${NONE} is not set");
    assert_bad("mysql = { probe_query = \"${NONE\"; };", NULL, "without");
    assert_bad("mysql = { probe_query = \"${}\"; };", NULL, "NAME");
    assert_bad("mysql = { probe_query = \"${1A}\"; };", NULL, "NAME");
    assert_bad("mysql = { probe_query = \"${A-b}\"; };", NULL, "NAME");
}

static void parameters_of_the_url_go_to_its_section(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { tls = \"off\"; pool_max = 9; backend = "
                                  "\"mysql://u@h/d?pool_max=4&reserved=2&queue_timeout=1s\"; };",
                                  NULL);
    assert_int_equal(o->mysql.pool_max, 9); /* a key of its own is stronger */
    assert_int_equal(o->mysql.reserved, 2);
    assert_int_equal(o->mysql.queue_timeout_ms, 1000);
    options_free(o);
    o = load_good("mysql = { backend = \"mysql://h?tls=verify&pool_size=3\"; };", NULL);
    assert_int_equal(o->mysql.backend[0].tls, TLS_VERIFY);
    assert_int_equal(o->mysql.pool_max, 3);
    options_free(o);
    assert_bad("mysql = { backend = \"mysql://h?pool_max=0\"; };", NULL,
               "parameter 1 of the URL: pool_max: 0 is out of range");
    assert_bad("mysql = { backend = \"mysql://h?tls=off&pol_max=2\"; };", NULL,
               "parameter 2 of the URL: is not a key of section mysql, did you mean pool_max?");
    assert_bad("mysql = { backend = \"mysql://h?backend=x\"; };", NULL, "is not a key");
    assert_bad("mysql = { backend = \"mysql://h?clients=all\"; };", NULL, "clients");
    assert_bad("mysql = { backend = \"redis://h\"; };", NULL, "one of redis");
}

static void a_higher_backend_takes_its_parameters_along(void **state)
{
    static const char file[] = "mysql = { backend = \"mysql://file?pool_max=4\"; };";
    static const struct load_flag flags[] = {
        {OPTION_mysql_backend, "--mysql-backend", "mysql://flag?min_idle=1"}};
    struct problems problems = {0};
    (void)state;
    struct options *o = load_good(file, ENV("SLUICE_MYSQL_BACKEND=mysql://env?reserved=3"));
    assert_string_equal(o->mysql.backend[0].host, "env");
    assert_int_equal(o->mysql.pool_max, 16);
    assert_int_equal(o->mysql.reserved, 3);
    options_free(o);
    o = load_with(file, ENV("SLUICE_MYSQL_BACKEND=mysql://env?reserved=3"), flags, 1, &problems);
    assert_int_equal(o->mysql.backend_count, 1);
    assert_string_equal(o->mysql.backend[0].host, "flag");
    assert_int_equal(o->mysql.reserved, 1);
    assert_int_equal(o->mysql.min_idle, 1);
    options_free(o);
}

static void flags_beat_environment_beats_file_beats_default(void **state)
{
    static const char file[] = "mysql = { listen = \"127.0.0.1:2\"; pool_max = 5; reserved = 7; };";
    static const struct load_flag flags[] = {
        {OPTION_mysql_listen, "--mysql-listen", "127.0.0.1:4"}};
    static const struct load_flag twice[] = {{OPTION_mysql_listen, "--mysql-listen", "off"},
                                             {OPTION_mysql_listen, "--mysql-listen", "off"}};
    static const struct load_flag bad[] = {{OPTION_mysql_listen, "--mysql-listen", "nowhere"}};
    struct problems problems = {0};
    char **env = ENV("SLUICE_MYSQL_LISTEN=127.0.0.1:3", "SLUICE_MYSQL_POOL_MAX=6");
    (void)state;
    struct options *o = load_with(file, env, flags, 1, &problems);
    assert_int_equal(o->mysql.listen_count, 1);
    assert_int_equal(o->mysql.listen[0].port, 4);
    assert_int_equal(o->mysql.pool_max, 6);
    assert_int_equal(o->mysql.reserved, 7);
    assert_int_equal(o->mysql.statement_cache, 64);
    assert_int_equal(o->origins[OPTION_mysql_listen].layer, LAYER_FLAG);
    assert_int_equal(o->origins[OPTION_mysql_pool_max].layer, LAYER_ENVIRONMENT);
    assert_int_equal(o->origins[OPTION_mysql_reserved].layer, LAYER_FILE);
    assert_int_equal(o->origins[OPTION_mysql_statement_cache].layer, LAYER_DEFAULT);
    options_free(o);
    assert_null(load_with(file, env, twice, 2, &problems));
    assert_string_equal(problems.lines[0], "--mysql-listen: given twice, also by --mysql-listen");
    problems_fini(&problems);
    assert_null(load_with(file, env, bad, 1, &problems));
    assert_non_null(strstr(problems.lines[0], "--mysql-listen: \"nowhere\" has no port"));
    problems_fini(&problems);
}

static void what_follows_from_pool_max_follows(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { pool_max = 1; };", NULL);
    assert_int_equal(o->mysql.max_pinned, 1);
    assert_int_equal(o->mysql.min_idle, 1);
    options_free(o);
    o = load_good("mysql = { pool_max = 100; };", NULL);
    assert_int_equal(o->mysql.max_pinned, 75);
    assert_int_equal(o->mysql.pool_total, 100);
    options_free(o);
    assert_bad("mysql = { pool_max = 4;\n min_idle = 5; };", NULL, ":2: mysql.min_idle: 5 is more");
    assert_bad("mysql = { pool_max = 4; max_pinned = 5; };", NULL, "max_pinned: 5 is more");
    assert_bad("mysql = { pool_max = 4; pool_total = 3; };", NULL, "pool_total: 3 is less");
}

static void certificates_and_keys_come_in_pairs(void **state)
{
    (void)state;
    assert_bad("mysql = { tls_cert = \"c\"; };", NULL, "tls_cert: needs tls_key too");
    assert_bad("mysql = { listen_tls_key = \"k\"; };", NULL,
               "listen_tls_key: needs listen_tls_cert");
}

static void trust_stays_on_this_host(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { listen = \"[::1]:1, unix:/a\"; backend = "
                                  "\"mysql://u:p@h?clients=trust\"; };",
                                  NULL);
    assert_true(o->mysql.backend[0].clients_trust);
    options_free(o);
    assert_bad("mysql = { listen = \"0.0.0.0:1\"; backend = \"mysql://u:p@h?clients=trust\"; };",
               NULL, "0.0.0.0:1 can be reached from outside");
    assert_bad("mysql = { backend = \"mysql://h?clients=trust\"; };", NULL, "needs a user");
}

static void what_is_not_served_yet_is_said(void **state)
{
    (void)state;
    assert_bad("redis = { backend = \"redis://h\"; };", NULL,
               "redis.backend: redis is not served by this version yet");
    assert_bad("process = { threads = 2; };", NULL, "this version runs one loop thread");
    assert_bad("mysql = { backend = ( \"mysql://a\", { url = \"mysql://b\"; } ); };", NULL,
               "2 backends are given, this version serves one");
    assert_bad("mysql = { backend = ( { url = \"mysql://b\"; role = \"replica\"; } ); };", NULL,
               "roles");
    assert_bad("mysql = { backend = ( { url = \"mysql://b\"; role = \"boss\"; } ); };", NULL,
               "none of");
    assert_bad("mysql = { backend = ( { role = \"primary\"; } ); };", NULL, "without a url");
    assert_bad("mysql = { backend = ( { url = \"mysql://b\"; weight = 1; } ); };", NULL,
               "unknown key");
    assert_bad("mysql = { session_mode_users = ( \"a\" ); };", NULL, "session mode");
    assert_bad("redis = { sentinel = [ \"a:1\" ]; };", NULL, "sentinel");
    assert_bad("redis = { cluster = \"a:1, b:2\"; };", NULL, "cluster");
    struct options *o =
        load_good("mysql = { backend = ( { url = \"mysql://b\"; role = \"primary\"; } ); };", NULL);
    assert_int_equal(o->mysql.backend[0].role, ROLE_PRIMARY);
    options_free(o);
}

static void a_backend_is_needed_when_asked_for(void **state)
{
    struct problems problems = {0};
    struct load_request request = {.needs_backend = true, .environ = ENV("PATH=/bin")};
    (void)state;
    assert_null(options_load(&request, &problems));
    assert_non_null(strstr(problems.lines[0], "no backend is given"));
    problems_fini(&problems);
    request.environ = ENV("SLUICE_MYSQL_BACKEND=mysql://h");
    struct options *o = options_load(&request, &problems);
    assert_non_null(o);
    assert_null(o->source_file);
    options_free(o);
}

static void the_file_is_c_or_sluice_config_or_the_default(void **state)
{
    char path[64];
    char variable[96];
    struct problems problems = {0};
    (void)state;
    int fd = memory_file("mysql = { pool_max = 5; };", 26, path);
    struct load_request request = {.default_file = path};
    struct options *o = options_load(&request, &problems);
    assert_int_equal(o->mysql.pool_max, 5);
    assert_string_equal(o->source_file, path);
    options_free(o);
    (void)snprintf(variable, sizeof variable, "SLUICE_CONFIG=%s", path);
    request = (struct load_request){.default_file = "/nonexistent/x", .environ = ENV(variable)};
    o = options_load(&request, &problems);
    assert_int_equal(o->mysql.pool_max, 5);
    options_free(o);
    request = (struct load_request){.default_file = "/nonexistent/x"};
    o = options_load(&request, &problems);
    assert_int_equal(o->mysql.pool_max, 16);
    options_free(o);
    request.file = "/nonexistent/x";
    assert_null(options_load(&request, &problems));
    assert_string_equal(problems.lines[0], "/nonexistent/x: No such file or directory");
    problems_fini(&problems);
    request.file = "/";
    assert_null(options_load(&request, &problems));
    problems_fini(&problems);
    (void)close(fd);
}

static void unreadable_files_are_named(void **state)
{
    struct problems problems = {0};
    (void)state;
    struct options *o = load_good("mysql = { tls_ca = \"/nonexistent/ca.pem\"; };\n"
                                  "admin = { token_file = \"/\"; };",
                                  NULL);
    options_check_files(o, &problems);
    assert_int_equal(problems.count, 2);
    assert_non_null(
        strstr(problems.lines[0], ":1: mysql.tls_ca: /nonexistent/ca.pem: No such file"));
    assert_non_null(strstr(problems.lines[1], "admin.token_file: /: is a directory"));
    problems_fini(&problems);
    options_free(o);
}

static void no_problem_holds_a_secret(void **state)
{
    static const char *const files[] = {
        "mysql = { backend = \"mysql://u:hunter2 @h\"; };",
        "mysql = { backend = \"mysql://u:hunter2@h?pool_max=0\"; };",
        "mysql = { backend = \"mysql://u:1?hunter2=1\"; };",
        "mysql = { backend = \"mysql://h?users=hunter2\"; };",
        "mysql = { users = \"hunter2\"; };",
        "mysql = { users = \"a:hunter2%\"; };",
        "mysql = { users = ( { name = \"a\"; hash = \"hunter2\"; } ); };",
        "mysql = { users = ( { password = \"hunter2\"; } ); };",
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct problems problems = {0};
        assert_null(load_with(files[i], NULL, NULL, 0, &problems));
        for (size_t j = 0; j < problems.count; j++)
            assert_null(strstr(problems.lines[j], "hunter2"));
        problems_fini(&problems);
    }
}

static void every_shorter_prefix_of_a_file_is_told_or_loaded(void **state)
{
    static const char text[] =
        "mysql = { listen = ( \"unix:/a\" ); users = ( { name = \"a\"; password = \"p${A:-b}\"; } "
        ");"
        " backend = \"mysql://u:p@h/d?pool_max=4\"; }; process: { threads = 1; };";
    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        char *cut = strndup(text, len);
        struct problems problems = {0};
        options_free(load_with(cut, NULL, NULL, 0, &problems));
        problems_fini(&problems);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_sets_values_of_each_type),
        cmocka_unit_test(numbers_may_be_strings_and_pool_size_is_pool_max),
        cmocka_unit_test(users_are_groups),
        cmocka_unit_test(mistakes_in_users_are_told),
        cmocka_unit_test(a_mistake_names_its_line_and_bounds),
        cmocka_unit_test(all_mistakes_are_told_at_once_up_to_a_limit),
        cmocka_unit_test(strings_are_expanded_and_only_once),
        cmocka_unit_test(parameters_of_the_url_go_to_its_section),
        cmocka_unit_test(a_higher_backend_takes_its_parameters_along),
        cmocka_unit_test(flags_beat_environment_beats_file_beats_default),
        cmocka_unit_test(what_follows_from_pool_max_follows),
        cmocka_unit_test(certificates_and_keys_come_in_pairs),
        cmocka_unit_test(trust_stays_on_this_host),
        cmocka_unit_test(what_is_not_served_yet_is_said),
        cmocka_unit_test(a_backend_is_needed_when_asked_for),
        cmocka_unit_test(the_file_is_c_or_sluice_config_or_the_default),
        cmocka_unit_test(unreadable_files_are_named),
        cmocka_unit_test(no_problem_holds_a_secret),
        cmocka_unit_test(every_shorter_prefix_of_a_file_is_told_or_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
