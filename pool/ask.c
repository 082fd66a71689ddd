/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/ask.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/pool.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/sql_scan.h"

#define TRACKERS                                                                                   \
    "session_track_schema=ON, session_track_state_change=ON, session_track_system_variables='', "  \
    "session_track_transaction_info='STATE'"

const char *ask_word(enum ask kind)
{
    static const char *const word[] = {
#define X(id, w, fatal) w,
        ASKS(X)
#undef X
    };
    return word[kind];
}

static bool ask_is_fatal(enum ask kind)
{
    static const bool is_fatal[] = {
#define X(id, w, fatal) fatal,
        ASKS(X)
#undef X
    };
    return is_fatal[kind];
}

bool ask_pending(const struct backend *b)
{
    return b->asks.answered < b->asks.count;
}

void ask_begin(struct ask_batch *batch, struct backend *b)
{
    batch->backend = b;
    batch->w = wire_writer(batch->data, sizeof batch->data);
}

static void note_question(struct ask_batch *batch, enum ask kind)
{
    struct asks *asks = &batch->backend->asks;
    if (asks->answered) {
        memmove(asks->kind, asks->kind + asks->answered, asks->count - asks->answered);
        asks->count = (uint8_t)(asks->count - asks->answered);
        asks->answered = 0;
    }
    assert(asks->count < ASKS_MAX);
    asks->kind[asks->count++] = (uint8_t)kind;
}

void ask_command(struct ask_batch *batch, enum ask kind, uint8_t command, struct bytes payload)
{
    size_t begin = mysql_packet_begin(&batch->w);
    wire_put_u8(&batch->w, command);
    wire_put(&batch->w, payload);
    (void)mysql_packet_end(&batch->w, begin, 0);
    note_question(batch, kind);
}

void ask_query(struct ask_batch *batch, enum ask kind, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(len > 0 && (size_t)len < sizeof text);
    ask_command(batch, kind, MYSQL_COM_QUERY, bytes_of(text, (size_t)len));
}

void ask_send(struct ask_batch *batch)
{
    struct backend *b = batch->backend;
    size_t bytes = wire_written(&batch->w);
    assert(!batch->w.full);
    if (bytes && conn_write_bytes(&b->conn, batch->data, bytes) != 0)
        b->doomed =
            true; /* its end of file follows, and is handled where no caller has it in hand */
}

static void ask_settings(struct ask_batch *batch, struct backend *b, bool with_charset)
{
    struct bytes charset = {0};
    struct bytes collation = {0};
    if (with_charset && b->baseline_charset)
        charset_split(names_text(b->pool->target->names, b->baseline_charset), &charset,
                      &collation);
    if (charset.len && collation.len)
        ask_query(batch, ASK_SETTINGS, "SET NAMES '%.*s' COLLATE '%.*s', " TRACKERS,
                  (int)charset.len, (const char *)charset.at, (int)collation.len,
                  (const char *)collation.at);
    else
        ask_query(batch, ASK_SETTINGS, "SET " TRACKERS);
}

static void ask_baseline(struct ask_batch *batch, struct backend *b)
{
    bool mariadb = b->pool->target->mariadb;
    bool has_roles = mariadb || b->pool->target->version[0] != '5'; /* MySQL 5.7 has none */
    ask_query(batch, ASK_BASELINE,
              "SELECT @@wait_timeout, @@max_allowed_packet, @@character_set_client, "
              "@@collation_connection, "
              "@@character_set_results, @@sql_mode, @@autocommit, @@time_zone, @@%s, %s, %s",
              mariadb ? "tx_isolation" : "transaction_isolation",
              mariadb ? "CONCAT(@@hostname, ':', @@port)" : "@@server_uuid",
              has_roles ? "CURRENT_ROLE()" : "NULL");
}

void ask_settle(struct backend *b)
{
    struct ask_batch batch;
    ask_begin(&batch, b);
    ask_settings(&batch, b, false);
    ask_baseline(&batch, b);
    ask_send(&batch);
}

void ask_reset(struct ask_batch *batch, struct backend *b)
{
    ask_command(batch, ASK_RESET, MYSQL_COM_RESET_CONNECTION, bytes_of("", 0));
    ask_settings(batch, b, true);
    ask_baseline(batch, b);
}

void ask_probe(struct backend *b)
{
    struct ask_batch batch;
    const char *query = b->pool->target->options->mysql.probe_query;
    ask_begin(&batch, b);
    ask_command(&batch, ASK_PROBE, MYSQL_COM_QUERY, bytes_text(query));
    ask_send(&batch);
}

/* ---- answers ---- */

enum { BASELINE_COLUMNS = 11, BASELINE_ROLE = 10 };

static uint64_t number_of(struct bytes text)
{
    uint64_t v = 0;
    for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(text.at[i] - '0');
    return v;
}

static uint32_t hash_more(uint32_t h, struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ text.at[i]) * 16777619u;
    return (h ^ 0xFF) * 16777619u;
}

static bool text_has(struct bytes text, const char *word)
{
    return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static bool charset_is_unit(struct bytes client, struct bytes collation, struct bytes results)
{
    if (!bytes_equal(client, results))
        return false;
    return bytes_equal(client, collation) ||
           (collation.len > client.len && memcmp(collation.at, client.at, client.len) == 0 &&
            collation.at[client.len] == '_');
}

static bool on_baseline(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct target *t = b->pool->target;
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    size_t at = result->rows_at;
    if (result->columns != BASELINE_COLUMNS || !mysql_result_row(reply, result, &at, v))
        return false;

    b->wait_timeout_ms = number_of(v[0]) * 1000;
    t->max_allowed_packet = number_of(v[1]);
    if (charset_is_unit(v[2], v[3], v[4]))
        session_state_set_charset(t->names, &b->session, v[2], v[3]);
    else {
        names_unref(t->names, b->session.charset);
        b->session.charset = 0;
    }
    uint32_t flags = t->mariadb ? SQL_MODE_MARIADB : 0;
    if (text_has(v[5], "NO_BACKSLASH_ESCAPES"))
        flags |= SQL_MODE_NO_BACKSLASH_ESCAPES;
    if (text_has(v[5], "ANSI_QUOTES"))
        flags |= SQL_MODE_ANSI_QUOTES;
    if (text_has(v[5], "IGNORE_SPACE"))
        flags |= SQL_MODE_IGNORE_SPACE;
    t->sql_mode_flags = flags;
    t->fresh_status =
        (uint16_t)(result->ok.status & ~(MYSQL_STATUS_STATE_CHANGED | MYSQL_STATUS_MORE_RESULTS));
    b->status = t->fresh_status;
    uint32_t hash = 2166136261u;
    hash = hash_more(hash_more(hash, v[0]), v[1]);
    for (int i = 5; i < BASELINE_ROLE; i++)
        hash = hash_more(hash, v[i]);
    b->baseline_hash = hash;
    b->identity_hash = hash_more(2166136261u, v[9]);
    /* A reset does not undo SET ROLE, wherever it was hidden: in a routine, a PREPARE. */
    uint32_t role = hash_more(2166136261u, v[10]);
    if (b->role_hash && b->role_hash != role)
        b->retire = true;
    b->role_hash = role;
    (void)snprintf(t->identity, sizeof t->identity, "%.*s", (int)v[9].len, (const char *)v[9].at);
    return true;
}

static bool on_charset(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct target *t = b->pool->target;
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    size_t at = result->rows_at;
    if (result->columns != 2 || !mysql_result_row(reply, result, &at, v) || !v[0].len)
        return false;
    if (b->lessee) {
        uint8_t number = b->lessee->charset_number;
        struct session_state unit = {0};
        session_state_set_charset(t->names, &unit, v[0], v[1]);
        names_unref(t->names, t->charset_of_id[number]);
        t->charset_of_id[number] = unit.charset; /* keeps the reference */
    }
    return true;
}

static bool on_last_id(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    size_t at = result->rows_at;
    if (result->columns != 1 || !mysql_result_row(reply, result, &at, v))
        return false;
    b->last_insert_id = number_of(v[0]);
    b->last_insert_id_known = true;
    struct lessee *owner = b->id_owner;
    if (owner) {
        owner->last_insert_id = b->last_insert_id;
        owner->last_id_where = LAST_ID_KNOWN;
        owner->id_backend = NULL;
        b->id_owner = NULL;
    }
    return true;
}

static void on_reset(struct backend *b)
{
    struct names *names = b->pool->target->names;
    names_unref(names, b->session.charset);
    b->session.charset = 0;
    b->last_insert_id = 0;
    b->last_insert_id_known = true;
    b->suspect = false;
}

/* What an answer does to what we know of the backend. False: it is not what was asked for. */
static bool take_answer(struct backend *b, enum ask kind, struct bytes reply,
                        const struct mysql_result *result)
{
    struct names *names = b->pool->target->names;
    switch (kind) {
    case ASK_RESET:
        on_reset(b);
        return true;
    case ASK_BASELINE:
        return on_baseline(b, reply, result);
    case ASK_CHARSET:
        return on_charset(b, reply, result);
    case ASK_LAST_ID:
        return on_last_id(b, reply, result);
    case ASK_NAMES:
        names_unref(names, b->session.charset);
        b->session.charset = names_ref(names, b->asked.charset);
        return true;
    case ASK_INIT_DB:
        names_unref(names, b->session.schema);
        b->session.schema = names_ref(names, b->asked.schema);
        return true;
    case ASK_OPTION:
        b->session.multi_statements = b->asked.multi_statements;
        return true;
    case ASK_SET_LAST_ID:
        b->last_insert_id = b->asked_last_id;
        b->last_insert_id_known = true;
        return true;
    case ASK_SETTINGS:
    case ASK_PROBE:
    case ASK_KILL:
    case ASKS_COUNT:
        return true;
    }
    return true;
}

static void note_error(struct lend_error *error, const struct mysql_err *err)
{
    if (error->code)
        return; /* the first one tells */
    error->failure = LEND_REFUSED;
    error->code = err->code;
    memcpy(error->sqlstate, err->sqlstate, sizeof error->sqlstate);
    (void)snprintf(error->message, sizeof error->message, "%.*s", (int)err->message.len,
                   (const char *)err->message.at);
}

/* Reads one answer off the front. WIRE_BAD also when a fatal question was refused: then `error`
 * says it. */
static enum wire_result next_answer(struct backend *b, struct bytes in, struct lend_error *error,
                                    size_t *used)
{
    enum ask kind = b->asks.kind[b->asks.answered];
    struct mysql_result result;
    memset(&result, 0, sizeof result);
    if (kind == ASK_OPTION) { /* EOF or OK, by server */
        uint8_t seq;
        struct bytes payload;
        enum wire_result r = mysql_packet_read(in, BACKEND_REPLY_MAX_BYTES, &seq, &payload, used);
        if (r != WIRE_DONE)
            return r;
        result.is_error = payload.len && payload.at[0] == 0xFF;
        if (result.is_error && mysql_err_read(payload, &result.err) != WIRE_DONE)
            return WIRE_BAD;
    } else {
        enum wire_result r = mysql_result_read(in, &result, used);
        if (r != WIRE_DONE)
            return r;
    }
    b->asks.answered++;
    if (result.is_error) {
        note_error(error, &result.err);
        return ask_is_fatal(kind) ? WIRE_BAD : WIRE_DONE;
    }
    return take_answer(b, kind, bytes_of(in.at, *used), &result) ? WIRE_DONE : WIRE_BAD;
}

static void end_badly(struct backend *b, const struct lend_error *error)
{
    char detail[600];
    enum ask kind = b->asks.answered ? b->asks.kind[b->asks.answered - 1] : b->asks.kind[0];
    if (error->code) {
        (void)snprintf(detail, sizeof detail, "%s: %u %s", ask_word(kind), error->code,
                       error->message);
        backend_end(b, b->state == BACKEND_PROBE ? BACKEND_END_PROBE_FAILED : BACKEND_END_DIRTY,
                    detail);
    } else {
        (void)snprintf(detail, sizeof detail, "answer to %s not understood", ask_word(kind));
        backend_end(b, BACKEND_END_PROTOCOL, detail);
    }
}

void ask_on_read(struct backend *b, const uint8_t *at, size_t len)
{
    struct bytes in = bytes_of(at, len);
    bool kept = iobuf_len(&b->in) > 0;
    struct lend_error error = {0};

    if (kept) {
        if (!iobuf_append(&b->in, in)) {
            backend_end(b, BACKEND_END_PROTOCOL, "answer too long");
            return;
        }
        in = iobuf_bytes(&b->in);
    }
    size_t taken = 0;
    while (ask_pending(b)) {
        size_t used = 0;
        enum wire_result r = next_answer(b, bytes_of(in.at + taken, in.len - taken), &error, &used);
        if (r == WIRE_MORE)
            break;
        if (r == WIRE_BAD) {
            end_badly(b, &error);
            return;
        }
        taken += used;
    }
    if (!ask_pending(b) && taken < in.len) {
        backend_end(b, BACKEND_END_PROTOCOL, "bytes behind the answer");
        return;
    }
    if (kept)
        iobuf_consume(&b->in, taken);
    else if (taken < len && !iobuf_append(&b->in, bytes_of(at + taken, len - taken))) {
        backend_end(b, BACKEND_END_PROTOCOL, "answer too long");
        return;
    }
    if (error.code && !b->restore_error.code)
        b->restore_error = error;
    if (!ask_pending(b))
        pool_on_answered(b);
}
