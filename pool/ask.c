/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/ask.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/pool.h"
#include "pool/settings.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/sql_scan.h"

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
    char text[ASK_TEXT_MAX_BYTES];
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

void ask_prepare(struct ask_batch *batch, struct bytes text)
{
    uint8_t head[MYSQL_HEADER_BYTES + 1];
    if (text.len < sizeof batch->data / 4) {
        ask_command(batch, ASK_PREPARE, MYSQL_COM_STMT_PREPARE, text);
        return;
    }
    ask_send(batch);
    batch->w = wire_writer(batch->data, sizeof batch->data);
    mysql_header_write(head, (uint32_t)text.len + 1, 0);
    head[MYSQL_HEADER_BYTES] = MYSQL_COM_STMT_PREPARE;
    struct bytes slices[2] = {bytes_of(head, sizeof head), text};
    note_question(batch, ASK_PREPARE);
    if (conn_write(&batch->backend->conn, slices, 2) != 0)
        batch->backend->doomed = true;
}

void ask_close_statement(struct ask_batch *batch, uint32_t id)
{
    size_t begin = mysql_packet_begin(&batch->w);
    wire_put_u8(&batch->w, MYSQL_COM_STMT_CLOSE);
    wire_put_u32(&batch->w, id);
    (void)mysql_packet_end(&batch->w, begin, 0);
}

/* Appends to a text that is known to fit. */
static void add(char *text, size_t *len, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t *len, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + *len, ASK_TEXT_MAX_BYTES - *len, format, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < ASK_TEXT_MAX_BYTES - *len);
    *len += (size_t)n;
}

static const char *name_here(const struct target *t, enum variable v)
{
    if (t->mariadb && v == VARIABLE_transaction_isolation)
        return "tx_isolation";
    if (t->mariadb && v == VARIABLE_transaction_read_only)
        return "tx_read_only";
    return variable_name(v);
}

static void ask_variables(struct ask_batch *batch, struct backend *b)
{
    char text[ASK_TEXT_MAX_BYTES];
    size_t len = 0;
    add(text, &len, "SHOW SESSION VARIABLES WHERE Variable_name IN (");
    for (int v = 0; v < VARIABLES_COUNT; v++)
        add(text, &len, "%s'%s'", v ? "," : "", name_here(b->pool->target, (enum variable)v));
    add(text, &len, ")");
    ask_query(batch, ASK_VARIABLES, "%s", text);
}

static void ask_settings(struct ask_batch *batch, struct backend *b, bool with_charset)
{
    const struct target *t = b->pool->target;
    char text[ASK_TEXT_MAX_BYTES];
    size_t len = 0;
    struct charset_unit u = {0};
    if (with_charset && b->baseline_charset)
        u = charset_split(names_text(t->names, b->baseline_charset));
    add(text, &len, "SET ");
    if (u.client.len && b->baseline_charset == t->charset_of_id[u.number])
        add(text, &len, "NAMES '%.*s' COLLATE '%.*s', ", (int)u.client.len,
            (const char *)u.client.at, (int)u.collation.len, (const char *)u.collation.at);
    add(text, &len,
        "session_track_schema=ON, session_track_state_change=ON, "
        "session_track_transaction_info='CHARACTERISTICS', "
        "session_track_system_variables='character_set_client,character_set_connection,"
        "character_set_results,collation_connection");
    for (int v = 0; v < VARIABLES_COUNT; v++)
        if (t->has_variable[v])
            add(text, &len, ",%s", name_here(t, (enum variable)v));
    add(text, &len, "'");
    ask_query(batch, ASK_SETTINGS, "%s", text);
}

/* Columns before those of the variables. */
enum {
    COLUMN_MAX_PACKET,
    COLUMN_CLIENT,
    COLUMN_COLLATION,
    COLUMN_RESULTS,
    COLUMN_IDENTITY,
    COLUMN_ROLE,
    COLUMN_SCHEMA,
    COLUMNS_FIXED,
};

static void ask_session(struct ask_batch *batch, enum ask kind)
{
    const struct target *t = batch->backend->pool->target;
    bool has_roles = t->mariadb || t->version[0] != '5'; /* MySQL 5.7 has none */
    char text[ASK_TEXT_MAX_BYTES];
    size_t len = 0;
    add(text, &len,
        "SELECT @@max_allowed_packet, @@character_set_client, @@collation_connection, "
        "@@character_set_results, %s, %s, DATABASE()",
        t->mariadb ? "CONCAT(@@hostname, ':', @@port)" : "@@server_uuid",
        has_roles ? "CURRENT_ROLE()" : "NULL");
    for (int v = 0; v < VARIABLES_COUNT; v++)
        if (t->has_variable[v])
            add(text, &len, ", @@session.%s", name_here(t, (enum variable)v));
    add(text, &len, " LIMIT 1"); /* sql_select_limit may be 0 */
    ask_query(batch, kind, "%s", text);
}

void ask_settle(struct backend *b)
{
    struct ask_batch batch;
    ask_begin(&batch, b);
    if (!b->pool->target->variables_known) {
        ask_variables(&batch, b);
    } else {
        ask_settings(&batch, b, false);
        ask_session(&batch, ASK_BASELINE);
    }
    ask_send(&batch);
}

void ask_reset(struct ask_batch *batch, struct backend *b)
{
    struct names *names = b->pool->target->names;
    ask_command(batch, ASK_RESET, MYSQL_COM_RESET_CONNECTION, bytes_of("", 0));
    /* A reset keeps the schema, and with it a SET of its character set; entering it anew does not.
     */
    struct bytes schema = names_text(names, b->session.schema);
    if (schema.len && !bytes_equal(schema, bytes_text(SCHEMA_UNKNOWN))) {
        names_unref(names, b->asked.schema);
        b->asked.schema = names_ref(names, b->session.schema);
        ask_command(batch, ASK_INIT_DB, MYSQL_COM_INIT_DB, schema);
    }
    ask_settings(batch, b, true);
    ask_session(batch, ASK_BASELINE);
}

void ask_reread(struct ask_batch *batch)
{
    ask_session(batch, ASK_REREAD);
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

static bool on_variables(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct target *t = b->pool->target;
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    if (result->columns != 2)
        return false;
    for (size_t at = result->rows_at; mysql_result_row(reply, result, &at, v);) {
        enum variable found = variable_find(v[0]);
        if (found != VARIABLES_COUNT)
            t->has_variable[found] = true;
    }
    t->variables_known = true;
    return true;
}

/* 1 and 0 as SELECT gives them are ON and OFF to everyone else. */
static struct bytes value_of(enum variable v, struct bytes read)
{
    if (variable_form(v) == VARIABLE_SWITCH && read.len == 1)
        return bytes_text(read.at[0] == '1' ? "ON" : "OFF");
    return read;
}

/* The columns of the variables, as settings; a reference of the caller's. NULL: not what was asked
 * for. */
static struct settings *read_settings(struct target *t, const struct bytes *v, uint32_t columns)
{
    name_id value[VARIABLES_COUNT] = {0};
    uint32_t at = COLUMNS_FIXED;
    struct settings *made = NULL;
    bool fits = true;
    for (int i = 0; i < VARIABLES_COUNT && fits; i++) {
        if (!t->has_variable[i])
            continue;
        fits = at < columns;
        if (fits)
            value[i] = names_ref_text(t->names, value_of((enum variable)i, v[at++]));
    }
    if (fits && at == columns)
        made = settings_make(names_settings(t->names), value);
    for (int i = 0; i < VARIABLES_COUNT; i++)
        names_unref(t->names, value[i]);
    return made;
}

static struct bytes or_null(struct bytes text)
{
    return text.at ? text : bytes_text("NULL");
}

/* What the answer says of the session; `v` gets its columns. */
static bool read_session(struct backend *b, struct bytes reply, const struct mysql_result *result,
                         struct bytes *v)
{
    struct target *t = b->pool->target;
    size_t at = result->rows_at;
    if (!mysql_result_row(reply, result, &at, v) || result->columns < COLUMNS_FIXED)
        return false;
    struct settings *settings = read_settings(t, v, result->columns);
    if (!settings)
        return false;
    session_state_set_settings(t->names, &b->session, settings);
    settings_unref(names_settings(t->names), settings);
    bool none = !v[COLUMN_RESULTS].at; /* then columns are told in what they are stored in */
    session_state_set_charset(t->names, &b->session, v[COLUMN_CLIENT], v[COLUMN_COLLATION],
                              or_null(v[COLUMN_RESULTS]),
                              none ? 0 : mysql_result_collation(reply, result, COLUMN_CLIENT));
    session_state_set_schema(t->names, &b->session,
                             v[COLUMN_SCHEMA].at ? v[COLUMN_SCHEMA] : bytes_of("", 0));
    backend_note_settings(b);
    return true;
}

static bool on_baseline(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct target *t = b->pool->target;
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    bool unknown = bytes_equal(names_text(t->names, b->session.schema), bytes_text(SCHEMA_UNKNOWN));
    if (!read_session(b, reply, result, v))
        return false;
    if (unknown && b->session.schema) /* its name is told, but it was not entered anew */
        session_state_set_schema(t->names, &b->session, bytes_text(SCHEMA_UNKNOWN));
    t->max_allowed_packet = number_of(v[COLUMN_MAX_PACKET]);
    t->fresh_status =
        (uint16_t)(result->ok.status & ~(MYSQL_STATUS_STATE_CHANGED | MYSQL_STATUS_MORE_RESULTS));
    b->status = t->fresh_status;
    b->baseline_hash = hash_more(2166136261u, v[COLUMN_MAX_PACKET]);
    for (uint32_t i = COLUMNS_FIXED; i < result->columns; i++)
        b->baseline_hash = hash_more(b->baseline_hash, v[i]);
    b->baseline_hash = hash_more(b->baseline_hash, v[COLUMN_IDENTITY]);
    b->identity_hash = hash_more(2166136261u, v[COLUMN_IDENTITY]);
    /* A reset does not undo SET ROLE, wherever it was hidden: in a routine, a PREPARE. */
    uint32_t role = hash_more(2166136261u, v[COLUMN_ROLE]);
    if (b->role_hash && b->role_hash != role)
        b->retire = true;
    b->role_hash = role;
    b->settled = true;
    (void)snprintf(t->identity, sizeof t->identity, "%.*s", (int)v[COLUMN_IDENTITY].len,
                   (const char *)v[COLUMN_IDENTITY].at);
    return true;
}

/* The lessee's session is what the server says, whatever we thought. */
static bool on_reread(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    if (!read_session(b, reply, result, v))
        return false;
    uint32_t role = hash_more(2166136261u, v[COLUMN_ROLE]);
    if (b->role_hash != role)
        b->retire = true;
    if (b->lessee) {
        bool multi_statements = b->lessee->state.multi_statements;
        session_state_copy(b->pool->target->names, &b->lessee->state, &b->session);
        b->lessee->state.multi_statements = multi_statements;
    }
    return true;
}

static bool on_charset(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct target *t = b->pool->target;
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    size_t at = result->rows_at;
    if (result->columns != 3 || !mysql_result_row(reply, result, &at, v) || !v[0].len)
        return false;
    struct session_state unit = {0};
    session_state_set_charset(t->names, &unit, v[0], v[1], v[0], (uint16_t)number_of(v[2]));
    names_unref(t->names, t->charset_of_id[b->asked_number]);
    t->charset_of_id[b->asked_number] = unit.charset; /* keeps the reference */
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
    prepared_slots_clear(&b->slots, b->pool->prepared);
}

static bool on_number(struct backend *b, struct bytes reply, const struct mysql_result *result)
{
    struct bytes v[MYSQL_RESULT_COLUMNS_MAX];
    size_t at = result->rows_at;
    if (result->columns != 1 || !mysql_result_row(reply, result, &at, v))
        return false;
    if (b->lessee)
        b->lessee->answer = number_of(v[0]);
    return true;
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
    case ASK_VARIABLES:
        return on_variables(b, reply, result);
    case ASK_BASELINE:
        return on_baseline(b, reply, result);
    case ASK_REREAD:
        return on_reread(b, reply, result);
    case ASK_CHARSET:
        return on_charset(b, reply, result);
    case ASK_LAST_ID:
        return on_last_id(b, reply, result);
    case ASK_NUMBER:
        return on_number(b, reply, result);
    case ASK_NAMES:
        names_unref(names, b->session.charset);
        b->session.charset = names_ref(names, b->asked.charset);
        return true;
    case ASK_SET:
        session_state_set_settings(names, &b->session, b->asked.settings);
        backend_note_settings(b);
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
    case ASK_BEGIN:
        b->status = result->ok.status & (uint16_t)~MYSQL_STATUS_STATE_CHANGED;
        return true;
    case ASK_SETTINGS:
    case ASK_PREPARE: /* read in on_prepare */
    case ASK_PROBE:
    case ASK_KILL:
    case ASKS_COUNT:
        return true;
    }
    return true;
}

static void note_error(struct lend_error *error, enum ask kind, const struct mysql_err *err)
{
    if (error->code)
        return; /* the first one tells */
    error->failure = kind == ASK_PREPARE ? LEND_UNPREPARED : LEND_REFUSED;
    error->code = err->code;
    memcpy(error->sqlstate, err->sqlstate, sizeof error->sqlstate);
    (void)snprintf(error->message, sizeof error->message, "%.*s", (int)err->message.len,
                   (const char *)err->message.at);
}

/* The answer to COM_SET_OPTION: EOF or OK, by server. */
static enum wire_result read_option(struct bytes in, struct mysql_result *result, size_t *used)
{
    uint8_t seq;
    struct bytes payload;
    enum wire_result r = mysql_packet_read(in, BACKEND_REPLY_MAX_BYTES, &seq, &payload, used);
    if (r != WIRE_DONE)
        return r;
    result->is_error = payload.len && payload.at[0] == 0xFF;
    if (result->is_error && mysql_err_read(payload, &result->err) != WIRE_DONE)
        return WIRE_BAD;
    return WIRE_DONE;
}

/* The answer to COM_STMT_PREPARE; notes the id. */
static enum wire_result read_prepare(struct backend *b, struct bytes in,
                                     struct mysql_result *result, size_t *used)
{
    struct mysql_prepared head;
    enum wire_result r = mysql_prepared_read(in, &head, used);
    if (r != WIRE_DONE)
        return r;
    result->is_error = head.is_error;
    result->err = head.err;
    if (!head.is_error)
        backend_note_prepared(b, head.statement_id);
    return WIRE_DONE;
}

/* Reads one answer off the front. WIRE_BAD also when a fatal question was refused: then `error`
 * says it. */
static enum wire_result next_answer(struct backend *b, struct bytes in, struct lend_error *error,
                                    size_t *used)
{
    enum ask kind = b->asks.kind[b->asks.answered];
    struct mysql_result result;
    memset(&result, 0, sizeof result);
    enum wire_result r;
    if (kind == ASK_OPTION)
        r = read_option(in, &result, used);
    else if (kind == ASK_PREPARE)
        r = read_prepare(b, in, &result, used);
    else
        r = mysql_result_read(in, &result, used);
    if (r != WIRE_DONE)
        return r;
    b->asks.answered++;
    if (result.is_error) {
        note_error(error, kind, &result.err);
        if (kind == ASK_SET) /* how far it got is not known */
            session_state_set_settings(b->pool->target->names, &b->session, NULL);
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

/* Takes as many answers off the front as are there: how many bytes, or -1 when `b` has ended. */
static ssize_t take_answers(struct backend *b, struct bytes in)
{
    struct lend_error error = {0};
    size_t taken = 0;
    while (ask_pending(b)) {
        size_t used = 0;
        enum wire_result r = next_answer(b, bytes_of(in.at + taken, in.len - taken), &error, &used);
        if (r == WIRE_MORE)
            break;
        if (r == WIRE_BAD) {
            end_badly(b, &error);
            return -1;
        }
        taken += used;
    }
    if (error.code && !b->restore_error.code)
        b->restore_error = error;
    return (ssize_t)taken;
}

/* All is answered. What came behind the answers is the lessee's when its statement followed the
 * questions. May free `b`. */
static void answered(struct backend *b, uint8_t *rest, size_t len)
{
    bool followed = b->followed;
    if (len && !followed) {
        backend_end(b, BACKEND_END_PROTOCOL, "bytes behind the answer");
        return;
    }
    b->followed = false;
    if (followed)
        b->deadline_ms = 0; /* it was about the questions; the statement has its own */
    if (!followed)
        pool_on_answered(b);
    else if (len)
        b->lessee->ops->on_backend_read(b->lessee, rest, len);
}

void ask_on_read(struct backend *b, uint8_t *at, size_t len)
{
    if (iobuf_len(&b->in) == 0) {
        ssize_t taken = take_answers(b, bytes_of(at, len));
        if (taken < 0)
            return;
        at += taken;
        len -= (size_t)taken;
        if (!ask_pending(b))
            answered(b, at, len);
        else if (!iobuf_append(&b->in, bytes_of(at, len)))
            backend_end(b, BACKEND_END_PROTOCOL, "answer too long");
        return;
    }
    if (!iobuf_append(&b->in, bytes_of(at, len))) {
        backend_end(b, BACKEND_END_PROTOCOL, "answer too long");
        return;
    }
    ssize_t taken = take_answers(b, iobuf_bytes(&b->in));
    if (taken < 0)
        return;
    iobuf_consume(&b->in, (size_t)taken);
    if (ask_pending(b))
        return;
    /* The rest lies in the new bytes: answers are over in them. */
    size_t rest = iobuf_len(&b->in);
    assert(rest <= len);
    iobuf_clear(&b->in);
    answered(b, at + len - rest, rest);
}
