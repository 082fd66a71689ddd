/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/mysql_response: OK, EOF, ERR, trackers, small results. Byte strings are captures of
 * MariaDB 10.11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_response.h"

#define RAW(text) bytes_of(text, sizeof(text) - 1)

/* SET time_zone in a procedure, with state change. */
#define OK_TRACKED                                                                                 \
    "\x00\x00\x00\x02\x40\x00\x00\x00\x16\x00\x11\x09time_zone\x06+01:00\x02\x01"                  \
    "1"
/* INSERT of three rows. */
#define OK_INFO   "\x00\x03\x00\x02\x00\x00\x00\x26Records: 3  Duplicates: 0  Warnings: 0"
#define ERR_STATE "\xff\x7a\x04#42S02Table 't.nosuch' doesn't exist"

/* SELECT NULL, 'x', '' */
#define DEFINITION                                                                                 \
    "\x17\x00\x00\x02\x03"                                                                         \
    "def\x00\x00\x00\x01"                                                                          \
    "1\x00\x0c\x3f\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00"
#define RESULT                                                                                     \
    "\x01\x00\x00\x01\x03" DEFINITION DEFINITION DEFINITION "\x04\x00\x00\x05\xfb\x01x\x00"        \
    "\x07\x00\x00\x06\xfe\x00\x00\x02\x00\x00\x00"

static void *exact_copy(struct bytes b)
{
    void *copy = malloc(b.len ? b.len : 1);
    memcpy(copy, b.at, b.len);
    return copy;
}

static void an_ok_is_read(void **state)
{
    (void)state;
    struct mysql_ok ok;
    assert_int_equal(mysql_ok_read(RAW(OK_INFO), &ok), WIRE_DONE);
    assert_int_equal(ok.affected_rows, 3);
    assert_int_equal(ok.status, MYSQL_STATUS_AUTOCOMMIT);
    assert_true(bytes_equal(ok.info, bytes_text("Records: 3  Duplicates: 0  Warnings: 0")));
    assert_int_equal(ok.trackers.len, 0);
    assert_int_equal(mysql_ok_read(RAW("\xfe\x00\x00\x0a\x00\x02\x00"), &ok), WIRE_DONE);
    assert_int_equal(ok.status, MYSQL_STATUS_AUTOCOMMIT | MYSQL_STATUS_MORE_RESULTS);
    assert_int_equal(ok.warnings, 2);
    assert_int_equal(ok.info.len, 0);
}

static void a_classic_eof_is_read_as_ok(void **state)
{
    (void)state;
    struct mysql_ok ok;
    assert_int_equal(mysql_ok_read(RAW("\xfe\x01\x00\x22\x00"), &ok), WIRE_DONE);
    assert_int_equal(ok.status, 0x22);
    assert_int_equal(ok.warnings, 1);
}

static void every_shorter_prefix_of_an_ok_is_bad_or_ends_at_a_field(void **state)
{
    (void)state;
    struct bytes whole = RAW(OK_TRACKED);
    for (size_t len = 0; len < whole.len; len++) {
        struct mysql_ok ok;
        uint8_t *copy = exact_copy(bytes_of(whole.at, len));
        bool at_field = len == 7 || len == 8; /* behind the warnings, behind the empty info */
        assert_int_equal(mysql_ok_read(bytes_of(copy, len), &ok), at_field ? WIRE_DONE : WIRE_BAD);
        free(copy);
    }
}

static void an_ok_with_another_header_is_bad(void **state)
{
    (void)state;
    struct mysql_ok ok;
    assert_int_equal(mysql_ok_read(RAW("\x01\x00\x00\x02\x00\x00\x00"), &ok), WIRE_BAD);
}

static void trackers_come_out_one_by_one(void **state)
{
    (void)state;
    struct mysql_ok ok;
    struct mysql_track track;
    assert_int_equal(mysql_ok_read(RAW(OK_TRACKED), &ok), WIRE_DONE);
    struct mysql_track_cursor c = {.left = ok.trackers};
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, MYSQL_TRACK_SYSTEM_VARIABLES);
    assert_true(bytes_equal(track.name, bytes_text("time_zone")));
    assert_true(bytes_equal(track.value, bytes_text("+01:00")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, MYSQL_TRACK_STATE_CHANGE);
    assert_true(bytes_equal(track.value, bytes_text("1")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_MORE);
}

static void several_variables_in_one_entry_come_out_one_by_one(void **state)
{
    (void)state;
    struct mysql_track track;
    struct mysql_track_cursor c = {.left = RAW("\x00\x08\x01"
                                               "a\x01"
                                               "b\x01"
                                               "c\x01"
                                               "d\x00\x00\x01\x02\x01t")};
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_true(bytes_equal(track.name, bytes_text("a")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_true(bytes_equal(track.name, bytes_text("c")));
    assert_true(bytes_equal(track.value, bytes_text("d")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE); /* the empty entry is passed over */
    assert_int_equal(track.type, MYSQL_TRACK_SCHEMA);
    assert_true(bytes_equal(track.value, bytes_text("t")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_MORE);
}

static void each_kind_of_tracker_is_unwrapped(void **state)
{
    (void)state;
    struct mysql_track track;
    struct mysql_track_cursor c = {
        .left = RAW("\x05\x09\x08T_______\x04\x13\x12START TRANSACTION;\x03\x04\x00\x02"
                    "g1\x63\x02zz")};
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, MYSQL_TRACK_TRX_STATE);
    assert_true(bytes_equal(track.value, bytes_text("T_______")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, MYSQL_TRACK_TRX_CHARACTERISTICS);
    assert_true(bytes_equal(track.value, bytes_text("START TRANSACTION;")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, MYSQL_TRACK_GTIDS);
    assert_true(bytes_equal(track.value, bytes_text("g1")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_DONE);
    assert_int_equal(track.type, 0x63); /* of a newer server: as it is */
    assert_true(bytes_equal(track.value, bytes_text("zz")));
    assert_int_equal(mysql_track_next(&c, &track), WIRE_MORE);
}

static void broken_trackers_are_bad(void **state)
{
    (void)state;
    struct mysql_track track;
    struct mysql_track_cursor cut = {.left = RAW("\x01\x05\x01t")};
    assert_int_equal(mysql_track_next(&cut, &track), WIRE_BAD);
    struct mysql_track_cursor inner = {.left = RAW("\x01\x02\x02t")};
    assert_int_equal(mysql_track_next(&inner, &track), WIRE_BAD);
    struct mysql_track_cursor variable = {.left = RAW("\x00\x02\x01"
                                                      "a")};
    assert_int_equal(mysql_track_next(&variable, &track), WIRE_BAD);
}

static void an_error_is_read_with_and_without_sqlstate(void **state)
{
    (void)state;
    struct mysql_err err;
    assert_int_equal(mysql_err_read(RAW(ERR_STATE), &err), WIRE_DONE);
    assert_int_equal(err.code, 1146);
    assert_string_equal(err.sqlstate, "42S02");
    assert_true(bytes_equal(err.message, bytes_text("Table 't.nosuch' doesn't exist")));
    assert_int_equal(mysql_err_read(RAW("\xff\x10\x04Too many connections"), &err), WIRE_DONE);
    assert_int_equal(err.code, 1040);
    assert_string_equal(err.sqlstate, "HY000");
    assert_true(bytes_equal(err.message, bytes_text("Too many connections")));
    assert_int_equal(mysql_err_read(RAW("\xff\x10"), &err), WIRE_BAD);
    assert_int_equal(mysql_err_read(RAW("\xfe\x10\x04"), &err), WIRE_BAD);
}

static void written_packets_have_no_trackers(void **state)
{
    (void)state;
    uint8_t raw[64];
    struct mysql_ok ok;
    assert_int_equal(mysql_ok_read(RAW(OK_TRACKED), &ok), WIRE_DONE);
    assert_int_equal(mysql_ok_packet(raw, sizeof(raw), 4, &ok), 11);
    assert_memory_equal(raw, "\x07\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00", 11);
    assert_int_equal(mysql_ok_packet(raw, 10, 4, &ok), 0);
    ok.info = bytes_text("hi");
    assert_int_equal(mysql_ok_packet(raw, sizeof(raw), 4, &ok), 14);
    assert_memory_equal(raw + 11, "\x02hi", 3);
    assert_int_equal(mysql_eof_packet(raw, sizeof(raw), 5, 0x4022, 3), 9);
    assert_memory_equal(raw, "\x05\x00\x00\x05\xfe\x03\x00\x22\x00", 9);
    assert_int_equal(mysql_eof_packet(raw, 8, 5, 0, 0), 0);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    uint8_t raw[1024];
    char text[513];
    memset(text, 'x', sizeof(text));
    assert_int_equal(mysql_err_packet(raw, sizeof(raw), 1, 1105, "HY000", bytes_of(text, 512)),
                     4 + 9 + 512);
    assert_int_equal(mysql_err_packet(raw, sizeof(raw), 1, 1105, "HY000", bytes_of(text, 513)),
                     4 + 9 + 512);
    struct mysql_ok ok = {.info = bytes_of(text, 513)};
    assert_int_equal(mysql_ok_packet(raw, sizeof(raw), 1, &ok), 4 + 7 + 3 + 512);
}

static void a_small_result_is_read(void **state)
{
    (void)state;
    struct mysql_result result;
    struct bytes values[3];
    size_t used;
    struct bytes reply = RAW(RESULT);
    assert_int_equal(mysql_result_read(reply, &result, &used), WIRE_DONE);
    assert_int_equal(used, reply.len);
    assert_false(result.is_error);
    assert_int_equal(result.columns, 3);
    assert_int_equal(result.ok.status, MYSQL_STATUS_AUTOCOMMIT);
    size_t at = result.rows_at;
    assert_true(mysql_result_row(reply, &result, &at, values));
    assert_null(values[0].at);
    assert_true(bytes_equal(values[1], bytes_text("x")));
    assert_non_null(values[2].at);
    assert_int_equal(values[2].len, 0);
    assert_false(mysql_result_row(reply, &result, &at, values));
}

static void every_shorter_prefix_of_a_result_asks_for_more(void **state)
{
    (void)state;
    struct bytes reply = RAW(RESULT);
    for (size_t len = 0; len < reply.len; len++) {
        struct mysql_result result;
        size_t used = 99;
        uint8_t *copy = exact_copy(bytes_of(reply.at, len));
        assert_int_equal(mysql_result_read(bytes_of(copy, len), &result, &used), WIRE_MORE);
        assert_int_equal(used, 99);
        free(copy);
    }
}

static void plain_ok_and_error_are_results(void **state)
{
    (void)state;
    struct mysql_result result;
    size_t used;
    assert_int_equal(
        mysql_result_read(RAW("\x07\x00\x00\x01\x00\x02\x00\x02\x00\x00\x00"), &result, &used),
        WIRE_DONE);
    assert_int_equal(result.columns, 0);
    assert_int_equal(result.ok.affected_rows, 2);
    assert_int_equal(used, 11);
    assert_int_equal(mysql_result_read(RAW("\x03\x00\x00\x01\xff\x10\x04"), &result, &used),
                     WIRE_DONE);
    assert_true(result.is_error);
    assert_int_equal(result.err.code, 1040);
    /* An error in mid rows. */
    assert_int_equal(mysql_result_read(RAW("\x01\x00\x00\x01\x01" DEFINITION
                                           "\x02\x00\x00\x03\x01x\x03\x00\x00\x04\xff\x10\x04"),
                                       &result, &used),
                     WIRE_DONE);
    assert_true(result.is_error);
}

static void what_is_no_small_result_is_bad(void **state)
{
    (void)state;
    struct mysql_result result;
    size_t used;
    const struct bytes bad[] = {
        RAW("\x01\x00\x00\x01\x61"),                                     /* 97 columns */
        RAW("\x03\x00\x00\x01\xfbzz"),                                   /* infile */
        RAW("\x00\x00\x00\x01"),                                         /* empty packet */
        RAW("\xff\xff\xff\x01"),                                         /* 16 MiB */
        RAW("\x07\x00\x00\x01\x00\x00\x00\x0a\x00\x00\x00"),             /* more results */
        RAW("\x01\x00\x00\x01\x01\x05\x00\x00\x02\xfe\x00\x00\x02\x00"), /* no definition */
        RAW("\x01\x00\x00\x01\x01" DEFINITION
            "\x05\x00\x00\x03\xfe\x00\x00\x02\x00"),                     /* classic EOF */
        RAW("\x01\x00\x00\x01\x01" DEFINITION "\x03\x00\x00\x03\x01xy"), /* a row too long */
        RAW("\x01\x00\x00\x01\x01" DEFINITION "\x01\x00\x00\x03\x01"),   /* a row too short */
        RAW("\x02\x00\x00\x01\x00\x00"),                                 /* a short OK */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mysql_result_read(bad[i], &result, &used), WIRE_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ok_is_read),
        cmocka_unit_test(a_classic_eof_is_read_as_ok),
        cmocka_unit_test(every_shorter_prefix_of_an_ok_is_bad_or_ends_at_a_field),
        cmocka_unit_test(an_ok_with_another_header_is_bad),
        cmocka_unit_test(trackers_come_out_one_by_one),
        cmocka_unit_test(several_variables_in_one_entry_come_out_one_by_one),
        cmocka_unit_test(each_kind_of_tracker_is_unwrapped),
        cmocka_unit_test(broken_trackers_are_bad),
        cmocka_unit_test(an_error_is_read_with_and_without_sqlstate),
        cmocka_unit_test(written_packets_have_no_trackers),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_small_result_is_read),
        cmocka_unit_test(every_shorter_prefix_of_a_result_asks_for_more),
        cmocka_unit_test(plain_ok_and_error_are_results),
        cmocka_unit_test(what_is_no_small_result_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
