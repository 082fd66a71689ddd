/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/query.c: what a text does, what is answered here, and, with proxy/outcome.c, what is
 * learned so that it can be. Replies are made up: there is no server. */
#include "tests/unit/proxy/bare.h"

#include "proxy/outcome.h"
#include "proxy/query.h"

enum { STATUS_TRACKED = 0x4000 }; /* SERVER_SESSION_STATE_CHANGED */

static struct backend backend; /* that "has run" a statement */

static struct session_state *virtual_state(void)
{
    return &session.lessee.state;
}

static void set_variable(enum variable v, const char *value)
{
    struct settings_table *table = names_settings(proxy.target->names);
    assert_true(pool_state_is_known(&session.lessee));
    struct settings *s = settings_with(table, virtual_state()->settings, v, bytes_text(value));
    session_state_set_settings(proxy.target->names, virtual_state(), s);
    settings_unref(table, s);
}

static struct bytes value_of(enum variable v)
{
    return names_text(proxy.target->names, virtual_state()->settings->value[v]);
}

/* Plans a text; true: it is answered. */
static bool ask_as(const char *text, bool prepared)
{
    struct sql_scan scan;
    session_plan_clear(&session);
    session.plan.command = prepared ? MYSQL_COM_STMT_EXECUTE : MYSQL_COM_QUERY;
    session.plan.shape = MYSQL_REPLY_QUERY;
    sql_scan_begin(&scan, session_scan_mode(&session));
    sql_scan_feed(&scan, bytes_text(text));
    sql_scan_end(&scan);
    query_plan(&session, query_facts(&scan), bytes_text(text));
    bool answered_here = query_answer(&session, bytes_text(text), prepared);
    query_keep_text(&session, bytes_text(text));
    return answered_here;
}

static bool ask(const char *text)
{
    return ask_as(text, false);
}

static void assert_ok_with(uint16_t status)
{
    struct mysql_ok ok;
    assert_int_equal(mysql_ok_read(answered(), &ok), WIRE_DONE);
    assert_int_equal(ok.status, status);
    assert_int_equal(ok.affected_rows + ok.insert_id + ok.warnings, 0);
}

/* ---- replies ---- */

static size_t make_ok(uint8_t *out, size_t room, uint16_t status, uint16_t warnings,
                      const char *name, const char *value)
{
    uint8_t inner[128];
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_zeros(&w, 3);
    wire_put_u16(&w, status | (name ? STATUS_TRACKED : 0));
    wire_put_u16(&w, warnings);
    if (name) {
        struct wire_writer t = wire_writer(inner, sizeof inner);
        wire_put_u8(&t, MYSQL_TRACK_SYSTEM_VARIABLES);
        wire_put_u8(&t, (uint8_t)(strlen(name) + strlen(value) + 2));
        wire_put_lenenc_bytes(&t, bytes_text(name));
        wire_put_lenenc_bytes(&t, bytes_text(value));
        wire_put(&t, bytes_of("\2\1\61", 3)); /* and the state has changed */
        wire_put_u8(&w, 0);
        wire_put_lenenc_bytes(&w, bytes_of(inner, wire_written(&t)));
    }
    return mysql_packet_end(&w, begin, 1);
}

/* One column, one row or, with NULL, none, as a server sends it under DEPRECATE_EOF. */
static size_t make_rows(uint8_t *out, size_t room, const char *value)
{
    uint8_t seq = 3;
    struct wire_writer w = wire_writer(out, room);
    size_t begin = mysql_packet_begin(&w);
    wire_put_u8(&w, 1);
    (void)mysql_packet_end(&w, begin, 1);
    begin = mysql_packet_begin(&w);
    wire_put_lenenc_bytes(&w, bytes_text("def"));
    (void)mysql_packet_end(&w, begin, 2);
    if (value) {
        begin = mysql_packet_begin(&w);
        wire_put_lenenc_bytes(&w, bytes_text(value));
        (void)mysql_packet_end(&w, begin, seq++);
    }
    begin = mysql_packet_begin(&w);
    wire_put(&w, bytes_of("\xFE\0\0\2\0\0\0", 7));
    (void)mysql_packet_end(&w, begin, seq);
    return wire_written(&w);
}

/* The statement that was planned has run on a backend, and this came. */
static void has_run(uint8_t *reply, size_t len)
{
    struct names *names = proxy.target->names;
    struct mysql_reply_out out;
    size_t used = 0;
    assert_true(pool_state_is_known(&session.lessee));
    memset(&backend, 0, sizeof backend);
    backend.pool = session.lessee.pool;
    backend.status = MYSQL_STATUS_AUTOCOMMIT;
    session_state_copy(names, &backend.session, virtual_state());
    session.lessee.backend = &backend;
    session.plan.pins_before = session.pins;
    session_set_pins(&session, session.pins | (session.plan.pins & ~(uint32_t)PIN_LAST_STATEMENT));
    mysql_reply_begin(&backend.reply, MYSQL_REPLY_QUERY, backend.status, outcome_on_track,
                      &session);
    assert_int_equal(mysql_reply_feed(&backend.reply, reply, len, &used, &out), MYSQL_REPLY_END);
    assert_int_equal(used, len);
    iobuf_init(&session.captured, SESSION_CAPTURE_MAX_BYTES);
    for (size_t i = 0; i < out.count && session.plan.learns; i++)
        assert_true(iobuf_append(&session.captured, out.slice[i]));
    outcome_take(&session);
}

/* All is known of it, and the backend goes. */
static void finish(void)
{
    outcome_finish(&session);
    session_set_pins(&session, 0);
    pool_forget_statement(&session.lessee);
    session.lessee.backend = NULL;
    session_state_fini(proxy.target->names, &backend.session);
    session_plan_clear(&session);
}

static void runs_with_ok(uint16_t status, uint16_t warnings, const char *name, const char *value)
{
    uint8_t reply[256];
    has_run(reply, make_ok(reply, sizeof reply, status, warnings, name, value));
}

static void runs_with_error(uint16_t code)
{
    uint8_t reply[256];
    has_run(reply, mysql_err_packet(reply, sizeof reply, 1, code, "42000", bytes_text("refused")));
}

static size_t known(void)
{
    return effects_count(session.lessee.pool->effects);
}

/* ---- SET ---- */

struct set_row {
    const char *text;
    bool learns, explained, reread;
    uint32_t pins;
};

static void check_sets(const struct set_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct set_row *r = &rows[i];
        const struct plan *p = &session.plan;
        assert_false(ask(r->text));
        if (p->learns != r->learns || p->explained != r->explained || p->reread != r->reread ||
            p->pins != r->pins)
            fail_msg("%s: learns %d, explained %d, reread %d, pins %#x", r->text, p->learns,
                     p->explained, p->reread, p->pins);
    }
    assert_silent();
}

#define CHECK_SETS(rows) check_sets(rows, sizeof rows / sizeof rows[0])

static void a_set_of_literals_is_learned(void **state)
{
    static const struct set_row rows[] = {
        {"SET time_zone = '+00:00'", true, true, false, 0},
        {"set session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'", true, true, false, 0},
        {"SET @@session.sql_mode = 'ANSI', @@autocommit = 0;", true, true, false, 0},
        {"SET LOCAL wait_timeout=28800 -- for long", true, true, false, 0},
        {"SET SQL_SAFE_UPDATES=1,SQL_SELECT_LIMIT=1000,MAX_JOIN_SIZE=1000000", true, true, false,
         0},
        {"SET tx_isolation='READ-COMMITTED'", true, true, false, 0},
        {"SET sql_notes=OFF", true, true, false, 0},
        /* No tracker tells of a collation. */
        {"set names 'utf8mb4' collate 'utf8mb4_unicode_ci'", true, true, true, 0},
        {"SET CHARACTER SET latin1", true, true, true, 0},
        {"SET character_set_results = NULL", true, true, true, 0},
        {"SET NAMES utf8mb4, time_zone='+00:00'", true, true, true, 0},
        {"SET Collation_Connection = utf8mb4_bin", true, true, true, 0},
    };
    (void)state;
    CHECK_SETS(rows);
}

/* What it does is seen in what the server says afterwards. */
static void a_set_of_anything_else_that_is_virtual_is_read_back(void **state)
{
    static const struct set_row rows[] = {
        {"SET time_zone = DEFAULT", false, true, true, 0},
        {"SET NAMES DEFAULT", false, true, true, 0},
        {"SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI')", false, true, true, 0},
        {"SET sql_mode=(SELECT @@global.sql_mode)", false, true, true, 0},
        {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", false, true, true, 0},
        {"SET TRANSACTION READ ONLY", false, true, true, 0},
        {"SET time_zone='+00:00', sql_mode=DEFAULT", false, true, true, 0},
        {"SET @a = 1", false, true, false, PIN_USER_VARIABLE},
        {"SET @a = 1, time_zone = '+00:00'", false, true, true, PIN_USER_VARIABLE},
        {"SET GLOBAL sql_mode = ''", false, true, false, 0},
        {"SET PERSIST max_connections = 5", false, true, false, 0},
        {"SET @@global.sql_mode = '', time_zone = '+00:00'", false, true, true, 0},
    };
    (void)state;
    CHECK_SETS(rows);
}

static void a_set_of_what_is_not_virtual_pins(void **state)
{
    static const struct set_row rows[] = {
        {"SET timestamp = 1", false, false, true, PIN_SESSION_VARIABLE},
        {"SET insert_id = 5", false, false, true, PIN_SESSION_VARIABLE},
        {"SET timestamp = DEFAULT", false, false, true, PIN_SESSION_VARIABLE},
        {"SET time_zone = '+00:00', rand_seed1 = 1", false, false, true, PIN_SESSION_VARIABLE},
        {"SET character_set_database = latin1", false, false, true, PIN_SESSION_VARIABLE},
        {"SET NAMES utf8mb4, rand_seed1 = 1", false, false, true, PIN_SESSION_VARIABLE},
        {"SET foo.bar = 1", false, false, true, PIN_SESSION_VARIABLE},
        /* What cannot be read to its end may do anything. */
        {"/*!40101 SET NAMES utf8 */", false, false, true, PIN_SESSION_VARIABLE},
        {"SET /*!40101 NAMES utf8 */", false, false, true, PIN_SESSION_VARIABLE},
        {"SET STATEMENT max_statement_time=1 FOR SELECT 1", false, false, true,
         PIN_SESSION_VARIABLE},
        {"SET time_zone='+00:00'; SELECT 1", false, false, true, PIN_SESSION_VARIABLE},
        {"SET time_zone='+00:00'; SET sql_mode=''", false, false, true, PIN_SESSION_VARIABLE},
    };
    (void)state;
    CHECK_SETS(rows);
    assert_false(session.profiled);
    assert_false(ask("SET PROFILING = 1"));
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
    assert_true(session.profiled); /* what is recorded outlives a reset */
}

static void a_variable_that_this_server_does_not_have_is_not_virtual(void **state)
{
    (void)state;
    assert_false(ask("SET max_statement_time = 5"));
    assert_int_equal(session.plan.pins, 0);
    proxy.target->has_variable[VARIABLE_max_statement_time] = false;
    assert_false(ask("SET max_statement_time = 5"));
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
    assert_false(session.plan.learns);
}

static void roles_and_passwords_are_no_variables(void **state)
{
    static const struct set_row rows[] = {
        {"SET ROLE admin", false, false, false, PIN_ROLE},
        {"SET DEFAULT ROLE admin TO joe", false, false, false, PIN_ROLE},
        {"SET PASSWORD = 'x'", false, false, false, 0},
        {"SET PASSWORD FOR 'joe'@'%' = 'x'", false, false, false, 0},
        {"SET ROLE /*! admin */", false, false, true, PIN_ROLE | PIN_SESSION_VARIABLE},
    };
    (void)state;
    CHECK_SETS(rows);
}

/* A text that is spooled is not at hand. */
static void a_set_that_is_not_at_hand_may_do_anything(void **state)
{
    struct sql_scan scan;
    (void)state;
    sql_scan_begin(&scan, session_scan_mode(&session));
    sql_scan_feed(&scan, bytes_text("SET time_zone = '+00:00'"));
    sql_scan_end(&scan);
    query_plan(&session, query_facts(&scan), bytes_of(NULL, 0));
    assert_int_equal(session.plan.pins, PIN_SESSION_VARIABLE);
    assert_true(session.plan.reread);
    assert_false(query_answer(&session, bytes_of(NULL, 0), false));
    assert_false(session.plan.learns);
    query_keep_text(&session, bytes_of(NULL, 0));
    assert_null(session.plan.text);
}

static void a_long_set_is_understood_but_not_learned(void **state)
{
    static char text[EFFECT_TEXT_MAX_BYTES + 2];
    (void)state;
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "SET time_zone='+00:00'", 22);
    assert_false(ask(text));
    assert_true(session.plan.explained);
    assert_false(session.plan.learns);
    text[EFFECT_TEXT_MAX_BYTES] = '\0';
    assert_false(ask(text));
    assert_true(session.plan.learns);
}

/* ---- the plan ---- */

static void what_may_be_written_behind_a_begin_only_reads(void **state)
{
    static const struct {
        const char *text;
        bool follows, may_retry, dml;
    } rows[] = {
        {"SELECT a FROM t WHERE b = @@session.sql_mode", true, true, false},
        {"SHOW TABLES", true, false, false},
        {"SELECT a FROM t FOR UPDATE", true, false, false},
        {"SELECT SQL_CALC_FOUND_ROWS a FROM t", true, false, false},
        {"SELECT LAST_INSERT_ID()", true, false, false},
        {"SELECT CONNECTION_ID()", true, false, false},
        {"SELECT @a", true, false, false},
        {"SELECT @a := 1", false, false, false},
        {"SELECT a INTO @a FROM t", false, false, false},
        {"SELECT LAST_INSERT_ID(7)", false, false, false},
        {"SELECT f(1)", false, false, false},
        {"SELECT GET_LOCK('a', 1)", false, false, false},
        {"SELECT 1; SELECT 2", false, false, false},
        {"SELECT 1 /*!, 2 */", false, false, false},
        {"DO 1", false, false, false},
        {"INSERT INTO t VALUES (1)", false, false, true},
        {"CALL p()", false, false, true},
        {"SET time_zone='+00:00'", false, false, true},
        {"CREATE TABLE t (a INT)", false, false, false},
        {"COMMIT AND CHAIN", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct plan *p = &session.plan;
        assert_false(ask(rows[i].text));
        if (p->follows != rows[i].follows || p->may_retry != rows[i].may_retry ||
            p->dml != rows[i].dml)
            fail_msg("%s: follows %d, may_retry %d, dml %d", rows[i].text, p->follows, p->may_retry,
                     p->dml);
    }
}

static void what_may_hide_a_set_is_read_back(void **state)
{
    static const char *const hiding[] = {"CALL p()",
                                         "SELECT f(1)",
                                         "PREPARE s FROM 'SELECT 1'",
                                         "EXECUTE s",
                                         "INSTALL PLUGIN x SONAME 'y'",
                                         "BEGIN NOT ATOMIC SET sql_mode=''; END"};
    static const char *const plain[] = {"SELECT 1",       "UPDATE t SET a = 1",
                                        "DROP TABLE t",   "COMMIT AND CHAIN",
                                        "HANDLER t OPEN", "SELECT GET_LOCK('a', 1)"};
    (void)state;
    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++) {
        assert_false(ask(hiding[i]));
        if (!session.plan.reread)
            fail_msg("not read back: %s", hiding[i]);
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        assert_false(ask(plain[i]));
        if (session.plan.reread)
            fail_msg("read back: %s", plain[i]);
    }
}

static void reading_user_variables_pins_nothing(void **state)
{
    static const char *const reading[] = {"SELECT @a", "SELECT a FROM t WHERE b = @b", "DO @a"};
    static const char *const setting[] = {"SELECT @a := 1",
                                          "SELECT 1 INTO @a",
                                          "INSERT INTO t VALUES (@a)",
                                          "SELECT 1 /*! INTO @a */",
                                          "SELECT @a; UPDATE t SET b = 1",
                                          "LOAD DATA LOCAL INFILE 'x' INTO TABLE t (@a)"};
    (void)state;
    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++) {
        assert_false(ask(reading[i]));
        if (session.plan.pins)
            fail_msg("pins: %s", reading[i]);
    }
    for (size_t i = 0; i < sizeof setting / sizeof setting[0]; i++) {
        assert_false(ask(setting[i]));
        if (!(session.plan.pins & PIN_USER_VARIABLE))
            fail_msg("does not pin: %s", setting[i]);
    }
}

static void one_fact_that_is_asked_for_is_told_apart(void **state)
{
    static const struct {
        const char *text;
        bool needs_own, asks;
        uint8_t what;
    } rows[] = {
        {"SELECT ROW_COUNT()", true, true, SQL_ASKED_ROW_COUNT},
        {"select found_rows() AS n;", true, true, SQL_ASKED_FOUND_ROWS},
        {"SELECT @@warning_count", true, true, SQL_ASKED_WARNING_COUNT},
        {"SHOW COUNT(*) ERRORS", true, true, SQL_ASKED_ERROR_COUNT},
        {"SHOW WARNINGS", true, true, SQL_ASKED_WARNINGS},
        {"SELECT CONNECTION_ID()", false, true, SQL_ASKED_CONNECTION_ID},
        {"SELECT ROW_COUNT(), 1", true, false, 0},
        {"GET DIAGNOSTICS @n = NUMBER", true, false, 0},
        {"SELECT CONNECTION_ID(), 1", false, false, 0},
        {"SELECT 1", false, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct plan *p = &session.plan;
        assert_false(ask(rows[i].text));
        if (p->needs_own != rows[i].needs_own || p->asks != rows[i].asks ||
            (p->asks && p->ask.what != rows[i].what))
            fail_msg("%s: needs_own %d, asks %d, %d", rows[i].text, p->needs_own, p->asks,
                     p->ask.what);
    }
}

static void a_text_is_kept_when_it_matters_afterwards(void **state)
{
    (void)state;
    (void)ask("SELECT 1");
    assert_null(session.plan.text);
    (void)ask("SET time_zone='+00:00'"); /* to learn */
    assert_string_equal(session.plan.text, "SET time_zone='+00:00'");
    (void)ask("CREATE TEMPORARY TABLE t (a INT)"); /* to count */
    assert_string_equal(session.plan.text, "CREATE TEMPORARY TABLE t (a INT)");
    (void)ask("DROP TABLE t"); /* nothing is counted */
    assert_null(session.plan.text);
    session_set_pins(&session, PIN_TEMPORARY_TABLE);
    (void)ask("DROP TABLE t");
    assert_string_equal(session.plan.text, "DROP TABLE t");
    (void)ask("SELECT RELEASE_LOCK('a')");
    assert_non_null(session.plan.text);
    (void)ask("UPDATE t SET a = 1");
    assert_null(session.plan.text);
    session_set_pins(&session, 0);
}

/* On MySQL a statement's warnings go when the next one begins; on MariaDB some leave them. */
static void what_holds_a_backend_for_its_warnings_ends_with_the_next_statement(void **state)
{
    (void)state;
    session_set_pins(&session, PIN_LAST_STATEMENT);
    (void)ask("SHOW WARNINGS");
    assert_int_equal(session.pins, PIN_LAST_STATEMENT);
    (void)ask("SELECT @@warning_count");
    assert_int_equal(session.pins, PIN_LAST_STATEMENT);
    session.rows_held = true; /* it is held for FOUND_ROWS() */
    (void)ask("SELECT 1");
    assert_int_equal(session.pins, PIN_LAST_STATEMENT);
    session.rows_held = false;
    (void)ask("SELECT 1");
    assert_int_equal(session.pins, 0);
    session_set_pins(&session, PIN_LAST_STATEMENT | PIN_NAMED_LOCK);
    (void)ask("SELECT 1");
    assert_int_equal(session.pins, PIN_LAST_STATEMENT | PIN_NAMED_LOCK);
    proxy.target->mariadb = true;
    session_set_pins(&session, PIN_LAST_STATEMENT);
    (void)ask("SELECT 1");
    assert_int_equal(session.pins, PIN_LAST_STATEMENT);
    session_set_pins(&session, 0);
}

/* ---- transactions ---- */

static void a_plain_begin_is_answered_in_every_spelling(void **state)
{
    static const char *const texts[] = {"BEGIN",
                                        "begin work",
                                        "START TRANSACTION",
                                        "  Start\t\n\v\f\rTransaction ; \n",
                                        "BEGIN;",
                                        "/* a */ BEGIN /* b */ /*/ c */ WORK /**/",
                                        "START/**/TRANSACTION",
                                        "BEGIN -- x",
                                        "BEGIN # x"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        session.begun = false;
        if (!ask(texts[i]))
            fail_msg("not answered: %s", texts[i]);
        assert_ok_with(MYSQL_STATUS_IN_TRANS | MYSQL_STATUS_AUTOCOMMIT);
        assert_true(session.begun);
    }
    assert_int_equal(proxy.stats.local_answers[MYSQL_COM_QUERY], sizeof texts / sizeof texts[0]);
}

static void a_begin_that_is_more_than_that_is_not_answered(void **state)
{
    static const char *const texts[] = {"START TRANSACTION READ ONLY",
                                        "START TRANSACTION READ WRITE",
                                        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                                        "BEGIN NOT ATOMIC SELECT 1; END",
                                        "BEGIN; SELECT 1",
                                        "/*! BEGIN */",
                                        "BEGIN /*! WORK */",
                                        "BEGIN /*M! WORK */",
                                        "/*!50000 START */ TRANSACTION",
                                        "BEGIN --x",
                                        "BEGIN; -- x",
                                        "BEGIN /* x",
                                        "BEGIN WORK WORK",
                                        "START",
                                        "START TRANSACTION1",
                                        "BEGINWORK",
                                        "BEGIN WORKWORKWORKWORKWORKWORKWORKWORKWORK",
                                        "XA BEGIN 'x'",
                                        "BEGIN; ;x"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (ask(texts[i]) || session.begun)
            fail_msg("answered: %s", texts[i]);
    }
    assert_silent();
    assert_false(ask_as("BEGIN", true)); /* a server says more of a prepared one */
}

static void the_end_of_nothing_is_answered(void **state)
{
    static const char *const texts[] = {"COMMIT", "commit work;", "ROLLBACK",
                                        "Rollback /* x */ Work"};
    static const char *const others[] = {"COMMIT AND CHAIN",  "ROLLBACK TO SAVEPOINT a",
                                         "COMMIT RELEASE",    "ROLLBACK AND NO CHAIN",
                                         "COMMIT NO RELEASE", "ROLLBACK TO a",
                                         "COMMIT; SELECT 1",  "COMMIT /*! AND CHAIN */",
                                         "XA COMMIT 'x'",     "RELEASE SAVEPOINT a"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        session.begun = i % 2 == 0; /* the transaction in which nothing was done */
        if (!ask(texts[i]))
            fail_msg("not answered: %s", texts[i]);
        assert_ok_with(MYSQL_STATUS_AUTOCOMMIT);
        assert_false(session.begun);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (ask(others[i]))
            fail_msg("answered: %s", others[i]);
    assert_silent();
}

/* Where a transaction would not be an ordinary one, or something may be open. */
static void nothing_of_a_transaction_is_answered_where_more_hangs_on_it(void **state)
{
    static const struct {
        enum variable v;
        const char *usual, *other;
        bool begin, commit; /* are answered with the other value */
    } rows[] = {
        {VARIABLE_autocommit, "ON", "OFF", false, false},
        {VARIABLE_transaction_read_only, "OFF", "ON", false, false},
        {VARIABLE_completion_type, "NO_CHAIN", "CHAIN", true, false},
        {VARIABLE_completion_type, "NO_CHAIN", "RELEASE", true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_variable(rows[i].v, rows[i].other);
        session.begun = false;
        assert_int_equal(ask("BEGIN"), rows[i].begin);
        assert_int_equal(ask("COMMIT"), rows[i].commit);
        set_variable(rows[i].v, rows[i].usual);
        if (rows[i].begin)
            (void)answered();
    }
    session.begun = false;
    session.lessee.backend = &backend; /* pinned */
    assert_false(ask("BEGIN"));
    assert_false(ask("COMMIT"));
    session.lessee.backend = NULL;
    /* Nothing is known of the session yet. */
    session_state_fini(proxy.target->names, virtual_state());
    assert_false(ask("BEGIN"));
    assert_false(ask("ROLLBACK"));
    assert_silent();
}

static void in_a_transaction_that_was_answered_nothing_else_is(void **state)
{
    (void)state;
    assert_true(pool_state_is_known(&session.lessee));
    effects_add(session.lessee.pool->effects, virtual_state(), bytes_text("SET sql_mode=''"), false,
                virtual_state(), false, bytes_of("\7\0\0\1\0\0\0\2\0\0\0", 11));
    assert_true(ask("BEGIN"));
    (void)answered();
    assert_false(ask("SET sql_mode=''")); /* its reply would not say that one is open */
    assert_false(session.plan.learns);
    assert_false(ask("SELECT @@sql_mode"));
    assert_false(session.plan.learns);
    assert_true(ask("ROLLBACK"));
    (void)answered();
    assert_true(ask("SET sql_mode=''"));
}

/* ---- SELECT of variables, USE ---- */

static void a_select_of_what_is_virtual_or_constant_is_learned(void **state)
{
    static const char *const learned[] = {
        "SELECT @@sql_mode",
        "select @@session.time_zone AS tz, @@SESSION.`autocommit`;",
        "SELECT @@version",
        "SELECT @@version_comment LIMIT 1",
        "SELECT @@global.version, @@character_set_client, @@collation_connection",
        "SELECT @@tx_isolation"};
    static const char *const others[] = {"SELECT @@max_allowed_packet",
                                         "SELECT @@global.sql_mode",
                                         "SELECT @@sql_mode, @@timestamp",
                                         "SELECT @@character_set_database",
                                         "SELECT @@sql_mode, 1",
                                         "SELECT @@sql_mode FROM t",
                                         "SELECT CONCAT(@@sql_mode)",
                                         "SELECT @@sql_mode /*! , 1 */",
                                         "SELECT @@sql_mode; SELECT 1",
                                         "SELECT @@sql_mode INTO @a",
                                         "SELECT @@sql_mode LIMIT 0",
                                         "SELECT @@warning_count",
                                         "SELECT @@identity",
                                         "SELECT @@sql_mode, @a",
                                         "SHOW VARIABLES LIKE 'sql_mode'",
                                         "SELECT 1"};
    (void)state;
    for (size_t i = 0; i < sizeof learned / sizeof learned[0]; i++) {
        assert_false(ask(learned[i]));
        if (!session.plan.learns)
            fail_msg("not learned: %s", learned[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(ask(others[i]));
        if (session.plan.learns)
            fail_msg("learned: %s", others[i]);
    }
    proxy.target->has_variable[VARIABLE_sql_mode] = false;
    assert_false(ask("SELECT @@sql_mode"));
    assert_false(session.plan.learns);
}

static void a_use_is_learned(void **state)
{
    (void)state;
    assert_false(ask("USE shop"));
    assert_true(session.plan.learns);
    assert_false(ask("use `shop`;"));
    assert_true(session.plan.learns);
    assert_false(ask("USE shop; SELECT 1"));
    assert_false(session.plan.learns);
    assert_false(ask("USE shop /*! */"));
    assert_false(session.plan.learns);
}

static void only_what_is_literal_is_learned(void **state)
{
    static const char *const texts[] = {"INSERT INTO t VALUES (1)", "SHOW TABLES",
                                        "SELECT a FROM t",          "DO 1",
                                        "CREATE TABLE t (a INT)",   "SELECT NOW()"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(ask(texts[i]));
        assert_false(session.plan.learns);
    }
    session.lessee.backend = &backend; /* what it holds there may matter */
    assert_false(ask("SET sql_mode=''"));
    assert_false(session.plan.learns);
    session.lessee.backend = NULL;
    session_state_fini(proxy.target->names, virtual_state()); /* in which state? */
    assert_false(ask("SET sql_mode=''"));
    assert_false(session.plan.learns);
}

/* ---- what is learned, and answered then ---- */

static void what_a_tracker_told_is_done_here_the_next_time(void **state)
{
    static const char text[] = "SET time_zone='+00:00'";
    (void)state;
    set_variable(VARIABLE_time_zone, "SYSTEM");
    assert_false(ask(text));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 0, "time_zone", "+00:00");
    assert_true(session.plan.learns);
    assert_int_equal(session.pins, 0);
    finish();
    assert_int_equal(known(), 1);
    assert_true(bytes_equal(value_of(VARIABLE_time_zone), bytes_text("+00:00")));
    assert_false(ask(text)); /* it is in another state now */
    session_plan_clear(&session);

    set_variable(VARIABLE_time_zone, "SYSTEM");
    assert_true(ask(text));
    assert_ok_with(MYSQL_STATUS_AUTOCOMMIT); /* and no tracker: this client knows of none */
    assert_true(bytes_equal(value_of(VARIABLE_time_zone), bytes_text("+00:00")));
    assert_int_equal(proxy.stats.local_answers[MYSQL_COM_QUERY], 1);
    set_variable(VARIABLE_time_zone, "SYSTEM");
    assert_false(ask_as(text, true)); /* the reply to an EXECUTE is another */
    assert_true(session.plan.learns);
}

static void rows_are_answered_as_they_came(void **state)
{
    uint8_t reply[256];
    uint8_t got[256];
    (void)state;
    assert_false(ask("SELECT @@sql_mode"));
    has_run(reply, make_rows(reply, sizeof reply, "ANSI"));
    size_t len = iobuf_len(&session.captured);
    uint8_t *first = malloc(len);
    assert_non_null(first);
    memcpy(first, iobuf_bytes(&session.captured).at, len);
    finish();
    session.last.row_count = 5;
    assert_true(ask("SELECT @@sql_mode"));
    assert_int_equal(read(client_fd, got, sizeof got), len);
    assert_memory_equal(got, first, len);
    free(first);
    assert_true(session.last.row_count_known);
    assert_int_equal(session.last.row_count, -1);
    assert_true(session.last.found_rows_known);
    assert_int_equal(session.last.found_rows, 1);
    assert_true(session.ran_before);
}

/* sql_select_limit = 0. */
static void an_answer_without_a_row_leaves_no_found_rows(void **state)
{
    uint8_t reply[256];
    (void)state;
    assert_false(ask("SELECT @@sql_mode"));
    has_run(reply, make_rows(reply, sizeof reply, NULL));
    assert_int_equal(session.last.found_rows, 0);
    finish();
    session.last.found_rows = 7;
    if (!ask("SELECT @@sql_mode")) /* not to learn it is as good */
        return;
    (void)read(client_fd, reply, sizeof reply);
    assert_int_equal(session.last.found_rows, 0);
}

/* There BEGIN begins a block. */
static void in_oracle_mode_only_start_transaction_is_answered(void **state)
{
    (void)state;
    proxy.target->mariadb = true;
    set_variable(VARIABLE_sql_mode, "PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ORACLE,"
                                    "NO_KEY_OPTIONS,NO_TABLE_OPTIONS,NO_FIELD_OPTIONS,NO_AUTO_"
                                    "CREATE_USER,SIMULTANEOUS_ASSIGNMENT");
    assert_false(ask("BEGIN"));
    assert_false(ask("begin work;"));
    assert_true(ask("START TRANSACTION"));
    (void)answered();
    assert_true(ask("COMMIT"));
    (void)answered();
}

static void an_answer_of_ours_leaves_what_the_servers_would(void **state)
{
    (void)state;
    session.last.row_count = 7;
    session.last.found_rows = 3;
    session.last.found_rows_known = true;
    session.last.warnings = 2;
    session.last.clean = false;
    session.lessee.last_backend = &backend;
    memset(&backend, 0, sizeof backend);
    backend.last_owner = &session.lessee;
    assert_true(ask("BEGIN"));
    (void)answered();
    assert_int_equal(session.last.row_count, 0);
    assert_int_equal(session.last.found_rows, 3);
    assert_null(session.lessee.last_backend); /* ROW_COUNT() there is that of another statement */
    assert_null(backend.last_owner);
    assert_true(session.last.clean); /* MySQL */
    assert_int_equal(session.last.warnings, 0);

    proxy.target->mariadb = true;
    session.last.warnings = 2;
    session.last.clean = false;
    assert_true(ask("COMMIT"));
    (void)answered();
    assert_false(session.last.clean); /* they can still be asked for */
    assert_int_equal(session.last.warnings, 2);
}

static void nothing_is_learned_of_what_failed(void **state)
{
    (void)state;
    assert_false(ask("SET time_zone='Mars'"));
    runs_with_error(1298);
    assert_false(session.plan.learns);
    finish();
    assert_int_equal(known(), 0);
}

static void nothing_is_learned_inside_a_transaction(void **state)
{
    (void)state;
    assert_false(ask("SET time_zone='+00:00'"));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT | MYSQL_STATUS_IN_TRANS, 0, "time_zone", "+00:00");
    assert_int_equal(session.pins, PIN_TRANSACTION);
    finish();
    assert_int_equal(known(), 0);
}

static void nothing_is_learned_of_a_reply_that_is_too_long(void **state)
{
    (void)state;
    assert_false(ask("SELECT @@sql_mode"));
    session.plan.learns = false; /* the relay has given it up */
    uint8_t reply[256];
    has_run(reply, make_rows(reply, sizeof reply, "ANSI"));
    finish();
    assert_int_equal(known(), 0);
}

/* They can be brought about again by running it again. */
static void the_warnings_of_a_set_are_there_to_be_asked_for(void **state)
{
    static const char text[] = "SET NAMES utf8";
    struct mysql_ok ok;
    (void)state;
    assert_false(ask(text));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 1, NULL, NULL);
    assert_true(session.plan.learns);
    assert_true(session.pins & PIN_LAST_STATEMENT);
    finish();
    assert_int_equal(known(), 1);
    assert_string_equal(session.replay, text);
    assert_true(ask("BEGIN")); /* clears them */
    (void)answered();
    assert_null(session.replay);
    assert_true(ask("ROLLBACK"));
    (void)answered();

    for (int i = 0; i < 2; i++) {
        assert_true(ask(text));
        assert_int_equal(mysql_ok_read(answered(), &ok), WIRE_DONE);
        assert_int_equal(ok.warnings, 1);
        assert_string_equal(session.replay, text);
        assert_false(session.last.clean);
        assert_int_equal(session.last.warnings, 1);
    }
}

static void mariadbs_warnings_and_those_of_a_select_are_not_learned(void **state)
{
    (void)state;
    proxy.target->mariadb = true;
    assert_false(ask("SET sql_mode=''"));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 1, "sql_mode", "");
    assert_true(session.pins & PIN_LAST_STATEMENT);
    finish();
    assert_int_equal(known(), 0);
    proxy.target->mariadb = false;
    uint8_t reply[256];
    assert_false(ask("SELECT @@tx_isolation"));
    size_t len = make_rows(reply, sizeof reply, "REPEATABLE-READ");
    reply[len - 2] = 1; /* deprecated: a warning */
    has_run(reply, len);
    finish();
    assert_int_equal(known(), 0);
}

/* A value that nobody could set again is not virtual. */
static void a_variable_that_cannot_be_set_again_pins(void **state)
{
    (void)state;
    assert_false(ask("SET lc_messages='x'"));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 0, "lc_messages", "it's");
    assert_int_equal(session.pins, PIN_SESSION_VARIABLE);
    finish();
}

/* A tracker that tells of what the text does not name. */
static void a_change_that_nothing_foresaw_pins(void **state)
{
    (void)state;
    assert_false(ask("SELECT a FROM t"));
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 0, "rand_seed1", "1");
    assert_int_equal(session.pins, PIN_SESSION_VARIABLE);
    finish();
    assert_false(ask("SET sql_auto_is_null=1")); /* IS NULL is about the statement just before */
    runs_with_ok(MYSQL_STATUS_AUTOCOMMIT, 0, "sql_auto_is_null", "ON");
    assert_int_equal(session.pins, PIN_SESSION_VARIABLE);
    finish();
}

#define QUERY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUERY_TEST(a_set_of_literals_is_learned),
        QUERY_TEST(a_set_of_anything_else_that_is_virtual_is_read_back),
        QUERY_TEST(a_set_of_what_is_not_virtual_pins),
        QUERY_TEST(a_variable_that_this_server_does_not_have_is_not_virtual),
        QUERY_TEST(roles_and_passwords_are_no_variables),
        QUERY_TEST(a_set_that_is_not_at_hand_may_do_anything),
        QUERY_TEST(a_long_set_is_understood_but_not_learned),
        QUERY_TEST(what_may_be_written_behind_a_begin_only_reads),
        QUERY_TEST(what_may_hide_a_set_is_read_back),
        QUERY_TEST(reading_user_variables_pins_nothing),
        QUERY_TEST(one_fact_that_is_asked_for_is_told_apart),
        QUERY_TEST(a_text_is_kept_when_it_matters_afterwards),
        QUERY_TEST(what_holds_a_backend_for_its_warnings_ends_with_the_next_statement),
        QUERY_TEST(a_plain_begin_is_answered_in_every_spelling),
        QUERY_TEST(a_begin_that_is_more_than_that_is_not_answered),
        QUERY_TEST(the_end_of_nothing_is_answered),
        QUERY_TEST(nothing_of_a_transaction_is_answered_where_more_hangs_on_it),
        QUERY_TEST(in_a_transaction_that_was_answered_nothing_else_is),
        QUERY_TEST(a_select_of_what_is_virtual_or_constant_is_learned),
        QUERY_TEST(a_use_is_learned),
        QUERY_TEST(only_what_is_literal_is_learned),
        QUERY_TEST(what_a_tracker_told_is_done_here_the_next_time),
        QUERY_TEST(rows_are_answered_as_they_came),
        QUERY_TEST(an_answer_without_a_row_leaves_no_found_rows),
        QUERY_TEST(in_oracle_mode_only_start_transaction_is_answered),
        QUERY_TEST(an_answer_of_ours_leaves_what_the_servers_would),
        QUERY_TEST(nothing_is_learned_of_what_failed),
        QUERY_TEST(nothing_is_learned_inside_a_transaction),
        QUERY_TEST(nothing_is_learned_of_a_reply_that_is_too_long),
        QUERY_TEST(the_warnings_of_a_set_are_there_to_be_asked_for),
        QUERY_TEST(mariadbs_warnings_and_those_of_a_select_are_not_learned),
        QUERY_TEST(a_variable_that_cannot_be_set_again_pins),
        QUERY_TEST(a_change_that_nothing_foresaw_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
