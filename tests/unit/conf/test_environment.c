/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/environment.c */
#include "tests/unit/conf/loading.h"

#include "conf/environment.h"

static void every_option_has_a_variable(void **state)
{
    (void)state;
    struct options *o =
        load_good(NULL, ENV("SLUICE_MYSQL_POOL_MAX=8", "SLUICE_REDIS_STREAM_ABOVE=1MiB",
                            "SLUICE_ADMIN_TOKEN_FILE=/t", "SLUICE_PROCESS_DRAIN_TIMEOUT=1s",
                            "SLUICE_PROCESS_PID_FILE=/p", "HOME=/", "SLUICEX=1"));
    assert_int_equal(o->mysql.pool_max, 8);
    assert_int_equal(o->redis.stream_above_bytes, 1 << 20);
    assert_string_equal(o->admin.token_file, "/t");
    assert_int_equal(o->process.drain_timeout_ms, 1000);
    assert_string_equal(o->process.pid_file, "/p");
    assert_string_equal(option_source(o, &option_table[OPTION_mysql_pool_max]),
                        "environment SLUICE_MYSQL_POOL_MAX");
    options_free(o);
}

static void short_names_and_aliases_work(void **state)
{
    (void)state;
    struct options *o =
        load_good(NULL, ENV("SLUICE_HEALTH_LISTEN=127.0.0.1:5", "SLUICE_MYSQL_POOL_SIZE=3",
                            "SLUICE_ADMIN_LISTEN=off", "SLUICE_MYSQL_USERS=a:b,c:d"));
    assert_int_equal(o->admin.health_listen[0].port, 5);
    assert_int_equal(o->admin.listen_count, 0);
    assert_int_equal(o->mysql.pool_max, 3);
    assert_int_equal(o->mysql.user_count, 2);
    options_free(o);
    assert_bad(NULL, ENV("SLUICE_HEALTH_LISTEN=off", "SLUICE_ADMIN_HEALTH_LISTEN=off"),
               "given twice");
}

static void mistakes_name_the_variable(void **state)
{
    (void)state;
    assert_bad(
        NULL, ENV("SLUICE_MYSQL_POOL_MAX=0"),
        "environment SLUICE_MYSQL_POOL_MAX: 0 is out of range, expected 1..10000 connections");
    assert_bad(NULL, ENV("SLUICE_MYSQL_POL_MAX=1"), "did you mean SLUICE_MYSQL_POOL_MAX?");
    assert_bad(NULL, ENV("SLUICE_THREADS=1"), "environment SLUICE_THREADS: unknown name");
    assert_bad(NULL, ENV("SLUICE_FOO_BAR=1"), "environment SLUICE_FOO_BAR: unknown name");
    assert_bad(NULL, ENV("SLUICE_FOO_FILE=1"), "unknown name");
    assert_bad(NULL, ENV("SLUICE_=1"), "unknown name");
}

static void an_empty_variable_counts_as_none(void **state)
{
    (void)state;
    struct options *o = load_good("mysql = { pool_max = 5; };",
                                  ENV("SLUICE_MYSQL_POOL_MAX=", "SLUICE_MYSQL_BACKEND=",
                                      "SLUICE_MYSQL_PASSWORD=", "SLUICE_CONFIG="));
    assert_int_equal(o->mysql.pool_max, 5);
    assert_int_equal(o->mysql.backend_count, 0);
    options_free(o);
}

static void every_variable_has_a_file_twin(void **state)
{
    char path[64];
    char variable[2][128];
    (void)state;
    int fd = memory_file("8\n", 2, path);
    (void)snprintf(variable[0], sizeof variable[0], "SLUICE_MYSQL_POOL_MAX_FILE=%s", path);
    struct options *o = load_good(NULL, ENV(variable[0]));
    assert_int_equal(o->mysql.pool_max, 8);
    assert_string_equal(option_source(o, &option_table[OPTION_mysql_pool_max]),
                        "environment SLUICE_MYSQL_POOL_MAX_FILE");
    options_free(o);
    assert_bad(NULL, ENV(variable[0], "SLUICE_MYSQL_POOL_MAX=3"),
               "SLUICE_MYSQL_POOL_MAX_FILE is set too");
    assert_bad(NULL, ENV("SLUICE_MYSQL_POOL_MAX_FILE=/nonexistent/x"),
               "environment SLUICE_MYSQL_POOL_MAX_FILE: /nonexistent/x: No such file");
    assert_bad(NULL, ENV("SLUICE_MYSQL_POOL_MAX_FILE=/"), "Is a directory");
    (void)close(fd);
}

static void one_newline_at_the_end_of_a_secret_goes(void **state)
{
    static const struct {
        const char *text;
        const char *secret;
    } cases[] = {{"pw", "pw"},     {"pw\n", "pw"},     {"pw\r\n", "pw"}, {"pw\n\n", "pw\n"},
                 {" pw ", " pw "}, {"a\nb\n", "a\nb"}, {"", ""},         {"\n", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        struct why why;
        int fd = memory_file(cases[i].text, strlen(cases[i].text), path);
        char *secret = environment_read_secret(path, &why);
        assert_string_equal(secret, cases[i].secret);
        memory_free_secret(secret);
        (void)close(fd);
    }
}

static void odd_secret_files_are_refused(void **state)
{
    char path[64];
    struct why why;
    (void)state;
    int fd = memory_file("a\0b", 3, path);
    assert_null(environment_read_secret(path, &why));
    assert_non_null(strstr(why.text, "NUL"));
    (void)close(fd);
    char *big = memory_new(SECRET_FILE_MAX_BYTES + 1);
    memset(big, 'x', SECRET_FILE_MAX_BYTES + 1);
    fd = memory_file(big, SECRET_FILE_MAX_BYTES, path);
    char *secret = environment_read_secret(path, &why);
    assert_int_equal(strlen(secret), SECRET_FILE_MAX_BYTES);
    memory_free_secret(secret);
    (void)close(fd);
    fd = memory_file(big, SECRET_FILE_MAX_BYTES + 1, path);
    assert_null(environment_read_secret(path, &why));
    (void)close(fd);
    free(big);
}

static void a_backend_may_come_in_parts(void **state)
{
    (void)state;
    struct options *o = load_good(NULL, ENV("SLUICE_MYSQL_HOST=db", "SLUICE_MYSQL_USER=u",
                                            "SLUICE_MYSQL_PASSWORD=p@/:%41",
                                            "SLUICE_MYSQL_DATABASE=d", "SLUICE_MYSQL_PORT=3307"));
    assert_int_equal(o->mysql.backend_count, 1);
    assert_string_equal(o->mysql.backend[0].host, "db");
    assert_string_equal(o->mysql.backend[0].user, "u");
    assert_string_equal(o->mysql.backend[0].password, "p@/:%41"); /* no decoding here */
    assert_string_equal(o->mysql.backend[0].schema, "d");
    assert_int_equal(o->mysql.backend[0].port, 3307);
    assert_int_equal(o->mysql.backend[0].tls, TLS_PREFER);
    options_free(o);
    o = load_good(NULL, ENV("SLUICE_MYSQL_HOST=[::1]"));
    assert_string_equal(o->mysql.backend[0].host, "::1");
    assert_int_equal(o->mysql.backend[0].port, 3306);
    options_free(o);
    o = load_good(NULL, ENV("SLUICE_MYSQL_HOST=/run/m.sock"));
    assert_null(o->mysql.backend[0].host);
    assert_string_equal(o->mysql.backend[0].path, "/run/m.sock");
    options_free(o);
}

static void parts_complete_a_backend_of_the_file_or_a_url(void **state)
{
    char path[64];
    char variable[128];
    (void)state;
    int fd = memory_file("secret\n", 7, path);
    (void)snprintf(variable, sizeof variable, "SLUICE_MYSQL_PASSWORD_FILE=%s", path);
    struct options *o =
        load_good("mysql = { backend = \"mysql://u:old@h/d?pool_max=4\"; };", ENV(variable));
    assert_int_equal(o->mysql.backend_count, 1);
    assert_string_equal(o->mysql.backend[0].user, "u");
    assert_string_equal(o->mysql.backend[0].password, "secret");
    assert_int_equal(o->mysql.pool_max, 4);
    options_free(o);
    o = load_good(NULL, ENV("SLUICE_MYSQL_BACKEND=mysql://u@h", "SLUICE_MYSQL_DATABASE=d"));
    assert_string_equal(o->mysql.backend[0].schema, "d");
    options_free(o);
    (void)close(fd);
}

static void odd_parts_are_refused(void **state)
{
    (void)state;
    assert_bad(NULL, ENV("SLUICE_MYSQL_USER=u"), "no host is given");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=db:3306"), "variable of its own");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=["), "no host's name");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=[]"), "no host's name");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=u@db"), "no host's name");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=db/x"), "no host's name");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=db", "SLUICE_MYSQL_PORT=0"), "1..65535");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=db", "SLUICE_MYSQL_PORT=x"), "1..65535");
    assert_bad(NULL, ENV("SLUICE_MYSQL_HOST=db", "SLUICE_MYSQL_PASSWORD=p"), "no user");
    assert_bad(NULL, ENV("SLUICE_REDIS_HOST=cache"), "redis is not served");
}

static void service_links_of_kubernetes_are_passed_over(void **state)
{
    (void)state;
    struct options *o = load_good(
        NULL, ENV("SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT=6033",
                  "SLUICE_SERVICE_PORT_MYSQL=6033", "SLUICE_PORT=tcp://10.0.0.1:6033",
                  "SLUICE_PORT_6033_TCP=tcp://10.0.0.1:6033", "SLUICE_PORT_6033_TCP_PROTO=tcp",
                  "SLUICE_PORT_6033_TCP_PORT=6033", "SLUICE_PORT_6033_TCP_ADDR=10.0.0.1",
                  "SLUICE_PORT_53_UDP_ADDR=10.0.0.1", "SLUICE_MYSQL_SERVICE_HOST=10.0.0.1",
                  "SLUICE_MYSQL_SERVICE_PORT=6033", "SLUICE_MYSQL_PORT=tcp://10.0.0.1:6033",
                  "SLUICE_MYSQL_PORT_6033_TCP=tcp://10.0.0.1:6033",
                  "SLUICE_MYSQL_PORT_6033_TCP_ADDR=10.0.0.1", "SLUICE_A_B_PORT_9_SCTP_PROTO=sctp"));
    assert_int_equal(o->mysql.backend_count, 0);
    options_free(o);
    static const char *const strangers[] = {"SLUICE_PORT=6033",        "SLUICE_PORT_6033=1",
                                            "SLUICE_PORT_X_TCP=1",     "SLUICE_PORT_1_TCP_X=1",
                                            "SLUICE_SERVICE_HOSTS=1",  "SLUICE_XSERVICE_HOST=1",
                                            "SLUICE_XPORT_6033_TCP=1", "SLUICE_PORT_1_TCPX=1"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        assert_bad(NULL, ENV((char *)strangers[i]), "unknown name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_has_a_variable),
        cmocka_unit_test(short_names_and_aliases_work),
        cmocka_unit_test(mistakes_name_the_variable),
        cmocka_unit_test(an_empty_variable_counts_as_none),
        cmocka_unit_test(every_variable_has_a_file_twin),
        cmocka_unit_test(one_newline_at_the_end_of_a_secret_goes),
        cmocka_unit_test(odd_secret_files_are_refused),
        cmocka_unit_test(a_backend_may_come_in_parts),
        cmocka_unit_test(parts_complete_a_backend_of_the_file_or_a_url),
        cmocka_unit_test(odd_parts_are_refused),
        cmocka_unit_test(service_links_of_kubernetes_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
