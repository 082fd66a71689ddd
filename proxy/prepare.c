/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/prepare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/breaks.h"
#include "pool/settings.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/sql_token.h"
#include "proxy/query.h"
#include "proxy/spool.h"

enum {
    STATEMENT_LAST = 0xFFFFFFFF,                  /* MariaDB: the one prepared last */
    TEXT_MAX_BYTES = MYSQL_PAYLOAD_MAX_BYTES - 1, /* one packet */
    ER_MALFORMED_PACKET = 1835,
    ER_WRONG_ARGUMENTS = 1210,
    ER_UNKNOWN_STMT_HANDLER = 1243,
    ER_STMT_HAS_NO_OPEN_CURSOR = 1421,
    ER_MAX_PREPARED_STMT_COUNT = 1461,
    STATUS_METADATA_CHANGED = 0x0400,
};

static struct backend *backend_of(const struct session *s)
{
    return s->lessee.backend;
}

static struct prepared_cache *cache_of(const struct session *s)
{
    return s->lessee.pool->prepared;
}

static uint32_t id_of(struct bytes payload)
{
    struct wire_reader r = wire_reader(payload);
    (void)wire_u8(&r);
    return wire_u32(&r);
}

/* ---- errors, in the servers' words ---- */

static enum command_verdict refuse(struct session *s, uint16_t code, const char *text)
{
    session_send_err(s, 1, code, "HY000", bytes_text(text));
    return COMMAND_ANSWERED;
}

static enum command_verdict unknown(struct session *s, uint32_t id, const char *where)
{
    char text[120];
    bool mariadb = s->proxy->target->mariadb;
    (void)snprintf(text, sizeof text,
                   "Unknown prepared statement handler (%" PRIu32 ") given to %s", id,
                   mariadb ? where : "mysql_stmt_precheck");
    return refuse(s, ER_UNKNOWN_STMT_HANDLER, text);
}

static enum command_verdict malformed(struct session *s)
{
    return refuse(s, ER_MALFORMED_PACKET,
                  s->proxy->target->mariadb ? "Malformed communication packet"
                                            : "Malformed communication packet.");
}

static enum command_verdict wrong_arguments(struct session *s)
{
    return refuse(s, ER_WRONG_ARGUMENTS, "Incorrect arguments to mysqld_stmt_execute");
}

static struct statement *find(struct session *s, uint32_t id)
{
    if (id == STATEMENT_LAST && s->proxy->target->mariadb)
        id = s->statements.last_id;
    return statements_find(&s->statements, id);
}

/* MariaDB binds types anew at each EXECUTE, and none stays behind. */
static struct prepared_use use_of(const struct session *s, struct statement *st)
{
    return s->proxy->target->mariadb ? (struct prepared_use){0} : statement_use(st);
}

/* ---- statements of the client's own on its backend ---- */

/* What a client holds that another's statement of the same text would not see, or that a PREPARE
 * would bind. */
static bool sees_more(uint32_t pins)
{
    const uint32_t harmless = PIN_TRANSACTION | PIN_LAST_STATEMENT | PIN_USER_VARIABLE |
                              PIN_NAMED_LOCK | PIN_TABLE_LOCK | PIN_HANDLER | PIN_CURSOR |
                              PIN_LONG_DATA | PIN_XA;
    return (pins & ~harmless) != 0;
}

static void take_own(struct session *s, struct statement *st, uint32_t own_id)
{
    assert(!st->own_id);
    st->own_id = own_id;
    s->owns++;
}

/* Its own statement is closed, or becomes the one that anybody may use. */
static void end_own(struct session *s, struct statement *st, bool share)
{
    struct backend *b = backend_of(s);
    uint32_t surplus = st->own_id;
    st->own_id = 0;
    st->cursor = st->long_data = false;
    s->owns--;
    struct prepared_use use = use_of(s, st);
    use.with = NULL;
    if (share && !prepared_slots_has(&b->slots, st->prepared, &use))
        surplus = prepared_slots_put(&b->slots, cache_of(s), st->prepared, surplus, &use,
                                     (uint32_t)s->proxy->options->mysql.statement_cache);
    if (surplus)
        backend_close_statement(b, surplus);
}

void session_drop_own(struct session *s, bool gone)
{
    for (uint32_t i = 0; i < s->statements.count && s->owns; i++) {
        struct statement *st = &s->statements.list[i];
        if (!st->own_id)
            continue;
        if (!gone)
            backend_close_statement(backend_of(s), st->own_id);
        st->own_id = 0;
        st->cursor = st->long_data = false;
        s->owns--;
    }
}

static uint32_t pins_of_statements(const struct session *s, uint32_t pins)
{
    pins &= ~(uint32_t)(PIN_CURSOR | PIN_LONG_DATA);
    uint32_t left = s->owns;
    for (uint32_t i = 0; i < s->statements.count && left; i++) {
        const struct statement *st = &s->statements.list[i];
        if (!st->own_id)
            continue;
        left--;
        pins |= st->cursor ? PIN_CURSOR : 0;
        pins |= st->long_data ? PIN_LONG_DATA : 0;
    }
    return pins;
}

/* ---- PREPARE ---- */

/* What a text is kept under. One that reads variables has them in its columns' lengths. */
static struct session_state key_of(const struct session *s, const struct prepared_facts *f)
{
    struct session_state key = s->lessee.state; /* borrowed */
    if (!(f->flags & SQL_F_SYSTEM_VARIABLE))
        key.settings = key.settings->bound;
    key.multi_statements = false;
    return key;
}

static void send_prepared(struct session *s, struct bytes reply, uint32_t id)
{
    enum { ID_AT = MYSQL_HEADER_BYTES + 1, ID_END = ID_AT + 4 };
    uint8_t head[ID_END];
    memcpy(head, reply.at, ID_AT);
    wire_set_u32(head + ID_AT, id);
    session_send(s, head, sizeof head);
    session_send(s, reply.at + ID_END, reply.len - ID_END);
}

/* A client's statement for an entry whose reference it takes; NULL: it has too many, and was told
 * so. */
static struct statement *open_statement(struct session *s, struct prepared *p)
{
    struct statement *st = statements_add(&s->statements, p);
    if (st)
        return st;
    char text[120];
    (void)snprintf(text, sizeof text,
                   "Can't create more than max_prepared_stmt_count statements (current value: %d)",
                   STATEMENTS_MAX);
    session_send_err(s, 1, ER_MAX_PREPARED_STMT_COUNT, "42000", bytes_text(text));
    prepared_unref(cache_of(s), p);
    return NULL;
}

/* A server refuses to prepare what writes while only reading is allowed. */
static bool only_reads(const struct session *s)
{
    const struct backend *b = backend_of(s);
    name_id read_only = s->lessee.state.settings->value[VARIABLE_transaction_read_only];
    return (b && (b->status & MYSQL_STATUS_IN_TRANS_READONLY)) ||
           bytes_equal(names_text(s->proxy->target->names, read_only), bytes_text("ON"));
}

static bool answer_prepare(struct session *s, struct bytes text, const struct prepared_facts *facts)
{
    bool mariadb = s->proxy->target->mariadb;
    if (sees_more(s->pins) || !pool_state_is_known(&s->lessee) || only_reads(s))
        return false;
    if ((facts->flags & SQL_F_USER_VARIABLE) || (s->pins & PIN_TABLE_LOCK))
        return false; /* what a variable holds shows in the columns; a lock forbids other tables */
    if (s->reread_due || (!mariadb && (s->pins & PIN_LAST_STATEMENT)))
        return false; /* a PREPARE clears the warnings there */
    struct session_state key = key_of(s, facts);
    struct prepared *p = prepared_find(cache_of(s), &key, text);
    if (!p)
        return false;
    p->hits++;
    struct statement *st = open_statement(s, p);
    if (st) {
        if (!mariadb)
            session_clear_warnings(s);
        send_prepared(s, bytes_of(p->reply, p->reply_bytes), st->id);
        s->proxy->stats.local_answers[MYSQL_COM_STMT_PREPARE]++;
    }
    return true;
}

/* The whole text of a spooled PREPARE; the caller frees it. */
static char *spooled_text(struct session *s, struct bytes *text)
{
    uint64_t bytes = spool_payload_bytes(s->spool);
    if (bytes < 1 || bytes > TEXT_MAX_BYTES)
        return NULL;
    char *all = xmalloc((size_t)bytes);
    size_t have = spool_head(s->spool, (uint8_t *)all, (size_t)bytes);
    *text = bytes_of(all + 1, have ? have - 1 : 0);
    return all;
}

/* The client's id goes into its text, which then asks for none any more. False: it is about the id
 * of another client. */
static bool write_ids(struct session *s, struct bytes payload)
{
    struct plan *p = &s->plan;
    struct bytes text = bytes_of(payload.at + 1, payload.len - 1);
    struct sql_ask ask;
    if (!command_may_hold_id(&p->facts, text))
        return true;
    if (sql_ask_read(text, session_scan_mode(s), &ask) && ask.what == SQL_ASKED_CONNECTION_ID)
        return true; /* its value is put in place at each EXECUTE */
    if (command_write_connection_id(s, MYSQL_COM_STMT_PREPARE, text)) {
        p->facts.flags &= ~(uint32_t)SQL_F_CONNECTION_ID;
    } else if (p->compares_ids) {
        if (command_compares_another(s, text))
            return false;
        command_write_compared(s, payload);
    }
    p->personal = p->packet != NULL;
    return true;
}

enum command_verdict prepare_take(struct session *s, struct bytes payload)
{
    struct plan *p = &s->plan;
    struct bytes text = bytes_of(payload.at + 1, payload.len - 1);
    char *spooled = NULL;
    if (s->spool && !(spooled = spooled_text(s, &text))) {
        session_send_error(s, 1, MYSQL_ERROR_REFUSED,
                           "a prepared text of more than 16 MiB; send it as a query");
        return COMMAND_ANSWERED;
    }
    struct sql_scan scan;
    sql_scan_begin(&scan, session_scan_mode(s));
    sql_scan_feed(&scan, text);
    sql_scan_end(&scan);
    p->facts = query_facts(&scan);
    if (answer_prepare(s, text, &p->facts)) {
        free(spooled);
        return COMMAND_ANSWERED;
    }
    p->follows = true;
    p->capture = CAPTURE_HOLD;
    p->own = sees_more(s->pins);
    if (!s->spool && !write_ids(s, payload)) {
        session_send_error(s, 1, MYSQL_ERROR_REFUSED,
                           "a prepared statement about another client's connection id, which is "
                           "on a connection to the server only now and then; send it as a query");
        return COMMAND_ANSWERED;
    }
    struct bytes written = p->packet ? bytes_of(p->packet + MYSQL_HEADER_BYTES + 1,
                                                p->packet_bytes - MYSQL_HEADER_BYTES - 1)
                                     : text;
    p->text = xstrndup(written);
    p->text_bytes = written.len;
    free(spooled);
    return COMMAND_RUN;
}

void prepare_deliver(struct session *s, struct bytes reply)
{
    struct backend *b = backend_of(s);
    const struct mysql_reply *r = &b->reply;
    struct plan *plan = &s->plan;
    const uint32_t unshared = SQL_F_USER_VARIABLE | SQL_F_CONNECTION_ID;
    bool shared = !plan->own && !plan->personal && !(plan->facts.flags & unshared);
    struct session_state key = key_of(s, &plan->facts);
    struct prepared *p = prepared_add(cache_of(s), &key, bytes_of(plan->text, plan->text_bytes),
                                      &plan->facts, shared);
    prepared_set_reply(cache_of(s), p, reply, r->parameters, r->prepared_columns);
    struct statement *st = open_statement(s, p);
    if (!st) {
        backend_close_statement(b, r->statement_id);
        return;
    }
    if (plan->own) {
        take_own(s, st, r->statement_id);
    } else {
        struct prepared_use fresh = use_of(s, st);
        fresh.with = NULL;
        uint32_t surplus = prepared_slots_put(&b->slots, cache_of(s), p, r->statement_id, &fresh,
                                              (uint32_t)s->proxy->options->mysql.statement_cache);
        if (surplus)
            backend_close_statement(b, surplus);
    }
    send_prepared(s, reply, st->id);
}

/* ---- EXECUTE ---- */

static void plan_statement(struct session *s, struct statement *st)
{
    s->plan.statement_id = st->id;
    s->plan.use = use_of(s, st);
    if (s->plan.command != MYSQL_COM_STMT_EXECUTE)
        s->plan.use.with = NULL;
    s->plan.prepared = prepared_ref(cache_of(s), st->prepared);
    if (st->own_id)
        s->plan.own = true;
}

/* KILL ? and nothing else: the parameter is the id of a connection. */
static bool kills_parameter(struct bytes text, uint32_t mode)
{
    struct sql_reader r = sql_reader(text, mode);
    if (!sql_skip(&r, "kill"))
        return false;
    if (!sql_skip(&r, "hard"))
        (void)sql_skip(&r, "soft");
    if (!sql_skip(&r, "connection"))
        (void)sql_skip(&r, "query");
    return sql_skip_mark(&r, '?') && sql_at_end(&r);
}

static enum command_verdict execute(struct session *s, struct statement *st, struct bytes payload)
{
    struct plan *p = &s->plan;
    struct prepared *of = st->prepared;
    struct execute_view view;
    struct bytes text = bytes_of(of->text, of->text_bytes);
    struct sql_scan scan;
    uint64_t victim = 0;
    if (!execute_read(payload, of->parameters, &view))
        return s->proxy->target->mariadb ? wrong_arguments(s) : malformed(s);
    if (view.has_types)
        statement_note_types(st, &view, of->parameters);
    else if (of->parameters && !st->types)
        return wrong_arguments(s);
    if (of->facts.kind == SQL_KILL) {
        sql_scan_begin(&scan, session_scan_mode(s));
        sql_scan_feed(&scan, text);
        sql_scan_end(&scan);
        victim = scan.kill_id;
        if (kills_parameter(text, session_scan_mode(s)) &&
            !execute_number(st, &view, payload, &victim))
            victim = 0;
        if (command_is_client(s, victim)) {
            query_begin(s, of->facts);
            return command_kill(s, victim, scan.kill_query);
        }
        command_kill_later(s, scan.kill_query);
    }
    query_plan(s, of->facts, text);
    p->may_retry = false;
    if (!broken(RULE_CURSOR_PINS) && view.cursor) {
        p->own = true;
        p->pins |= PIN_CURSOR;
    } else if (!of->parameters && !st->own_id && query_answer(s, text, true)) {
        return COMMAND_ANSWERED;
    }
    query_keep_text(s, text);
    if (p->learns)
        p->capture = CAPTURE_COPY;
    if (p->asks && p->ask.what == SQL_ASKED_CONNECTION_ID) {
        p->substitutes = true;
        p->value = s->id;
        p->capture = CAPTURE_HOLD;
    } else if (query_holds_reply(s) && !view.cursor) {
        p->capture = CAPTURE_HOLD;
    } else if (p->facts.flags & SQL_F_CONNECTION_ID) { /* the server's own, which stays the same */
        p->pins |= PIN_SESSION_VARIABLE;
    }
    plan_statement(s, st);
    return COMMAND_RUN;
}

enum command_verdict prepare_execute(struct session *s, struct bytes payload)
{
    struct statement *st = payload.len >= 5 ? find(s, id_of(payload)) : NULL;
    if (payload.len < 10)
        return malformed(s);
    if (!st)
        return unknown(s, id_of(payload), "mysqld_stmt_execute");
    if (!s->spool)
        return execute(s, st, payload);
    uint8_t *head = xmalloc(EXECUTE_HEAD_MAX_BYTES);
    enum command_verdict v =
        execute(s, st, bytes_of(head, spool_head(s->spool, head, EXECUTE_HEAD_MAX_BYTES)));
    free(head);
    return v;
}

enum command_verdict prepare_long_data(struct session *s, struct bytes payload)
{
    struct statement *st = payload.len >= 7 ? find(s, id_of(payload)) : NULL;
    if (broken(RULE_LONG_DATA_SENT) || !st)
        return COMMAND_ANSWERED; /* servers are silent about it */
    s->plan.own = true;
    s->plan.pins |= PIN_LONG_DATA;
    plan_statement(s, st);
    return COMMAND_RUN;
}

enum command_verdict prepare_fetch(struct session *s, struct bytes payload)
{
    struct statement *st = find(s, id_of(payload));
    char text[80];
    if (!st)
        return unknown(s, id_of(payload), "mysqld_stmt_fetch");
    if (st->cursor) {
        plan_statement(s, st);
        return COMMAND_RUN;
    }
    (void)snprintf(text, sizeof text, "The statement (%" PRIu32 ") has no open cursor%s", st->id,
                   s->proxy->target->mariadb ? "" : ".");
    return refuse(s, ER_STMT_HAS_NO_OPEN_CURSOR, text);
}

enum command_verdict prepare_reset(struct session *s, struct bytes payload)
{
    struct statement *st = find(s, id_of(payload));
    if (!st)
        return unknown(s, id_of(payload), "mysqld_stmt_reset");
    if (st->own_id) {
        plan_statement(s, st);
        return COMMAND_RUN;
    }
    if (backend_of(s)) { /* what it leaves of the last statement is the server's to know */
        plan_statement(s, st);
        return COMMAND_RUN;
    }
    session_note_ok(s);
    session_send_ok(s, 1);
    return COMMAND_ANSWERED;
}

enum command_verdict prepare_close(struct session *s, uint32_t id)
{
    struct statement *st = find(s, id);
    if (!st)
        return COMMAND_ANSWERED;
    if (st->own_id)
        end_own(s, st, false);
    statements_remove(&s->statements, cache_of(s), st->id);
    if (backend_of(s)) {
        session_set_pins(s, pins_of_statements(s, s->pins));
        session_settle(s);
    }
    return COMMAND_ANSWERED;
}

/* ---- to the backend ---- */

static uint32_t backend_id(struct session *s, struct statement *st)
{
    struct backend *b = backend_of(s);
    struct prepared_use use = prepared_slots_choose(&b->slots, st->prepared, &s->plan.use);
    if (s->plan.own && !st->own_id) {
        uint32_t id = prepared_slots_take(&b->slots, cache_of(s), st->prepared, &use);
        if (id)
            take_own(s, st, id);
    }
    if (s->plan.command == MYSQL_COM_STMT_EXECUTE)
        statement_used(st);
    if (st->own_id)
        return st->own_id;
    uint32_t id = prepared_slots_find(&b->slots, st->prepared, &use);
    prepared_slots_note(&b->slots, id, &use);
    return id;
}

static int rewrite_spool(struct session *s, const struct statement *st, uint32_t id)
{
    struct execute_view view = {0};
    bool readable = true;
    if (s->plan.command == MYSQL_COM_STMT_EXECUTE) {
        uint8_t *head = xmalloc(EXECUTE_HEAD_MAX_BYTES);
        struct bytes payload = bytes_of(head, spool_head(s->spool, head, EXECUTE_HEAD_MAX_BYTES));
        readable = execute_read(payload, st->prepared->parameters, &view) &&
                   execute_rewrite_spool(st, id, &view, s->spool);
        free(head);
        return readable ? 0 : -1;
    }
    return execute_rewrite_spool(st, id, &view, s->spool) ? 0 : -1;
}

int prepare_send(struct session *s, struct bytes payload)
{
    struct backend *b = backend_of(s);
    struct statement *st = find(s, s->plan.statement_id);
    assert(st);
    uint32_t id = backend_id(s, st);
    if (s->spool)
        return rewrite_spool(s, st, id);
    if (s->plan.command == MYSQL_COM_STMT_EXECUTE) {
        struct execute_slices out;
        if (execute_rewrite(st, id, payload, &out))
            return conn_write(&b->conn, out.slice, out.count);
        return -1;
    }
    uint8_t head[MYSQL_HEADER_BYTES + 5];
    mysql_header_write(head, (uint32_t)payload.len, 0);
    head[MYSQL_HEADER_BYTES] = payload.at[0];
    wire_set_u32(head + MYSQL_HEADER_BYTES + 1, id);
    struct bytes slices[2] = {bytes_of(head, sizeof head),
                              bytes_of(payload.at + 5, payload.len - 5)};
    return conn_write(&b->conn, slices, slices[1].len ? 2 : 1);
}

/* ---- what came of it ---- */

static void note_columns(struct session *s, struct prepared *p, const struct mysql_reply *r)
{
    p->executes++;
    if (!r->had_rows || r->error_code)
        return;
    bool moved = p->columns_hash && p->columns_hash != r->columns_hash;
    if (moved || (r->status & STATUS_METADATA_CHANGED))
        prepared_unshare(cache_of(s), p);
    p->columns_hash = r->columns_hash;
}

uint32_t prepare_outcome(struct session *s, uint32_t pins, bool failed)
{
    const struct backend *b = backend_of(s);
    struct statement *st = s->plan.prepared ? find(s, s->plan.statement_id) : NULL;
    if (!st)
        return pins;
    bool had_own = st->own_id != 0;
    uint8_t command = s->plan.command;
    if (command == MYSQL_COM_STMT_EXECUTE) {
        note_columns(s, st->prepared, &b->reply);
        /* SEND_LONG_DATA of a parameter that is not there fails each EXECUTE until COM_STMT_RESET.
         */
        st->long_data = st->long_data && b->reply.error_code == ER_WRONG_ARGUMENTS;
        st->cursor = !failed && had_own && (b->status & MYSQL_STATUS_CURSOR_EXISTS);
    } else if (command == MYSQL_COM_STMT_FETCH) {
        st->cursor = st->cursor && !failed && !(b->status & MYSQL_STATUS_LAST_ROW_SENT);
    } else if (command == MYSQL_COM_STMT_RESET) {
        st->cursor = st->long_data = false;
    } else if (command == MYSQL_COM_STMT_SEND_LONG_DATA) {
        st->long_data = had_own;
    }
    if (had_own && !st->cursor && !st->long_data && !sees_more(pins))
        end_own(s, st, s->plan.command != MYSQL_COM_STMT_FETCH && !failed);
    return pins_of_statements(s, pins);
}
