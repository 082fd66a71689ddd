/* SPDX-License-Identifier: Apache-2.0
 *
 * One stream, to a client or to a backend, TCP or unix, in clear or under TLS. The only place that
 * knows libuv's read and write calls. It tells its owner four things (struct conn_owner) and takes
 * orders: write, stop reading, read on.
 *
 * Reading needs no memory of the connection's own: bytes lie in the loop's buffer during on_read,
 * and what the owner does not consume he keeps. Writing goes straight to the socket; only what the
 * socket did not take is copied, and conn_queued_bytes tells how much that is, for back-pressure.
 * Loop thread only. */
#ifndef SLUICE_POOL_CONN_H
#define SLUICE_POOL_CONN_H

#include "pool/list.h"
#include "pool/loop.h"
#include "protocol/wire.h"

struct conn;
struct tls;

enum {
    CONN_HIGH_BYTES = 256 * 1024, /* above it the other side is not read any more */
    CONN_LOW_BYTES = 64 * 1024,   /* below it again it is */
};

/* All are called from the loop, none from inside a conn_* call of the owner's, except on_closed
 * never before conn_close. After conn_close only on_closed comes. */
struct conn_owner {
    /* `at` is the loop's buffer: writable, gone after the call. May call conn_close. */
    void (*on_read)(struct conn *c, uint8_t *at, size_t len);
    /* The peer has ended (error 0) or the connection broke (UV_E*, or UV_EPROTO for TLS). Once. */
    void (*on_end)(struct conn *c, int error);
    /* The queue has fallen below CONN_LOW_BYTES after having been above CONN_HIGH_BYTES. */
    void (*on_drained)(struct conn *c);
    /* The memory may go. */
    void (*on_closed)(struct conn *c);
    /* conn_start_tls: the handshake is done. May be NULL when TLS is never started. */
    void (*on_tls)(struct conn *c);
};

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct loop *loop;
    const struct conn_owner *owner;
    struct tls *tls; /* owned; NULL in clear */
    uint32_t queued_bytes;
    bool is_unix : 1;
    bool reading : 1;    /* libuv has been asked to read */
    bool paused : 1;     /* the owner asked not to be shown more */
    bool closing : 1;    /* conn_close was called */
    bool above_high : 1; /* on_drained is owed */
    bool ended : 1;      /* on_end was called */
    bool delivering : 1; /* inside on_read: TLS must not re-enter it */
};

/* Readies the handle. The memory is the owner's until on_closed. 0 or UV_E*. */
int conn_init(struct conn *c, struct loop *loop, bool is_unix, const struct conn_owner *owner);
/* Takes a connection off a listener; starts nothing. 0 or UV_E*. */
MUST_CHECK int conn_accept(struct conn *c, uv_stream_t *listener);
/* Starts reading; after accept or once connected. 0 or UV_E*. */
MUST_CHECK int conn_open(struct conn *c);

/* Takes `tls` (owns it from here on) and speaks TLS from the next byte: `early` are cipher bytes
 * that came along with the last clear ones; borrowed. Calls on_tls later, or on_end. */
void conn_start_tls(struct conn *c, struct tls *tls, struct bytes early);

/* Writes all slices in order: to the socket, and what it does not take into the queue (copied). 0
 * or UV_E*; after an error the connection is of no use, and on_end comes as well if it is being
 * read. */
MUST_CHECK int conn_write(struct conn *c, const struct bytes *slices, size_t count);
static inline int conn_write_bytes(struct conn *c, const void *at, size_t len)
{
    struct bytes one = bytes_of(at, len);
    return conn_write(c, &one, 1);
}

static inline bool conn_is_full(const struct conn *c)
{
    return c->queued_bytes > CONN_HIGH_BYTES;
}

/* No on_read and no on_end until conn_resume. May be called inside on_read. */
void conn_pause(struct conn *c);
/* May call on_read before it returns when TLS holds decrypted bytes. */
void conn_resume(struct conn *c);

/* Sends what is queued if it goes without waiting, then closes; on_closed comes later. Twice is
 * harmless. */
void conn_close(struct conn *c);
/* Closes with a reset, so that the peer sees an abort and not an orderly end. */
void conn_abort(struct conn *c);

/* "127.0.0.1:5123", "[::1]:5123" or "unix"; always terminated. */
void conn_peer_name(const struct conn *c, char *out, size_t room);

#endif
