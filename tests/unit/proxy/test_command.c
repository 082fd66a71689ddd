/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/command.c as far as it goes without a server: what a command is, which pins its text
 * begins, and what is answered without a backend. */
#include "proxy/outcome.h"
#include "tests/unit/proxy/bare.h"

/* ---- texts ---- */

static void texts_begin_the_pins_that_the_table_says(void **state)
{
    static const struct {
        const char *text;
        uint32_t pins;
    } rows[] = {
        {"SELECT 1", 0},
        {"INSERT INTO t VALUES (1)", 0},
        {"START TRANSACTION READ ONLY", PIN_TRANSACTION},
        {"SELECT @a := 1", PIN_USER_VARIABLE},
        {"SET @a = 1", PIN_USER_VARIABLE},
        {"SET @a = 1, sql_mode = ''", PIN_USER_VARIABLE},
        {"SET profiling = 1", PIN_SESSION_VARIABLE},
        {"SET TRANSACTION READ ONLY", 0}, /* the tracker tells when it waits */
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
        {"SELECT CONNECTION_ID()", 0},
        {"SELECT ID = CONNECTION_ID() FROM information_schema.PROCESSLIST", PIN_SESSION_VARIABLE},
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

/* Trackers tell what became of variables; for a collation and a DEFAULT the server is asked. */
static void sets_of_what_is_virtual_pin_nothing(void **state)
{
    static const struct {
        const char *text;
        bool learns, reread;
    } rows[] = {
        {"SET NAMES latin1", true, true},
        {"SET NAMES 'UTF8MB4' COLLATE 'utf8mb4_bin'", true, true},
        {"SET NAMES DEFAULT", false, true},
        {"SET time_zone = '+00:00', SESSION sql_mode = ''", true, false},
        {"SET @@session.sql_mode = CONCAT(@@sql_mode, ',ANSI')", false, true},
        {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(take_text(MYSQL_COM_QUERY, rows[i].text), COMMAND_RUN);
        if (session.plan.pins || session.plan.learns != rows[i].learns ||
            session.plan.reread != rows[i].reread)
            fail_msg("%s: pins %#x, learns %d, reread %d", rows[i].text, session.plan.pins,
                     session.plan.learns, session.plan.reread);
    }
    assert_silent();
}

static void what_happened_before_is_answered(void **state)
{
    static const uint8_t reply[] = {7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
    struct lessee *l = &session.lessee;
    struct session_state after = {0};
    (void)state;
    assert_true(pool_state_is_known(l));
    session_state_copy(proxy.target->names, &after, &l->state);
    session_state_set_charset(proxy.target->names, &after, bytes_text("utf8mb4"),
                              bytes_text("utf8mb4_bin"), bytes_text("utf8mb4"), 46);
    effects_add(l->pool->effects, &l->state, bytes_text("SET NAMES utf8mb4"), false, &after, false,
                bytes_of(reply, sizeof reply));
    assert_int_equal(take_text(MYSQL_COM_QUERY, "SET NAMES utf8mb4"), COMMAND_ANSWERED);
    assert_answered_ok();
    assert_true(session_state_equal(&l->state, &after));
    session_state_fini(proxy.target->names, &after);
}

static void an_empty_transaction_costs_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(take_text(MYSQL_COM_QUERY, "START TRANSACTION"), COMMAND_ANSWERED);
        struct mysql_ok ok;
        assert_int_equal(mysql_ok_read(answered(), &ok), WIRE_DONE);
        assert_true(ok.status & MYSQL_STATUS_IN_TRANS);
        assert_true(session.begun);
    }
    assert_int_equal(take_text(MYSQL_COM_QUERY, "BEGIN /* again */;"), COMMAND_ANSWERED);
    assert_answered_ok();
    assert_int_equal(take_text(MYSQL_COM_QUERY, "SELECT 1"), COMMAND_RUN);
    assert_int_equal(take_text(MYSQL_COM_QUERY, "COMMIT"), COMMAND_ANSWERED);
    assert_answered_ok();
    assert_false(session.begun);
    assert_int_equal(take_text(MYSQL_COM_QUERY, "START TRANSACTION READ ONLY"), COMMAND_RUN);
    assert_int_equal(take_text(MYSQL_COM_QUERY, "BEGIN NOT ATOMIC SELECT 1; END"), COMMAND_RUN);
    assert_int_equal(take_text(MYSQL_COM_QUERY, "COMMIT AND CHAIN"), COMMAND_RUN);
}

/* A byte above 0x7F may swallow the quote behind it. */
static void texts_in_a_charset_with_ascii_tails_are_believed_less(void **state)
{
    (void)state;
    session_state_set_charset(proxy.target->names, &session.lessee.state, bytes_text("utf8mb4"),
                              bytes_text("utf8mb4_bin"), bytes_text("utf8mb4"), 1);
    (void)take_text(MYSQL_COM_QUERY, "SELECT '\xBF'");
    assert_int_equal(session.plan.pins, 0);
    session_state_set_charset(proxy.target->names, &session.lessee.state, bytes_text("gbk"),
                              bytes_text("gbk_bin"), bytes_text("gbk"), 1);
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
                              bytes_text("latin1_bin"), bytes_text("latin1"), 1);
    session_state_set_schema(proxy.target->names, &session.lessee.state, bytes_text("shop"));
    session.lessee.last_insert_id = 5;
    session.lessee.charset_number = 8;
    assert_int_equal(take_text(MYSQL_COM_RESET_CONNECTION, ""), COMMAND_ANSWERED);
    assert_answered_ok();
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

static void open_statement(const char *text)
{
    static const uint8_t reply[] = {12, 0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct prepared_cache *cache = session.lessee.pool->prepared;
    struct prepared_facts facts = {.kind = SQL_SELECT, .kinds = 1u << SQL_SELECT};
    struct session_state key = {0};
    assert_true(pool_state_is_known(&session.lessee));
    session_state_copy(proxy.target->names, &key, &session.lessee.state);
    session_state_set_settings(proxy.target->names, &key, session.lessee.state.settings->bound);
    struct prepared *p = prepared_add(cache, &key, bytes_text(text), &facts, true);
    prepared_set_reply(cache, p, bytes_of(reply, sizeof reply), 1, 0);
    assert_non_null(statements_add(&session.statements, p));
    session_state_fini(proxy.target->names, &key);
}

static void what_was_never_prepared_is_unknown_in_the_servers_words(void **state)
{
    static const uint8_t commands[] = {MYSQL_COM_STMT_EXECUTE, MYSQL_COM_STMT_FETCH,
                                       MYSQL_COM_STMT_RESET};
    (void)state;
    for (size_t i = 0; i < sizeof commands; i++) {
        assert_int_equal(take(commands[i], "\1\0\0\0\0\1\0\0\0", 9), COMMAND_ANSWERED);
        assert_answered_err(1243);
    }
    assert_int_equal(take(MYSQL_COM_STMT_EXECUTE, "\1\0\0\0\0\1\0\0", 8), COMMAND_ANSWERED);
    assert_answered_err(1835);
}

static void a_known_text_is_prepared_here(void **state)
{
    (void)state;
    open_statement("SELECT 1");
    assert_int_equal(take_text(MYSQL_COM_STMT_PREPARE, "SELECT 1"), COMMAND_ANSWERED);
    struct bytes payload = answered();
    assert_int_equal(payload.at[1], 2); /* the client's own number, not the 9 of the first */
    assert_int_equal(session.statements.count, 2);
    assert_int_equal(take_text(MYSQL_COM_STMT_PREPARE, "SELECT 2"), COMMAND_RUN);
    session_set_pins(&session, PIN_TEMPORARY_TABLE);
    assert_int_equal(take_text(MYSQL_COM_STMT_PREPARE, "SELECT 1"), COMMAND_RUN);
    assert_true(session.plan.own);
    session_set_pins(&session, 0);
}

static void long_data_pins_for_a_statement_that_is_prepared(void **state)
{
    (void)state;
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\1\0\0\0\0\0x", 7), COMMAND_ANSWERED);
    assert_int_equal(session.plan.pins, 0);
    open_statement("SELECT ?");
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\1\0\0\0\0\0x", 7), COMMAND_RUN);
    assert_int_equal(session.plan.pins, PIN_LONG_DATA);
    assert_int_equal(take(MYSQL_COM_STMT_SEND_LONG_DATA, "\2\0\0\0\0\0x", 7), COMMAND_ANSWERED);
    assert_silent(); /* as servers are */
}

static void a_close_is_silent_whatever_it_closes(void **state)
{
    (void)state;
    open_statement("SELECT ?");
    assert_int_equal(take(MYSQL_COM_STMT_CLOSE, "\6\0\0\0", 4), COMMAND_ANSWERED);
    assert_int_equal(session.statements.count, 1);
    assert_int_equal(take(MYSQL_COM_STMT_CLOSE, "\1\0\0\0", 4), COMMAND_ANSWERED);
    assert_int_equal(session.statements.count, 0);
    assert_silent();
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
    other.account = session.account;
    list_append(&proxy.sessions, &other.node);
    char text[64];
    (void)snprintf(text, sizeof text, "KILL %u", SESSION_ID_BIT | 3u);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text),
                     COMMAND_RUN); /* no client's: the server says so */
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
    assert_int_equal(take(MYSQL_COM_PROCESS_KILL, "\x03\0\0\x80", 4), COMMAND_RUN);
    assert_false(session.plan.kills);
    /* MySQL may know no such command. */
    assert_int_equal(take(MYSQL_COM_PROCESS_KILL, "\x02\0\0\x80", 4), COMMAND_RUN);
    assert_true(session.plan.kills);
    assert_false(session.plan.kills_query);
    proxy.target->mariadb = true;
    assert_int_equal(take(MYSQL_COM_PROCESS_KILL, "\x02\0\0\x80", 4), COMMAND_ANSWERED);
    assert_answered_err(1095);
    proxy.target->mariadb = false;
    (void)snprintf(text, sizeof text, "SELECT 1; KILL %u", SESSION_ID_BIT | 2u);
    assert_int_equal(take_text(MYSQL_COM_QUERY, text), COMMAND_ANSWERED);
    assert_answered_err(1235);
    list_remove(&proxy.sessions, &other.node);
}

/* ---- ids in texts ---- */

static void assert_packet(const char *want)
{
    char got[512];
    size_t head = MYSQL_HEADER_BYTES + 1;
    assert_non_null(session.plan.packet);
    (void)snprintf(got, sizeof got, "%.*s", (int)(session.plan.packet_bytes - head),
                   (const char *)session.plan.packet + head);
    assert_string_equal(got, want);
}

static void the_clients_id_is_written_in_its_type_and_names_no_column(void **state)
{
    static const char *const rows[][2] = {
        {"SELECT CONNECTION_ID() > 0", "SELECT CAST(2147483649 AS UNSIGNED) > 0 AS "
                                       "`CONNECTION_ID() > 0`"},
        {"SELECT`connection_id`()|1 AS a", "SELECT CAST(2147483649 AS UNSIGNED)|1 AS a"},
        {"SELECT@@pseudo_thread_id a, 1", "SELECT NULLIF(2147483649|0,0) a, 1"},
        {"SELECT `a` + CONNECTION_ID()", "SELECT `a` + CAST(2147483649 AS UNSIGNED) AS ```a`` + "
                                         "CONNECTION_ID()`"},
        {"PREPARE p FROM 'DO CONNECTION_ID()'", "PREPARE p FROM 'DO CAST(2147483649 AS UNSIGNED)'"},
    };
    (void)state;
    session.id = SESSION_ID_BIT | 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(take_text(MYSQL_COM_QUERY, rows[i][0]), COMMAND_RUN);
        if (!session.plan.packet)
            fail_msg("not written: %s", rows[i][0]);
        assert_packet(rows[i][1]);
    }
    /* What is longer than a name is cut as the servers cut it, where that can be told. */
    char text[400];
    (void)snprintf(text, sizeof text, "SELECT CONNECTION_ID()%0250d", 0);
    memset(text + 22, '+', 250);
    text[22 + 249] = '1';
    (void)take_text(MYSQL_COM_QUERY, text);
    assert_int_equal(session.plan.packet_bytes,
                     MYSQL_HEADER_BYTES + 1 + strlen(text) + 28 - 15 + 6 + 255);
}

static void a_prepared_text_with_an_id_in_it_is_personal(void **state)
{
    (void)state;
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SELECT 1, CONNECTION_ID()");
    assert_true(session.plan.personal);
    assert_false(session.plan.facts.flags & SQL_F_CONNECTION_ID);
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SELECT CONNECTION_ID()"); /* put in place later */
    assert_false(session.plan.personal);
    assert_true(session.plan.facts.flags & SQL_F_CONNECTION_ID);
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SELECT IS_USED_LOCK('a') = CONNECTION_ID()");
    assert_false(session.plan.personal);
    assert_true(session.plan.facts.flags & SQL_F_CONNECTION_ID);
}

static void ids_that_are_compared_become_the_servers(void **state)
{
    static struct session other;
    static struct backend held = {.server_id = 55};
    static const char text[] = "\x03SELECT IS_USED_LOCK('a') = 2147483650 x, '2147483649' = "
                               "IS_USED_LOCK('a') y, IS_USED_LOCK('b') = 2147483651 z";
    struct bytes payload = bytes_of(text, sizeof text - 1);
    (void)state;
    other.id = SESSION_ID_BIT | 2;
    session.id = SESSION_ID_BIT | 1;
    list_append(&proxy.sessions, &other.node);
    (void)take_text(MYSQL_COM_QUERY, text + 1);
    assert_true(session.plan.compares_ids);
    command_write_compared(&session, payload); /* the other one holds none */
    assert_packet("SELECT IS_USED_LOCK('a') = 2147483650 x, CONNECTION_ID() = IS_USED_LOCK('a') y, "
                  "IS_USED_LOCK('b') = 2147483651 z");
    other.lessee.backend = &held;
    (void)take_text(MYSQL_COM_QUERY, text + 1);
    command_write_compared(&session, payload);
    assert_packet("SELECT IS_USED_LOCK('a') = 55 x, CONNECTION_ID() = IS_USED_LOCK('a') y, "
                  "IS_USED_LOCK('b') = 2147483651 z");
    assert_true(take_text(MYSQL_COM_STMT_PREPARE, text + 1) == COMMAND_ANSWERED);
    assert_answered_err(1235);
    (void)take_text(MYSQL_COM_STMT_PREPARE, "SELECT IS_USED_LOCK('a') = 2147483649 x");
    assert_packet("SELECT IS_USED_LOCK('a') = CONNECTION_ID() x");
    assert_true(session.plan.personal);
    list_remove(&proxy.sessions, &other.node);
}

static void a_number_that_may_be_an_id_is_found_anywhere(void **state)
{
    const struct prepared_facts facts = {.kinds = 1u << SQL_SELECT};
    char text[64];
    (void)state;
    for (size_t at = 0; at < 30; at++) {
        (void)snprintf(text, sizeof text, "%*s2147483650%*s", (int)at, "", (int)(at % 7), "");
        assert_true(command_may_hold_id(&facts, bytes_text(text)));
        (void)snprintf(text, sizeof text, "%*s21474836501 214748365", (int)at, "");
        assert_false(command_may_hold_id(&facts, bytes_text(text)));
    }
}

/* What the id is only the server can tell: its reply is held, and one of ours is killed then. */
static void a_kill_by_an_expression_is_the_servers_to_evaluate(void **state)
{
    static const struct {
        const char *text;
        bool query;
    } rows[] = {{"KILL QUERY @x", true}, {"KILL 2147483650 + 0", false}, {"KILL ?", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(take_text(MYSQL_COM_QUERY, rows[i].text), COMMAND_RUN);
        assert_true(session.plan.kills);
        assert_int_equal(session.plan.kills_query, rows[i].query);
        assert_int_equal(session.plan.capture, CAPTURE_HOLD);
    }
    session.plan.victim = SESSION_ID_BIT | 77u; /* it has gone in the meantime */
    assert_true(outcome_kill(&session));
    assert_answered_err(1094);
    session.plan.victim = session.id;
    session.plan.kills_query = true;
    assert_true(outcome_kill(&session));
    assert_answered_err(1317);
    assert_int_equal(session.last.row_count, -1);
}

#define COMMAND_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMMAND_TEST(texts_begin_the_pins_that_the_table_says),
        COMMAND_TEST(only_plain_reads_may_run_twice),
        COMMAND_TEST(what_asks_for_the_last_statement_needs_its_own_backend),
        COMMAND_TEST(sets_of_what_is_virtual_pin_nothing),
        COMMAND_TEST(what_happened_before_is_answered),
        COMMAND_TEST(an_empty_transaction_costs_nothing),
        COMMAND_TEST(texts_in_a_charset_with_ascii_tails_are_believed_less),
        COMMAND_TEST(ping_and_reset_are_answered_without_a_backend),
        COMMAND_TEST(set_option_without_a_backend_is_virtual),
        COMMAND_TEST(init_db_changes_the_virtual_schema),
        COMMAND_TEST(what_was_never_prepared_is_unknown_in_the_servers_words),
        COMMAND_TEST(a_known_text_is_prepared_here),
        COMMAND_TEST(long_data_pins_for_a_statement_that_is_prepared),
        COMMAND_TEST(a_close_is_silent_whatever_it_closes),
        COMMAND_TEST(the_request_end_mark_has_no_answer),
        COMMAND_TEST(what_a_pool_cannot_serve_is_refused_by_name),
        COMMAND_TEST(a_kill_of_an_id_of_ours_is_answered_here),
        COMMAND_TEST(a_kill_by_an_expression_is_the_servers_to_evaluate),
        COMMAND_TEST(the_clients_id_is_written_in_its_type_and_names_no_column),
        COMMAND_TEST(a_prepared_text_with_an_id_in_it_is_personal),
        COMMAND_TEST(ids_that_are_compared_become_the_servers),
        COMMAND_TEST(a_number_that_may_be_an_id_is_found_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
