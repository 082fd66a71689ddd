/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/backend.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/log.h"
#include "health/verdict.h"
#include "pool/killer.h"
#include "pool/login.h"
#include "pool/pool.h"
#include "pool/settings.h"
#include "pool/tls.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_reply.h"

/* What we want of a server beside the flags of the key. */
enum {
    BACKEND_CAPS = MYSQL_CAP_LONG_PASSWORD | MYSQL_CAP_LONG_FLAG | MYSQL_CAP_PROTOCOL_41 |
                   MYSQL_CAP_TRANSACTIONS | MYSQL_CAP_SECURE_CONNECTION |
                   MYSQL_CAP_MULTI_STATEMENTS | MYSQL_CAP_MULTI_RESULTS | MYSQL_CAP_PLUGIN_AUTH |
                   MYSQL_CAP_PLUGIN_AUTH_LENENC | MYSQL_CAP_CONNECT_ATTRS |
                   MYSQL_CAP_SESSION_TRACK | MYSQL_CAP_DEPRECATE_EOF,
    CHECK_PASSWORD_BYTES = 24,
};

const char *backend_state_word(enum backend_state s)
{
    static const char *const word[] = {
#define X(state, w, to) w,
        BACKEND_STATES(X)
#undef X
    };
    return word[s];
}

const char *backend_end_word(enum backend_end e)
{
    static const char *const word[] = {
#define X(id, w, level) w,
        BACKEND_ENDS(X)
#undef X
    };
    return word[e];
}

void backend_move(struct backend *b, enum backend_state to)
{
    static const uint32_t legal[] = {
#define X(state, word, to_set) (to_set) | BACKEND_TO(CLOSING),
        BACKEND_STATES(X)
#undef X
    };
    if (!(legal[b->state] & 1u << to)) {
        (void)fprintf(stderr, "sluice: backend %u: illegal move %s -> %s\n", b->id,
                      backend_state_word(b->state), backend_state_word(to));
        abort();
    }
    list_remove(&b->pool->backends[b->state], &b->node);
    b->state = to;
    b->since_ms = loop_now_ms(b->conn.loop);
    b->deadline_ms = 0;
    list_append(&b->pool->backends[to], &b->node);
}

/* ---- login ---- */

static uint32_t caps_of(const struct backend *b)
{
    return BACKEND_CAPS | b->pool->flags;
}

static void wipe_password(struct backend *b)
{
    if (b->password)
        scramble_wipe(b->password, b->password_bytes);
    free(b->password);
    b->password = NULL;
}

static void keep_password(struct backend *b, struct bytes password)
{
    wipe_password(b);
    b->password = xstrndup(password);
    b->password_bytes = password.len;
}

/* The password of this login, by its purpose; false when there is none to try. */
static bool choose_secret(struct backend *b, struct login_params *params)
{
    struct account *a = b->pool->account;
    uint8_t random[CHECK_PASSWORD_BYTES];
    char text[CHECK_PASSWORD_BYTES + 1];
    struct secret *s = NULL;
    b->by_stage1 = false;

    switch (b->purpose) {
    case BACKEND_FOR_PROOF:
        keep_password(b, proof_password(b->proof));
        break;
    case BACKEND_FOR_CHECK:
        scramble_random(random, sizeof random);
        for (size_t i = 0; i < sizeof random; i++)
            text[i] = (char)('a' + random[i] % 26);
        keep_password(b, bytes_of(text, sizeof random));
        break;
    case BACKEND_FOR_POOL:
    case BACKEND_FOR_KILL:
        s = account_secret(a);
        if (!s)
            return false;
        keep_password(b, s->password ? bytes_of(s->password, s->password_bytes) : bytes_of("", 0));
        if (!s->password) {
            b->by_stage1 = true;
            memcpy(b->native_stage1, s->native_stage1, sizeof b->native_stage1);
            params->native_stage1 = b->native_stage1;
        }
        break;
    case BACKEND_FOR_GREETING:
        return true;
    }
    params->password = bytes_of(b->password, b->password_bytes);
    return true;
}

static uint8_t login_charset(const struct backend *b)
{
    struct lessee *first = list_empty(&b->pool->waiters)
                               ? NULL
                               : CONTAINER_OF(list_first(&b->pool->waiters), struct lessee, node);
    if (first && first->charset_number)
        return first->charset_number;
    return b->pool->target->charset;
}

static bool begin_login(struct backend *b)
{
    const struct backend_option *where = b->pool->target->where;
    struct login_params params = {
        .caps = caps_of(b),
        .want_tls = where->tls != TLS_OFF && b->pool->target->tls && !b->conn.is_unix,
        .need_tls = where->tls >= TLS_REQUIRE && !b->conn.is_unix,
        .safe_channel = b->conn.is_unix,
        .charset = login_charset(b),
    };
    if (b->pool->account)
        params.user = bytes_text(b->pool->account->name);
    if (!choose_secret(b, &params))
        return false;
    b->login = xmalloc(sizeof *b->login);
    login_begin(b->login, &params);
    return true;
}

static void end_login(struct backend *b)
{
    if (b->login) {
        login_fini(b->login);
        free(b->login);
        b->login = NULL;
    }
}

static void note_greeting(struct backend *b)
{
    struct target *t = b->pool->target;
    const struct mysql_greeting *g = &b->login->greeting;
    char version[sizeof t->version];
    (void)snprintf(version, sizeof version, "%.*s", (int)g->version.len,
                   (const char *)g->version.at);
    b->server_id = g->connection_id;
    if (t->known && strcmp(version, t->version) != 0)
        log_line(LOG_INFO, "server_version_changed", LOG_STR("backend", t->label),
                 LOG_STR("from", t->version), LOG_STR("to", version));
    target_on_greeting(t, version, g->charset);
}

static void login_done(struct backend *b)
{
    struct target *t = b->pool->target;
    uint64_t now = loop_now_ms(b->conn.loop);
    b->tls_on = b->login->tls_on;
    b->status = b->login->ok.status;
    b->last_insert_id = 0;
    b->last_insert_id_known = true;
    b->login_ok = true;
    t->answered = true;
    target_succeeded(t);
    end_login(b);
    if (b->born_ms == 0) {
        b->born_ms = now;
        b->max_age_ms = verdict_jitter_max_age_ms(t->options->mysql.max_age_ms, target_random());
    }
    pool_on_login(b);
}

static void login_refused(struct backend *b)
{
    struct mysql_err err = b->login->err;
    char message[512];
    (void)snprintf(message, sizeof message, "%.*s", (int)err.message.len,
                   (const char *)err.message.at);
    if (b->pool->target->known)
        target_heard(b->pool->target);
    pool_on_login_refused(b, err.code, err.sqlstate, bytes_text(message));
    char detail[600];
    (void)snprintf(detail, sizeof detail, "%u %s", err.code, message);
    backend_end(b, BACKEND_END_LOGIN_REFUSED, detail);
}

static void login_failed(struct backend *b, const char *why)
{
    target_failed(b->pool->target, why);
    backend_end(b, BACKEND_END_CONNECT_FAILED, why);
}

/* Sends what the login machine has written and follows its step. May end `b`. */
static void follow_login(struct backend *b)
{
    struct login *l = b->login;
    if (l->out_bytes) {
        size_t bytes = l->out_bytes;
        l->out_bytes = 0;
        if (conn_write_bytes(&b->conn, l->out, bytes) != 0) {
            login_failed(b, "connection lost during the login");
            return;
        }
    }
    switch (l->step) {
    case LOGIN_WAIT_GREETING:
    case LOGIN_WAIT_AUTH:
    case LOGIN_WAIT_KEY:
        return;
    case LOGIN_WAIT_TLS: {
        struct target *t = b->pool->target;
        struct tls *tls = tls_new_client(t->tls, t->where->host);
        if (!tls) {
            login_failed(b, "out of memory for TLS");
            return;
        }
        conn_start_tls(&b->conn, tls, bytes_of("", 0));
        return;
    }
    case LOGIN_OK:
        login_done(b);
        return;
    case LOGIN_REFUSED:
        login_refused(b);
        return;
    case LOGIN_FAILED:
        login_failed(b, l->why);
        return;
    }
}

/* One packet of the login. False when `b` is gone or the login is over. */
static bool login_packet(struct backend *b, uint8_t seq, struct bytes payload)
{
    bool first = b->login->step == LOGIN_WAIT_GREETING;
    login_on_packet(b->login, seq, payload);
    if (first && b->login->step != LOGIN_REFUSED && b->login->greeting.version.len) {
        note_greeting(b);
        if (b->purpose == BACKEND_FOR_GREETING) {
            target_succeeded(b->pool->target);
            backend_end(b, BACKEND_END_SURPLUS, NULL);
            return false;
        }
    }
    follow_login(b);
    return b->login && b->state == BACKEND_LOGIN;
}

static void login_read(struct backend *b, const uint8_t *at, size_t len)
{
    if (!iobuf_append(&b->in, bytes_of(at, len))) {
        login_failed(b, "login message too long");
        return;
    }
    for (;;) {
        uint8_t seq;
        struct bytes payload;
        size_t used;
        enum wire_result r =
            mysql_packet_read(iobuf_bytes(&b->in), BACKEND_REPLY_MAX_BYTES, &seq, &payload, &used);
        if (r == WIRE_MORE)
            return;
        if (r == WIRE_BAD) {
            login_failed(b, "what answered is not a MySQL server");
            return;
        }
        uint8_t copy[8192];
        if (payload.len > sizeof copy) {
            login_failed(b, "login message too long");
            return;
        }
        memcpy(copy, payload.at, payload.len);
        iobuf_consume(&b->in, used);
        if (!login_packet(b, seq, bytes_of(copy, payload.len)))
            return;
    }
}

void backend_prove_again(struct backend *b)
{
    struct login_params params = {.caps = caps_of(b),
                                  .user = bytes_text(b->pool->account->name),
                                  .charset = login_charset(b),
                                  .safe_channel = b->conn.is_unix};
    if (!choose_secret(b, &params)) {
        backend_end(b, BACKEND_END_RETIRED, "no secret to log in with any more");
        return;
    }
    pool_disown(b);
    session_state_fini(b->pool->target->names, &b->session);
    prepared_slots_clear(&b->slots, b->pool->prepared);
    b->settled = false;
    backend_move(b, BACKEND_LOGIN);
    b->deadline_ms = b->since_ms + (uint64_t)b->pool->target->options->mysql.connect_timeout_ms;
    b->login = xmalloc(sizeof *b->login);
    login_begin_change(b->login, &params, caps_of(b), b->tls_on, bytes_of("", 0));
    follow_login(b);
}

/* ---- what it is in ---- */

void backend_note_settings(struct backend *b)
{
    const struct settings *s = b->session.settings;
    struct bytes text =
        s ? names_text(b->pool->target->names, s->value[VARIABLE_wait_timeout]) : bytes_of("", 0);
    uint64_t seconds = 0;
    for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        seconds = seconds * 10 + (uint64_t)(text.at[i] - '0');
    if (seconds)
        b->wait_timeout_ms = seconds * 1000;
}

void backend_note_prepared(struct backend *b, uint32_t statement_id)
{
    struct prepared_use fresh = {0}; /* no types behind it yet */
    if (!b->lessee || !b->lessee->prepared)
        return;
    fresh.count = b->lessee->use.count;
    uint32_t surplus =
        prepared_slots_put(&b->slots, b->pool->prepared, b->lessee->prepared, statement_id, &fresh,
                           (uint32_t)b->pool->target->options->mysql.statement_cache);
    if (surplus)
        backend_close_statement(b, surplus);
}

void backend_close_statement(struct backend *b, uint32_t statement_id)
{
    struct ask_batch batch;
    ask_begin(&batch, b);
    ask_close_statement(&batch, statement_id);
    ask_send(&batch);
}

/* ---- the connection ---- */

static struct backend *backend_of(struct conn *c)
{
    return CONTAINER_OF(c, struct backend, conn);
}

static void drain_abandoned(struct backend *b, uint8_t *at, size_t len)
{
    struct mysql_reply_out out;
    while (len) {
        size_t used = 0;
        enum mysql_reply_event event = mysql_reply_feed(&b->reply, at, len, &used, &out);
        if (event == MYSQL_REPLY_BROKEN || event == MYSQL_REPLY_INFILE) {
            backend_end(b, BACKEND_END_ABANDONED, "reply could not be read to its end");
            return;
        }
        at += used;
        len -= used;
        if (event == MYSQL_REPLY_END) {
            b->statement_over = true;
            killer_on_statement_over(b);
            return;
        }
    }
}

static void on_read(struct conn *c, uint8_t *at, size_t len)
{
    struct backend *b = backend_of(c);
    uint64_t now = loop_now_ms(c->loop);
    b->last_proof_ms = now;
    b->pool->target->last_heard_ms = now;
    switch (b->state) {
    case BACKEND_LENT:
        if (!ask_pending(b)) {
            b->lessee->ops->on_backend_read(b->lessee, at, len);
            return;
        }
        ask_on_read(b, at, len);
        return;
    case BACKEND_LOGIN:
        login_read(b, at, len);
        return;
    case BACKEND_SETTLE:
    case BACKEND_PROBE:
    case BACKEND_RESET:
    case BACKEND_SIDE:
        ask_on_read(b, at, len);
        return;
    case BACKEND_ABANDONED:
        drain_abandoned(b, at, len);
        return;
    case BACKEND_IDLE: /* nobody asked: ERR 4031 before the end of file, or 1053 */
        backend_end(b, BACKEND_END_SERVER_CLOSED, "the server spoke out of turn");
        return;
    case BACKEND_CONNECT:
    case BACKEND_CLOSING:
    case BACKEND_STATES_COUNT:
        return;
    }
}

static void on_end(struct conn *c, int error)
{
    struct backend *b = backend_of(c);
    const char *detail = error ? uv_strerror(error) : "end of file";
    char text[300];
    if (error == UV_EPROTO && c->tls)
        detail = tls_error_text(c->tls);
    switch (b->state) {
    case BACKEND_LOGIN:
        (void)snprintf(text, sizeof text, "connection lost during the login: %s", detail);
        login_failed(b, text);
        return;
    case BACKEND_LENT:
    case BACKEND_ABANDONED:
        backend_end(b, BACKEND_END_LOST, detail);
        return;
    case BACKEND_CONNECT:
    case BACKEND_SETTLE:
    case BACKEND_IDLE:
    case BACKEND_PROBE:
    case BACKEND_RESET:
    case BACKEND_SIDE:
        backend_end(b, BACKEND_END_SERVER_CLOSED, detail);
        return;
    case BACKEND_CLOSING:
    case BACKEND_STATES_COUNT:
        return;
    }
}

static void on_drained(struct conn *c)
{
    struct backend *b = backend_of(c);
    if (b->state == BACKEND_LENT && b->lessee)
        b->lessee->ops->on_backend_drained(b->lessee);
}

static void on_closed(struct conn *c)
{
    struct backend *b = backend_of(c);
    pool_on_closed(b);
    end_login(b);
    wipe_password(b);
    iobuf_wipe(&b->in);
    iobuf_wipe(&b->request);
    mysql_reply_fini(&b->reply);
    free(b);
}

static void on_tls(struct conn *c)
{
    struct backend *b = backend_of(c);
    if (b->state != BACKEND_LOGIN || !b->login)
        return;
    login_tls_ready(b->login);
    follow_login(b);
}

static const struct conn_owner backend_conn_owner = {.on_read = on_read,
                                                     .on_end = on_end,
                                                     .on_drained = on_drained,
                                                     .on_closed = on_closed,
                                                     .on_tls = on_tls};

void backend_on_connected(struct backend *b, int error)
{
    if (b->state != BACKEND_CONNECT)
        return;
    if (!error && !b->conn.is_unix)
        (void)uv_tcp_nodelay(&b->conn.uv.tcp, 1);
    if (!error && !b->conn.is_unix)
        (void)uv_tcp_keepalive(&b->conn.uv.tcp, 1, 60);
    if (!error)
        error = conn_open(&b->conn);
    if (error) {
        login_failed(b, uv_strerror(error));
        return;
    }
    uint64_t deadline = b->deadline_ms;
    backend_move(b, BACKEND_LOGIN);
    b->deadline_ms = deadline; /* one limit for connect and login */
    if (!begin_login(b))
        backend_end(b, BACKEND_END_RETIRED, "no secret to log in with any more");
}

struct backend *backend_open(struct pool *pool, enum backend_purpose purpose, struct proof *proof)
{
    struct target *t = pool->target;
    struct backend *b = xcalloc(1, sizeof *b);
    list_node_init(&b->node);
    list_node_init(&b->kill_node);
    b->pool = pool;
    b->purpose = purpose;
    b->proof = proof;
    b->id = ++t->next_backend_id;
    b->state = BACKEND_CONNECT;
    b->since_ms = loop_now_ms(t->loop);
    b->deadline_ms = b->since_ms + (uint64_t)t->options->mysql.connect_timeout_ms;
    iobuf_init(&b->in, BACKEND_REPLY_MAX_BYTES);
    iobuf_init(&b->request, BACKEND_REQUEST_KEEP_BYTES);
    if (conn_init(&b->conn, t->loop, t->where->path != NULL, &backend_conn_owner) != 0)
        abort(); /* libuv allocates nothing here; it cannot fail */
    list_append(&pool->backends[BACKEND_CONNECT], &b->node);
    pool->open++;
    t->open_backends++;
    t->stats.connects++;
    target_connect(t, b);
    return b;
}

static void log_end(const struct backend *b, enum backend_end why, const char *detail)
{
    static const enum log_level level[] = {
#define X(id, word, lvl) lvl,
        BACKEND_ENDS(X)
#undef X
    };
    enum log_level at = b->purpose == BACKEND_FOR_POOL ? level[why] : LOG_DEBUG;
    log_line_limited(&b->pool->target->end_limit, at, "backend_closed",
                     LOG_STR("backend", b->pool->target->label), LOG_UINT("id", b->id),
                     LOG_STR("user", b->pool->account ? b->pool->account->name : ""),
                     LOG_STR("state", backend_state_word(b->state)),
                     LOG_STR("reason", backend_end_word(why)),
                     LOG_STR("detail", detail ? detail : ""));
}

void backend_end(struct backend *b, enum backend_end why, const char *detail)
{
    if (b->state == BACKEND_CLOSING)
        return;
    log_end(b, why, detail);
    if (b->login_ok && b->purpose == BACKEND_FOR_POOL)
        b->pool->target->stats.reconnects[why]++;
    struct lessee *lessee = b->lessee;
    enum backend_state was = b->state;
    pool_on_end(b, why);
    session_state_fini(b->pool->target->names, &b->session);
    session_state_fini(b->pool->target->names, &b->asked);
    prepared_slots_clear(&b->slots, b->pool->prepared);
    names_unref(b->pool->target->names, b->baseline_charset);
    b->baseline_charset = 0;
    /* An orderly goodbye where the server waits for a command, so that it does not count an aborted
     * client. */
    static const uint8_t quit[] = {1, 0, 0, 0, 1};
    if ((was == BACKEND_IDLE && why != BACKEND_END_SERVER_CLOSED) ||
        (b->login_ok && why == BACKEND_END_SURPLUS))
        (void)conn_write_bytes(&b->conn, quit, sizeof quit);
    backend_move(b, BACKEND_CLOSING);
    conn_close(&b->conn);
    pool_pump_later(b->pool);
    if (lessee)
        lessee->ops->on_backend_end(lessee, b, why);
}
