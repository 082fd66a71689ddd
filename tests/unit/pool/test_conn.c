/* SPDX-License-Identifier: Apache-2.0
 *
 * pool/conn.c over a real loop: socket pairs and loopback TCP, the far end in the test's hands. */
#include "pool/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool/tls.h"

enum { TURNS_MAX = 1000000, GOT_MAX = 4 * 1024 * 1024 };

static struct loop loop;

/* A connection and all that it told its owner. */
struct end {
    struct conn conn;
    int fd; /* the far end */
    uint8_t *got;
    size_t got_bytes;
    int reads, ends, drains, closes, tls_done;
    int error;
    uint32_t queued_when_drained;
    bool pause_on_read;
    bool close_on_read;
};

static struct end *end_of(struct conn *c)
{
    return CONTAINER_OF(c, struct end, conn);
}

static void on_read(struct conn *c, uint8_t *at, size_t len)
{
    struct end *e = end_of(c);
    assert_true(e->got_bytes + len <= GOT_MAX);
    memcpy(e->got + e->got_bytes, at, len);
    memset(at, 0xEE, len); /* it is ours to write to */
    e->got_bytes += len;
    e->reads++;
    if (e->pause_on_read)
        conn_pause(c);
    if (e->close_on_read)
        conn_close(c);
}

static void on_end(struct conn *c, int error)
{
    end_of(c)->ends++;
    end_of(c)->error = error;
}

static void on_drained(struct conn *c)
{
    end_of(c)->drains++;
    end_of(c)->queued_when_drained = c->queued_bytes;
}

static void on_closed(struct conn *c)
{
    end_of(c)->closes++;
}

static void on_tls(struct conn *c)
{
    end_of(c)->tls_done++;
}

static const struct conn_owner owner = {.on_read = on_read,
                                        .on_end = on_end,
                                        .on_drained = on_drained,
                                        .on_closed = on_closed,
                                        .on_tls = on_tls};

static void turn(void)
{
    (void)uv_run(&loop.uv, UV_RUN_NOWAIT);
}

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        for (int turns_ = 0; !(condition); turns_++) {                                             \
            if (turns_ == TURNS_MAX)                                                               \
                fail_msg("never came true: %s", #condition);                                       \
            turn();                                                                                \
        }                                                                                          \
    } while (0)

static int setup(void **state)
{
    (void)state;
    return uv_loop_init(&loop.uv);
}

static int teardown(void **state)
{
    (void)state;
    return uv_loop_close(&loop.uv); /* busy when a test left something open */
}

static void end_init(struct end *e, bool is_unix)
{
    memset(e, 0, sizeof *e);
    e->got = malloc(GOT_MAX);
    assert_non_null(e->got);
    assert_int_equal(conn_init(&e->conn, &loop, is_unix, &owner), 0);
}

/* One end of a pair of unix sockets is the connection's. */
static void end_open(struct end *e)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    end_init(e, true);
    assert_int_equal(uv_pipe_open(&e->conn.uv.pipe, fds[0]), 0);
    e->fd = fds[1];
    assert_int_equal(conn_open(&e->conn), 0);
}

/* Both ends are connections. */
static void pair_open(struct end *a, struct end *b)
{
    end_open(a);
    end_init(b, true);
    assert_int_equal(uv_pipe_open(&b->conn.uv.pipe, a->fd), 0);
    a->fd = b->fd = -1;
    assert_int_equal(conn_open(&b->conn), 0);
}

static void end_finish(struct end *e)
{
    conn_close(&e->conn);
    UNTIL(e->closes);
    assert_int_equal(e->closes, 1);
    if (e->fd >= 0)
        (void)close(e->fd);
    free(e->got);
}

static void far_writes(struct end *e, const char *text)
{
    assert_int_equal(write(e->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

/* Reads what is there at the far end, which goes on at `*at` of the pattern. */
static void far_reads(struct end *e, size_t *at)
{
    uint8_t bytes[4096];
    ssize_t n = read(e->fd, bytes, sizeof bytes);
    for (ssize_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], pattern((*at)++));
}

static void writes_pattern(struct end *e, size_t *at, size_t len)
{
    uint8_t *bytes = malloc(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = pattern(*at + i);
    assert_int_equal(conn_write_bytes(&e->conn, bytes, len), 0);
    *at += len;
    free(bytes);
}

/* ---- reading ---- */

static void bytes_reach_the_owner(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    far_writes(&e, "hello");
    UNTIL(e.got_bytes == 5);
    assert_memory_equal(e.got, "hello", 5);
    assert_int_equal(e.ends, 0);
    end_finish(&e);
}

static void the_end_is_told_once_behind_the_last_byte(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    far_writes(&e, "bye");
    assert_int_equal(close(e.fd), 0);
    e.fd = -1;
    UNTIL(e.ends);
    assert_memory_equal(e.got, "bye", 3);
    assert_int_equal(e.error, 0);
    for (int i = 0; i < 10; i++)
        turn();
    assert_int_equal(e.ends, 1);
    end_finish(&e);
    assert_int_equal(e.ends, 1);
}

static void a_paused_one_shows_neither_bytes_nor_end(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    conn_pause(&e.conn);
    conn_pause(&e.conn);
    far_writes(&e, "later");
    assert_int_equal(close(e.fd), 0);
    e.fd = -1;
    for (int i = 0; i < 20; i++)
        turn();
    assert_int_equal(e.reads, 0);
    assert_int_equal(e.ends, 0);
    conn_resume(&e.conn);
    conn_resume(&e.conn);
    UNTIL(e.ends);
    assert_memory_equal(e.got, "later", 5);
    end_finish(&e);
}

static void a_pause_inside_on_read_holds(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    e.pause_on_read = true;
    far_writes(&e, "one");
    UNTIL(e.reads == 1);
    far_writes(&e, "two");
    for (int i = 0; i < 20; i++)
        turn();
    assert_int_equal(e.got_bytes, 3);
    conn_resume(&e.conn);
    UNTIL(e.got_bytes == 6);
    assert_memory_equal(e.got, "onetwo", 6);
    end_finish(&e);
}

/* ---- writing ---- */

static void slices_are_sent_in_order(void **state)
{
    enum { SLICES = 200 }; /* more than go into one call */
    struct end e;
    struct bytes slices[SLICES];
    uint8_t bytes[SLICES * 3];
    size_t sent = 0;
    size_t at = 0;
    (void)state;
    end_open(&e);
    for (size_t i = 0; i < SLICES; i++) {
        size_t len = i % 4; /* empty ones too */
        slices[i] = bytes_of(bytes + sent, len);
        for (size_t k = 0; k < len; k++) {
            bytes[sent] = pattern(sent);
            sent++;
        }
    }
    assert_int_equal(conn_write(&e.conn, slices, SLICES), 0);
    while (at < sent)
        far_reads(&e, &at);
    assert_int_equal(e.conn.queued_bytes, 0);
    end_finish(&e);
}

static void what_the_socket_does_not_take_is_queued_and_sent_in_order(void **state)
{
    struct end e;
    size_t sent = 0;
    size_t at = 0;
    (void)state;
    end_open(&e);
    writes_pattern(&e, &sent, 1500000);
    assert_true(e.conn.queued_bytes > 0);
    assert_true(e.conn.queued_bytes < 1500000); /* the socket took some at once */
    uint32_t before = e.conn.queued_bytes;
    writes_pattern(&e, &sent, 100); /* behind the queue, although small */
    assert_int_equal(e.conn.queued_bytes, before + 100);
    UNTIL((far_reads(&e, &at), at == sent));
    UNTIL(e.conn.queued_bytes == 0);
    end_finish(&e);
}

static void drained_is_told_once_below_the_low_mark(void **state)
{
    struct end e;
    size_t sent = 0;
    size_t at = 0;
    (void)state;
    end_open(&e);
    while (!conn_is_full(&e.conn))
        writes_pattern(&e, &sent, 4096);
    assert_true(e.conn.queued_bytes > CONN_HIGH_BYTES);
    assert_true(e.conn.queued_bytes <= CONN_HIGH_BYTES + 4096); /* the mark is exact */
    while (!e.drains) {
        far_reads(&e, &at);
        turn();
        assert_true(at < sent);
    }
    assert_true(e.queued_when_drained < CONN_LOW_BYTES);
    assert_true(e.queued_when_drained > 0);
    assert_false(conn_is_full(&e.conn));
    UNTIL((far_reads(&e, &at), at == sent));
    assert_int_equal(e.drains, 1);
    end_finish(&e);
}

static void below_the_high_mark_no_drain_is_owed(void **state)
{
    struct end e;
    size_t sent = 0;
    size_t at = 0;
    (void)state;
    end_open(&e);
    while (e.conn.queued_bytes < CONN_HIGH_BYTES - 8192)
        writes_pattern(&e, &sent, 4096);
    UNTIL((far_reads(&e, &at), at == sent));
    UNTIL(e.conn.queued_bytes == 0);
    assert_int_equal(e.drains, 0);
    end_finish(&e);
}

static void a_peer_that_goes_with_bytes_in_the_queue_is_an_error(void **state)
{
    struct end e;
    size_t sent = 0;
    (void)state;
    end_open(&e);
    writes_pattern(&e, &sent, 1500000);
    assert_int_equal(close(e.fd), 0);
    e.fd = -1;
    UNTIL(e.ends);
    for (int i = 0; i < 10; i++)
        turn();
    assert_int_equal(e.ends, 1);
    assert_int_equal(e.drains, 0);
    assert_true(conn_write_bytes(&e.conn, "x", 1) < 0);
    end_finish(&e);
}

/* ---- closing ---- */

static void closing_twice_is_harmless_and_nothing_follows_it(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    far_writes(&e, "unread");
    conn_close(&e.conn);
    conn_close(&e.conn);
    conn_abort(&e.conn);
    conn_resume(&e.conn);
    conn_pause(&e.conn);
    assert_int_equal(e.closes, 0); /* later */
    assert_int_equal(conn_write_bytes(&e.conn, "x", 1), UV_ECANCELED);
    UNTIL(e.closes);
    assert_int_equal(e.reads + e.ends + e.drains, 0);
    end_finish(&e);
}

static void the_owner_may_close_inside_on_read(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    e.close_on_read = true;
    far_writes(&e, "now");
    UNTIL(e.closes);
    assert_int_equal(e.ends, 0);
    end_finish(&e);
}

static void a_close_with_a_queue_tells_only_the_close(void **state)
{
    struct end e;
    size_t sent = 0;
    (void)state;
    end_open(&e);
    writes_pattern(&e, &sent, 1500000);
    conn_close(&e.conn);
    UNTIL(e.closes);
    assert_int_equal(e.conn.queued_bytes, 0);
    assert_int_equal(e.ends + e.drains, 0);
    end_finish(&e);
}

static void an_aborted_unix_socket_is_closed(void **state)
{
    struct end e;
    char byte;
    (void)state;
    end_open(&e);
    conn_abort(&e.conn);
    UNTIL(e.closes);
    assert_int_equal(read(e.fd, &byte, 1), 0);
    end_finish(&e);
}

/* ---- TCP ---- */

static uv_tcp_t listener;
static struct end *accepting;

static void on_connection(uv_stream_t *l, int status)
{
    assert_int_equal(status, 0);
    end_init(accepting, false);
    accepting->fd = -1;
    assert_int_equal(conn_accept(&accepting->conn, l), 0);
    assert_int_equal(conn_open(&accepting->conn), 0);
    accepting = NULL;
}

/* Listens, connects a socket of the test's, accepts it as `e`. False when the family is not to be
 * had here. */
static bool tcp_open(struct end *e, const char *address)
{
    struct sockaddr_storage ss = {0};
    int len = sizeof ss;
    if (strchr(address, ':'))
        assert_int_equal(uv_ip6_addr(address, 0, (struct sockaddr_in6 *)&ss), 0);
    else
        assert_int_equal(uv_ip4_addr(address, 0, (struct sockaddr_in *)&ss), 0);
    assert_int_equal(uv_tcp_init(&loop.uv, &listener), 0);
    accepting = e;
    if (uv_tcp_bind(&listener, (struct sockaddr *)&ss, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 8, on_connection) != 0) {
        uv_close((uv_handle_t *)&listener, NULL);
        turn();
        return false;
    }
    assert_int_equal(uv_tcp_getsockname(&listener, (struct sockaddr *)&ss, &len), 0);
    int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&ss, (socklen_t)len), 0);
    UNTIL(!accepting);
    e->fd = fd;
    uv_close((uv_handle_t *)&listener, NULL);
    turn();
    return true;
}

static void tcp_carries_both_ways(void **state)
{
    struct end e;
    char got[5];
    (void)state;
    assert_true(tcp_open(&e, "127.0.0.1"));
    far_writes(&e, "hello");
    UNTIL(e.got_bytes == 5);
    assert_int_equal(conn_write_bytes(&e.conn, "hallo", 5), 0);
    assert_int_equal(recv(e.fd, got, 5, MSG_WAITALL), 5);
    assert_memory_equal(got, "hallo", 5);
    end_finish(&e);
}

static void an_abort_is_a_reset_and_a_close_is_not(void **state)
{
    struct end e;
    char byte;
    (void)state;
    assert_true(tcp_open(&e, "127.0.0.1"));
    conn_abort(&e.conn);
    UNTIL(e.closes);
    assert_int_equal(read(e.fd, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    end_finish(&e);
    assert_true(tcp_open(&e, "127.0.0.1"));
    conn_close(&e.conn);
    UNTIL(e.closes);
    assert_int_equal(read(e.fd, &byte, 1), 0);
    end_finish(&e);
}

static void a_reset_by_the_peer_is_an_error(void **state)
{
    struct end e;
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)state;
    assert_true(tcp_open(&e, "127.0.0.1"));
    assert_int_equal(setsockopt(e.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    assert_int_equal(close(e.fd), 0);
    e.fd = -1;
    UNTIL(e.ends);
    assert_int_equal(e.error, UV_ECONNRESET);
    end_finish(&e);
}

static void peers_have_names(void **state)
{
    struct end e;
    char name[80];
    (void)state;
    assert_true(tcp_open(&e, "127.0.0.1"));
    conn_peer_name(&e.conn, name, sizeof name);
    assert_memory_equal(name, "127.0.0.1:", 10);
    assert_true(strlen(name) > 10);
    conn_peer_name(&e.conn, name, 5);
    assert_string_equal(name, "127.");
    end_finish(&e);
    end_open(&e);
    conn_peer_name(&e.conn, name, sizeof name);
    assert_string_equal(name, "unix");
    end_finish(&e);
    if (tcp_open(&e, "::1")) {
        conn_peer_name(&e.conn, name, sizeof name);
        assert_memory_equal(name, "[::1]:", 6);
        end_finish(&e);
    }
}

/* ---- TLS ---- */

static struct tls_context *server_ctx;
static struct tls_context *client_ctx;

static int make_contexts(void **state)
{
    char err[256];
    struct tls_server_options so = {.min = TLS_MIN_1_2};
    struct tls_client_options co = {.mode = TLS_MODE_REQUIRE, .min = TLS_MIN_1_2};
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    server_ctx = tls_context_new_server(&so, err, sizeof err);
    client_ctx = tls_context_new_client(&co, err, sizeof err);
    return server_ctx && client_ctx ? 0 : -1;
}

static int free_contexts(void **state)
{
    (void)state;
    tls_context_free(server_ctx);
    tls_context_free(client_ctx);
    return 0;
}

static void tls_open(struct end *client, struct end *server)
{
    pair_open(client, server);
    conn_start_tls(&server->conn, tls_new_server(server_ctx), bytes_of("", 0));
    conn_start_tls(&client->conn, tls_new_client(client_ctx, "localhost"), bytes_of("", 0));
    UNTIL(client->tls_done && server->tls_done);
}

static void tls_carries_both_ways(void **state)
{
    struct end client;
    struct end server;
    (void)state;
    tls_open(&client, &server);
    struct bytes slices[] = {bytes_text("from "), bytes_of("", 0), bytes_text("client")};
    assert_int_equal(conn_write(&client.conn, slices, 3), 0);
    UNTIL(server.got_bytes == 11);
    assert_memory_equal(server.got, "from client", 11);
    assert_int_equal(conn_write_bytes(&server.conn, "from server", 11), 0);
    UNTIL(client.got_bytes == 11);
    assert_memory_equal(client.got, "from server", 11);
    assert_int_equal(client.tls_done + server.tls_done, 2);
    end_finish(&client);
    UNTIL(server.ends);
    assert_int_equal(server.error, 0); /* a goodbye, not a break */
    end_finish(&server);
}

static void much_goes_through_tls_in_order_under_back_pressure(void **state)
{
    struct end client;
    struct end server;
    size_t sent = 0;
    (void)state;
    tls_open(&client, &server);
    conn_pause(&server.conn);
    while (!conn_is_full(&client.conn))
        writes_pattern(&client, &sent, 50000);
    conn_resume(&server.conn);
    UNTIL(server.got_bytes == sent);
    for (size_t i = 0; i < sent; i++)
        if (server.got[i] != pattern(i))
            fail_msg("byte %zu is another", i);
    UNTIL(client.conn.queued_bytes == 0);
    assert_int_equal(client.drains, 1);
    end_finish(&client);
    end_finish(&server);
}

/* Bytes that were decrypted already are not forgotten when the owner pauses in their midst. */
static void a_pause_between_two_records_holds(void **state)
{
    struct end client;
    struct end server;
    (void)state;
    tls_open(&client, &server);
    conn_pause(&server.conn);
    assert_int_equal(conn_write_bytes(&client.conn, "one", 3), 0);
    assert_int_equal(conn_write_bytes(&client.conn, "two", 3), 0);
    for (int i = 0; i < 20; i++)
        turn();
    assert_int_equal(server.reads, 0);
    server.pause_on_read = true;
    conn_resume(&server.conn);
    UNTIL(server.reads);
    assert_int_equal(server.got_bytes, 3);
    for (int i = 0; i < 20; i++)
        turn();
    assert_int_equal(server.got_bytes, 3);
    conn_resume(&server.conn);
    UNTIL(server.got_bytes == 6);
    assert_memory_equal(server.got, "onetwo", 6);
    end_finish(&client);
    end_finish(&server);
}

static void the_owner_may_close_inside_on_read_of_tls(void **state)
{
    struct end client;
    struct end server;
    (void)state;
    tls_open(&client, &server);
    server.close_on_read = true;
    assert_int_equal(conn_write_bytes(&client.conn, "one", 3), 0);
    assert_int_equal(conn_write_bytes(&client.conn, "two", 3), 0);
    UNTIL(server.closes);
    assert_int_equal(server.reads, 1);
    end_finish(&client);
    end_finish(&server);
}

/* As when a client sends its hello in one piece with the request for TLS. */
static void cipher_bytes_that_came_early_count(void **state)
{
    struct end client;
    struct end server;
    (void)state;
    pair_open(&client, &server);
    conn_start_tls(&client.conn, tls_new_client(client_ctx, ""), bytes_of("", 0));
    UNTIL(server.got_bytes > 100);
    uint8_t hello[4096];
    size_t len = server.got_bytes;
    assert_true(len <= sizeof hello);
    memcpy(hello, server.got, len);
    server.got_bytes = 0;
    conn_start_tls(&server.conn, tls_new_server(server_ctx), bytes_of(hello, len));
    UNTIL(client.tls_done && server.tls_done);
    assert_int_equal(conn_write_bytes(&client.conn, "in", 2), 0);
    UNTIL(server.got_bytes == 2);
    assert_memory_equal(server.got, "in", 2);
    end_finish(&client);
    end_finish(&server);
}

static void noise_in_place_of_tls_is_a_protocol_error(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    conn_start_tls(&e.conn, tls_new_server(server_ctx), bytes_of("", 0));
    far_writes(&e, "GET / HTTP/1.1\r\n\r\n");
    UNTIL(e.ends);
    assert_int_equal(e.ends, 1);
    assert_int_equal(e.error, UV_EPROTO);
    assert_string_not_equal(tls_error_text(e.conn.tls), "");
    assert_int_equal(e.tls_done + e.reads, 0);
    end_finish(&e);
}

static void writing_before_the_handshake_is_an_error(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    conn_start_tls(&e.conn, tls_new_server(server_ctx), bytes_of("", 0));
    assert_int_equal(conn_write_bytes(&e.conn, "x", 1), UV_EPROTO);
    end_finish(&e);
}

static void a_peer_that_goes_amid_the_handshake_ends_it(void **state)
{
    struct end e;
    (void)state;
    end_open(&e);
    conn_start_tls(&e.conn, tls_new_client(client_ctx, "localhost"), bytes_of("", 0));
    assert_int_equal(close(e.fd), 0);
    e.fd = -1;
    UNTIL(e.ends);
    assert_int_equal(e.ends, 1);
    assert_int_equal(e.tls_done, 0);
    end_finish(&e);
}

#define CONN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONN_TEST(bytes_reach_the_owner),
        CONN_TEST(the_end_is_told_once_behind_the_last_byte),
        CONN_TEST(a_paused_one_shows_neither_bytes_nor_end),
        CONN_TEST(a_pause_inside_on_read_holds),
        CONN_TEST(slices_are_sent_in_order),
        CONN_TEST(what_the_socket_does_not_take_is_queued_and_sent_in_order),
        CONN_TEST(drained_is_told_once_below_the_low_mark),
        CONN_TEST(below_the_high_mark_no_drain_is_owed),
        CONN_TEST(a_peer_that_goes_with_bytes_in_the_queue_is_an_error),
        CONN_TEST(closing_twice_is_harmless_and_nothing_follows_it),
        CONN_TEST(the_owner_may_close_inside_on_read),
        CONN_TEST(a_close_with_a_queue_tells_only_the_close),
        CONN_TEST(an_aborted_unix_socket_is_closed),
        CONN_TEST(tcp_carries_both_ways),
        CONN_TEST(an_abort_is_a_reset_and_a_close_is_not),
        CONN_TEST(a_reset_by_the_peer_is_an_error),
        CONN_TEST(peers_have_names),
        CONN_TEST(tls_carries_both_ways),
        CONN_TEST(much_goes_through_tls_in_order_under_back_pressure),
        CONN_TEST(a_pause_between_two_records_holds),
        CONN_TEST(the_owner_may_close_inside_on_read_of_tls),
        CONN_TEST(cipher_bytes_that_came_early_count),
        CONN_TEST(noise_in_place_of_tls_is_a_protocol_error),
        CONN_TEST(writing_before_the_handshake_is_an_error),
        CONN_TEST(a_peer_that_goes_amid_the_handshake_ends_it),
    };
    return cmocka_run_group_tests(tests, make_contexts, free_contexts);
}
