/* SPDX-License-Identifier: Apache-2.0 */
#include "pool/conn.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "pool/iobuf.h"
#include "pool/tls.h"

enum { CONN_WRITE_SLICES = 64 };

/* Bytes that the socket did not take at once. */
struct chunk {
    uv_write_t req;
    struct conn *conn;
    uint32_t len;
    uint8_t data[];
};

static void deliver_end(struct conn *c, int error)
{
    if (c->ended || c->closing)
        return;
    c->ended = true;
    if (c->reading) {
        (void)uv_read_stop(&c->uv.stream);
        c->reading = false;
    }
    c->owner->on_end(c, error);
}

static void on_chunk_written(uv_write_t *req, int status)
{
    struct chunk *chunk = CONTAINER_OF(req, struct chunk, req);
    struct conn *c = chunk->conn;

    c->queued_bytes -= chunk->len;
    free(chunk);
    if (c->closing)
        return;
    if (status < 0) {
        deliver_end(c, status);
        return;
    }
    if (c->above_high && c->queued_bytes < CONN_LOW_BYTES) {
        c->above_high = false;
        c->owner->on_drained(c);
    }
}

static int queue_rest(struct conn *c, const uv_buf_t *bufs, unsigned count, size_t skip)
{
    size_t left = 0;
    for (unsigned i = 0; i < count; i++)
        left += bufs[i].len;
    left -= skip;
    struct chunk *chunk = malloc(sizeof *chunk + left);
    if (!chunk)
        return UV_ENOMEM;
    chunk->conn = c;
    chunk->len = (uint32_t)left;
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t drop = skip < bufs[i].len ? skip : bufs[i].len;
        memcpy(chunk->data + at, bufs[i].base + drop, bufs[i].len - drop);
        at += bufs[i].len - drop;
        skip -= drop;
    }
    uv_buf_t whole = uv_buf_init((char *)chunk->data, (unsigned)left);
    int error = uv_write(&chunk->req, &c->uv.stream, &whole, 1, on_chunk_written);
    if (error) {
        free(chunk);
        return error;
    }
    c->queued_bytes += chunk->len;
    if (conn_is_full(c))
        c->above_high = true;
    return 0;
}

static int write_raw(struct conn *c, uv_buf_t *bufs, unsigned count)
{
    int sent = 0;
    if (c->queued_bytes == 0) {
        sent = uv_try_write(&c->uv.stream, bufs, count);
        if (sent == UV_EAGAIN)
            sent = 0;
        if (sent < 0)
            return sent;
        size_t total = 0;
        for (unsigned i = 0; i < count; i++)
            total += bufs[i].len;
        if ((size_t)sent == total)
            return 0;
    }
    return queue_rest(c, bufs, count, (size_t)sent);
}

static int flush_tls(struct conn *c)
{
    for (;;) {
        const uint8_t *at;
        size_t len;
        tls_output(c->tls, &at, &len);
        if (!len)
            return 0;
        uv_buf_t buf = uv_buf_init((char *)at, (unsigned)len);
        int error = write_raw(c, &buf, 1);
        if (error)
            return error;
        tls_output_done(c->tls, len);
    }
}

int conn_write(struct conn *c, const struct bytes *slices, size_t count)
{
    if (c->closing)
        return UV_ECANCELED;
    if (c->tls) {
        for (size_t i = 0; i < count; i++)
            if (slices[i].len && tls_write(c->tls, slices[i].at, slices[i].len) != TLS_DONE)
                return UV_EPROTO;
        return flush_tls(c);
    }
    while (count) {
        uv_buf_t bufs[CONN_WRITE_SLICES];
        unsigned n = 0;
        while (n < CONN_WRITE_SLICES && n < count) {
            bufs[n] = uv_buf_init((char *)slices[n].at, (unsigned)slices[n].len);
            n++;
        }
        int error = write_raw(c, bufs, n);
        if (error)
            return error;
        slices += n;
        count -= n;
    }
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct conn *c = CONTAINER_OF(handle, struct conn, uv.handle);
    *buf = uv_buf_init((char *)c->loop->read_buffer, LOOP_READ_BYTES);
}

static void want_read(struct conn *c);

/* Shows the owner what TLS has decrypted, until he pauses, closes, or nothing is left. */
static void deliver_tls(struct conn *c)
{
    while (!c->closing && !c->paused && !c->ended) {
        size_t n = 0;
        enum tls_result result = tls_read(c->tls, c->loop->plain_buffer, LOOP_PLAIN_BYTES, &n);
        if (result == TLS_WANT)
            break;
        if (result != TLS_DONE) {
            deliver_end(c, result == TLS_EOF ? 0 : UV_EPROTO);
            return;
        }
        c->delivering = true;
        c->owner->on_read(c, c->loop->plain_buffer, n);
        c->delivering = false;
    }
    if (!c->closing && !c->ended && flush_tls(c) != 0)
        deliver_end(c, UV_EPIPE);
}

static void run_tls(struct conn *c, const uint8_t *at, size_t len)
{
    if (len && !tls_input(c->tls, at, len)) {
        deliver_end(c, UV_EPROTO);
        return;
    }
    if (!tls_is_established(c->tls)) {
        enum tls_result result = tls_handshake(c->tls);
        int error = flush_tls(c); /* an alert too */
        if (result == TLS_WANT && !error)
            return;
        if (result != TLS_DONE || error) {
            deliver_end(c, error ? error : UV_EPROTO);
            return;
        }
        c->owner->on_tls(c);
        if (c->closing)
            return;
    }
    deliver_tls(c);
}

static void on_uv_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = CONTAINER_OF(stream, struct conn, uv.stream);
    if (n == 0)
        return;
    if (n < 0) {
        deliver_end(c, n == UV_EOF ? 0 : (int)n);
        return;
    }
    if (c->tls)
        run_tls(c, (const uint8_t *)buf->base, (size_t)n);
    else
        c->owner->on_read(c, (uint8_t *)buf->base, (size_t)n);
}

static void want_read(struct conn *c)
{
    if (c->reading || c->closing || c->ended)
        return;
    if (uv_read_start(&c->uv.stream, on_alloc, on_uv_read) == 0)
        c->reading = true;
}

int conn_init(struct conn *c, struct loop *loop, bool is_unix, const struct conn_owner *owner)
{
    memset(c, 0, sizeof *c);
    c->loop = loop;
    c->owner = owner;
    c->is_unix = is_unix;
    return is_unix ? uv_pipe_init(&loop->uv, &c->uv.pipe, 0) : uv_tcp_init(&loop->uv, &c->uv.tcp);
}

int conn_accept(struct conn *c, uv_stream_t *listener)
{
    int error = uv_accept(listener, &c->uv.stream);
    if (!error && !c->is_unix)
        (void)uv_tcp_nodelay(&c->uv.tcp, 1);
    return error;
}

int conn_open(struct conn *c)
{
    want_read(c);
    return c->reading ? 0 : UV_EINVAL;
}

void conn_start_tls(struct conn *c, struct tls *tls, struct bytes early)
{
    assert(!c->tls);
    c->tls = tls;
    run_tls(c, early.at, early.len);
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    if (c->reading) {
        (void)uv_read_stop(&c->uv.stream);
        c->reading = false;
    }
}

void conn_resume(struct conn *c)
{
    if (!c->paused || c->closing)
        return;
    c->paused = false;
    want_read(c);
    if (c->tls && tls_is_established(c->tls) && !c->delivering)
        deliver_tls(c);
}

static void on_uv_closed(uv_handle_t *handle)
{
    struct conn *c = CONTAINER_OF(handle, struct conn, uv.handle);
    tls_free(c->tls);
    c->tls = NULL;
    c->owner->on_closed(c);
}

void conn_close(struct conn *c)
{
    if (c->closing)
        return;
    if (c->tls && tls_is_established(c->tls)) {
        tls_shutdown(c->tls);
        (void)flush_tls(c);
    }
    c->closing = true;
    c->reading = false;
    uv_close(&c->uv.handle, on_uv_closed);
}

void conn_abort(struct conn *c)
{
    if (c->closing)
        return;
    if (c->is_unix) {
        conn_close(c);
        return;
    }
    c->closing = true;
    c->reading = false;
    if (uv_tcp_close_reset(&c->uv.tcp, on_uv_closed) != 0)
        uv_close(&c->uv.handle, on_uv_closed);
}

void conn_peer_name(const struct conn *c, char *out, size_t room)
{
    struct sockaddr_storage ss;
    int len = sizeof ss;
    char host[64];
    (void)snprintf(out, room, "unix");
    if (c->is_unix || uv_tcp_getpeername(&c->uv.tcp, (struct sockaddr *)&ss, &len) != 0)
        return;
    if (ss.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ss;
        (void)uv_ip6_name(in6, host, sizeof host);
        (void)snprintf(out, room, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&ss;
        (void)uv_ip4_name(in4, host, sizeof host);
        (void)snprintf(out, room, "%s:%u", host, ntohs(in4->sin_port));
    }
}
