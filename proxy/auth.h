/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's side of the connection phase towards a client (design.md, MySQL rule 8): greeting,
 * TLS, and the proof of the password by caching_sha2_password (fast, or full over TLS, a unix
 * socket or our RSA key) or mysql_native_password; the same behind COM_CHANGE_USER. "Connection
 * Phase" of the protocol documentation. Loop thread only; the RSA decryption runs on the thread
 * pool. */
#ifndef SLUICE_PROXY_AUTH_H
#define SLUICE_PROXY_AUTH_H

#include <stdbool.h>

#include "protocol/wire.h"

struct proxy;
struct session;

enum auth_result {
    AUTH_WAIT,     /* for the client, the server or a worker */
    AUTH_ACCEPTED, /* session->account, lessee.pool and its state are set; the OK is not sent yet:
                      auth_ok_seq */
    AUTH_REFUSED,  /* the ERR is sent; end the session with LOGIN_REFUSED */
    AUTH_BAD,      /* not the protocol */
};

/* Sends the greeting. The target is known. */
void auth_begin(struct session *s);
/* COM_CHANGE_USER in `payload`. */
enum auth_result auth_begin_change(struct session *s, struct bytes payload);
/* Goes on with what is in hand. */
enum auth_result auth_step(struct session *s);
/* Sequence id of the OK. */
uint8_t auth_ok_seq(const struct session *s);
/* Any time; wipes. */
void auth_free(struct session *s);
/* Our RSA key is there: those who wait for it go on. */
void auth_key_ready(struct proxy *p);

#endif
