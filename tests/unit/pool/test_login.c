/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/login.c: the login machine against payloads that a server would send, and what it writes,
 * read back with the server's half of protocol/mysql_handshake.h. */
#include "pool/login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pool/scramble.h"
#include "protocol/mysql_caps.h"
#include "protocol/mysql_packet.h"

#define NATIVE  "mysql_native_password"
#define SHA2    "caching_sha2_password"
#define SHA256  "sha256_password"
#define CLEAR   "mysql_clear_password"
#define ED25519 "client_ed25519"

enum {
    CAPS = MYSQL_CAP_LONG_PASSWORD | MYSQL_CAP_PROTOCOL_41 | MYSQL_CAP_SECURE_CONNECTION |
           MYSQL_CAP_PLUGIN_AUTH | MYSQL_CAP_PLUGIN_AUTH_LENENC | MYSQL_CAP_CONNECT_ATTRS |
           MYSQL_CAP_SESSION_TRACK | MYSQL_CAP_DEPRECATE_EOF,
};

static const uint8_t salt_one[] = "abcdefghijklmnopqrst";
static const uint8_t salt_two[] = "ABCDEFGHIJKLMNOPQRST";
static const char password[] = "s3cret";

static struct login login;

static struct login_params params_of(const char *pass)
{
    return (struct login_params){
        .user = bytes_text("app"), .password = bytes_text(pass), .caps = CAPS, .charset = 45};
}

/* ---- the server's side ---- */

static void say_greeting(uint32_t caps, const char *plugin)
{
    uint8_t payload[256];
    struct mysql_greeting g = {.version = bytes_text("8.4.0"),
                               .connection_id = 77,
                               .caps = caps,
                               .charset = 255,
                               .status = 2,
                               .plugin = bytes_text(plugin)};
    memcpy(g.salt, salt_one, MYSQL_SALT_BYTES);
    struct wire_writer w = wire_writer(payload, sizeof payload);
    mysql_greeting_write(&w, &g);
    login_on_packet(&login, 0, bytes_of(payload, wire_written(&w)));
}

static void say_switch(uint8_t seq, const char *plugin, struct bytes data)
{
    uint8_t payload[256];
    struct mysql_auth_switch s = {.plugin = bytes_text(plugin), .data = data};
    struct wire_writer w = wire_writer(payload, sizeof payload);
    mysql_auth_switch_write(&w, &s);
    login_on_packet(&login, seq, bytes_of(payload, wire_written(&w)));
}

static struct bytes salt_bytes(const uint8_t *salt)
{
    return bytes_of(salt, MYSQL_SALT_BYTES);
}

static void say(uint8_t seq, const char *payload, size_t len)
{
    login_on_packet(&login, seq, bytes_of(payload, len));
}
#define SAY(seq, text) say(seq, text, sizeof text - 1)

static const char ok_payload[] = "\0\0\0\2\0\0\0";

static void say_ok(uint8_t seq)
{
    SAY(seq, ok_payload);
}

/* The one packet that was written since; its sequence id must be the next one. */
static struct bytes written(uint8_t seq)
{
    uint8_t got_seq = 0xEE;
    struct bytes payload = {0};
    size_t used = 0;
    assert_int_equal(mysql_packet_read(bytes_of(login.out, login.out_bytes), sizeof login.out,
                                       &got_seq, &payload, &used),
                     WIRE_DONE);
    assert_int_equal(used, login.out_bytes);
    assert_int_equal(got_seq, seq);
    login.out_bytes = 0;
    return payload;
}

static struct mysql_login written_login(uint8_t seq)
{
    struct mysql_login answer;
    assert_int_equal(mysql_login_read(written(seq), &answer), WIRE_DONE);
    return answer;
}

static void assert_is(struct bytes got, const void *expected, size_t len)
{
    assert_int_equal(got.len, len);
    if (len)
        assert_memory_equal(got.at, expected, len);
}

static void assert_native(struct bytes reply, const uint8_t *salt, const char *pass)
{
    uint8_t hash[SCRAMBLE_NATIVE_BYTES];
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    scramble_native_hash(bytes_text(pass), hash);
    assert_true(scramble_native_check(reply, salt, hash, stage1));
}

static void assert_sha2(struct bytes reply, const uint8_t *salt, const char *pass)
{
    uint8_t verifier[SCRAMBLE_SHA2_BYTES];
    scramble_sha2_verifier(bytes_text(pass), verifier);
    assert_true(scramble_sha2_check(reply, salt, verifier));
}

static void assert_failed(const char *words)
{
    assert_int_equal(login.step, LOGIN_FAILED);
    assert_non_null(login.why);
    if (!strstr(login.why, words))
        fail_msg("\"%s\" does not say \"%s\"", login.why, words);
}

static void begin(const struct login_params *params)
{
    login_begin(&login, params);
    assert_int_equal(login.step, LOGIN_WAIT_GREETING);
    assert_int_equal(login.out_bytes, 0);
}

/* Up to our first answer, in clear. */
static struct mysql_login greeted(const struct login_params *params, const char *plugin)
{
    begin(params);
    say_greeting(CAPS, plugin);
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    return written_login(1);
}

static int teardown(void **state)
{
    (void)state;
    login_fini(&login);
    return 0;
}

/* ---- the greeting ---- */

static void native_is_answered_in_one_packet(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    struct mysql_login l = greeted(&p, NATIVE);
    assert_int_equal(l.caps, CAPS);
    assert_int_equal(l.charset, 45);
    assert_false(l.ssl_request);
    assert_is(l.user, "app", 3);
    assert_is(l.plugin, NATIVE, sizeof NATIVE - 1);
    assert_int_equal(l.schema.len, 0);
    assert_native(l.auth, salt_one, password);
    assert_non_null(memmem(l.attrs.at, l.attrs.len, "program_name", 12));
    say_ok(2);
    assert_int_equal(login.step, LOGIN_OK);
    assert_int_equal(login.ok.status, 2);
    assert_int_equal(login.out_bytes, 0);
}

static void the_greeting_is_kept_when_its_packet_goes(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    assert_is(login.greeting.version, "8.4.0", 5);
    assert_is(login.greeting.plugin, NATIVE, sizeof NATIVE - 1);
    assert_int_equal(login.greeting.connection_id, 77);
    assert_int_equal(login.greeting.charset, 255);
}

static void long_versions_are_cut(void **state)
{
    static uint8_t payload[4096];
    static char version[2000];
    (void)state;
    memset(version, 'v', sizeof version - 1);
    struct login_params p = params_of(password);
    begin(&p);
    struct mysql_greeting g = {
        .version = bytes_text(version), .caps = CAPS, .plugin = bytes_text(NATIVE)};
    struct wire_writer w = wire_writer(payload, sizeof payload);
    mysql_greeting_write(&w, &g);
    login_on_packet(&login, 0, bytes_of(payload, wire_written(&w)));
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    assert_int_equal(login.greeting.version.len, 80);
    assert_is(login.greeting.plugin, NATIVE, sizeof NATIVE - 1);
}

static void only_flags_that_the_server_has_are_agreed_on(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.caps |= MYSQL_CAP_LOCAL_FILES | MYSQL_CAP_FOUND_ROWS;
    begin(&p);
    say_greeting(CAPS | MYSQL_CAP_FOUND_ROWS | MYSQL_CAP_COMPRESS, NATIVE);
    assert_int_equal(login.caps, CAPS | MYSQL_CAP_FOUND_ROWS);
    assert_int_equal(written_login(1).caps, CAPS | MYSQL_CAP_FOUND_ROWS);
}

static void an_empty_password_is_an_empty_reply(void **state)
{
    static const char *const plugins[] = {NATIVE, SHA2};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct login_params p = params_of("");
        struct mysql_login l = greeted(&p, plugins[i]);
        assert_int_equal(l.auth.len, 0);
        say_ok(2);
        assert_int_equal(login.step, LOGIN_OK);
    }
}

static void an_err_in_place_of_the_greeting_is_a_refusal(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    begin(&p);
    SAY(0, "\xFF\x10\x04Too many connections"); /* without a state, as servers send it here */
    assert_int_equal(login.step, LOGIN_REFUSED);
    assert_int_equal(login.err.code, 1040);
    assert_string_equal(login.err.sqlstate, "HY000");
    assert_is(login.err.message, "Too many connections", 20);
}

static void what_is_no_greeting_fails(void **state)
{
    static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    (void)state;
    struct login_params p = params_of(password);
    begin(&p);
    SAY(0, http);
    assert_failed("not a MySQL server");
}

static void every_shorter_greeting_fails(void **state)
{
    uint8_t payload[256];
    struct mysql_greeting g = {
        .version = bytes_text("8.4.0"), .caps = CAPS, .plugin = bytes_text(NATIVE)};
    (void)state;
    struct wire_writer w = wire_writer(payload, sizeof payload);
    mysql_greeting_write(&w, &g);
    struct login_params p = params_of(password);
    for (size_t n = 0; n < wire_written(&w) - sizeof NATIVE; n++) {
        begin(&p);
        login_on_packet(&login, 0, bytes_of(payload, n));
        assert_int_equal(login.step, LOGIN_FAILED);
        assert_int_equal(login.out_bytes, 0);
    }
}

static void a_server_without_what_is_needed_is_too_old(void **state)
{
    static const uint32_t needed[] = {MYSQL_CAP_PLUGIN_AUTH, MYSQL_CAP_DEPRECATE_EOF,
                                      MYSQL_CAP_SESSION_TRACK};
    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        struct login_params p = params_of(password);
        begin(&p);
        say_greeting(CAPS & ~needed[i], NATIVE);
        assert_failed("too old");
        assert_int_equal(login.out_bytes, 0); /* no word of the secret */
    }
}

/* ---- TLS ---- */

static void tls_comes_before_the_login(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.want_tls = p.need_tls = true;
    begin(&p);
    say_greeting(CAPS | MYSQL_CAP_SSL, SHA2);
    assert_int_equal(login.step, LOGIN_WAIT_TLS);
    struct mysql_login request = written_login(1);
    assert_true(request.ssl_request);
    assert_int_equal(request.caps, CAPS | MYSQL_CAP_SSL);
    assert_false(login.tls_on);
    login_tls_ready(&login);
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    struct mysql_login l = written_login(2);
    assert_false(l.ssl_request);
    assert_true(l.caps & MYSQL_CAP_SSL);
    assert_sha2(l.auth, salt_one, password);
    /* Full authentication: the channel is safe now. */
    SAY(3, "\1\4");
    assert_is(written(4), password, sizeof password);
    say_ok(5);
    assert_int_equal(login.step, LOGIN_OK);
}

static void tls_that_is_not_offered_is_done_without_unless_needed(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.want_tls = true;
    struct mysql_login l = greeted(&p, NATIVE);
    assert_false(l.caps & MYSQL_CAP_SSL);
    assert_false(login.tls_on);
    p.need_tls = true;
    begin(&p);
    say_greeting(CAPS, NATIVE);
    assert_failed("TLS is required");
    assert_int_equal(login.out_bytes, 0);
}

static void tls_that_is_not_wanted_is_not_asked_for(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    begin(&p);
    say_greeting(CAPS | MYSQL_CAP_SSL, NATIVE);
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    assert_false(written_login(1).caps & MYSQL_CAP_SSL);
}

static void nothing_may_come_in_clear_once_tls_was_asked_for(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.want_tls = true;
    begin(&p);
    say_greeting(CAPS | MYSQL_CAP_SSL, NATIVE);
    (void)written(1);
    say_switch(2, CLEAR, bytes_of("", 0));
    assert_failed("out of turn");
    assert_int_equal(login.out_bytes, 0);
}

/* ---- caching_sha2_password ---- */

static void sha2_fast_ends_in_ok(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    struct mysql_login l = greeted(&p, SHA2);
    assert_is(l.plugin, SHA2, sizeof SHA2 - 1);
    assert_sha2(l.auth, salt_one, password);
    SAY(2, "\1\3");
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    assert_int_equal(login.out_bytes, 0);
    say_ok(3);
    assert_int_equal(login.step, LOGIN_OK);
}

static void sha2_full_goes_in_clear_over_a_safe_channel(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.safe_channel = true;
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    assert_is(written(3), password, sizeof password); /* with its NUL */
    say_ok(4);
    assert_int_equal(login.step, LOGIN_OK);
}

static struct bytes key_message(const struct rsa_key *key, uint8_t *out, size_t room)
{
    struct bytes pem = rsa_key_public_pem(key);
    assert_true(pem.len < room);
    out[0] = 1;
    memcpy(out + 1, pem.at, pem.len);
    return bytes_of(out, pem.len + 1);
}

static void assert_encrypts(const struct rsa_key *key, struct bytes cipher, const uint8_t *salt)
{
    char clear[RSA_KEY_CIPHER_BYTES];
    size_t len = 0;
    assert_true(rsa_key_decrypt_password(key, cipher, salt, clear, &len));
    assert_is(bytes_of(clear, len), password, sizeof password - 1);
}

static void sha2_full_goes_under_the_servers_key_over_plain_tcp(void **state)
{
    uint8_t message[2048];
    (void)state;
    struct rsa_key *key = rsa_key_new();
    struct login_params p = params_of(password);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    assert_int_equal(login.step, LOGIN_WAIT_KEY);
    assert_is(written(3), "\2", 1);
    login_on_packet(&login, 4, key_message(key, message, sizeof message));
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    assert_encrypts(key, written(5), salt_one);
    say_ok(6);
    assert_int_equal(login.step, LOGIN_OK);
    rsa_key_free(key);
}

static void a_key_that_is_none_fails(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    (void)written(3);
    SAY(4, "\1-----BEGIN PUBLIC KEY-----\nnonsense\n");
    assert_failed("not usable");
    assert_int_equal(login.out_bytes, 0);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    (void)written(3);
    SAY(4, "\1");
    assert_failed("did not send its RSA key");
}

static void a_password_too_long_for_the_key_is_said(void **state)
{
    uint8_t message[2048];
    static char longer[300];
    (void)state;
    memset(longer, 'p', sizeof longer - 1);
    struct rsa_key *key = rsa_key_new();
    struct login_params p = params_of(longer);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    (void)written(3);
    login_on_packet(&login, 4, key_message(key, message, sizeof message));
    assert_failed("too long");
    rsa_key_free(key);
}

static void an_ok_may_come_in_place_of_the_key(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    (void)written(3);
    say_ok(4);
    assert_int_equal(login.step, LOGIN_OK);
}

static void unknown_more_data_fails(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, SHA2);
    SAY(2, "\1\7");
    assert_failed("unknown AuthMoreData");
    (void)greeted(&p, SHA2);
    SAY(2, "\1");
    assert_failed("broken AuthMoreData");
}

static void passwords_beyond_the_limit_do_not_go_in_clear(void **state)
{
    static char longest[SCRAMBLE_PASSWORD_MAX_BYTES + 1];
    static char longer[SCRAMBLE_PASSWORD_MAX_BYTES + 2];
    (void)state;
    memset(longest, 'p', sizeof longest - 1);
    memset(longer, 'p', sizeof longer - 1);
    struct login_params p = params_of(longest);
    p.safe_channel = true;
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    assert_is(written(3), longest, sizeof longest);
    p = params_of(longer);
    p.safe_channel = true;
    (void)greeted(&p, SHA2);
    SAY(2, "\1\4");
    assert_failed("too long");
}

/* ---- AuthSwitchRequest ---- */

static void a_switch_is_answered_with_its_own_salt(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, SHA2);
    say_switch(2, NATIVE, salt_bytes(salt_two));
    assert_native(written(3), salt_two, password);
    say_ok(4);
    assert_int_equal(login.step, LOGIN_OK);

    (void)greeted(&p, NATIVE);
    say_switch(2, SHA2, salt_bytes(salt_two));
    assert_sha2(written(3), salt_two, password);
    SAY(4, "\1\3");
    say_ok(5);
    assert_int_equal(login.step, LOGIN_OK);
}

static void a_switch_in_the_key_exchange_uses_its_salt_too(void **state)
{
    uint8_t message[2048];
    (void)state;
    struct rsa_key *key = rsa_key_new();
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say_switch(2, SHA2, salt_bytes(salt_two));
    (void)written(3);
    SAY(4, "\1\4");
    (void)written(5);
    login_on_packet(&login, 6, key_message(key, message, sizeof message));
    assert_encrypts(key, written(7), salt_two);
    rsa_key_free(key);
}

static void sha256_goes_in_clear_or_under_a_key(void **state)
{
    uint8_t message[2048];
    (void)state;
    struct rsa_key *key = rsa_key_new();
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say_switch(2, SHA256, salt_bytes(salt_two));
    assert_int_equal(login.step, LOGIN_WAIT_KEY);
    assert_is(written(3), "\1", 1);
    login_on_packet(&login, 4, key_message(key, message, sizeof message));
    assert_encrypts(key, written(5), salt_two);
    say_ok(6);
    assert_int_equal(login.step, LOGIN_OK);
    rsa_key_free(key);

    p.safe_channel = true;
    (void)greeted(&p, NATIVE);
    say_switch(2, SHA256, salt_bytes(salt_two));
    assert_is(written(3), password, sizeof password);

    p.password = bytes_of(NULL, 0);
    (void)greeted(&p, NATIVE);
    say_switch(2, SHA256, salt_bytes(salt_two));
    assert_is(written(3), "", 1);
}

static void sha256_refuses_a_password_beyond_its_message(void **state)
{
    static char longer[1024 + 1];
    (void)state;
    memset(longer, 'p', sizeof longer - 1);
    struct login_params p = params_of(longer);
    p.safe_channel = true;
    (void)greeted(&p, NATIVE);
    say_switch(2, SHA256, salt_bytes(salt_two));
    assert_failed("too long");
}

static void clear_text_goes_over_a_safe_channel_only(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say_switch(2, CLEAR, bytes_of("", 0));
    assert_failed("not supported");
    assert_int_equal(login.out_bytes, 0);
    p.safe_channel = true;
    (void)greeted(&p, NATIVE);
    say_switch(2, CLEAR, bytes_of("", 0));
    assert_is(written(3), password, sizeof password);
}

/* With the plugin of the connector installed its 64 bytes, else a sentence that names it. */
static void ed25519_is_answered_or_said_to_be_missing(void **state)
{
    static const uint8_t salt[32] = {1, 2, 3};
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say_switch(2, ED25519, bytes_of(salt, sizeof salt));
    if (login.step == LOGIN_FAILED) {
        assert_failed("ed25519");
        assert_int_equal(login.out_bytes, 0);
    } else {
        assert_int_equal(written(3).len, 64);
    }
    static char longer[SCRAMBLE_PASSWORD_MAX_BYTES + 2];
    memset(longer, 'p', sizeof longer - 1);
    p = params_of(longer);
    (void)greeted(&p, NATIVE);
    say_switch(2, ED25519, bytes_of(salt, sizeof salt));
    assert_failed("too long");
}

static void an_unknown_plugin_fails_and_tells_nothing(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    p.safe_channel = true;
    (void)greeted(&p, NATIVE);
    say_switch(2, "authentication_kerberos_client", salt_bytes(salt_two));
    assert_failed("not supported");
    assert_int_equal(login.out_bytes, 0);
}

static void an_unknown_plugin_in_the_greeting_is_not_the_end(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    struct mysql_login l = greeted(&p, "dialog");
    assert_is(l.plugin, NATIVE, sizeof NATIVE - 1);
    assert_native(l.auth, salt_one, password);
    l = greeted(&p, ""); /* none named */
    assert_is(l.plugin, NATIVE, sizeof NATIVE - 1);
}

static void broken_switches_fail(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    SAY(2, "\xFE");
    assert_failed("MySQL 4.0");
    (void)greeted(&p, NATIVE);
    SAY(2, "\xFEmysql_native"); /* no NUL */
    assert_failed("broken AuthSwitchRequest");
}

/* ---- a hash in place of a password ---- */

static void stage1_logs_in_to_native(void **state)
{
    uint8_t stage1[SCRAMBLE_NATIVE_BYTES];
    (void)state;
    scramble_native_stage1(bytes_text(password), stage1);
    struct login_params p = params_of("");
    p.native_stage1 = stage1;
    struct mysql_login l = greeted(&p, NATIVE);
    assert_native(l.auth, salt_one, password);
    /* The greeting's plugin is the server's default, not the account's. */
    l = greeted(&p, SHA2);
    assert_is(l.plugin, NATIVE, sizeof NATIVE - 1);
    assert_native(l.auth, salt_one, password);
    say_switch(2, NATIVE, salt_bytes(salt_two));
    assert_native(written(3), salt_two, password);
}

static void stage1_logs_in_to_nothing_else(void **state)
{
    static const char *const others[] = {SHA2, SHA256, CLEAR, ED25519};
    static const uint8_t stage1[SCRAMBLE_NATIVE_BYTES] = {1};
    (void)state;
    struct login_params p = params_of("");
    p.native_stage1 = stage1;
    p.safe_channel = true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)greeted(&p, NATIVE);
        say_switch(2, others[i], salt_bytes(salt_two));
        assert_failed("only a mysql_native_password hash");
        assert_int_equal(login.out_bytes, 0);
    }
    (void)greeted(&p, NATIVE);
    SAY(2, "\1\4");
    assert_failed("only a mysql_native_password hash");
}

/* ---- refusals and disorder ---- */

static void a_refusal_keeps_the_servers_words(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    char payload[] = "\xFF\x15\x04#28000Access denied";
    SAY(2, payload);
    memset(payload, 'x', sizeof payload);
    assert_int_equal(login.step, LOGIN_REFUSED);
    assert_int_equal(login.err.code, 1045);
    assert_string_equal(login.err.sqlstate, "28000");
    assert_is(login.err.message, "Access denied", 13);
}

static void long_refusals_are_cut(void **state)
{
    static char payload[2000];
    (void)state;
    memset(payload, 'x', sizeof payload);
    memcpy(payload, "\xFF\x15\x04#28000", 9);
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say(2, payload, sizeof payload);
    assert_int_equal(login.step, LOGIN_REFUSED);
    assert_int_equal(login.err.message.len, sizeof login.err_text);
}

static void broken_packets_fail(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    SAY(2, "\xFF\x15");
    assert_failed("broken ERR");
    (void)greeted(&p, NATIVE);
    SAY(2, "");
    assert_failed("empty packet");
    (void)greeted(&p, NATIVE);
    SAY(2, "\0\0"); /* half of an OK */
    assert_failed("unknown packet");
    (void)greeted(&p, NATIVE);
    SAY(2, "\x42");
    assert_failed("unknown packet");
}

static void nothing_comes_behind_the_end(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    say_ok(2);
    say_ok(3);
    assert_failed("out of turn");
    say_ok(4);
    assert_failed("out of turn");
    (void)greeted(&p, NATIVE);
    SAY(2, "\xFF\x15\x04#28000no");
    say_ok(3);
    assert_failed("out of turn");
}

static void a_user_too_long_for_the_message_fails(void **state)
{
    static char user[LOGIN_OUT_BYTES];
    (void)state;
    memset(user, 'u', sizeof user - 1);
    struct login_params p = params_of(password);
    p.user = bytes_text(user);
    begin(&p);
    say_greeting(CAPS, NATIVE);
    assert_failed("too long");
    assert_int_equal(login.out_bytes, 0);
    login_begin_change(&login, &p, CAPS, false, bytes_text(""));
    assert_failed("too long");
}

/* ---- COM_CHANGE_USER ---- */

static void change_user_is_a_new_command_without_a_reply(void **state)
{
    struct mysql_change_user c;
    (void)state;
    struct login_params p = params_of(password);
    login_begin_change(&login, &p, CAPS, false, bytes_text("shop"));
    assert_int_equal(login.step, LOGIN_WAIT_AUTH);
    assert_int_equal(mysql_change_user_read(written(0), CAPS, &c), WIRE_DONE);
    assert_is(c.user, "app", 3);
    assert_is(c.schema, "shop", 4);
    assert_int_equal(c.charset, 45);
    assert_int_equal(c.auth.len, 0);
    assert_is(c.plugin, NATIVE, sizeof NATIVE - 1);
    assert_non_null(memmem(c.attrs.at, c.attrs.len, "program_name", 12));
}

static void change_user_goes_on_like_a_login(void **state)
{
    uint8_t message[2048];
    (void)state;
    struct login_params p = params_of(password);
    login_begin_change(&login, &p, CAPS, false, bytes_text(""));
    (void)written(0);
    say_switch(1, NATIVE, salt_bytes(salt_two));
    assert_native(written(2), salt_two, password);
    say_ok(3);
    assert_int_equal(login.step, LOGIN_OK);

    struct rsa_key *key = rsa_key_new();
    login_begin_change(&login, &p, CAPS, false, bytes_text(""));
    (void)written(0);
    say_switch(1, SHA2, salt_bytes(salt_two));
    assert_sha2(written(2), salt_two, password);
    SAY(3, "\1\4");
    assert_is(written(4), "\2", 1); /* no TLS: asks for the key */
    login_on_packet(&login, 5, key_message(key, message, sizeof message));
    assert_encrypts(key, written(6), salt_two);
    rsa_key_free(key);
}

static void change_user_over_tls_may_speak_clear(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    login_begin_change(&login, &p, CAPS, true, bytes_text(""));
    (void)written(0);
    say_switch(1, SHA2, salt_bytes(salt_two));
    (void)written(2);
    SAY(3, "\1\4");
    assert_is(written(4), password, sizeof password);
}

static void change_user_may_be_refused(void **state)
{
    (void)state;
    struct login_params p = params_of(password);
    login_begin_change(&login, &p, CAPS, false, bytes_text(""));
    (void)written(0);
    SAY(1, "\xFF\x15\x04#28000no");
    assert_int_equal(login.step, LOGIN_REFUSED);
}

static void the_end_wipes(void **state)
{
    static const struct login zeros;
    (void)state;
    struct login_params p = params_of(password);
    (void)greeted(&p, NATIVE);
    login_fini(&login);
    assert_memory_equal(&login, &zeros, sizeof login);
}

#define LOGIN_TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOGIN_TEST(native_is_answered_in_one_packet),
        LOGIN_TEST(the_greeting_is_kept_when_its_packet_goes),
        LOGIN_TEST(long_versions_are_cut),
        LOGIN_TEST(only_flags_that_the_server_has_are_agreed_on),
        LOGIN_TEST(an_empty_password_is_an_empty_reply),
        LOGIN_TEST(an_err_in_place_of_the_greeting_is_a_refusal),
        LOGIN_TEST(what_is_no_greeting_fails),
        LOGIN_TEST(every_shorter_greeting_fails),
        LOGIN_TEST(a_server_without_what_is_needed_is_too_old),
        LOGIN_TEST(tls_comes_before_the_login),
        LOGIN_TEST(tls_that_is_not_offered_is_done_without_unless_needed),
        LOGIN_TEST(tls_that_is_not_wanted_is_not_asked_for),
        LOGIN_TEST(nothing_may_come_in_clear_once_tls_was_asked_for),
        LOGIN_TEST(sha2_fast_ends_in_ok),
        LOGIN_TEST(sha2_full_goes_in_clear_over_a_safe_channel),
        LOGIN_TEST(sha2_full_goes_under_the_servers_key_over_plain_tcp),
        LOGIN_TEST(a_key_that_is_none_fails),
        LOGIN_TEST(a_password_too_long_for_the_key_is_said),
        LOGIN_TEST(an_ok_may_come_in_place_of_the_key),
        LOGIN_TEST(unknown_more_data_fails),
        LOGIN_TEST(passwords_beyond_the_limit_do_not_go_in_clear),
        LOGIN_TEST(a_switch_is_answered_with_its_own_salt),
        LOGIN_TEST(a_switch_in_the_key_exchange_uses_its_salt_too),
        LOGIN_TEST(sha256_goes_in_clear_or_under_a_key),
        LOGIN_TEST(sha256_refuses_a_password_beyond_its_message),
        LOGIN_TEST(clear_text_goes_over_a_safe_channel_only),
        LOGIN_TEST(ed25519_is_answered_or_said_to_be_missing),
        LOGIN_TEST(an_unknown_plugin_fails_and_tells_nothing),
        LOGIN_TEST(an_unknown_plugin_in_the_greeting_is_not_the_end),
        LOGIN_TEST(broken_switches_fail),
        LOGIN_TEST(stage1_logs_in_to_native),
        LOGIN_TEST(stage1_logs_in_to_nothing_else),
        LOGIN_TEST(a_refusal_keeps_the_servers_words),
        LOGIN_TEST(long_refusals_are_cut),
        LOGIN_TEST(broken_packets_fail),
        LOGIN_TEST(nothing_comes_behind_the_end),
        LOGIN_TEST(a_user_too_long_for_the_message_fails),
        LOGIN_TEST(change_user_is_a_new_command_without_a_reply),
        LOGIN_TEST(change_user_goes_on_like_a_login),
        LOGIN_TEST(change_user_over_tls_may_speak_clear),
        LOGIN_TEST(change_user_may_be_refused),
        LOGIN_TEST(the_end_wipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
