/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/spool.c: commands of one packet and of several, cut anywhere, and changed on their way out.
 */
#include "proxy/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/mysql_packet.h"

enum {
    FULL = MYSQL_PAYLOAD_MAX_BYTES, /* 2^24 - 1 */
    WIRE_ROOM = 2 * FULL + 4096,    /* two packets of the largest size and a tail */
    TYPES_BYTES = 1 + 2 * 65535,    /* the most that an EXECUTE gets inserted */
};
static uint8_t *wire;
static uint8_t *outgoing;
static uint8_t *wanted;

static int make_room(void **state)
{
    (void)state;
    wire = malloc(WIRE_ROOM);
    outgoing = malloc(WIRE_ROOM);
    wanted = malloc(WIRE_ROOM);
    return wire && outgoing && wanted ? 0 : -1;
}

static int free_room(void **state)
{
    (void)state;
    free(wire);
    free(outgoing);
    free(wanted);
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

/* ---- another payload goes out ---- */

/* Bytes that tell their places apart, also one packet or block further on. */
static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16) * 29);
}

static struct spool *spool_of_bytes(size_t payload_bytes)
{
    size_t at = 0;
    size_t done = 0;
    for (uint8_t seq = 0;; seq++) {
        size_t n = payload_bytes - done < FULL ? payload_bytes - done : FULL;
        mysql_header_write(wire + at, (uint32_t)n, seq);
        at += MYSQL_HEADER_BYTES;
        for (size_t i = 0; i < n; i++)
            wire[at++] = byte_at(done++);
        if (n < FULL)
            return spool_of(at);
    }
}

struct edit {
    size_t at, old_bytes, bytes; /* what comes in is 0xEE */
};

static void replace(struct spool *s, struct edit e)
{
    uint8_t *with = malloc(e.bytes);
    memset(with, 0xEE, e.bytes);
    spool_replace(s, e.at, e.old_bytes, bytes_of(with, e.bytes));
    free(with);
}

/* The payload that `count` ascending edits make of payload_bytes; its size. */
static size_t edited(size_t payload_bytes, const struct edit *e, size_t count)
{
    size_t len = 0;
    uint64_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        size_t until = i < count ? e[i].at : payload_bytes;
        while (from < until)
            wanted[len++] = byte_at(from++);
        if (i < count) {
            memset(wanted + len, 0xEE, e[i].bytes);
            len += e[i].bytes;
            from += e[i].old_bytes;
        }
    }
    return len;
}

static size_t collect(struct spool *s)
{
    size_t len = 0;
    for (;;) {
        struct bytes block = spool_next(s);
        assert_non_null(block.at);
        if (!block.len)
            return len;
        assert_true(block.len <= SPOOL_BLOCK_BYTES && len + block.len <= WIRE_ROOM);
        memcpy(outgoing + len, block.at, block.len);
        len += block.len;
    }
}

/* What goes out is the edited payload in packets of the largest size but the last, which is below
 * it, counted from zero. */
static void assert_goes_out(struct spool *s, size_t payload_bytes, const struct edit *e,
                            size_t count)
{
    size_t wanted_bytes = edited(payload_bytes, e, count);
    size_t len = collect(s);
    assert_int_equal(spool_outgoing_bytes(s), wanted_bytes);
    assert_int_equal(len, wanted_bytes + MYSQL_HEADER_BYTES * (wanted_bytes / FULL + 1));
    size_t at = 0;
    size_t done = 0;
    for (uint8_t seq = 0; at < len; seq++) {
        size_t n = wanted_bytes - done < FULL ? wanted_bytes - done : FULL;
        assert_int_equal(mysql_header_length(outgoing + at), n);
        assert_int_equal(outgoing[at + 3], seq);
        assert_int_equal(memcmp(outgoing + at + MYSQL_HEADER_BYTES, wanted + done, n), 0);
        at += MYSQL_HEADER_BYTES + n;
        done += n;
    }
    assert_int_equal(done, wanted_bytes);
}

static void assert_edits_go_out(size_t payload_bytes, const struct edit *e, size_t count)
{
    struct spool *s = spool_of_bytes(payload_bytes);
    for (size_t i = count; i-- > 0;) /* they may be named in any order */
        replace(s, e[i]);
    assert_goes_out(s, payload_bytes, e, count);
    if (payload_bytes < FULL / 2) { /* sent twice; large ones take their time */
        spool_rewind(s);
        assert_goes_out(s, payload_bytes, e, count);
    }
    spool_free(s);
}

static void assert_edit_goes_out(size_t payload_bytes, size_t at, size_t old_bytes, size_t bytes)
{
    const struct edit e = {at, old_bytes, bytes};
    assert_edits_go_out(payload_bytes, &e, 1);
}

static void the_head_goes_over_the_headers_of_packets(void **state)
{
    (void)state;
    struct spool *s = spool_of_bytes(2 * FULL + 9);
    assert_int_equal(spool_head(s, outgoing, FULL + 5), FULL + 5);
    assert_int_equal(edited(2 * FULL + 9, NULL, 0), 2 * FULL + 9);
    assert_int_equal(memcmp(outgoing, wanted, FULL + 5), 0);
    assert_int_equal(spool_head(s, outgoing, WIRE_ROOM), 2 * FULL + 9);
    assert_int_equal(memcmp(outgoing, wanted, 2 * FULL + 9), 0);
    spool_free(s);
}

static void a_range_is_replaced_wherever_it_is(void **state)
{
    (void)state;
    for (size_t at = 0; at <= 12; at++)
        for (size_t old_bytes = 0; at + old_bytes <= 12; old_bytes++)
            for (size_t bytes = 0; bytes < 4; bytes++)
                assert_edit_goes_out(12, at, old_bytes, bytes);
    assert_edit_goes_out(0, 0, 0, 5);
}

static void ranges_at_the_edges_of_blocks_are_replaced(void **state)
{
    (void)state;
    for (size_t at = SPOOL_BLOCK_BYTES - 6; at <= SPOOL_BLOCK_BYTES + 1; at++) {
        assert_edit_goes_out(2 * SPOOL_BLOCK_BYTES, at, 4, 4);
        assert_edit_goes_out(2 * SPOOL_BLOCK_BYTES, at, 1, TYPES_BYTES);
        assert_edit_goes_out(at, 1, 4, 4); /* the end is what is at the edge */
    }
}

static void packets_are_made_anew_where_one_more_or_less_is_needed(void **state)
{
    static const struct {
        size_t before, after;
    } sizes[] = {
        {FULL - 1, FULL - 1},     {FULL, FULL},
        {FULL - 1, FULL},         {FULL, FULL - 1},
        {FULL - 1, FULL + 1},     {FULL + 1, FULL - 1},
        {FULL - 5, FULL - 1},     {FULL - 4, FULL},
        {FULL, FULL + 4},         {FULL, FULL + TYPES_BYTES},
        {2 * FULL - 1, 2 * FULL}, {2 * FULL, 2 * FULL - 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t before = sizes[i].before;
        size_t after = sizes[i].after;
        size_t old_bytes = before > after ? before - after + 1 : 1;
        assert_edit_goes_out(before, 11, old_bytes, after - before + old_bytes);
    }
}

static void a_range_across_the_border_of_two_packets_is_replaced(void **state)
{
    (void)state;
    for (size_t at = FULL - 5; at <= FULL + 1; at += 3) {
        assert_edit_goes_out(FULL + 10, at, 4, 4);
        assert_edit_goes_out(FULL + 10, at, 1, 9);
    }
}

static void two_ranges_are_replaced(void **state)
{
    static const struct edit apart[] = {{1, 4, 4}, {11, 1, TYPES_BYTES}};
    static const struct edit side_by_side[] = {{1, 4, 2}, {5, 3, 9}};
    (void)state;
    assert_edits_go_out(300000, apart, 2);
    assert_edits_go_out(FULL - TYPES_BYTES, apart, 2);
    assert_edits_go_out(FULL - TYPES_BYTES + 1, apart, 2);
    assert_edits_go_out(20, side_by_side, 2);
    assert_edits_go_out(8, side_by_side, 2);
}

static void another_one_at_the_same_place_takes_the_first_ones_place(void **state)
{
    static const struct edit first[] = {{1, 4, 4}, {11, 1, 7}};
    static const struct edit second[] = {{1, 4, 6}, {11, 1, 3}};
    (void)state;
    struct spool *s = spool_of_bytes(300000);
    replace(s, first[0]);
    replace(s, first[1]);
    (void)spool_next(s); /* a backend that went away in between */
    replace(s, second[0]);
    replace(s, second[1]);
    assert_goes_out(s, 300000, second, 2);
    spool_free(s);
}

static void what_is_spooled_stays_as_it_is(void **state)
{
    uint8_t head[8];
    (void)state;
    struct spool *s = spool_of(put_query("SELECT 1", 0));
    replace(s, (struct edit){0, 4, 9});
    assert_int_equal(spool_payload_bytes(s), 9);
    assert_int_equal(spool_outgoing_bytes(s), 14);
    assert_int_equal(spool_head(s, head, sizeof head), sizeof head);
    assert_memory_equal(head, "\003SELECT ", sizeof head);
    spool_free(s);
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
        cmocka_unit_test(the_head_goes_over_the_headers_of_packets),
        cmocka_unit_test(a_range_is_replaced_wherever_it_is),
        cmocka_unit_test(ranges_at_the_edges_of_blocks_are_replaced),
        cmocka_unit_test(packets_are_made_anew_where_one_more_or_less_is_needed),
        cmocka_unit_test(a_range_across_the_border_of_two_packets_is_replaced),
        cmocka_unit_test(two_ranges_are_replaced),
        cmocka_unit_test(another_one_at_the_same_place_takes_the_first_ones_place),
        cmocka_unit_test(what_is_spooled_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, make_room, free_room);
}
