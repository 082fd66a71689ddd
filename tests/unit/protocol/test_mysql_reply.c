/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/mysql_reply: what a client without DEPRECATE_EOF and SESSION_TRACK gets to see. Every
 * reply is fed whole, and again in pieces of every size: nothing may differ. Replies are written
 * down in the shape that MariaDB 10.11 and MySQL 9.7 send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_reply.h"

#define RAW(text) bytes_of(text, sizeof(text) - 1)

/* ---- building replies ---- */

/* Packets with ascending sequence ids. */
struct script {
    uint8_t *raw;
    size_t len;
    size_t room;
    uint8_t seq;
};

static struct script script_from(uint8_t seq)
{
    return (struct script){.raw = malloc(65536), .room = 65536, .seq = seq};
}

static void add(struct script *s, struct bytes payload)
{
    size_t whole = MYSQL_HEADER_BYTES + payload.len;
    if (s->len + whole > s->room) {
        s->room = 2 * (s->room + whole);
        s->raw = realloc(s->raw, s->room);
    }
    mysql_header_write(s->raw + s->len, (uint32_t)payload.len, s->seq++);
    memcpy(s->raw + s->len + MYSQL_HEADER_BYTES, payload.at, payload.len);
    s->len += whole;
}

#define ADD(script, text) add(script, RAW(text))

/* The definitions' content is never looked at. */
#define DEFINITION                                                                                 \
    "\x03"                                                                                         \
    "def..definition"
#define OK        "\x00\x00\x00\x02\x00\x00\x00"
#define OK_MORE   "\x00\x00\x00\x0a\x00\x00\x00"
#define ROWS_OK   "\xfe\x00\x00\x22\x00\x00\x00"
#define ROWS_MORE "\xfe\x00\x00\x0a\x00\x00\x00"
#define EOF_MID   "\xfe\x00\x00\x02\x00"
#define EOF_ROWS  "\xfe\x00\x00\x22\x00"
#define ERR       "\xff\x7a\x04#42S02Table 't.nosuch' doesn't exist"

/* ---- running them ---- */

enum { LOG_BYTES = 4096 };

struct run {
    struct mysql_reply reply;
    uint8_t *client;
    size_t client_len;
    size_t used;
    enum mysql_reply_event event;
    size_t infiles;
    char tracks[LOG_BYTES];
};

static void on_track(void *ctx, const struct mysql_track *t)
{
    struct run *run = ctx;
    size_t len = strlen(run->tracks);
    snprintf(run->tracks + len, sizeof(run->tracks) - len, "%d:%.*s=%.*s;", t->type,
             (int)t->name.len, (const char *)t->name.at, (int)t->value.len,
             (const char *)t->value.at);
}

/* Feeds `len` bytes in pieces of `piece` (each in memory of its own), past infile requests, to the
 * reply's end. */
static void run_reply(struct run *run, enum mysql_reply_shape shape, const uint8_t *in, size_t len,
                      size_t piece)
{
    memset(run, 0, sizeof(*run));
    run->client = malloc(2 * len + 1024);
    run->event = MYSQL_REPLY_MORE;
    mysql_reply_begin(&run->reply, shape, MYSQL_STATUS_AUTOCOMMIT, on_track, run);
    struct mysql_reply_out *out = malloc(sizeof(*out));
    while (run->used < len) {
        size_t here = len - run->used < piece ? len - run->used : piece;
        size_t used;
        uint8_t *copy = malloc(here);
        memcpy(copy, in + run->used, here);
        run->event = mysql_reply_feed(&run->reply, copy, here, &used, out);
        for (size_t i = 0; i < out->count; i++) {
            memcpy(run->client + run->client_len, out->slice[i].at, out->slice[i].len);
            run->client_len += out->slice[i].len;
        }
        free(copy);
        run->used += used;
        if (run->event == MYSQL_REPLY_INFILE)
            run->infiles++;
        else if (run->event != MYSQL_REPLY_MORE)
            break;
        else
            assert_true(used > 0);
    }
    free(out);
    mysql_reply_fini(&run->reply);
    mysql_reply_fini(&run->reply);
}

static void run_free(struct run *run)
{
    free(run->client);
}

/* Whole, then in pieces of 1 to 40 bytes; `run` is that of the whole (to be freed). */
static void run_all_ways(struct run *run, enum mysql_reply_shape shape, const struct script *s)
{
    run_reply(run, shape, s->raw, s->len, s->len);
    for (size_t piece = 1; piece <= 40; piece++) {
        struct run cut;
        run_reply(&cut, shape, s->raw, s->len, piece);
        assert_int_equal(cut.event, run->event);
        assert_int_equal(cut.client_len, run->client_len);
        assert_memory_equal(cut.client, run->client, run->client_len);
        assert_string_equal(cut.tracks, run->tracks);
        assert_int_equal(cut.infiles, run->infiles);
        assert_int_equal(cut.reply.status, run->reply.status);
        assert_int_equal(cut.reply.next_seq, run->reply.next_seq);
        assert_int_equal(cut.reply.seq_added, run->reply.seq_added);
        run_free(&cut);
    }
}

/* The backend's script becomes the client's; both are freed. */
static void check(enum mysql_reply_shape shape, struct script *backend, struct script *client)
{
    struct run run;
    run_all_ways(&run, shape, backend);
    assert_int_equal(run.event, MYSQL_REPLY_END);
    assert_int_equal(run.used, backend->len);
    assert_int_equal(run.client_len, client->len);
    assert_memory_equal(run.client, client->raw, client->len);
    assert_int_equal(run.reply.next_seq, client->seq);
    assert_int_equal(run.reply.seq_added, (uint8_t)(client->seq - backend->seq));
    run_free(&run);
    free(backend->raw);
    free(client->raw);
}

static void check_broken(enum mysql_reply_shape shape, struct script *backend)
{
    struct run run;
    run_all_ways(&run, shape, backend);
    assert_int_equal(run.event, MYSQL_REPLY_BROKEN);
    run_free(&run);
    free(backend->raw);
}

/* ---- results ---- */

static void rows_get_an_eof_behind_their_columns_and_one_at_the_end(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "\x02"), ADD(&c, "\x02");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    ADD(&c, EOF_MID);
    ADD(&b, "\x01x\xfb"), ADD(&c, "\x01x\xfb");
    ADD(&b, "\xfb\xfb"), ADD(&c, "\xfb\xfb"); /* NULL first */
    ADD(&b, "\x00\x00"), ADD(&c, "\x00\x00"); /* empty first; or a binary row */
    ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void no_rows_still_make_two_eofs(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    ADD(&c, EOF_MID);
    ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void a_cursor_makes_one_eof(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    ADD(&b, "\xfe\x00\x00\x62\x00\x00\x00"), ADD(&c, "\xfe\x00\x00\x62\x00");
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void the_made_eof_has_no_bits_of_one_statement(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    uint8_t in[] = "\x01\x00\x00\x01\x01\x02\x00\x00\x02\x03"
                   "d\x02\x00\x00\x03\x01x";
    mysql_reply_begin(&reply, MYSQL_REPLY_QUERY, 0xFFFF, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, in, sizeof(in) - 1, &used, &out), MYSQL_REPLY_MORE);
    assert_int_equal(out.count, 3);
    assert_int_equal(out.slice[1].len, 9);
    assert_memory_equal(out.slice[1].at, "\x05\x00\x00\x03\xfe\x00\x00\x03\x22", 9);
    mysql_reply_fini(&reply);
}

static void several_results_follow_each_other(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    for (int i = 0; i < 40; i++) { /* more than the slices hold */
        ADD(&b, "\x01"), ADD(&c, "\x01");
        ADD(&b, DEFINITION), ADD(&c, DEFINITION);
        ADD(&c, EOF_MID);
        ADD(&b, "\x01x"), ADD(&c, "\x01x");
        ADD(&b, ROWS_MORE), ADD(&c, "\xfe\x00\x00\x0a\x00");
        ADD(&b, OK_MORE), ADD(&c, OK_MORE);
    }
    ADD(&b, OK), ADD(&c, OK);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void sequence_ids_wrap(void **state)
{
    (void)state;
    struct script b = script_from(250), c = script_from(250);
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    ADD(&c, EOF_MID);
    for (int i = 0; i < 600; i++)
        ADD(&b, "\x01x"), ADD(&c, "\x01x");
    ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void an_error_ends_the_reply_wherever_it_stands(void **state)
{
    (void)state;
    for (int at = 0; at < 4; at++) {
        struct script b = script_from(1), c = script_from(1);
        if (at > 0)
            ADD(&b, "\x02"), ADD(&c, "\x02"), ADD(&b, DEFINITION), ADD(&c, DEFINITION);
        if (at > 1)
            ADD(&b, DEFINITION), ADD(&c, DEFINITION), ADD(&c, EOF_MID);
        if (at > 2)
            ADD(&b, "\x01x\x01y"), ADD(&c, "\x01x\x01y");
        ADD(&b, ERR), ADD(&c, ERR);
        check(MYSQL_REPLY_QUERY, &b, &c);
    }
}

static void an_error_is_told_and_keeps_the_status(void **state)
{
    (void)state;
    struct script b = script_from(1);
    struct run run;
    ADD(&b, ERR);
    run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
    assert_int_equal(run.reply.error_code, 1146);
    assert_string_equal(run.reply.error_sqlstate, "42S02");
    assert_int_equal(run.reply.status, MYSQL_STATUS_AUTOCOMMIT);
    assert_false(run.reply.had_rows);
    run_free(&run);
    free(b.raw);
}

static void an_error_out_of_order_gets_the_right_sequence_id(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION);
    b.seq = 0;
    ADD(&b, ERR), ADD(&c, EOF_MID), ADD(&c, ERR);
    struct run run;
    run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
    assert_int_equal(run.event, MYSQL_REPLY_END);
    assert_int_equal(run.client_len, c.len);
    assert_memory_equal(run.client, c.raw, c.len);
    run_free(&run);
    free(b.raw);
    free(c.raw);
}

static void trackers_are_told_and_taken_out(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    struct run run;
    ADD(&b, "\x00\x01\x07\x0a\x40\x00\x00\x02hi\x0b\x05\x09\x08T_R___S_");
    ADD(&c, "\x00\x01\x07\x0a\x00\x00\x00\x02hi");
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION), ADD(&c, EOF_MID);
    ADD(&b, "\x01x"), ADD(&c, "\x01x");
    ADD(&b, "\xfe\x00\x00\x0a\x40\x03\x00\x00\x07\x01\x02\x01t\x02\x01"
            "1");
    ADD(&c, "\xfe\x03\x00\x0a\x00");
    ADD(&b, "\x00\x00\x00\x02\x40\x00\x00\x00\x13\x00\x11\x09time_zone\x06+01:00");
    ADD(&c, "\x00\x00\x00\x02\x00\x00\x00");
    run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
    assert_string_equal(run.tracks, "5:=T_R___S_;1:=t;2:=1;0:time_zone=+01:00;");
    assert_int_equal(run.event, MYSQL_REPLY_END);
    assert_true(run.reply.state_changed);
    assert_true(run.reply.had_rows);
    assert_int_equal(run.reply.insert_id, 7);
    assert_int_equal(run.reply.affected_rows, 0); /* of the last one */
    run_free(&run);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void an_infile_request_stops_the_feed(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    struct run run;
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION), ADD(&c, EOF_MID);
    ADD(&b, "\x01x"), ADD(&c, "\x01x");
    ADD(&b, ROWS_MORE), ADD(&c, "\xfe\x00\x00\x0a\x00");
    ADD(&b, "\xfbzz"), ADD(&c, "\xfbzz");
    b.seq = (uint8_t)(b.seq + 3), c.seq = (uint8_t)(c.seq + 3); /* the client's file */
    ADD(&b, OK_MORE), ADD(&c, OK_MORE);
    ADD(&b, "\x01"), ADD(&c, "\x01");
    ADD(&b, DEFINITION), ADD(&c, DEFINITION), ADD(&c, EOF_MID);
    ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
    run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
    assert_int_equal(run.infiles, 1);
    run_free(&run);
    check(MYSQL_REPLY_QUERY, &b, &c);
}

static void next_seq_behind_an_infile_request_is_that_of_the_file(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    uint8_t in[] = "\x03\x00\x00\x01\xfbzz\x07";
    mysql_reply_begin(&reply, MYSQL_REPLY_QUERY, 2, NULL, NULL);
    assert_int_equal(reply.next_seq, 1);
    assert_int_equal(mysql_reply_feed(&reply, in, 8, &used, &out), MYSQL_REPLY_INFILE);
    assert_int_equal(used, 7);
    assert_int_equal(reply.next_seq, 2);
    mysql_reply_fini(&reply);
}

/* ---- the other shapes ---- */

static void prepare_gets_an_eof_behind_each_kind_of_definitions(void **state)
{
    (void)state;
    for (uint8_t parameters = 0; parameters < 3; parameters++) {
        for (uint8_t columns = 0; columns < 3; columns++) {
            struct script b = script_from(1), c = script_from(1);
            uint8_t ok[12] = {0, 9, 0, 0, 0, columns, 0, parameters, 0, 0, 1, 0};
            add(&b, bytes_of(ok, 12)), add(&c, bytes_of(ok, 12));
            for (int i = 0; i < parameters; i++)
                ADD(&b, DEFINITION), ADD(&c, DEFINITION);
            if (parameters)
                ADD(&c, EOF_MID);
            for (int i = 0; i < columns; i++)
                ADD(&b, DEFINITION), ADD(&c, DEFINITION);
            if (columns)
                ADD(&c, EOF_MID);
            struct run run;
            run_all_ways(&run, MYSQL_REPLY_PREPARE, &b);
            assert_int_equal(run.reply.statement_id, 9);
            assert_int_equal(run.reply.parameters, parameters);
            assert_int_equal(run.reply.prepared_columns, columns);
            assert_int_equal(run.reply.warnings, 1);
            run_free(&run);
            check(MYSQL_REPLY_PREPARE, &b, &c);
        }
    }
}

static void fetch_is_rows_and_one_eof(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "\x00\x00\x01\x00"), ADD(&c, "\x00\x00\x01\x00");
    ADD(&b, "\xfe\x00\x00\x82\x00\x00\x00"), ADD(&c, "\xfe\x00\x00\x82\x00");
    check(MYSQL_REPLY_FETCH, &b, &c);
}

static void a_field_list_is_definitions_and_one_eof(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, DEFINITION "\xfb"), ADD(&c, DEFINITION "\xfb");
    ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
    check(MYSQL_REPLY_FIELDS, &b, &c);
}

static void simple_replies_are_ok_eof_or_err(void **state)
{
    (void)state;
    const struct {
        struct bytes backend, client;
    } cases[] = {
        {RAW(OK), RAW(OK)},
        {RAW(OK_MORE), RAW(OK_MORE)}, /* the bit means nothing here */
        {RAW(ROWS_OK), RAW(EOF_ROWS)},
        {RAW(ERR), RAW(ERR)},
        {RAW("\x00\x00\x00\x02\x40\x00\x00\x00\x04\x01\x02\x01t"), RAW(OK)},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script b = script_from(7), c = script_from(7);
        add(&b, cases[i].backend), add(&c, cases[i].client);
        check(MYSQL_REPLY_SIMPLE, &b, &c);
    }
}

static void a_text_passes_as_it_is(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    ADD(&b, "Uptime: 11  Threads: 1"), ADD(&c, "Uptime: 11  Threads: 1");
    check(MYSQL_REPLY_STRING, &b, &c);
    b = script_from(1), c = script_from(1);
    ADD(&b, ERR), ADD(&c, ERR);
    check(MYSQL_REPLY_STRING, &b, &c);
}

static void no_reply_is_over_before_it_begins(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used = 9;
    uint8_t in[1] = {0};
    mysql_reply_begin(&reply, MYSQL_REPLY_NONE, 2, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, in, 1, &used, &out), MYSQL_REPLY_END);
    assert_int_equal(used, 0);
    assert_int_equal(out.count, 0);
}

static void bytes_behind_the_end_are_left_alone(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    uint8_t in[] = "\x07\x00\x00\x01" OK "\x07\x00\x00\x02" OK;
    mysql_reply_begin(&reply, MYSQL_REPLY_SIMPLE, 2, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, in, 22, &used, &out), MYSQL_REPLY_END);
    assert_int_equal(used, 11);
    assert_int_equal(mysql_reply_feed(&reply, in + 11, 11, &used, &out), MYSQL_REPLY_END);
    assert_int_equal(used, 0);
}

/* ---- sizes ---- */

static void whole_rows_leave_as_one_slice(void **state)
{
    (void)state;
    struct script b = script_from(1);
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    ADD(&b, "\x01"), ADD(&b, DEFINITION);
    for (int i = 0; i < 1000; i++)
        ADD(&b, "\x05hello");
    mysql_reply_begin(&reply, MYSQL_REPLY_QUERY, 2, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, b.raw, b.len, &used, &out), MYSQL_REPLY_MORE);
    assert_int_equal(used, b.len);
    assert_int_equal(out.count, 3); /* definitions, EOF, rows */
    assert_int_equal(out.slice[2].len, 1000 * 10);
    mysql_reply_fini(&reply);
    free(b.raw);
}

static void the_struct_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(struct mysql_reply) < 256);
}

/* A row over the 16 MiB mark goes on in a next packet, whose first byte means nothing. */
static void rows_of_16_mib_go_on_unread(void **state)
{
    (void)state;
    const size_t tails[] = {0, 1, 10};
    for (size_t t = 0; t < 3; t++) {
        struct script b = script_from(1), c = script_from(1);
        uint8_t *row = malloc(MYSQL_PAYLOAD_MAX_BYTES);
        memset(row, 'x', MYSQL_PAYLOAD_MAX_BYTES);
        row[0] = 0xFE; /* a length of eight bytes, not the end of rows */
        ADD(&b, "\x01"), ADD(&c, "\x01");
        ADD(&b, DEFINITION), ADD(&c, DEFINITION), ADD(&c, EOF_MID);
        add(&b, bytes_of(row, MYSQL_PAYLOAD_MAX_BYTES));
        add(&c, bytes_of(row, MYSQL_PAYLOAD_MAX_BYTES));
        row[0] = 0xFF;
        add(&b, bytes_of(row, MYSQL_PAYLOAD_MAX_BYTES));
        add(&c, bytes_of(row, MYSQL_PAYLOAD_MAX_BYTES));
        add(&b, bytes_of(row, tails[t])), add(&c, bytes_of(row, tails[t]));
        ADD(&b, "\x01x"), ADD(&c, "\x01x");
        ADD(&b, ROWS_OK), ADD(&c, EOF_ROWS);
        const size_t pieces[] = {b.len, 65536, 65521, MYSQL_PAYLOAD_MAX_BYTES + 4};
        for (size_t i = 0; i < 4; i++) {
            struct run run;
            run_reply(&run, MYSQL_REPLY_QUERY, b.raw, b.len, pieces[i]);
            assert_int_equal(run.event, MYSQL_REPLY_END);
            assert_int_equal(run.client_len, c.len);
            assert_true(memcmp(run.client, c.raw, c.len) == 0);
            run_free(&run);
        }
        free(row);
        free(b.raw);
        free(c.raw);
    }
}

/* OK with `info_bytes` of text and a tracker, `whole` bytes of payload. */
static void big_ok(struct script *s, size_t whole)
{
    uint8_t *raw = calloc(1, whole);
    struct wire_writer w = wire_writer(raw, whole);
    wire_put(&w, bytes_of("\x00\x00\x00\x02\x40\x00\x00\x00", 8));
    size_t value = whole - 8 - 9 - 1 - 9 - 2 - 9;
    wire_put_u8(&w, 0xFE), wire_put_u64(&w, 1 + 9 + 2 + 9 + value);
    wire_put_u8(&w, MYSQL_TRACK_SYSTEM_VARIABLES);
    wire_put_u8(&w, 0xFE), wire_put_u64(&w, 2 + 9 + value);
    wire_put_lenenc_bytes(&w, bytes_text("a"));
    wire_put_u8(&w, 0xFE), wire_put_u64(&w, value);
    wire_put_zeros(&w, value);
    assert_int_equal(wire_written(&w), whole);
    add(s, bytes_of(raw, whole));
    free(raw);
}

static void trackers_up_to_the_limit_are_taken(void **state)
{
    (void)state;
    struct script b = script_from(1), c = script_from(1);
    big_ok(&b, MYSQL_REPLY_KEEP_BYTES), ADD(&c, OK);
    check(MYSQL_REPLY_SIMPLE, &b, &c);
}

static void one_byte_over_the_limit_is_broken(void **state)
{
    (void)state;
    struct script b = script_from(1);
    big_ok(&b, MYSQL_REPLY_KEEP_BYTES + 1);
    check_broken(MYSQL_REPLY_SIMPLE, &b);
}

static void large_texts_are_cut_the_same_whether_split_or_not(void **state)
{
    (void)state;
    uint8_t text[1100];
    struct run run;
    memset(text, 'e', sizeof(text));
    memcpy(text, "\xff\x7a\x04#42S02", 9);
    const size_t sizes[] = {1024, 1025};
    for (size_t i = 0; i < 2; i++) {
        struct script b = script_from(1);
        add(&b, bytes_of(text, sizes[i]));
        run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
        assert_int_equal(run.event, MYSQL_REPLY_END);
        assert_int_equal(run.client_len, i == 0 ? 4 + 1024 : 4 + 9 + 512);
        run_free(&run);
        free(b.raw);
    }
    memset(text, 'i', sizeof(text));
    memcpy(text, "\x00\x00\x00\x02\x00\x00\x00\xfc\x42\x04", 10); /* info of 1090 bytes */
    struct script b = script_from(1);
    add(&b, bytes_of(text, 1100));
    run_all_ways(&run, MYSQL_REPLY_QUERY, &b);
    assert_int_equal(run.client_len, 4 + 7 + 3 + 512);
    run_free(&run);
    free(b.raw);
}

/* ---- what is not the protocol ---- */

static void what_cannot_stand_first_is_broken(void **state)
{
    (void)state;
    const struct {
        enum mysql_reply_shape shape;
        struct bytes payload;
    } cases[] = {
        {MYSQL_REPLY_QUERY, RAW("")},
        {MYSQL_REPLY_QUERY, RAW("\x00\x00")},                     /* a short OK */
        {MYSQL_REPLY_QUERY, RAW("\xff\x01")},                     /* a short ERR */
        {MYSQL_REPLY_QUERY, RAW("\x01\x01")},                     /* a byte behind the count */
        {MYSQL_REPLY_QUERY, RAW("\xfd\x00\x00\x01")},             /* 65536 columns */
        {MYSQL_REPLY_QUERY, RAW("\xfe\x00\x00\x02\x00\x00\x00")}, /* end of rows */
        {MYSQL_REPLY_QUERY, RAW("\x00\x00\x00\x02\x40\x00\x00\x00\x01\x01")}, /* half a tracker */
        {MYSQL_REPLY_PREPARE, RAW("\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
        {MYSQL_REPLY_PREPARE, RAW("\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
        {MYSQL_REPLY_PREPARE, RAW("\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
        {MYSQL_REPLY_SIMPLE, RAW("\x01\x00\x00\x02\x00\x00\x00")},
        {MYSQL_REPLY_FETCH,
         RAW("\xfe\x00\x00\x02\x00")}, /* the EOF of a backend without DEPRECATE_EOF */
        {MYSQL_REPLY_STRING, RAW("")},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script b = script_from(1);
        add(&b, cases[i].payload);
        check_broken(cases[i].shape, &b);
    }
}

static void an_overlong_infile_request_is_broken(void **state)
{
    (void)state;
    uint8_t name[1025];
    struct script b = script_from(1);
    memset(name, 'n', sizeof(name));
    name[0] = 0xFB;
    add(&b, bytes_of(name, sizeof(name)));
    check_broken(MYSQL_REPLY_QUERY, &b);
}

static void an_eof_among_definitions_is_broken(void **state)
{
    (void)state;
    struct script b = script_from(1);
    ADD(&b, "\x02"), ADD(&b, DEFINITION), ADD(&b, ROWS_OK);
    check_broken(MYSQL_REPLY_QUERY, &b);
}

static void a_packet_out_of_order_is_broken(void **state)
{
    (void)state;
    for (int at = 0; at < 3; at++) {
        struct script b = script_from(1);
        ADD(&b, "\x01");
        b.seq = (uint8_t)(b.seq + (at == 0));
        ADD(&b, DEFINITION);
        ADD(&b, "\x01x");
        b.seq = (uint8_t)(b.seq + (at == 1));
        ADD(&b, "\x01y");
        b.seq = (uint8_t)(b.seq + (at == 2));
        ADD(&b, ROWS_OK);
        check_broken(MYSQL_REPLY_QUERY, &b);
    }
}

static void broken_stays_broken(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    uint8_t in[] = "\x01\x00\x00\x01\x05\x07\x00\x00\x02" OK;
    mysql_reply_begin(&reply, MYSQL_REPLY_SIMPLE, 2, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, in, 5, &used, &out), MYSQL_REPLY_BROKEN);
    assert_int_equal(mysql_reply_feed(&reply, in + 5, 11, &used, &out), MYSQL_REPLY_BROKEN);
    assert_int_equal(used, 0);
    mysql_reply_fini(&reply);
}

static void a_reply_may_be_dropped_in_mid_packet(void **state)
{
    (void)state;
    struct mysql_reply reply;
    static struct mysql_reply_out out;
    size_t used;
    uint8_t in[] = "\x07\x00\x00\x01\x00\x00";
    mysql_reply_begin(&reply, MYSQL_REPLY_SIMPLE, 2, NULL, NULL);
    assert_int_equal(mysql_reply_feed(&reply, in, 6, &used, &out), MYSQL_REPLY_MORE);
    assert_int_equal(used, 6);
    mysql_reply_fini(&reply); /* a leak would be seen by the sanitizer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_get_an_eof_behind_their_columns_and_one_at_the_end),
        cmocka_unit_test(no_rows_still_make_two_eofs),
        cmocka_unit_test(a_cursor_makes_one_eof),
        cmocka_unit_test(the_made_eof_has_no_bits_of_one_statement),
        cmocka_unit_test(several_results_follow_each_other),
        cmocka_unit_test(sequence_ids_wrap),
        cmocka_unit_test(an_error_ends_the_reply_wherever_it_stands),
        cmocka_unit_test(an_error_is_told_and_keeps_the_status),
        cmocka_unit_test(an_error_out_of_order_gets_the_right_sequence_id),
        cmocka_unit_test(trackers_are_told_and_taken_out),
        cmocka_unit_test(an_infile_request_stops_the_feed),
        cmocka_unit_test(next_seq_behind_an_infile_request_is_that_of_the_file),
        cmocka_unit_test(prepare_gets_an_eof_behind_each_kind_of_definitions),
        cmocka_unit_test(fetch_is_rows_and_one_eof),
        cmocka_unit_test(a_field_list_is_definitions_and_one_eof),
        cmocka_unit_test(simple_replies_are_ok_eof_or_err),
        cmocka_unit_test(a_text_passes_as_it_is),
        cmocka_unit_test(no_reply_is_over_before_it_begins),
        cmocka_unit_test(bytes_behind_the_end_are_left_alone),
        cmocka_unit_test(whole_rows_leave_as_one_slice),
        cmocka_unit_test(the_struct_is_small),
        cmocka_unit_test(rows_of_16_mib_go_on_unread),
        cmocka_unit_test(trackers_up_to_the_limit_are_taken),
        cmocka_unit_test(one_byte_over_the_limit_is_broken),
        cmocka_unit_test(large_texts_are_cut_the_same_whether_split_or_not),
        cmocka_unit_test(what_cannot_stand_first_is_broken),
        cmocka_unit_test(an_overlong_infile_request_is_broken),
        cmocka_unit_test(an_eof_among_definitions_is_broken),
        cmocka_unit_test(a_packet_out_of_order_is_broken),
        cmocka_unit_test(broken_stays_broken),
        cmocka_unit_test(a_reply_may_be_dropped_in_mid_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
