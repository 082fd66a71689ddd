/* SPDX-License-Identifier: Apache-2.0
 * health/metrics: the exposition format, line by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "health/metrics.h"

static void expect_text(struct metrics_text *text, const char *want)
{
    assert_int_equal(text->len, strlen(want));
    assert_memory_equal(text->at, want, text->len);
    metrics_text_fini(text);
}

static void a_family_has_help_and_type(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 10000);
    metrics_family(&text, METRIC_CLIENTS);
    expect_text(&text, "# HELP sluice_clients Client connections now open, by state.\n"
                       "# TYPE sluice_clients gauge\n");
}

static void integers_are_exact(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 10000);
    metrics_sample(&text, METRIC_BYTES, UINT64_MAX, NULL);
    metrics_sample(&text, METRIC_BYTES, 0, METRICS_LABELS({"proto", "mysql"}, {"direction", "in"}));
    expect_text(&text, "sluice_bytes_total 18446744073709551615\n"
                       "sluice_bytes_total{proto=\"mysql\",direction=\"in\"} 0\n");
}

static void nanoseconds_become_exact_seconds(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 10000);
    metrics_sample_ns(&text, METRIC_POOLS_CLIENT_MAXWAIT, 0, NULL);
    metrics_sample_ns(&text, METRIC_POOLS_CLIENT_MAXWAIT, 1500000000, NULL);
    metrics_sample_ns(&text, METRIC_POOLS_CLIENT_MAXWAIT, 1, NULL);
    metrics_sample_ns(&text, METRIC_POOLS_CLIENT_MAXWAIT, 20000000000, NULL);
    expect_text(&text, "sluice_pools_client_maxwait_seconds 0\n"
                       "sluice_pools_client_maxwait_seconds 1.5\n"
                       "sluice_pools_client_maxwait_seconds 0.000000001\n"
                       "sluice_pools_client_maxwait_seconds 20\n");
}

static void label_values_are_escaped(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 10000);
    metrics_sample(&text, METRIC_UP, 1, METRICS_LABELS({"user", "a\"b\\c\nd"}, {"db", NULL}));
    expect_text(&text, "sluice_up{user=\"a\\\"b\\\\c\\nd\",db=\"\"} 1\n");
}

static void what_is_not_utf8_is_replaced(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\xC3\xA9", "\xC3\xA9"},
        {"\xE2\x82\xAC", "\xE2\x82\xAC"},
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
        {"\xFF", "\xEF\xBF\xBD"},
        {"a\xC3", "a\xEF\xBF\xBD"},                               /* cut short */
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* surrogate */
        {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct metrics_text text;
        char want[64] = "sluice_up{user=\"";
        strcat(strcat(want, cases[i].out), "\"} 1\n");
        metrics_text_init(&text, 10000);
        metrics_sample(&text, METRIC_UP, 1, METRICS_LABELS({"user", cases[i].in}));
        expect_text(&text, want);
    }
}

static void a_full_text_ends_with_a_whole_line(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 12);
    metrics_sample(&text, METRIC_UP, 1, NULL); /* 12 bytes */
    assert_false(text.full);
    metrics_sample(&text, METRIC_UP, 2, NULL);
    assert_true(text.full);
    metrics_sample(&text, METRIC_UP, 3, NULL);
    expect_text(&text, "sluice_up 1\n");

    metrics_text_init(&text, 11);
    metrics_sample(&text, METRIC_UP, 1, NULL);
    assert_true(text.full);
    assert_int_equal(text.len, 0);
    metrics_text_fini(&text);
}

static void a_text_grows(void **state)
{
    struct metrics_text text;
    (void)state;
    metrics_text_init(&text, 1 << 20);
    for (int i = 0; i < 10000; i++)
        metrics_sample(&text, METRIC_UP, 1, NULL);
    assert_false(text.full);
    assert_int_equal(text.len, 120000);
    metrics_text_fini(&text);
}

static void a_value_equal_to_a_bound_belongs_below_it(void **state)
{
    struct histogram h = {{0}, 0};
    (void)state;
    histogram_observe_ns(&h, 0);
    histogram_observe_ns(&h, 100000);
    histogram_observe_ns(&h, 100001);
    histogram_observe_ns(&h, UINT64_C(60000000000));
    histogram_observe_ns(&h, UINT64_C(60000000001));
    assert_int_equal(h.counts[0], 2);
    assert_int_equal(h.counts[1], 1);
    assert_int_equal(h.counts[HISTOGRAM_BOUNDS - 1], 1);
    assert_int_equal(h.counts[HISTOGRAM_BOUNDS], 1);
}

static void bounds_rise(void **state)
{
    (void)state;
    assert_int_equal(histogram_bounds_ns[0], 100000);
    for (int i = 1; i < HISTOGRAM_BOUNDS; i++)
        assert_true(histogram_bounds_ns[i] > histogram_bounds_ns[i - 1]);
    assert_int_equal(histogram_bounds_ns[HISTOGRAM_BOUNDS - 1], UINT64_C(60000000000));
}

static void a_histogram_is_cumulative(void **state)
{
    struct metrics_text text;
    struct histogram a = {{0}, 0}, b = {{0}, 0};
    (void)state;
    histogram_observe_ns(&a, 200000);
    histogram_observe_ns(&b, 1000000000);
    histogram_observe_ns(&b, UINT64_C(90000000000));
    histogram_add(&a, &b);
    metrics_text_init(&text, 10000);
    metrics_histogram(&text, METRIC_STATEMENT_SECONDS, &a, METRICS_LABELS({"proto", "redis"}));
    assert_true(text.len < 9999);
    char *copy = strndup(text.at, text.len);
    assert_non_null(
        strstr(copy, "sluice_statement_seconds_bucket{proto=\"redis\",le=\"0.0001\"} 0\n"));
    assert_non_null(
        strstr(copy, "sluice_statement_seconds_bucket{proto=\"redis\",le=\"0.00025\"} 1\n"));
    assert_non_null(strstr(copy, "sluice_statement_seconds_bucket{proto=\"redis\",le=\"1\"} 2\n"));
    assert_non_null(strstr(copy, "sluice_statement_seconds_bucket{proto=\"redis\",le=\"60\"} 2\n"));
    assert_non_null(strstr(copy, "sluice_statement_seconds_bucket{proto=\"redis\",le=\"+Inf\"} 3\n"
                                 "sluice_statement_seconds_sum{proto=\"redis\"} 91.0002\n"
                                 "sluice_statement_seconds_count{proto=\"redis\"} 3\n"));
    free(copy);
    metrics_text_fini(&text);
    metrics_text_init(&text, 10000);
    metrics_histogram(&text, METRIC_POOL_WAIT, &a, NULL);
    copy = strndup(text.at, text.len);
    assert_non_null(strstr(copy, "sluice_pool_wait_seconds_bucket{le=\"5\"} 2\n"));
    free(copy);
    metrics_text_fini(&text);
}

static void every_family_is_well_named(void **state)
{
    (void)state;
    for (int i = 0; i < METRIC_COUNT_; i++) {
        const struct metric_info *info = metric_info((enum metric)i);
        size_t len = strlen(info->name), help_len = strlen(info->help);
        bool total = len > 6 && strcmp(info->name + len - 6, "_total") == 0;
        assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz_"), len);
        assert_true(total == (info->type == METRIC_TYPE_COUNTER));
        assert_int_equal(info->help[help_len - 1], '.');
        assert_null(strpbrk(info->help, "\\\n"));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(info->name, metric_info((enum metric)k)->name);
    }
}

static void the_process_describes_itself(void **state)
{
    static const char *const names[] = {
        "process_cpu_seconds_total ", "process_resident_memory_bytes ",
        "process_open_fds ",          "process_virtual_memory_bytes ",
        "process_max_fds ",           "process_start_time_seconds ",
    };
    struct metrics_text text;
    char key[80];
    (void)state;
    metrics_text_init(&text, 10000);
    metrics_process(&text);
    char *copy = strndup(text.at, text.len);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        strcat(strcpy(key, "\n"), names[i]);
        const char *line = strstr(copy, key);
        assert_non_null(line);
        double value = strtod(line + strlen(key), NULL);
        if (strcmp(names[i], "process_start_time_seconds ") == 0)
            assert_true(value > 1.6e9);
        else if (strcmp(names[i], "process_cpu_seconds_total ") != 0)
            assert_true(value >= 3);
    }
    free(copy);
    metrics_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_has_help_and_type),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(nanoseconds_become_exact_seconds),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(a_full_text_ends_with_a_whole_line),
        cmocka_unit_test(a_text_grows),
        cmocka_unit_test(a_value_equal_to_a_bound_belongs_below_it),
        cmocka_unit_test(bounds_rise),
        cmocka_unit_test(a_histogram_is_cumulative),
        cmocka_unit_test(every_family_is_well_named),
        cmocka_unit_test(the_process_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
