/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/login.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pool/ed25519.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"

enum {
    SHA2_FAST_OK = 3,
    SHA2_FULL = 4,
    SHA2_ASK_KEY = 2,
    SHA256_ASK_KEY = 1,
    LOGIN_MAX_PACKET_BYTES =
        0x40000000,           /* what mysqlnd and the clients of both servers send at most */
    LOGIN_REPLY_BYTES = 1024, /* largest message of a plugin: RSA under 8192 bits */
};

static const char *const connect_attrs[][2] = {
    {"_client_name", "sluice"}, {"_client_version", SLUICE_VERSION}, {"program_name", "sluice"}};

static void fail(struct login *l, const char *why)
{
    l->step = LOGIN_FAILED;
    l->why = why;
}

static void send_payload(struct login *l, struct bytes payload)
{
    struct wire_writer w = wire_writer(l->out + l->out_bytes, sizeof l->out - l->out_bytes);
    size_t begin = mysql_packet_begin(&w);
    wire_put(&w, payload);
    size_t bytes = mysql_packet_end(&w, begin, l->seq++);
    if (!bytes)
        fail(l, "login message too long");
    l->out_bytes += bytes;
}

static void send_secret_clear(struct login *l)
{
    uint8_t clear[SCRAMBLE_PASSWORD_MAX_BYTES + 1];
    size_t len = l->params.password.len;
    if (len > SCRAMBLE_PASSWORD_MAX_BYTES) {
        fail(l, "password too long");
        return;
    }
    if (len)
        memcpy(clear, l->params.password.at, len);
    clear[len] = 0;
    send_payload(l, bytes_of(clear, len + 1));
    scramble_wipe(clear, sizeof clear);
}

static bool channel_is_safe(const struct login *l)
{
    return l->tls_on || l->params.safe_channel;
}

static bool lacks_password(struct login *l)
{
    if (!l->params.native_stage1)
        return false;
    fail(l, "only a mysql_native_password hash is configured for this user, and the server asks "
            "for another plugin");
    return true;
}

/* The first message of a plugin: its length in *len, false after fail(). */
static bool plugin_reply(struct login *l, struct bytes plugin, uint8_t *reply, size_t *len)
{
    *len = 0;
    if (bytes_equal(plugin, bytes_text("mysql_native_password"))) {
        if (l->params.native_stage1) {
            scramble_native_reply_stage1(l->params.native_stage1, l->salt, reply);
            *len = SCRAMBLE_NATIVE_BYTES;
        } else {
            *len = scramble_native_reply(l->params.password, l->salt, reply);
        }
        return true;
    }
    if (lacks_password(l))
        return false;
    if (bytes_equal(plugin, bytes_text("caching_sha2_password"))) {
        *len = scramble_sha2_reply(l->params.password, l->salt, reply);
        return true;
    }
    if (bytes_equal(plugin, bytes_text("client_ed25519"))) {
        char password[SCRAMBLE_PASSWORD_MAX_BYTES + 1] = {0};
        if (l->params.password.len > SCRAMBLE_PASSWORD_MAX_BYTES) {
            fail(l, "password too long");
            return false;
        }
        if (l->params.password.len)
            memcpy(password, l->params.password.at, l->params.password.len);
        int error = ed25519_reply(password, l->salt, l->salt_bytes, reply);
        scramble_wipe(password, sizeof password);
        if (error) {
            fail(l, error == -ENOENT ? "the server asks for ed25519, and the connector's plugin "
                                       "client_ed25519 is not installed"
                                     : "ed25519 failed");
            return false;
        }
        *len = ED25519_REPLY_BYTES;
        return true;
    }
    if (bytes_equal(plugin, bytes_text("sha256_password"))) {
        if (channel_is_safe(l)) {
            *len = l->params.password.len + 1;
            if (*len > LOGIN_REPLY_BYTES) {
                fail(l, "password too long");
                return false;
            }
            if (l->params.password.len)
                memcpy(reply, l->params.password.at, l->params.password.len);
            reply[*len - 1] = 0;
        } else {
            reply[0] = SHA256_ASK_KEY;
            *len = 1;
            l->key_is_sha256 = true;
            l->step = LOGIN_WAIT_KEY;
        }
        return true;
    }
    if (bytes_equal(plugin, bytes_text("mysql_clear_password")) && channel_is_safe(l)) {
        *len = l->params.password.len + 1;
        if (*len > LOGIN_REPLY_BYTES) {
            fail(l, "password too long");
            return false;
        }
        if (l->params.password.len)
            memcpy(reply, l->params.password.at, l->params.password.len);
        reply[*len - 1] = 0;
        return true;
    }
    fail(l, "the server asks for an authentication plugin that is not supported here (native, "
            "caching_sha2, sha256, ed25519 are)");
    return false;
}

static void take_salt(struct login *l, struct bytes salt)
{
    l->salt_bytes = salt.len < sizeof l->salt ? salt.len : sizeof l->salt;
    memset(l->salt, 0, sizeof l->salt);
    if (l->salt_bytes)
        memcpy(l->salt, salt.at, l->salt_bytes);
}

static struct bytes write_attrs(uint8_t *out, size_t room)
{
    struct wire_writer w = wire_writer(out, room);
    for (size_t i = 0; i < sizeof connect_attrs / sizeof connect_attrs[0]; i++) {
        wire_put_lenenc_bytes(&w, bytes_text(connect_attrs[i][0]));
        wire_put_lenenc_bytes(&w, bytes_text(connect_attrs[i][1]));
    }
    return bytes_of(out, wire_written(&w));
}

static void send_login(struct login *l, bool ssl_request)
{
    uint8_t reply[LOGIN_REPLY_BYTES];
    uint8_t attrs[256];
    size_t reply_bytes = 0;
    struct bytes plugin =
        l->greeting.plugin.len ? l->greeting.plugin : bytes_text("mysql_native_password");

    if (!ssl_request) {
        l->step = LOGIN_WAIT_AUTH;
        /* A plugin that we cannot do is not the end: the account may use another one, and the
         * server will say so. */
        bool known =
            bytes_equal(plugin, bytes_text("mysql_native_password")) ||
            (bytes_equal(plugin, bytes_text("caching_sha2_password")) && !l->params.native_stage1);
        if (!known)
            plugin = bytes_text("mysql_native_password");
        if (!plugin_reply(l, plugin, reply, &reply_bytes))
            return;
    }
    struct mysql_login answer = {.caps = l->caps,
                                 .max_packet_bytes = LOGIN_MAX_PACKET_BYTES,
                                 .charset = l->params.charset,
                                 .ssl_request = ssl_request,
                                 .user = l->params.user,
                                 .auth = bytes_of(reply, reply_bytes),
                                 .plugin = plugin,
                                 .attrs = write_attrs(attrs, sizeof attrs)};
    struct wire_writer w = wire_writer(l->out + l->out_bytes, sizeof l->out - l->out_bytes);
    size_t begin = mysql_packet_begin(&w);
    mysql_login_write(&w, &answer);
    size_t bytes = mysql_packet_end(&w, begin, l->seq++);
    scramble_wipe(reply, sizeof reply);
    if (!bytes)
        fail(l, "login message too long");
    l->out_bytes += bytes;
}

static void on_greeting(struct login *l, struct bytes payload)
{
    struct mysql_greeting g;
    if (mysql_greeting_read(payload, &g) != WIRE_DONE) {
        fail(l, "what answered is not a MySQL server (no protocol 10 greeting)");
        return;
    }
    /* Kept: the packet goes. */
    struct wire_writer w = wire_writer(l->greeting_text, sizeof l->greeting_text);
    size_t version = g.version.len < 80 ? g.version.len : 80;
    size_t plugin = g.plugin.len < 64 ? g.plugin.len : 64;
    wire_put(&w, bytes_of(g.version.at, version));
    wire_put(&w, bytes_of(g.plugin.at, plugin));
    g.version = bytes_of(l->greeting_text, version);
    g.plugin = bytes_of(l->greeting_text + version, plugin);
    l->greeting = g;
    take_salt(l, bytes_of(g.salt, MYSQL_SALT_BYTES));
    l->caps = l->params.caps & g.caps;
    if (!(g.caps & MYSQL_CAP_PLUGIN_AUTH) || !(g.caps & MYSQL_CAP_DEPRECATE_EOF) ||
        !(g.caps & MYSQL_CAP_SESSION_TRACK)) {
        fail(l, "the server is too old: sluice needs session tracking (MariaDB 10.2, MySQL 5.7 or "
                "later)");
        return;
    }
    if (l->params.want_tls && (g.caps & MYSQL_CAP_SSL)) {
        l->caps |= MYSQL_CAP_SSL;
        l->step = LOGIN_WAIT_TLS;
        send_login(l, true);
        return;
    }
    if (l->params.need_tls) {
        fail(l, "TLS is required by the configuration, and the server does not offer it");
        return;
    }
    send_login(l, false);
}

void login_tls_ready(struct login *l)
{
    assert(l->step == LOGIN_WAIT_TLS);
    l->tls_on = true;
    send_login(l, false);
}

static void on_switch(struct login *l, struct bytes payload)
{
    struct mysql_auth_switch s;
    uint8_t reply[LOGIN_REPLY_BYTES];
    size_t len = 0;
    if (payload.len == 1) {
        fail(l, "the server asks for the authentication of MySQL 4.0");
        return;
    }
    if (mysql_auth_switch_read(payload, &s) != WIRE_DONE) {
        fail(l, "broken AuthSwitchRequest");
        return;
    }
    take_salt(l, s.data);
    l->step = LOGIN_WAIT_AUTH;
    if (plugin_reply(l, s.plugin, reply, &len))
        send_payload(l, bytes_of(reply, len));
    scramble_wipe(reply, sizeof reply);
}

/* AuthMoreData of caching_sha2_password. */
static void on_more(struct login *l, struct bytes payload)
{
    static const uint8_t ask_key = SHA2_ASK_KEY;
    if (payload.len < 2) {
        fail(l, "broken AuthMoreData");
        return;
    }
    if (payload.at[1] == SHA2_FAST_OK)
        return;
    if (payload.at[1] != SHA2_FULL) {
        fail(l, "unknown AuthMoreData");
        return;
    }
    if (lacks_password(l))
        return;
    if (channel_is_safe(l)) {
        send_secret_clear(l);
        return;
    }
    l->step = LOGIN_WAIT_KEY;
    send_payload(l, bytes_of(&ask_key, 1));
}

static void on_key(struct login *l, struct bytes payload)
{
    uint8_t cipher[SCRAMBLE_RSA_MAX_BYTES];
    size_t len = 0;
    if (payload.len < 2 || payload.at[0] != 1) {
        fail(l, "the server did not send its RSA key");
        return;
    }
    int error = scramble_rsa_encrypt(bytes_of(payload.at + 1, payload.len - 1), l->params.password,
                                     l->salt, cipher, &len);
    if (error) {
        fail(l, error == -EMSGSIZE ? "password too long for the server's RSA key"
                                   : "the server's RSA key is not usable");
        return;
    }
    l->step = LOGIN_WAIT_AUTH;
    send_payload(l, bytes_of(cipher, len));
}

static void on_err(struct login *l, struct bytes payload)
{
    if (mysql_err_read(payload, &l->err) != WIRE_DONE) {
        fail(l, "broken ERR packet");
        return;
    }
    size_t len = l->err.message.len < sizeof l->err_text ? l->err.message.len : sizeof l->err_text;
    memcpy(l->err_text, l->err.message.at, len);
    l->err.message = bytes_of(l->err_text, len);
    l->step = LOGIN_REFUSED;
}

void login_begin(struct login *l, const struct login_params *params)
{
    memset(l, 0, sizeof *l);
    l->params = *params;
    l->step = LOGIN_WAIT_GREETING;
}

void login_begin_change(struct login *l, const struct login_params *params, uint32_t caps,
                        bool tls_on, struct bytes schema)
{
    uint8_t attrs[256];
    login_begin(l, params);
    l->caps = caps;
    l->tls_on = tls_on;
    l->step = LOGIN_WAIT_AUTH;
    /* Servers answer COM_CHANGE_USER with an AuthSwitchRequest and a new salt whatever comes along,
     * so nothing does. */
    struct mysql_change_user change = {.user = params->user,
                                       .schema = schema,
                                       .charset = params->charset,
                                       .plugin = bytes_text("mysql_native_password"),
                                       .attrs = write_attrs(attrs, sizeof attrs)};
    struct wire_writer w = wire_writer(l->out, sizeof l->out);
    size_t begin = mysql_packet_begin(&w);
    mysql_change_user_write(&w, caps, &change);
    l->out_bytes = mysql_packet_end(&w, begin, l->seq++);
    if (!l->out_bytes)
        fail(l, "login message too long");
}

void login_on_packet(struct login *l, uint8_t seq, struct bytes payload)
{
    l->seq = (uint8_t)(seq + 1);
    if (!payload.len) {
        fail(l, "empty packet during the login");
        return;
    }
    if (payload.at[0] == 0xFF) {
        on_err(l, payload);
        return;
    }
    switch (l->step) {
    case LOGIN_WAIT_GREETING:
        on_greeting(l, payload);
        return;
    case LOGIN_WAIT_KEY:
        if (payload.at[0] == 1) {
            on_key(l, payload);
            return;
        }
        break;
    case LOGIN_WAIT_AUTH:
        break;
    case LOGIN_WAIT_TLS:
    case LOGIN_OK:
    case LOGIN_REFUSED:
    case LOGIN_FAILED:
        fail(l, "the server sent a packet out of turn");
        return;
    }
    if (payload.at[0] == 0xFE)
        on_switch(l, payload);
    else if (payload.at[0] == 0x01)
        on_more(l, payload);
    else if (payload.at[0] == 0x00 && mysql_ok_read(payload, &l->ok) == WIRE_DONE)
        l->step = LOGIN_OK;
    else
        fail(l, "the server sent an unknown packet during the login");
}

void login_fini(struct login *l)
{
    scramble_wipe(l, sizeof *l);
}
