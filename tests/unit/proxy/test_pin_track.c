/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy/pin_track.c: when pins end. */
#include "proxy/pin_track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* One session: what the scanner's rules begin is added here as proxy/query.c does it. */
static struct {
    struct pin_track *track;
    struct pin_event next; /* what is special about the next statement; used up by it */
    uint32_t pins;
    bool asks;
} now;

static int setup(void **state)
{
    (void)state;
    memset(&now, 0, sizeof now);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pin_track_free(now.track);
    return 0;
}

static uint32_t begun_by(uint32_t flags, uint32_t kinds)
{
    static const struct {
        enum sql_kind kind;
        uint32_t pin;
    } rules[] = {
        {SQL_LOCK_TABLES, PIN_TABLE_LOCK},    {SQL_HANDLER, PIN_HANDLER},
        {SQL_PREPARE, PIN_TEXT_PREPARE},      {SQL_XA, PIN_XA},
        {SQL_TEMPORARY, PIN_TEMPORARY_TABLE}, {SQL_OTHER, PIN_SESSION_VARIABLE},
    };
    uint32_t pins = flags & SQL_F_NAMED_LOCK ? PIN_NAMED_LOCK : 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (kinds & 1u << rules[i].kind)
            pins |= rules[i].pin;
    return pins | (flags & SQL_F_UNKNOWN_FUNCTION ? PIN_UNKNOWN_FUNCTION : 0);
}

static void scan(const char *text, uint32_t mode, uint32_t *flags, uint32_t *kinds)
{
    struct sql_scan s;
    sql_scan_begin(&s, mode);
    sql_scan_feed(&s, bytes_text(text));
    sql_scan_end(&s);
    *flags = s.flags;
    *kinds = s.kinds;
    if (*kinds & 1u << SQL_PREPARE)
        pin_track_executed(now.track, bytes_text(text), mode, flags, kinds);
}

static void runs(const char *text)
{
    struct pin_event e = now.next;
    scan(text, e.mode, &e.flags, &e.kinds);
    e.text = bytes_text(e.text.at ? (const char *)e.text.at : text);
    e.schema = bytes_text(e.schema.at ? (const char *)e.schema.at : "app");
    e.pins_before = now.pins;
    now.pins |= begun_by(e.flags, e.kinds);
    struct pin_effect effect = pin_track_statement(&now.track, &e, now.pins);
    now.pins = (now.pins | effect.begin) & ~effect.end;
    now.asks = effect.ask_locks;
    now.next = (struct pin_event){.mode = e.mode, .tables_locked = e.tables_locked};
}

static void fails(const char *text)
{
    now.next.failed = true;
    runs(text);
}

static void runs_in(const char *schema, const char *text)
{
    now.next.schema = bytes_text(schema);
    runs(text);
}

/* Its text was too long to be kept. */
static void runs_unseen(const char *text)
{
    now.next.text = bytes_text("");
    runs(text);
}

static void assert_pins(uint32_t pins)
{
    assert_int_equal(now.pins, pins);
}

static void assert_free(void)
{
    assert_pins(0);
    assert_null(now.track);
}

static void assert_asks(const char *question)
{
    char out[256];
    assert_true(now.asks);
    assert_true(pin_track_lock_question(now.track, out, sizeof out));
    assert_string_equal(out, question);
}

static void answer_none(void)
{
    pin_track_locks_gone(&now.track);
    now.pins &= ~(uint32_t)PIN_NAMED_LOCK;
}

/* ---- temporary tables ---- */

static void a_dropped_temporary_table_is_over(void **state)
{
    static const char *const drops[] = {
        "DROP TABLE t",
        "drop temporary table if exists `t`;",
        "DROP TABLE app.t CASCADE",
        "DROP TABLE IF EXISTS x, app . t, y",
    };
    (void)state;
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++) {
        runs("CREATE TEMPORARY TABLE t (a INT) SELECT 1 AS a");
        assert_pins(PIN_TEMPORARY_TABLE);
        runs("SELECT * FROM t");
        assert_pins(PIN_TEMPORARY_TABLE);
        runs(drops[i]);
        assert_free();
    }
}

static void each_temporary_table_counts(void **state)
{
    (void)state;
    runs("CREATE TEMPORARY TABLE a (i INT)");
    runs("CREATE TEMPORARY TABLE b (i INT)");
    runs("CREATE TEMPORARY TABLE IF NOT EXISTS a (i INT)");
    runs("DROP TABLE a");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("DROP TABLE c");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("DROP TABLE b");
    assert_free();
}

/* Two tables on most servers, one on others. */
static void another_case_or_schema_is_another_table(void **state)
{
    (void)state;
    runs("CREATE TEMPORARY TABLE t (i INT)");
    runs("DROP TABLE T");
    runs("DROP TABLE shop.t");
    runs_in("shop", "DROP TABLE t");
    runs_in("APP", "DROP TABLE t");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs_in("shop", "DROP TABLE app.t");
    assert_free();
}

static void what_failed_neither_begins_nor_ends_a_temporary_table(void **state)
{
    (void)state;
    fails("CREATE TEMPORARY TABLE t (i INT)");
    assert_free();
    fails("CREATE TEMPORARY TABEL t (i INT)");
    assert_free();
    runs("CREATE TEMPORARY TABLE t (i INT)");
    fails("DROP TABLE t, u");
    fails("CREATE OR REPLACE TEMPORARY TABLE t (i INT)");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("DROP TABLE t");
    assert_free();
}

static void dropping_what_is_not_there_begins_nothing(void **state)
{
    (void)state;
    runs("DROP TEMPORARY TABLE IF EXISTS t");
    assert_free();
    fails("DROP TEMPORARY TABLE t");
    assert_free();
}

static void temporary_things_that_cannot_be_read_last(void **state)
{
    static const char *const texts[] = {
        "CREATE TEMPORARY TABLE a (i INT); CREATE TEMPORARY TABLE b (i INT)",
        "/*!50000 CREATE TEMPORARY TABLE a (i INT) */",
        "CREATE /*! TEMPORARY */ TABLE a (i INT)",
        "CREATE TEMPORARY TABLE `a``b` (i INT)",
        "CREATE TEMPORARY TABLE \xc3\xa9 (i INT)",
        "CREATE TEMPORARY SEQUENCE a",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        runs(texts[i]);
        runs("DROP TABLE a");
        runs("DROP TEMPORARY TABLE IF EXISTS b");
        assert_true(now.pins & PIN_TEMPORARY_TABLE);
        teardown(NULL);
        setup(NULL);
    }
    runs_unseen("CREATE TEMPORARY TABLE a (i INT)");
    runs("DROP TABLE a");
    assert_pins(PIN_TEMPORARY_TABLE);
}

static void the_first_of_two_statements_may_have_made_it_before_the_second_failed(void **state)
{
    (void)state;
    fails("CREATE TEMPORARY TABLE t (i INT); SELECT nothing");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("DROP TABLE t");
    assert_pins(PIN_TEMPORARY_TABLE);
}

static void a_renamed_temporary_table_lasts(void **state)
{
    static const char *const renames[] = {
        "ALTER TABLE t RENAME TO u",         "RENAME TABLE t TO u",
        "ALTER TABLE t ADD j INT, rename u", "ALTER TABLE t /*! RENAME u */",
        "SELECT 1; ALTER TABLE t RENAME u",
    };
    (void)state;
    for (size_t i = 0; i < sizeof renames / sizeof renames[0]; i++) {
        runs("CREATE TEMPORARY TABLE t (i INT)");
        runs(renames[i]);
        runs("DROP TABLE t"); /* the base table that t had hidden */
        assert_true(now.pins & PIN_TEMPORARY_TABLE);
        teardown(NULL);
        setup(NULL);
    }
    runs("CREATE TEMPORARY TABLE t (i INT)");
    runs("ALTER TABLE t ADD INDEX (i)");
    runs("TRUNCATE TABLE t");
    runs("DROP TABLE t");
    assert_free();
}

static void renaming_without_temporary_tables_begins_nothing(void **state)
{
    (void)state;
    runs("ALTER TABLE t RENAME TO u");
    assert_free();
}

static void what_execute_makes_lasts(void **state)
{
    (void)state;
    runs("PREPARE s FROM 'CREATE TEMPORARY TABLE t (i INT)'");
    assert_pins(PIN_TEXT_PREPARE);
    runs("EXECUTE s");
    assert_pins(PIN_TEXT_PREPARE | PIN_TEMPORARY_TABLE);
    runs("DROP TABLE t");
    runs("DEALLOCATE PREPARE s");
    assert_pins(PIN_TEMPORARY_TABLE);
}

static void what_execute_drops_may_be_renamed(void **state)
{
    (void)state;
    runs("CREATE TEMPORARY TABLE t (i INT)");
    runs("PREPARE s FROM 'ALTER TABLE t RENAME u'");
    runs("EXECUTE s");
    runs("DEALLOCATE PREPARE s");
    runs("DROP TABLE t");
    assert_pins(PIN_TEMPORARY_TABLE);
}

static void more_names_than_are_counted_last(void **state)
{
    char text[64];
    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "CREATE TEMPORARY TABLE t%d (i INT)", i);
        runs(text);
    }
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "DROP TABLE t%d", i);
        runs(text);
    }
    assert_pins(PIN_TEMPORARY_TABLE);
}

static void names_of_any_length_are_taken(void **state)
{
    static char text[5000];
    (void)state;
    (void)snprintf(text, sizeof text, "CREATE TEMPORARY TABLE %04000d (i INT)", 0);
    fails(text);
    assert_free();
    runs(text);
    assert_pins(PIN_TEMPORARY_TABLE);
}

/* ---- HANDLER ---- */

static void a_closed_handler_is_over(void **state)
{
    (void)state;
    runs("HANDLER t OPEN");
    runs("HANDLER app.u OPEN AS Two");
    runs("HANDLER t READ FIRST");
    runs("HANDLER t CLOSE");
    assert_pins(PIN_HANDLER);
    fails("HANDLER u CLOSE");
    fails("HANDLER two CLOSE");
    assert_pins(PIN_HANDLER);
    runs_in("shop", "HANDLER tWO CLOSE");
    assert_free();
}

static void a_handler_that_did_not_open_begins_nothing(void **state)
{
    (void)state;
    fails("HANDLER t OPEN");
    assert_free();
    fails("HANDLER t READ FIRST");
    assert_free();
    fails("HANDLER");
    assert_free();
}

static void handlers_that_cannot_be_read_last(void **state)
{
    (void)state;
    fails("HANDLER t OPEN; HANDLER u OPEN");
    runs("HANDLER t CLOSE");
    assert_pins(PIN_HANDLER);
}

/* ---- text PREPARE ---- */

static void a_deallocated_statement_is_over(void **state)
{
    (void)state;
    runs("PREPARE one FROM 'SELECT 1'");
    runs("PREPARE `two` FROM @text");
    runs("PREPARE ONE FROM 'SELECT 2'");
    runs("DEALLOCATE PREPARE One");
    assert_pins(PIN_TEXT_PREPARE);
    fails("DEALLOCATE PREPARE three");
    fails("DEALLOCATE PREPARE two");
    assert_pins(PIN_TEXT_PREPARE);
    runs("DROP PREPARE two");
    assert_free();
}

static void a_failed_prepare_leaves_what_was_counted(void **state)
{
    (void)state;
    fails("PREPARE s FROM 'SELEC'");
    assert_free();
    runs("PREPARE s FROM 'SELECT 1'");
    fails("PREPARE s FROM 1+");
    assert_pins(PIN_TEXT_PREPARE);
    runs("DEALLOCATE PREPARE s");
    assert_free();
}

static void assert_executed(const char *text, uint32_t flags, uint32_t kinds)
{
    uint32_t f = 0;
    uint32_t k = 0;
    pin_track_executed(now.track, bytes_text(text), now.next.mode, &f, &k);
    assert_int_equal(f, flags);
    assert_int_equal(k, kinds);
}

static void execute_does_what_its_literal_says(void **state)
{
    (void)state;
    runs("PREPARE s FROM 'SELECT SQL_CALC_FOUND_ROWS 1'");
    assert_executed("EXECUTE s", SQL_F_CALC_FOUND_ROWS, 1u << SQL_SELECT);
    assert_executed("execute S using @a, @b;", SQL_F_CALC_FOUND_ROWS, 1u << SQL_SELECT);
    runs("PREPARE S FROM 'CREATE TEMPORARY TABLE t (i INT)'");
    assert_executed("EXECUTE s", 0, 1u << SQL_TEMPORARY);
    assert_executed("DEALLOCATE PREPARE s", 0, 0);
    assert_executed("PREPARE u FROM 'SELECT @a'", 0, 0);
}

static void what_is_not_known_may_do_anything(void **state)
{
    static const char *const texts[] = {
        "EXECUTE other",
        "EXECUTE s; SELECT 1",
        "EXECUTE \xc3\xa9",
        "/*! EXECUTE s */",
        "EXECUTE IMMEDIATE @a",
        "EXECUTE IMMEDIATE 'a' 'b'",
        "EXECUTE IMMEDIATE 'SELECT ''a'''",
        "EXECUTE IMMEDIATE 'SELECT 1'; SELECT f()",
    };
    (void)state;
    runs("PREPARE s FROM 'SELECT 1'");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_executed(texts[i], SQL_F_UNKNOWN_FUNCTION, 1u << SQL_OTHER);
    runs("PREPARE s FROM CONCAT('SELECT ', '1')");
    assert_executed("EXECUTE s", SQL_F_UNKNOWN_FUNCTION, 1u << SQL_OTHER);
}

/* To MySQL é is e, and `e ` too. */
static void a_name_that_cannot_be_compared_may_have_replaced_any(void **state)
{
    static const char *const texts[] = {
        "PREPARE `\xc3\xa9` FROM 'CREATE TEMPORARY TABLE t (i INT)'",
        "PREPARE `e ` FROM 'CREATE TEMPORARY TABLE t (i INT)'",
        "SELECT 1; PREPARE e FROM 'CREATE TEMPORARY TABLE t (i INT)'",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        runs("PREPARE e FROM 'SELECT 1'");
        runs(texts[i]);
        assert_executed("EXECUTE e", SQL_F_UNKNOWN_FUNCTION, 1u << SQL_OTHER);
        runs("DEALLOCATE PREPARE e");
        assert_true(now.pins & PIN_TEXT_PREPARE);
        teardown(NULL);
        setup(NULL);
    }
}

static void execute_immediate_leaves_no_statement(void **state)
{
    (void)state;
    now.next.mode = SQL_MODE_MARIADB;
    runs("EXECUTE IMMEDIATE 'SELECT 1'");
    assert_free();
    runs("EXECUTE IMMEDIATE 'SELECT ?' USING 5;");
    assert_free();
    runs("EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE t (i INT)'");
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("EXECUTE IMMEDIATE 'SELECT 1'; PREPARE s FROM 'SELECT 1'");
    assert_true(now.pins & PIN_TEXT_PREPARE);
}

/* ---- table locks ---- */

static void unlock_tables_ends_table_locks(void **state)
{
    static const char *const locks[] = {
        "LOCK TABLES t READ",
        "lock\ttable t AS x WRITE, u READ",
        "FLUSH TABLES WITH READ LOCK",
        "FLUSH NO_WRITE_TO_BINLOG TABLES WITH READ LOCK",
        "FLUSH TABLES t WITH READ LOCK",
        "FLUSH TABLE t FOR EXPORT",
    };
    static const char *const unlocks[] = {"UNLOCK TABLES", "unlock /* x */ table;"};
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        runs(locks[i % 6]);
        assert_pins(PIN_TABLE_LOCK);
        runs("SELECT 1");
        fails(unlocks[i / 6]);
        assert_pins(PIN_TABLE_LOCK);
        runs(unlocks[i / 6]);
        assert_free();
    }
}

static void a_table_lock_that_was_not_had_begins_nothing(void **state)
{
    (void)state;
    fails("LOCK TABLES nothing READ");
    assert_free();
    runs("LOCK TABLES t READ");
    fails("LOCK TABLES nothing READ"); /* it has ended the first, but no reply says so */
    assert_pins(PIN_TABLE_LOCK);
}

static void begin_ends_lock_tables_but_no_global_lock(void **state)
{
    (void)state;
    runs("LOCK TABLES t READ");
    fails("BEGIN");
    assert_pins(PIN_TABLE_LOCK);
    runs("START TRANSACTION READ ONLY");
    assert_free();
    runs("FLUSH TABLES WITH READ LOCK");
    runs("LOCK TABLES t READ");
    runs("BEGIN");
    assert_pins(PIN_TABLE_LOCK);
    runs("COMMIT");
    assert_pins(PIN_TABLE_LOCK);
    runs("UNLOCK TABLES");
    assert_free();
}

static void the_tracker_is_believed_on_mariadb_alone(void **state)
{
    (void)state;
    now.next.tables_locked = true;
    runs("LOCK TABLES t WRITE");
    now.next.tables_locked = false;
    runs("ALTER TABLE t ADD j INT"); /* MySQL: still locked */
    assert_pins(PIN_TABLE_LOCK);
    runs("UNLOCK TABLES");
    assert_free();

    now.next.mode = SQL_MODE_MARIADB;
    now.next.tables_locked = true;
    runs("LOCK TABLES t WRITE");
    runs("ALTER TABLE t ADD j INT");
    assert_pins(PIN_TABLE_LOCK);
    now.next.tables_locked = false;
    runs("DROP TABLE t");
    assert_free();
}

static void a_tracker_that_never_told_of_the_lock_ends_nothing(void **state)
{
    (void)state;
    now.next.mode = SQL_MODE_MARIADB;
    runs("LOCK TABLES t WRITE");
    runs("SELECT 1");
    assert_pins(PIN_TABLE_LOCK);
}

static void locks_for_backup_end_by_their_own_words(void **state)
{
    static const struct {
        const char *takes, *ends;
    } cases[] = {
        {"LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"},
        {"BACKUP LOCK app.t", "BACKUP UNLOCK"},
        {"BACKUP STAGE START", "BACKUP STAGE END"},
        {"LOCK TABLES t READ", "UNLOCK TABLES"},
    };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        runs(cases[i].takes);
        for (size_t j = 0; j < 4; j++) {
            assert_pins(PIN_TABLE_LOCK);
            if (j != i)
                runs(cases[j].ends);
        }
        if (i != 3)
            runs("BEGIN");
        assert_pins(PIN_TABLE_LOCK);
        runs(cases[i].ends);
        assert_free();
    }
}

static void table_locks_that_cannot_be_read_last(void **state)
{
    static const char *const texts[] = {
        "LOCK TABLES t READ; SELECT 1",
        "/*! LOCK TABLES t READ */",
        "UNLOCK TABLES; LOCK TABLES t READ",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fails(texts[i]);
        runs("UNLOCK TABLES");
        assert_true(now.pins & PIN_TABLE_LOCK);
        teardown(NULL);
        setup(NULL);
    }
    runs("LOCK TABLES t READ");
    runs("UNLOCK TABLES; LOCK TABLES t READ");
    assert_pins(PIN_TABLE_LOCK);
}

/* ---- named locks ---- */

static void the_server_is_asked_for_the_known_names(void **state)
{
    (void)state;
    runs("SELECT GET_LOCK('a', 0)");
    assert_pins(PIN_NAMED_LOCK);
    assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1");
    runs("DO GET_LOCK('b c', 10)");
    assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) OR "
                "(IS_USED_LOCK('b c') <=> CONNECTION_ID()) LIMIT 1");
    runs("SELECT RELEASE_LOCK('a')");
    assert_true(now.asks);
    runs("SELECT 1");
    assert_false(now.asks);
    assert_pins(PIN_NAMED_LOCK);
    fails("SELECT RELEASE_LOCK('b c'), nothing()");
    answer_none();
    assert_pins(PIN_UNKNOWN_FUNCTION);
}

static void nothing_held_frees_everything(void **state)
{
    (void)state;
    runs("SELECT GET_LOCK('a', 0)");
    answer_none();
    assert_free();
    pin_track_locks_gone(&now.track);
    assert_free();
}

static void a_failed_statement_may_have_taken_its_lock(void **state)
{
    (void)state;
    fails("SELECT GET_LOCK('a', 0), (SELECT 1 UNION SELECT 2)");
    assert_pins(PIN_NAMED_LOCK);
    assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1");
}

static void looking_at_locks_begins_nothing_and_asks_nothing(void **state)
{
    (void)state;
    runs("SELECT IS_FREE_LOCK('a'), IS_USED_LOCK(CONCAT('b'))");
    assert_free();
    assert_false(now.asks);
    runs("SELECT RELEASE_LOCK('a')");
    assert_free();
    runs("SELECT GET_LOCK('a', 0)");
    runs("SELECT IS_FREE_LOCK('a')");
    assert_false(now.asks);
    assert_pins(PIN_NAMED_LOCK);
}

static void a_name_that_is_no_literal_lasts(void **state)
{
    char out[256];
    static const char *const texts[] = {
        "SELECT GET_LOCK(CONCAT('a', 'b'), 0)", "SELECT GET_LOCK(?, 0)",
        "SELECT GET_LOCK('it''s', 0)",          "SELECT GET_LOCK('a ', 0)",
        "SELECT /*! GET_LOCK('a', 0) */ 1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        runs(texts[i]);
        runs("SELECT RELEASE_LOCK('a')");
        assert_pins(PIN_NAMED_LOCK);
        assert_false(now.asks);
        assert_false(pin_track_lock_question(now.track, out, sizeof out));
        teardown(NULL);
        setup(NULL);
    }
    runs_unseen("SELECT GET_LOCK('a', 0)");
    assert_pins(PIN_NAMED_LOCK);
    assert_false(now.asks);
}

static void what_is_released_may_be_any_expression(void **state)
{
    (void)state;
    runs("SELECT RELEASE_LOCK(CONCAT('a'))");
    assert_free();
    runs("SELECT GET_LOCK('a', 0)");
    runs("SELECT RELEASE_LOCK(?)");
    assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1");
    runs("SELECT GET_LOCK('b', 0), RELEASE_LOCK(?)");
    assert_false(now.asks);
    assert_pins(PIN_NAMED_LOCK);
}

static void what_execute_locks_is_not_in_its_text(void **state)
{
    (void)state;
    runs("PREPARE s FROM 'SELECT GET_LOCK(''a'', 0)'");
    runs("PREPARE s FROM 'SELECT GET_LOCK(\"a\", 0)'");
    assert_pins(PIN_TEXT_PREPARE);
    runs("EXECUTE s");
    assert_pins(PIN_TEXT_PREPARE | PIN_NAMED_LOCK);
    runs("SELECT RELEASE_LOCK('a')");
    assert_false(now.asks);
    assert_pins(PIN_TEXT_PREPARE | PIN_NAMED_LOCK);
}

static void release_all_locks_is_done_again_and_ends_unknown_names_too(void **state)
{
    static const char *const texts[] = {"SELECT RELEASE_ALL_LOCKS()", "do release_all_locks ( );",
                                        "SELECT RELEASE_ALL_LOCKS() AS `n`"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        runs("SELECT GET_LOCK(UUID(), 0)");
        runs("SELECT GET_LOCK('a', 0)");
        assert_false(now.asks);
        runs(texts[i]);
        assert_asks("SELECT RELEASE_ALL_LOCKS() LIMIT 1");
        assert_pins(PIN_NAMED_LOCK);
        answer_none();
        assert_free();
    }
    runs("SELECT RELEASE_ALL_LOCKS()");
    assert_free();
    assert_false(now.asks);
    runs("SELECT GET_LOCK(UUID(), 0)");
    runs("SELECT RELEASE_ALL_LOCKS()");
    assert_true(now.asks);
    runs("SELECT GET_LOCK(UUID(), 0)");
    assert_false(now.asks);
    assert_pins(PIN_NAMED_LOCK);
}

static void release_all_locks_that_may_not_have_run_is_not_done_again(void **state)
{
    static const char *const texts[] = {
        "SELECT IF(0, RELEASE_ALL_LOCKS(), 1)",         "SELECT RELEASE_ALL_LOCKS() FROM t WHERE 0",
        "EXPLAIN SELECT RELEASE_ALL_LOCKS()",           "SELECT RELEASE_ALL_LOCKS() LIMIT 0",
        "SELECT RELEASE_ALL_LOCKS(), GET_LOCK('a', 0)",
    };
    (void)state;
    runs("SELECT GET_LOCK('a', 0)");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        runs(texts[i]);
        assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1");
    }
    fails("SELECT RELEASE_ALL_LOCKS()");
    assert_asks("SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1");
    runs("SELECT GET_LOCK(UUID(), 0)");
    runs("SELECT IF(0, RELEASE_ALL_LOCKS(), 1)");
    assert_false(now.asks);
    assert_pins(PIN_NAMED_LOCK);
}

static void locks_of_plugins_are_not_released_with_all(void **state)
{
    (void)state;
    runs("SELECT service_get_write_locks('space', 'a', 10)");
    runs("SELECT RELEASE_ALL_LOCKS()");
    assert_false(now.asks);
    assert_true(now.pins & PIN_NAMED_LOCK);
}

static void names_that_no_lock_can_have_are_not_asked_for(void **state)
{
    char text[300];
    (void)state;
    (void)snprintf(text, sizeof text, "SELECT GET_LOCK('%065d', 0)", 0);
    fails(text);
    assert_free();
    now.next.mode = SQL_MODE_MARIADB;
    runs(text);
    assert_true(now.asks);
    answer_none();
    (void)snprintf(text, sizeof text, "SELECT GET_LOCK('%0193d', 0)", 0);
    fails(text);
    assert_free();
}

static void a_question_that_does_not_fit_is_not_asked(void **state)
{
    char out[256];
    const char *question = "SELECT (IS_USED_LOCK('a') <=> CONNECTION_ID()) LIMIT 1";
    (void)state;
    assert_false(pin_track_lock_question(NULL, out, sizeof out));
    runs("SELECT GET_LOCK('a', 0)");
    for (size_t room = 0; room <= strlen(question); room++)
        assert_false(pin_track_lock_question(now.track, out, room));
    assert_true(pin_track_lock_question(now.track, out, strlen(question) + 1));
    assert_string_equal(out, question);
}

/* ---- XA ---- */

static void runs_in_transaction(const char *text)
{
    now.next.in_transaction = true;
    runs(text);
}

static void xa_is_over_when_no_transaction_is_left(void **state)
{
    static const char *const ends[] = {"XA COMMIT 'x' ONE PHASE", "xa /* a */ rollback 'x';",
                                       "XA PREPARE 'x'"};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        runs_in_transaction("XA START 'x'");
        runs_in_transaction("INSERT INTO t VALUES (1)");
        runs_in_transaction("XA END 'x'");
        fails(ends[i]);
        assert_pins(PIN_XA);
        runs(ends[i]);
        assert_free();
    }
}

static void a_prepared_xa_transaction_of_mariadb_lasts_to_its_end(void **state)
{
    (void)state;
    runs_in_transaction("XA START 'x'");
    runs_in_transaction("XA END 'x'");
    runs_in_transaction("XA PREPARE 'x'");
    runs_in_transaction("XA RECOVER");
    fails("XA COMMIT 'other'");
    assert_pins(PIN_XA);
    runs("XA COMMIT 'x'");
    assert_free();
}

static void xa_that_did_not_start_begins_nothing(void **state)
{
    (void)state;
    fails("XA START 'x'");
    assert_free();
    runs("XA RECOVER");
    assert_free();
    runs("XA COMMIT 'prepared by another'");
    assert_free();
}

static void xa_among_other_statements_lasts(void **state)
{
    (void)state;
    fails("XA START 'x'; SELECT nothing");
    assert_pins(PIN_XA);
    runs("XA ROLLBACK 'x'; SELECT 1");
    assert_pins(PIN_XA);
}

/* ---- all ---- */

static void statements_about_other_things_change_nothing(void **state)
{
    (void)state;
    runs("SELECT 1");
    runs("CREATE TABLE t (i INT)");
    runs("UNLOCK TABLES");
    runs("BEGIN");
    assert_free();
}

static void one_pin_ends_without_the_others(void **state)
{
    (void)state;
    runs("CREATE TEMPORARY TABLE t (i INT)");
    runs("PREPARE t FROM 'SELECT 1'");
    runs("HANDLER t OPEN");
    runs("SELECT GET_LOCK('t', 0)");
    runs("LOCK TABLES t READ");
    assert_pins(PIN_TEMPORARY_TABLE | PIN_TEXT_PREPARE | PIN_HANDLER | PIN_NAMED_LOCK |
                PIN_TABLE_LOCK);
    runs("UNLOCK TABLES");
    runs("DEALLOCATE PREPARE t");
    assert_pins(PIN_TEMPORARY_TABLE | PIN_HANDLER | PIN_NAMED_LOCK);
    runs("HANDLER t CLOSE");
    answer_none();
    assert_pins(PIN_TEMPORARY_TABLE);
    runs("DROP TABLE t");
    assert_free();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_dropped_temporary_table_is_over),
        TEST(each_temporary_table_counts),
        TEST(another_case_or_schema_is_another_table),
        TEST(what_failed_neither_begins_nor_ends_a_temporary_table),
        TEST(dropping_what_is_not_there_begins_nothing),
        TEST(temporary_things_that_cannot_be_read_last),
        TEST(the_first_of_two_statements_may_have_made_it_before_the_second_failed),
        TEST(a_renamed_temporary_table_lasts),
        TEST(renaming_without_temporary_tables_begins_nothing),
        TEST(what_execute_makes_lasts),
        TEST(what_execute_drops_may_be_renamed),
        TEST(more_names_than_are_counted_last),
        TEST(names_of_any_length_are_taken),
        TEST(a_closed_handler_is_over),
        TEST(a_handler_that_did_not_open_begins_nothing),
        TEST(handlers_that_cannot_be_read_last),
        TEST(a_deallocated_statement_is_over),
        TEST(a_failed_prepare_leaves_what_was_counted),
        TEST(execute_does_what_its_literal_says),
        TEST(what_is_not_known_may_do_anything),
        TEST(a_name_that_cannot_be_compared_may_have_replaced_any),
        TEST(execute_immediate_leaves_no_statement),
        TEST(unlock_tables_ends_table_locks),
        TEST(a_table_lock_that_was_not_had_begins_nothing),
        TEST(begin_ends_lock_tables_but_no_global_lock),
        TEST(the_tracker_is_believed_on_mariadb_alone),
        TEST(a_tracker_that_never_told_of_the_lock_ends_nothing),
        TEST(locks_for_backup_end_by_their_own_words),
        TEST(table_locks_that_cannot_be_read_last),
        TEST(the_server_is_asked_for_the_known_names),
        TEST(nothing_held_frees_everything),
        TEST(a_failed_statement_may_have_taken_its_lock),
        TEST(looking_at_locks_begins_nothing_and_asks_nothing),
        TEST(a_name_that_is_no_literal_lasts),
        TEST(what_is_released_may_be_any_expression),
        TEST(what_execute_locks_is_not_in_its_text),
        TEST(release_all_locks_is_done_again_and_ends_unknown_names_too),
        TEST(release_all_locks_that_may_not_have_run_is_not_done_again),
        TEST(locks_of_plugins_are_not_released_with_all),
        TEST(names_that_no_lock_can_have_are_not_asked_for),
        TEST(a_question_that_does_not_fit_is_not_asked),
        TEST(xa_is_over_when_no_transaction_is_left),
        TEST(a_prepared_xa_transaction_of_mariadb_lasts_to_its_end),
        TEST(xa_that_did_not_start_begins_nothing),
        TEST(xa_among_other_statements_lasts),
        TEST(statements_about_other_things_change_nothing),
        TEST(one_pin_ends_without_the_others),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
