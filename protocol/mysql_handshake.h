/* SPDX-License-Identifier: Apache-2.0
 *
 * The payloads of the connection phase, both ways: Protocol::HandshakeV10, Protocol::SSLRequest,
 * Protocol::HandshakeResponse41, Protocol::AuthSwitchRequest, COM_CHANGE_USER. No packet headers
 * here (mysql_packet). All `struct bytes` that a read gives are borrowed from its input. Any
 * thread. */
#ifndef SLUICE_PROTOCOL_MYSQL_HANDSHAKE_H
#define SLUICE_PROTOCOL_MYSQL_HANDSHAKE_H

#include "protocol/wire.h"

enum {
    MYSQL_SALT_BYTES = 20,      /* native and caching_sha2 */
    MYSQL_SALT_MAX_BYTES = 64,  /* what an AuthSwitch may carry; ed25519 has 32 */
    MYSQL_NAME_MAX_BYTES = 256, /* 64 characters of 4 bytes: schema, user */
};

/* What a server says first. */
struct mysql_greeting {
    struct bytes version;
    uint32_t connection_id;
    uint8_t salt[MYSQL_SALT_BYTES];
    uint32_t caps;
    uint8_t charset; /* collation id, its low byte */
    uint16_t status;
    struct bytes plugin; /* empty when the server names none */
};

/* WIRE_DONE or WIRE_BAD (not protocol 10, cut short). An ERR packet in its place is not a greeting:
 * look for 0xFF first. */
MUST_CHECK enum wire_result mysql_greeting_read(struct bytes payload, struct mysql_greeting *out);
void mysql_greeting_write(struct wire_writer *w, const struct mysql_greeting *g);

/* What a client answers. */
struct mysql_login {
    uint32_t caps; /* as sent; the caller masks */
    uint32_t max_packet_bytes;
    uint8_t charset;
    bool ssl_request; /* the 32 byte form: TLS comes next, then a whole one; nothing below is filled
                       */
    struct bytes user;
    struct bytes auth;   /* the plugin's first message; may be empty */
    struct bytes schema; /* empty without CONNECT_WITH_DB */
    struct bytes plugin; /* empty without PLUGIN_AUTH */
    struct bytes attrs;  /* raw key/value pairs, without their total length */
};

/* The encoding of `auth` and the presence of the rest follow the flags sent. Trailing bytes are
 * ignored, as servers do. WIRE_BAD: not protocol 4.1, cut short, a name over MYSQL_NAME_MAX_BYTES.
 */
MUST_CHECK enum wire_result mysql_login_read(struct bytes payload, struct mysql_login *out);
/* With ssl_request, the 32 byte form. `caps` decides what is written. */
void mysql_login_write(struct wire_writer *w, const struct mysql_login *l);

/* 0xFE, plugin name, data to the end. A trailing NUL behind 20 bytes of salt is dropped; one inside
 * or behind 32 is not (ed25519's salt has no NUL of its own). */
struct mysql_auth_switch {
    struct bytes plugin;
    struct bytes data;
};
MUST_CHECK enum wire_result mysql_auth_switch_read(struct bytes payload,
                                                   struct mysql_auth_switch *out);
void mysql_auth_switch_write(struct wire_writer *w, const struct mysql_auth_switch *s);

/* COM_CHANGE_USER, the command byte included. `caps` are those of the connection. */
struct mysql_change_user {
    struct bytes user;
    struct bytes auth;
    struct bytes schema;
    uint16_t charset; /* 0 when the client sent none */
    struct bytes plugin;
    struct bytes attrs;
};
MUST_CHECK enum wire_result mysql_change_user_read(struct bytes payload, uint32_t caps,
                                                   struct mysql_change_user *out);
void mysql_change_user_write(struct wire_writer *w, uint32_t caps,
                             const struct mysql_change_user *c);

#endif
