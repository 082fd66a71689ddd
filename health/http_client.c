/* SPDX-License-Identifier: Apache-2.0
 *
 * See http_client.h: connect, send, read until the answer is whole, all against one deadline.
 * Blocks its caller. */
#include "health/http_client.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "health/http_parse.h"

enum { REQUEST_ROOM_BYTES = HTTP_TARGET_MAX_BYTES + HTTP_TOKEN_MAX_BYTES + 256 };

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until `fd` is ready for `events`. 0, -ETIMEDOUT or another negative errno. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int64_t left_ms = deadline_ms - monotonic_ms();
        if (left_ms <= 0)
            return -ETIMEDOUT;
        int ready = poll(&poll_fd, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

/* The address of a call; its length, or 0 for a unix path that does not fit. */
static socklen_t call_address(const struct http_call *call, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (call->addr != NULL) {
        bool is_v6 = call->addr->sa_family == AF_INET6;
        socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        memcpy(out, call->addr, len);
        return len;
    }
    struct sockaddr_un *un = (struct sockaddr_un *)out;
    size_t len = strlen(call->unix_path);
    if (len >= sizeof un->sun_path)
        return 0;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, call->unix_path, len);
    return sizeof *un;
}

/* A connected socket or a negative errno. */
static int call_connect(const struct http_call *call, int64_t deadline_ms)
{
    struct sockaddr_storage addr;
    socklen_t addr_len = call_address(call, &addr);
    int error = 0;
    socklen_t error_len = sizeof error;

    if (addr_len == 0)
        return -ENAMETOOLONG;
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&addr, addr_len) != 0) {
        error = -errno;
        if (error == -EINPROGRESS) {
            error = wait_for(fd, POLLOUT, deadline_ms);
            if (error == 0) {
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
                error = -error;
            }
        }
    }
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

static int call_send(int fd, const char *request, size_t len, int64_t deadline_ms)
{
    while (len > 0) {
        ssize_t sent = send(fd, request, len, MSG_NOSIGNAL);
        if (sent >= 0) {
            request += sent;
            len -= (size_t)sent;
        } else if (errno == EAGAIN) {
            int error = wait_for(fd, POLLOUT, deadline_ms);
            if (error != 0)
                return error;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Parses what came; interim answers (1xx) are passed over. WIRE_DONE with the final one in
 * `message`. */
static enum wire_result take_answer(struct http_parser *parser, struct bytes in,
                                    struct http_message *message)
{
    enum wire_result result;
    size_t used;
    do {
        result = http_parse(parser, in, &used, message);
        in = bytes_of(in.at + used, in.len - used);
    } while (result == WIRE_DONE && message->status < 200 && in.len > 0);
    return result == WIRE_DONE && message->status < 200 ? WIRE_MORE : result;
}

static int call_receive(int fd, struct http_parser *parser, int64_t deadline_ms, int *status)
{
    enum wire_result result = WIRE_MORE;
    struct http_message message;
    char in[4096];

    while (result == WIRE_MORE) {
        ssize_t len = recv(fd, in, sizeof in, 0);
        if (len > 0) {
            result = take_answer(parser, bytes_of(in, (size_t)len), &message);
        } else if (len == 0) {
            result = http_parse_eof(parser, &message);
            if (result == WIRE_MORE)
                return -ECONNRESET;
        } else if (errno == EAGAIN) {
            int error = wait_for(fd, POLLIN, deadline_ms);
            if (error != 0)
                return error;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    if (result == WIRE_BAD)
        return -EPROTO;
    *status = message.status;
    return 0;
}

/* One word of the request: printable, no blanks. */
static bool is_word(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7F)
            return false;
    return true;
}

/* Length of the request, or -EINVAL. */
static int format_request(const struct http_call *call, char *out, size_t room)
{
    const char *token = call->token != NULL ? call->token : "";
    if (!is_word(call->path) || !is_word(token))
        return -EINVAL;
    int len = snprintf(
        out, room,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n%s%s%s\r\n",
        call->method, call->path, *token != '\0' ? "Authorization: Bearer " : "", token,
        *token != '\0' ? "\r\n" : "");
    return len > 0 && (size_t)len < room ? len : -EINVAL;
}

int http_call(const struct http_call *call, int *status, char *body, size_t room)
{
    char request[REQUEST_ROOM_BYTES];
    int64_t deadline_ms = monotonic_ms() + call->timeout_ms;
    struct http_parser *parser = NULL;
    int fd = -1;
    int request_len = format_request(call, request, sizeof request);
    int result = request_len < 0 ? request_len : 0;

    body[0] = '\0';
    if (result != 0)
        goto out;
    fd = result = call_connect(call, deadline_ms);
    if (fd < 0)
        goto out;
    result = -ENOMEM;
    parser = http_parser_new(HTTP_SIDE_RESPONSE);
    if (parser == NULL)
        goto out;
    http_parser_keep_body(parser, body, room - 1);
    result = call_send(fd, request, (size_t)request_len, deadline_ms);
    if (result == 0)
        result = call_receive(fd, parser, deadline_ms, status);
    body[http_parser_body_len(parser)] = '\0';
out:
    explicit_bzero(request, sizeof request); /* the token */
    http_parser_free(parser);
    if (fd >= 0)
        close(fd);
    return result;
}
