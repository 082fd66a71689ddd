/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/spool.c: commands of one packet and of several, cut anywhere. */
#include "proxy/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/mysql_packet.h"

/* Room for a packet of the largest size, another header and a tail. */
enum { WIRE_ROOM = MYSQL_PAYLOAD_MAX_BYTES + 4096 };
static uint8_t *wire;

static int make_room(void **state)
{
    (void)state;
    wire = malloc(WIRE_ROOM);
    return wire ? 0 : -1;
}

static int free_room(void **state)
{
    (void)state;
    free(wire);
    return 0;
}

/* A COM_QUERY in one packet. Bytes on the wire. */
static size_t put_query(const char *text, uint8_t seq)
{
    size_t len = strlen(text);
    mysql_header_write(wire, (uint32_t)len + 1, seq);
    wire[4] = 3;
    memcpy(wire + 5, text, len);
    return len + 5;
}

/* A COM_QUERY of two packets, the first one full: `text` is put so that `before` bytes of it are in
 * the first. */
static size_t put_long_query(const char *text, size_t before)
{
    size_t len = strlen(text);
    uint8_t *second = wire + MYSQL_HEADER_BYTES + MYSQL_PAYLOAD_MAX_BYTES;
    mysql_header_write(wire, MYSQL_PAYLOAD_MAX_BYTES, 0);
    wire[4] = 3;
    memset(wire + 5, ' ', MYSQL_PAYLOAD_MAX_BYTES - 1);
    memcpy(second - before, text, before);
    mysql_header_write(second, (uint32_t)(len - before), 1);
    memcpy(second + MYSQL_HEADER_BYTES, text + before, len - before);
    return (size_t)MYSQL_PAYLOAD_MAX_BYTES + 2 * MYSQL_HEADER_BYTES + len - before;
}

static struct spool *spool_of(size_t len)
{
    size_t used;
    struct spool *s = spool_new();
    assert_non_null(s);
    assert_int_equal(spool_take(s, bytes_of(wire, len), &used), WIRE_DONE);
    assert_int_equal(used, len);
    return s;
}

/* What comes out is what went in, headers and all. */
static void assert_gives_back(struct spool *s, size_t len)
{
    size_t at = 0;
    for (;;) {
        struct bytes block = spool_next(s);
        assert_non_null(block.at);
        if (!block.len)
            break;
        assert_true(block.len <= SPOOL_BLOCK_BYTES);
        assert_true(at + block.len <= len);
        assert_memory_equal(block.at, wire + at, block.len);
        at += block.len;
    }
    assert_int_equal(at, len);
}

static uint32_t flags_of(struct spool *s)
{
    struct sql_scan scan;
    sql_scan_begin(&scan, 0);
    assert_true(spool_scan(s, &scan));
    sql_scan_end(&scan);
    return scan.flags;
}

static void a_packet_is_whole_at_its_last_byte_and_not_before(void **state)
{
    (void)state;
    size_t len = put_query("SELECT 1", 0);
    for (size_t n = 0; n < len; n++) {
        size_t used;
        struct spool *s = spool_new();
        assert_int_equal(spool_take(s, bytes_of(wire, n), &used), WIRE_MORE);
        assert_int_equal(used, n);
        assert_int_equal(spool_take(s, bytes_of(wire + n, len - n), &used), WIRE_DONE);
        assert_int_equal(used, len - n);
        assert_gives_back(s, len);
        spool_free(s);
    }
}

static void bytes_of_the_next_command_stay(void **state)
{
    size_t used;
    (void)state;
    size_t len = put_query("SELECT 1", 0);
    memcpy(wire + len, "next", 4);
    struct spool *s = spool_new();
    assert_int_equal(spool_take(s, bytes_of(wire, len + 4), &used), WIRE_DONE);
    assert_int_equal(used, len);
    assert_int_equal(spool_take(s, bytes_of(wire + len, 4), &used), WIRE_DONE);
    assert_int_equal(used, 0);
    assert_gives_back(s, len);
    spool_free(s);
}

static void a_command_of_no_bytes_is_whole(void **state)
{
    uint8_t head[8];
    (void)state;
    mysql_header_write(wire, 0, 0);
    struct spool *s = spool_of(MYSQL_HEADER_BYTES);
    assert_int_equal(spool_payload_bytes(s), 0);
    assert_int_equal(spool_head(s, head, sizeof head), 0);
    assert_int_equal(flags_of(s), 0);
    assert_gives_back(s, MYSQL_HEADER_BYTES);
    spool_free(s);
}

static void the_announced_size_is_known_from_the_header(void **state)
{
    size_t used;
    uint64_t left;
    bool continues;
    uint8_t seq;
    (void)state;
    struct spool *s = spool_new();
    spool_rest(s, &left, &continues, &seq);
    assert_int_equal(left, 0);
    assert_true(continues);
    mysql_header_write(wire, MYSQL_PAYLOAD_MAX_BYTES - 1, 0);
    wire[4] = 3;
    assert_int_equal(spool_take(s, bytes_of(wire, 5), &used), WIRE_MORE);
    assert_int_equal(spool_payload_bytes(s), MYSQL_PAYLOAD_MAX_BYTES - 1);
    spool_rest(s, &left, &continues, &seq);
    assert_int_equal(left, MYSQL_PAYLOAD_MAX_BYTES - 2);
    assert_false(continues); /* one byte less than the packet that goes on */
    assert_int_equal(seq, 1);
    spool_free(s);

    s = spool_new();
    mysql_header_write(wire, MYSQL_PAYLOAD_MAX_BYTES, 0);
    assert_int_equal(spool_take(s, bytes_of(wire, 4), &used), WIRE_MORE);
    spool_rest(s, &left, &continues, &seq);
    assert_int_equal(left, MYSQL_PAYLOAD_MAX_BYTES);
    assert_true(continues);
    spool_free(s);
}

static void the_first_packet_must_be_number_zero(void **state)
{
    size_t used;
    (void)state;
    size_t len = put_query("SELECT 1", 1);
    struct spool *s = spool_new();
    assert_int_equal(spool_take(s, bytes_of(wire, len), &used), WIRE_BAD);
    spool_free(s);
}

static void a_second_packet_out_of_order_is_bad(void **state)
{
    size_t used;
    (void)state;
    size_t len = put_long_query("SELECT 1", 4);
    wire[MYSQL_HEADER_BYTES + MYSQL_PAYLOAD_MAX_BYTES + 3] = 2;
    struct spool *s = spool_new();
    assert_int_equal(spool_take(s, bytes_of(wire, len), &used), WIRE_BAD);
    spool_free(s);
}

/* A payload of 0xFFFFFF bytes is followed by an empty packet. */
static void a_full_packet_needs_another_even_if_empty(void **state)
{
    size_t used;
    (void)state;
    size_t len = put_long_query("SELECT GET_LOCK('a', 1)", 23);
    assert_int_equal(len, MYSQL_PAYLOAD_MAX_BYTES + 2 * MYSQL_HEADER_BYTES);
    struct spool *s = spool_new();
    assert_int_equal(spool_take(s, bytes_of(wire, len - 4), &used), WIRE_MORE);
    assert_int_equal(spool_take(s, bytes_of(wire + len - 4, 3), &used), WIRE_MORE);
    assert_int_equal(spool_take(s, bytes_of(wire + len - 1, 1), &used), WIRE_DONE);
    assert_int_equal(spool_payload_bytes(s), MYSQL_PAYLOAD_MAX_BYTES);
    assert_true(flags_of(s) & SQL_F_NAMED_LOCK);
    assert_gives_back(s, len);
    spool_free(s);
}

static void words_across_the_border_of_two_packets_are_read(void **state)
{
    static const char text[] = "SELECT GET_LOCK('a', 1)";
    (void)state;
    for (size_t before = 8; before < sizeof "SELECT GET_LOCK("; before++) {
        struct spool *s = spool_of(put_long_query(text, before));
        assert_int_equal(flags_of(s), SQL_F_NAMED_LOCK);
        assert_int_equal(spool_payload_bytes(s),
                         MYSQL_PAYLOAD_MAX_BYTES + sizeof text - 1 - before);
        spool_free(s);
    }
}

static void a_command_may_be_sent_twice(void **state)
{
    (void)state;
    size_t len = put_long_query("SELECT 1", 4);
    struct spool *s = spool_of(len);
    assert_int_equal(flags_of(s), 0); /* shares the block with sending */
    (void)spool_next(s);
    (void)flags_of(s);
    spool_rewind(s);
    assert_gives_back(s, len);
    spool_rewind(s);
    assert_gives_back(s, len);
    spool_free(s);
}

static void the_head_is_the_first_bytes_behind_the_header(void **state)
{
    uint8_t head[16];
    (void)state;
    struct spool *s = spool_of(put_query("SELECT 12345678901234567890", 0));
    assert_int_equal(spool_head(s, head, sizeof head), sizeof head);
    assert_memory_equal(head, "\003SELECT 12345678", sizeof head);
    spool_free(s);
    s = spool_of(put_query("DO 1", 0));
    assert_int_equal(spool_head(s, head, sizeof head), 5);
    assert_memory_equal(head, "\003DO 1", 5);
    spool_free(s);
    spool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_whole_at_its_last_byte_and_not_before),
        cmocka_unit_test(bytes_of_the_next_command_stay),
        cmocka_unit_test(a_command_of_no_bytes_is_whole),
        cmocka_unit_test(the_announced_size_is_known_from_the_header),
        cmocka_unit_test(the_first_packet_must_be_number_zero),
        cmocka_unit_test(a_second_packet_out_of_order_is_bad),
        cmocka_unit_test(a_full_packet_needs_another_even_if_empty),
        cmocka_unit_test(words_across_the_border_of_two_packets_are_read),
        cmocka_unit_test(a_command_may_be_sent_twice),
        cmocka_unit_test(the_head_is_the_first_bytes_behind_the_header),
    };
    return cmocka_run_group_tests(tests, make_room, free_room);
}
