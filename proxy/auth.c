/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/auth.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool/breaks.h"
#include "pool/scramble.h"
#include "pool/tls.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_handshake.h"
#include "protocol/mysql_packet.h"
#include "proxy/console.h"
#include "proxy/session.h"

enum {
    AUTH_PACKET_MAX_BYTES = 16 * 1024,
    SHA2_FAST_OK = 3,
    SHA2_FULL = 4,
    SHA2_ASK_KEY = 2,
    AUTH_CAPS = MYSQL_CAP_LONG_PASSWORD | MYSQL_CAP_FOUND_ROWS | MYSQL_CAP_LONG_FLAG |
                MYSQL_CAP_CONNECT_WITH_DB | MYSQL_CAP_ODBC | MYSQL_CAP_LOCAL_FILES |
                MYSQL_CAP_IGNORE_SPACE | MYSQL_CAP_PROTOCOL_41 | MYSQL_CAP_INTERACTIVE |
                MYSQL_CAP_TRANSACTIONS | MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_MULTI_STATEMENTS |
                MYSQL_CAP_MULTI_RESULTS | MYSQL_CAP_PLUGIN_AUTH | MYSQL_CAP_CONNECT_ATTRS |
                MYSQL_CAP_PLUGIN_AUTH_LENENC,
};

enum step {
    STEP_RESPONSE, /* HandshakeResponse41 or SSLRequest */
    STEP_SWITCHED, /* the reply to our AuthSwitchRequest */
    STEP_SECRET,   /* the password, or the request for our key */
    STEP_KEY,      /* our key is still being made */
    STEP_DECRYPT,  /* a worker has it */
    STEP_PROOF,    /* the server is asked */
    STEP_DONE,
};

struct decrypt {
    uv_work_t req;
    struct auth *auth; /* NULL once the session is gone */
    struct session *session;
    const struct rsa_key *key;
    uint8_t cipher[RSA_KEY_CIPHER_BYTES];
    size_t cipher_bytes;
    uint8_t salt[SCRAMBLE_SALT_BYTES];
    char password[RSA_KEY_CIPHER_BYTES];
    size_t password_bytes;
    bool good;
    bool done;
};

struct auth {
    enum step step;
    bool native;        /* the plugin in force is mysql_native_password */
    bool trusted;       /* comes in with any password, or none */
    bool console;       /* where to: proxy/console.h */
    bool with_password; /* for the text of a refusal */
    uint8_t seq;        /* of our next packet */
    uint8_t salt[SCRAMBLE_SALT_BYTES];
    char user[MYSQL_NAME_MAX_BYTES + 1];
    size_t user_bytes;
    char schema[MYSQL_NAME_MAX_BYTES + 1];
    size_t schema_bytes;
    uint8_t charset;
    struct account *account;
    struct account *alone; /* the same when it is a user of the console: owned */
    struct decrypt *decrypt;
    struct session *session;
    struct proof_waiter proof;
    bool charged; /* the proof was counted as a guess */
    bool proof_came;
    enum proof_verdict proof_verdict;
    uint16_t err_code;
    char err_state[6];
    char err_text[512];
};

static uint32_t offered_caps(const struct session *s)
{
    return AUTH_CAPS | (s->proxy->listen_tls && !s->conn.is_unix ? MYSQL_CAP_SSL : 0);
}

static bool channel_is_safe(const struct session *s)
{
    return s->conn.tls || s->conn.is_unix;
}

static void send_payload(struct session *s, struct bytes payload)
{
    uint8_t packet[2048];
    struct wire_writer w = wire_writer(packet, sizeof packet);
    size_t begin = mysql_packet_begin(&w);
    wire_put(&w, payload);
    size_t n = mysql_packet_end(&w, begin, s->auth->seq++);
    assert(n);
    session_send(s, packet, n);
}

static void on_proven(struct proof_waiter *w, const struct proof_result *result)
{
    struct auth *a = CONTAINER_OF(w, struct auth, proof);
    a->proof_came = true;
    a->proof_verdict = result->verdict;
    a->err_code = result->code;
    (void)snprintf(a->err_state, sizeof a->err_state, "%s",
                   result->sqlstate ? result->sqlstate : "HY000");
    (void)snprintf(a->err_text, sizeof a->err_text, "%.*s", (int)result->message.len,
                   (const char *)result->message.at);
    session_poke(a->session);
}

static struct auth *new_auth(struct session *s)
{
    struct auth *a = xcalloc(1, sizeof *a);
    a->session = s;
    a->proof.on_proven = on_proven;
    list_node_init(&a->proof.node);
    scramble_salt(a->salt);
    return a;
}

void auth_begin(struct session *s)
{
    struct target *t = s->proxy->target;
    s->auth = new_auth(s);
    struct mysql_greeting g = {.version = bytes_text(t->version),
                               .connection_id = s->id,
                               .caps = offered_caps(s),
                               .charset = t->charset,
                               .status = t->fresh_status,
                               .plugin = bytes_text("caching_sha2_password")};
    memcpy(g.salt, s->auth->salt, sizeof g.salt);
    uint8_t packet[256];
    struct wire_writer w = wire_writer(packet, sizeof packet);
    size_t begin = mysql_packet_begin(&w);
    mysql_greeting_write(&w, &g);
    session_send(s, packet, mysql_packet_end(&w, begin, 0));
}

uint8_t auth_ok_seq(const struct session *s)
{
    return s->auth->seq;
}

void auth_free(struct session *s)
{
    struct auth *a = s->auth;
    if (!a)
        return;
    s->auth = NULL;
    account_stop_proof(&a->proof);
    account_free_alone(a->alone);
    if (a->decrypt) {
        a->decrypt->auth = NULL;
        a->decrypt->session = NULL;
    }
    scramble_wipe(a, sizeof *a);
    free(a);
}

/* ---- the verdict ---- */

static enum auth_result refuse(struct session *s, enum mysql_error e, const char *text)
{
    s->proxy->stats.login_failures++;
    session_send_error(s, s->auth->seq, e, text);
    return AUTH_REFUSED;
}

static uint32_t address_hash(const struct session *s)
{
    char name[80];
    uint32_t h = 2166136261u;
    conn_peer_name(&s->conn, name, sizeof name);
    char *port = strrchr(name, ':');
    if (port)
        *port = '\0';
    for (const char *c = name; *c; c++)
        h = (h ^ (uint8_t)*c) * 16777619u;
    return h;
}

/* In a server's own words: applications match on them. */
static enum auth_result deny(struct session *s)
{
    char text[400];
    char peer[80];
    conn_peer_name(&s->conn, peer, sizeof peer);
    char *port = strrchr(peer, ':');
    if (port)
        *port = '\0';
    guess_refused(&s->proxy->guesses, address_hash(s), loop_now_ms(s->proxy->loop));
    (void)snprintf(text, sizeof text, "Access denied for user '%s'@'%s' (using password: %s)",
                   s->auth->user, s->conn.is_unix ? "localhost" : peer,
                   s->auth->with_password ? "YES" : "NO");
    return refuse(s, MYSQL_ERROR_ACCESS_DENIED, text);
}

static enum auth_result let_in_console(struct session *s)
{
    char peer[80];
    conn_peer_name(&s->conn, peer, sizeof peer);
    log_line(LOG_INFO, "console_login", LOG_UINT("client", s->id & ~(uint32_t)SESSION_ID_BIT),
             LOG_STR("peer", peer), LOG_STR("user", s->auth->user));
    s->auth->step = STEP_DONE;
    s->console = true;
    return AUTH_ACCEPTED;
}

static enum auth_result let_in(struct session *s)
{
    struct auth *a = s->auth;
    if (a->console)
        return let_in_console(s);
    struct lessee *l = &s->lessee;
    struct names *names = s->proxy->target->names;
    s->account = a->account;
    s->account->sessions++;
    s->account->used_ms = loop_now_ms(s->proxy->loop);
    l->pool = pool_get(a->account, s->caps);
    l->charset_number = a->charset;
    l->ignores_space = (s->caps & MYSQL_CAP_IGNORE_SPACE) != 0;
    l->last_id_where = LAST_ID_KNOWN;
    l->last_insert_id = 0;
    if (!broken(RULE_CHANGE_USER_CLEARS_STATE))
        session_state_fini(names, &l->state);
    l->state.multi_statements = (s->caps & MYSQL_CAP_MULTI_STATEMENTS) != 0;
    session_state_set_schema(names, &l->state, bytes_of(a->schema, a->schema_bytes));
    a->step = STEP_DONE;
    return AUTH_ACCEPTED;
}

/* With users configured nobody else comes in, whatever the server would say. */
static bool is_shut(const struct session *s)
{
    return s->proxy->options->mysql.user_count > 0 && !s->auth->account->configured;
}

/* The password itself is known now. */
static enum auth_result check_password(struct session *s, struct bytes password)
{
    struct auth *a = s->auth;
    uint64_t now = loop_now_ms(s->proxy->loop);
    if (!is_shut(s) && account_check_password(a->account, password))
        return let_in(s);
    if (a->account->configured || is_shut(s))
        return deny(s);
    if (a->account->openness == ACCOUNT_OPEN)
        return refuse(s, MYSQL_ERROR_REFUSED,
                      "the server accepts any password for this account from here, so that a login "
                      "proves nothing; name the "
                      "user under `users` in sluice's configuration");
    if (!guess_allowed(&s->proxy->guesses, address_hash(s), now))
        return refuse(s, MYSQL_ERROR_LOGIN_RATE,
                      "too many refused logins from this address; wait some seconds");
    a->step = STEP_PROOF;
    a->charged = account_prove(a->account, s->caps, password, &a->proof);
    if (a->charged)
        guess_refused(&s->proxy->guesses, address_hash(s), now); /* given back when it was right */
    return AUTH_WAIT;
}

static enum auth_result on_proof(struct session *s)
{
    struct auth *a = s->auth;
    if (!a->proof_came)
        return AUTH_WAIT;
    if (a->charged && !(a->proof_verdict == PROOF_REFUSED && account_is_denial(a->err_code)))
        guess_forgiven(&s->proxy->guesses, address_hash(s));
    switch (a->proof_verdict) {
    case PROOF_GOOD:
        return let_in(s);
    case PROOF_REFUSED:
        s->proxy->stats.login_failures++;
        session_send_err(s, a->seq, a->err_code, a->err_state, bytes_text(a->err_text));
        return AUTH_REFUSED;
    case PROOF_OPEN:
        return refuse(s, MYSQL_ERROR_REFUSED,
                      "the server accepts any password for this account from here, so that a login "
                      "proves nothing; name the "
                      "user under `users` in sluice's configuration");
    case PROOF_FAILED:
        break;
    }
    char text[600];
    (void)snprintf(text, sizeof text,
                   "backend down: %s: %s; see that the server runs and is reachable from here",
                   s->proxy->target->label, a->err_text);
    return refuse(s, MYSQL_ERROR_BACKEND_DOWN, text);
}

/* ---- the plugins ---- */

static enum auth_result switch_to(struct session *s, const char *plugin)
{
    struct auth *a = s->auth;
    uint8_t payload[128];
    uint8_t salt[SCRAMBLE_SALT_BYTES + 1] = {0};
    scramble_salt(a->salt);
    memcpy(salt, a->salt, SCRAMBLE_SALT_BYTES);
    struct mysql_auth_switch change = {.plugin = bytes_text(plugin),
                                       .data = bytes_of(salt, sizeof salt)};
    struct wire_writer w = wire_writer(payload, sizeof payload);
    mysql_auth_switch_write(&w, &change);
    send_payload(s, bytes_of(payload, wire_written(&w)));
    a->native = strcmp(plugin, "mysql_native_password") == 0;
    a->step = STEP_SWITCHED;
    return AUTH_WAIT;
}

/* The first message of the plugin in force. */
static enum auth_result on_reply(struct session *s, struct bytes reply)
{
    static const uint8_t fast_ok[] = {1, SHA2_FAST_OK};
    static const uint8_t full[] = {1, SHA2_FULL};
    struct auth *a = s->auth;
    a->with_password = reply.len != 0;
    if (a->trusted) { /* a client that gave a password waits for a verdict on it */
        if (!a->native && reply.len > 1)
            send_payload(s, bytes_of(fast_ok, sizeof fast_ok));
        return let_in(s);
    }
    if (reply.len == 1 && reply.at[0] == 0) /* libmysqlclient's way of an empty password */
        reply.len = 0;
    if (reply.len == 0) {
        a->with_password = false;
        return check_password(s, bytes_of("", 0));
    }
    if (a->native)
        return account_check_native(a->account, reply, a->salt) ? let_in(s) : deny(s);
    if (!is_shut(s) && account_check_sha2(a->account, reply, a->salt)) {
        send_payload(s, bytes_of(fast_ok, sizeof fast_ok));
        return let_in(s);
    }
    send_payload(s, bytes_of(full, sizeof full));
    a->step = STEP_SECRET;
    return AUTH_WAIT;
}

static bool has_only_hash(const struct account *a)
{
    for (size_t i = 0; a && i < a->secret_count; i++)
        if (a->secrets[i].password)
            return false;
    return a && a->secret_count > 0;
}

static enum auth_result choose_plugin(struct session *s, struct bytes plugin, struct bytes reply)
{
    struct auth *a = s->auth;
    bool offers_native = bytes_equal(plugin, bytes_text("mysql_native_password"));
    if (has_only_hash(a->account)) {
        a->native = true;
        return offers_native ? on_reply(s, reply) : switch_to(s, "mysql_native_password");
    }
    if (bytes_equal(plugin, bytes_text("caching_sha2_password")))
        return on_reply(s, reply);
    /* A client too old for it can be checked as long as the secret is known. */
    if (offers_native && reply.len &&
        (a->trusted || (!is_shut(s) && account_check_native(a->account, reply, a->salt)))) {
        a->with_password = true;
        return let_in(s);
    }
    return switch_to(s, "caching_sha2_password");
}

static bool keep(char *out, size_t room, size_t *len, struct bytes text)
{
    if (text.len >= room)
        return false;
    if (text.len)
        memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    *len = text.len;
    return true;
}

static enum auth_result begin_user(struct session *s, struct bytes user, struct bytes schema)
{
    struct auth *a = s->auth;
    const struct backend_option *where = s->proxy->target->where;
    s->console = false;
    if (!keep(a->user, sizeof a->user, &a->user_bytes, user) ||
        !keep(a->schema, sizeof a->schema, &a->schema_bytes, schema))
        return AUTH_BAD;
    switch (console_entry_of(s, user, schema)) {
    case CONSOLE_FREE:
        a->console = a->trusted = true;
        return AUTH_WAIT;
    case CONSOLE_PASSWORD:
        a->console = true;
        a->account = a->alone = account_new_alone(s->proxy->target, console_user(s->proxy, user));
        return AUTH_WAIT;
    case CONSOLE_NOT_MEANT:
        break;
    }
    if (where->clients_trust && s->local_peer && where->user) {
        a->account = account_get(s->proxy->target, bytes_text(where->user));
        a->trusted = true;
        return AUTH_WAIT;
    }
    a->account = account_get(s->proxy->target, user);
    return AUTH_WAIT;
}

static enum auth_result start_tls(struct session *s, struct bytes early)
{
    struct tls *tls = s->proxy->listen_tls ? tls_new_server(s->proxy->listen_tls) : NULL;
    if (!tls || s->conn.tls) {
        tls_free(tls);
        return AUTH_BAD;
    }
    uint8_t copy[4096];
    if (early.len > sizeof copy) {
        tls_free(tls);
        return AUTH_BAD;
    }
    if (early.len)
        memcpy(copy, early.at, early.len); /* conn may read into where it lies */
    session_consume(s, s->view_len);
    conn_start_tls(&s->conn, tls, bytes_of(copy, early.len));
    return AUTH_WAIT;
}

static enum auth_result on_response(struct session *s, struct bytes payload)
{
    struct mysql_login l;
    if (mysql_login_read(payload, &l) != WIRE_DONE) {
        struct wire_reader r = wire_reader(payload);
        if (!(wire_u16(&r) & MYSQL_CAP_PROTOCOL_41))
            return refuse(s, MYSQL_ERROR_UNSUPPORTED_FLAG,
                          "clients before MySQL 4.1 are not served");
        return AUTH_BAD;
    }
    if (l.ssl_request)
        return start_tls(s, bytes_of(s->view_at, s->view_len));
    if (l.caps & (MYSQL_CAP_COMPRESS | MYSQL_CAP_ZSTD))
        return refuse(s, MYSQL_ERROR_UNSUPPORTED_FLAG,
                      "compression is not offered; switch it off in the client "
                      "(PDO::MYSQL_ATTR_COMPRESS, MYSQLI_CLIENT_COMPRESS)");
    if (s->tls_required && !channel_is_safe(s))
        return refuse(s, MYSQL_ERROR_REFUSED, "listen_tls = require: connect with TLS");
    s->caps = l.caps & offered_caps(s);
    s->auth->charset = l.charset;
    enum auth_result r = begin_user(s, l.user, l.schema);
    if (r != AUTH_WAIT)
        return r;
    return choose_plugin(s, l.plugin, l.auth);
}

enum auth_result auth_begin_change(struct session *s, struct bytes payload)
{
    struct mysql_change_user c;
    if (mysql_change_user_read(payload, s->caps, &c) != WIRE_DONE)
        return AUTH_BAD;
    s->auth = new_auth(s);
    s->auth->seq = 1;
    s->auth->charset = c.charset && c.charset < 256 ? (uint8_t)c.charset : s->lessee.charset_number;
    enum auth_result r = begin_user(s, c.user, c.schema);
    if (r != AUTH_WAIT)
        return r;
    return switch_to(s, has_only_hash(s->auth->account) ? "mysql_native_password"
                                                        : "caching_sha2_password");
}

/* ---- full authentication ---- */

static void decrypt_work(uv_work_t *req)
{
    struct decrypt *d = CONTAINER_OF(req, struct decrypt, req);
    d->good = rsa_key_decrypt_password(d->key, bytes_of(d->cipher, d->cipher_bytes), d->salt,
                                       d->password, &d->password_bytes);
}

static void decrypt_after(uv_work_t *req, int status)
{
    struct decrypt *d = CONTAINER_OF(req, struct decrypt, req);
    (void)status;
    d->done = true;
    if (d->session)
        session_poke(d->session);
    if (d->auth)
        d->auth->decrypt = NULL;
    scramble_wipe(d, sizeof *d);
    free(d);
}

static enum auth_result on_decrypted(struct session *s)
{
    struct decrypt *d = s->auth->decrypt;
    if (!d->done)
        return AUTH_WAIT;
    if (!d->good)
        return deny(s);
    return check_password(s, bytes_of(d->password, d->password_bytes));
}

static enum auth_result send_key(struct session *s)
{
    struct auth *a = s->auth;
    if (!s->proxy->rsa) {
        a->step = STEP_KEY;
        return AUTH_WAIT;
    }
    struct bytes pem = rsa_key_public_pem(s->proxy->rsa);
    uint8_t payload[1024];
    struct wire_writer w = wire_writer(payload, sizeof payload);
    wire_put_u8(&w, 1);
    wire_put(&w, pem);
    send_payload(s, bytes_of(payload, wire_written(&w)));
    a->step = STEP_SECRET;
    return AUTH_WAIT;
}

static enum auth_result on_secret(struct session *s, struct bytes payload)
{
    struct auth *a = s->auth;
    if (channel_is_safe(s)) {
        if (!payload.len || payload.at[payload.len - 1] != 0)
            return AUTH_BAD;
        enum auth_result r = check_password(s, bytes_of(payload.at, payload.len - 1));
        scramble_wipe((void *)payload.at,
                      payload.len); /* it lies in a buffer of ours, and is consumed */
        return r;
    }
    if (payload.len == 1 && payload.at[0] == SHA2_ASK_KEY)
        return send_key(s);
    if (!s->proxy->rsa || payload.len > RSA_KEY_CIPHER_BYTES)
        return AUTH_BAD;
    struct decrypt *d = xcalloc(1, sizeof *d);
    d->auth = a;
    d->session = s;
    d->key = s->proxy->rsa;
    d->cipher_bytes = payload.len;
    memcpy(d->cipher, payload.at, payload.len);
    memcpy(d->salt, a->salt, sizeof d->salt);
    a->decrypt = d;
    a->step = STEP_DECRYPT;
    if (uv_queue_work(&s->proxy->loop->uv, &d->req, decrypt_work, decrypt_after) != 0)
        abort(); /* only for a missing callback */
    return AUTH_WAIT;
}

void auth_key_ready(struct proxy *p)
{
    for (struct list_node *n = list_first(&p->sessions), *after; n; n = after) {
        struct session *s = CONTAINER_OF(n, struct session, node);
        after = list_after(&p->sessions, n);
        if (s->auth && s->auth->step == STEP_KEY)
            (void)send_key(s);
    }
}

/* ---- packets ---- */

static enum auth_result on_packet(struct session *s, struct bytes payload)
{
    switch (s->auth->step) {
    case STEP_RESPONSE:
        return on_response(s, payload);
    case STEP_SWITCHED:
        return on_reply(s, payload);
    case STEP_SECRET:
        return on_secret(s, payload);
    case STEP_KEY:
    case STEP_DECRYPT:
    case STEP_PROOF:
    case STEP_DONE:
        break;
    }
    return AUTH_BAD;
}

enum auth_result auth_step(struct session *s)
{
    struct auth *a = s->auth;
    if (a->step == STEP_DONE)
        return AUTH_ACCEPTED;
    if (a->step == STEP_PROOF)
        return on_proof(s);
    if (a->step == STEP_DECRYPT)
        return on_decrypted(s);
    if (a->step == STEP_KEY)
        return AUTH_WAIT;
    uint8_t seq;
    struct bytes payload;
    size_t used;
    switch (mysql_packet_read(bytes_of(s->view_at, s->view_len), AUTH_PACKET_MAX_BYTES, &seq,
                              &payload, &used)) {
    case WIRE_MORE:
        return AUTH_WAIT;
    case WIRE_BAD:
        return AUTH_BAD;
    case WIRE_DONE:
        break;
    }
    a->seq = (uint8_t)(seq + 1);
    session_consume(s, used);
    return on_packet(s, payload);
}
