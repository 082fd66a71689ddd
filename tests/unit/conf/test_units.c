/* SPDX-License-Identifier: Apache-2.0
 *
 * conf/units.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conf/units.h"

static void durations_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"250ms", 250},   {"5s", 5000},
                 {"5min", 300000}, {"24h", 86400000},
                 {"1d", 86400000}, {"0ms", 0},
                 {"007s", 7000},   {"106751991167d", INT64_C(106751991167) * 86400000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why;
        int64_t ms;
        assert_true(units_parse_duration(cases[i].text, &ms, &why));
        assert_int_equal(ms, cases[i].ms);
    }
}

static void a_plain_number_is_told_to_add_a_unit(void **state)
{
    struct why why;
    int64_t ms = 77;
    (void)state;
    assert_false(units_parse_duration("5", &ms, &why));
    assert_non_null(strstr(why.text, "add a unit"));
    assert_int_equal(ms, 77);
}

static void other_durations_are_refused(void **state)
{
    static const char *const cases[] = {"",
                                        "s",
                                        "5m",
                                        "5 s",
                                        " 5s",
                                        "5s ",
                                        "-5s",
                                        "5S",
                                        "off",
                                        "1.5s",
                                        "5sec",
                                        "1h5m",
                                        "5sms",
                                        "0x5s",
                                        "106751991168d",
                                        "9223372036854775808ms",
                                        "99999999999999999999999999999s"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why;
        int64_t ms;
        assert_false(units_parse_duration(cases[i], &ms, &why));
    }
}

static void sizes_have_binary_units_or_none(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"512", 512},
                 {"64KiB", 65536},
                 {"16MiB", 16777216},
                 {"1GiB", 1073741824},
                 {"1TiB", INT64_C(1099511627776)},
                 {"0", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why;
        int64_t bytes;
        assert_true(units_parse_size(cases[i].text, &bytes, &why));
        assert_int_equal(bytes, cases[i].bytes);
    }
    static const char *const bad[] = {"", "KiB", "1KB", "1k", "1 KiB", "-1", "8388608TiB", "1KiBs"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why;
        int64_t bytes;
        assert_false(units_parse_size(bad[i], &bytes, &why));
    }
}

static void numbers_are_whole(void **state)
{
    struct why why;
    int64_t n;
    (void)state;
    assert_true(units_parse_number("9223372036854775807", &n, &why));
    assert_true(n == INT64_MAX);
    assert_true(units_parse_number("-12", &n, &why));
    assert_int_equal(n, -12);
    assert_false(units_parse_number("9223372036854775808", &n, &why));
    assert_false(units_parse_number("1.0", &n, &why));
    assert_false(units_parse_number("-", &n, &why));
    assert_false(units_parse_number("", &n, &why));
}

static void the_largest_exact_unit_is_written(void **state)
{
    char out[UNITS_TEXT_MAX_BYTES];
    (void)state;
    assert_string_equal(units_format_duration(1500, out), "1500ms");
    assert_string_equal(units_format_duration(90000, out), "90s");
    assert_string_equal(units_format_duration(300000, out), "5min");
    assert_string_equal(units_format_duration(0, out), "0ms");
    assert_string_equal(units_format_size(65536, out), "64KiB");
    assert_string_equal(units_format_size(1000, out), "1000");
    assert_string_equal(units_format_size(0, out), "0");
    assert_string_equal(units_format_duration(INT64_MAX, out), "9223372036854775807ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(a_plain_number_is_told_to_add_a_unit),
        cmocka_unit_test(other_durations_are_refused),
        cmocka_unit_test(sizes_have_binary_units_or_none),
        cmocka_unit_test(numbers_are_whole),
        cmocka_unit_test(the_largest_exact_unit_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
