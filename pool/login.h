/* SPDX-License-Identifier: Apache-2.0
 *
 * The login at a server, as a machine over payloads: greeting, TLS, HandshakeResponse41,
 * AuthSwitch, caching_sha2 fast and full, sha256, native, ed25519, clear text over a safe channel;
 * and the same behind COM_CHANGE_USER. It has no socket: the backend feeds it packets and carries
 * what it writes ("Connection Phase" of the protocol documentation). Loop thread only. */
#ifndef SLUICE_POOL_LOGIN_H
#define SLUICE_POOL_LOGIN_H

#include "pool/scramble.h"
#include "protocol/mysql_handshake.h"
#include "protocol/mysql_response.h"
#include "protocol/wire.h"

enum { LOGIN_OUT_BYTES = 4096 };

enum login_step {
    LOGIN_WAIT_GREETING,
    LOGIN_WAIT_TLS,  /* SSLRequest is out: start TLS, then login_tls_ready */
    LOGIN_WAIT_AUTH, /* any answer to our last message */
    LOGIN_WAIT_KEY,  /* the server's RSA key */
    LOGIN_OK,
    LOGIN_REFUSED, /* the server's ERR: in `err` */
    LOGIN_FAILED,  /* not possible: in `why` */
};

struct login_params {
    struct bytes user;
    struct bytes password;        /* borrowed until the login is over */
    const uint8_t *native_stage1; /* in place of a password: native servers only; NULL: none */
    uint32_t caps;                /* wanted, SSL apart; masked by what the server has */
    uint8_t charset;
    bool want_tls;
    bool need_tls;
    bool safe_channel; /* a unix socket: secrets may go in clear */
};

struct login {
    enum login_step step;
    struct login_params params;
    struct mysql_greeting greeting; /* plugin and version borrow from `greeting_text` */
    char greeting_text[160];
    uint32_t caps; /* agreed on */
    uint8_t seq;   /* of the next packet that we send */
    bool tls_on;
    bool key_is_sha256; /* LOGIN_WAIT_KEY for sha256_password */
    uint8_t salt[MYSQL_SALT_MAX_BYTES];
    size_t salt_bytes;
    struct mysql_err err; /* message borrows from `err_text` */
    char err_text[512];
    struct mysql_ok ok;
    const char *why;
    uint8_t out[LOGIN_OUT_BYTES]; /* packets to send now */
    size_t out_bytes;
};

void login_begin(struct login *l, const struct login_params *params);
/* Behind COM_CHANGE_USER: as if `greeting` had just been answered; writes the command to out. */
void login_begin_change(struct login *l, const struct login_params *params, uint32_t caps,
                        bool tls_on, struct bytes schema);
/* One packet from the server. Look at step, send out[0..out_bytes]. */
void login_on_packet(struct login *l, uint8_t seq, struct bytes payload);
/* The TLS handshake asked for by LOGIN_WAIT_TLS is done. */
void login_tls_ready(struct login *l);
/* Wipes. */
void login_fini(struct login *l);

#endif
