/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/session.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/breaks.h"
#include "pool/killer.h"
#include "pool/tls.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_reply.h"
#include "proxy/auth.h"
#include "proxy/command.h"
#include "proxy/outcome.h"
#include "proxy/prepare.h"
#include "proxy/spool.h"

#define STATE_IS_GONE                                                                              \
    "the state of the last statement (ROW_COUNT, FOUND_ROWS, warnings, "                           \
    "LAST_INSERT_ID) is gone: its "                                                                \
    "connection went to another client meanwhile; ask for it inside a "                            \
    "transaction with the statement"

const char *session_state_word(enum session_state_id state)
{
    static const char *const word[] = {
#define X(id, w) w,
        SESSION_STATES(X)
#undef X
    };
    return word[state];
}

const char *close_reason_word(enum close_reason r)
{
    static const char *const word[] = {
#define X(id, w, level) w,
        CLOSE_REASONS(X)
#undef X
    };
    return word[r];
}

static struct session *session_of(struct conn *c)
{
    return CONTAINER_OF(c, struct session, conn);
}

static struct backend *backend_of(const struct session *s)
{
    return s->lessee.backend;
}

static uint64_t now_of(const struct session *s)
{
    return loop_now_ms(s->proxy->loop);
}

/* ---- sending ---- */

void session_send(struct session *s, const void *at, size_t len)
{
    s->proxy->loop->bytes_to_clients += len;
    if (conn_write_bytes(&s->conn, at, len) != 0)
        s->client_gone = true;
}

uint16_t session_status(const struct session *s)
{
    const uint16_t of_settings = MYSQL_STATUS_AUTOCOMMIT | MYSQL_STATUS_NO_BACKSLASH_ESCAPES;
    uint16_t status = s->proxy->target->fresh_status;
    const struct settings *settings = s->lessee.state.settings;
    if (settings)
        status = (uint16_t)((status & ~of_settings) | settings->status);
    return s->begun ? status | MYSQL_STATUS_IN_TRANS : status;
}

uint32_t session_scan_mode(const struct session *s)
{
    const struct target *t = s->proxy->target;
    const struct settings *settings = s->lessee.state.settings;
    uint32_t mode = t->mariadb ? SQL_MODE_MARIADB : 0;
    if (!settings && s->lessee.pool) {
        settings = s->lessee.pool->baseline;
        mode |= s->lessee.ignores_space ? SQL_MODE_IGNORE_SPACE : 0;
    }
    if (settings && !broken(RULE_LEXER_FOLLOWS_SQL_MODE))
        mode |= settings->scan_mode;
    const struct backend *b = backend_of(s);
    if (b && (b->status & MYSQL_STATUS_NO_BACKSLASH_ESCAPES))
        mode |= SQL_MODE_NO_BACKSLASH_ESCAPES;
    name_id charset = s->lessee.state.charset ? s->lessee.state.charset
                                              : t->charset_of_id[s->lessee.charset_number];
    if (!charset || charset_has_ascii_tails(names_text(t->names, charset)))
        mode |= SQL_MODE_MULTIBYTE_UNSAFE;
    return mode;
}

void session_send_ok(struct session *s, uint8_t seq)
{
    uint8_t packet[64];
    struct mysql_ok ok = {.status = session_status(s)};
    /* MySQL's OK to these still counts the warnings of the statement before. */
    if (!s->proxy->target->mariadb &&
        (s->plan.command == MYSQL_COM_PING || s->plan.command == MYSQL_COM_INIT_DB) && !s->auth)
        ok.warnings = s->last.warnings;
    session_send(s, packet, mysql_ok_packet(packet, sizeof packet, seq, &ok));
}

void session_send_error(struct session *s, uint8_t seq, enum mysql_error e, const char *text)
{
    uint8_t packet[MYSQL_ERROR_PACKET_MAX_BYTES];
    proxy_count_error(s->proxy, e);
    session_send(s, packet, mysql_error_packet(packet, sizeof packet, seq, e, text));
}

void session_send_err(struct session *s, uint8_t seq, uint16_t code, const char *sqlstate,
                      struct bytes message)
{
    uint8_t packet[MYSQL_ERROR_PACKET_MAX_BYTES];
    session_send(s, packet, mysql_err_packet(packet, sizeof packet, seq, code, sqlstate, message));
}

/* ---- the bytes in hand ---- */

void session_consume(struct session *s, size_t n)
{
    assert(n <= s->view_len);
    s->view_at += n;
    s->view_len -= n;
}

/* Shows the steps what came; what they leave is kept. `at` NULL: nothing new. */
static void run_with(struct session *s, const uint8_t *at, size_t len)
{
    bool kept = iobuf_len(&s->in) > 0;
    if (kept && len && !iobuf_append(&s->in, bytes_of(at, len))) {
        session_end(s, CLOSE_MEMORY);
        return;
    }
    struct bytes all = kept ? iobuf_bytes(&s->in) : bytes_of(at, len);
    s->view_at = all.at;
    s->view_len = all.len;
    session_run(s);
    if (s->state == SESSION_CLOSING)
        return;
    if (kept)
        iobuf_consume(&s->in, all.len - s->view_len);
    else if (s->view_len && !iobuf_append(&s->in, bytes_of(s->view_at, s->view_len))) {
        session_end(s, CLOSE_MEMORY);
        return;
    }
    s->view_at = NULL;
    s->view_len = 0;
    bool busy =
        s->state != SESSION_READY && s->state != SESSION_LOGIN && s->state != SESSION_SPOOLING;
    if (busy && iobuf_len(&s->in) > s->request_bytes + SESSION_AHEAD_MAX_BYTES &&
        !s->client_paused) {
        s->client_paused = true;
        conn_pause(&s->conn);
    }
}

static void run(struct session *s)
{
    if (s->running || s->state == SESSION_CLOSING)
        return;
    run_with(s, NULL, 0);
    if (s->state == SESSION_CLOSING || !s->client_paused || s->infile_blocked)
        return;
    if (iobuf_len(&s->in) <= s->request_bytes + SESSION_AHEAD_MAX_BYTES) {
        s->client_paused = false;
        conn_resume(&s->conn);
    }
}

void session_poke(struct session *s)
{
    run(s);
}

/* ---- pins ---- */

void session_set_pins(struct session *s, uint32_t pins)
{
    struct proxy *p = s->proxy;
    uint32_t changed = pins ^ s->pins;
    for (unsigned r = 0; changed; r++, changed >>= 1) {
        if (!(changed & 1))
            continue;
        if (pins & 1u << r) {
            p->pinned[r]++;
            p->stats.pins[r]++;
        } else {
            p->pinned[r]--;
        }
    }
    if (s->lessee.pool && !pins != !s->pins)
        s->lessee.pool->pinned += pins ? 1 : (uint32_t)-1;
    if (s->pins & ~pins)
        pin_note_end(s, s->pins & ~pins);
    if (pins & ~s->pins)
        pin_note_begin(s, pins & ~s->pins);
    s->pins = pins;
    s->lessee.keeps = pins != 0;
}

void session_unpin(struct session *s)
{
    session_set_pins(s, 0);
    session_drop_own(s, true);
    pin_track_free(s->track);
    s->track = NULL;
    s->reread_due = s->once_pending = s->tables_locked = s->ask_locks = s->asking_locks = false;
    s->profiled = s->rows_held = s->asking_rows = false;
}

void session_note_ok(struct session *s)
{
    pool_forget_last_state(&s->lessee);
    s->last.row_count = 0;
    s->last.row_count_known = true;
    s->proxy->stats.local_answers[s->plan.command]++;
}

void session_keep_replay(struct session *s, struct bytes text, bool prepared)
{
    free(s->replay);
    s->replay = NULL;
    if (!prepared || s->proxy->target->mariadb)
        s->replay = xstrndup(text);
}

void session_clear_warnings(struct session *s)
{
    s->last.warnings = 0;
    free(s->replay);
    s->replay = NULL;
    s->last.clean = true;
}

void session_forget_last(struct session *s)
{
    s->ran_before = false;
    free(s->replay);
    s->replay = NULL;
    s->last.row_count = 0;
    s->last.row_count_known = true;
    s->last.clean = true;
    s->last.warnings = 0; /* FOUND_ROWS() outlives even a reset, on both servers */
}

/* ---- steps: login ---- */

static void on_known(struct target_waiter *w)
{
    struct session *s = CONTAINER_OF(w, struct session, greeting_waiter);
    s->deadline_ms = now_of(s) + (uint64_t)s->proxy->options->mysql.login_timeout_ms;
    auth_begin(s);
    s->state = SESSION_LOGIN;
}

static enum session_state_id step_login(struct session *s)
{
    switch (auth_step(s)) {
    case AUTH_WAIT:
        return SESSION_LOGIN;
    case AUTH_REFUSED:
        session_end(s, CLOSE_LOGIN_REFUSED);
        return SESSION_CLOSING;
    case AUTH_BAD:
        session_end(s, CLOSE_CLIENT_PROTOCOL);
        return SESSION_CLOSING;
    case AUTH_ACCEPTED:
        break;
    }
    s->deadline_ms = 0;
    if (s->lessee.pool) /* a SET GLOBAL from now on is not about this session */
        (void)pool_state_is_known(&s->lessee);
    s->plan.command =
        MYSQL_COM_INIT_DB; /* what brings it to its schema answers by an OK or an ERR likewise */
    if (!s->lessee.state.schema || account_schema_is_proven(s->account, s->lessee.state.schema)) {
        session_send_ok(s, auth_ok_seq(s));
        auth_free(s);
        return SESSION_READY;
    }
    s->lent = session_lend(s);
    return SESSION_SCHEMA;
}

static const char *lend_failure_text(const struct session *s, char *text, size_t room)
{
    const struct lend_error *e = s->lend_error;
    const struct mysql_options *m = &s->proxy->options->mysql;
    if (e->failure == LEND_QUEUE_TIMEOUT)
        (void)snprintf(
            text, room, "no backend connection came free within queue_timeout (%lld ms): %s%s",
            (long long)m->queue_timeout_ms, e->message,
            pool_is_paused(s->lessee.pool) ? "" : "; raise pool_max or shorten what holds them");
    else
        (void)snprintf(text, room,
                       "backend down: %s: %s; see that the server runs and is reachable from here",
                       s->proxy->target->label, e->message);
    return text;
}

/* Tells the client why it gets no backend. */
static void send_lend_error(struct session *s, uint8_t seq)
{
    char text[512];
    const struct lend_error *e = s->lend_error;
    switch (e->failure) {
    case LEND_QUEUE_TIMEOUT:
        session_send_error(s, seq, MYSQL_ERROR_QUEUE_TIMEOUT,
                           lend_failure_text(s, text, sizeof text));
        break;
    case LEND_BACKEND_DOWN:
        session_send_error(s, seq, MYSQL_ERROR_BACKEND_DOWN,
                           lend_failure_text(s, text, sizeof text));
        break;
    case LEND_ID_LOST:
        session_send_error(s, seq, MYSQL_ERROR_REFUSED, STATE_IS_GONE);
        break;
    case LEND_REFUSED:
        if (s->state == SESSION_QUEUED) {
            (void)snprintf(text, sizeof text,
                           "sluice: the state of the session cannot be restored: %s; set it anew "
                           "(USE, SET) or connect anew",
                           e->message);
            session_send_err(s, seq, e->code, e->sqlstate, bytes_text(text));
            break;
        }
        session_send_err(s, seq, e->code, e->sqlstate, bytes_text(e->message));
        break;
    case LEND_UNPREPARED:
    case LEND_LOGIN_REFUSED:
        session_send_err(s, seq, e->code, e->sqlstate, bytes_text(e->message));
        break;
    }
}

static void forget_lend(struct session *s)
{
    free(s->lend_error);
    s->lend_error = NULL;
    s->lent = false;
}

void session_schema_back(struct session *s)
{
    name_id wrong = s->lessee.state.schema;
    s->lessee.state.schema = s->schema_before;
    s->schema_before = 0;
    names_unref(s->proxy->target->names, wrong);
}

/* Its error stands behind the warnings of the statement before on MySQL, and in their place on
 * MariaDB [seen]; the backend that has told it has gone to others. */
static void note_schema_refused(struct session *s)
{
    pool_forget_last_state(&s->lessee);
    s->last.clean = s->last.row_count_known = false;
    s->last.warnings = (uint16_t)(s->proxy->target->mariadb ? 1 : s->last.warnings + 1);
    free(s->replay);
    s->replay = NULL;
}

/* The schema of a login, of COM_INIT_DB; the held backend of a COM_RESET_CONNECTION. */
static enum session_state_id step_schema(struct session *s)
{
    uint8_t seq = s->auth ? auth_ok_seq(s) : 1;
    bool logging_in = s->auth != NULL;
    if (s->lend_error) {
        if (s->lend_error->failure == LEND_REFUSED && s->account)
            account_schema_unproven(s->account, s->lessee.state.schema);
        send_lend_error(s, seq);
        forget_lend(s);
        if (logging_in) {
            session_end(s, CLOSE_LOGIN_REFUSED);
            return SESSION_CLOSING;
        }
        if (s->plan.command == MYSQL_COM_INIT_DB) {
            session_schema_back(s);
            note_schema_refused(s);
        }
        return SESSION_READY;
    }
    if (!s->lent)
        return SESSION_SCHEMA;
    forget_lend(s);
    if (s->lessee.state.schema)
        account_schema_proven(s->account, s->lessee.state.schema);
    session_settle(s);
    names_unref(s->proxy->target->names, s->schema_before);
    s->schema_before = 0;
    session_send_ok(s, seq);
    auth_free(s);
    return SESSION_READY;
}

/* ---- steps: a command ---- */

/* A BEGIN that was answered here goes in front of the first statement that may touch data. */
static bool carries_begin(const struct session *s)
{
    return s->plan.command != MYSQL_COM_STMT_PREPARE && s->plan.command != MYSQL_COM_INIT_DB &&
           s->plan.command != MYSQL_COM_STMT_SEND_LONG_DATA;
}

bool session_lend(struct session *s)
{
    s->lessee.wants_pin = (s->plan.pins & ~(uint32_t)PIN_LAST_STATEMENT) != 0;
    s->lessee.wants_last_id = (s->plan.facts.flags & SQL_F_LAST_INSERT_ID) != 0 &&
                              s->plan.command != MYSQL_COM_STMT_PREPARE;
    s->lessee.may_follow = s->plan.follows;
    s->lessee.leaves_nothing = s->plan.command == MYSQL_COM_STMT_PREPARE;
    s->lessee.id_may_follow = !s->lessee.wants_last_id && s->plan.command != MYSQL_COM_INIT_DB;
    s->lessee.replay = NULL;
    s->lessee.begin =
        !broken(RULE_BEGIN_CARRIED) && s->begun && carries_begin(s) ? "START TRANSACTION" : NULL;
    s->lessee.prepared = s->plan.prepared;
    s->lessee.use = s->plan.use;
    return pool_lend(&s->lessee);
}

void session_plan_clear(struct session *s)
{
    if (s->plan.prepared)
        prepared_unref(s->lessee.pool->prepared, s->plan.prepared);
    session_state_fini(s->proxy->target->names, &s->plan.before);
    free(s->plan.text);
    free(s->plan.packet);
    s->plan = (struct plan){0};
    s->lessee.prepared = NULL;
}

/* The command in hand will not be sent, or has been answered. */
static void drop_request(struct session *s)
{
    session_consume(s, s->request_bytes);
    s->request_bytes = 0;
    spool_free(s->spool);
    s->spool = NULL;
}

static enum session_state_id refuse_run(struct session *s, const char *why)
{
    session_send_error(s, 1, MYSQL_ERROR_REFUSED, why);
    drop_request(s);
    session_plan_clear(s);
    return SESSION_READY;
}

static enum session_state_id refuse_own(struct session *s)
{
    if (!s->proxy->target->mariadb) /* as where it is answered */
        s->last.warnings = 0;
    return refuse_run(s, STATE_IS_GONE);
}

/* What it asks is known from the packets of the statement before: it may run anywhere, and the
 * value in its reply is put right. */
static bool is_known(struct session *s)
{
    struct plan *p = &s->plan;
    const struct last_state *last = &s->last;
    if (!p->asks)
        return false;
    switch ((enum sql_asked)p->ask.what) {
    case SQL_ASKED_ROW_COUNT:
        p->value = last->row_count;
        p->substitutes = last->row_count_known;
        break;
    case SQL_ASKED_FOUND_ROWS:
        p->value = (int64_t)last->found_rows;
        p->substitutes = last->found_rows_known;
        break;
    case SQL_ASKED_WARNING_COUNT:
    case SQL_ASKED_ERROR_COUNT:
        p->value = 0;
        p->substitutes = last->clean;
        break;
    case SQL_ASKED_WARNINGS:
    case SQL_ASKED_ERRORS:
    case SQL_ASKED_CONNECTION_ID:
    case SQL_ASKED_LOCK_OWNER:
    case SQL_ASKED_LAST_ID:
        break;
    }
    if (p->substitutes)
        p->capture = CAPTURE_HOLD;
    return p->substitutes;
}

/* What it asks for is not on the backend where the client's last statement ran. */
static bool is_gone(const struct session *s)
{
    const struct last_state *last = &s->last;
    const struct plan *p = &s->plan;
    if (last->gone)
        return true;
    if (!p->asks) {
        bool of_rows = p->facts.kinds != 1u << SQL_DIAGNOSTICS;
        return last->diagnostics_gone || (of_rows && last->rows_gone);
    }
    switch ((enum sql_asked)p->ask.what) {
    case SQL_ASKED_FOUND_ROWS:
        return last->rows_gone;
    case SQL_ASKED_WARNING_COUNT:
    case SQL_ASKED_ERROR_COUNT:
    case SQL_ASKED_WARNINGS:
    case SQL_ASKED_ERRORS:
        return last->diagnostics_gone;
    case SQL_ASKED_ROW_COUNT:
    case SQL_ASKED_CONNECTION_ID:
    case SQL_ASKED_LOCK_OWNER:
    case SQL_ASKED_LAST_ID:
        break;
    }
    return false;
}

/* It asks for the warnings, and there are none. */
static bool asks_for_none(const struct session *s)
{
    return s->plan.asks && s->last.clean &&
           (s->plan.ask.what == SQL_ASKED_WARNINGS || s->plan.ask.what == SQL_ASKED_ERRORS);
}

/* Something that must see what the last statement left. */
static enum session_state_id lend_own(struct session *s)
{
    struct lessee *l = &s->lessee;
    bool none = asks_for_none(s);
    if (!s->ran_before && is_known(s)) {
        s->lent = session_lend(s);
        return SESSION_QUEUED;
    }
    if (!s->ran_before) { /* nothing was left: a fresh session says the right thing */
        l->wants_fresh = true;
        s->lent = session_lend(s);
        return SESSION_QUEUED;
    }
    l->wants_last_id = false;
    l->may_follow = l->id_may_follow = l->leaves_nothing = false;
    l->begin = NULL;
    l->replay = NULL;
    l->prepared = s->plan.prepared;
    l->use = s->plan.use;
    if (!s->begun && !is_gone(s) && l->last_backend && l->last_backend->state == BACKEND_IDLE &&
        l->last_backend->session.schema == l->state.schema && pool_lend_own(l)) {
        s->lent = true;
        return SESSION_QUEUED;
    }
    if (l->backend)
        return SESSION_QUEUED;
    if (s->replay && !s->begun) {
        l->wants_last_id = false;
        l->replay = s->replay;
        s->lent = pool_lend(l);
        return SESSION_QUEUED;
    }
    if (none || is_known(s)) {
        bool mariadb = s->proxy->target->mariadb;
        l->wants_fresh = none && mariadb;
        s->lent = false;
        if (none && !mariadb) { /* what restores its state may warn */
            l->wants_last_id = false;
            l->begin = s->begun ? "START TRANSACTION" : NULL;
            l->replay = "DO 0";
            s->lent = pool_lend(l);
        } else {
            s->lent = session_lend(s);
        }
        return SESSION_QUEUED;
    }
    return refuse_own(s);
}

/* Why the command cannot be served on a connection of a pool; NULL: it can. */
static const char *refusal_of(const struct session *s)
{
    uint32_t flags = s->plan.facts.flags;
    if (flags & SQL_F_TRACKERS)
        return "the session trackers (@@session_track_*) are Sluice's own on every connection to "
               "the server; connect to the server directly to use them";
    if ((flags & SQL_F_SEQUENCE_LAST) && !(s->pins & PIN_UNKNOWN_FUNCTION) &&
        s->plan.command != MYSQL_COM_STMT_PREPARE)
        return "what a sequence gave last (LASTVAL, PREVIOUS VALUE FOR) is known only after "
               "NEXTVAL in the same session; a NEXTVAL hidden in a column's DEFAULT is not seen: "
               "call NEXTVAL itself";
    return NULL;
}

static bool owns_statement(struct session *s)
{
    const struct statement *st = statements_find(&s->statements, s->plan.statement_id);
    return st && st->own_id;
}

/* The command is classified and is to run on a backend. */
static enum session_state_id begin_run(struct session *s)
{
    s->command_ns = uv_hrtime();
    s->lessee.wants_fresh = false;
    const char *refusal = refusal_of(s);
    if (refusal)
        return refuse_run(s, refusal);
    if (backend_of(s)) { /* pinned */
        s->lessee.prepared = s->plan.prepared && !owns_statement(s) ? s->plan.prepared : NULL;
        bool gone = s->plan.needs_own && is_gone(s) && !is_known(s);
        if (gone && !asks_for_none(s))
            return refuse_own(s);
        s->lessee.use = s->plan.use;
        s->lessee.may_follow = s->lessee.id_may_follow = false;
        s->lessee.leaves_nothing = s->plan.command == MYSQL_COM_STMT_PREPARE;
        s->lessee.begin = NULL;
        /* Those of another client's, or of what we asked, may stand there: MariaDB clears them for
         * what uses a table, MySQL for anything [seen]. */
        s->lessee.replay = gone ? "DO (SELECT 1 FROM (SELECT 1) AS t)" : NULL;
        s->lent = pool_bring(&s->lessee);
        return SESSION_QUEUED;
    }
    if (s->plan.needs_own)
        return lend_own(s);
    if ((s->plan.facts.flags & SQL_F_LAST_INSERT_ID) && s->lessee.last_id_where == LAST_ID_LOST)
        return refuse_own(s);
    s->lent = session_lend(s);
    return SESSION_QUEUED;
}

static enum session_state_id take_command(struct session *s, struct bytes payload)
{
    s->active_ms = now_of(s);
    s->queries++;
    if (!s->console) /* whoever watches a drain does not hold it up */
        s->proxy->last_active_ms = s->active_ms;
    if (s->lost_while_idle && payload.at[0] != MYSQL_COM_QUIT) {
        session_send_error(
            s, 1,
            s->lost_in_transaction ? MYSQL_ERROR_BACKEND_LOST_IN_TRANSACTION
                                   : MYSQL_ERROR_BACKEND_LOST,
            s->lost_in_transaction
                ? "connection to the server lost: the transaction is rolled back; begin it again"
                : "connection to the server lost, and the session's state with it; connect again");
        session_end(s, CLOSE_BACKEND_LOST);
        return SESSION_CLOSING;
    }
    if (s->in_transaction_lost && payload.at[0] != MYSQL_COM_QUIT) {
        session_send_error(s, 1, MYSQL_ERROR_IDLE_IN_TRANSACTION,
                           "the transaction was rolled back after idle_in_transaction_timeout; "
                           "begin it again on a new "
                           "connection");
        session_end(s, CLOSE_IDLE_IN_TRANSACTION);
        return SESSION_CLOSING;
    }
    if (s->proxy->drain == DRAIN_CLOSING && !s->pins && payload.at[0] != MYSQL_COM_QUIT) {
        session_send_error(s, 1, MYSQL_ERROR_DRAIN, "shutting down; connect again");
        session_end(s, CLOSE_DRAIN);
        return SESSION_CLOSING;
    }
    switch (command_take(s, payload)) {
    case COMMAND_RUN:
        return begin_run(s);
    case COMMAND_SCHEMA:
        drop_request(s);
        s->lent = backend_of(s) ? pool_bring(&s->lessee) : session_lend(s);
        return SESSION_SCHEMA;
    case COMMAND_LOGIN:
        drop_request(s);
        return SESSION_LOGIN;
    case COMMAND_QUIT:
        session_end(s, CLOSE_CLIENT_QUIT);
        return SESSION_CLOSING;
    case COMMAND_ENDED:
        return SESSION_CLOSING;
    case COMMAND_ANSWERED:
        break;
    }
    drop_request(s);
    return SESSION_READY;
}

static enum session_state_id step_ready(struct session *s)
{
    if (s->view_len < MYSQL_HEADER_BYTES)
        return SESSION_READY;
    assert(s->view_at);
    uint32_t bytes = mysql_header_length(s->view_at);
    if (s->view_at[3] != 0 || bytes == 0) {
        session_send_error(s, (uint8_t)(s->view_at[3] + 1), MYSQL_ERROR_MALFORMED,
                           "packet out of order");
        session_end(s, CLOSE_CLIENT_PROTOCOL);
        return SESSION_CLOSING;
    }
    if (bytes > SESSION_WHOLE_MAX_BYTES) {
        s->spool = spool_new();
        if (!s->spool) {
            session_end(s, CLOSE_MEMORY);
            return SESSION_CLOSING;
        }
        return SESSION_SPOOLING;
    }
    if (s->view_len < MYSQL_HEADER_BYTES + bytes)
        return SESSION_READY;
    s->request_bytes = MYSQL_HEADER_BYTES + bytes;
    return take_command(s, bytes_of(s->view_at + MYSQL_HEADER_BYTES, bytes));
}

static enum session_state_id too_large(struct session *s, uint8_t seq)
{
    char text[200];
    (void)snprintf(
        text, sizeof text,
        "the command is larger than the server's max_allowed_packet (%llu bytes); raise it there",
        (unsigned long long)s->proxy->target->max_allowed_packet);
    session_send_error(s, seq, MYSQL_ERROR_TOO_LARGE, text);
    return SESSION_READY;
}

static enum session_state_id step_spooling(struct session *s)
{
    size_t used = 0;
    enum wire_result r = spool_take(s->spool, bytes_of(s->view_at, s->view_len), &used);
    session_consume(s, used);
    s->active_ms = s->proxy->last_active_ms = now_of(s);
    if (r == WIRE_BAD) {
        session_end(s, CLOSE_CLIENT_PROTOCOL);
        return SESSION_CLOSING;
    }
    if (spool_payload_bytes(s->spool) > s->proxy->target->max_allowed_packet) {
        spool_rest(s->spool, &s->skip_left, &s->skip_continues, &s->skip_seq);
        spool_free(s->spool);
        s->spool = NULL;
        return SESSION_SKIPPING;
    }
    if (r == WIRE_MORE)
        return SESSION_SPOOLING;
    uint8_t head[4096];
    s->request_bytes = 0;
    return take_command(s, bytes_of(head, spool_head(s->spool, head, sizeof head)));
}

/* Reads on over what nobody will store, to the end of the command. */
static enum session_state_id step_skipping(struct session *s)
{
    for (;;) {
        size_t n = s->skip_left < s->view_len ? (size_t)s->skip_left : s->view_len;
        session_consume(s, n);
        s->skip_left -= n;
        if (s->skip_left || (s->skip_continues && s->view_len < MYSQL_HEADER_BYTES))
            return SESSION_SKIPPING;
        if (!s->skip_continues)
            return too_large(s, s->skip_seq);
        assert(s->view_at);
        s->skip_left = mysql_header_length(s->view_at);
        s->skip_continues = s->skip_left == MYSQL_PAYLOAD_MAX_BYTES;
        s->skip_seq = (uint8_t)(s->view_at[3] + 1);
        session_consume(s, MYSQL_HEADER_BYTES);
    }
}

/* No backend: says so and is ready for the next command. */
static enum session_state_id not_lent(struct session *s)
{
    uint8_t seq = 1;
    if (s->spool) {
        uint64_t left;
        bool continues;
        spool_rest(s->spool, &left, &continues, &seq);
    }
    if (s->lend_error->failure == LEND_REFUSED && s->account)
        account_schema_unproven(s->account, s->lessee.state.schema);
    send_lend_error(s, seq);
    forget_lend(s);
    drop_request(s);
    session_plan_clear(s);
    return SESSION_READY;
}

static int write_whole(struct session *s)
{
    struct backend *b = backend_of(s);
    struct bytes request = bytes_of(s->view_at, s->request_bytes);
    if (s->plan.prepared)
        return prepare_send(
            s, bytes_of(request.at + MYSQL_HEADER_BYTES, request.len - MYSQL_HEADER_BYTES));
    if (s->plan.compares_ids)
        command_write_compared(
            s, bytes_of(request.at + MYSQL_HEADER_BYTES, request.len - MYSQL_HEADER_BYTES));
    if (s->plan.packet)
        request = bytes_of(s->plan.packet, s->plan.packet_bytes);
    if (s->plan.may_retry && request.len <= BACKEND_REQUEST_KEEP_BYTES) {
        iobuf_clear(&b->request);
        s->plan.may_retry = iobuf_append(&b->request, request);
    } else {
        s->plan.may_retry = false;
    }
    return conn_write(&b->conn, &request, 1);
}

/* Writes the command to the backend. */
static enum session_state_id send_whole(struct session *s)
{
    s->statement_sent = true;
    int error = write_whole(s);
    session_consume(s, s->request_bytes);
    s->request_bytes = 0;
    if (error)
        backend_of(s)->doomed = true; /* its end follows from the loop */
    return SESSION_RELAY;
}

/* A command that no server answers is over once it is sent. */
static enum session_state_id sent_without_reply(struct session *s)
{
    backend_of(s)->asked_ms = 0;
    s->statement_sent = false;
    outcome_take(s);
    session_settle(s);
    session_plan_clear(s);
    return SESSION_READY;
}

static enum session_state_id step_queued(struct session *s)
{
    if (s->lend_error)
        return not_lent(s);
    if (!s->lent)
        return SESSION_QUEUED;
    s->lent = false;
    s->ran_before = true;
    s->plan.pins_before = s->pins;
    session_set_pins(s, s->pins | (s->plan.pins & ~(uint32_t)PIN_LAST_STATEMENT));
    struct backend *b = backend_of(s);
    s->reply_over = false;
    s->reply_begun = false;
    s->infile_wanted = false;
    if (s->begun && carries_begin(s))
        s->begun = false; /* it has gone, or goes in front */
    b->asked_ms = now_of(s);
    mysql_reply_begin(&b->reply, (enum mysql_reply_shape)s->plan.shape, b->status, outcome_on_track,
                      s);
    iobuf_clear(&s->captured);
    if (s->spool) {
        if (s->plan.prepared && prepare_send(s, bytes_of("", 0)) != 0)
            b->doomed = true;
        spool_rewind(s->spool);
        return SESSION_SENDING;
    }
    enum session_state_id next = send_whole(s);
    if (s->plan.shape == MYSQL_REPLY_NONE)
        return sent_without_reply(s);
    return next;
}

static enum session_state_id step_sending(struct session *s)
{
    struct backend *b = backend_of(s);
    s->statement_sent = true;
    while (!conn_is_full(&b->conn)) {
        struct bytes block = spool_next(s->spool);
        if (!block.at) {
            session_end(s, CLOSE_MEMORY);
            return SESSION_CLOSING;
        }
        if (!block.len) {
            spool_free(s->spool);
            s->spool = NULL;
            if (s->plan.shape == MYSQL_REPLY_NONE)
                return sent_without_reply(s);
            return SESSION_RELAY;
        }
        if (conn_write(&b->conn, &block, 1) != 0) {
            b->doomed = true;
            return SESSION_SENDING;
        }
    }
    return SESSION_SENDING; /* on_backend_drained goes on */
}

/* The client's file, packet by packet, to the empty one that ends it. */
static enum session_state_id step_infile(struct session *s)
{
    struct backend *b = backend_of(s);
    while (s->view_len && !conn_is_full(&b->conn)) {
        if (s->skip_left == 0) {
            if (s->view_len < MYSQL_HEADER_BYTES)
                return SESSION_INFILE;
            assert(s->view_at);
            if (s->view_at[3] != s->skip_seq) {
                session_end(s, CLOSE_CLIENT_PROTOCOL);
                return SESSION_CLOSING;
            }
            s->skip_seq++;
            s->skip_left = mysql_header_length(s->view_at);
            uint8_t header[MYSQL_HEADER_BYTES];
            mysql_header_write(header, (uint32_t)s->skip_left,
                               (uint8_t)(s->view_at[3] - b->reply.seq_added));
            if (conn_write_bytes(&b->conn, header, sizeof header) != 0)
                b->doomed = true;
            session_consume(s, MYSQL_HEADER_BYTES);
            if (s->skip_left == 0)
                return SESSION_RELAY;
        }
        struct bytes part =
            bytes_of(s->view_at, s->skip_left < s->view_len ? (size_t)s->skip_left : s->view_len);
        if (part.len && conn_write(&b->conn, &part, 1) != 0)
            b->doomed = true;
        s->skip_left -= part.len;
        session_consume(s, part.len);
    }
    b->asked_ms = now_of(s);
    s->infile_blocked = conn_is_full(&b->conn);
    if (s->infile_blocked && !s->client_paused) {
        s->client_paused = true;
        conn_pause(&s->conn);
    }
    return SESSION_INFILE;
}

/* The reply is over: the backend goes back unless something holds it. */
void session_settle(struct session *s)
{
    if (!backend_of(s) || s->pins)
        return;
    session_drop_own(s, false);
    pin_track_free(s->track);
    s->track = NULL;
    pool_give_back(&s->lessee);
}

/* The command is over and all about it is known. */
static enum session_state_id over(struct session *s)
{
    outcome_finish(s);
    session_settle(s);
    session_plan_clear(s);
    return SESSION_READY;
}

static enum session_state_id step_asking(struct session *s)
{
    if (s->lend_error) { /* what was asked for stays unknown */
        forget_lend(s);
        s->asking_locks = s->asking_rows = false;
        s->lost_while_idle = !backend_of(s);
        return over(s);
    }
    if (!s->lent)
        return SESSION_ASKING;
    s->lent = false;
    outcome_answered(s);
    return outcome_ask(s) ? SESSION_ASKING : over(s);
}

static enum session_state_id step_relay(struct session *s)
{
    if (s->infile_wanted) {
        s->infile_wanted = false;
        s->skip_left = 0;
        s->skip_seq = backend_of(s)->reply.next_seq;
        return SESSION_INFILE;
    }
    if (!s->reply_over)
        return SESSION_RELAY;
    s->reply_over = false;
    s->statement_sent = false;
    histogram_observe_ns(&s->proxy->stats.statement, uv_hrtime() - s->command_ns);
    s->active_ms = s->proxy->last_active_ms = now_of(s);
    backend_of(s)->asked_ms = 0;
    if (s->plan.capture == CAPTURE_HOLD)
        outcome_deliver(s);
    outcome_take(s);
    if (!outcome_kill(s))
        return SESSION_CLOSING;
    return outcome_ask(s) ? SESSION_ASKING : over(s);
}

static enum session_state_id step(struct session *s)
{
    switch (s->state) {
    case SESSION_LOGIN:
        return step_login(s);
    case SESSION_SCHEMA:
        return step_schema(s);
    case SESSION_READY:
        return step_ready(s);
    case SESSION_SPOOLING:
        return step_spooling(s);
    case SESSION_SKIPPING:
        return step_skipping(s);
    case SESSION_QUEUED:
        return step_queued(s);
    case SESSION_SENDING:
        return step_sending(s);
    case SESSION_RELAY:
        return step_relay(s);
    case SESSION_INFILE:
        return step_infile(s);
    case SESSION_ASKING:
        return step_asking(s);
    case SESSION_GREETING:
    case SESSION_CLOSING:
    case SESSION_STATES_COUNT:
        break;
    }
    return s->state;
}

void session_run(struct session *s)
{
    s->running = true;
    for (;;) {
        enum session_state_id before = s->state;
        size_t left = s->view_len;
        enum session_state_id next = step(s);
        if (s->state == SESSION_CLOSING)
            break;
        s->state = next;
        /* READY after READY with bytes consumed: the next command is in hand already. */
        if (next == before && (next != SESSION_READY || left == s->view_len))
            break;
    }
    s->running = false;
}

/* ---- the end ---- */

void session_give_back_dirty(struct session *s)
{
    /* A reset keeps a role and what profiling recorded, and on MariaDB it destroys a prepared XA
     * transaction. */
    bool beyond = (s->pins & (PIN_ROLE | PIN_XA)) != 0 || s->profiled;
    session_unpin(s);
    if (beyond)
        pool_drop(&s->lessee, BACKEND_END_DIRTY, "a reset would not do");
    else if (broken(RULE_DIRTY_IS_RESET))
        pool_give_back(&s->lessee);
    else
        pool_give_back_dirty(&s->lessee);
}

/* What becomes of the backend: the closing table of proxy/README.md. */
static void leave_backend(struct session *s)
{
    struct backend *b = backend_of(s);
    if (!b)
        return;
    bool in_transaction = (s->pins & PIN_TRANSACTION) != 0;
    if (in_transaction)
        s->proxy->stats.rolled_back_vanished++;
    if (s->state == SESSION_SENDING || s->state == SESSION_INFILE) {
        pool_drop(&s->lessee, BACKEND_END_ABANDONED, "the client went while it was sending");
    } else if (s->statement_sent) {
        pool_abandon(&s->lessee);
    } else {
        mysql_reply_fini(&b->reply);
        session_give_back_dirty(s);
    }
}

static void log_close(const struct session *s, enum close_reason why)
{
    static const enum log_level level[] = {
#define X(id, word, lvl) lvl,
        CLOSE_REASONS(X)
#undef X
    };
    if (!log_on(level[why]))
        return;
    char peer[80];
    conn_peer_name(&s->conn, peer, sizeof peer);
    log_line_limited(&s->proxy->close_limit[why], level[why], "client_closed",
                     LOG_UINT("client", s->id & ~SESSION_ID_BIT), LOG_STR("peer", peer),
                     LOG_STR("user", s->account ? s->account->name : ""),
                     LOG_STR("reason", close_reason_word(why)),
                     LOG_STR("state", session_state_word(s->state)));
}

void session_logout(struct session *s)
{
    leave_backend(s);
    session_unpin(s);
    if (s->lessee.pool) {
        session_plan_clear(s);
        statements_clear(&s->statements, s->lessee.pool->prepared);
        pool_forget(&s->lessee);
    }
    s->lessee.pool = NULL;
    if (s->account) {
        s->account->sessions--;
        s->account->used_ms = now_of(s);
    }
    s->account = NULL;
    if (!broken(RULE_CHANGE_USER_CLEARS_STATE))
        session_state_fini(s->proxy->target->names, &s->lessee.state);
    s->begun = false;
    session_forget_last(s);
}

void session_end(struct session *s, enum close_reason why)
{
    if (s->state == SESSION_CLOSING)
        return;
    log_close(s, why);
    s->proxy->stats.closes[why]++;
    session_logout(s);
    s->state = SESSION_CLOSING;
    target_stop_waiting(s->proxy->target, &s->greeting_waiter);
    auth_free(s);
    spool_free(s->spool);
    s->spool = NULL;
    session_plan_clear(s);
    names_unref(s->proxy->target->names, s->schema_before);
    s->schema_before = 0;
    free(s->lend_error);
    s->lend_error = NULL;
    conn_close(&s->conn);
}

/* ---- from the client's connection ---- */

static void on_read(struct conn *c, uint8_t *at, size_t len)
{
    struct session *s = session_of(c);
    s->proxy->loop->bytes_from_clients += len;
    if (s->state == SESSION_CLOSING)
        return;
    if (s->state == SESSION_GREETING) { /* it may not speak first */
        session_end(s, CLOSE_CLIENT_PROTOCOL);
        return;
    }
    run_with(s, at, len);
}

static void on_end(struct conn *c, int error)
{
    struct session *s = session_of(c);
    enum close_reason why = CLOSE_CLIENT_EOF;
    if (error)
        why = error == UV_EPROTO && c->tls ? CLOSE_CLIENT_TLS : CLOSE_CLIENT_LOST;
    if (error == UV_EPROTO && c->tls)
        log_line(LOG_INFO, "client_tls_failed", LOG_UINT("client", s->id & ~SESSION_ID_BIT),
                 LOG_STR("error", tls_error_text(c->tls)));
    session_end(s, why);
}

static void on_drained(struct conn *c)
{
    struct session *s = session_of(c);
    if (s->backend_paused && backend_of(s)) {
        s->backend_paused = false;
        conn_resume(&backend_of(s)->conn);
    }
}

static void on_closed(struct conn *c)
{
    struct session *s = session_of(c);
    list_remove(&s->proxy->sessions, &s->node);
    iobuf_wipe(&s->in);
    iobuf_fini(&s->captured);
    free(s->replay);
    pin_notes_free(s->notes);
    free(s);
}

static void on_tls(struct conn *c)
{
    run(session_of(c));
}

static const struct conn_owner session_conn_owner = {.on_read = on_read,
                                                     .on_end = on_end,
                                                     .on_drained = on_drained,
                                                     .on_closed = on_closed,
                                                     .on_tls = on_tls};

/* ---- the beginning, and time ---- */

static bool peer_is_local(const struct conn *c)
{
    struct sockaddr_storage ss;
    int len = sizeof ss;
    if (c->is_unix)
        return true;
    if (uv_tcp_getpeername(&c->uv.tcp, (struct sockaddr *)&ss, &len) != 0)
        return false;
    if (ss.ss_family == AF_INET)
        return ntohl(((struct sockaddr_in *)&ss)->sin_addr.s_addr) >> 24 == 127;
    return ss.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&ss)->sin6_addr);
}

static bool too_many(struct session *s)
{
    char text[128];
    struct proxy *p = s->proxy;
    if (p->sessions.count <= (size_t)p->options->mysql.client_max)
        return false;
    (void)snprintf(text, sizeof text,
                   "too many clients (client_max = %d); raise it, or close connections sooner",
                   p->options->mysql.client_max);
    session_send_error(s, 0, MYSQL_ERROR_CLIENT_LIMIT, text);
    session_end(s, CLOSE_CLIENT_LIMIT);
    return true;
}

void session_accept(struct proxy *p, uv_stream_t *listener, bool is_unix, bool tls_required)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->proxy = p;
    list_node_init(&s->greeting_waiter.node);
    list_node_init(&s->lessee.node);
    s->greeting_waiter.on_known = on_known;
    s->lessee.ops = &session_lessee_ops;
    s->id = SESSION_ID_BIT | (++p->next_session_id & ~SESSION_ID_BIT);
    s->lessee.client_id = s->id;
    s->tls_required = tls_required;
    iobuf_init(&s->in, 4 * SESSION_WHOLE_MAX_BYTES);
    iobuf_init(&s->captured, SESSION_CAPTURE_MAX_BYTES);
    session_forget_last(s);
    s->last.found_rows_known = true;
    if (conn_init(&s->conn, p->loop, is_unix, &session_conn_owner) != 0)
        abort();
    list_append(&p->sessions, &s->node);
    p->stats.clients_total++;
    s->state = SESSION_GREETING;
    s->connected_ms = s->active_ms = p->last_active_ms = now_of(s);
    if (conn_accept(&s->conn, listener) != 0 || conn_open(&s->conn) != 0) {
        session_end(s, CLOSE_CLIENT_LOST);
        return;
    }
    s->local_peer = peer_is_local(&s->conn);
    if (too_many(s))
        return;
    if (p->target->known) {
        on_known(&s->greeting_waiter);
    } else {
        s->deadline_ms = s->active_ms + (uint64_t)p->options->mysql.connect_timeout_ms;
        target_wait_known(p->target, &s->greeting_waiter);
    }
}

struct session *session_find(struct proxy *p, uint32_t id)
{
    for (struct list_node *n = list_first(&p->sessions); n; n = list_after(&p->sessions, n)) {
        struct session *s = CONTAINER_OF(n, struct session, node);
        if (s->id == id && s->state != SESSION_CLOSING)
            return s;
    }
    return NULL;
}

struct session *session_find_server_id(const struct session *s, uint64_t id)
{
    const struct backend *here = backend_of(s);
    struct list *all = &s->proxy->sessions;
    for (struct list_node *n = list_first(all); n && here; n = list_after(all, n)) {
        struct session *other = CONTAINER_OF(n, struct session, node);
        const struct backend *b = backend_of(other);
        if (b && b->server_id == id && b->identity_hash == here->identity_hash)
            return other;
    }
    return NULL;
}

static void on_deadline(struct session *s)
{
    char text[400];
    if (s->state == SESSION_GREETING) {
        (void)snprintf(text, sizeof text,
                       "backend down: %s: %s; see that the server runs and is reachable from here",
                       s->proxy->target->label,
                       s->proxy->target->last_error[0] ? s->proxy->target->last_error
                                                       : "no greeting within connect_timeout");
        session_send_error(s, 0, MYSQL_ERROR_BACKEND_DOWN, text);
        session_end(s, CLOSE_BACKEND_DOWN);
        return;
    }
    session_end(s, CLOSE_LOGIN_TIMEOUT);
}

/* A transaction left open by an idle client locks rows for nobody's good. */
static void tick_transaction(struct session *s, uint64_t now)
{
    uint64_t limit = (uint64_t)s->proxy->options->mysql.idle_in_transaction_timeout_ms;
    if (!limit || s->state != SESSION_READY || !(s->pins & PIN_TRANSACTION) ||
        now - s->active_ms < limit)
        return;
    s->proxy->stats.rolled_back_idle++;
    log_line(LOG_WARN, "idle_in_transaction", LOG_UINT("client", s->id & ~SESSION_ID_BIT),
             LOG_STR("user", s->account->name), LOG_UINT("idle_ms", now - s->active_ms));
    session_give_back_dirty(s);
    s->in_transaction_lost = true;
}

/* Warnings and FOUND_ROWS are asked for at once or not at all: who waits goes first. */
/* Others wait for a backend that is held for what the last statement left: what can be kept of that
 * here is asked, and it goes. */
static void tick_last_statement(struct session *s, uint64_t now)
{
    if (s->state != SESSION_READY || s->pins != PIN_LAST_STATEMENT ||
        list_empty(&s->lessee.pool->waiters) || now - s->active_ms < SESSION_LAST_STATEMENT_MS)
        return;
    if (!s->rows_held && !s->reread_due) {
        session_set_pins(s, 0);
        session_settle(s);
        return;
    }
    s->lent = false;
    s->state = SESSION_ASKING;
    s->last.gone = true;
    if (s->rows_held) {
        s->asking_rows = true;
        pool_ask(&s->lessee, "SELECT FOUND_ROWS()");
        return;
    }
    session_set_pins(s, 0);
    s->reread_due = false;
    pool_reread(&s->lessee);
}

static void tick(struct session *s, uint64_t now)
{
    uint64_t idle_limit = (uint64_t)s->proxy->options->mysql.client_idle_timeout_ms;
    if (s->state == SESSION_CLOSING)
        return;
    if (s->deadline_ms && now >= s->deadline_ms &&
        (s->state == SESSION_GREETING || s->state == SESSION_LOGIN)) {
        on_deadline(s);
        return;
    }
    tick_transaction(s, now);
    tick_last_statement(s, now);
    if (idle_limit && s->state == SESSION_READY && now - s->active_ms >= idle_limit)
        session_end(s, CLOSE_IDLE_TIMEOUT);
}

void session_tick_all(struct proxy *p)
{
    uint64_t now = loop_now_ms(p->loop);
    for (struct list_node *n = list_first(&p->sessions), *after; n; n = after) {
        after = list_after(&p->sessions, n);
        tick(CONTAINER_OF(n, struct session, node), now);
    }
}
