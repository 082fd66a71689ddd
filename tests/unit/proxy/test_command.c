/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/command.c as far as it goes without a server: what a command is, which pins its text
 * begins, and what is answered without a backend. The session is bare: its client is the far end
 * of a pair of sockets. */
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

#include "protocol/mysql_command.h"
#include "protocol/mysql_packet.h"
#include "protocol/mysql_response.h"

static struct loop loop;
static struct proxy proxy;
static struct session session;
static int client_fd;
static int closes;

static void on_closed(struct conn *c)
{
    (void)c;
    closes++;
}

static const struct conn_owner owner = {.on_closed = on_closed};

static struct options *load(void)
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

static int setup(void **state)
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
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(conn_init(&session.conn, &loop, true, &owner), 0);
    assert_int_equal(uv_pipe_open(&session.conn.uv.pipe, fds[0]), 0);
    client_fd = fds[1];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    session_plan_clear(&session);
    session_state_fini(proxy.target->names, &session.lessee.state);
    names_unref(proxy.target->names, session.schema_before);
    conn_close(&session.conn);
    target_close(proxy.target);
    (void)uv_run(&loop.uv, UV_RUN_DEFAULT);
    (void)close(client_fd);
    size_t names = names_count(proxy.target->names);
    target_free(proxy.target);
    options_free(proxy.options);
    return names || closes != 1 ? -1 : uv_loop_close(&loop.uv);
}

static enum command_verdict take(uint8_t command, const void *rest, size_t len)
{
    uint8_t payload[1024];
    assert_true(len < sizeof payload);
    payload[0] = command;
    memcpy(payload + 1, rest, len);
    return command_take(&session, bytes_of(payload, len + 1));
}

static enum command_verdict take_text(uint8_t command, const char *text)
{
    return take(command, text, strlen(text));
}

/* The one packet that the client got. */
static struct bytes answered(void)
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

static void assert_answered_err(uint16_t code)
{
    struct mysql_err err;
    assert_int_equal(mysql_err_read(answered(), &err), WIRE_DONE);
    assert_int_equal(err.code, code);
}

static void assert_answered_ok(void)
{
    struct mysql_ok ok;
    struct bytes payload = answered();
    assert_int_equal(payload.at[0], 0);
    assert_int_equal(mysql_ok_read(payload, &ok), WIRE_DONE);
}

static void assert_silent(void)
{
    char byte;
    assert_int_equal(read(client_fd, &byte, 1), -1);
}

static void assert_charset_after(const char *unit)
{
    assert_true(
        bytes_equal(names_text(proxy.target->names, session.plan.charset_after), bytes_text(unit)));
}

/* ---- texts ---- */

static void texts_begin_the_pins_that_the_table_says(void **state)
{
    static const struct {
        const char *text;
        uint32_t pins;
    } rows[] = {
        {"SELECT 1", 0},
        {"INSERT INTO t VALUES (1)", 0},
        {"BEGIN", PIN_TRANSACTION},
        {"START TRANSACTION", PIN_TRANSACTION},
        {"COMMIT", 0},
        {"SELECT @a := 1", PIN_USER_VARIABLE},
        {"SET @a = 1", PIN_USER_VARIABLE},
        {"SET sql_mode = ''", PIN_SESSION_VARIABLE},
        {"SET @a = 1, sql_mode = ''", PIN_USER_VARIABLE | PIN_SESSION_VARIABLE},
        {"SET TRANSACTION READ ONLY", PIN_SESSION_VARIABLE},
        {"CREATE TEMPORARY TABLE t (a INT)", PIN_TEMPORARY_TABLE},
        {"CREATE TABLE t (a INT)", 0},
        {"LOCK TABLES t READ", PIN_TABLE_LOCK},
        {"UNLOCK TABLES", 0},
        {"SELECT GET_LOCK('a', 1)", PIN_NAMED_LOCK},
        {"HANDLER t OPEN", PIN_HANDLER},
        {"PREPARE s FROM 'SELECT 1'", PIN_TEXT_PREPARE},
        {"XA START 'x'", PIN_XA},
        {"CALL p()", PIN_ROUTINE},
        {"SELECT f(1)", PIN_UNKNOWN_FUNCTION},
        {"SELECT SQL_CALC_FOUND_ROWS 1", PIN_LAST_STATEMENT},
        {"SELECT CONNECTION_ID()", PIN_SESSION_VARIABLE},
        {"SELECT 1; LOCK TABLES t READ", PIN_TABLE_LOCK},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(take_text(MYSQL_COM_QUERY, rows[i].text), COMMAND_RUN);
        if (session.plan.pins != rows[i].pins)
            fail_msg("%s: pins %#x, not %#x", rows[i].text, session.plan.pins, rows[i].pins);
    }
    assert_int_equal(take_text(MYSQL_COM_QUERY, "SET ROLE r"), COMMAND_RUN);
    assert_true(session.plan.pins & PIN_ROLE);
    assert_silent();
    assert_int_equal(proxy.stats.commands[MYSQL_COM_QUERY], sizeof rows / sizeof rows[0] + 1);
}

static void only_plain_reads_may_run_twice(void **state)
{
    static const char *const once[] = {
        "UPDATE t SET a = 1", "SELECT a FROM t FOR UPDATE", "SELECT @a",
        "SELECT f(1)",        "SELECT 1; DELETE FROM t",    "SELECT LAST_INSERT_ID(5)",
        "CALL p()",           "SELECT 1 INTO OUTFILE 'x'"};
    (void)state;
    (void)take_text(MYSQL_COM_QUERY, "SELECT a, @@version FROM t WHERE b = 'c'");
    assert_true(session.plan.may_retry);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        (void)take_text(MYSQL_COM_QUERY, once[i]);
        if (session.plan.may_retry)
            fail_msg("may run twice: %s", once[i]);
    }
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SELECT 1");
    assert_false(session.plan.may_retry);
}

static void what_asks_for_the_last_statement_needs_its_own_backend(void **state)
{
    static const char *const own[] = {"SELECT ROW_COUNT()", "SELECT FOUND_ROWS()", "SHOW WARNINGS",
                                      "SELECT @@warning_count"};
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        (void)take_text(MYSQL_COM_QUERY, own[i]);
        if (!session.plan.needs_own)
            fail_msg("needs none: %s", own[i]);
    }
    (void)take_text(MYSQL_COM_QUERY, "SHOW TABLES");
    assert_false(session.plan.needs_own);
}

static void set_names_is_virtual(void **state)
{
    (void)state;
    (void)take_text(MYSQL_COM_QUERY, "SET NAMES latin1");
    assert_int_equal(session.plan.pins, 0);
    assert_charset_after("latin1");
    (void)take_text(MYSQL_COM_QUERY, "SET NAMES 'UTF8MB4' COLLATE 'utf8mb4_bin'");
    assert_int_equal(session.plan.pins, 0);
    assert_charset_after("utf8mb4 utf8mb4_bin");
    (void)take_text(MYSQL_COM_QUERY, "SELECT 1"); /* the plan before is forgotten */
    assert_charset_after("");
    (void)take_text(MYSQL_COM_QUERY, "SET NAMES DEFAULT"); /* of what, nobody knows */
    assert_charset_after("");
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SET NAMES latin1"); /* happens at each execution */
    assert_charset_after("");
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
}

/* The session may have changed how its texts are read. */
static void a_session_in_a_mode_of_its_own_stays_pinned(void **state)
{
    (void)state;
    session_set_pins(&session, PIN_SESSION_VARIABLE);
    (void)take_text(MYSQL_COM_QUERY, "SELECT 1");
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
    session_set_pins(&session, 0);
    assert_int_equal(proxy.pinned[PIN_REASON_SESSION_VARIABLE], 0);
    assert_int_equal(proxy.stats.pins[PIN_REASON_SESSION_VARIABLE], 1);
}

/* A byte above 0x7F may swallow the quote behind it. */
static void texts_in_a_charset_with_ascii_tails_are_believed_less(void **state)
{
    (void)state;
    session_state_set_charset(proxy.target->names, &session.lessee.state, bytes_text("utf8mb4"),
                              bytes_text(""));
    (void)take_text(MYSQL_COM_QUERY, "SELECT '\xBF'");
    assert_int_equal(session.plan.pins, 0);
    session_state_set_charset(proxy.target->names, &session.lessee.state, bytes_text("gbk"),
                              bytes_text(""));
    (void)take_text(MYSQL_COM_QUERY, "SELECT '\xBF'");
    assert_int_equal(session.plan.pins, PIN_UNKNOWN_FUNCTION);
    (void)take_text(MYSQL_COM_QUERY, "SELECT 'a'");
    assert_int_equal(session.plan.pins, 0);
    session_state_fini(proxy.target->names, &session.lessee.state); /* not known yet */
    (void)take_text(MYSQL_COM_QUERY, "SELECT '\xBF'");
    assert_int_equal(session.plan.pins, PIN_UNKNOWN_FUNCTION);
}

/* ---- commands ---- */

static void ping_and_reset_are_answered_without_a_backend(void **state)
{
    (void)state;
    assert_int_equal(take_text(MYSQL_COM_PING, ""), COMMAND_ANSWERED);
    assert_answered_ok();
    session_state_set_charset(proxy.target->names, &session.lessee.state, bytes_text("latin1"),
                              bytes_text(""));
    session_state_set_schema(proxy.target->names, &session.lessee.state, bytes_text("shop"));
    session.lessee.last_insert_id = 5;
    session.lessee.charset_number = 8;
    assert_int_equal(take_text(MYSQL_COM_RESET_CONNECTION, ""), COMMAND_ANSWERED);
    assert_answered_ok();
    assert_int_equal(session.lessee.state.charset, 0);
    assert_int_equal(session.lessee.charset_number, 0); /* MySQL: back to the server's own */
    assert_int_equal(session.lessee.last_insert_id, 0);
    assert_int_not_equal(session.lessee.state.schema, 0); /* stays */
    assert_int_equal(proxy.stats.local_answers[MYSQL_COM_PING], 1);
    assert_int_equal(proxy.stats.local_answers[MYSQL_COM_RESET_CONNECTION], 1);
}

static void set_option_without_a_backend_is_virtual(void **state)
{
    (void)state;
    assert_int_equal(take(MYSQL_COM_SET_OPTION, "\0\0", 2), COMMAND_ANSWERED);
    assert_int_equal(answered().at[0], 0xFE);
    assert_true(session.lessee.state.multi_statements);
    assert_int_equal(take(MYSQL_COM_SET_OPTION, "\1\0", 2), COMMAND_ANSWERED);
    assert_int_equal(answered().at[0], 0xFE);
    assert_false(session.lessee.state.multi_statements);
    assert_int_equal(take(MYSQL_COM_SET_OPTION, "\2\0", 2), COMMAND_ANSWERED);
    assert_answered_err(1047);
    assert_int_equal(take(MYSQL_COM_SET_OPTION, "\0", 1), COMMAND_ANSWERED);
    assert_answered_err(1047);
}

static void init_db_changes_the_virtual_schema(void **state)
{
    static char longer[257];
    (void)state;
    assert_int_equal(take_text(MYSQL_COM_INIT_DB, "shop"), COMMAND_SCHEMA);
    assert_true(bytes_equal(names_text(proxy.target->names, session.lessee.state.schema),
                            bytes_text("shop")));
    assert_int_equal(session.schema_before, 0);
    memset(longer, 'x', sizeof longer);
    assert_int_equal(take(MYSQL_COM_INIT_DB, longer, sizeof longer), COMMAND_RUN);
    assert_int_equal(take(MYSQL_COM_INIT_DB, "", 0), COMMAND_RUN);
    assert_silent();
}

static void statements_without_a_backend_were_never_prepared(void **state)
{
    static const uint8_t commands[] = {MYSQL_COM_STMT_EXECUTE, MYSQL_COM_STMT_FETCH,
                                       MYSQL_COM_STMT_RESET};
    (void)state;
    for (size_t i = 0; i < sizeof commands; i++) {
        assert_int_equal(take(commands[i], "\1\0\0\0\0\1\0\0\0", 9), COMMAND_ANSWERED);
        assert_answered_err(1243);
    }
}

static void long_data_pins_for_a_statement_that_is_prepared(void **state)
{
    (void)state;
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\1\0\0\0\0\0x", 7), COMMAND_ANSWERED);
    assert_int_equal(session.plan.pins, 0);
    statements_add(&session.statements, 1);
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\1\0\0\0\0\0x", 7), COMMAND_RUN);
    assert_int_equal(session.plan.pins, PIN_LONG_DATA);
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\2\0\0\0\0\0x", 7), COMMAND_ANSWERED);
    assert_silent(); /* as servers are */
    statements_clear(&session.statements);
}

static void a_close_goes_to_the_server_for_what_is_prepared_only(void **state)
{
    (void)state;
    statements_add(&session.statements, 7);
    assert_int_equal(take(MYSQL_COM_STMT_CLOSE, "\7\0\0\0", 4), COMMAND_RUN);
    assert_int_equal(take(MYSQL_COM_STMT_CLOSE, "\6\0\0\0", 4), COMMAND_ANSWERED);
    assert_silent();
    statements_clear(&session.statements);
}

static void the_request_end_mark_has_no_answer(void **state)
{
    (void)state;
    session.ran_before = true;
    assert_int_equal(take(MYSQL_COM_STMT_CLOSE, "\xFE\xFF\xFF\xFF", 4), COMMAND_ANSWERED);
    assert_silent();
    assert_int_equal(proxy.stats.request_ends, 1);
    assert_false(session.ran_before);
}

static void what_a_pool_cannot_serve_is_refused_by_name(void **state)
{
    (void)state;
    for (int command = 0; command < 256; command++) {
        const struct mysql_command_info *info = mysql_command_info((uint8_t)command);
        if (info->served)
            continue;
        assert_int_equal(take((uint8_t)command, "", 0), COMMAND_ANSWERED);
        struct mysql_err err;
        assert_int_equal(mysql_err_read(answered(), &err), WIRE_DONE);
        assert_int_equal(err.code, info->name ? 1235 : 1047);
        if (info->name)
            assert_non_null(
                memmem(err.message.at, err.message.len, info->name, strlen(info->name)));
    }
    assert_int_equal(take_text(MYSQL_COM_QUIT, ""), COMMAND_QUIT);
}

/* ---- KILL ---- */

static void a_kill_of_an_id_of_ours_is_answered_here(void **state)
{
    static struct session other;
    (void)state;
    memset(&other, 0, sizeof other);
    other.id = SESSION_ID_BIT | 2;
    other.proxy = &proxy;
    list_append(&proxy.sessions, &other.node);
    char text[64];
    (void)snprintf(text, sizeof text, "KILL %u", SESSION_ID_BIT | 3u);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text), COMMAND_ANSWERED);
    assert_answered_err(1094);
    (void)snprintf(text, sizeof text, "KILL QUERY %u", SESSION_ID_BIT | 2u);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text), COMMAND_ANSWERED); /* it runs nothing */
    assert_answered_ok();
    (void)snprintf(text, sizeof text, "KILL QUERY %u", session.id);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text), COMMAND_ANSWERED); /* itself */
    assert_answered_err(1317);
    struct account *a = account_get(proxy.target, bytes_text("another"));
    other.account = a;
    (void)snprintf(text, sizeof text, "KILL %u", SESSION_ID_BIT | 2u);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text), COMMAND_ANSWERED);
    assert_answered_err(1095);
    assert_int_equal(take_text(MYSQL_COM_QUERY, "KILL 17"), COMMAND_RUN); /* the server's own */
    assert_int_equal(take(MYSQL_COM_PROCESS_KILL, "\x11\0\0\0", 4), COMMAND_RUN);
    assert_int_equal(take(MYSQL_COM_PROCESS_KILL, "\x03\0\0\x80", 4), COMMAND_ANSWERED);
    assert_answered_err(1094);
    list_remove(&proxy.sessions, &other.node);
}

#define COMMAND_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMMAND_TEST(texts_begin_the_pins_that_the_table_says),
        COMMAND_TEST(only_plain_reads_may_run_twice),
        COMMAND_TEST(what_asks_for_the_last_statement_needs_its_own_backend),
        COMMAND_TEST(set_names_is_virtual),
        COMMAND_TEST(a_session_in_a_mode_of_its_own_stays_pinned),
        COMMAND_TEST(texts_in_a_charset_with_ascii_tails_are_believed_less),
        COMMAND_TEST(ping_and_reset_are_answered_without_a_backend),
        COMMAND_TEST(set_option_without_a_backend_is_virtual),
        COMMAND_TEST(init_db_changes_the_virtual_schema),
        COMMAND_TEST(statements_without_a_backend_were_never_prepared),
        COMMAND_TEST(long_data_pins_for_a_statement_that_is_prepared),
        COMMAND_TEST(a_close_goes_to_the_server_for_what_is_prepared_only),
        COMMAND_TEST(the_request_end_mark_has_no_answer),
        COMMAND_TEST(what_a_pool_cannot_serve_is_refused_by_name),
        COMMAND_TEST(a_kill_of_an_id_of_ours_is_answered_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
