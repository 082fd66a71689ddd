/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/mysql_packet, mysql_command, mysql_error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/mysql_command.h"
#include "protocol/mysql_error.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

static const uint8_t PING_REPLY[] = {7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};

static void a_whole_packet_is_read(void **state)
{
    (void)state;
    uint8_t seq;
    struct bytes payload;
    size_t used;
    uint8_t two[2 * sizeof(PING_REPLY)];
    memcpy(two, PING_REPLY, sizeof(PING_REPLY));
    memcpy(two + sizeof(PING_REPLY), PING_REPLY, sizeof(PING_REPLY));
    assert_int_equal(mysql_packet_read(bytes_of(two, sizeof(two)), 7, &seq, &payload, &used),
                     WIRE_DONE);
    assert_int_equal(seq, 1);
    assert_int_equal(used, sizeof(PING_REPLY));
    assert_true(bytes_equal(payload, bytes_of(PING_REPLY + 4, 7)));
}

static void every_shorter_prefix_asks_for_more(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof(PING_REPLY); len++) {
        uint8_t *copy = malloc(len ? len : 1);
        memcpy(copy, PING_REPLY, len);
        uint8_t seq = 77;
        struct bytes payload = {0};
        size_t used = 78;
        assert_int_equal(mysql_packet_read(bytes_of(copy, len), 7, &seq, &payload, &used),
                         WIRE_MORE);
        assert_int_equal(seq, 77);
        assert_int_equal(used, 78);
        free(copy);
    }
}

static void one_byte_over_the_limit_is_bad(void **state)
{
    (void)state;
    uint8_t seq;
    struct bytes payload;
    size_t used;
    struct bytes in = bytes_of(PING_REPLY, sizeof(PING_REPLY));
    assert_int_equal(mysql_packet_read(in, 6, &seq, &payload, &used), WIRE_BAD);
    in.len = MYSQL_HEADER_BYTES;
    assert_int_equal(mysql_packet_read(in, 6, &seq, &payload, &used), WIRE_BAD);
}

static void an_empty_packet_is_one(void **state)
{
    (void)state;
    uint8_t seq;
    struct bytes payload;
    size_t used;
    struct bytes in = bytes_of("\0\0\0\x05", 4);
    assert_int_equal(mysql_packet_read(in, 0, &seq, &payload, &used), WIRE_DONE);
    assert_int_equal(payload.len, 0);
    assert_int_equal(used, 4);
    assert_int_equal(seq, 5);
}

static void a_written_packet_has_its_header_filled_in(void **state)
{
    (void)state;
    uint8_t raw[64];
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    wire_put_u8(&w, 9); /* something in front */
    size_t begin = mysql_packet_begin(&w);
    wire_put(&w, bytes_text("hello"));
    assert_int_equal(mysql_packet_end(&w, begin, 200), 9);
    assert_memory_equal(raw, "\x09\x05\0\0\xC8hello", 10);
}

static void a_packet_that_does_not_fit_is_none(void **state)
{
    (void)state;
    uint8_t raw[8];
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    size_t begin = mysql_packet_begin(&w);
    wire_put(&w, bytes_text("hello"));
    assert_int_equal(mysql_packet_end(&w, begin, 0), 0);
    w = wire_writer(raw, 3);
    begin = mysql_packet_begin(&w);
    assert_int_equal(mysql_packet_end(&w, begin, 0), 0);
}

static void a_payload_of_16_mib_is_not_written_as_one_packet(void **state)
{
    (void)state;
    size_t room = MYSQL_HEADER_BYTES + MYSQL_PAYLOAD_MAX_BYTES;
    uint8_t *raw = malloc(room);
    struct wire_writer w = wire_writer(raw, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_zeros(&w, MYSQL_PAYLOAD_MAX_BYTES);
    assert_int_equal(mysql_packet_end(&w, begin, 0), 0);
    w = wire_writer(raw, room);
    begin = mysql_packet_begin(&w);
    wire_put_zeros(&w, MYSQL_PAYLOAD_MAX_BYTES - 1);
    assert_int_equal(mysql_packet_end(&w, begin, 0), room - 1);
    free(raw);
}

static void every_byte_has_a_command_entry(void **state)
{
    (void)state;
    size_t served = 0;
    for (int i = 0; i < 256; i++) {
        const struct mysql_command_info *info = mysql_command_info((uint8_t)i);
        assert_non_null(info);
        assert_true(!info->served || info->name);
        assert_true((info->name != NULL) == (i <= MYSQL_COM_RESET_CONNECTION));
        served += info->served;
    }
    assert_int_equal(served, 19);
}

static void commands_know_the_shape_of_their_reply(void **state)
{
    (void)state;
    assert_string_equal(mysql_command_info(MYSQL_COM_QUERY)->name, "COM_QUERY");
    assert_int_equal(mysql_command_info(MYSQL_COM_QUERY)->shape, MYSQL_REPLY_QUERY);
    assert_int_equal(mysql_command_info(MYSQL_COM_STMT_EXECUTE)->shape, MYSQL_REPLY_QUERY);
    assert_int_equal(mysql_command_info(MYSQL_COM_STMT_PREPARE)->shape, MYSQL_REPLY_PREPARE);
    assert_int_equal(mysql_command_info(MYSQL_COM_STMT_FETCH)->shape, MYSQL_REPLY_FETCH);
    assert_int_equal(mysql_command_info(MYSQL_COM_FIELD_LIST)->shape, MYSQL_REPLY_FIELDS);
    assert_int_equal(mysql_command_info(MYSQL_COM_STATISTICS)->shape, MYSQL_REPLY_STRING);
    assert_int_equal(mysql_command_info(MYSQL_COM_STMT_CLOSE)->shape, MYSQL_REPLY_NONE);
    assert_int_equal(mysql_command_info(MYSQL_COM_PING)->shape, MYSQL_REPLY_SIMPLE);
    assert_false(mysql_command_info(MYSQL_COM_BINLOG_DUMP)->served);
}

static void our_errors_say_who_speaks(void **state)
{
    (void)state;
    uint8_t raw[MYSQL_ERROR_PACKET_MAX_BYTES];
    struct mysql_err err;
    size_t len =
        mysql_error_packet(raw, sizeof(raw), 1, MYSQL_ERROR_QUEUE_TIMEOUT, "16 of 16 held");
    assert_int_equal(raw[3], 1);
    assert_int_equal(mysql_err_read(bytes_of(raw + 4, len - 4), &err), WIRE_DONE);
    assert_int_equal(err.code, 1040);
    assert_string_equal(err.sqlstate, "08004");
    assert_true(bytes_equal(err.message, bytes_text("sluice: 16 of 16 held")));

    len = mysql_error_packet(raw, sizeof(raw), 2, MYSQL_ERROR_ACCESS_DENIED, "Access denied");
    assert_int_equal(mysql_err_read(bytes_of(raw + 4, len - 4), &err), WIRE_DONE);
    assert_true(bytes_equal(err.message, bytes_text("Access denied")));
}

static void every_error_has_a_word_and_fits(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    for (int e = 0; e < MYSQL_ERROR_COUNT; e++) {
        uint8_t raw[MYSQL_ERROR_PACKET_MAX_BYTES];
        const struct mysql_error_info *info = mysql_error_info((enum mysql_error)e);
        assert_true(info->code >= 1000 && strlen(info->sqlstate) == 5 && strlen(info->word) > 0);
        assert_int_equal(mysql_error_packet(raw, sizeof(raw), 0, (enum mysql_error)e, text),
                         sizeof(raw));
        assert_int_equal(mysql_error_packet(raw, sizeof(raw) - 1, 0, (enum mysql_error)e, text), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_packet_is_read),
        cmocka_unit_test(every_shorter_prefix_asks_for_more),
        cmocka_unit_test(one_byte_over_the_limit_is_bad),
        cmocka_unit_test(an_empty_packet_is_one),
        cmocka_unit_test(a_written_packet_has_its_header_filled_in),
        cmocka_unit_test(a_packet_that_does_not_fit_is_none),
        cmocka_unit_test(a_payload_of_16_mib_is_not_written_as_one_packet),
        cmocka_unit_test(every_byte_has_a_command_entry),
        cmocka_unit_test(commands_know_the_shape_of_their_reply),
        cmocka_unit_test(our_errors_say_who_speaks),
        cmocka_unit_test(every_error_has_a_word_and_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
