/* SPDX-License-Identifier: Apache-2.0
 *
 * See http.h. The only file of this folder that knows libuv. Loop thread only.
 *
 * A connection, by the state in its struct:
 *
 *   READING --whole--> HANDLING --http_respond--> WRITING --keep-alive--> IDLE --a byte--> READING
 *      |                                            |
 *      `--bad: answered by us, then as `close' -----+--close--> LINGERING --EOF or 2 s--> CLOSING
 *
 * LINGERING reads and drops what still comes: to close with unread bytes would reset the connection
 * and could take the answer with it. Any state goes to CLOSING on an error or at its deadline.
 * Memory goes in the close callback, or in http_respond when the handler still owes the answer by
 * then. */
#include "health/http.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

enum { INPUT_ROOM_BYTES = 4096, BACKLOG = 128, TICK_MS = 1000, LINGER_MS = 2000 };

#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

union socket_handle {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct listener {
    struct listener *next; /* of server->listeners, which owns it until it closes */
    struct http_server *server;
    union socket_handle socket;
    int id;
    char *unix_path; /* owned; NULL for TCP */
    dev_t unix_dev;  /* of the file we bound: another's in its place is not ours to remove */
    ino_t unix_ino;
};

enum client_state {
    CLIENT_READING,
    CLIENT_HANDLING,
    CLIENT_WRITING,
    CLIENT_IDLE,
    CLIENT_LINGERING,
    CLIENT_CLOSING,
};

struct http_client {
    struct http_client *next; /* of server->clients, which owns it until its handle is closed */
    struct http_client **link;
    struct http_server *server; /* NULL once the handle is closed */
    union socket_handle socket;
    enum client_state state;
    bool owed; /* the handler has not answered yet: not a state, since it outlives the connection */
    bool is_head;
    bool keep_alive; /* after the answer in hand */
    int listener_id;
    uint64_t deadline_ms; /* none while HANDLING */
    struct http_parser *parser;
    uv_write_t write;
    uv_shutdown_t shutdown;
    char *answer; /* owned while WRITING */
    size_t input_at;
    size_t input_len;
    char input[INPUT_ROOM_BYTES];
};

struct http_server {
    uv_loop_t *loop;
    http_handler_fn handler;
    void *ctx;
    struct listener *listeners;
    struct http_client *clients;
    size_t client_count; /* those that are not CLOSING */
    size_t handle_count; /* with libuv, the timer's included; at 0 a closing server is freed */
    uv_timer_t timer;    /* runs while there are clients */
    bool closing;
    http_closed_fn closed;
    void *closed_ctx;
};

static void client_run(struct http_client *client);

static void *must_alloc(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        fputs("sluice: out of memory\n", stderr);
        abort();
    }
    return memory;
}

static void handle_closed(struct http_server *server)
{
    if (--server->handle_count > 0 || !server->closing)
        return;
    http_closed_fn closed = server->closed;
    void *ctx = server->closed_ctx;
    free(server);
    if (closed != NULL)
        closed(ctx);
}

/* Clients: closing. */

static void client_free(struct http_client *client)
{
    http_parser_free(client->parser);
    free(client->answer);
    free(client);
}

static void on_client_closed(uv_handle_t *handle)
{
    struct http_client *client = CONTAINER_OF(handle, struct http_client, socket.handle);
    struct http_server *server = client->server;

    *client->link = client->next;
    if (client->next != NULL)
        client->next->link = client->link;
    client->server = NULL;
    if (!client->owed)
        client_free(client);
    handle_closed(server);
}

static void client_close(struct http_client *client)
{
    if (client->state == CLIENT_CLOSING)
        return;
    client->state = CLIENT_CLOSING;
    if (--client->server->client_count == 0)
        uv_timer_stop(&client->server->timer);
    uv_close(&client->socket.handle, on_client_closed);
}

static void client_wait(struct http_client *client, enum client_state state, uint64_t timeout_ms)
{
    client->state = state;
    client->deadline_ms = uv_now(client->server->loop) + timeout_ms;
}

/* Clients: the answer. */

static void on_shut_down(uv_shutdown_t *request, int status)
{
    struct http_client *client = CONTAINER_OF(request, struct http_client, shutdown);
    if (status < 0)
        client_close(client);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct http_client *client = CONTAINER_OF(handle, struct http_client, socket.handle);
    (void)suggested;
    *buf = uv_buf_init(client->input, INPUT_ROOM_BYTES);
}

static void on_linger_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    (void)buf;
    if (len < 0)
        client_close(CONTAINER_OF(stream, struct http_client, socket.stream));
}

static void client_linger(struct http_client *client)
{
    client_wait(client, CLIENT_LINGERING, LINGER_MS);
    if (uv_shutdown(&client->shutdown, &client->socket.stream, on_shut_down) != 0 ||
        uv_read_start(&client->socket.stream, on_alloc, on_linger_read) != 0)
        client_close(client);
}

static void on_written(uv_write_t *write, int status)
{
    struct http_client *client = CONTAINER_OF(write, struct http_client, write);

    free(client->answer);
    client->answer = NULL;
    if (client->state == CLIENT_CLOSING)
        return;
    if (status < 0) {
        client_close(client);
    } else if (!client->keep_alive) {
        client_linger(client);
    } else {
        client_wait(client, CLIENT_IDLE, HTTP_IDLE_TIMEOUT_MS);
        client_run(client);
    }
}

/* Status line, headers and body as one piece. False when out of memory. */
static bool format_answer(struct http_client *client, int status, const char *headers,
                          const char *content_type, struct bytes body, uv_buf_t *out)
{
    char *head = NULL;
    int head_len = asprintf(&head,
                            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                            "Connection: %s\r\n%s%s\r\n",
                            status, http_status_text(status),
                            content_type != NULL ? content_type : "text/plain; charset=utf-8",
                            body.len, client->keep_alive ? "keep-alive" : "close",
                            status == 401 ? "WWW-Authenticate: Bearer\r\n" : "", headers);
    if (head_len < 0)
        return false;
    size_t body_len = client->is_head ? 0 : body.len;
    client->answer = realloc(head, (size_t)head_len + body_len + 1);
    if (client->answer == NULL) {
        free(head);
        return false;
    }
    if (body_len > 0)
        memcpy(client->answer + head_len, body.at, body_len);
    *out = uv_buf_init(client->answer, (unsigned)((size_t)head_len + body_len));
    return true;
}

static void client_answer(struct http_client *client, int status, const char *headers,
                          const char *content_type, struct bytes body)
{
    uv_buf_t buf;

    client_wait(client, CLIENT_WRITING, HTTP_REQUEST_TIMEOUT_MS);
    if (!format_answer(client, status, headers, content_type, body, &buf) ||
        uv_write(&client->write, &client->socket.stream, &buf, 1, on_written) != 0)
        client_close(client);
}

void http_respond_with(struct http_client *client, int status, const char *headers,
                       const char *content_type, struct bytes body)
{
    assert(client->owed);
    client->owed = false;
    if (client->server == NULL)
        client_free(client);
    else if (client->state == CLIENT_HANDLING)
        client_answer(client, status, headers, content_type, body);
}

void http_respond(struct http_client *client, int status, const char *content_type,
                  const void *body, size_t len)
{
    http_respond_with(client, status, "", content_type, bytes_of(body, len));
}

/* Clients: the request. */

static void client_handle(struct http_client *client, const struct http_message *message)
{
    struct http_request request = {
        .listener_id = client->listener_id,
        .method = message->method,
        .has_origin = message->has_origin,
        .path = message->path,
        .query = message->query,
        .token = message->token,
        .client = client,
    };
    client->state = CLIENT_HANDLING;
    client->owed = true;
    client->is_head = message->is_head;
    client->keep_alive = message->keep_alive;
    client->server->handler(client->server->ctx, &request); /* may answer or close us */
}

static void client_refuse(struct http_client *client, int status)
{
    const char *text = http_status_text(status);
    client->is_head = false;
    client->keep_alive = false;
    client_answer(client, status, "", NULL, bytes_text(text));
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct http_client *client = CONTAINER_OF(stream, struct http_client, socket.stream);
    (void)buf;
    if (len < 0) {
        client_close(client);
    } else if (len > 0) {
        client->input_at = 0;
        client->input_len = (size_t)len;
        client_run(client);
    }
}

/* Reads requests from the input in hand until one is with the handler; then reads more, or stops
 * reading. */
static void client_run(struct http_client *client)
{
    struct http_message message;
    size_t used;

    if (client->input_at < client->input_len) {
        struct bytes in =
            bytes_of(client->input + client->input_at, client->input_len - client->input_at);
        enum wire_result result = http_parse(client->parser, in, &used, &message);
        client->input_at += used;
        uv_read_stop(&client->socket.stream);
        if (result == WIRE_DONE) {
            client_handle(client, &message);
            return;
        }
        if (result == WIRE_BAD) {
            client_refuse(client, message.status);
            return;
        }
        /* The time for a request runs from its first byte; more bytes do not prolong it. */
        if (client->state == CLIENT_IDLE)
            client_wait(client, CLIENT_READING, HTTP_REQUEST_TIMEOUT_MS);
    }
    if (uv_read_start(&client->socket.stream, on_alloc, on_read) != 0)
        client_close(client);
}

/* Server: time and room. */

void http_server_expire(struct http_server *server, uint64_t now_ms)
{
    for (struct http_client *client = server->clients; client != NULL; client = client->next)
        if (client->state != CLIENT_HANDLING && now_ms >= client->deadline_ms)
            client_close(client);
}

static void on_tick(uv_timer_t *timer)
{
    struct http_server *server = CONTAINER_OF(timer, struct http_server, timer);
    http_server_expire(server, uv_now(server->loop));
}

/* Closes the connection that has waited longest between requests. False when all are busy. */
static bool evict_idle(struct http_server *server)
{
    struct http_client *oldest = NULL;
    for (struct http_client *client = server->clients; client != NULL; client = client->next) {
        if (client->state != CLIENT_IDLE && client->state != CLIENT_LINGERING)
            continue;
        if (oldest == NULL || client->deadline_ms < oldest->deadline_ms)
            oldest = client;
    }
    if (oldest != NULL)
        client_close(oldest);
    return oldest != NULL;
}

/* Neither call has a way to fail without flags or an open descriptor. */
static void socket_init(union socket_handle *socket, uv_loop_t *loop, bool is_unix)
{
    int error = is_unix ? uv_pipe_init(loop, &socket->pipe, 0) : uv_tcp_init(loop, &socket->tcp);
    assert(error == 0);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *listener = CONTAINER_OF(stream, struct listener, socket.stream);
    struct http_server *server = listener->server;
    bool is_unix = listener->unix_path != NULL;

    if (status < 0)
        return;
    struct http_client *client = must_alloc(sizeof *client);
    socket_init(&client->socket, server->loop, is_unix);
    client->server = server;
    client->listener_id = listener->id;
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next != NULL)
        client->next->link = &client->next;
    server->clients = client;
    server->handle_count++;
    bool has_room = server->client_count < HTTP_CLIENTS_MAX || evict_idle(server);
    if (server->client_count++ == 0)
        uv_timer_start(&server->timer, on_tick, TICK_MS, TICK_MS);

    client->parser = http_parser_new(HTTP_SIDE_REQUEST);
    client_wait(client, CLIENT_READING, HTTP_REQUEST_TIMEOUT_MS);
    if (uv_accept(stream, &client->socket.stream) != 0 || !has_room || client->parser == NULL) {
        client_close(client);
        return;
    }
    if (!is_unix)
        uv_tcp_nodelay(&client->socket.tcp, 1);
    client_run(client);
}

/* Server: listeners. */

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = CONTAINER_OF(handle, struct listener, socket.handle);
    struct http_server *server = listener->server;
    free(listener->unix_path);
    free(listener);
    handle_closed(server);
}

static void listener_close(struct listener *listener)
{
    struct stat st;
    if (listener->unix_path != NULL && lstat(listener->unix_path, &st) == 0 &&
        st.st_dev == listener->unix_dev && st.st_ino == listener->unix_ino)
        unlink(listener->unix_path);
    uv_close(&listener->socket.handle, on_listener_closed);
}

/* Begins to accept; on an error the listener closes, and is gone for the caller. */
static int listener_start(struct listener *listener, int error)
{
    struct http_server *server = listener->server;
    if (error == 0)
        error = uv_listen(&listener->socket.stream, BACKLOG, on_connection);
    if (error != 0) {
        listener_close(listener);
        return error;
    }
    listener->next = server->listeners;
    server->listeners = listener;
    return 0;
}

static struct listener *listener_new(struct http_server *server, int id, const char *unix_path)
{
    struct listener *listener = must_alloc(sizeof *listener);

    socket_init(&listener->socket, server->loop, unix_path != NULL);
    if (unix_path != NULL) {
        size_t path_bytes = strlen(unix_path) + 1;
        listener->unix_path = must_alloc(path_bytes);
        memcpy(listener->unix_path, unix_path, path_bytes);
    }
    listener->server = server;
    listener->id = id;
    server->handle_count++;
    return listener;
}

int http_server_listen_tcp(struct http_server *server, const struct sockaddr *addr, int listener_id,
                           struct sockaddr_storage *bound)
{
    int bound_len = sizeof *bound;
    struct listener *listener = listener_new(server, listener_id, NULL);
    int error = listener_start(listener, uv_tcp_bind(&listener->socket.tcp, addr, 0));
    if (error == 0 && bound != NULL)
        error = uv_tcp_getsockname(&listener->socket.tcp, (struct sockaddr *)bound, &bound_len);
    return error;
}

/* Removes the socket file at `addr` when nobody accepts there. 0 when the path is free now. A full
 * backlog (EAGAIN) is somebody. */
static int clear_stale_socket(const struct sockaddr_un *addr)
{
    struct stat st;
    if (lstat(addr->sun_path, &st) != 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return UV_EADDRINUSE;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    bool refused =
        connect(fd, (const struct sockaddr *)addr, sizeof *addr) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return UV_EADDRINUSE;
    return unlink(addr->sun_path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* A bound socket for libuv, or a negative error. Linux gives the file the mode that the socket has,
 * so that it is at no time open to more than `mode` allows; uv_pipe_bind would leave a gap before
 * its chmod. */
static int bind_unix(const struct sockaddr_un *addr, mode_t mode, struct stat *st)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, mode) == 0 && bind(fd, (const struct sockaddr *)addr, sizeof *addr) == 0) {
        if (chmod(addr->sun_path, mode) == 0 && lstat(addr->sun_path, st) == 0)
            return fd;
        int error = -errno;
        unlink(addr->sun_path);
        close(fd);
        return error;
    }
    int error = -errno;
    close(fd);
    return error;
}

int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                            int listener_id)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct stat st = {0};
    size_t path_len = strlen(path);
    int error;

    if (path_len >= sizeof addr.sun_path)
        return UV_ENAMETOOLONG;
    memcpy(addr.sun_path, path, path_len);
    error = clear_stale_socket(&addr);
    if (error != 0)
        return error;
    int fd = bind_unix(&addr, mode, &st);
    if (fd < 0)
        return fd;
    struct listener *listener = listener_new(server, listener_id, path);
    listener->unix_dev = st.st_dev;
    listener->unix_ino = st.st_ino;
    error = uv_pipe_open(&listener->socket.pipe, fd);
    if (error != 0)
        close(fd);
    return listener_start(listener, error);
}

void http_server_close_listeners(struct http_server *server, int listener_id)
{
    struct listener **link = &server->listeners;
    while (*link != NULL) {
        struct listener *listener = *link;
        if (listener->id != listener_id) {
            link = &listener->next;
            continue;
        }
        *link = listener->next;
        listener_close(listener);
    }
}

/* Server: life. */

struct http_server *http_server_new(struct uv_loop_s *loop, http_handler_fn handler, void *ctx)
{
    struct http_server *server = must_alloc(sizeof *server);
    server->loop = loop;
    server->handler = handler;
    server->ctx = ctx;
    uv_timer_init(loop, &server->timer);
    server->handle_count = 1;
    return server;
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(CONTAINER_OF(handle, struct http_server, timer));
}

void http_server_close(struct http_server *server, http_closed_fn closed, void *ctx)
{
    assert(!server->closing);
    server->closing = true;
    server->closed = closed;
    server->closed_ctx = ctx;
    while (server->listeners != NULL)
        http_server_close_listeners(server, server->listeners->id);
    for (struct http_client *client = server->clients; client != NULL; client = client->next)
        client_close(client);
    uv_close((uv_handle_t *)&server->timer, on_timer_closed);
}

size_t http_server_clients(const struct http_server *server)
{
    return server->client_count;
}
