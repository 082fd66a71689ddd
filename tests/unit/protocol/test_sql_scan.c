/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/sql_scan.h: one table of statements with what must be told of them. Each row is fed
 * whole, cut in two at every byte, and byte by byte: all must agree. The groups are named for whom
 * the rule protects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include "protocol/sql_scan.h"
#include "protocol/sql_word.h"

struct row {
    const char *text;
    enum sql_kind kind;
    uint32_t flags;
    uint32_t kinds; /* 0: that of kind alone */
    uint32_t mode;
};

enum {
    ANSI = SQL_MODE_ANSI_QUOTES,
    NO_ESC = SQL_MODE_NO_BACKSLASH_ESCAPES,
    MARIADB = SQL_MODE_MARIADB,
    GBK = SQL_MODE_MULTIBYTE_UNSAFE,
    ISPACE = SQL_MODE_IGNORE_SPACE,
};

#define K(kind) (1u << SQL_##kind)
#define F(flag) ((uint32_t)SQL_F_##flag)

static struct sql_scan scan_two(const char *text, size_t len, size_t cut, uint32_t mode)
{
    struct sql_scan s;
    /* Exact copies, so that the sanitizer sees a read beyond a piece. */
    uint8_t *a = malloc(cut + 1);
    uint8_t *b = malloc(len - cut + 1);
    a = memcpy(realloc(a, cut ? cut : 1), text, cut);
    b = memcpy(realloc(b, len - cut ? len - cut : 1), text + cut, len - cut);
    sql_scan_begin(&s, mode);
    sql_scan_feed(&s, bytes_of(a, cut));
    sql_scan_feed(&s, bytes_of(b, len - cut));
    sql_scan_end(&s);
    free(a);
    free(b);
    return s;
}

static struct sql_scan scan_bytewise(const char *text, size_t len, uint32_t mode)
{
    struct sql_scan s;
    sql_scan_begin(&s, mode);
    for (size_t i = 0; i < len; i++) {
        uint8_t one = (uint8_t)text[i];
        sql_scan_feed(&s, bytes_of(&one, 1));
    }
    sql_scan_end(&s);
    return s;
}

static bool differ(const struct sql_scan *a, const struct sql_scan *b)
{
    return a->kind != b->kind || a->flags != b->flags || a->kinds != b->kinds ||
           a->kill_id != b->kill_id || a->kill_query != b->kill_query ||
           strcmp(a->names_charset, b->names_charset) != 0 ||
           strcmp(a->names_collation, b->names_collation) != 0;
}

static int check_row(const struct row *r)
{
    size_t len = strlen(r->text);
    int bad = 0;
    struct sql_scan whole = scan_two(r->text, len, len, r->mode);
    uint32_t kinds = r->kinds != 0 ? r->kinds : 1u << r->kind;
    if (whole.kind != r->kind || whole.flags != r->flags || whole.kinds != kinds) {
        print_error("%s\n    kind %d flags %#x kinds %#x; wanted %d %#x %#x\n", r->text, whole.kind,
                    whole.flags, whole.kinds, r->kind, r->flags, kinds);
        bad++;
    }
    for (size_t cut = 0; cut < len; cut++) {
        struct sql_scan two = scan_two(r->text, len, cut, r->mode);
        if (differ(&whole, &two)) {
            print_error("%s\n    cut at %zu gives another answer\n", r->text, cut);
            bad++;
        }
    }
    struct sql_scan bytewise = scan_bytewise(r->text, len, r->mode);
    if (differ(&whole, &bytewise)) {
        print_error("%s\n    byte by byte gives another answer\n", r->text);
        bad++;
    }
    return bad;
}

static void check_rows(const struct row *rows, size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad += check_row(&rows[i]);
    assert_int_equal(bad, 0);
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void the_first_words_tell_the_kind(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", SQL_EMPTY, 0, 0, 0},
        {"  \t\r\n ", SQL_EMPTY, 0, 0, 0},
        {"-- nothing", SQL_EMPTY, 0, 0, 0},
        {"--", SQL_EMPTY, 0, 0, 0},
        {"# nothing\n", SQL_EMPTY, 0, 0, 0},
        {"/* nothing */ ;; ", SQL_EMPTY, 0, 0, 0},
        {"SELECT 1", SQL_SELECT, 0, 0, 0},
        {"sElEcT 1;", SQL_SELECT, 0, 0, 0},
        {"/* c */ -- d\n# e\nselect 1", SQL_SELECT, 0, 0, 0},
        {"(SELECT 1) UNION (SELECT 2)", SQL_SELECT, 0, 0, 0},
        {"((SELECT 1))", SQL_SELECT, 0, 0, 0},
        {"(WITH a AS (SELECT 1) SELECT * FROM a)", SQL_SELECT, 0, 0, 0},
        {"TABLE t ORDER BY a LIMIT 3", SQL_SELECT, 0, 0, 0},
        {"VALUES ROW(1,2), ROW(3,4)", SQL_SELECT, 0, 0, 0},
        {"VALUES (1,2),(3,4)", SQL_SELECT, 0, 0, MARIADB},
        {"WITH a AS (SELECT 1) SELECT * FROM a", SQL_SELECT, 0, 0, 0},
        {"WITH RECURSIVE a (n) AS (SELECT 1 UNION ALL SELECT n+1 FROM a WHERE n<9) SELECT n FROM a",
         SQL_SELECT, 0, 0, 0},
        {"WITH a (x, y) AS (SELECT 1,2), b (z) AS (SELECT 3) SELECT * FROM a, b", SQL_SELECT, 0, 0,
         0},
        {"WITH a AS (SELECT 1) UPDATE t JOIN a SET t.x=1", SQL_DML, 0, 0, 0},
        {"WITH a AS (SELECT 1) DELETE FROM t WHERE x IN (SELECT * FROM a)", SQL_DML, 0, 0, 0},
        {"WITH a AS (SELECT 1) (SELECT * FROM a) FOR UPDATE", SQL_SELECT, F(FOR_UPDATE), 0, 0},
        {"INSERT INTO t VALUES (1)", SQL_DML, 0, 0, 0},
        {"REPLACE t SET a=1", SQL_DML, 0, 0, 0},
        {"UPDATE t SET a=1", SQL_DML, 0, 0, 0},
        {"DELETE FROM t", SQL_DML, 0, 0, 0},
        {"LOAD DATA INFILE 'f' INTO TABLE t", SQL_DML, 0, 0, 0},
        {"LOAD DATA LOCAL INFILE 'f' INTO TABLE t", SQL_DML, F(LOCAL_INFILE), 0, 0},
        {"LOAD DATA CONCURRENT LOCAL INFILE 'f' INTO TABLE t (a, b)", SQL_DML, F(LOCAL_INFILE), 0,
         0},
        {"/*c*/LOAD  XML\nLOW_PRIORITY LOCAL INFILE 'f' INTO TABLE t", SQL_DML, F(LOCAL_INFILE), 0,
         0},
        {"LOAD DATA INFILE 'f' INTO TABLE local", SQL_DML, 0, 0, 0},
        {"LOAD INDEX INTO CACHE t", SQL_OTHER, 0, 0, 0},
        {"CREATE TABLE t (a INT)", SQL_DDL, 0, 0, 0},
        {"ALTER TABLE t ADD COLUMN b VARCHAR(20) DEFAULT ''", SQL_DDL, 0, 0, 0},
        {"DROP TABLE IF EXISTS t", SQL_DDL, 0, 0, 0},
        {"RENAME TABLE a TO b", SQL_DDL, 0, 0, 0},
        {"TRUNCATE t", SQL_DDL, 0, 0, 0},
        {"GRANT SELECT (a, b), INSERT ON d.t TO 'u'@'h'", SQL_DDL, 0, 0, 0},
        {"REVOKE ALL ON *.* FROM u@localhost", SQL_DDL, 0, 0, 0},
        {"ANALYZE TABLE t PERSISTENT FOR COLUMNS (a) INDEXES (b)", SQL_DDL, 0, 0, MARIADB},
        {"ANALYZE LOCAL TABLE t", SQL_DDL, 0, 0, 0},
        {"OPTIMIZE TABLE t", SQL_DDL, 0, 0, 0},
        {"CHECK TABLE t", SQL_DDL, 0, 0, 0},
        {"REPAIR TABLE t", SQL_DDL, 0, 0, 0},
        {"CHECKSUM TABLE t", SQL_DDL, 0, 0, 0},
        {"CREATE DATABASE d", SQL_DDL, F(DATABASE_DDL), 0, 0},
        {"CREATE OR REPLACE SCHEMA d", SQL_DDL, F(DATABASE_DDL), 0, MARIADB},
        {"ALTER DATABASE CHARACTER SET utf8mb4", SQL_DDL, F(DATABASE_DDL), 0, 0},
        {"DROP SCHEMA IF EXISTS d", SQL_DDL, F(DATABASE_DDL), 0, 0},
        {"CREATE TABLE `database` (a INT)", SQL_DDL, 0, 0, 0},
        {"SHOW TABLES LIKE 'wp\\_%'", SQL_SHOW, 0, 0, 0},
        {"SHOW FULL COLUMNS FROM `wp_options`", SQL_SHOW, 0, 0, 0},
        {"SHOW SESSION VARIABLES LIKE 'sql_mode'", SQL_SHOW, F(SYSTEM_VARIABLE), 0, 0},
        {"SHOW EXPLAIN FOR 5", SQL_SHOW, F(CONNECTION_ID), 0, MARIADB},
        {"SHOW GRANTS FOR 'u'@'h'", SQL_SHOW, 0, 0, 0},
        {"SHOW GRANTS FOR u@localhost", SQL_SHOW, 0, 0, 0},
        {"SHOW CREATE USER `u`@`%`", SQL_SHOW, 0, 0, 0},
        {"SHOW TABLES WHERE Tables_in_d = @x", SQL_SHOW, F(USER_VARIABLE), 0, 0},
        {"DESCRIBE t", SQL_SHOW, 0, 0, 0},
        {"desc t 'a%'", SQL_SHOW, 0, 0, 0},
        {"EXPLAIN SELECT 1", SQL_SHOW, 0, 0, 0},
        {"EXPLAIN FORMAT=JSON SELECT GET_LOCK('a',1)", SQL_SHOW, F(NAMED_LOCK), 0, 0},
        {"EXPLAIN UPDATE t SET a=1", SQL_SHOW, 0, 0, 0},
        {"EXPLAIN ANALYZE SELECT 1", SQL_SHOW, 0, 0, 0},
        {"EXPLAIN ANALYZE DELETE FROM t", SQL_SHOW, 0, K(SHOW) | K(DML), 0},
        {"EXPLAIN FOR CONNECTION 5", SQL_SHOW, F(CONNECTION_ID), 0, 0},
        {"ANALYZE FORMAT=JSON SELECT f()", SQL_SHOW, F(UNKNOWN_FUNCTION), 0, MARIADB},
        {"ANALYZE UPDATE t SET a=@x", SQL_SHOW, F(USER_VARIABLE), K(SHOW) | K(DML), MARIADB},
        {"HELP 'x'", SQL_SHOW, 0, 0, 0},
        {"BEGIN", SQL_BEGIN, 0, 0, 0},
        {"begin work;", SQL_BEGIN, 0, 0, 0},
        {"START TRANSACTION", SQL_BEGIN, 0, 0, 0},
        {"START TRANSACTION READ ONLY", SQL_BEGIN, 0, 0, 0},
        {"START TRANSACTION WITH CONSISTENT SNAPSHOT", SQL_BEGIN, F(CONSISTENT_SNAPSHOT), 0, 0},
        {"BEGIN NOT ATOMIC SELECT 1; END", SQL_OTHER, F(MULTI), K(OTHER), MARIADB},
        {"START SLAVE", SQL_OTHER, 0, 0, 0},
        {"START REPLICA", SQL_OTHER, 0, 0, 0},
        {"COMMIT", SQL_COMMIT, 0, 0, 0},
        {"COMMIT ", SQL_COMMIT, 0, 0, 0},
        {"COMMIT WORK AND CHAIN", SQL_COMMIT, F(CHAIN), 0, 0},
        {"COMMIT AND NO CHAIN RELEASE", SQL_COMMIT, F(RELEASE), 0, 0},
        {"COMMIT NO RELEASE", SQL_COMMIT, 0, 0, 0},
        {"ROLLBACK", SQL_ROLLBACK, 0, 0, 0},
        {"ROLLBACK RELEASE", SQL_ROLLBACK, F(RELEASE), 0, 0},
        {"ROLLBACK TO SAVEPOINT chain", SQL_ROLLBACK, 0, 0, 0},
        {"SAVEPOINT trans2", SQL_SAVEPOINT, 0, 0, 0},
        {"RELEASE SAVEPOINT a", SQL_SAVEPOINT, 0, 0, 0},
        {"RELEASE x", SQL_OTHER, 0, 0, 0},
        {"USE app", SQL_USE, F(USE_ONLY), 0, 0},
        {"use `my app`;", SQL_USE, F(USE_ONLY), 0, 0},
        {"USE app; SELECT 1", SQL_USE, F(MULTI), K(USE) | K(SELECT), 0},
        {"USE", SQL_USE, 0, 0, 0},
        {"USE a b", SQL_USE, 0, 0, 0},
        {"USE /*!40000 app */", SQL_USE, F(EXECUTABLE_COMMENT), K(USE), 0},
        {"DO SLEEP(1)", SQL_DO, 0, 0, 0},
        {"CALL p(1, f(2))", SQL_CALL, F(UNKNOWN_FUNCTION), 0, 0},
        {"CALL d.p(1, CONCAT('a'))", SQL_CALL, 0, 0, 0},
        {"CALL p", SQL_CALL, 0, 0, 0},
        {"CALL p(@out)", SQL_CALL, F(USER_VARIABLE), 0, 0},
        {"KILL 5", SQL_KILL, 0, 0, 0},
        {"KILL CONNECTION_ID()", SQL_KILL, F(CONNECTION_ID), 0, 0},
        {"LOCK TABLES t READ, u WRITE", SQL_LOCK_TABLES, 0, 0, 0},
        {"LOCK TABLE t WRITE", SQL_LOCK_TABLES, 0, 0, 0},
        {"LOCK INSTANCE FOR BACKUP", SQL_LOCK_TABLES, 0, 0, 0},
        {"BACKUP STAGE START", SQL_LOCK_TABLES, 0, 0, MARIADB},
        {"BACKUP LOCK t", SQL_LOCK_TABLES, 0, 0, MARIADB},
        {"BACKUP UNLOCK", SQL_UNLOCK_TABLES, 0, 0, MARIADB},
        {"UNLOCK TABLES", SQL_UNLOCK_TABLES, 0, 0, 0},
        {"FLUSH PRIVILEGES", SQL_FLUSH, 0, 0, 0},
        {"FLUSH TABLES", SQL_FLUSH, 0, 0, 0},
        {"FLUSH RELAY LOGS FOR CHANNEL 'x'", SQL_FLUSH, 0, 0, 0},
        {"FLUSH TABLES WITH READ LOCK", SQL_LOCK_TABLES, 0, 0, 0},
        {"FLUSH LOCAL TABLES a, b WITH READ LOCK", SQL_LOCK_TABLES, 0, 0, 0},
        {"FLUSH TABLES a FOR EXPORT", SQL_LOCK_TABLES, 0, 0, 0},
        {"HANDLER t OPEN", SQL_HANDLER, 0, 0, 0},
        {"PREPARE s FROM 'SELECT 1'", SQL_PREPARE, 0, 0, 0},
        {"EXECUTE s USING @a", SQL_PREPARE, F(USER_VARIABLE), 0, 0},
        {"EXECUTE IMMEDIATE 'SELECT 1'", SQL_PREPARE, 0, 0, MARIADB},
        {"DEALLOCATE PREPARE s", SQL_PREPARE, 0, 0, 0},
        {"DROP PREPARE s", SQL_PREPARE, 0, 0, 0},
        {"XA START 'x'", SQL_XA, 0, 0, 0},
        {"SHOW WARNINGS", SQL_DIAGNOSTICS, F(LAST_STATE), 0, 0},
        {"SHOW  ERRORS LIMIT 1", SQL_DIAGNOSTICS, F(LAST_STATE), 0, 0},
        {"SHOW COUNT(*) WARNINGS", SQL_DIAGNOSTICS, F(LAST_STATE), 0, 0},
        {"/* x */ show/**/warnings", SQL_DIAGNOSTICS, F(LAST_STATE), 0, 0},
        {"GET DIAGNOSTICS @n = NUMBER", SQL_DIAGNOSTICS, F(LAST_STATE) | F(USER_VARIABLE), 0, 0},
        {"GET CURRENT DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT", SQL_DIAGNOSTICS,
         F(LAST_STATE) | F(USER_VARIABLE), 0, 0},
        {"GET x", SQL_OTHER, 0, 0, 0},
        {"SIGNAL SQLSTATE '45000'", SQL_OTHER, 0, 0, 0},
        {"INSTALL PLUGIN p SONAME 'x'", SQL_OTHER, 0, 0, 0},
        {"SHUTDOWN", SQL_OTHER, 0, 0, 0},
        {"RESET QUERY CACHE", SQL_OTHER, 0, 0, 0},
        {"'select'", SQL_OTHER, 0, 0, 0},
        {"(", SQL_OTHER, 0, 0, 0},
        {"1", SQL_OTHER, 0, 0, 0},
        {"selectx 1", SQL_OTHER, 0, 0, 0},
        {"`select` 1", SQL_OTHER, 0, 0, 0},
    };
    CHECK(rows);
}

static void temporary_tables_are_seen_in_every_dress(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"CREATE TEMPORARY TABLE t (a INT)", SQL_TEMPORARY, 0, 0, 0},
        {" /* c */ create\ttemporary\ntable t select 1", SQL_TEMPORARY, 0, 0, 0},
        {"-- lead\nCREATE OR REPLACE TEMPORARY TABLE t (a INT)", SQL_TEMPORARY, 0, 0, MARIADB},
        {"CREATE /*!99 x*/ TEMPORARY TABLE t (a INT)", SQL_TEMPORARY, F(EXECUTABLE_COMMENT), 0, 0},
        {"CREATE /*!32302 TEMPORARY */ TABLE t (a INT)", SQL_TEMPORARY, F(EXECUTABLE_COMMENT), 0,
         0},
        {"/*! CREATE TEMPORARY */ TABLE t (a INT)", SQL_TEMPORARY, F(EXECUTABLE_COMMENT),
         K(TEMPORARY) | K(OTHER), 0},
        {"/*!CREATE TEMPORARY TABLE t (a INT)*/", SQL_TEMPORARY, F(EXECUTABLE_COMMENT), 0, 0},
        {"/*M! CREATE TEMPORARY TABLE t (a INT)*/", SQL_TEMPORARY, F(EXECUTABLE_COMMENT), 0,
         MARIADB},
        {"/*M!100100 CREATE TEMPORARY TABLE t (a INT)*/", SQL_TEMPORARY, F(EXECUTABLE_COMMENT), 0,
         MARIADB},
        {"/*M! CREATE TEMPORARY TABLE t (a INT)*/", SQL_EMPTY, 0, 0, 0},
        {"/*M CREATE TEMPORARY TABLE t */", SQL_EMPTY, 0, 0, MARIADB},
        {"CREATE TEMPORARY SEQUENCE s", SQL_TEMPORARY, 0, 0, MARIADB},
        {"DROP TEMPORARY TABLE IF EXISTS t", SQL_TEMPORARY, 0, 0, 0},
        {"DROP /* x */ TEMPORARY TABLE t", SQL_TEMPORARY, 0, 0, 0},
        {"CREATE TABLE temporary (a INT)", SQL_DDL, 0, 0, 0},
        {"CREATE TABLE `t` (temporary INT)", SQL_DDL, 0, 0, 0},
        {"SELECT 1; CREATE TEMPORARY TABLE t (a INT)", SQL_SELECT, F(MULTI),
         K(SELECT) | K(TEMPORARY), 0},
        {"CREATE TEMPORARY TABLE t AS SELECT f(a), @b FROM u", SQL_TEMPORARY,
         F(UNKNOWN_FUNCTION) | F(USER_VARIABLE), 0, 0},
    };
    CHECK(rows);
}

static void variables_are_told_from_what_looks_like_them(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT @a", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT @a:=1", SQL_SELECT, F(USER_VARIABLE) | F(ASSIGNS), 0, 0},
        {"SELECT @'a b', 1", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT @`a``b`", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT @\"q\"", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT @a.b$c, f(1)", SQL_SELECT, F(USER_VARIABLE) | F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT @ a", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT 1 @", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT 'a'@b", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT 1 INTO @a", SQL_SELECT, F(USER_VARIABLE) | F(INTO), 0, 0},
        {"SELECT a INTO OUTFILE 'x' FROM t", SQL_SELECT, F(INTO), 0, 0},
        {"SELECT a INTO DUMPFILE 'x' FROM t", SQL_SELECT, F(INTO), 0, 0},
        {"DO @c:=1", SQL_DO, F(USER_VARIABLE) | F(ASSIGNS), 0, 0},
        {"UPDATE t SET a=(@n := @n + 1)", SQL_DML, F(USER_VARIABLE) | F(ASSIGNS), 0, 0},
        {"INSERT INTO t (a) VALUES (@x)", SQL_DML, F(USER_VARIABLE), 0, 0},
        {"LOAD DATA INFILE 'f' INTO TABLE t CHARACTER SET utf8 (a, @b) SET c=f(@b)", SQL_DML,
         F(USER_VARIABLE) | F(UNKNOWN_FUNCTION), 0, 0},
        {"LOAD DATA INFILE 'f' INTO TABLE t CHARACTER SET utf8 IGNORE 1 LINES (a, b)", SQL_DML, 0,
         0, 0},
        {"SELECT 'me@example.com'", SQL_SELECT, 0, 0, 0},
        {"SELECT \"me@example.com\"", SQL_SELECT, 0, 0, 0},
        {"SELECT `a@b` FROM `t@x`", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 -- @a", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 --@a", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT 1 # @a", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 /* @a := */ + 2", SQL_SELECT, 0, 0, 0},
        {"SELECT 'it''s @a' , 'x\\' @b'", SQL_SELECT, 0, 0, 0},
        {"SELECT 'x\\', @b, '", SQL_SELECT, 0, 0, 0},
        {"SELECT 'x\\', @b, ''", SQL_SELECT, F(USER_VARIABLE), 0, NO_ESC},
        {"SELECT \"x\\\" @b\"", SQL_SELECT, 0, 0, 0},
        {"SELECT \"x\\\", @b", SQL_SELECT, F(USER_VARIABLE), 0, ANSI},
        {"SELECT `x\\`, @b", SQL_SELECT, F(USER_VARIABLE), 0, 0},
        {"SELECT a:b", SQL_SELECT, 0, 0, 0},
        {"SELECT :name", SQL_SELECT, 0, 0, 0},
        {"SELECT @@autocommit", SQL_SELECT, F(SYSTEM_VARIABLE), 0, 0},
        {"SELECT @@SESSION.sql_mode", SQL_SELECT, F(SYSTEM_VARIABLE), 0, 0},
        {"SELECT @@`time_zone`, @@global.`x`", SQL_SELECT, F(SYSTEM_VARIABLE), 0, 0},
        {"SELECT @@hot.key_buffer_size", SQL_SELECT, F(SYSTEM_VARIABLE), 0, 0},
        {"SELECT @@session", SQL_SELECT, F(SYSTEM_VARIABLE), 0, 0},
        {"SELECT @@", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT @@ x", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT @@identity", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT @@session.identity", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT @@local.`last_insert_id`", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT @@LAST_INSERT_ID AS id", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT @@warning_count, @@session.error_count", SQL_SELECT, F(LAST_STATE), 0, 0},
        {"SELECT @@session_track_schema", SQL_SELECT, F(SYSTEM_VARIABLE) | F(TRACKERS), 0, 0},
        {"SELECT session_track_schema FROM t", SQL_SELECT, 0, 0, 0},
        {"SET a = 1, SESSION Session_Track_System_Variables = ''", SQL_SET,
         F(SYSTEM_VARIABLE) | F(TRACKERS), 0, 0},
        {"SET @@local.session_track_transaction_info := OFF", SQL_SET,
         F(SYSTEM_VARIABLE) | F(TRACKERS), 0, 0},
        {"SELECT @@pseudo_thread_id", SQL_SELECT, F(CONNECTION_ID), 0, 0},
    };
    CHECK(rows);
}

static void state_of_the_last_statement_is_seen(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT LAST_INSERT_ID()", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT LAST_INSERT_ID();", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"SELECT LAST_INSERT_ID() AS id", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"/* c */ select last_insert_id ( /* none */ ) from dual", SQL_SELECT, F(LAST_INSERT_ID), 0,
         0},
        {"SELECT LAST_INSERT_ID() LIMIT 1", SQL_SELECT, F(LAST_INSERT_ID), 0, 0},
        {"INSERT INTO t VALUES (LAST_INSERT_ID())", SQL_DML, F(LAST_INSERT_ID), 0, 0},
        {"UPDATE s SET id = LAST_INSERT_ID(id + 1)", SQL_DML, F(SETS_LAST_INSERT_ID), 0, 0},
        {"SELECT LAST_INSERT_ID(77)", SQL_SELECT, F(SETS_LAST_INSERT_ID), 0, 0},
        {"SELECT LAST_INSERT_ID(", SQL_SELECT, F(SETS_LAST_INSERT_ID), 0, 0},
        {"INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE id=LAST_INSERT_ID(id)", SQL_DML,
         F(SETS_LAST_INSERT_ID), 0, 0},
        {"SELECT last_insert_id FROM t", SQL_SELECT, 0, 0, 0},
        {"SELECT t.last_insert_id, 'LAST_INSERT_ID()' FROM t", SQL_SELECT, 0, 0, 0},
        {"SELECT ROW_COUNT()", SQL_SELECT, F(LAST_STATE), 0, 0},
        {"SELECT FOUND_ROWS()", SQL_SELECT, F(LAST_STATE), 0, 0},
        {"SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 3", SQL_SELECT, F(CALC_FOUND_ROWS), 0, 0},
        {"SELECT t.sql_calc_found_rows FROM t", SQL_SELECT, 0, 0, 0},
        {"SELECT CONNECTION_ID()", SQL_SELECT, F(CONNECTION_ID), 0, 0},
        {"SELECT PS_CURRENT_THREAD_ID()", SQL_SELECT, F(CONNECTION_ID), 0, 0},
    };
    CHECK(rows);
}

static void locks_and_foreign_functions_are_seen(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT GET_LOCK('a', 1)", SQL_SELECT, F(NAMED_LOCK), 0, 0},
        {"DO get_lock ('a', 1)", SQL_DO, F(NAMED_LOCK), 0, 0},
        {"DO GET_LOCK/**/('a', 1)", SQL_DO, F(NAMED_LOCK), 0, 0},
        {"SELECT RELEASE_LOCK('a'), RELEASE_ALL_LOCKS()", SQL_SELECT, F(NAMED_LOCK), 0, 0},
        {"SELECT IS_USED_LOCK('a'), IS_FREE_LOCK('b')", SQL_SELECT, F(NAMED_LOCK), 0, 0},
        {"SELECT service_get_write_locks('n','a',1)", SQL_SELECT,
         F(NAMED_LOCK) | F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t SELECT GET_LOCK('a',1)", SQL_DML, F(NAMED_LOCK), 0, 0},
        {"SET @x = GET_LOCK('a',1)", SQL_SET, F(NAMED_LOCK) | F(USER_VARIABLE), 0, 0},
        {"SELECT f_lock()", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT d.f(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT `f`(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT `d`.`f` (1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT d . concat('a')", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT d.get_lock('a',1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT sys.format_bytes(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT \"f\"(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, ANSI},
        {"SELECT * FROM t WHERE f(a) = 1", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"UPDATE t SET a=f(1)", SQL_DML, F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t SET a=f(1)", SQL_DML, F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t (a,b) VALUES (1,f(1))", SQL_DML, F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT t VALUE (f(1))", SQL_DML, F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t (a) SELECT f(1)", SQL_DML, F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t (a) WITH c (x) AS (SELECT 1) SELECT f(x) FROM c", SQL_DML,
         F(UNKNOWN_FUNCTION), 0, 0},
        {"INSERT INTO t (a) VALUES (1) RETURNING f(a)", SQL_DML, F(UNKNOWN_FUNCTION), 0, MARIADB},
        {"SELECT COUNT(*)", SQL_SELECT, 0, 0, 0},
        {"SELECT COUNT (*)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT COUNT (*)", SQL_SELECT, 0, 0, ISPACE},
        {"SELECT NOW/**/()", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT CONCAT ('a')", SQL_SELECT, 0, 0, 0},
        {"SELECT NVL(a, b) FROM t", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT NVL(a, b) FROM t", SQL_SELECT, 0, 0, MARIADB},
        {"SELECT UUID_TO_BIN(UUID())", SQL_SELECT, 0, 0, 0},
        {"SELECT UUID_TO_BIN(UUID())", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, MARIADB},
        {"SELECT uuid_v4()", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT NEXTVAL(s)", SQL_SELECT, F(SEQUENCE), 0, MARIADB},
        {"SELECT NEXTVAL(s)", SQL_SELECT, F(SEQUENCE) | F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT NEXT VALUE FOR s", SQL_SELECT, F(SEQUENCE), 0, MARIADB},
        {"SELECT PREVIOUS VALUE FOR s", SQL_SELECT, F(SEQUENCE) | F(SEQUENCE_LAST), 0, MARIADB},
        {"SELECT s.nextval", SQL_SELECT, F(SEQUENCE), 0, MARIADB},
        {"SELECT s.currval", SQL_SELECT, F(SEQUENCE) | F(SEQUENCE_LAST), 0, MARIADB},
        {"SELECT SETVAL(s, 4), LASTVAL(s)", SQL_SELECT, F(SEQUENCE) | F(SEQUENCE_LAST), 0, MARIADB},
        {"SELECT LASTVAL(s)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT a /*!99999 x*/ (1)", SQL_SELECT, F(EXECUTABLE_COMMENT) | F(UNKNOWN_FUNCTION), 0,
         0},
        {"SELECT 1, /*!99999 1 AS */ f(1)", SQL_SELECT, F(EXECUTABLE_COMMENT) | F(UNKNOWN_FUNCTION),
         0, 0},
        {"CREATE TABLE t AS SELECT @a:=1", SQL_DDL, F(USER_VARIABLE) | F(ASSIGNS), 0, 0},
        {"CREATE TABLE t (a INT) SELECT f(1) AS a", SQL_DDL, F(UNKNOWN_FUNCTION), 0, 0},
        {"CREATE TABLE t AS VALUES (f(1))", SQL_DDL, F(UNKNOWN_FUNCTION), 0, MARIADB},
        {"CREATE TABLE t VALUES ROW(f(1))", SQL_DDL, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT a FROM t GROUP BY a WITH ROLLUP HAVING f(a)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0,
         0},
        {"WITH a (x) AS (SELECT f(1)), b AS (SELECT g(2)) SELECT 1", SQL_SELECT,
         F(UNKNOWN_FUNCTION), 0, 0},
        {"WITH a AS (SELECT 1) SELECT 1, f(2)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT a FROM t ORDER BY a, f(a)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT minus(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, MARIADB},
        {"SELECT of(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, MARIADB},
    };
    CHECK(rows);
}

static void lists_of_names_are_not_calls(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"INSERT INTO t (a, b) VALUES (1, 2), (3, 4)", SQL_DML, 0, 0, 0},
        {"INSERT INTO d.t(a) VALUES(1)", SQL_DML, 0, 0, 0},
        {"INSERT INTO `t`(`a`) VALUES(1)", SQL_DML, 0, 0, 0},
        {"INSERT IGNORE t(a) VALUES(1)", SQL_DML, 0, 0, 0},
        {"REPLACE LOW_PRIORITY INTO t(a) SELECT b FROM u", SQL_DML, 0, 0, 0},
        {"INSERT INTO t PARTITION (p0) (a) VALUES (1)", SQL_DML, 0, 0, 0},
        {"INSERT INTO t (a) VALUES (1) AS n (x) ON DUPLICATE KEY UPDATE a=n.x", SQL_DML, 0, 0, 0},
        {"INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a=VALUES(a), b=VALUES (b)", SQL_DML,
         0, 0, 0},
        {"SELECT a FROM t USE INDEX (i), u FORCE KEY FOR JOIN (j) WHERE a IN (1,2) AND (b) OR NOT "
         "(c)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT a FROM t JOIN u USING (a) LEFT JOIN (v) ON (a=b) WHERE EXISTS (SELECT 1)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT a FROM (SELECT 1, 2) AS d (x, y)", SQL_SELECT, 0, 0, 0},
        {"SELECT a FROM (SELECT 1, 2) d (x, y)", SQL_SELECT, 0, 0, 0},
        {"SELECT CAST(a AS CHAR(10)), CAST(b AS DECIMAL(10,2)), CAST(c AS DATETIME(6)), "
         "CONVERT(d, BINARY(3)), CONVERT(e USING utf8mb4)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT RANK() OVER (PARTITION BY a ORDER BY b), SUM(x) OVER w FROM t WINDOW w AS (ORDER "
         "BY c)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT MATCH (a, b) AGAINST ('x' IN BOOLEAN MODE) FROM t", SQL_SELECT, 0, 0, 0},
        {"SELECT MATCH(a) AGAINST('x' WITH QUERY EXPANSION)", SQL_SELECT, 0, 0, MARIADB},
        {"SELECT CASE WHEN (a) THEN (b) ELSE (c) END, CASE (a) WHEN 1 THEN 2 END", SQL_SELECT, 0, 0,
         0},
        {"SELECT a = ANY (SELECT 1), b > ALL (SELECT 2), c <> SOME (SELECT 3)", SQL_SELECT, 0, 0,
         0},
        {"SELECT DISTINCT(a), b BETWEEN (1) AND (2), c LIKE (d), e DIV (f), g MOD (h), i XOR (j)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT a REGEXP ('x'), b RLIKE ('y'), BINARY ('z'), INTERVAL(1, 2), c + INTERVAL (1) DAY",
         SQL_SELECT, 0, 0, 0},
        {"SELECT 1 UNION (SELECT 2) EXCEPT (SELECT 3) INTERSECT (SELECT 4)", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 MEMBER OF('[1]')", SQL_SELECT, 0, 0, 0},
        {"SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (a VARCHAR(10) PATH '$.a', NESTED PATH "
         "'$.b' "
         "COLUMNS (c INT PATH '$'))) AS jt",
         SQL_SELECT, 0, 0, 0},
        {"SELECT a FROM t, LATERAL (SELECT 1) AS x (y)", SQL_SELECT, 0, 0, 0},
        {"SELECT a FROM t LIMIT 10 OFFSET 5", SQL_SELECT, 0, 0, 0},
        {"SELECT GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ', ') FROM t GROUP BY (c)",
         SQL_SELECT, 0, 0, 0},
        {"DELETE FROM t WHERE (a, b) IN ((1,2),(3,4))", SQL_DML, 0, 0, 0},
        {"UPDATE t PARTITION (p0, p1) SET a=IF(b, 1, 2)", SQL_DML, 0, 0, 0},
        {"UPDATE (t JOIN u) SET a=1", SQL_DML, 0, 0, 0},
        {"SELECT N'x', _utf8mb4'y', x'41', b'01', 0x41, 0b01, X'', .5, 1., 1.5e10, 1e-3, 1e5",
         SQL_SELECT, 0, 0, 0},
        {"SELECT DATE '2020-01-01', TIMESTAMP'2020-01-01 00:00:00', {d '2020-01-01'}", SQL_SELECT,
         0, 0, 0},
        {"CREATE TABLE IF NOT EXISTS d.t (id BIGINT(20) unsigned NOT NULL auto_increment, a "
         "varchar(20) "
         "default CURRENT_TIMESTAMP(), e ENUM('a','b'), PRIMARY KEY (id), KEY name_key (a(10)), "
         "UNIQUE "
         "KEY `u` (`a`), CONSTRAINT fk FOREIGN KEY (a) REFERENCES u (id), CHECK (foo(a) > 1)) "
         "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS "
         "THAN "
         "(10))",
         SQL_DDL, 0, 0, 0},
        {"CREATE UNIQUE INDEX i ON t (a(10), b)", SQL_DDL, 0, 0, 0},
        {"ALTER TABLE t ADD INDEX i (a), ADD c INT GENERATED ALWAYS AS (f(a)) STORED", SQL_DDL, 0,
         0, 0},
    };
    CHECK(rows);
}

static void accounts_and_stored_programs_do_not_pin(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"CREATE USER 'u'@'h' IDENTIFIED BY 'x'", SQL_DDL, 0, 0, 0},
        {"ALTER USER u@localhost ACCOUNT LOCK", SQL_DDL, 0, 0, 0},
        {"DROP USER 'u' @ 'h'", SQL_DDL, 0, 0, 0},
        {"RENAME USER 'a'@'h' TO 'b'@'h'", SQL_DDL, 0, 0, 0},
        {"GRANT EXECUTE ON FUNCTION d.f TO `u`@`%` WITH GRANT OPTION", SQL_DDL, 0, 0, 0},
        {"CREATE DEFINER=`root`@`localhost` VIEW v (a, b) AS SELECT f(1), g(2)", SQL_DDL, 0, 0, 0},
        {"CREATE OR REPLACE ALGORITHM=MERGE DEFINER = u@h SQL SECURITY INVOKER VIEW v AS SELECT "
         "f(1)",
         SQL_DDL, 0, 0, 0},
        {"ALTER VIEW v AS SELECT f(1)", SQL_DDL, 0, 0, 0},
        {"CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN GET_LOCK('a', 1)", SQL_DDL, 0, 0, 0},
        {"CREATE PROCEDURE p() SET @a = LAST_INSERT_ID()", SQL_DDL, 0, 0, 0},
        {"CREATE PROCEDURE p(IN a INT) BEGIN DECLARE x INT; IF a THEN SET @b = f(1); END IF; "
         "SELECT CASE a WHEN 1 THEN 2 END; CASE a WHEN 1 THEN SELECT 1; END CASE; END",
         SQL_DDL, 0, 0, 0},
        {"CREATE PROCEDURE p() BEGIN SELECT 1; END; SELECT GET_LOCK('a',1)", SQL_DDL,
         F(MULTI) | F(NAMED_LOCK), K(DDL) | K(SELECT), 0},
        {"CREATE PROCEDURE p() BEGIN SELECT begin FROM t; END; SELECT GET_LOCK('a',1)", SQL_DDL,
         F(OPAQUE), 0, 0},
        {"CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN WHILE 1 DO SET NEW.a = f(1); END "
         "WHILE; "
         "END",
         SQL_DDL, 0, 0, 0},
        {"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO CALL p(@a)", SQL_DDL, 0, 0, 0},
        {"CREATE VIEW v AS SELECT 1; SELECT @a", SQL_DDL, F(MULTI) | F(USER_VARIABLE),
         K(DDL) | K(SELECT), 0},
        {"DROP FUNCTION f; SELECT f()", SQL_DDL, F(MULTI) | F(UNKNOWN_FUNCTION), K(DDL) | K(SELECT),
         0},
        {"SET PASSWORD FOR 'u'@'h' = 'x'", SQL_SET, F(SET_PASSWORD), 0, 0},
        {"SET DEFAULT ROLE r TO u@h", SQL_SET, F(SET_ROLE), 0, 0},
        {"SET ROLE 'r'@'h'", SQL_SET, F(SET_ROLE), 0, 0},
    };
    CHECK(rows);
}

static void set_is_taken_apart(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SET NAMES utf8mb4", SQL_SET, F(SET_ONLY_NAMES), 0, 0},
        {"set names 'utf8mb4' collate 'utf8mb4_unicode_ci' ;", SQL_SET, F(SET_ONLY_NAMES), 0, 0},
        {"SET NAMES \"latin1\"", SQL_SET, F(SET_ONLY_NAMES), 0, 0},
        {"SET NAMES DEFAULT", SQL_SET, F(SET_ONLY_NAMES), 0, 0},
        {"SET NAMES utf8mb4 /* c */ -- d", SQL_SET, F(SET_ONLY_NAMES), 0, 0},
        {"SET NAMES utf8mb4, time_zone='+00:00'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET a=1, NAMES utf8", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES utf8; SELECT 1", SQL_SET, F(SYSTEM_VARIABLE) | F(MULTI), K(SET) | K(SELECT), 0},
        {"SELECT 1; SET NAMES utf8", SQL_SELECT, F(SYSTEM_VARIABLE) | F(MULTI), K(SET) | K(SELECT),
         0},
        {"SET NAMES", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES utf8 COLLATE", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES utf8 x", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES 'a\\'b'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES 'a''b'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES N'utf8'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES @@character_set_client", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg", SQL_SET,
         F(SYSTEM_VARIABLE), 0, 0},
        {"/*!40101 SET NAMES utf8 */;", SQL_SET, F(SYSTEM_VARIABLE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SET CHARACTER SET utf8", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET CHARSET 'utf8'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET time_zone = '+00:00'", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET SESSION sql_mode='a,b', autocommit=0", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET sql_mode := ''", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET @a=1", SQL_SET, F(USER_VARIABLE), 0, 0},
        {"SET @a := 1, b = 2", SQL_SET, F(USER_VARIABLE) | F(SYSTEM_VARIABLE), 0, 0},
        {"SET time_zone = @tz", SQL_SET, F(USER_VARIABLE) | F(SYSTEM_VARIABLE), 0, 0},
        {"SET @@sql_mode = ''", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET @@session.time_zone = 'x', @@global.y = 1", SQL_SET,
         F(SYSTEM_VARIABLE) | F(SET_GLOBAL), 0, 0},
        {"SET a = @@global.b", SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
        {"SET GLOBAL max_connections = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SET_GLOBAL), 0, 0},
        {"SET PERSIST max_connections = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SET_GLOBAL), 0, 0},
        {"SET @@persist_only.x = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SET_GLOBAL), 0, 0},
        {"SET last_insert_id = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SETS_LAST_INSERT_ID), 0, 0},
        {"SET `last_insert_id` = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SETS_LAST_INSERT_ID), 0, 0},
        {"SET a=1, @@session.identity = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(SETS_LAST_INSERT_ID), 0,
         0},
        {"SET pseudo_thread_id = 5", SQL_SET, F(SYSTEM_VARIABLE) | F(CONNECTION_ID), 0, 0},
        {"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", SQL_SET, F(SET_TRANSACTION), 0, 0},
        {"SET SESSION TRANSACTION READ ONLY", SQL_SET, F(SET_TRANSACTION), 0, 0},
        {"SET GLOBAL TRANSACTION READ ONLY", SQL_SET, F(SET_TRANSACTION) | F(SET_GLOBAL), 0, 0},
        {"SET ROLE NONE", SQL_SET, F(SET_ROLE), 0, 0},
        {"SET PASSWORD = 'x'", SQL_SET, F(SET_PASSWORD), 0, 0},
        {"SET PASSWORD = PASSWORD('x')", SQL_SET, F(SET_PASSWORD), 0, MARIADB},
        {"SET RESOURCE GROUP g", SQL_SET, 0, K(SET) | K(OTHER), 0},
        {"SET STATEMENT max_statement_time=1, b=2 FOR SELECT f(1)", SQL_SET,
         F(SYSTEM_VARIABLE) | F(UNKNOWN_FUNCTION), K(SET) | K(SELECT), MARIADB},
        {"SET STATEMENT a=1 FOR CREATE TEMPORARY TABLE t (a INT)", SQL_SET, F(SYSTEM_VARIABLE),
         K(SET) | K(TEMPORARY), MARIADB},
        {"SET x = f(1)", SQL_SET, F(SYSTEM_VARIABLE) | F(UNKNOWN_FUNCTION), 0, 0},
        {"SET sql_mode=(SELECT CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'))", SQL_SET,
         F(SYSTEM_VARIABLE), 0, 0},
        {"SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci', SESSION sql_mode='ONLY_FULL_GROUP_BY';",
         SQL_SET, F(SYSTEM_VARIABLE), 0, 0},
    };
    CHECK(rows);
}

static void further_statements_and_odd_text_are_seen(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT 1;", SQL_SELECT, 0, 0, 0},
        {"SELECT 1; -- x\n ; /* y */", SQL_SELECT, 0, 0, 0},
        {"SELECT 1; SELECT 2", SQL_SELECT, F(MULTI), 0, 0},
        {"; SELECT 2", SQL_SELECT, 0, 0, 0},
        {"SELECT ';'", SQL_SELECT, 0, 0, 0},
        {"INSERT INTO t VALUES (1); SELECT LAST_INSERT_ID()", SQL_DML, F(MULTI) | F(LAST_INSERT_ID),
         K(DML) | K(SELECT), 0},
        {"BEGIN; LOCK TABLES t READ; COMMIT", SQL_BEGIN, F(MULTI),
         K(BEGIN) | K(LOCK_TABLES) | K(COMMIT), 0},
        {"SELECT 1; XA END 'x'", SQL_SELECT, F(MULTI), K(SELECT) | K(XA), 0},
        {"SELECT 'open", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT `open", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 'x\\", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1 /* open", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1 /* open *", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1 /*", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1 /*M", SQL_SELECT, F(OPAQUE), 0, MARIADB},
        {"SELECT 1 /*! 2", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT 1 /*!50", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT 1 /*!50110 + 2 * 3 ***/", SQL_SELECT, F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT 1 /**/ + /***/ 2 /*/ @a */", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 /*+ SET_VAR(sort_buffer_size=1) */", SQL_SELECT, 0, 0, 0},
        {"SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1", SQL_SELECT, 0, 0, 0},
        {"SELECT /*! 1 /* nested */ 2 */", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT /*! 1 -- nested */ 2", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT /*! 1 # nested */ 2", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT /*! 1 /*! 2 */ 3 */", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT /*! 1 /*M! 2 */ 3 */", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, MARIADB},
        {"SELECT /*!99999 ' */ GET_LOCK('a', 1) -- '", SQL_SELECT,
         F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT /*!99999 'a\\/' */ 1", SQL_SELECT, F(OPAQUE) | F(EXECUTABLE_COMMENT), 0, 0},
        {"SELECT 1 /*!99999 ; SELECT 2 */", SQL_SELECT,
         F(OPAQUE) | F(EXECUTABLE_COMMENT) | F(MULTI), 0, 0},
        {"/*!99999 SELECT */ CREATE TEMPORARY TABLE t (a INT)", SQL_SELECT,
         F(EXECUTABLE_COMMENT) | F(UNKNOWN_FUNCTION), K(SELECT) | K(OTHER), 0},
        {"SELECT \xE4\xBD\xA0, '\xE5\xA5\xBD'", SQL_SELECT, 0, 0, 0},
        {"SELECT '\xBF\\', @a, '", SQL_SELECT, F(OPAQUE), 0, GBK},
        {"SELECT 'plain'", SQL_SELECT, 0, 0, GBK},
        {"SELECT 1.5FROM t", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1.INTO", SQL_SELECT, F(OPAQUE) | F(INTO), 0, 0},
        {"SELECT 1.5e3INTO", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1e5FROM t", SQL_SELECT, F(OPAQUE), 0, 0},
        {"SELECT 1FROM, 2020_stats FROM d.2020_stats", SQL_SELECT, 0, 0, 0},
        {"SELECT 1 - -1, 2--3, 4-5, 6/7, 8*9", SQL_SELECT, 0, 0, 0},
        {"SELECT 1-", SQL_SELECT, 0, 0, 0},
        {"SELECT 1234567890123456789012345678901234567890123456789012345678901234 (5)", SQL_SELECT,
         0, 0, 0},
        {"SELECT 12345678901234567890123456789012345678901234567890123456789012345 (5)", SQL_SELECT,
         0, 0, 0},
        {"SELECT 123456789012345678901234567890123456789012345678901234567890123456a", SQL_SELECT,
         0, 0, 0},
        {"SELECT 1/", SQL_SELECT, 0, 0, 0},
        {"SELECT 1:", SQL_SELECT, 0, 0, 0},
        {"SELECT 1--\x01x @a", SQL_SELECT, 0, 0, 0},
        {"SELECT ))) ,f(1)", SQL_SELECT, F(UNKNOWN_FUNCTION), 0, 0},
        {"SELECT a FROM t FOR UPDATE", SQL_SELECT, F(FOR_UPDATE), 0, 0},
        {"SELECT a FROM t FOR SHARE SKIP LOCKED", SQL_SELECT, F(FOR_UPDATE), 0, 0},
        {"SELECT a FROM t LOCK IN SHARE MODE", SQL_SELECT, F(FOR_UPDATE), 0, 0},
        {"SELECT t.into, t.share FROM t", SQL_SELECT, 0, 0, 0},
    };
    CHECK(rows);
}

/* Shapes that applications send all day: nothing in them may pin. */
static void everyday_statements_stay_plain(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT option_name, option_value FROM wp_options WHERE autoload IN ( 'yes', 'on', "
         "'auto-on', "
         "'auto' )",
         SQL_SELECT, 0, 0, 0},
        {"SELECT option_value FROM wp_options WHERE option_name = 'cron' LIMIT 1", SQL_SELECT, 0, 0,
         0},
        {"SELECT   wp_posts.ID\n\t\t\t\t\tFROM wp_posts  LEFT JOIN wp_term_relationships ON "
         "(wp_posts.ID = "
         "wp_term_relationships.object_id)\n\t\t\t\t\tWHERE 1=1  AND ( \n  "
         "wp_term_relationships.term_taxonomy_id IN (3)\n) AND ((wp_posts.post_type = 'post' AND "
         "(wp_posts.post_status = 'publish')))\n\t\t\t\t\tGROUP BY wp_posts.ID\n\t\t\t\t\tORDER BY "
         "wp_posts.post_date DESC\n\t\t\t\t\tLIMIT 0, 10",
         SQL_SELECT, 0, 0, 0},
        {"INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('a', "
         "'a:1:{s:1:\"x\";s:12:\"me@x.org (@b)\";}', 'off') ON DUPLICATE KEY UPDATE `option_name` "
         "= "
         "VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = "
         "VALUES(`autoload`)",
         SQL_DML, 0, 0, 0},
        {"UPDATE `wp_usermeta` SET `meta_value` = 'a:1:{s:64:\\\"x\\\";}' WHERE `user_id` = 1 AND "
         "`meta_key` = 'session_tokens'",
         SQL_DML, 0, 0, 0},
        {"SELECT COUNT(NULLIF(`meta_value` LIKE '%\\\"administrator\\\"%', false)), COUNT(*) FROM "
         "wp_usermeta INNER JOIN wp_users ON user_id = ID WHERE meta_key = 'wp_capabilities'",
         SQL_SELECT, 0, 0, 0},
        {"SELECT YEAR(post_date) AS `year`, MONTH(post_date) AS `month`, count(ID) as posts FROM "
         "wp_posts "
         "GROUP BY YEAR(post_date), MONTH(post_date) ORDER BY post_date DESC",
         SQL_SELECT, 0, 0, 0},
        {"SELECT SQL_CALC_FOUND_ROWS  wp_posts.ID FROM wp_posts LIMIT 0, 10", SQL_SELECT,
         F(CALC_FOUND_ROWS), 0, 0},
        {"select * from `users` where `email` = ? and `deleted_at` is null limit 1", SQL_SELECT, 0,
         0, 0},
        {"insert into `jobs` (`queue`, `attempts`, `reserved_at`, `available_at`, `created_at`, "
         "`payload`) values (?, ?, ?, ?, ?, ?)",
         SQL_DML, 0, 0, 0},
        {"select * from `jobs` where `queue` = ? and ((`reserved_at` is null and `available_at` <= "
         "?) or "
         "(`reserved_at` <= ?)) order by `id` asc limit 1 FOR UPDATE SKIP LOCKED",
         SQL_SELECT, F(FOR_UPDATE), 0, 0},
        {"select exists(select * from `a` where exists (select * from `b` where `a`.`id` = "
         "`b`.`a_id`)) as "
         "`exists`",
         SQL_SELECT, 0, 0, 0},
        {"insert into `cache` (`key`, `value`, `expiration`) values (?, ?, ?) on duplicate key "
         "update "
         "`value` = values(`value`)",
         SQL_DML, 0, 0, 0},
        {"insert into `t` (`a`) values (?) as `laravel_upsert_alias` on duplicate key update `a` = "
         "`laravel_upsert_alias`.`a`",
         SQL_DML, 0, 0, 0},
        {"select count(*) as aggregate from `orders` where json_unquote(json_extract(`meta`, "
         "'$.\"a\"')) = ? and year(`created_at`) = ?",
         SQL_SELECT, 0, 0, 0},
        {"select *, row_number() over (partition by `user_id` order by `id`) as `laravel_row` from "
         "`posts`",
         SQL_SELECT, 0, 0, 0},
        {"alter table `users` add unique `users_email_unique`(`email`)", SQL_DDL, 0, 0, 0},
        {"create table `users` (`id` bigint unsigned not null auto_increment primary key, `name` "
         "varchar(255) not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci'",
         SQL_DDL, 0, 0, 0},
        {"SELECT t0.id AS id_1, t0.email AS email_2 FROM user t0 WHERE t0.email = ? LIMIT 1",
         SQL_SELECT, 0, 0, 0},
        {"SELECT u0_.id AS id_0 FROM user u0_ INNER JOIN (SELECT DISTINCT id_0 FROM (SELECT u1_.id "
         "AS "
         "id_0 FROM user u1_) dctrn_result LIMIT 10) dctrn_result_inner ON u0_.id = "
         "dctrn_result_inner.id_0 WHERE CONCAT(u0_.a, ' ', u0_.b) LIKE ? ORDER BY LOWER(u0_.a) ASC",
         SQL_SELECT, 0, 0, 0},
        {"SAVEPOINT DOCTRINE_2", SQL_SAVEPOINT, 0, 0, 0},
        {"RELEASE SAVEPOINT DOCTRINE_2", SQL_SAVEPOINT, 0, 0, 0},
        {"SELECT DATABASE()", SQL_SELECT, 0, 0, 0},
        {"SELECT VERSION()", SQL_SELECT, 0, 0, 0},
        {"SELECT \"cache_bootstrap\".\"cid\" AS \"cid\", \"data\" FROM \"cache_bootstrap\" WHERE "
         "\"cid\" "
         "IN ( 'a', 'b' ) ORDER BY \"cid\"",
         SQL_SELECT, 0, 0, ANSI},
        {"INSERT INTO \"semaphore\" (\"name\", \"value\", \"expire\") VALUES ('a', 'b', '1.5')",
         SQL_DML, 0, 0, ANSI},
        {"SELECT 1 AS \"expression\" FROM \"node_field_data\" \"base_table\" WHERE (\"status\" = "
         "'1') AND "
         "(\"title\" LIKE '%a\\\\_b%' ESCAPE '\\\\')",
         SQL_SELECT, 0, 0, ANSI},
        {"SELECT /* MediaWiki\\Page\\PageStore::getPageByName  */  page_id,page_namespace FROM "
         "`page`    "
         "WHERE page_namespace = 0 AND page_title = 'Main_Page'  LIMIT 1",
         SQL_SELECT, 0, 0, 0},
        {"INSERT /* X::y me@host */ IGNORE INTO `objectcache` (keyname,value,exptime) VALUES "
         "('k',x'00ff','20300101000000')",
         SQL_DML, 0, 0, 0},
        {"UPDATE /* A::b */ `site_stats` SET "
         "ss_total_edits=ss_total_edits+1,ss_users=GREATEST(0,ss_users)"
         " WHERE ss_row_id = 1",
         SQL_DML, 0, 0, 0},
        {"SELECT GROUP_CONCAT(a SEPARATOR '|'), IFNULL(b, 0), COALESCE(c, d), IF(e, 1, 2), "
         "ROUND(f, 2), "
         "DATE_FORMAT(NOW(), '%Y'), UNIX_TIMESTAMP(), FROM_UNIXTIME(1), DATE_SUB(NOW(), INTERVAL 1 "
         "DAY), "
         "FIND_IN_SET('a', b), SUBSTRING_INDEX(a, '@', 1), MD5(a), SHA2(b, 256), RAND(), FIELD(a, "
         "1, 2)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT ST_Distance_Sphere(POINT(1,2), p), REGEXP_REPLACE(a, 'b', 'c'), JSON_ARRAYAGG(x), "
         "LAG(a) OVER w, GROUPING(b), TIMESTAMPDIFF(DAY, a, b), CHAR_LENGTH(c), LEFT(d, 3), MOD(e, "
         "2)",
         SQL_SELECT, 0, 0, 0},
        {"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND "
         "TABLE_TYPE "
         "= 'BASE TABLE'",
         SQL_SELECT, 0, 0, 0},
        {"DELETE a, b FROM wp_options a, wp_options b WHERE a.option_name LIKE "
         "'\\\\_transient\\\\_%' AND "
         "b.option_name = CONCAT( '_transient_timeout_', SUBSTRING( a.option_name, 12 ) ) AND "
         "b.option_value < 1700000000",
         SQL_DML, 0, 0, 0},
        {"INSERT INTO oauth (token, value, set_id) VALUES ('a', 1, 2)", SQL_DML, 0, 0, 0},
    };
    CHECK(rows);
}

static struct sql_scan scan(const char *text)
{
    struct sql_scan s;
    sql_scan_begin(&s, 0);
    sql_scan_feed(&s, bytes_text(text));
    sql_scan_end(&s);
    return s;
}

static void names_are_kept_in_lower_case(void **state)
{
    (void)state;
    struct sql_scan s = scan("SET NAMES 'UTF8mb4' COLLATE Utf8mb4_Bin");
    assert_string_equal(s.names_charset, "utf8mb4");
    assert_string_equal(s.names_collation, "utf8mb4_bin");
    s = scan("SET NAMES DEFAULT");
    assert_string_equal(s.names_charset, "default");
    assert_string_equal(s.names_collation, "");
    s = scan("SET NAMES aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg");
    assert_int_equal(s.flags, SQL_F_SET_ONLY_NAMES);
    assert_int_equal(strlen(s.names_charset), SQL_WORD_MAX_BYTES);
}

static void kill_ids_are_read_when_they_are_plain_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t id;
        bool query;
    } rows[] = {
        {"KILL 5", 5, false},
        {"kill connection 2147483653;", 2147483653u, false},
        {"KILL HARD QUERY 7", 7, true},
        {"KILL SOFT CONNECTION 18446744073709551615", UINT64_MAX, false},
        {"KILL 18446744073709551616", 0, false},
        {"KILL QUERY ID 7", 0, true},
        {"KILL USER 'u'@'h'", 0, false},
        {"KILL 5 + 1", 0, false},
        {"KILL -5", 0, false},
        {"KILL 5a", 0, false},
        {"KILL @x", 0, false},
        {"KILL (5)", 0, false},
        {"KILL", 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sql_scan s = scan(rows[i].text);
        assert_int_equal(s.kind, SQL_KILL);
        assert_int_equal(s.kill_id, rows[i].id);
        assert_int_equal(s.kill_query, rows[i].query);
    }
}

static void a_nul_makes_the_text_opaque_except_in_a_literal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        uint32_t flags;
    } rows[] = {
        {"SELECT\0 1", 9, SQL_F_OPAQUE},
        {"SELECT 1 -- a\0b\n", 16, SQL_F_OPAQUE},
        {"SELECT 'a\0b'", 12, 0},
        {"SELECT 1 /* a\0b */", 18, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sql_scan s = scan_two(rows[i].text, rows[i].len, 7, 0);
        assert_int_equal(s.kind, SQL_SELECT);
        assert_int_equal(s.flags, rows[i].flags);
    }
}

static void a_name_over_the_limit_is_told(void **state)
{
    (void)state;
    char text[SQL_NAME_MAX_BYTES + 16] = "SELECT ";
    memset(text + 7, 'a', SQL_NAME_MAX_BYTES);
    assert_int_equal(scan(text).flags, 0);
    memset(text + 7, 'a', SQL_NAME_MAX_BYTES + 1);
    assert_int_equal(scan(text).flags, SQL_F_TOO_LONG);
    assert_int_equal(scan_bytewise(text, strlen(text), 0).flags, SQL_F_TOO_LONG);
    text[7] = '0'; /* a long hexadecimal literal is no name */
    assert_int_equal(scan(text).flags, 0);
    assert_int_equal(scan_bytewise(text, strlen(text), 0).flags, 0);
}

static void every_listed_word_is_found_in_any_case(void **state)
{
    (void)state;
    static const char *const names[] = {
#define FUNCTION(name, call, glue) #name,
#include "protocol/sql_functions.def"
#undef FUNCTION
#define WORD(name, call) #name,
#include "protocol/sql_words.def"
#undef WORD
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char upper[64];
        size_t len = strlen(names[i]);
        for (size_t j = 0; j <= len; j++)
            upper[j] =
                (char)(names[i][j] >= 'a' && names[i][j] <= 'z' ? names[i][j] - 32 : names[i][j]);
        assert_int_equal(sql_word_find(bytes_text(names[i])), i + 1);
        assert_int_equal(sql_word_find(bytes_text(upper)), i + 1);
        assert_int_not_equal(sql_word_find(bytes_of(upper, len - 1)), i + 1);
    }
    assert_int_equal(sql_word_find(bytes_text("get\x7Flock")), W_none);
    assert_int_equal(sql_word_find(bytes_text("selec@")), W_none);
}

static void a_function_is_plain_only_when_both_servers_have_it(void **state)
{
    (void)state;
    assert_true(sql_function_is_plain(bytes_text("concat")));
    assert_true(sql_function_is_plain(bytes_text("Md5")));
    assert_false(sql_function_is_plain(bytes_text("nvl")));
    assert_false(sql_function_is_plain(bytes_text("get_lock")));
    assert_false(sql_function_is_plain(bytes_text("select")));
    assert_false(sql_function_is_plain(bytes_text("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_words_tell_the_kind),
        cmocka_unit_test(temporary_tables_are_seen_in_every_dress),
        cmocka_unit_test(variables_are_told_from_what_looks_like_them),
        cmocka_unit_test(state_of_the_last_statement_is_seen),
        cmocka_unit_test(locks_and_foreign_functions_are_seen),
        cmocka_unit_test(lists_of_names_are_not_calls),
        cmocka_unit_test(accounts_and_stored_programs_do_not_pin),
        cmocka_unit_test(set_is_taken_apart),
        cmocka_unit_test(further_statements_and_odd_text_are_seen),
        cmocka_unit_test(everyday_statements_stay_plain),
        cmocka_unit_test(names_are_kept_in_lower_case),
        cmocka_unit_test(kill_ids_are_read_when_they_are_plain_numbers),
        cmocka_unit_test(a_nul_makes_the_text_opaque_except_in_a_literal),
        cmocka_unit_test(a_name_over_the_limit_is_told),
        cmocka_unit_test(every_listed_word_is_found_in_any_case),
        cmocka_unit_test(a_function_is_plain_only_when_both_servers_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
