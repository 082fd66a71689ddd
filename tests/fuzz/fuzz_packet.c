/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target for mysql_packet and mysql_response. Input: one byte of limit, then a stream of
 * packets. Properties: no read outside the bytes given (each parser gets an exact copy on the
 * heap); what is written from what was read reads the same; a small result that is whole is not
 * whole one byte earlier. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

static uint8_t *exact_copy(struct bytes b)
{
    uint8_t *copy = malloc(b.len);
    assert(copy);
    memcpy(copy, b.at, b.len);
    return copy;
}

/* Touches every byte, so that a borrowed run outside the input is seen. */
static unsigned touch(struct bytes b)
{
    volatile unsigned sum = 0;
    for (size_t i = 0; i < b.len; i++)
        sum += b.at[i];
    return sum;
}

static void try_trackers(struct bytes trackers)
{
    struct mysql_track_cursor c = {.left = trackers};
    struct mysql_track track;
    while (mysql_track_next(&c, &track) == WIRE_DONE) {
        touch(track.name);
        touch(track.value);
    }
}

static void try_ok(struct bytes payload)
{
    struct mysql_ok ok, back;
    uint8_t raw[1024];
    if (mysql_ok_read(payload, &ok) != WIRE_DONE)
        return;
    touch(ok.info);
    try_trackers(ok.trackers);
    size_t len = mysql_ok_packet(raw, sizeof(raw), 3, &ok);
    assert(len >= 11 && mysql_header_length(raw) == len - MYSQL_HEADER_BYTES);
    assert(mysql_ok_read(bytes_of(raw + 4, len - 4), &back) == WIRE_DONE);
    assert(back.affected_rows == ok.affected_rows && back.insert_id == ok.insert_id);
    assert(back.status == (ok.status & ~MYSQL_STATUS_STATE_CHANGED));
    assert(back.warnings == ok.warnings && back.trackers.len == 0);
    assert(bytes_equal(back.info, bytes_of(ok.info.at, ok.info.len < 512 ? ok.info.len : 512)));
}

static void try_eof(struct bytes payload)
{
    struct mysql_ok ok, back;
    uint8_t raw[16];
    if (mysql_ok_read(payload, &ok) != WIRE_DONE)
        return;
    size_t len = mysql_eof_packet(raw, sizeof(raw), 3, ok.status, ok.warnings);
    assert(len == 9 && mysql_ok_read(bytes_of(raw + 4, 5), &back) == WIRE_DONE);
    assert(back.status == (ok.status & ~MYSQL_STATUS_STATE_CHANGED));
    assert(back.warnings == ok.warnings);
}

static void try_err(struct bytes payload)
{
    struct mysql_err err, back;
    uint8_t raw[1024];
    if (mysql_err_read(payload, &err) != WIRE_DONE)
        return;
    size_t len = mysql_err_packet(raw, sizeof(raw), 3, err.code, err.sqlstate, err.message);
    assert(len > 0 && mysql_err_read(bytes_of(raw + 4, len - 4), &back) == WIRE_DONE);
    assert(back.code == err.code);
    if (err.message.len > 0) { /* without a text the state cannot be told from one */
        assert(strncmp(back.sqlstate, err.sqlstate, 5) == 0);
        assert(back.message.len == (err.message.len < 512 ? err.message.len : 512));
    }
}

/* Reads one value as the next byte says and writes it again: the same bytes, but for numbers
 * written too long. */
static void copy_value(struct wire_reader *r, struct wire_writer *w)
{
    switch (wire_u8(r) % 8) {
    case 0:
        wire_put_u16(w, wire_u16(r));
        break;
    case 1:
        wire_put_u24(w, wire_u24(r));
        break;
    case 2:
        wire_put_u32(w, wire_u32(r));
        break;
    case 3:
        wire_put_u64(w, wire_u64(r));
        break;
    case 4:
        wire_put_lenenc(w, wire_lenenc(r));
        break;
    case 5:
        wire_put_lenenc_bytes(w, wire_lenenc_bytes(r));
        break;
    case 6:
        wire_put_nul_bytes(w, wire_nul_bytes(r));
        break;
    case 7:
        wire_put_zeros(w, wire_u8(r));
        break;
    }
}

static void try_wire(struct bytes in)
{
    struct wire_reader r = wire_reader(in);
    while (wire_left(&r) > 0) {
        const uint8_t *from = r.at + 1;
        uint8_t raw[256];
        struct wire_writer w = wire_writer(raw, sizeof(raw));
        uint8_t kind = *r.at % 8;
        copy_value(&r, &w);
        assert(r.at <= in.at + in.len);
        if (!r.bad && kind < 7 && wire_written(&w) == (size_t)(r.at - from))
            assert(memcmp(raw, from, wire_written(&w)) == 0);
        assert(!r.bad || wire_left(&r) == 0);
        assert(wire_written(&w) <= sizeof(raw));
    }
}

static void try_packets(struct bytes in, size_t limit_bytes)
{
    uint8_t seq;
    struct bytes payload;
    size_t used;
    while (mysql_packet_read(in, limit_bytes, &seq, &payload, &used) == WIRE_DONE) {
        assert(payload.len <= limit_bytes && used <= in.len);
        uint8_t *copy = exact_copy(payload);
        try_ok(bytes_of(copy, payload.len));
        try_eof(bytes_of(copy, payload.len));
        try_err(bytes_of(copy, payload.len));
        free(copy);
        in = bytes_of(in.at + used, in.len - used);
    }
}

static void try_result(struct bytes reply)
{
    struct mysql_result result, same;
    struct bytes values[MYSQL_RESULT_COLUMNS_MAX];
    size_t used, used_again;
    if (mysql_result_read(reply, &result, &used) != WIRE_DONE)
        return;
    assert(used <= reply.len && result.columns <= MYSQL_RESULT_COLUMNS_MAX);
    uint8_t *copy = exact_copy(bytes_of(reply.at, used - 1));
    assert(mysql_result_read(bytes_of(copy, used - 1), &same, &used_again) == WIRE_MORE);
    free(copy);
    copy = exact_copy(bytes_of(reply.at, used));
    struct bytes whole = bytes_of(copy, used);
    assert(mysql_result_read(whole, &same, &used_again) == WIRE_DONE && used_again == used);
    size_t at = same.rows_at;
    while (mysql_result_row(whole, &same, &at, values))
        for (uint32_t i = 0; i < same.columns; i++)
            touch(values[i]);
    assert(at == same.rows_end);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bytes in = bytes_of(data + 1, size - 1);
    uint8_t *copy = exact_copy(in);
    in.at = copy;
    try_packets(in, data[0] ? data[0] : MYSQL_PAYLOAD_MAX_BYTES);
    try_result(in);
    try_wire(in);
    free(copy);
    return 0;
}
