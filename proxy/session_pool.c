/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pool tells a session. Each callback stores its fact and pokes the machine; what becomes
 * of a session whose backend has gone is decided here (the tables of proxy/README.md). */
#include <stdlib.h>

#include "protocol/mysql_command.h"
#include "protocol/mysql_reply.h"
#include "proxy/auth.h"
#include "proxy/command.h"
#include "proxy/outcome.h"
#include "proxy/session.h"
#include "proxy/spool.h"

enum { SESSION_LEND_TRIES_MAX = 3, SESSION_RETRY_UNDER_NS = 1000000000 };

static struct session *session_of_lessee(const struct lessee *l)
{
    return CONTAINER_OF(l, struct session, lessee);
}

static void on_lent(struct lessee *l)
{
    struct session *s = session_of_lessee(l);
    s->lent = true;
    session_poke(s);
}

static void on_not_lent(struct lessee *l, const struct lend_error *error)
{
    struct session *s = session_of_lessee(l);
    s->lend_error = xmalloc(sizeof *s->lend_error);
    *s->lend_error = *error;
    session_poke(s);
}

/* Keeps what passes. A copy that grows too large is given up; a held reply is lost then. */
static bool capture(struct session *s, const struct mysql_reply_out *out)
{
    for (size_t i = 0; i < out->count; i++) {
        bool fits = s->plan.capture == CAPTURE_HOLD ||
                    iobuf_len(&s->captured) + out->slice[i].len <= EFFECT_REPLY_MAX_BYTES;
        if (fits && iobuf_append(&s->captured, out->slice[i]))
            continue;
        if (s->plan.capture == CAPTURE_HOLD)
            return false;
        s->plan.capture = CAPTURE_NONE;
        s->plan.learns = false;
        iobuf_fini(&s->captured);
        return true;
    }
    return true;
}

static void on_backend_read(struct lessee *l, uint8_t *at, size_t len)
{
    struct session *s = session_of_lessee(l);
    struct backend *b = l->backend;
    struct mysql_reply_out out;
    enum mysql_reply_event event = MYSQL_REPLY_MORE;

    if (!s->statement_sent) {
        pool_drop(l, BACKEND_END_SERVER_CLOSED, "the server spoke out of turn");
        session_lost(s);
        return;
    }
    while (len && event == MYSQL_REPLY_MORE) {
        size_t used = 0;
        event = mysql_reply_feed(&b->reply, at, len, &used, &out);
        at += used;
        len -= used;
        for (size_t i = 0; i < out.count; i++)
            s->proxy->loop->bytes_to_clients += out.slice[i].len;
        if (out.count && s->plan.capture != CAPTURE_NONE && !capture(s, &out)) {
            s->lost_seq = 1;
            pool_drop(l, BACKEND_END_PROTOCOL, "a reply too large to be kept");
            session_lost(s);
            return;
        }
        if (out.count && s->plan.capture != CAPTURE_HOLD) {
            s->reply_begun = true;
            if (conn_write(&s->conn, out.slice, out.count) != 0)
                s->client_gone = true;
        }
    }
    if (event == MYSQL_REPLY_BROKEN || (event == MYSQL_REPLY_END && len)) {
        s->lost_seq = b->reply.next_seq;
        s->cut_off = b->reply.left_bytes || b->reply.continues;
        pool_drop(l, BACKEND_END_PROTOCOL, "reply not understood");
        session_lost(s);
        return;
    }
    if (conn_is_full(&s->conn) && event == MYSQL_REPLY_MORE) {
        s->backend_paused = true;
        conn_pause(&b->conn);
    }
    s->reply_over = event == MYSQL_REPLY_END;
    s->infile_wanted = event == MYSQL_REPLY_INFILE;
    if (s->client_gone) {
        if (s->reply_over) { /* nothing runs any more: no need to kill it */
            s->statement_sent = false;
            outcome_take(s);
        }
        session_end(s, CLOSE_CLIENT_LOST);
        return;
    }
    if (event != MYSQL_REPLY_MORE)
        session_poke(s);
}

/* A command that was not sent yet and never will be. */
static void drop_kept_request(struct session *s)
{
    iobuf_consume(&s->in, s->request_bytes);
    s->request_bytes = 0;
    spool_free(s->spool);
    s->spool = NULL;
}

/* One more try of a plain read, when the whole server went before a byte of the reply came. When
 * its connection alone went somebody has killed it, and a killed statement is never replayed. */
static bool retry(struct session *s, struct iobuf *request)
{
    uint64_t ran_ns = uv_hrtime() - s->command_ns;
    if (!s->plan.may_retry || s->plan.retried || s->reply_begun || !iobuf_len(request) ||
        !s->proxy->options->mysql.retry_reads || ran_ns > SESSION_RETRY_UNDER_NS ||
        !target_is_lost(s->proxy->target))
        return false;
    s->plan.retried = true;
    s->proxy->stats.retries++;
    struct bytes again = iobuf_bytes(request);
    /* In front of what has come since. */
    struct iobuf whole;
    iobuf_init(&whole, s->in.limit_bytes);
    if (!iobuf_append(&whole, again) || !iobuf_append(&whole, iobuf_bytes(&s->in))) {
        iobuf_fini(&whole);
        return false;
    }
    iobuf_fini(&s->in);
    s->in = whole;
    s->request_bytes = again.len;
    s->statement_sent = false;
    s->lent = false;
    s->state = SESSION_QUEUED;
    s->lent = session_lend(s);
    return true;
}

/* The backend went before it could tell what a SET had made of the session. Another one is told the
 * same: a SET of literals does the same there. */
static bool redo(struct session *s)
{
    struct lessee *l = &s->lessee;
    if (s->state != SESSION_ASKING || s->pins || !s->plan.learns || !s->plan.text ||
        s->plan.lend_tries++ >= SESSION_LEND_TRIES_MAX)
        return false;
    s->plan.reread = true;
    l->replay = s->plan.text;
    l->begin = NULL;
    l->prepared = NULL;
    l->wants_pin = l->wants_last_id = l->may_follow = l->id_may_follow = false;
    s->lent = pool_lend(l);
    if (s->lent)
        session_poke(s);
    return true;
}

void session_lost(struct session *s)
{
    if (redo(s))
        return;
    bool running_statement = s->statement_sent;
    bool in_transaction = (s->pins & PIN_TRANSACTION) != 0;
    bool had_state = (s->pins & ~(uint32_t)PIN_LAST_STATEMENT) != 0 || s->reread_due;
    uint8_t seq = s->lost_seq ? s->lost_seq : 1;
    s->statement_sent = false;
    session_unpin(s);
    if (s->state ==
        SESSION_ASKING) { /* its reply is out, but what it did to the session is not known */
        session_plan_clear(s);
        iobuf_fini(&s->captured);
        s->state = SESSION_READY;
        had_state = true;
    }
    if (!running_statement) {
        if (!had_state)
            return;
        s->lost_while_idle = true; /* the next command hears of it: idle clients get no packet */
        s->lost_in_transaction = in_transaction;
        session_poke(s);
        return;
    }
    if (s->state == SESSION_SCHEMA)
        session_schema_back(s);
    if (s->cut_off) { /* half a packet is out: whatever followed would be read as its rest */
        session_end(s, CLOSE_BACKEND_LOST);
        return;
    }
    session_send_error(
        s, seq, in_transaction ? MYSQL_ERROR_BACKEND_LOST_IN_TRANSACTION : MYSQL_ERROR_BACKEND_LOST,
        in_transaction
            ? "connection to the server lost: the transaction is rolled back; begin it again"
            : "connection to the server lost, the statement may have run");
    if (had_state || s->reply_begun || s->auth || s->state == SESSION_SENDING ||
        s->state == SESSION_INFILE) {
        session_end(s, CLOSE_BACKEND_LOST);
        return;
    }
    s->state = SESSION_READY;
    drop_kept_request(s);
    session_plan_clear(s);
    session_poke(s);
}

static void on_backend_end(struct lessee *l, struct backend *b, enum backend_end why)
{
    struct session *s = session_of_lessee(l);
    (void)why;
    s->lost_seq = s->statement_sent ? b->reply.next_seq : 0;
    s->cut_off = s->statement_sent && (b->reply.left_bytes || b->reply.continues);
    if (s->state == SESSION_QUEUED || s->state == SESSION_SCHEMA) {
        /* It went while being brought into the client's state: nothing of the client's was sent. */
        if (!s->pins && s->plan.lend_tries++ < SESSION_LEND_TRIES_MAX) {
            s->lent = session_lend(s);
            if (s->lent)
                session_poke(s);
            return;
        }
        s->statement_sent = true; /* the client waits for an answer: an error is one */
        s->lost_seq = s->state == SESSION_SCHEMA && s->auth ? auth_ok_seq(s) : 1;
    }
    if (s->state == SESSION_RELAY && retry(s, &b->request)) {
        if (s->lent)
            session_poke(s);
        return;
    }
    session_lost(s);
}

static void on_backend_drained(struct lessee *l)
{
    struct session *s = session_of_lessee(l);
    s->infile_blocked = false;
    session_poke(s);
}

static const char *held_for(const struct lessee *l)
{
    const struct session *s = session_of_lessee(l);
    return pin_held_text(s->pins);
}

const struct lessee_ops session_lessee_ops = {.on_lent = on_lent,
                                              .on_not_lent = on_not_lent,
                                              .on_backend_read = on_backend_read,
                                              .on_backend_end = on_backend_end,
                                              .on_backend_drained = on_backend_drained,
                                              .held_for = held_for};
