/* SPDX-License-Identifier: Apache-2.0
 *
 * See mysql_reply.h. Packets are of two kinds: those that pass through unread (rows, definitions,
 * text), as input slices with a new sequence id, and those that are read whole (column count, OK,
 * EOF, ERR, infile request, COM_STMT_PREPARE_OK). Which kind one is shows in its header and first
 * payload byte. The rest of the file is the order in which they may come:
 *
 *   FIRST --count--> DEFINITIONS --last--> FIRST_ROW --> ROWS --OK--> over, or FIRST again under
 * MORE_RESULTS |  \--PREPARE_OK--> DEFINITIONS (parameters, then columns) --last--> over
 *     |--OK--> over, or FIRST again under MORE_RESULTS
 *     \--infile request--> FIRST
 *   FETCH and FIELDS begin in ROWS, STRING begins in TEXT; an ERR ends any of them.
 *
 * Checked against MariaDB 10.11 and MySQL 9.7, which agree: under DEPRECATE_EOF every EOF is an OK
 * with header 0xFE, also those of COM_FIELD_LIST, COM_SET_OPTION, COM_DEBUG; COM_STMT_PREPARE's
 * definitions end by count alone; an EXECUTE that opens a cursor sends the columns and one such OK
 * with CURSOR_EXISTS. Loop thread only. */
#include "protocol/mysql_reply.h"

#include <stdlib.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"

enum step {
    STEP_FIRST,       /* the first packet of a result */
    STEP_DEFINITIONS, /* parameter or column definitions, definitions_left of them */
    STEP_FIRST_ROW, /* behind the columns: the client's EOF is not out yet, since a cursor may still
                       change it */
    STEP_ROWS,
    STEP_TEXT,
    STEP_OVER,
    STEP_BROKEN,
};

enum {
    HEADER_OK = 0x00,
    HEADER_INFILE = 0xFB,
    HEADER_EOF = 0xFE,
    HEADER_ERR = 0xFF,
    COLUMNS_MAX = 0xFFFF,
    PREPARE_OK_BYTES = 12,
    OK_MIN_BYTES = 7,
    EOF_PACKET_BYTES = MYSQL_HEADER_BYTES + 5,
    /* Read packets up to this size leave as they came, whether they were split or not; larger ones
       are made anew. */
    VERBATIM_MAX_BYTES = 1024,
    /* What one turn of the feed can ask for at most. */
    TURN_SLICES = 3,
    TURN_SCRATCH_BYTES = EOF_PACKET_BYTES + MYSQL_HEADER_BYTES + VERBATIM_MAX_BYTES,
    /* What an EOF behind definitions says of the session; all other bits belong to one statement.
     */
    SESSION_STATUS = MYSQL_STATUS_IN_TRANS | MYSQL_STATUS_AUTOCOMMIT |
                     MYSQL_STATUS_NO_BACKSLASH_ESCAPES | MYSQL_STATUS_IN_TRANS_READONLY,
};

/* One call of mysql_reply_feed. */
struct feed {
    struct mysql_reply *r;
    struct mysql_reply_out *out;
    uint8_t *at;
    uint8_t *end;
    bool last_is_scratch; /* so that a slice is never grown from one buffer into another */
};

/* A packet that was read whole. */
struct packet {
    uint8_t *at; /* its header */
    struct bytes payload;
    bool joined; /* not in the input: it has to be copied to leave */
};

void mysql_reply_begin(struct mysql_reply *r, enum mysql_reply_shape shape, uint16_t status,
                       mysql_track_fn on_track, void *track_ctx)
{
    enum step step = STEP_FIRST;
    if (shape == MYSQL_REPLY_FETCH || shape == MYSQL_REPLY_FIELDS)
        step = STEP_ROWS;
    else if (shape == MYSQL_REPLY_STRING)
        step = STEP_TEXT;
    else if (shape == MYSQL_REPLY_NONE)
        step = STEP_OVER;
    *r = (struct mysql_reply){
        .status = status,
        .next_seq = 1,
        .shape = shape,
        .on_track = on_track,
        .track_ctx = track_ctx,
        .step = (uint8_t)step,
        .seq_any = true,
    };
}

void mysql_reply_fini(struct mysql_reply *r)
{
    free(r->joined);
    r->joined = NULL;
}

/* ---- what leaves ---- */

static void put_slice(struct feed *f, const uint8_t *at, size_t len, bool scratch)
{
    struct mysql_reply_out *out = f->out;
    struct bytes *last = out->count ? &out->slice[out->count - 1] : NULL;
    if (last && f->last_is_scratch == scratch && last->at + last->len == at)
        last->len += len;
    else
        out->slice[out->count++] = bytes_of(at, len);
    f->last_is_scratch = scratch;
}

static void put_input(struct feed *f, size_t len)
{
    put_slice(f, f->at, len, false);
    f->at += len;
}

/* What was written at scratch_room(). */
static uint8_t *scratch(struct feed *f)
{
    return f->out->scratch + f->out->scratch_used;
}

static size_t scratch_room(const struct feed *f)
{
    return MYSQL_REPLY_SCRATCH_BYTES - f->out->scratch_used;
}

static void put_scratch(struct feed *f, size_t len)
{
    put_slice(f, scratch(f), len, true);
    f->out->scratch_used += len;
}

/* Behind definitions: a packet that the backend did not send. */
static void put_definitions_eof(struct feed *f)
{
    struct mysql_reply *r = f->r;
    put_scratch(f, mysql_eof_packet(scratch(f), scratch_room(f), r->next_seq++,
                                    r->status & SESSION_STATUS, 0));
    r->seq_added++;
}

static void put_verbatim(struct feed *f, const struct packet *p)
{
    size_t len = MYSQL_HEADER_BYTES + p->payload.len;
    p->at[3] = f->r->next_seq++;
    if (p->joined) {
        memcpy(scratch(f), p->at, len);
        put_scratch(f, len);
    } else {
        put_slice(f, p->at, len, false);
    }
}

/* ---- packets that are read ---- */

static enum mysql_reply_event broken(struct feed *f)
{
    f->r->step = STEP_BROKEN;
    return MYSQL_REPLY_BROKEN;
}

static enum mysql_reply_event over(struct feed *f)
{
    f->r->step = STEP_OVER;
    return MYSQL_REPLY_END;
}

static enum mysql_reply_event handle_err(struct feed *f, const struct packet *p)
{
    struct mysql_reply *r = f->r;
    struct mysql_err err;
    if (mysql_err_read(p->payload, &err) != WIRE_DONE)
        return broken(f);
    r->error_code = err.code;
    memcpy(r->error_sqlstate, err.sqlstate, sizeof(r->error_sqlstate));
    size_t kept = err.message.len < sizeof r->error_message - 1 ? err.message.len
                                                                : sizeof r->error_message - 1;
    memcpy(r->error_message, err.message.at, kept);
    r->error_message[kept] = '\0';
    if (r->step == STEP_FIRST_ROW)
        put_definitions_eof(f);
    if (p->payload.len <= VERBATIM_MAX_BYTES)
        put_verbatim(f, p);
    else
        put_scratch(f, mysql_err_packet(scratch(f), scratch_room(f), r->next_seq++, err.code,
                                        err.sqlstate, err.message));
    return over(f);
}

static bool note_trackers(struct mysql_reply *r, const struct mysql_ok *ok)
{
    struct mysql_track_cursor cursor = {.left = ok->trackers};
    struct mysql_track track;
    enum wire_result result;
    while ((result = mysql_track_next(&cursor, &track)) == WIRE_DONE) {
        if (track.type == MYSQL_TRACK_STATE_CHANGE && bytes_equal(track.value, bytes_text("1")))
            r->state_changed = true;
        if (r->on_track)
            r->on_track(r->track_ctx, &track);
    }
    return result == WIRE_MORE;
}

/* OK in either form; as a classic client wants it. */
static enum mysql_reply_event handle_ok(struct feed *f, const struct packet *p)
{
    struct mysql_reply *r = f->r;
    struct mysql_ok ok;
    if (mysql_ok_read(p->payload, &ok) != WIRE_DONE || !note_trackers(r, &ok))
        return broken(f);
    r->status = ok.status;
    r->warnings = ok.warnings;
    if (ok.insert_id != 0)
        r->insert_id = ok.insert_id;
    if (p->payload.at[0] == HEADER_EOF) {
        if (r->step == STEP_FIRST_ROW && !(ok.status & MYSQL_STATUS_CURSOR_EXISTS))
            put_definitions_eof(f);
        put_scratch(f, mysql_eof_packet(scratch(f), scratch_room(f), r->next_seq++, ok.status,
                                        ok.warnings));
    } else {
        r->affected_rows = ok.affected_rows;
        if ((ok.status & MYSQL_STATUS_STATE_CHANGED) || p->payload.len > VERBATIM_MAX_BYTES)
            put_scratch(f, mysql_ok_packet(scratch(f), scratch_room(f), r->next_seq++, &ok));
        else
            put_verbatim(f, p);
    }
    if (r->shape == MYSQL_REPLY_QUERY && (ok.status & MYSQL_STATUS_MORE_RESULTS)) {
        r->step = STEP_FIRST;
        return MYSQL_REPLY_MORE;
    }
    return over(f);
}

/* Behind the last definition of a kind. */
static enum mysql_reply_event end_definitions(struct feed *f)
{
    struct mysql_reply *r = f->r;
    if (r->shape == MYSQL_REPLY_QUERY) {
        r->step = STEP_FIRST_ROW;
        return MYSQL_REPLY_MORE;
    }
    put_definitions_eof(f);
    r->definitions_left = r->columns_left;
    r->columns_left = 0;
    return r->definitions_left ? MYSQL_REPLY_MORE : over(f);
}

static enum mysql_reply_event handle_prepare_ok(struct feed *f, const struct packet *p)
{
    struct mysql_reply *r = f->r;
    struct wire_reader reader = wire_reader(p->payload);
    uint8_t header = wire_u8(&reader);
    if (header != HEADER_OK || p->payload.len != PREPARE_OK_BYTES)
        return broken(f);
    r->statement_id = wire_u32(&reader);
    r->prepared_columns = wire_u16(&reader);
    r->parameters = wire_u16(&reader);
    (void)wire_u8(&reader);
    r->warnings = wire_u16(&reader);
    put_verbatim(f, p);
    if (r->parameters == 0 && r->prepared_columns == 0)
        return over(f);
    r->definitions_left = r->parameters ? r->parameters : r->prepared_columns;
    r->columns_left = r->parameters ? r->prepared_columns : 0;
    r->step = STEP_DEFINITIONS;
    return MYSQL_REPLY_MORE;
}

/* The first packet of a result: OK, infile request, or column count. */
static enum mysql_reply_event handle_result(struct feed *f, const struct packet *p)
{
    struct mysql_reply *r = f->r;
    if (p->payload.at[0] == HEADER_OK)
        return handle_ok(f, p);
    if (p->payload.len > VERBATIM_MAX_BYTES)
        return broken(f); /* servers allow a file name of 512 */
    if (p->payload.at[0] == HEADER_INFILE) {
        put_verbatim(f, p);
        r->seq_any = true;
        return MYSQL_REPLY_INFILE;
    }
    struct wire_reader reader = wire_reader(p->payload);
    uint64_t columns = wire_lenenc(&reader);
    if (reader.bad || wire_left(&reader) > 0 || columns > COLUMNS_MAX)
        return broken(f);
    put_verbatim(f, p);
    r->had_rows = true;
    r->rows = 0;
    r->definitions_left = (uint32_t)columns;
    r->step = STEP_DEFINITIONS;
    return MYSQL_REPLY_MORE;
}

static enum mysql_reply_event handle_packet(struct feed *f, const struct packet *p)
{
    struct mysql_reply *r = f->r;
    uint8_t first = p->payload.at[0];
    if (first == HEADER_ERR)
        return handle_err(f, p);
    if (r->step != STEP_FIRST)
        return first == HEADER_EOF && p->payload.len >= OK_MIN_BYTES ? handle_ok(f, p) : broken(f);
    if (r->shape == MYSQL_REPLY_PREPARE)
        return handle_prepare_ok(f, p);
    return r->shape == MYSQL_REPLY_QUERY ? handle_result(f, p) : handle_ok(f, p);
}

/* ---- packets that pass ---- */

/* A passing packet is out. */
static enum mysql_reply_event end_passing(struct feed *f)
{
    struct mysql_reply *r = f->r;
    if (r->continues)
        return MYSQL_REPLY_MORE;
    if (r->step == STEP_TEXT)
        return over(f);
    if (r->step == STEP_DEFINITIONS && --r->definitions_left == 0)
        return end_definitions(f);
    return MYSQL_REPLY_MORE;
}

/* So that a change of the columns is noticed; FNV-1a over a word at a time would not be the same
 * for every cut. */
static void hash_definition(struct mysql_reply *r, struct bytes part)
{
    uint64_t h = r->columns_hash ? r->columns_hash : 14695981039346656037u;
    for (size_t i = 0; i < part.len; i++)
        h = (h ^ part.at[i]) * 1099511628211u;
    r->columns_hash = h;
}

static enum mysql_reply_event pass_payload(struct feed *f)
{
    size_t here = (size_t)(f->end - f->at);
    if (here > f->r->left_bytes)
        here = f->r->left_bytes;
    if (f->r->step == STEP_DEFINITIONS)
        hash_definition(f->r, bytes_of(f->at, here));
    put_input(f, here);
    f->r->left_bytes -= (uint32_t)here;
    return f->r->left_bytes ? MYSQL_REPLY_MORE : end_passing(f);
}

/* `head` is the start of the input, or the collected one (then it leaves by the scratch). */
static enum mysql_reply_event begin_passing(struct feed *f, uint8_t *head, bool collected)
{
    struct mysql_reply *r = f->r;
    if (r->step == STEP_FIRST_ROW) {
        put_definitions_eof(f);
        r->step = STEP_ROWS;
    }
    uint32_t payload_bytes = mysql_header_length(head);
    if (r->step == STEP_ROWS && !r->continues)
        r->rows++;
    head[3] = r->next_seq++;
    r->continues = payload_bytes == MYSQL_PAYLOAD_MAX_BYTES;
    if (collected && r->step == STEP_DEFINITIONS && r->head_have > MYSQL_HEADER_BYTES)
        hash_definition(
            r, bytes_of(head + MYSQL_HEADER_BYTES, (size_t)r->head_have - MYSQL_HEADER_BYTES));
    if (collected) {
        size_t have = r->head_have;
        memcpy(scratch(f), head, have);
        put_scratch(f, have);
        r->head_have = 0;
        r->left_bytes = payload_bytes - (uint32_t)(have - MYSQL_HEADER_BYTES);
    } else {
        put_input(f, MYSQL_HEADER_BYTES);
        r->left_bytes = payload_bytes;
    }
    return r->left_bytes ? MYSQL_REPLY_MORE : end_passing(f);
}

/* The hot path: rows that lie whole in the input. Stops in front of anything else. */
static void pass_rows(struct feed *f)
{
    uint8_t *at = f->at;
    uint8_t seq = f->r->next_seq;
    uint8_t seq_added = f->r->seq_added;
    uint64_t rows = 0;
    while (f->end - at > MYSQL_HEADER_BYTES) {
        size_t whole = MYSQL_HEADER_BYTES + mysql_header_length(at);
        size_t here = (size_t)(f->end - at);
#ifdef SLUICE_PLANT_BUG
        here++; /* to see that the fuzz target finds it */
#endif
        if (at[4] >= HEADER_EOF || whole == MYSQL_HEADER_BYTES || whole > here ||
            whole == MYSQL_HEADER_BYTES + MYSQL_PAYLOAD_MAX_BYTES ||
            at[3] != (uint8_t)(seq - seq_added))
            break;
        at[3] = seq++;
        at += whole;
        rows++;
    }
    f->r->rows += rows;
    f->r->next_seq = seq;
    if (at != f->at)
        put_input(f, (size_t)(at - f->at));
}

/* ---- telling them apart ---- */

/* Whether a packet that begins so has to be read; *bad when it cannot stand here. */
static bool is_read(const struct mysql_reply *r, const uint8_t *head, bool *bad)
{
    uint32_t payload_bytes = mysql_header_length(head);
    uint8_t first = head[4];
    bool read = first == HEADER_ERR || r->step == STEP_FIRST;
    if (r->step == STEP_ROWS || r->step == STEP_FIRST_ROW) {
        /* A first value of 16 MiB and more begins with 0xFE too, but is longer than one packet. */
        read = read || (first == HEADER_EOF && payload_bytes < MYSQL_PAYLOAD_MAX_BYTES);
    }
    *bad = (read && payload_bytes > MYSQL_REPLY_KEEP_BYTES) ||
           (r->step == STEP_DEFINITIONS && first == HEADER_EOF);
    return read;
}

static enum mysql_reply_event finish_join(struct feed *f)
{
    struct mysql_reply *r = f->r;
    if (r->joined_have < r->joined_whole)
        return MYSQL_REPLY_MORE;
    struct packet p = {
        .at = r->joined,
        .payload = bytes_of(r->joined + MYSQL_HEADER_BYTES, r->joined_whole - MYSQL_HEADER_BYTES),
        .joined = true,
    };
    enum mysql_reply_event event = handle_packet(f, &p);
    mysql_reply_fini(r);
    return event;
}

static enum mysql_reply_event join(struct feed *f)
{
    struct mysql_reply *r = f->r;
    size_t here = (size_t)(f->end - f->at);
    if (here > r->joined_whole - r->joined_have)
        here = r->joined_whole - r->joined_have;
    memcpy(r->joined + r->joined_have, f->at, here);
    r->joined_have += (uint32_t)here;
    f->at += here;
    return finish_join(f);
}

static enum mysql_reply_event begin_reading(struct feed *f, uint8_t *head, bool collected)
{
    struct mysql_reply *r = f->r;
    uint32_t payload_bytes = mysql_header_length(head);
    uint32_t whole = MYSQL_HEADER_BYTES + payload_bytes;
    if (!collected && (size_t)(f->end - f->at) >= whole) {
        struct packet p = {
            .at = f->at,
            .payload = bytes_of(f->at + MYSQL_HEADER_BYTES, payload_bytes),
        };
        f->at += whole;
        return handle_packet(f, &p);
    }
    r->joined = malloc(whole);
    if (!r->joined)
        return broken(f); /* costs this backend, not the process */
    r->joined_whole = whole;
    r->joined_have = 0;
    if (!collected)
        return join(f);
    memcpy(r->joined, head, r->head_have);
    r->joined_have = r->head_have;
    r->head_have = 0;
    return finish_join(f);
}

static enum mysql_reply_event begin_packet(struct feed *f, uint8_t *head, bool collected)
{
    struct mysql_reply *r = f->r;
    bool empty = mysql_header_length(head) == 0;
    if (empty && !r->continues)
        return broken(f);
    bool is_err = !r->continues && head[4] == HEADER_ERR;
    if (r->seq_any)
        r->next_seq = (uint8_t)(head[3] + r->seq_added);
    else if (head[3] != (uint8_t)(r->next_seq - r->seq_added) && !is_err)
        return broken(f); /* an ERR may come out of order: it is the server's last word */
    r->seq_any = false;
    if (r->continues)
        return begin_passing(f, head, collected);
    bool bad;
    bool read = is_read(r, head, &bad);
    if (bad)
        return broken(f);
    return read ? begin_reading(f, head, collected) : begin_passing(f, head, collected);
}

/* Whether what is there of a packet's start is enough to tell its kind. */
static bool head_is_whole(const struct mysql_reply *r, const uint8_t *head, size_t have)
{
    return have > MYSQL_HEADER_BYTES ||
           (have == MYSQL_HEADER_BYTES && (r->continues || mysql_header_length(head) == 0));
}

static enum mysql_reply_event next_packet(struct feed *f)
{
    struct mysql_reply *r = f->r;
    if (r->head_have == 0 && head_is_whole(r, f->at, (size_t)(f->end - f->at)))
        return begin_packet(f, f->at, false);
    while (f->at < f->end && !head_is_whole(r, r->head, r->head_have))
        r->head[r->head_have++] = *f->at++;
    if (!head_is_whole(r, r->head, r->head_have))
        return MYSQL_REPLY_MORE;
    return begin_packet(f, r->head, true);
}

static bool has_room(const struct feed *f)
{
    return f->out->count + TURN_SLICES <= MYSQL_REPLY_SLICES &&
           scratch_room(f) >= TURN_SCRATCH_BYTES;
}

static enum mysql_reply_event turn(struct feed *f)
{
    struct mysql_reply *r = f->r;
    if (r->left_bytes > 0)
        return pass_payload(f);
    if (r->joined)
        return join(f);
    if (r->step == STEP_ROWS && !r->continues && !r->seq_any && r->head_have == 0) {
        pass_rows(f);
        if (f->at == f->end)
            return MYSQL_REPLY_MORE;
    }
    return next_packet(f);
}

enum mysql_reply_event mysql_reply_feed(struct mysql_reply *r, uint8_t *in, size_t len,
                                        size_t *used_bytes, struct mysql_reply_out *out)
{
    struct feed f = {.r = r, .out = out, .at = in, .end = in + len};
    enum mysql_reply_event event = MYSQL_REPLY_MORE;
    out->count = 0;
    out->scratch_used = 0;
    if (r->step == STEP_OVER)
        event = MYSQL_REPLY_END;
    else if (r->step == STEP_BROKEN)
        event = MYSQL_REPLY_BROKEN;
    while (event == MYSQL_REPLY_MORE && f.at < f.end && has_room(&f))
        event = turn(&f);
    *used_bytes = (size_t)(f.at - in);
    return event;
}
