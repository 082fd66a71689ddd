/* SPDX-License-Identifier: Apache-2.0
 *
 * OK_Packet, EOF_Packet, ERR_Packet ("Generic Response Packets") and small text results ("Text
 * Resultset") as servers send them under DEPRECATE_EOF. Any thread. */
#include "protocol/mysql_response.h"

#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"

enum {
    HEADER_OK = 0x00,
    HEADER_NULL = 0xFB, /* in a row; as the first byte of a reply an infile request */
    HEADER_EOF = 0xFE,
    HEADER_ERR = 0xFF,
    EOF_BYTES = 5,        /* the classic EOF; an OK has at least 7 */
    TEXT_MAX_BYTES = 512, /* what servers allow for an error's or an OK's text */
    SQLSTATE_BYTES = 5,
};

enum wire_result mysql_ok_read(struct bytes payload, struct mysql_ok *out)
{
    struct wire_reader r = wire_reader(payload);
    struct mysql_ok ok = {0};
    uint8_t header = wire_u8(&r);
    if (header == HEADER_EOF && payload.len == EOF_BYTES) {
        ok.warnings = wire_u16(&r);
        ok.status = wire_u16(&r);
        *out = ok;
        return WIRE_DONE;
    }
    ok.affected_rows = wire_lenenc(&r);
    ok.insert_id = wire_lenenc(&r);
    ok.status = wire_u16(&r);
    ok.warnings = wire_u16(&r);
    if (wire_left(&r) > 0)
        ok.info = wire_lenenc_bytes(&r);
    if ((ok.status & MYSQL_STATUS_STATE_CHANGED) && wire_left(&r) > 0)
        ok.trackers = wire_lenenc_bytes(&r);
    if (r.bad || (header != HEADER_OK && header != HEADER_EOF))
        return WIRE_BAD;
    *out = ok;
    return WIRE_DONE;
}

/* The next variable of a SYSTEM_VARIABLES entry. */
static enum wire_result next_variable(struct mysql_track_cursor *c, struct mysql_track *out)
{
    struct wire_reader r = wire_reader(c->entry);
    struct bytes name = wire_lenenc_bytes(&r);
    struct bytes value = wire_lenenc_bytes(&r);
    if (r.bad)
        return WIRE_BAD;
    c->entry = wire_rest(&r);
    *out = (struct mysql_track){.type = MYSQL_TRACK_SYSTEM_VARIABLES, .name = name, .value = value};
    return WIRE_DONE;
}

enum wire_result mysql_track_next(struct mysql_track_cursor *c, struct mysql_track *out)
{
    while (c->entry.len == 0) {
        if (c->left.len == 0)
            return WIRE_MORE;
        struct wire_reader r = wire_reader(c->left);
        uint8_t type = wire_u8(&r);
        struct bytes entry = wire_lenenc_bytes(&r);
        if (r.bad)
            return WIRE_BAD;
        c->left = wire_rest(&r);
        if (type == MYSQL_TRACK_SYSTEM_VARIABLES) {
            c->entry = entry;
            continue;
        }
        struct wire_reader inner = wire_reader(entry);
        if (type == MYSQL_TRACK_GTIDS)
            (void)wire_u8(&inner); /* the encoding; 0 is the only one there is */
        /* STATE_CHANGE is a bare digit on both servers, whatever the documentation says. */
        bool wrapped = type == MYSQL_TRACK_SCHEMA || type == MYSQL_TRACK_GTIDS ||
                       type == MYSQL_TRACK_TRX_CHARACTERISTICS || type == MYSQL_TRACK_TRX_STATE;
        struct bytes value = wrapped ? wire_lenenc_bytes(&inner) : wire_rest(&inner);
        if (inner.bad)
            return WIRE_BAD;
        *out = (struct mysql_track){.type = type, .value = value};
        return WIRE_DONE;
    }
    return next_variable(c, out);
}

enum wire_result mysql_err_read(struct bytes payload, struct mysql_err *out)
{
    struct wire_reader r = wire_reader(payload);
    uint8_t header = wire_u8(&r);
    struct mysql_err err = {.code = wire_u16(&r), .sqlstate = "HY000"};
    if (wire_left(&r) > SQLSTATE_BYTES && *r.at == '#') {
        (void)wire_u8(&r);
        memcpy(err.sqlstate, wire_take(&r, SQLSTATE_BYTES).at, SQLSTATE_BYTES);
    }
    err.message = wire_rest(&r);
    if (r.bad || header != HEADER_ERR)
        return WIRE_BAD;
    *out = err;
    return WIRE_DONE;
}

static struct bytes cut(struct bytes text)
{
    return bytes_of(text.at, text.len < TEXT_MAX_BYTES ? text.len : TEXT_MAX_BYTES);
}

size_t mysql_ok_packet(uint8_t *out, size_t room, uint8_t seq, const struct mysql_ok *ok)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, HEADER_OK);
    wire_put_lenenc(&w, ok->affected_rows);
    wire_put_lenenc(&w, ok->insert_id);
    wire_put_u16(&w, ok->status & (uint16_t)~MYSQL_STATUS_STATE_CHANGED);
    wire_put_u16(&w, ok->warnings);
    if (ok->info.len > 0)
        wire_put_lenenc_bytes(&w, cut(ok->info));
    return mysql_packet_end(&w, begin, seq);
}

size_t mysql_eof_packet(uint8_t *out, size_t room, uint8_t seq, uint16_t status, uint16_t warnings)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, HEADER_EOF);
    wire_put_u16(&w, warnings);
    wire_put_u16(&w, status & (uint16_t)~MYSQL_STATUS_STATE_CHANGED);
    return mysql_packet_end(&w, begin, seq);
}

size_t mysql_err_packet(uint8_t *out, size_t room, uint8_t seq, uint16_t code, const char *sqlstate,
                        struct bytes message)
{
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, HEADER_ERR);
    wire_put_u16(&w, code);
    wire_put_u8(&w, '#');
    wire_put(&w, bytes_of(sqlstate, SQLSTATE_BYTES));
    wire_put(&w, cut(message));
    return mysql_packet_end(&w, begin, seq);
}

/* values may be NULL: then the row is only checked. */
static bool read_row(struct bytes payload, uint32_t columns, struct bytes *values)
{
    struct wire_reader r = wire_reader(payload);
    for (uint32_t i = 0; i < columns && !r.bad; i++) {
        struct bytes value = {0};
        if (wire_left(&r) > 0 && *r.at == HEADER_NULL)
            (void)wire_u8(&r);
        else
            value = wire_lenenc_bytes(&r);
        if (values)
            values[i] = value;
    }
    return !r.bad && wire_left(&r) == 0;
}

/* The packet at `*at`, advanced over on WIRE_DONE. An empty one or one of 16 MiB is broken here. */
static enum wire_result next_packet(struct bytes reply, size_t *at, struct bytes *payload)
{
    uint8_t seq;
    size_t used;
    enum wire_result result = mysql_packet_read(bytes_of(reply.at + *at, reply.len - *at),
                                                MYSQL_PAYLOAD_MAX_BYTES - 1, &seq, payload, &used);
    if (result != WIRE_DONE)
        return result;
    if (payload->len == 0)
        return WIRE_BAD;
    *at += used;
    return WIRE_DONE;
}

/* The packet that ends a result: OK in either form, or ERR. Several results are not a small one. */
static enum wire_result read_last(struct bytes payload, struct mysql_result *out)
{
    out->is_error = payload.at[0] == HEADER_ERR;
    if (out->is_error)
        return mysql_err_read(payload, &out->err);
    enum wire_result result = mysql_ok_read(payload, &out->ok);
    return result == WIRE_DONE && (out->ok.status & MYSQL_STATUS_MORE_RESULTS) ? WIRE_BAD : result;
}

/* Column definitions, then rows and the packet behind them. */
static enum wire_result read_rows(struct bytes reply, size_t *at, struct mysql_result *out)
{
    struct bytes payload;
    enum wire_result result;
    for (uint32_t i = 0; i < out->columns; i++) {
        result = next_packet(reply, at, &payload);
        if (result != WIRE_DONE)
            return result;
        if (payload.at[0] >= HEADER_EOF)
            return WIRE_BAD;
    }
    out->rows_at = *at;
    for (;;) {
        out->rows_end = *at;
        result = next_packet(reply, at, &payload);
        if (result != WIRE_DONE)
            return result;
        if (payload.at[0] == HEADER_EOF && payload.len == EOF_BYTES)
            return WIRE_BAD; /* the backend does not speak DEPRECATE_EOF: this would be the columns'
                                end */
        if (payload.at[0] >= HEADER_EOF)
            return read_last(payload, out);
        if (!read_row(payload, out->columns, NULL))
            return WIRE_BAD;
    }
}

enum wire_result mysql_result_read(struct bytes reply, struct mysql_result *out, size_t *used_bytes)
{
    struct mysql_result result = {0};
    struct bytes payload;
    size_t at = 0;
    enum wire_result verdict = next_packet(reply, &at, &payload);
    if (verdict != WIRE_DONE)
        return verdict;
    if (payload.at[0] == HEADER_OK || payload.at[0] == HEADER_ERR) {
        verdict = read_last(payload, &result);
    } else {
        /* A length-encoded count up to 250 is one byte; an infile request (0xFB) is above the limit
         * too. */
        if (payload.len != 1 || payload.at[0] > MYSQL_RESULT_COLUMNS_MAX)
            return WIRE_BAD;
        result.columns = payload.at[0];
        verdict = read_rows(reply, &at, &result);
    }
    if (verdict != WIRE_DONE)
        return verdict;
    *out = result;
    *used_bytes = at;
    return WIRE_DONE;
}

uint16_t mysql_result_collation(struct bytes reply, const struct mysql_result *result,
                                uint32_t index)
{
    enum { NAMES = 6 }; /* catalog, schema, table twice, column twice */
    struct bytes payload;
    size_t at = 0;
    for (uint32_t i = 0; i <= index + 1; i++)
        if (index >= result->columns || next_packet(reply, &at, &payload) != WIRE_DONE)
            return 0;
    struct wire_reader r = wire_reader(payload);
    for (int i = 0; i < NAMES; i++)
        (void)wire_lenenc_bytes(&r);
    (void)wire_u8(&r);
    uint16_t collation = wire_u16(&r);
    return r.bad ? 0 : collation;
}

enum wire_result mysql_prepared_read(struct bytes reply, struct mysql_prepared *out,
                                     size_t *used_bytes)
{
    struct mysql_prepared head = {0};
    struct bytes payload;
    size_t at = 0;
    enum wire_result result = next_packet(reply, &at, &payload);
    if (result != WIRE_DONE)
        return result;
    struct wire_reader r = wire_reader(payload);
    uint8_t first = wire_u8(&r);
    head.is_error = first == HEADER_ERR;
    if (head.is_error) {
        if (mysql_err_read(payload, &head.err) != WIRE_DONE)
            return WIRE_BAD;
    } else {
        head.statement_id = wire_u32(&r);
        head.columns = wire_u16(&r);
        head.parameters = wire_u16(&r);
        (void)wire_u8(&r);
        head.warnings = wire_u16(&r);
        if (first != HEADER_OK || r.bad)
            return WIRE_BAD;
    }
    for (uint32_t left = (uint32_t)head.columns + head.parameters; left; left--) {
        result = next_packet(reply, &at, &payload);
        if (result != WIRE_DONE)
            return result;
    }
    *out = head;
    *used_bytes = at;
    return WIRE_DONE;
}

bool mysql_result_row(struct bytes reply, const struct mysql_result *result, size_t *at,
                      struct bytes *values)
{
    struct bytes payload;
    return *at < result->rows_end && next_packet(reply, at, &payload) == WIRE_DONE &&
           read_row(payload, result->columns, values);
}
