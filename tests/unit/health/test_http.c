/* SPDX-License-Identifier: Apache-2.0
 * health/http and health/http_client: a real loop and real sockets in this process. Peers are
 * scripted: a step waits for bytes or for the end of the stream, never for time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "health/http.h"
#include "health/http_client.h"

enum { ID_ADMIN = 7, ID_HEALTH = 8, TURNS_MAX = 5000 };

static uv_loop_t loop;
static struct http_server *server;
static struct sockaddr_in bound;
static struct http_client *pending; /* of GET /later */
static int requests_seen;
static bool server_closed;
static char big_body[8 << 20];

static void handle(void *ctx, const struct http_request *request)
{
    char text[512];
    (void)ctx;
    requests_seen++;
    if (strcmp(request->path, "/later") == 0) {
        pending = request->client;
    } else if (strcmp(request->path, "/secret") == 0 && request->token == NULL) {
        http_respond(request->client, 401, NULL, "no", 2);
    } else if (strcmp(request->path, "/drain") == 0 && request->method != HTTP_METHOD_POST) {
        http_respond_with(request->client, 405, "Allow: POST\r\n", "text/x", bytes_text("post"));
    } else if (strcmp(request->path, "/big") == 0) {
        http_respond(request->client, 200, NULL, big_body, sizeof big_body);
    } else if (strcmp(request->path, "/close") == 0) {
        http_server_close(server, NULL, NULL);
        server_closed = true;
        http_respond(request->client, 200, NULL, "", 0);
    } else {
        int len = snprintf(text, sizeof text, "%d %d %s ?%s %s", request->listener_id,
                           (int)request->method, request->path, request->query,
                           request->token != NULL ? request->token : "-");
        http_respond(request->client, 200, NULL, text, (size_t)len);
    }
}

static int set_up(void **state)
{
    struct sockaddr_storage storage;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(uv_loop_init(&loop), 0);
    server = http_server_new(&loop, handle, NULL);
    server_closed = false;
    requests_seen = 0;
    memset(big_body, 'b', sizeof big_body);
    assert_int_equal(http_server_listen_tcp(server, (struct sockaddr *)&addr, ID_ADMIN, &storage),
                     0);
    memcpy(&bound, &storage, sizeof bound);
    return 0;
}

static void on_server_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static int tear_down(void **state)
{
    bool closed = false;
    (void)state;
    if (!server_closed) {
        http_server_close(server, on_server_closed, &closed);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_true(closed);
    } else {
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&bound, sizeof bound), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Turns the loop until the peer's socket has something to read, then reads it. 0 at the end of the
 * stream. */
static ssize_t read_some(int fd, char *out, size_t room)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        if (poll(&poll_fd, 1, 1) > 0)
            return recv(fd, out, room, 0);
    }
    fail_msg("nothing came");
    return -1;
}

/* All answers until the text ends with `end`. */
static void expect_end(int fd, const char *end, char *out, size_t room)
{
    size_t len = 0, end_len = strlen(end);
    while (len < end_len || strcmp(out + len - end_len, end) != 0) {
        ssize_t more = read_some(fd, out + len, room - 1 - len);
        if (more <= 0)
            fail_msg("the stream ended with: %.*s", (int)len, out);
        len += (size_t)more;
        out[len] = '\0';
    }
}

static void expect_closed(int fd)
{
    char rest[4096];
    ssize_t len;
    do {
        len = read_some(fd, rest, sizeof rest);
    } while (len > 0);
    assert_true(len == 0 || errno == ECONNRESET);
    close(fd);
}

/* Turns the loop until so many are connected; in between it waits for what the loop waits for. */
static void run_until_clients(size_t count)
{
    struct pollfd poll_fd = {.fd = uv_backend_fd(&loop), .events = POLLIN};
    uv_run(&loop, UV_RUN_NOWAIT);
    while (http_server_clients(server) != count && poll(&poll_fd, 1, 5000) > 0)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(http_server_clients(server), count);
}

static void a_request_is_answered(void **state)
{
    char text[2048];
    int fd = dial();
    (void)state;
    say(fd, "GET /a?b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
    expect_end(fd, "7 0 /a ?b t", text, sizeof text);
    assert_int_equal(strncmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
    assert_non_null(strstr(text, "\r\nContent-Length: 11\r\n"));
    assert_non_null(strstr(text, "\r\nConnection: keep-alive\r\n"));
    close(fd);
    run_until_clients(0);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    char text[4096];
    int fd = dial();
    (void)state;
    say(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nPOST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: "
            "3\r\n\r\nabc"
            "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    expect_end(fd, "7 0 /3 ? -", text, sizeof text);
    assert_true(strstr(text, "7 0 /1 ? -") < strstr(text, "7 1 /2 ? -"));
    assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
    assert_int_equal(requests_seen, 3);
    expect_closed(fd);
}

static void requests_behind_a_slow_one_wait(void **state)
{
    char text[4096];
    int fd = dial();
    (void)state;
    say(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    while (requests_seen == 0)
        uv_run(&loop, UV_RUN_ONCE);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(requests_seen, 1);
    http_server_expire(server, uv_now(&loop) + 1000000); /* the handler's time is its own */
    http_respond(pending, 202, "text/x", "late", 4);
    expect_end(fd, "7 0 /2 ? -", text, sizeof text);
    assert_true(strstr(text, "202 Accepted") < strstr(text, "200 OK"));
    close(fd);
}

static void head_has_the_length_but_no_body(void **state)
{
    char text[2048];
    int fd = dial();
    (void)state;
    say(fd, "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    expect_end(fd, "\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "\r\nContent-Length: 10\r\n"));
    expect_closed(fd);
}

static void refusals_carry_their_headers(void **state)
{
    char text[2048];
    int fd = dial();
    (void)state;
    say(fd, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "\r\n\r\nno", text, sizeof text);
    assert_non_null(strstr(text, "HTTP/1.1 401 Unauthorized\r\n"));
    assert_non_null(strstr(text, "\r\nWWW-Authenticate: Bearer\r\n"));
    say(fd, "GET /drain HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "\r\n\r\npost", text, sizeof text);
    assert_non_null(strstr(text, "HTTP/1.1 405 Method Not Allowed\r\n"));
    assert_non_null(strstr(text, "\r\nAllow: POST\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: text/x\r\n"));
    close(fd);
}

static void bad_input_gets_400_and_the_end(void **state)
{
    char text[2048];
    int fd = dial();
    (void)state;
    say(fd, "garbage\r\n\r\n");
    expect_end(fd, "Bad Request", text, sizeof text);
    assert_int_equal(strncmp(text, "HTTP/1.1 400 Bad Request\r\n", 26), 0);
    assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
    expect_closed(fd);
    fd = dial();
    say(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n");
    expect_end(fd, "Content Too Large", text, sizeof text);
    say(fd, "some of the body"); /* is dropped, and does not reset the connection */
    expect_closed(fd);
    run_until_clients(0);
    assert_int_equal(requests_seen, 0);
}

static void a_slow_request_is_cut_at_its_deadline(void **state)
{
    int fd = dial();
    (void)state;
    say(fd, "GET / HTT");
    run_until_clients(1);
    http_server_expire(server, uv_now(&loop) + HTTP_REQUEST_TIMEOUT_MS - 1000);
    assert_int_equal(http_server_clients(server), 1);
    http_server_expire(server, uv_now(&loop) + HTTP_REQUEST_TIMEOUT_MS);
    assert_int_equal(http_server_clients(server), 0);
    expect_closed(fd);
}

static void a_slow_reader_is_cut_at_its_deadline(void **state)
{
    char text[16];
    int fd = dial();
    (void)state;
    say(fd, "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_true(read_some(fd, text, sizeof text) > 0);
    http_server_expire(server, uv_now(&loop) + HTTP_REQUEST_TIMEOUT_MS);
    assert_int_equal(http_server_clients(server), 0);
    assert_int_equal(requests_seen, 1);
    expect_closed(fd);
}

static void an_idle_connection_lives_longer_than_a_request(void **state)
{
    char text[2048];
    int fd = dial();
    (void)state;
    say(fd, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "7 0 /a ? -", text, sizeof text);
    uv_run(&loop, UV_RUN_NOWAIT);
    http_server_expire(server, uv_now(&loop) + HTTP_REQUEST_TIMEOUT_MS);
    assert_int_equal(http_server_clients(server), 1);
    http_server_expire(server, uv_now(&loop) + HTTP_IDLE_TIMEOUT_MS);
    expect_closed(fd);
}

static void at_the_limit_an_idle_connection_makes_room(void **state)
{
    char text[2048];
    int fds[HTTP_CLIENTS_MAX];
    (void)state;
    for (int i = 0; i < HTTP_CLIENTS_MAX; i++) {
        fds[i] = dial();
        run_until_clients((size_t)i + 1);
    }
    expect_closed(dial()); /* all are within a request: the new one goes */
    say(fds[5], "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fds[5], "7 0 /a ? -", text, sizeof text);
    uv_run(&loop, UV_RUN_NOWAIT);
    int fd = dial();
    say(fd, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "7 0 /b ? -", text, sizeof text);
    expect_closed(fds[5]);
    assert_int_equal(http_server_clients(server), HTTP_CLIENTS_MAX);
    for (int i = 0; i < HTTP_CLIENTS_MAX; i++)
        if (i != 5)
            close(fds[i]);
    close(fd);
    run_until_clients(0);
}

static void an_answer_owed_at_close_is_dropped(void **state)
{
    int fd = dial();
    (void)state;
    say(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    while (requests_seen == 0)
        uv_run(&loop, UV_RUN_ONCE);
    http_server_close(server, NULL, NULL);
    server_closed = true;
    uv_run(&loop, UV_RUN_DEFAULT);
    http_respond(pending, 200, NULL, "too late", 8);
    expect_closed(fd);
}

static void a_handler_may_close_the_server(void **state)
{
    int fd = dial();
    (void)state;
    say(fd, "GET /close HTTP/1.1\r\nHost: h\r\n\r\n");
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(server_closed);
    expect_closed(fd);
}

static void closing_cuts_answers_and_requests(void **state)
{
    char text[16];
    int reading = dial(), writing = dial(), lingering = dial();
    (void)state;
    say(reading, "GET /");
    say(writing, "GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    say(lingering, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_true(read_some(writing, text, sizeof text) > 0);
    assert_true(read_some(lingering, text, sizeof text) > 0);
    http_server_close(server, NULL, NULL);
    server_closed = true;
    uv_run(&loop, UV_RUN_DEFAULT);
    expect_closed(reading);
    expect_closed(writing);
    expect_closed(lingering);
}

/* Unix sockets. */

static char directory[64];

static const char *socket_path(void)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/admin.sock", directory);
    return path;
}

static int set_up_directory(void **state)
{
    strcpy(directory, "/tmp/sluice-http-XXXXXX");
    return mkdtemp(directory) == NULL ? 1 : set_up(state);
}

static int tear_down_directory(void **state)
{
    int result = tear_down(state);
    unlink(socket_path());
    return rmdir(directory) != 0 ? 1 : result;
}

static int dial_unix(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(addr.sun_path, socket_path());
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    close(fd);
    return -1;
}

static void a_unix_listener_answers_under_its_own_id(void **state)
{
    struct stat st;
    char text[2048];
    (void)state;
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0660, ID_HEALTH), 0);
    assert_int_equal(lstat(socket_path(), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0660);
    int fd = dial_unix();
    say(fd, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "8 0 /a ? -", text, sizeof text);
    /* The listener goes, the connection stays, the file is removed. */
    http_server_close_listeners(server, ID_HEALTH);
    assert_int_equal(access(socket_path(), F_OK), -1);
    say(fd, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_end(fd, "8 0 /b ? -", text, sizeof text);
    close(fd);
    close(dial()); /* the other listener is still there */
}

static void a_socket_in_use_is_not_replaced(void **state)
{
    (void)state;
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_HEALTH), 0);
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_ADMIN), UV_EADDRINUSE);
    int fd = dial_unix();
    assert_true(fd >= 0);
    close(fd);
}

static void a_stale_socket_is_replaced(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    strcpy(addr.sun_path, socket_path());
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    close(fd);
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_HEALTH), 0);
    fd = dial_unix();
    assert_true(fd >= 0);
    close(fd);
}

static void other_files_and_bad_paths_are_left_alone(void **state)
{
    char long_path[200];
    (void)state;
    close(creat(socket_path(), 0600));
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_HEALTH),
                     UV_EADDRINUSE);
    assert_int_equal(access(socket_path(), F_OK), 0);
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(http_server_listen_unix(server, long_path, 0600, ID_HEALTH), UV_ENAMETOOLONG);
    assert_int_equal(http_server_listen_unix(server, "/nowhere/at/all", 0600, ID_HEALTH),
                     UV_ENOENT);
}

static void another_socket_in_its_place_is_not_removed(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_HEALTH), 0);
    char moved[128];
    snprintf(moved, sizeof moved, "%s.old", socket_path());
    assert_int_equal(rename(socket_path(), moved), 0);
    strcpy(addr.sun_path, socket_path());
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    http_server_close_listeners(server, ID_HEALTH);
    assert_int_equal(access(socket_path(), F_OK), 0);
    close(fd);
    unlink(moved);
}

static void a_taken_port_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(http_server_listen_tcp(server, (struct sockaddr *)&bound, ID_HEALTH, NULL),
                     UV_EADDRINUSE);
}

/* The blocking client, in a thread of its own while the loop turns here. */

struct call_thread {
    struct http_call call;
    int result;
    int status;
    char body[64];
    uv_async_t done;
};

static void *run_call(void *arg)
{
    struct call_thread *thread = arg;
    thread->result = http_call(&thread->call, &thread->status, thread->body, sizeof thread->body);
    uv_async_send(&thread->done);
    return NULL;
}

static void on_call_done(uv_async_t *async)
{
    uv_close((uv_handle_t *)async, NULL);
    uv_stop(async->loop);
}

static struct call_thread call(struct http_call what)
{
    static struct call_thread thread;
    pthread_t id;
    thread = (struct call_thread){.call = what};
    uv_async_init(&loop, &thread.done, on_call_done);
    assert_int_equal(pthread_create(&id, NULL, run_call, &thread), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    pthread_join(id, NULL);
    uv_run(&loop, UV_RUN_NOWAIT); /* the async handle's close */
    return thread;
}

static void a_call_gets_status_and_body(void **state)
{
    struct http_call what = {.addr = (struct sockaddr *)&bound,
                             .method = "POST",
                             .path = "/x?y",
                             .token = "t",
                             .timeout_ms = 5000};
    struct call_thread got;
    (void)state;
    got = call(what);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.status, 200);
    assert_string_equal(got.body, "7 1 /x ?y t");

    assert_int_equal(http_server_listen_unix(server, socket_path(), 0600, ID_HEALTH), 0);
    what = (struct http_call){
        .unix_path = socket_path(), .method = "GET", .path = "/secret", .timeout_ms = 5000};
    got = call(what);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.status, 401);
    assert_string_equal(got.body, "no");

    what.path = "/big"; /* cut to the room, NUL behind it */
    got = call(what);
    assert_int_equal(got.result, 0);
    assert_int_equal(strlen(got.body), sizeof got.body - 1);
}

static int call_here(struct http_call what)
{
    char body[16];
    int status;
    return http_call(&what, &status, body, sizeof body);
}

static void a_call_says_why_it_failed(void **state)
{
    char long_path[200];
    struct sockaddr_in nobody = bound;
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* bound, not listening: refused */
    socklen_t len = sizeof nobody;
    nobody.sin_port = 0;
    assert_int_equal(bind(fd, (struct sockaddr *)&nobody, len), 0);
    getsockname(fd, (struct sockaddr *)&nobody, &len);
    struct http_call what = {
        .addr = (struct sockaddr *)&nobody, .method = "GET", .path = "/", .timeout_ms = 5000};
    assert_int_equal(call_here(what), -ECONNREFUSED);
    close(fd);

    what.addr = (struct sockaddr *)&bound; /* accepted by the kernel, the loop does not turn */
    what.timeout_ms = 1;
    assert_int_equal(call_here(what), -ETIMEDOUT);
    what.path = "/a b";
    assert_int_equal(call_here(what), -EINVAL);
    what.path = "/";
    what.token = "a\r\nX: y";
    assert_int_equal(call_here(what), -EINVAL);
    what = (struct http_call){
        .unix_path = "/nowhere/at/all", .method = "GET", .path = "/", .timeout_ms = 5000};
    assert_int_equal(call_here(what), -ENOENT);
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    what.unix_path = long_path;
    assert_int_equal(call_here(what), -ENAMETOOLONG);
}

struct script {
    int listen_fd;
    const char *answer;
};

/* A peer that reads one request, says its line and closes. */
static void *run_script(void *arg)
{
    struct script *script = arg;
    char request[4096];
    int fd = accept(script->listen_fd, NULL, NULL);
    assert_true(recv(fd, request, sizeof request, 0) > 0);
    send(fd, script->answer, strlen(script->answer), MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

static void a_call_bears_odd_servers(void **state)
{
    static const struct {
        const char *answer;
        int result;
        int status;
        const char *body;
    } cases[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, 200,
         "hi"},
        {"HTTP/1.0 503 No\r\n\r\nuntil the end", 0, 503, "until the end"},
        {"SSH-2.0-x\r\n", -EPROTO, 0, ""},
        {"", -ECONNRESET, 0, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", -EPROTO, 0, "hi"},
    };
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t addr_len = sizeof addr;
    int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(listen_fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(listen_fd, 1), 0);
    getsockname(listen_fd, (struct sockaddr *)&addr, &addr_len);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_call what = {
            .addr = (struct sockaddr *)&addr, .method = "GET", .path = "/", .timeout_ms = 5000};
        struct script script = {.listen_fd = listen_fd, .answer = cases[i].answer};
        char body[64];
        int status = 0;
        pthread_t id;
        assert_int_equal(pthread_create(&id, NULL, run_script, &script), 0);
        assert_int_equal(http_call(&what, &status, body, sizeof body), cases[i].result);
        assert_int_equal(status, cases[i].status);
        assert_string_equal(body, cases[i].body);
        pthread_join(id, NULL);
    }
    close(listen_fd);
}

#define CASE(name)      cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define UNIX_CASE(name) cmocka_unit_test_setup_teardown(name, set_up_directory, tear_down_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_answered),
        CASE(pipelined_requests_are_answered_in_order),
        CASE(requests_behind_a_slow_one_wait),
        CASE(head_has_the_length_but_no_body),
        CASE(refusals_carry_their_headers),
        CASE(bad_input_gets_400_and_the_end),
        CASE(a_slow_request_is_cut_at_its_deadline),
        CASE(a_slow_reader_is_cut_at_its_deadline),
        CASE(an_idle_connection_lives_longer_than_a_request),
        CASE(at_the_limit_an_idle_connection_makes_room),
        CASE(an_answer_owed_at_close_is_dropped),
        CASE(a_handler_may_close_the_server),
        CASE(closing_cuts_answers_and_requests),
        CASE(a_taken_port_is_an_error),
        UNIX_CASE(a_unix_listener_answers_under_its_own_id),
        UNIX_CASE(a_socket_in_use_is_not_replaced),
        UNIX_CASE(a_stale_socket_is_replaced),
        UNIX_CASE(other_files_and_bad_paths_are_left_alone),
        UNIX_CASE(another_socket_in_its_place_is_not_removed),
        UNIX_CASE(a_call_gets_status_and_body),
        CASE(a_call_says_why_it_failed),
        CASE(a_call_bears_odd_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
