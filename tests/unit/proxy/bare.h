/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of commands share: a bare session, which no pool has lent anything. Its client is
 * the far end of a pair of sockets. */
#ifndef SLUICE_TESTS_UNIT_PROXY_BARE_H
#define SLUICE_TESTS_UNIT_PROXY_BARE_H

#include "pool/account.h"
#include "pool/settings.h"
#include "proxy/command.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "protocol/mysql_caps.h"
#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

static struct loop loop;
static struct proxy proxy;
static struct session session;
static int client_fd;
static int closes;

static inline void on_closed(struct conn *c)
{
    (void)c;
    closes++;
}

static const struct conn_owner owner = {.on_closed = on_closed};

static inline struct options *load(void)
{
    static const char text[] = "mysql = { backend = \"mysql://127.0.0.1:1\"; tls = \"off\"; };\n";
    char path[64];
    struct problems problems = {0};
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct load_request request = {.file = path};
    struct options *options = options_load(&request, &problems);
    problems_print(&problems, stderr);
    (void)close(fd);
    return options;
}

/* A pool whose fresh sessions are known, as after a login. */
static inline void make_pool(void)
{
    struct names *names = proxy.target->names;
    name_id value[VARIABLES_COUNT] = {0};
    value[VARIABLE_autocommit] = names_ref_text(names, bytes_text("ON"));
    value[VARIABLE_transaction_read_only] = names_ref_text(names, bytes_text("OFF"));
    value[VARIABLE_completion_type] = names_ref_text(names, bytes_text("NO_CHAIN"));
    for (int v = 0; v < VARIABLES_COUNT; v++)
        proxy.target->has_variable[v] = true;
    session.account = account_get(proxy.target, bytes_text("app"));
    session.lessee.pool = pool_get(session.account, 0);
    session.lessee.pool->baseline = settings_make(names_settings(names), value);
    names_unref(names, value[VARIABLE_autocommit]);
    names_unref(names, value[VARIABLE_transaction_read_only]);
    names_unref(names, value[VARIABLE_completion_type]);
    session_state_set_charset(names, &session.lessee.state, bytes_text("latin1"),
                              bytes_text("latin1_swedish_ci"), bytes_text("latin1"), 8);
}

static inline int setup(void **state)
{
    char err[256];
    int fds[2];
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    memset(&proxy, 0, sizeof proxy);
    memset(&session, 0, sizeof session);
    closes = 0;
    assert_int_equal(uv_loop_init(&loop.uv), 0);
    proxy.loop = &loop;
    proxy.options = load();
    assert_non_null(proxy.options);
    proxy.target = target_new(&loop, proxy.options, err, sizeof err);
    assert_non_null(proxy.target);
    list_init(&proxy.sessions);
    session.proxy = &proxy;
    session.id = SESSION_ID_BIT | 1;
    list_append(&proxy.sessions, &session.node);
    make_pool();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(conn_init(&session.conn, &loop, true, &owner), 0);
    assert_int_equal(uv_pipe_open(&session.conn.uv.pipe, fds[0]), 0);
    client_fd = fds[1];
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    session_plan_clear(&session);
    session_unpin(&session);
    session_forget_last(&session);
    statements_clear(&session.statements, session.lessee.pool->prepared);
    session_state_fini(proxy.target->names, &session.lessee.state);
    names_unref(proxy.target->names, session.schema_before);
    conn_close(&session.conn);
    target_close(proxy.target);
    (void)uv_run(&loop.uv, UV_RUN_DEFAULT);
    (void)close(client_fd);
    target_free(proxy.target);
    options_free(proxy.options);
    return closes != 1 ? -1 : uv_loop_close(&loop.uv);
}

static inline enum command_verdict take(uint8_t command, const void *rest, size_t len)
{
    uint8_t payload[1024];
    assert_true(len < sizeof payload);
    payload[0] = command;
    memcpy(payload + 1, rest, len);
    return command_take(&session, bytes_of(payload, len + 1));
}

static inline enum command_verdict take_text(uint8_t command, const char *text)
{
    return take(command, text, strlen(text));
}

/* The one packet that the client got. */
static inline struct bytes answered(void)
{
    static uint8_t got[2048];
    uint8_t seq;
    struct bytes payload = {0};
    size_t used = 0;
    ssize_t n = read(client_fd, got, sizeof got);
    assert_true(n > 0);
    assert_int_equal(mysql_packet_read(bytes_of(got, (size_t)n), sizeof got, &seq, &payload, &used),
                     WIRE_DONE);
    assert_int_equal(used, n);
    assert_int_equal(seq, 1);
    return payload;
}

static inline void assert_answered_err(uint16_t code)
{
    struct mysql_err err;
    assert_int_equal(mysql_err_read(answered(), &err), WIRE_DONE);
    assert_int_equal(err.code, code);
}

static inline void assert_answered_ok(void)
{
    struct mysql_ok ok;
    struct bytes payload = answered();
    assert_int_equal(payload.at[0], 0);
    assert_int_equal(mysql_ok_read(payload, &ok), WIRE_DONE);
}

static inline void assert_silent(void)
{
    char byte;
    assert_int_equal(read(client_fd, &byte, 1), -1);
}

#endif
