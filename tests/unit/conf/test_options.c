/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/options.c, conf/value.c: the table, every type from text and back. */
#include "tests/unit/conf/loading.h"

#include "conf/value.h"

static void defaults_are_those_of_the_interface(void **state)
{
    (void)state;
    struct options *o = options_new();
    assert_int_equal(o->mysql.pool_max, 16);
    assert_int_equal(o->mysql.pool.pool_max, 16);
    assert_int_equal(o->mysql.pool_total, 64);
    assert_int_equal(o->mysql.min_idle, 2);
    assert_int_equal(o->mysql.max_pinned_percent, 75);
    assert_int_equal(o->mysql.reserved, 1);
    assert_int_equal(o->mysql.queue_timeout_ms, 5000);
    assert_int_equal(o->mysql.connect_timeout_ms, 5000);
    assert_int_equal(o->mysql.backend_timeout_ms, 30000);
    assert_int_equal(o->mysql.max_age_ms, 1800000);
    assert_int_equal(o->mysql.idle_timeout_ms, 300000);
    assert_int_equal(o->mysql.probe_after_ms, 30000);
    assert_int_equal(o->mysql.probe_timeout_ms, 1000);
    assert_int_equal(o->mysql.refresh_every_ms, 60000);
    assert_string_equal(o->mysql.probe_query, "SELECT 1");
    assert_int_equal(o->mysql.client_max, 10000);
    assert_int_equal(o->mysql.client_idle_timeout_ms, 0);
    assert_int_equal(o->mysql.login_timeout_ms, 10000);
    assert_int_equal(o->mysql.idle_in_transaction_timeout_ms, 60000);
    assert_int_equal(o->mysql.tls, TLS_PREFER);
    assert_int_equal(o->mysql.listen_tls, LISTEN_TLS_AUTO);
    assert_int_equal(o->mysql.tls_min, TLS_VERSION_1_2);
    assert_null(o->mysql.tls_ca);
    assert_int_equal(o->mysql.user_count, 0);
    assert_int_equal(o->mysql.verifier_ttl_ms, 60000);
    assert_true(o->mysql.retry_reads);
    assert_int_equal(o->mysql.statement_cache, 64);
    assert_int_equal(o->mysql.listen_count, 1);
    assert_int_equal(o->mysql.listen[0].port, 6033);
    assert_int_equal(o->mysql.backend_count, 0);
    assert_int_equal(o->redis.listen[0].port, 6380);
    assert_int_equal(o->redis.shared_reply_max_bytes, 64 << 20);
    assert_int_equal(o->redis.stream_above_bytes, 64 << 10);
    assert_int_equal(o->admin.listen[0].port, 6070);
    assert_int_equal(o->admin.health_listen[0].port, 6071);
    assert_int_equal(o->process.threads, 1);
    assert_int_equal(o->process.drain_timeout_ms, 25000);
    assert_int_equal(o->process.drain_idle_ms, 2000);
    assert_int_equal(o->process.ready_requires, READY_LISTENERS);
    assert_int_equal(o->process.log_format, LOG_FORMAT_LOGFMT);
    assert_int_equal(o->process.log_level, LOG_INFO);
    options_free(o);
}

static bool set(struct options *o, enum option_id id, const char *text)
{
    struct why why;
    return value_set(o, &option_table[id], text, &why);
}

/* The words of options.def and the constants of options.h are two lists: here they meet. */
static void words_of_enums_are_in_the_order_of_their_constants(void **state)
{
    static const struct {
        enum option_id id;
        const char *word;
        int value;
    } cases[] = {
        {OPTION_mysql_tls, "off", TLS_OFF},
        {OPTION_mysql_tls, "prefer", TLS_PREFER},
        {OPTION_mysql_tls, "require", TLS_REQUIRE},
        {OPTION_mysql_tls, "verify-ca", TLS_VERIFY_CA},
        {OPTION_mysql_tls, "verify", TLS_VERIFY},
        {OPTION_mysql_listen_tls, "off", LISTEN_TLS_OFF},
        {OPTION_mysql_listen_tls, "auto", LISTEN_TLS_AUTO},
        {OPTION_mysql_listen_tls, "require", LISTEN_TLS_REQUIRE},
        {OPTION_mysql_tls_min, "1.2", TLS_VERSION_1_2},
        {OPTION_mysql_tls_min, "1.3", TLS_VERSION_1_3},
        {OPTION_redis_multi, "auto", REDIS_MULTI_AUTO},
        {OPTION_redis_multi, "pin", REDIS_MULTI_PIN},
        {OPTION_process_ready_requires, "listeners", READY_LISTENERS},
        {OPTION_process_ready_requires, "backend", READY_BACKEND},
        {OPTION_process_log_format, "logfmt", LOG_FORMAT_LOGFMT},
        {OPTION_process_log_format, "json", LOG_FORMAT_JSON},
        {OPTION_process_log_level, "error", LOG_ERROR},
        {OPTION_process_log_level, "warn", LOG_WARN},
        {OPTION_process_log_level, "info", LOG_INFO},
        {OPTION_process_log_level, "debug", LOG_DEBUG},
    };
    (void)state;
    struct options *o = options_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(set(o, cases[i].id, cases[i].word));
        assert_int_equal(*(const int *)option_value(o, &option_table[cases[i].id]), cases[i].value);
    }
    assert_false(set(o, OPTION_mysql_tls, ""));
    assert_false(set(o, OPTION_mysql_tls, "verif"));
    assert_false(set(o, OPTION_mysql_tls, "verify-"));
    assert_false(set(o, OPTION_mysql_tls, "off|prefer"));
    options_free(o);
}

static void text_at(const struct option_row *row, int64_t number, char out[40])
{
    if (row->type == OPTION_DURATION || row->type == OPTION_DURATION_OFF)
        (void)snprintf(out, 40, "%lldms", (long long)number);
    else
        (void)snprintf(out, 40, "%lld", (long long)number);
}

static void every_bound_holds_and_one_beyond_does_not(void **state)
{
    (void)state;
    struct options *o = options_new();
    int bounded = 0;
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option_row *row = &option_table[i];
        struct why why;
        char text[40];
        if (row->max == 0)
            continue;
        bounded++;
        text_at(row, row->min, text);
        assert_true(value_set(o, row, text, &why));
        text_at(row, row->max, text);
        assert_true(value_set(o, row, text, &why));
        text_at(row, row->max + 1, text);
        assert_false(value_set(o, row, text, &why));
        assert_non_null(strstr(why.text, "out of range, expected"));
        text_at(row, row->min - 1, text);
        assert_false(value_set(o, row, text, &why));
        assert_false(value_set(o, row, "x", &why));
        assert_false(value_set(o, row, "", &why));
        assert_int_equal(value_set(o, row, "off", &why), row->type == OPTION_DURATION_OFF);
    }
    assert_true(bounded > 40);
    options_free(o);
}

static void a_share_is_a_percentage_or_a_count(void **state)
{
    (void)state;
    struct options *o = options_new();
    assert_true(set(o, OPTION_mysql_max_pinned, "100 %"));
    assert_int_equal(o->mysql.max_pinned_percent, 100);
    assert_true(set(o, OPTION_mysql_max_pinned, "3"));
    assert_int_equal(o->mysql.max_pinned_percent, 0);
    assert_int_equal(o->mysql.max_pinned, 3);
    static const char *const bad[] = {"0%",  "101%", "%",    " %",
                                      "-1%", "1.5%", "75%%", "1234567890%"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(set(o, OPTION_mysql_max_pinned, bad[i]));
    options_free(o);
}

static void booleans_have_eight_words(void **state)
{
    (void)state;
    struct options *o = options_new();
    static const char *const yes[] = {"true", "yes", "on", "1", "True"};
    static const char *const no[] = {"false", "no", "off", "0", "OFF"};
    for (size_t i = 0; i < 5; i++) {
        assert_true(set(o, OPTION_mysql_retry_reads, no[i]));
        assert_false(o->mysql.retry_reads);
        assert_true(set(o, OPTION_mysql_retry_reads, yes[i]));
        assert_true(o->mysql.retry_reads);
    }
    assert_false(set(o, OPTION_mysql_retry_reads, "2"));
    assert_false(set(o, OPTION_mysql_retry_reads, ""));
    options_free(o);
}

static void a_list_of_addresses_has_commas(void **state)
{
    (void)state;
    struct options *o = options_new();
    assert_true(set(o, OPTION_mysql_listen, "127.0.0.1:1 , unix:/a?mode=0666&group=g"));
    assert_int_equal(o->mysql.listen_count, 2);
    assert_string_equal(o->mysql.listen[1].path, "/a");
    assert_true(set(o, OPTION_mysql_listen, "off"));
    assert_int_equal(o->mysql.listen_count, 0);
    assert_null(o->mysql.listen);
    assert_false(set(o, OPTION_mysql_listen, "127.0.0.1:1,"));
    assert_false(set(o, OPTION_mysql_listen, "127.0.0.1:1,off"));
    options_free(o);
}

static void users_fit_into_one_text(void **state)
{
    (void)state;
    struct options *o = options_new();
    assert_true(set(o, OPTION_mysql_users,
                    "app:p%2Cw%3A1,old:*0123456789ABCDEFabcdef0123456789ABCDEF01,star:*x"));
    assert_int_equal(o->mysql.user_count, 3);
    assert_string_equal(o->mysql.users[0].password, "p,w:1");
    assert_true(o->mysql.users[1].has_hash);
    assert_null(o->mysql.users[1].password);
    assert_int_equal(o->mysql.users[1].hash[0], 0x01);
    assert_int_equal(o->mysql.users[1].hash[5], 0xab);
    assert_int_equal(o->mysql.users[1].hash[19], 0x01);
    assert_string_equal(o->mysql.users[2].password, "*x");
    static const char *const bad[] = {
        "app",     ":pw",   "a:%0",
        "a:%zz",   "a:%00", "a:%",
        "a:1,a:2", "a:1,",  "old:*0123456789ABCDEFabcdef0123456789ABCDEF0g"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(set(o, OPTION_mysql_users, bad[i]));
    options_free(o);
}

static void names_are_found_and_near_ones_offered(void **state)
{
    (void)state;
    assert_ptr_equal(option_find("mysql", "pool_max"), &option_table[OPTION_mysql_pool_max]);
    assert_ptr_equal(option_find("redis", "pool_size"), &option_table[OPTION_redis_pool_max]);
    assert_null(option_find("process", "pool_size"));
    assert_null(option_find("mysql", "multi"));
    assert_string_equal(option_nearest("mysql", "pool_mx"), "pool_max");
    assert_string_equal(option_nearest("process", "thread"), "threads");
    assert_string_equal(option_nearest(NULL, "myslq"), "mysql");
    assert_null(option_nearest("mysql", "completely_different"));
    assert_null(option_nearest("mysql", "0123456789012345678901234567890123456789"));
}

static void count_change(const struct option_row *row, void *context)
{
    int *changes = context;
    changes[row->reload]++;
}

static void a_diff_names_each_changed_row(void **state)
{
    (void)state;
    struct options *before = options_new();
    struct options *after = options_new();
    int changes[2] = {0, 0};
    options_diff(before, after, count_change, changes);
    assert_int_equal(changes[RELOADABLE] + changes[RESTART], 0);
    assert_true(set(before, OPTION_mysql_backend, "mysql://u:one@h"));
    assert_true(set(after, OPTION_mysql_backend, "mysql://u:two@h")); /* a secret counts too */
    assert_true(set(after, OPTION_process_threads, "2"));
    options_diff(before, after, count_change, changes);
    assert_int_equal(changes[RELOADABLE], 1);
    assert_int_equal(changes[RESTART], 1);
    options_free(before);
    options_free(after);
    options_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_interface),
        cmocka_unit_test(words_of_enums_are_in_the_order_of_their_constants),
        cmocka_unit_test(every_bound_holds_and_one_beyond_does_not),
        cmocka_unit_test(a_share_is_a_percentage_or_a_count),
        cmocka_unit_test(booleans_have_eight_words),
        cmocka_unit_test(a_list_of_addresses_has_commas),
        cmocka_unit_test(users_fit_into_one_text),
        cmocka_unit_test(names_are_found_and_near_ones_offered),
        cmocka_unit_test(a_diff_names_each_changed_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
