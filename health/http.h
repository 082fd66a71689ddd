/* SPDX-License-Identifier: Apache-2.0
 *
 * The small HTTP/1.1 server of the admin and health listeners, on libuv. Loop thread only. It never
 * blocks, holds at most HTTP_CLIENTS_MAX connections with one request each in hand, and closes
 * those that are slow.
 *
 *   accept -> read -> http_parse -> handler ... http_respond -> write -> next request of that
 * connection
 *
 * libuv writes with write(2): the program ignores SIGPIPE. Limits of a request: http_parse.h.
 * Keep-alive, pipelining (one at a time, the next is read when the answer is out), HEAD (the
 * handler sees a GET, the body is not sent). Bodies of requests are read and dropped. */
#ifndef SLUICE_HEALTH_HTTP_H
#define SLUICE_HEALTH_HTTP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "health/http_parse.h"

struct sockaddr;
struct sockaddr_storage;
struct uv_loop_s; /* uv_loop_t */
struct http_server;
struct http_client;

enum {
    HTTP_CLIENTS_MAX =
        64, /* the longest idle goes for a new one; when none is idle the new one goes */
    HTTP_REQUEST_TIMEOUT_MS = 10000, /* to send a request whole, and again to take its answer */
    HTTP_IDLE_TIMEOUT_MS = 75000,    /* between requests of one connection */
};

/* Strings are borrowed and end with the handler's call: copy what is needed later. */
struct http_request {
    int listener_id; /* as given to http_server_listen_* */
    enum http_method method;
    bool
        has_origin; /* sent by a web page in a browser: refuse it for anything that changes state */
    const char *path;
    const char *query;
    const char *token; /* NULL: none */
    struct http_client *client;
};

/* Answers request->client once, by http_respond, now or later. */
typedef void (*http_handler_fn)(void *ctx, const struct http_request *request);
typedef void (*http_closed_fn)(void *ctx);

/* Lives until http_server_close. Aborts when out of memory. */
struct http_server *http_server_new(struct uv_loop_s *loop, http_handler_fn handler, void *ctx);

/* 0 or negative UV_E*. bound: the address with the port that was picked; may be NULL. Any number of
 * listeners. */
MUST_CHECK int http_server_listen_tcp(struct http_server *server, const struct sockaddr *addr,
                                      int listener_id, struct sockaddr_storage *bound);
/* A socket file that nobody answers at is replaced; one in use, or any other file, is
 * UV_EADDRINUSE. The file has `mode` from its first moment on (umask narrows it until the chmod
 * that follows) and is removed at close if it is still ours. */
MUST_CHECK int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                                       int listener_id);

/* Stops accepting at all listeners with this id, at once; connections live on. */
void http_server_close_listeners(struct http_server *server, int listener_id);

/* Closes all; `closed` (may be NULL) comes when the last handle is closed and the server's memory
 * is gone. An answer being written is cut off. Requests still with the handler must be answered
 * even so: their http_client lives until then. */
void http_server_close(struct http_server *server, http_closed_fn closed, void *ctx);

/* The answer, once per request, also when the peer has gone (it is then dropped). `body` is copied.
 * May free `client`: do not touch it again. 401 carries WWW-Authenticate: Bearer by itself. Out of
 * memory: the connection is closed. */
void http_respond(struct http_client *client, int status, const char *content_type,
                  const void *body, size_t len);
/* The same with further header lines, each ending in \r\n: "Allow: POST\r\n", "Retry-After: 1\r\n".
 */
void http_respond_with(struct http_client *client, int status, const char *headers,
                       const char *content_type, struct bytes body);

/* Called by the server's own timer each second; by tests with a time of their choice (uv_now's
 * clock). */
void http_server_expire(struct http_server *server, uint64_t now_ms);
size_t http_server_clients(const struct http_server *server);

#endif
