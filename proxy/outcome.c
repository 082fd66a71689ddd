/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/outcome.h"

#include <stdio.h>
#include <stdlib.h>

#include "pool/account.h"
#include "pool/breaks.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"
#include "proxy/command.h"
#include "proxy/prepare.h"
#include "proxy/query.h"

static struct backend *backend_of(const struct session *s)
{
    return s->lessee.backend;
}

/* ---- trackers ---- */

/* SET TRANSACTION waits for its transaction when there are characteristics outside of one; behind
 * BEGIN the same tracker tells how the transaction that runs was begun. */
static void note_characteristics(struct session *s, struct bytes text)
{
    s->once_pending = text.len > 0;
}

static bool is_charset(struct bytes name)
{
    return (name.len > 14 && memcmp(name.at, "character_set_", 14) == 0) ||
           bytes_equal(name, bytes_text("collation_connection"));
}

void outcome_on_track(void *session, const struct mysql_track *track)
{
    enum { TABLES_LOCKED_AT = 7 };
    struct session *s = session;
    struct names *names = s->proxy->target->names;
    if (!backend_of(s))
        return;
    switch ((enum mysql_track_type)track->type) {
    case MYSQL_TRACK_SCHEMA:
        session_state_set_schema(names, &backend_of(s)->session, track->value);
        session_state_set_schema(names, &s->lessee.state, track->value);
        return;
    case MYSQL_TRACK_SYSTEM_VARIABLES:
        if (is_charset(track->name))
            s->plan.reread = true;
        else if (!pool_note_variable(&s->lessee, track->name, track->value))
            s->plan.explained = false;
        return;
    case MYSQL_TRACK_TRX_CHARACTERISTICS:
        note_characteristics(s, track->value);
        return;
    case MYSQL_TRACK_TRX_STATE:
        s->tables_locked =
            track->value.len > TABLES_LOCKED_AT && track->value.at[TABLES_LOCKED_AT] == 'L';
        return;
    case MYSQL_TRACK_STATE_CHANGE:
    case MYSQL_TRACK_GTIDS:
        return;
    }
}

/* ---- the statement ---- */

/* A change of state that no rule foresaw. */
static uint32_t unforeseen(const struct session *s, const struct mysql_reply *r)
{
    const uint32_t explained = PIN_USER_VARIABLE | PIN_TEMPORARY_TABLE | PIN_TEXT_PREPARE |
                               PIN_ROLE | PIN_SESSION_VARIABLE;
    const struct prepared_facts *f = &s->plan.facts;
    const uint32_t both = PIN_ROUTINE | PIN_UNKNOWN_FUNCTION;
    if (!r->state_changed || s->plan.explained)
        return 0;
    if (broken(RULE_TEMPORARY_TABLE_PINS) && f->kind == SQL_TEMPORARY)
        return 0;
    if (s->pins & explained && !(s->plan.pins & both))
        return 0;
    if ((f->kinds == 1u << SQL_USE) || s->plan.command == MYSQL_COM_INIT_DB ||
        s->plan.command == MYSQL_COM_SET_OPTION)
        return 0;
    if (f->kind == SQL_DDL && (f->flags & SQL_F_DATABASE_DDL))
        return 0; /* DROP DATABASE of the current one: the schema tracker has told */
    if (f->kind == SQL_DDL && s->track)
        return 0; /* DROP TABLE of a temporary one */
    return PIN_SESSION_VARIABLE;
}

static void note_globals(struct session *s)
{
    struct target *t = s->proxy->target;
    const struct prepared_facts *f = &s->plan.facts;
    if (s->plan.command != MYSQL_COM_QUERY && s->plan.command != MYSQL_COM_STMT_EXECUTE)
        return;
    if (f->flags & SQL_F_DATABASE_DDL) {
        account_schemas_forget_all(t);
        pool_schemas_moved(t);
    }
    if (f->kinds & (1u << SQL_DDL | 1u << SQL_CALL | 1u << SQL_OTHER))
        pool_tables_moved(t);
    bool may_be_global = f->kind == SQL_SET && (f->flags & SQL_F_EXECUTABLE_COMMENT);
    if ((f->flags & SQL_F_SET_GLOBAL) || may_be_global)
        pool_retire_all(t); /* what a reset gives has moved, and no tracker says so */
}

static void note_last_id(struct session *s, const struct mysql_reply *r)
{
    const uint32_t unsure =
        PIN_ROUTINE | PIN_UNKNOWN_FUNCTION | PIN_TEXT_PREPARE | PIN_SESSION_VARIABLE;
    bool returned_rows =
        s->plan.dml && r->had_rows; /* INSERT .. RETURNING ends by an OK without an id */
    if (s->plan.command == MYSQL_COM_STMT_PREPARE)
        return;
    bool half_done = s->plan.dml && r->error_code; /* the first of its rows may have had an id */
    if (r->insert_id || returned_rows || half_done ||
        (s->plan.facts.flags & SQL_F_SETS_LAST_INSERT_ID) || (s->plan.pins & unsure))
        pool_last_id_in_backend(&s->lessee);
}

static bool leaves_found_rows(const struct session *s)
{
    const uint32_t leaving = 1u << SQL_SET | 1u << SQL_USE | 1u << SQL_BEGIN | 1u << SQL_COMMIT |
                             1u << SQL_ROLLBACK | 1u << SQL_SAVEPOINT;
    return s->plan.command == MYSQL_COM_PING || s->plan.command == MYSQL_COM_INIT_DB ||
           s->plan.command == MYSQL_COM_STMT_RESET || (s->plan.facts.kinds & ~leaving) == 0;
}

/* What leaves the warnings of the statement before as they are: asking for them; on MariaDB also
 * what uses no table [seen]. */
static bool leaves_diagnostics(const struct session *s)
{
    const uint32_t leaving = 1u << SQL_SET | 1u << SQL_USE | 1u << SQL_BEGIN | 1u << SQL_COMMIT |
                             1u << SQL_ROLLBACK | 1u << SQL_SAVEPOINT | 1u << SQL_DO;
    if (s->plan.needs_own)
        return true;
    return s->proxy->target->mariadb && (s->plan.facts.kinds & ~leaving) == 0;
}

/* It leaves those of the statement before, or may do so: on MariaDB a SELECT that uses no table, or
 * a routine whose statements use none. */
static bool may_leave_diagnostics(const struct session *s, const struct mysql_reply *r)
{
    const uint32_t leaving = 1u << SQL_SELECT | 1u << SQL_CALL | 1u << SQL_OTHER;
    bool maybe = s->proxy->target->mariadb && (s->plan.facts.kinds & ~leaving) == 0;
    return !r->error_code && !r->warnings && (leaves_diagnostics(s) || (maybe && !s->last.clean));
}

/* What ROW_COUNT() and the like would say now; MySQL Reference Manual 14.15, and seen on both
 * servers. */
static void note_last_state(struct session *s, const struct mysql_reply *r)
{
    struct last_state *last = &s->last;
    const struct prepared_facts *f = &s->plan.facts;
    bool failed = r->error_code != 0;
    bool leaves_rows = leaves_found_rows(s) || failed;
    bool elsewhere = last->gone || s->lessee.moved;
    if (s->plan.command == MYSQL_COM_STMT_PREPARE && failed) {
        last->rows_gone = last->rows_gone || elsewhere;
        pool_claim(&s->lessee); /* its error is there to be shown */
        last->row_count = -1;
        last->clean = last->gone = last->diagnostics_gone = false;
        last->warnings = 1;
    }
    if (s->plan.command == MYSQL_COM_STMT_PREPARE || s->plan.command == MYSQL_COM_SET_OPTION ||
        s->plan.shape == MYSQL_REPLY_NONE)
        return;
    bool rows = r->had_rows && !(f->kinds & 1u << SQL_CALL); /* a CALL ends by an OK */
    bool results = s->plan.command == MYSQL_COM_QUERY || s->plan.command == MYSQL_COM_STMT_EXECUTE;
    last->row_count = failed || (rows && r->affected_rows == 0) ? -1 : (int64_t)r->affected_rows;
    last->row_count_known = results && !(f->kinds & 1u << SQL_OTHER) && !(f->flags & SQL_F_MULTI);
    if (!results) {
        last->row_count = 0;
        last->row_count_known = !failed;
    }
    last->gone = false;
    last->rows_gone = leaves_rows && (last->rows_gone || elsewhere);
    last->diagnostics_gone = may_leave_diagnostics(s, r) && (last->diagnostics_gone || elsewhere);
    free(s->replay);
    s->replay = NULL;
    if (!leaves_found_rows(s) || failed)
        s->rows_held = (f->flags & SQL_F_CALC_FOUND_ROWS) != 0;
    if (leaves_rows)
        return;
    last->found_rows = r->rows;
    last->found_rows_known =
        results && f->kinds == 1u << SQL_SELECT && r->had_rows &&
        !(f->flags & (SQL_F_INTO | SQL_F_CALC_FOUND_ROWS | SQL_F_MULTI | SQL_F_UNKNOWN_FUNCTION));
}

static void note_diagnostics(struct session *s, const struct mysql_reply *r)
{
    struct last_state *last = &s->last;
    bool failed = r->error_code != 0;
    if (may_leave_diagnostics(s, r)) {
        if (!s->proxy->target->mariadb) /* what a PING says then is about the asking [seen] */
            last->warnings = 0;
        return;
    }
    last->clean = !failed && r->warnings == 0;
    last->warnings = failed ? 1 : r->warnings;
}

static uint32_t track_pins(struct session *s, uint32_t pins, bool failed)
{
    const struct plan *p = &s->plan;
    const uint32_t counted = PIN_TEMPORARY_TABLE | PIN_TABLE_LOCK | PIN_NAMED_LOCK | PIN_HANDLER |
                             PIN_XA | PIN_TEXT_PREPARE;
    if ((p->command != MYSQL_COM_QUERY && p->command != MYSQL_COM_STMT_EXECUTE) ||
        !(pins & counted))
        return pins;
    struct pin_event e = {
        .text = bytes_of(p->text ? p->text : "", p->text_bytes),
        .flags = p->facts.flags,
        .kinds = p->facts.kinds,
        .mode = session_scan_mode(s),
        /* A prepared statement acts in the schema of its PREPARE. */
        .schema = names_text(s->proxy->target->names,
                             p->prepared ? p->prepared->state.schema : s->lessee.state.schema),
        .failed = failed,
        .in_transaction = (backend_of(s)->status & MYSQL_STATUS_IN_TRANS) != 0,
        .tables_locked = s->tables_locked,
        .pins_before = p->pins_before,
    };
    struct pin_effect effect = pin_track_statement(&s->track, &e, pins);
    s->ask_locks = effect.ask_locks;
    return (pins | effect.begin) & ~effect.end;
}

static uint32_t transient_pins(struct session *s, uint32_t pins, const struct mysql_reply *r)
{
    const struct backend *b = backend_of(s);
    bool failed = r->error_code != 0;
    pins &= ~(uint32_t)(leaves_diagnostics(s) ? 0 : PIN_LAST_STATEMENT) | s->plan.pins;
    if (!broken(RULE_WARNINGS_OWN) && s->plan.shape == MYSQL_REPLY_QUERY && r->warnings && !failed)
        pins |= PIN_LAST_STATEMENT;
    /* An ERR says nothing of the transaction: what was known goes on, and MariaDB may keep trackers
     * to itself. */
    pins &= ~(uint32_t)PIN_TRANSACTION;
    bool open =
        (b->status & MYSQL_STATUS_IN_TRANS) || (failed && (s->plan.pins_before & PIN_TRANSACTION));
    if ((!broken(RULE_TRANSACTION_PINS) && open) ||
        (!broken(RULE_ONE_SHOT_PINS) && s->once_pending))
        pins |= PIN_TRANSACTION;
    if (broken(RULE_XA_PINS) && s->plan.facts.kind == SQL_XA)
        pins &= ~(uint32_t)PIN_TRANSACTION;
    return pins;
}

/* sql_auto_is_null: WHERE id IS NULL finds the row that was inserted last. */
static bool finds_last_id(const struct session *s)
{
    const struct settings *settings = s->lessee.state.settings;
    name_id value = settings ? settings->value[VARIABLE_sql_auto_is_null] : 0;
    return bytes_equal(names_text(s->proxy->target->names, value), bytes_text("ON"));
}

void outcome_take(struct session *s)
{
    struct backend *b = backend_of(s);
    struct mysql_reply *r = &b->reply;
    struct plan *p = &s->plan;
    bool failed = r->error_code != 0;
    uint32_t pins = p->pins_before | (p->pins & ~(uint32_t)PIN_TRANSACTION);

    if (p->shape != MYSQL_REPLY_NONE) {
        /* An ERR has no status: what an OK before it in the same reply said still holds. */
        bool was_open = (b->status & MYSQL_STATUS_IN_TRANS) != 0;
        b->status = r->status & (uint16_t)~MYSQL_STATUS_MORE_RESULTS;
        if (was_open && !(b->status & MYSQL_STATUS_IN_TRANS) && !failed)
            s->once_pending = s->once_pending && p->facts.kinds == 1u << SQL_SET;
        pins |= unforeseen(s, r);
        note_last_id(s, r);
        note_last_state(s, r);
        if (p->command != MYSQL_COM_STMT_PREPARE)
            note_diagnostics(s, r);
    }
    if (!failed && p->command == MYSQL_COM_SET_OPTION)
        s->lessee.state.multi_statements = b->session.multi_statements = p->statement_id == 0;
    pins = prepare_outcome(s, pins, failed);
    pins = track_pins(s, pins, failed);
    pins = transient_pins(s, pins, r);
    if (finds_last_id(s)) /* only of the statement just before: no restoring does that */
        pins |= PIN_SESSION_VARIABLE;
    /* A statement that failed before it ran (syntax, access, unknown names: class 42) left nothing,
     * unless a trigger did. */
    bool ran = p->command == MYSQL_COM_QUERY || p->command == MYSQL_COM_STMT_EXECUTE;
    if (failed && ran && (p->dml || memcmp(r->error_sqlstate, "42", 2) != 0)) {
        b->suspect = true;
        p->reread = true;
    } else if (failed) {
        p->reread = false;
    }
    p->warned = r->warnings != 0;
    bool may_warn = !s->proxy->target->mariadb && p->facts.kinds == 1u << SQL_SET;
    bool no_row = r->had_rows && r->rows != 1; /* FOUND_ROWS() is another then */
    if (failed || no_row || (p->warned && !may_warn) || p->pins ||
        (b->status & MYSQL_STATUS_IN_TRANS))
        p->learns = false;
    if (!failed)
        note_globals(s);
    session_set_pins(s, pins);
    mysql_reply_fini(r);
}

/* ---- what has to be asked ---- */

bool outcome_ask(struct session *s)
{
    char question[1024];
    if (!backend_of(s) || backend_of(s)->doomed)
        return false;
    s->plan.reread = s->plan.reread || s->reread_due;
    /* Reading it would be the last statement: what this one left can be asked for first. */
    s->reread_due = s->plan.reread && !s->last.clean && !s->plan.learns;
    if (s->reread_due) {
        s->plan.reread = false;
        session_set_pins(s, s->pins | PIN_LAST_STATEMENT);
    }
    if (s->rows_held && (s->plan.reread || s->ask_locks)) { /* not to be had behind that */
        s->asking_rows = s->last.gone = true;
        pool_ask(&s->lessee, "SELECT FOUND_ROWS()");
        return true;
    }
    if (s->plan.reread) {
        s->plan.reread = false;
        s->last.gone = true;
        pool_reread(&s->lessee);
        return true;
    }
    if (s->ask_locks) {
        s->ask_locks = false;
        if (!pin_track_lock_question(s->track, question, sizeof question))
            return false;
        s->last.gone = true;
        pool_ask(&s->lessee, question);
        s->asking_locks = true;
        return true;
    }
    return false;
}

void outcome_answered(struct session *s)
{
    if (s->asking_rows) {
        s->asking_rows = s->rows_held = false;
        s->last.found_rows = s->lessee.answer;
        s->last.found_rows_known = true;
        if (!s->reread_due)
            session_set_pins(s, s->pins & ~(uint32_t)PIN_LAST_STATEMENT);
    }
    if (!s->asking_locks)
        return;
    s->asking_locks = false;
    if (s->lessee.answer != 0)
        return;
    pin_track_locks_gone(&s->track);
    session_set_pins(s, s->pins & ~(uint32_t)PIN_NAMED_LOCK);
}

void outcome_finish(struct session *s)
{
    struct plan *p = &s->plan;
    if (p->learns && p->text && p->warned) {
        session_keep_replay(s, bytes_of(p->text, p->text_bytes),
                            p->command == MYSQL_COM_STMT_EXECUTE);
        pool_forget_last_state(&s->lessee);
        session_set_pins(s, s->pins & ~(uint32_t)PIN_LAST_STATEMENT);
    }
    if (p->learns && p->text)
        effects_add(s->lessee.pool->effects, &p->before, bytes_of(p->text, p->text_bytes),
                    p->command == MYSQL_COM_STMT_EXECUTE, &s->lessee.state, p->warned,
                    iobuf_bytes(&s->captured));
    iobuf_fini(&s->captured);
}

/* ---- held replies ---- */

/* The packet behind `at`, header included; empty at the end. */
static struct bytes packet_at(struct bytes reply, size_t at)
{
    if (reply.len - at < MYSQL_HEADER_BYTES)
        return bytes_of(NULL, 0);
    size_t whole = MYSQL_HEADER_BYTES + mysql_header_length(reply.at + at);
    return bytes_of(reply.at + at, whole <= reply.len - at ? whole : 0);
}

/* An unsigned number in a row of one column; false: NULL, or something else. */
static bool number_of(struct bytes packet, bool binary, uint64_t *out)
{
    struct wire_reader r =
        wire_reader(bytes_of(packet.at + MYSQL_HEADER_BYTES, packet.len - MYSQL_HEADER_BYTES));
    if (binary) {
        bool null = wire_u16(&r) != 0; /* the header, and the bit */
        *out = packet.len == MYSQL_HEADER_BYTES + 6 ? wire_u32(&r) : wire_u64(&r);
        return !null && !r.bad;
    }
    struct bytes digits = wire_lenenc_bytes(&r);
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9' || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(digits.at[i] - '0'), out))
            return false;
    }
    return !r.bad && digits.len > 0;
}

/* Whose work is on a connection of the server's: its client's id, in plan.value. */
static bool owner_of(struct session *s, struct bytes row)
{
    uint64_t id;
    if (!number_of(row, s->plan.command == MYSQL_COM_STMT_EXECUTE, &id))
        return false;
    const struct session *owner = session_find_server_id(s, id);
    s->plan.value = owner ? owner->id : 0;
    return owner != NULL;
}

/* What stands in front of the row. MariaDB says that an id is signed, and ours have the top bit. */
static void send_definition(struct session *s, struct bytes reply, size_t bytes,
                            size_t definition_end, bool is_unsigned)
{
    enum { FLAGS_FROM_END = 5, UNSIGNED_FLAG = 0x20 }; /* flags, decimals, two of filler */
    size_t at = definition_end - FLAGS_FROM_END;
    uint8_t flags = reply.at[at] | (is_unsigned ? UNSIGNED_FLAG : 0);
    session_send(s, reply.at, at);
    session_send(s, &flags, 1);
    session_send(s, reply.at + at + 1, bytes - at - 1);
}

/* The one value of the one row becomes plan.value: a result of one column, as the client's own text
 * gave it, so that its metadata is the server's. */
static bool substitute(struct session *s, struct bytes reply)
{
    struct plan *p = &s->plan;
    size_t at = 0;
    size_t definition_end = 0;
    for (int i = 0; i < 3; i++) { /* count, definition, EOF */
        struct bytes packet = packet_at(reply, at);
        if (!packet.len)
            return false;
        at += packet.len;
        definition_end = i == 1 ? at : definition_end;
    }
    struct bytes old = packet_at(reply, at);
    if (old.len <= MYSQL_HEADER_BYTES || old.at[MYSQL_HEADER_BYTES] >= 0xFE)
        return false;
    bool owner = query_asks_owner(s);
    if (owner && !owner_of(s, old))
        return false;
    uint8_t row[64];
    struct wire_writer w = wire_writer(row, sizeof row);
    size_t begin = mysql_packet_begin(&w);
    bool binary = p->command == MYSQL_COM_STMT_EXECUTE;
    bool four = binary && old.len == MYSQL_HEADER_BYTES + 6;
    if (binary) {
        wire_put_u8(&w, 0);
        wire_put_u8(&w, 0);
        if (four)
            wire_put_u32(&w, (uint32_t)p->value);
        else if (old.len == MYSQL_HEADER_BYTES + 10)
            wire_put_u64(&w, (uint64_t)p->value);
        else
            return false;
    } else {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)p->value);
        wire_put_u8(&w, (uint8_t)n);
        wire_put(&w, bytes_of(text, (size_t)n));
    }
    size_t len = mysql_packet_end(&w, begin, old.at[3]);
    send_definition(s, reply, at, definition_end, owner && four);
    session_send(s, row, len);
    session_send(s, old.at + old.len, reply.len - at - old.len);
    return true;
}

/* Where the rows begin; 0: there are none. */
static size_t rows_of(struct bytes reply, size_t columns)
{
    size_t at = 0;
    for (size_t i = 0; i < columns + 2; i++) { /* count, definitions, EOF */
        struct bytes packet = packet_at(reply, at);
        if (packet.len <= MYSQL_HEADER_BYTES || packet.at[MYSQL_HEADER_BYTES] == 0xFF)
            return 0;
        at += packet.len;
    }
    return at;
}

/* What stands in a row's first column, in the row's own form; `head`: in front of it. Empty: NULL,
 * or no row. */
static struct bytes first_value(struct bytes row, size_t head, bool binary)
{
    size_t bytes = 8;
    if (row.len <= head || row.at[MYSQL_HEADER_BYTES] >= 0xFB)
        return bytes_of(NULL, 0);
    if (!binary)
        bytes = 1 + (size_t)row.at[head];
    return bytes_of(row.at + head, bytes <= row.len - head ? bytes : 0);
}

/* An id in the form of a row. Bytes written. */
static size_t put_value(uint8_t out[24], uint32_t id, bool binary)
{
    struct wire_writer w = wire_writer(out, 24);
    char text[16];
    int n = snprintf(text, sizeof text, "%lu", (unsigned long)id);
    if (binary)
        wire_put_u64(&w, id);
    else
        wire_put_lenenc_bytes(&w, bytes_of(text, (size_t)n));
    return wire_written(&w);
}

static void send_row(struct session *s, struct bytes row, size_t head, struct bytes old,
                     struct bytes value)
{
    uint8_t header[MYSQL_HEADER_BYTES];
    size_t rest = row.len - head - old.len;
    mysql_header_write(header, (uint32_t)(head - sizeof header + value.len + rest), row.at[3]);
    session_send(s, header, sizeof header);
    session_send(s, row.at + sizeof header, head - sizeof header);
    session_send(s, value.at, value.len);
    session_send(s, old.at + old.len, rest);
}

/* SHOW PROCESSLIST: the session's own row says the id that the client knows. Of other rows nobody
 * can tell whose work they show: their connections may have changed hands in the meantime. */
static bool name_own_thread(struct session *s, struct bytes reply)
{
    bool binary = s->plan.command == MYSQL_COM_STMT_EXECUTE;
    uint8_t theirs[24];
    uint8_t ours[24];
    struct bytes wanted = bytes_of(theirs, put_value(theirs, backend_of(s)->server_id, binary));
    struct bytes value = bytes_of(ours, put_value(ours, s->id, binary));
    struct bytes count = packet_at(reply, 0);
    if (count.len != MYSQL_HEADER_BYTES + 1)
        return false;
    size_t columns = count.at[MYSQL_HEADER_BYTES];
    size_t head = MYSQL_HEADER_BYTES + (binary ? 1 + (columns + 9) / 8 : 0);
    size_t at = rows_of(reply, columns);
    while (at) {
        struct bytes row = packet_at(reply, at);
        struct bytes old = first_value(row, head, binary);
        if (!old.len)
            return false;
        if (bytes_equal(old, wanted)) {
            session_send(s, reply.at, at);
            send_row(s, row, head, old, value);
            session_send(s, row.at + row.len, reply.len - at - row.len);
            return true;
        }
        at += row.len;
    }
    return false;
}

/* The id that the server's ERR says it does not know; 0: it says something else. */
static uint64_t unknown_thread(struct bytes reply)
{
    enum { ER_NO_SUCH_THREAD = 1094 };
    struct mysql_err err;
    struct bytes packet = packet_at(reply, 0);
    if (packet.len <= MYSQL_HEADER_BYTES ||
        mysql_err_read(bytes_of(packet.at + MYSQL_HEADER_BYTES, packet.len - MYSQL_HEADER_BYTES),
                       &err) != WIRE_DONE ||
        err.code != ER_NO_SUCH_THREAD)
        return 0;
    uint64_t id = 0;
    for (size_t i = 0; i < err.message.len; i++) { /* the only number in it, in any language */
        uint8_t c = err.message.at[i];
        if (c >= '0' && c <= '9' &&
            (__builtin_mul_overflow(id, 10, &id) ||
             __builtin_add_overflow(id, (uint64_t)(c - '0'), &id)))
            return 0;
    }
    return id;
}

bool outcome_kill(struct session *s)
{
    if (!s->plan.victim)
        return true;
    return command_kill(s, s->plan.victim, s->plan.kills_query) != COMMAND_ENDED;
}

void outcome_deliver(struct session *s)
{
    struct bytes reply = iobuf_bytes(&s->captured);
    bool failed = backend_of(s)->reply.error_code != 0;
    s->reply_begun = true;
    if (s->plan.kills && failed && command_is_client(s, unknown_thread(reply))) {
        s->plan.victim = unknown_thread(reply);
    } else if (s->plan.command == MYSQL_COM_STMT_PREPARE && !failed) {
        prepare_deliver(s, reply);
    } else if (s->plan.lists_threads && !failed && name_own_thread(s, reply)) {
        /* sent */
    } else if (failed || !(s->plan.substitutes || query_asks_owner(s)) || !substitute(s, reply)) {
        if (reply.len)
            session_send(s, reply.at, reply.len);
    }
    if (!s->plan.learns)
        iobuf_fini(&s->captured);
}
