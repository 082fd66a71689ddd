/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/wire: readers and writers over a run of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/wire.h"

static void integers_are_little_endian(void **state)
{
    (void)state;
    const uint8_t raw[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    struct wire_reader r = wire_reader(bytes_of(raw, sizeof(raw)));
    assert_int_equal(wire_u8(&r), 1);
    assert_int_equal(wire_u16(&r), 0x0302);
    assert_int_equal(wire_u24(&r), 0x060504);
    assert_int_equal(wire_u32(&r), 0x0A090807);
    assert_int_equal(wire_u64(&r), 0x1211100F0E0D0C0BULL);
    assert_false(r.bad);
    assert_int_equal(wire_left(&r), 0);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    uint8_t raw[256];
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    const uint64_t numbers[] = {0, 250, 251, 0xFFFF, 0x10000, 0xFFFFFF, 0x1000000, UINT64_MAX};
    for (size_t i = 0; i < 8; i++)
        wire_put_lenenc(&w, numbers[i]);
    wire_put_u24(&w, 0x010203);
    wire_put_u32(&w, 0x01020304);
    wire_put_u64(&w, 0x0102030405060708ULL);
    wire_put_lenenc_bytes(&w, bytes_text("abc"));
    wire_put_nul_bytes(&w, bytes_text("user"));
    wire_put_zeros(&w, 3);
    wire_put_u16(&w, 0xBEEF);

    struct wire_reader r = wire_reader(bytes_of(raw, wire_written(&w)));
    for (size_t i = 0; i < 8; i++)
        assert_true(wire_lenenc(&r) == numbers[i]);
    assert_int_equal(wire_u24(&r), 0x010203);
    assert_int_equal(wire_u32(&r), 0x01020304);
    assert_true(wire_u64(&r) == 0x0102030405060708ULL);
    assert_true(bytes_equal(wire_lenenc_bytes(&r), bytes_text("abc")));
    assert_true(bytes_equal(wire_nul_bytes(&r), bytes_text("user")));
    assert_int_equal(wire_take(&r, 3).len, 3);
    assert_true(bytes_equal(wire_rest(&r), bytes_of("\xEF\xBE", 2)));
    assert_false(r.bad);
}

static void length_encoded_numbers_take_the_shortest_form(void **state)
{
    (void)state;
    uint8_t raw[16];
    const struct {
        uint64_t v;
        size_t bytes;
    } cases[] = {{250, 1}, {251, 3}, {0xFFFF, 3}, {0x10000, 4}, {0xFFFFFF, 4}, {0x1000000, 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wire_writer w = wire_writer(raw, sizeof(raw));
        wire_put_lenenc(&w, cases[i].v);
        assert_int_equal(wire_written(&w), cases[i].bytes);
    }
}

static void a_short_read_is_bad_and_stays_so(void **state)
{
    (void)state;
    struct wire_reader r = wire_reader(bytes_of("\x01\x02\x03", 3));
    assert_int_equal(wire_u32(&r), 0);
    assert_true(r.bad);
    assert_int_equal(wire_u8(&r), 0);
    assert_int_equal(wire_rest(&r).len, 0);
    assert_true(r.bad);
}

static void null_and_error_markers_are_no_numbers(void **state)
{
    (void)state;
    struct wire_reader r = wire_reader(bytes_of("\xFB", 1));
    assert_int_equal(wire_lenenc(&r), 0);
    assert_true(r.bad);
    r = wire_reader(bytes_of("\xFF", 1));
    assert_int_equal(wire_lenenc(&r), 0);
    assert_true(r.bad);
}

static void a_string_longer_than_what_is_left_is_bad(void **state)
{
    (void)state;
    struct wire_reader r = wire_reader(bytes_of("\x04"
                                                "abc",
                                                4));
    assert_int_equal(wire_lenenc_bytes(&r).len, 0);
    assert_true(r.bad);
    r = wire_reader(bytes_of("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                             "a",
                             10));
    assert_int_equal(wire_lenenc_bytes(&r).len, 0);
    assert_true(r.bad);
}

static void a_string_without_its_nul_is_bad(void **state)
{
    (void)state;
    struct wire_reader r = wire_reader(bytes_of("abc", 3));
    assert_int_equal(wire_nul_bytes(&r).len, 0);
    assert_true(r.bad);
    r = wire_reader(bytes_of(NULL, 0));
    assert_int_equal(wire_nul_bytes(&r).len, 0);
    assert_true(r.bad);
}

static void a_full_writer_writes_nothing_more(void **state)
{
    (void)state;
    uint8_t raw[4] = {9, 9, 9, 9};
    struct wire_writer w = wire_writer(raw, 3);
    wire_put_u16(&w, 1);
    assert_int_equal(wire_written(&w), 2);
    wire_put_u16(&w, 2);
    wire_put_u8(&w, 3);
    wire_put_zeros(&w, 1);
    assert_true(w.full);
    assert_int_equal(wire_written(&w), 0);
    assert_int_equal(raw[2], 9);
    assert_int_equal(raw[3], 9);
    w = wire_writer(raw, 2);
    wire_put_zeros(&w, 3);
    assert_true(w.full);
}

static void empty_bytes_are_equal_wherever_they_are(void **state)
{
    (void)state;
    assert_true(bytes_equal(bytes_of(NULL, 0), bytes_text("")));
    assert_false(bytes_equal(bytes_text("a"), bytes_text("b")));
    assert_false(bytes_equal(bytes_text("a"), bytes_text("aa")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_little_endian),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(length_encoded_numbers_take_the_shortest_form),
        cmocka_unit_test(a_short_read_is_bad_and_stays_so),
        cmocka_unit_test(null_and_error_markers_are_no_numbers),
        cmocka_unit_test(a_string_longer_than_what_is_left_is_bad),
        cmocka_unit_test(a_string_without_its_nul_is_bad),
        cmocka_unit_test(a_full_writer_writes_nothing_more),
        cmocka_unit_test(empty_bytes_are_equal_wherever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
