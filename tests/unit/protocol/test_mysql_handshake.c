/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/mysql_handshake: greeting, login, auth switch, change user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_handshake.h"

#define SALT "0123456789abcdefghij"

static uint8_t raw[2048];

static struct mysql_greeting a_greeting(void)
{
    struct mysql_greeting g = {
        .version = bytes_text("5.5.5-10.11.19-MariaDB"),
        .connection_id = 0x80000011,
        .caps = MYSQL_CAP_PROTOCOL_41 | MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_PLUGIN_AUTH,
        .charset = 45,
        .status = MYSQL_STATUS_AUTOCOMMIT,
        .plugin = bytes_text("mysql_native_password"),
    };
    memcpy(g.salt, SALT, MYSQL_SALT_BYTES);
    return g;
}

static struct mysql_login a_login(void)
{
    return (struct mysql_login){
        .caps = MYSQL_CAP_PROTOCOL_41 | MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_PLUGIN_AUTH |
                MYSQL_CAP_CONNECT_WITH_DB | MYSQL_CAP_CONNECT_ATTRS,
        .max_packet_bytes = 0xC0000000,
        .charset = 45,
        .user = bytes_text("app"),
        .auth = bytes_text(SALT),
        .schema = bytes_text("shop"),
        .plugin = bytes_text("caching_sha2_password"),
        .attrs = bytes_text("\x0c_client_name\x07mysqlnd"),
    };
}

static struct bytes login_bytes(const struct mysql_login *l)
{
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_login_write(&w, l);
    assert_false(w.full);
    return bytes_of(raw, wire_written(&w));
}

static uint8_t *exact_copy(struct bytes b)
{
    uint8_t *copy = malloc(b.len ? b.len : 1);
    memcpy(copy, b.at, b.len);
    return copy;
}

static void a_greeting_is_read_as_written(void **state)
{
    (void)state;
    struct mysql_greeting g = a_greeting();
    struct mysql_greeting back;
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_greeting_write(&w, &g);
    struct bytes payload = bytes_of(raw, wire_written(&w));
    assert_int_equal(mysql_greeting_read(payload, &back), WIRE_DONE);
    assert_true(bytes_equal(back.version, g.version));
    assert_true(bytes_equal(back.plugin, g.plugin));
    assert_int_equal(back.connection_id, g.connection_id);
    assert_int_equal(back.caps, g.caps);
    assert_int_equal(back.charset, 45);
    assert_int_equal(back.status, MYSQL_STATUS_AUTOCOMMIT);
    assert_memory_equal(back.salt, SALT, MYSQL_SALT_BYTES);
}

static void every_shorter_greeting_is_bad_up_to_the_plugin(void **state)
{
    (void)state;
    struct mysql_greeting g = a_greeting();
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_greeting_write(&w, &g);
    size_t whole = wire_written(&w);
    size_t plugin_at =
        whole - g.plugin.len - 1; /* its end may be missing: old servers sent no NUL */
    for (size_t len = 0; len < whole; len++) {
        struct mysql_greeting back;
        uint8_t *copy = exact_copy(bytes_of(raw, len));
        assert_int_equal(mysql_greeting_read(bytes_of(copy, len), &back),
                         len < plugin_at ? WIRE_BAD : WIRE_DONE);
        free(copy);
    }
}

static void a_greeting_of_another_protocol_is_bad(void **state)
{
    (void)state;
    struct mysql_greeting g = a_greeting();
    struct mysql_greeting back;
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_greeting_write(&w, &g);
    raw[0] = 9;
    assert_int_equal(mysql_greeting_read(bytes_of(raw, wire_written(&w)), &back), WIRE_BAD);
}

static void a_longer_salt_in_a_greeting_is_passed_over(void **state)
{
    (void)state;
    struct mysql_greeting g = a_greeting();
    struct mysql_greeting back;
    g.caps &= ~(uint32_t)MYSQL_CAP_PLUGIN_AUTH;
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_greeting_write(&w, &g);
    size_t len = wire_written(&w);
    size_t salt_bytes_at = len - 13 - 10 - 1;
    raw[salt_bytes_at] = 40;
    assert_int_equal(mysql_greeting_read(bytes_of(raw, len), &back), WIRE_BAD);
    memset(raw + len, 7, 40 - 21);
    assert_int_equal(mysql_greeting_read(bytes_of(raw, len + 40 - 21), &back), WIRE_DONE);
    assert_memory_equal(back.salt, SALT, MYSQL_SALT_BYTES);
}

static void a_login_is_read_as_written(void **state)
{
    (void)state;
    const uint32_t variants[] = {0, MYSQL_CAP_PLUGIN_AUTH_LENENC};
    for (size_t i = 0; i < 2; i++) {
        struct mysql_login l = a_login();
        struct mysql_login back;
        l.caps |= variants[i];
        assert_int_equal(mysql_login_read(login_bytes(&l), &back), WIRE_DONE);
        assert_int_equal(back.caps, l.caps);
        assert_int_equal(back.max_packet_bytes, 0xC0000000);
        assert_int_equal(back.charset, 45);
        assert_false(back.ssl_request);
        assert_true(bytes_equal(back.user, l.user));
        assert_true(bytes_equal(back.auth, l.auth));
        assert_true(bytes_equal(back.schema, l.schema));
        assert_true(bytes_equal(back.plugin, l.plugin));
        assert_true(bytes_equal(back.attrs, l.attrs));
    }
}

static void a_login_without_flags_has_only_a_name(void **state)
{
    (void)state;
    struct mysql_login l = {
        .caps = MYSQL_CAP_PROTOCOL_41, .user = bytes_text("u"), .auth = bytes_text("p")};
    struct mysql_login back;
    struct bytes payload = login_bytes(&l);
    assert_int_equal(payload.len, 32 + 2 + 2);
    assert_int_equal(mysql_login_read(payload, &back), WIRE_DONE);
    assert_true(bytes_equal(back.auth, bytes_text("p")));
    assert_int_equal(back.schema.len + back.plugin.len + back.attrs.len, 0);
}

static void every_shorter_login_is_bad_or_ends_in_its_tail(void **state)
{
    (void)state;
    struct mysql_login l = a_login();
    struct bytes payload = login_bytes(&l);
    size_t attrs_at = payload.len - l.attrs.len - 1;
    size_t plugin_at = attrs_at - l.plugin.len - 1;
    for (size_t len = 0; len < payload.len; len++) {
        struct mysql_login back;
        uint8_t *copy = exact_copy(bytes_of(payload.at, len));
        bool in_tail = len >= plugin_at && len <= attrs_at;
        assert_int_equal(mysql_login_read(bytes_of(copy, len), &back),
                         in_tail ? WIRE_DONE : WIRE_BAD);
        free(copy);
    }
}

static void an_ssl_request_is_the_first_32_bytes(void **state)
{
    (void)state;
    struct mysql_login l = a_login();
    struct mysql_login back;
    l.caps |= MYSQL_CAP_SSL;
    l.ssl_request = true;
    struct bytes payload = login_bytes(&l);
    assert_int_equal(payload.len, 32);
    assert_int_equal(mysql_login_read(payload, &back), WIRE_DONE);
    assert_true(back.ssl_request);
    assert_int_equal(back.user.len, 0);
    l.ssl_request = false; /* inside TLS the flag is still there */
    assert_int_equal(mysql_login_read(login_bytes(&l), &back), WIRE_DONE);
    assert_false(back.ssl_request);
    assert_true(bytes_equal(back.user, l.user));
}

static void a_login_of_before_4_1_is_bad(void **state)
{
    (void)state;
    struct mysql_login l = a_login();
    struct mysql_login back;
    l.caps &= ~(uint32_t)MYSQL_CAP_PROTOCOL_41;
    assert_int_equal(mysql_login_read(login_bytes(&l), &back), WIRE_BAD);
}

static void one_byte_over_the_limit_of_a_name_is_bad(void **state)
{
    (void)state;
    char name[MYSQL_NAME_MAX_BYTES + 1];
    memset(name, 'n', sizeof(name));
    for (size_t over = 0; over < 2; over++) {
        struct bytes long_name = bytes_of(name, MYSQL_NAME_MAX_BYTES + over);
        enum wire_result want = over ? WIRE_BAD : WIRE_DONE;
        struct mysql_login back;
        struct mysql_login l = a_login();
        l.user = long_name;
        assert_int_equal(mysql_login_read(login_bytes(&l), &back), want);
        l = a_login();
        l.schema = long_name;
        assert_int_equal(mysql_login_read(login_bytes(&l), &back), want);
        l = a_login();
        l.plugin = long_name;
        assert_int_equal(mysql_login_read(login_bytes(&l), &back), want);
    }
}

static void an_auth_of_256_bytes_needs_the_length_encoded_form(void **state)
{
    (void)state;
    char auth[256];
    memset(auth, 'a', sizeof(auth));
    struct mysql_login l = a_login();
    struct mysql_login back;
    l.auth = bytes_of(auth, sizeof(auth));
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_login_write(&w, &l);
    assert_int_equal(wire_written(&w), 0);
    l.caps |= MYSQL_CAP_PLUGIN_AUTH_LENENC;
    assert_int_equal(mysql_login_read(login_bytes(&l), &back), WIRE_DONE);
    assert_int_equal(back.auth.len, 256);
}

static void an_auth_switch_drops_the_nul_behind_20_bytes_only(void **state)
{
    (void)state;
    struct mysql_auth_switch s;
    uint8_t data[100] = {0xFE, 'e', 0};
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 3 + 21), &s), WIRE_DONE);
    assert_int_equal(s.data.len, 20);
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 3 + 32), &s), WIRE_DONE);
    assert_int_equal(s.data.len, 32);
    data[3 + 20] = 1;
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 3 + 21), &s), WIRE_DONE);
    assert_int_equal(s.data.len, 21);
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 3 + 64), &s), WIRE_DONE);
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 3 + 65), &s), WIRE_BAD);
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 2), &s), WIRE_BAD);
    data[0] = 1;
    assert_int_equal(mysql_auth_switch_read(bytes_of(data, 10), &s), WIRE_BAD);
}

static void an_auth_switch_is_read_as_written(void **state)
{
    (void)state;
    struct mysql_auth_switch s = {.plugin = bytes_text("caching_sha2_password"),
                                  .data = bytes_text(SALT)};
    struct mysql_auth_switch back;
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_auth_switch_write(&w, &s);
    assert_int_equal(wire_written(&w), 1 + 22 + 21);
    assert_int_equal(mysql_auth_switch_read(bytes_of(raw, wire_written(&w)), &back), WIRE_DONE);
    assert_true(bytes_equal(back.plugin, s.plugin));
    assert_true(bytes_equal(back.data, s.data));
}

static void a_change_user_is_read_as_written(void **state)
{
    (void)state;
    const uint32_t caps[] = {
        MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_PLUGIN_AUTH | MYSQL_CAP_CONNECT_ATTRS |
            MYSQL_CAP_PLUGIN_AUTH_LENENC,
        MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_PLUGIN_AUTH,
        MYSQL_CAP_SECURE_CONNECTION,
        0,
    };
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        struct mysql_change_user c = {
            .user = bytes_text("app"),
            .auth = bytes_text(SALT),
            .schema = bytes_text("shop"),
            .charset = 255,
            .plugin = bytes_text(caps[i] & MYSQL_CAP_PLUGIN_AUTH ? "mysql_native_password" : ""),
            .attrs = bytes_text(caps[i] & MYSQL_CAP_CONNECT_ATTRS ? "\x01"
                                                                    "a\x01"
                                                                    "b"
                                                                  : ""),
        };
        struct mysql_change_user back;
        struct wire_writer w = wire_writer(raw, sizeof(raw));
        mysql_change_user_write(&w, caps[i], &c);
        assert_int_equal(mysql_change_user_read(bytes_of(raw, wire_written(&w)), caps[i], &back),
                         WIRE_DONE);
        assert_true(bytes_equal(back.user, c.user));
        assert_true(bytes_equal(back.auth, c.auth));
        assert_true(bytes_equal(back.schema, c.schema));
        assert_int_equal(back.charset, 255);
        assert_true(bytes_equal(back.plugin, c.plugin));
        assert_true(bytes_equal(back.attrs, c.attrs));
    }
}

static void every_shorter_change_user_is_bad_or_ends_in_its_tail(void **state)
{
    (void)state;
    uint32_t caps = MYSQL_CAP_SECURE_CONNECTION | MYSQL_CAP_PLUGIN_AUTH;
    struct mysql_change_user c = {.user = bytes_text("app"),
                                  .schema = bytes_text("shop"),
                                  .charset = 45,
                                  .plugin = bytes_text("p")};
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_change_user_write(&w, caps, &c);
    size_t whole = wire_written(&w);
    assert_int_equal(whole, 1 + 4 + 1 + 5 + 2 + 2);
    for (size_t len = 0; len < whole; len++) {
        struct mysql_change_user back;
        uint8_t *copy = exact_copy(bytes_of(raw, len));
        bool may_end = len == 11 || len >= 13; /* behind the schema, and from the charset on */
        assert_int_equal(mysql_change_user_read(bytes_of(copy, len), caps, &back),
                         may_end ? WIRE_DONE : WIRE_BAD);
        free(copy);
    }
}

static void a_short_change_user_has_no_charset(void **state)
{
    (void)state;
    struct mysql_change_user c = {.user = bytes_text("app")};
    struct mysql_change_user back;
    struct wire_writer w = wire_writer(raw, sizeof(raw));
    mysql_change_user_write(&w, MYSQL_CAP_SECURE_CONNECTION, &c);
    assert_int_equal(wire_written(&w), 1 + 4 + 1 + 1);
    assert_int_equal(mysql_change_user_read(bytes_of(raw, 7), MYSQL_CAP_SECURE_CONNECTION, &back),
                     WIRE_DONE);
    assert_int_equal(back.charset, 0);
    raw[0] = 3;
    assert_int_equal(mysql_change_user_read(bytes_of(raw, 7), MYSQL_CAP_SECURE_CONNECTION, &back),
                     WIRE_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_greeting_is_read_as_written),
        cmocka_unit_test(every_shorter_greeting_is_bad_up_to_the_plugin),
        cmocka_unit_test(a_greeting_of_another_protocol_is_bad),
        cmocka_unit_test(a_longer_salt_in_a_greeting_is_passed_over),
        cmocka_unit_test(a_login_is_read_as_written),
        cmocka_unit_test(a_login_without_flags_has_only_a_name),
        cmocka_unit_test(every_shorter_login_is_bad_or_ends_in_its_tail),
        cmocka_unit_test(an_ssl_request_is_the_first_32_bytes),
        cmocka_unit_test(a_login_of_before_4_1_is_bad),
        cmocka_unit_test(one_byte_over_the_limit_of_a_name_is_bad),
        cmocka_unit_test(an_auth_of_256_bytes_needs_the_length_encoded_form),
        cmocka_unit_test(an_auth_switch_drops_the_nul_behind_20_bytes_only),
        cmocka_unit_test(an_auth_switch_is_read_as_written),
        cmocka_unit_test(a_change_user_is_read_as_written),
        cmocka_unit_test(every_shorter_change_user_is_bad_or_ends_in_its_tail),
        cmocka_unit_test(a_short_change_user_has_no_charset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
