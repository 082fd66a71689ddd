/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/sql_simple.h. Every text is read out of an exact copy on the heap, so that the sanitizer
 * sees a read beyond it, and with it every prefix of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include "protocol/sql_scan.h"
#include "protocol/sql_simple.h"
#include "protocol/sql_token.h"

enum {
    ANSI = SQL_MODE_ANSI_QUOTES,
    NO_ESC = SQL_MODE_NO_BACKSLASH_ESCAPES,
    MARIADB = SQL_MODE_MARIADB,
    GBK = SQL_MODE_MULTIBYTE_UNSAFE,
    ISPACE = SQL_MODE_IGNORE_SPACE,
};

/* ---- copies; freed when a test ends, since slices point into them ---- */

static uint8_t *copies[4096];
static size_t copies_count;

static int free_copies(void **state)
{
    (void)state;
    while (copies_count)
        free(copies[--copies_count]);
    return 0;
}

static struct bytes copy_of(const char *text, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    assert_true(copies_count < sizeof copies / sizeof copies[0]);
    copies[copies_count++] = copy;
    if (len == 0) /* one byte that must not be read */
        return bytes_of(copy + 1, 0);
    memcpy(copy, text, len);
    return bytes_of(copy, len);
}

static struct bytes copy(const char *text)
{
    return copy_of(text, strlen(text));
}

static const char *shown(struct bytes b)
{
    static char rooms[8][128];
    static unsigned next;
    char *room = rooms[next++ % 8];
    snprintf(room, sizeof rooms[0], "%.*s", (int)b.len, (const char *)b.at);
    return room;
}

static void assert_bytes(struct bytes got, const char *want)
{
    assert_string_equal(shown(got), want);
}

/* All readers over all prefixes: whatever they say, they stay inside. */
static void read_prefixes(const char *text, uint32_t mode)
{
    union {
        struct sql_set set;
        struct sql_reads reads;
        struct sql_ask ask;
        struct sql_names names;
        struct sql_locks locks;
        struct sql_places places;
    } out;
    for (size_t len = 0; len <= strlen(text); len++) {
        struct bytes part = copy_of(text, len);
        bool any = sql_set_read(part, mode, &out.set);
        any |= sql_reads_read(part, mode, &out.reads);
        any |= sql_ask_read(part, mode, &out.ask);
        any |= sql_names_read(part, mode, &out.names);
        any |= sql_locks_read(part, mode, &out.locks);
        any |= sql_connection_ids_read(part, mode, &out.places);
        (void)any;
        free(copies[--copies_count]);
    }
}

/* ---- SET ---- */

static const char *const targets[] = {
    [SQL_SET_SESSION] = "session", [SQL_SET_GLOBAL] = "global",
    [SQL_SET_USER] = "user",       [SQL_SET_NAMES] = "names",
    [SQL_SET_CHARSET] = "charset", [SQL_SET_TRANSACTION] = "transaction",
};

/* `target name=value` of each item, with space between: a string's value in quotes, DEFAULT as <>,
 * an expression as (), a collation behind a slash, ! where it is for the next transaction only. */
static const char *set_shown(const char *text, uint32_t mode)
{
    static char room[1024];
    struct sql_set set;
    read_prefixes(text, mode);
    if (!sql_set_read(copy(text), mode, &set))
        return "no";
    size_t len = 0;
    room[0] = '\0';
    for (size_t i = 0; i < set.count; i++) {
        const struct sql_assignment *a = &set.item[i];
        const char *quote = a->quoted ? "'" : "";
        len += (size_t)snprintf(room + len, sizeof room - len, "%s%s%s %s%s=", i ? " " : "",
                                targets[a->target], a->once ? "!" : "", shown(a->name),
                                a->untold ? "?" : "");
        if (a->kind == SQL_VALUE_LITERAL)
            len += (size_t)snprintf(room + len, sizeof room - len, "%s%s%s", quote, shown(a->value),
                                    quote);
        else
            len += (size_t)snprintf(room + len, sizeof room - len, "%s",
                                    a->kind == SQL_VALUE_DEFAULT ? "<>" : "()");
        if (a->collate.len)
            len += (size_t)snprintf(room + len, sizeof room - len, "/%s", shown(a->collate));
    }
    return room;
}

struct set_row {
    const char *text;
    const char *want;
    uint32_t mode;
};

static void check_sets(const struct set_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = set_shown(rows[i].text, rows[i].mode);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s\n  got  %s\n  want %s", rows[i].text, got, rows[i].want);
    }
}

#define CHECK_SETS(rows) check_sets(rows, sizeof rows / sizeof rows[0])

static void the_sets_of_frameworks_are_simple(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"set names 'utf8mb4' collate 'utf8mb4_unicode_ci'", "names ='utf8mb4'/utf8mb4_unicode_ci",
         0},
        {"SET NAMES utf8mb4", "names =utf8mb4", 0},
        {"SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci",
         "names =utf8mb4/utf8mb4_unicode_520_ci", 0},
        {"set session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'",
         "session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'", 0},
        {"SET NAMES 'utf8mb4' COLLATE 'x', SESSION sql_mode='..'",
         "names ='utf8mb4'/x session sql_mode='..'", 0},
        {"set time_zone=\"+00:00\"", "session time_zone='+00:00'", 0},
        {"SET SESSION sql_mode='NO_ZERO_IN_DATE,NO_ZERO_DATE'",
         "session sql_mode='NO_ZERO_IN_DATE,NO_ZERO_DATE'", 0},
        {"SET sql_mode = 'ANSI,TRADITIONAL'", "session sql_mode='ANSI,TRADITIONAL'", 0},
        {"SET SESSION sql_mode = CONCAT(@@sql_mode, ',X')", "session sql_mode=()", 0},
        {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "transaction =", 0},
        {"SET SESSION tx_isolation = 'READ-COMMITTED'", "session tx_isolation='READ-COMMITTED'", 0},
        {"SET autocommit=0", "session autocommit=0", 0},
        {"SET /* Wikimedia\\Rdbms\\DatabaseMysqlBase::open */ group_concat_max_len = 262144, "
         "sql_mode = ''",
         "session group_concat_max_len=262144 session sql_mode=''", 0},
        {"SET foreign_key_checks = 0;", "session foreign_key_checks=0", 0},
        {"SET SESSION wait_timeout = 28800", "session wait_timeout=28800", 0},
        {"SET sql_big_selects = 1", "session sql_big_selects=1", 0},
        {"SET SQL_SAFE_UPDATES=1,SQL_SELECT_LIMIT=1000,MAX_JOIN_SIZE=1000000",
         "session SQL_SAFE_UPDATES=1 session SQL_SELECT_LIMIT=1000 session MAX_JOIN_SIZE=1000000",
         0},
    };
    CHECK_SETS(rows);
}

static void every_spelling_of_a_target_is_told(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"SET LOCAL a = 1", "session a=1", 0},
        {"set @@a = 1", "session a?=1", 0},
        {"SET @@SESSION.a := 1", "session a=1", 0},
        {"SET @@local . a=1", "session a=1", 0},
        {"SET `a` = 1", "session a=1", 0},
        {"SET @@`a` = 1", "session a?=1", 0},
        {"SET @@session.`a` = 1", "session a=1", 0},
        {"SET \"a\" = 1", "session a=1", ANSI},
        {"SET \"a\" = 1", "no", 0},
        {"SET GLOBAL a = 1", "global a=1", 0},
        {"SET PERSIST a = 1", "global a=1", 0},
        {"SET persist_only a = 1", "global a=1", 0},
        {"SET @@global.a = 1", "global a=1", 0},
        {"SET @@PERSIST.a = 1", "global a=1", 0},
        {"SET @a = 1", "user a=1", 0},
        {"SET @a.b$c = 1", "user a.b$c=1", 0},
        {"SET @`a b` = 1, @'c d' = 2, @\"e\" = 3", "user a b=1 user c d=2 user e=3", 0},
        {"SET @\"a b\" = 1", "user a b=1", ANSI},
        {"SET CHARACTER SET utf8", "charset =utf8", 0},
        {"SET CHAR SET 'utf8'", "charset ='utf8'", 0},
        {"SET CHARSET DEFAULT", "charset =<>", 0},
        {"SET NAMES DEFAULT", "names =<>", 0},
        {"SET NAMES `utf8` COLLATE \"c\"", "names =utf8/c", 0},
        {"SET GLOBAL hot.key_buffer_size = 1", "global hot.key_buffer_size=1", 0},
        {"SET session = 1", "no", 0},
    };
    CHECK_SETS(rows);
}

/* As measured on MariaDB 10.11 and MySQL 9.7. */
static void a_scope_that_is_a_word_holds_for_the_names_behind_it(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"SET SESSION a=1, b=2", "session a=1 session b=2", 0},
        {"SET GLOBAL a=1, b=2", "global a=1 global b=2", 0},
        {"SET PERSIST a=1, b=2", "global a=1 global b=2", 0},
        {"SET @@global.a=1, b=2", "global a=1 session b=2", 0},
        {"SET GLOBAL a=1, @@b=2, c=3", "global a=1 session b?=2 global c=3", 0},
        {"SET GLOBAL a=1, @@session.b=2, c=3", "global a=1 session b=2 global c=3", 0},
        {"SET GLOBAL a=1, @u=2, NAMES utf8, c=3", "global a=1 user u=2 names =utf8 global c=3", 0},
        {"SET a=1, GLOBAL b=2, SESSION c=3, d=4", "session a=1 global b=2 session c=3 session d=4",
         0},
    };
    CHECK_SETS(rows);
}

static void values_are_literals_defaults_or_something_else(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"SET a = -5, b = 1.5, c = -.5, d = 1e-3, e = 1.e5",
         "session a=-5 session b=1.5 session c=-.5 session d=1e-3 session e=1.e5", 0},
        {"SET a = +5, b = 0x1F, c = ON, d = NULL",
         "session a=5 session b=0x1F session c=ON session d=NULL", 0},
        {"SET a = `READ-COMMITTED`", "session a=READ-COMMITTED", 0},
        {"SET a = DEFAULT, b = default", "session a=<> session b=<>", 0},
        {"SET a = DEFAULT(b)", "session a=()", 0},
        {"SET a = 'it''s'", "session a=()", 0},
        {"SET a = 'it\\'s', b = 1", "session a=() session b=1", 0},
        {"SET a = 'x\\', b = 'y'", "session a='x\\' session b='y'", NO_ESC},
        {"SET a = 'x\\', b = 'y'", "no", 0},
        {"SET a = 'x' 'y', b = x'41', c = _utf8'z', d = N'q'",
         "session a=() session b=() session c=() session d=()", 0},
        {"SET a = - 5, b = -c, c = +'ON', d = -'x'",
         "session a=() session b=() session c=() session d=()", 0},
        {"SET @a = CURRENT_TIMESTAMP, @b = Current_User, @c = utc_date",
         "user a=() user b=() user c=()", 0},
        {"SET @a = (SELECT 1, 2), @b = f(1, (2)), c = 3", "user a=() user b=() session c=3", 0},
        {"SET a = 1 + 1, b = @@c, d = @e, f = ?",
         "session a=() session b=() session d=() session f=()", 0},
        {"SET a = 'caf\xc3\xa9'", "session a='caf\xc3\xa9'", 0},
        {"SET a = ''", "session a=''", 0},
        {"SET a == 1, b = 1 c = 2", "session a=() session b=()", 0}, /* the server's to refuse */
    };
    CHECK_SETS(rows);
}

static void space_comments_and_semicolons_change_nothing(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"  \t\r\n\v\fsEt\n a\t=\r1  ", "session a=1", 0},
        {"/**/SET/* ; */a/*'*/=/*/*/1/**/", "session a=1", 0},
        {"-- x\n# y\nSET a = 1 -- z", "session a=1", 0},
        {"SET a = 1 --\x01 z", "session a=1", 0},
        {"SET a = 1 --", "session a=1", 0},
        {"SET a = 1 # z\n;", "session a=1", 0},
        {"SET a = 1;", "session a=1", 0},
        {"SET a = 1 ; ;; \n", "session a=1", 0},
        {"SET a = 1 /*M! */", "session a=1", 0},
        {"SET a='x'\n,b=`y`", "session a='x' session b=y", 0},
    };
    CHECK_SETS(rows);
}

static void the_characteristics_of_a_transaction_are_read_whole(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"SET TRANSACTION READ ONLY", "transaction! =", 0},
        {"set transaction isolation level serializable, read write;", "transaction! =", 0},
        {"SET LOCAL TRANSACTION READ WRITE, ISOLATION LEVEL REPEATABLE READ", "transaction =", 0},
        {"SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "transaction =", 0},
        {"SET GLOBAL TRANSACTION READ ONLY", "global =", 0},
        {"SET TRANSACTION", "no", 0},
        {"SET TRANSACTION READ", "no", 0},
        {"SET TRANSACTION READ ONLY READ ONLY", "no", 0},
        {"SET TRANSACTION READ ONLY, READ WRITE", "no", 0},
        {"SET TRANSACTION ISOLATION READ COMMITTED", "no", 0},
        {"SET TRANSACTION ISOLATION LEVEL READ ONLY", "no", 0},
        {"SET TRANSACTION READ ONLY,", "no", 0},
        {"SET TRANSACTION READ ONLY, a = 1", "no", 0},
        {"SET a = 1, TRANSACTION READ ONLY", "no", 0},
        {"SET a = 1, SESSION TRANSACTION READ ONLY", "no", 0},
    };
    CHECK_SETS(rows);
}

static void what_is_not_understood_to_its_end_is_no_simple_set(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "SET",
        "SET ",
        "SETa=1",
        "SET a",
        "SET a =",
        "SET a = ,b=1",
        "SET a = 1,",
        "SET a = 1,,b=2",
        "SET , a=1",
        "SET a = (1",
        "SET a = 1)",
        "SET a = 'x",
        "SET a = \"x",
        "SET `a = 1",
        "SET a = 'x\\",
        "SET a = 1 /* open",
        "SET a = 1 /*! , b = 2 */",
        "/*!40101 SET NAMES utf8 */",
        "/*!40101 SET @a=@@b */;",
        "SET a = 1; SET b = 2",
        "SET a = 1; b",
        "SET a = 1; -- an empty statement, with a result of its own",
        "SET a = 1; /**/",
        "SET a = (SELECT 1; SELECT 2)",
        "SET STATEMENT a=1 FOR SELECT 1",
        "SET ROLE x",
        "SET DEFAULT ROLE x TO y",
        "SET RESOURCE GROUP x",
        "SET PASSWORD = 'x'",
        "SET PASSWORD FOR a = 'x'",
        "SET a=1, PASSWORD='x'",
        "SET NAMES",
        "SET NAMES utf8 COLLATE",
        "SET NAMES utf8 COLLATE DEFAULT",
        "SET NAMES utf8 x",
        "SET NAMES = utf8",
        "SET NAMES ''",
        "SET NAMES 'ut''f8'",
        "SET SESSION NAMES utf8",
        "SET CHARACTER utf8",
        "SET CHARSET utf8 COLLATE x",
        "SET SESSION @a = 1",
        "SET SESSION @@a = 1",
        "SET GLOBAL",
        "SET SESSION = 1",
        "SET @ a = 1",
        "SET @ = 1",
        "SET @`` = 1",
        "SET @'a''b' = 1",
        "SET @'a\\' = 1, @b = 'x'",
        "SET @@ a = 1",
        "SET @@/**/a = 1",
        "SET @@session.",
        "SET @@`session`.a = 1",
        "SET a . b = 1",
        "SET `a`.b = 1",
        "SET `` = 1",
        "SET `a``b` = 1",
        "SET 'a' = 1",
        "SELECT /*+ SET_VAR(a = 1) */ 1",
        "SET /*+ x */ a = 1",
        "select set a = 1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *got = set_shown(texts[i], 0);
        if (strcmp(got, "no") != 0)
            fail_msg("%s\n  got %s", texts[i], got);
    }
    struct sql_set set;
    assert_false(sql_set_read(copy_of("SET a = 1\0", 10), 0, &set));
    assert_string_equal(set_shown("SET a = 1 /*M! , b = 2 */", MARIADB), "no");
    assert_string_equal(set_shown("SET a = '\xc3\xa9'", GBK), "no");
    assert_string_equal(set_shown("SET a = 'e'", GBK), "session a='e'");
}

static void a_set_may_be_as_long_as_the_limits_say(void **state)
{
    (void)state;
    struct sql_set set;
    char text[SQL_SIMPLE_MAX_BYTES + 2];
    memset(text, ' ', sizeof text);
    memcpy(text, "SET a=1", 7);
    assert_true(sql_set_read(copy_of(text, SQL_SIMPLE_MAX_BYTES), 0, &set));
    assert_false(sql_set_read(copy_of(text, SQL_SIMPLE_MAX_BYTES + 1), 0, &set));
    size_t len = 3;
    memcpy(text, "SET", 3);
    for (int i = 0; i <= SQL_ITEMS_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s a%d=%d", i ? "," : "", i, i);
        assert_int_equal(sql_set_read(copy_of(text, len), 0, &set), i < SQL_ITEMS_MAX);
    }
}

/* ---- SELECT @@.. ---- */

static const char *reads_shown(const char *text, uint32_t mode)
{
    static char room[512];
    struct sql_reads reads;
    size_t len = 0;
    read_prefixes(text, mode);
    if (!sql_reads_read(copy(text), mode, &reads))
        return "no";
    for (size_t i = 0; i < reads.count; i++)
        len += (size_t)snprintf(room + len, sizeof room - len, "%s%s%s", i ? " " : "",
                                reads.item[i].global   ? "global."
                                : reads.item[i].scoped ? "session."
                                                       : "",
                                shown(reads.item[i].name));
    return room;
}

static void a_select_of_variables_is_read(void **state)
{
    (void)state;
    assert_string_equal(reads_shown("SELECT @@SESSION.sql_mode", 0), "session.sql_mode");
    assert_string_equal(reads_shown("select @@a", 0), "a");
    assert_string_equal(
        reads_shown("SELECT @@version, @@local.b AS x, @@global.c 'y' FROM dual LIMIT 1;", 0),
        "version session.b global.c");
    assert_string_equal(reads_shown("SELECT/**/@@`a`b,@@session . c`d`\n-- x", 0), "a session.c");
    assert_string_equal(reads_shown("SELECT @@a \"x\", @@b LIMIT 18446744073709551615", 0), "a b");
    assert_string_equal(reads_shown("SELECT @@a.b", 0), "a.b");
}

static void a_select_of_anything_more_is_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SELECT",
        "SELECT @@",
        "SELECT @@a,",
        "SELECT @@ a",
        "SELECT @a",
        "SELECT @@a + 1",
        "SELECT @@a AS",
        "SELECT @@a AS FROM dual",
        "SELECT @@a b c",
        "SELECT @@a IS NULL",
        "SELECT @@a AS b.c",
        "SELECT @@a INTO @b",
        "SELECT @@a INTO b",
        "SELECT @@a FROM t",
        "SELECT @@a FROM `dual`",
        "SELECT @@a FROM dual x",
        "SELECT @@a LIMIT 0",
        "SELECT @@a LIMIT 1, 1",
        "SELECT @@a LIMIT 1 OFFSET 1",
        "SELECT @@a LIMIT -1",
        "SELECT @@a LIMIT 18446744073709551616",
        "SELECT @@a UNION SELECT 1",
        "SELECT @@a; SELECT @@b",
        "SELECT @@a; # x",
        "SELECT DISTINCT @@a",
        "(SELECT @@a)",
        "SELECT /*!1 */ @@a",
        "SELECT /*+ SET_VAR(a = 1) */ @@a",
        "SELECT @@session.",
        "SELECT @@a @@b",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(reads_shown(texts[i], 0), "no") != 0)
            fail_msg("%s", texts[i]);
    char text[512] = "SELECT @@a0";
    struct sql_reads reads;
    for (size_t i = 1; i <= SQL_ITEMS_MAX; i++) {
        assert_true(sql_reads_read(copy(text), 0, &reads));
        assert_int_equal(reads.count, i);
        snprintf(text + strlen(text), 16, ",@@a%zu", i);
    }
    assert_false(sql_reads_read(copy(text), 0, &reads));
}

/* ---- one fact ---- */

static void one_fact_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum sql_asked what;
        uint64_t offset, limit;
    } rows[] = {
        {"SELECT ROW_COUNT()", SQL_ASKED_ROW_COUNT, 0, UINT64_MAX},
        {"select row_count ( ) as n;", SQL_ASKED_ROW_COUNT, 0, UINT64_MAX},
        {"SELECT FOUND_ROWS() FROM dual LIMIT 1", SQL_ASKED_FOUND_ROWS, 0, UINT64_MAX},
        {"SELECT @@warning_count", SQL_ASKED_WARNING_COUNT, 0, UINT64_MAX},
        {"SELECT @@session.warning_count x", SQL_ASKED_WARNING_COUNT, 0, UINT64_MAX},
        {"SHOW COUNT(*) WARNINGS", SQL_ASKED_WARNING_COUNT, 0, UINT64_MAX},
        {"SHOW COUNT( * ) ERRORS;", SQL_ASKED_ERROR_COUNT, 0, UINT64_MAX},
        {"SELECT @@local.error_count 'x'", SQL_ASKED_ERROR_COUNT, 0, UINT64_MAX},
        {"SELECT CONNECTION_ID()", SQL_ASKED_CONNECTION_ID, 0, UINT64_MAX},
        {"SELECT @@pseudo_thread_id", SQL_ASKED_CONNECTION_ID, 0, UINT64_MAX},
        {"SELECT IS_USED_LOCK('a')", SQL_ASKED_LOCK_OWNER, 0, UINT64_MAX},
        {"SHOW WARNINGS", SQL_ASKED_WARNINGS, 0, UINT64_MAX},
        {"show /* x */ warnings limit 2", SQL_ASKED_WARNINGS, 0, 2},
        {"SHOW WARNINGS LIMIT 1,2", SQL_ASKED_WARNINGS, 1, 2},
        {"SHOW WARNINGS LIMIT 2 OFFSET 1;", SQL_ASKED_WARNINGS, 1, 2},
        {"SHOW ERRORS LIMIT 0", SQL_ASKED_ERRORS, 0, 0},
        {"SELECT LAST_INSERT_ID()", SQL_ASKED_LAST_ID, 0, UINT64_MAX},
        {"SELECT @@identity AS id", SQL_ASKED_LAST_ID, 0, UINT64_MAX},
        {"SELECT @@session.last_insert_id", SQL_ASKED_LAST_ID, 0, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sql_ask ask;
        read_prefixes(rows[i].text, 0);
        if (!sql_ask_read(copy(rows[i].text), 0, &ask))
            fail_msg("%s", rows[i].text);
        assert_int_equal(ask.what, rows[i].what);
        assert_true(ask.offset == rows[i].offset && ask.limit == rows[i].limit);
    }
}

static void more_than_one_fact_is_not_told(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SELECT ROW_COUNT",
        "SELECT ROW_COUNT(",
        "SELECT ROW_COUNT(1)",
        "SELECT ROW_COUNT(), 1",
        "SELECT ROW_COUNT() + 1",
        "SELECT ROW_COUNT() INTO @a",
        "SELECT ROW_COUNT(); SELECT 1",
        "SELECT ROW_COUNT(); -- x",
        "SELECT SQL_NO_CACHE FOUND_ROWS()",
        "SELECT LAST_INSERT_ID(5)",
        "SELECT app.row_count()",
        "SELECT IS_USED_LOCK(@a)",
        "SELECT IS_USED_LOCK('a''b')",
        "SELECT IS_USED_LOCK('a') IS NULL",
        "SELECT @@global.warning_count",
        "SELECT @@sql_mode",
        "SELECT @@x.identity",
        "SELECT ROW_COUNT() LIMIT 0",
        "SELECT ROW_COUNT() FROM t",
        "SHOW WARNING",
        "SHOW WARNINGS LIMIT",
        "SHOW WARNINGS LIMIT 1.0",
        "SHOW WARNINGS LIMIT 1,",
        "SHOW WARNINGS LIMIT ?",
        "SHOW WARNINGS LIMIT -1",
        "SHOW WARNINGS LIMIT 1 x",
        "SHOW WARNINGS LIMIT 18446744073709551616",
        "SHOW SESSION WARNINGS",
        "SHOW COUNT(*) WARNINGS LIMIT 1",
        "SHOW COUNT(1) WARNINGS",
        "SHOW COUNT (*) WARNINGS",
        "SHOW /*!1 */ WARNINGS",
    };
    struct sql_ask ask;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        read_prefixes(texts[i], 0);
        if (sql_ask_read(copy(texts[i]), 0, &ask))
            fail_msg("%s", texts[i]);
    }
    assert_true(sql_ask_read(copy("SHOW COUNT (*) WARNINGS"), ISPACE, &ask));
}

/* ---- names ---- */

static const char *const namings[] = {
    [SQL_NAMING_CREATE_TEMPORARY] = "create", [SQL_NAMING_DROP_TABLE] = "drop",
    [SQL_NAMING_PREPARE] = "prepare",         [SQL_NAMING_EXECUTE] = "execute",
    [SQL_NAMING_DEALLOCATE] = "deallocate",   [SQL_NAMING_HANDLER_OPEN] = "open",
    [SQL_NAMING_HANDLER_CLOSE] = "close",     [SQL_NAMING_HANDLER_READ] = "read",
    [SQL_NAMING_SAVEPOINT] = "savepoint",
};

/* `what`, T for TEMPORARY, E for EXISTS, the names, and the literal in brackets. */
static const char *names_shown(const char *text, uint32_t mode)
{
    static char room[512];
    struct sql_names n;
    read_prefixes(text, mode);
    if (!sql_names_read(copy(text), mode, &n))
        return "no";
    size_t len = (size_t)snprintf(room, sizeof room, "%s%s%s", namings[n.what],
                                  n.temporary ? " T" : "", n.if_exists ? " E" : "");
    for (size_t i = 0; i < n.count; i++)
        len += (size_t)snprintf(room + len, sizeof room - len, " %s%s%s", shown(n.item[i].schema),
                                n.item[i].schema.len ? "." : "", shown(n.item[i].name));
    if (n.literal)
        snprintf(room + len, sizeof room - len, " [%s]", shown(n.body));
    return room;
}

static void names_are_told(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"CREATE TEMPORARY TABLE t (a INT)", "create t", 0},
        {"create temporary table if not exists `d 1`.`t 2` select ';', 1;", "create E d 1.t 2", 0},
        {"CREATE OR REPLACE TEMPORARY TABLE d.t LIKE u", "create d.t", 0},
        {"CREATE TEMPORARY TABLE \"t\" (a INT)", "create t", ANSI},
        {"CREATE TEMPORARY TABLE d.2024_log (a INT)", "create d.2024_log", 0},
        {"CREATE TEMPORARY TABLE t SELECT .5, 1.e5", "create t", 0},
        {"DROP TABLE a", "drop a", 0},
        {"DROP TEMPORARY TABLES IF EXISTS a, d . b CASCADE;", "drop T E a d.b", 0},
        {"DROP TABLE a WAIT 5 RESTRICT", "drop a", MARIADB},
        {"DROP TABLE a NOWAIT", "drop a", MARIADB},
        {"PREPARE s FROM 'SELECT ?'", "prepare s [SELECT ?]", 0},
        {"PREPARE `s t` FROM \"SELECT 1\";", "prepare s t [SELECT 1]", 0},
        {"PREPARE s FROM 'SELECT ''a'''", "prepare s", 0},
        {"PREPARE s FROM 'SELECT' ' 1'", "prepare s", MARIADB},
        {"PREPARE s FROM @a", "prepare s", 0},
        {"PREPARE s FROM CONCAT('SELECT ', @a)", "prepare s", 0},
        {"EXECUTE s", "execute s", 0},
        {"EXECUTE s USING @a, @b;", "execute s", 0},
        {"DEALLOCATE PREPARE s", "deallocate s", 0},
        {"DROP PREPARE s", "deallocate s", 0},
        {"HANDLER t OPEN", "open t", 0},
        {"HANDLER d.t OPEN;", "open t", 0},
        {"HANDLER t OPEN AS x", "open x", 0},
        {"HANDLER d.t OPEN `x`", "open x", 0},
        {"HANDLER t CLOSE", "close t", 0},
        {"HANDLER t READ FIRST WHERE a = ')'", "read t", 0},
        {"SAVEPOINT a", "savepoint a", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = names_shown(rows[i].text, rows[i].mode);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s\n  got  %s\n  want %s", rows[i].text, got, rows[i].want);
    }
}

static void names_that_are_not_plain_are_not_told(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "CREATE TABLE t (a INT)",
        "CREATE TEMPORARY TABLE",
        "CREATE TEMPORARY TABLE `t``u` (a INT)",
        "CREATE TEMPORARY TABLE 't' (a INT)",
        "CREATE TEMPORARY TABLE IF EXISTS t (a INT)",
        "CREATE OR TEMPORARY TABLE t (a INT)",
        "CREATE TEMPORARY SEQUENCE s",
        "CREATE TEMPORARY TABLE t (a INT); DROP TABLE t",
        "CREATE TEMPORARY TABLE t (a INT); -- x",
        "CREATE TEMPORARY TABLE t (a INT) /*!50100 COMMENT 'x' */",
        "CREATE /*! TEMPORARY */ TABLE t (a INT)",
        "CREATE TEMPORARY TABLE t SELECT 'x",
        "DROP TABLE",
        "DROP TABLE a b",
        "DROP TABLE a,",
        "DROP TABLE a RESTRICT NOWAIT",
        "DROP VIEW a",
        "DROP TABLE a; DROP TABLE b",
        "DROP TABLE ``",
        "PREPARE s",
        "PREPARE 's' FROM 'x'",
        "PREPARE d.s FROM 'x'",
        "PREPARE s FROM 'x'; SELECT 1",
        "EXECUTE",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "DEALLOCATE s",
        "HANDLER t",
        "HANDLER t OPEN AS",
        "HANDLER t OPEN x y",
        "HANDLER t CLOSE x",
        "SAVEPOINT",
        "SAVEPOINT a b",
        "RELEASE SAVEPOINT a",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(names_shown(texts[i], MARIADB), "no") != 0)
            fail_msg("%s: %s", texts[i], names_shown(texts[i], MARIADB));
    char text[512] = "DROP TABLE a0";
    struct sql_names n;
    for (size_t i = 1; i <= SQL_ITEMS_MAX; i++) {
        assert_true(sql_names_read(copy(text), 0, &n));
        assert_int_equal(n.count, i);
        snprintf(text + strlen(text), 16, ",a%zu", i);
    }
    assert_false(sql_names_read(copy(text), 0, &n));
}

/* ---- locks ---- */

static struct sql_locks locks_of(const char *text)
{
    struct sql_locks l;
    read_prefixes(text, 0);
    if (!sql_locks_read(copy(text), 0, &l))
        fail_msg("%s", text);
    return l;
}

static void the_names_of_locks_are_told(void **state)
{
    (void)state;
    struct sql_locks l = locks_of("SELECT GET_LOCK('a b', 1), get_lock (\"c\",.5) FROM t; DO 1");
    assert_true(l.gets && l.all_literal && !l.releases && !l.releases_all);
    assert_int_equal(l.count, 2);
    assert_bytes(l.name[0], "a b");
    assert_bytes(l.name[1], "c");
    l = locks_of("SELECT `get_lock`('q', 0)");
    assert_true(l.gets && l.count == 1);
    l = locks_of("DO RELEASE_LOCK('a'), RELEASE_ALL_LOCKS()");
    assert_true(!l.gets && l.releases && l.releases_all && l.all_literal && !l.count);
    l = locks_of("SELECT IF(GET_LOCK('a', 0), GET_LOCK('b', 0), 'GET_LOCK(''c'', 0)')");
    assert_true(l.count == 2 && l.all_literal);
    l = locks_of("SELECT get_lock FROM t /* GET_LOCK('a', 1) */");
    assert_true(!l.gets && l.all_literal && !l.count);
}

static void names_of_locks_that_are_not_literals_are_admitted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SELECT GET_LOCK(@a, 1)",
        "SELECT GET_LOCK(CONCAT('a', 'b'), 1)",
        "SELECT GET_LOCK('a' 'b', 1)",
        "SELECT GET_LOCK('a''b', 1)",
        "SELECT GET_LOCK('a\\n', 1)",
        "SELECT GET_LOCK('a`', 1)",
        "SELECT GET_LOCK('caf\xc3\xa9', 1)",
        "SELECT GET_LOCK('', 1)",
        "SELECT GET_LOCK(?, 1)",
        "SELECT GET_LOCK(N'a', 1)",
        "SELECT GET_LOCK('a'), 1",
        "SELECT GET_LOCK(",
        "SELECT GET_LOCK('a', GET_LOCK(@b, 1))",
        "SELECT GET_LOCK('a', 1), RELEASE_LOCK(@b)",
        "SELECT SERVICE_GET_READ_LOCKS('a', 'b', 1)",
        "SELECT version_tokens_lock_shared('a', 1)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (locks_of(texts[i]).all_literal)
            fail_msg("%s", texts[i]);
    char text[1024] = "DO 1";
    for (int i = 0; i <= SQL_ITEMS_MAX; i++) {
        snprintf(text + strlen(text), 32, ",GET_LOCK('l%d',0)", i);
        struct sql_locks l = locks_of(text);
        assert_int_equal(l.all_literal, i < SQL_ITEMS_MAX);
    }
    struct sql_locks l;
    assert_false(sql_locks_read(copy("SELECT GET_LOCK('a', 1) /*! , 1 */"), 0, &l));
    assert_false(sql_locks_read(copy("SELECT GET_LOCK('a', 1), 'x"), 0, &l));
    assert_false(sql_locks_read(copy("SELECT GET_LOCK('a', 1), '\xc3\xa9'"), GBK, &l));
}

/* ---- CONNECTION_ID() ---- */

/* The text with a mark in each place: <> a call, <@> the variable, <#> an id, |x| behind an item
 * that is named x. `no` when it cannot be read, `threads: ` in front when it is about them. */
static const char *places_shown(const char *text, uint32_t mode)
{
    static char room[1024];
    static const char *const marks[] = {
        [SQL_PLACE_CALL] = "<>", [SQL_PLACE_VARIABLE] = "<@>", [SQL_PLACE_ID] = "<#>"};
    struct sql_places p;
    struct bytes t = copy(text);
    size_t done = 0;
    read_prefixes(text, mode);
    if (!sql_connection_ids_read(t, mode, &p))
        return "no";
    size_t len = (size_t)snprintf(room, sizeof room, "%s", p.about_threads ? "threads: " : "");
    for (size_t i = 0; i < p.count; i++) {
        size_t at = p.item[i].at;
        size_t end = at + p.item[i].len;
        bool name = p.item[i].what == SQL_PLACE_NAME;
        size_t kept = name ? end : at;
        assert_true(kept >= done && end <= t.len);
        len += (size_t)snprintf(room + len, sizeof room - len, "%.*s", (int)(kept - done),
                                text + done);
        len += name ? (size_t)snprintf(room + len, sizeof room - len, "|%.*s|", (int)(end - at),
                                       text + at)
                    : (size_t)snprintf(room + len, sizeof room - len, "%s", marks[p.item[i].what]);
        done = end;
    }
    snprintf(room + len, sizeof room - len, "%s", text + done);
    return room;
}

static void assert_places(const struct set_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = places_shown(rows[i].text, rows[i].mode);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s\n  got  %s\n  want %s", rows[i].text, got, rows[i].want);
    }
}

#define ASSERT_PLACES(rows) assert_places(rows, sizeof(rows) / sizeof(rows)[0])

static void the_places_of_connection_id_are_told(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"INSERT INTO t VALUES (.5, CONNECTION_ID())", "INSERT INTO t VALUES (.5, <>)", 0},
        {"DO CONNECTION_ID(), @@pseudo_thread_id", "DO <>, <@>", 0},
        {"SELECT a FROM t WHERE b = CONNECTION_ID() ORDER BY connection_id ( )",
         "SELECT a FROM t WHERE b = <> ORDER BY <>", 0},
        {"SELECT 'CONNECTION_ID()', app.connection_id(), connection_id, @connection_id, "
         "@@global.pseudo_thread_id, connection_id(1)",
         "SELECT 'CONNECTION_ID()', app.connection_id(), connection_id, @connection_id, "
         "@@global.pseudo_thread_id, connection_id(1)",
         0},
        {"SET @a = CONNECTION_ID(), @b = @@session.`pseudo_thread_id`", "SET @a = <>, @b = <@>", 0},
        {"SET @@pseudo_thread_id = 5", "no", 0},
        {"SELECT 1; SET @@pseudo_thread_id = 5", "no", 0},
        {"CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW SET NEW.a = CONNECTION_ID()",
         "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW SET NEW.a = CONNECTION_ID()", 0},
        {"CREATE VIEW v AS SELECT CONNECTION_ID()", "CREATE VIEW v AS SELECT CONNECTION_ID()", 0},
        {"CREATE OR REPLACE TEMPORARY TABLE t (a INT DEFAULT (CONNECTION_ID())) SELECT "
         "CONNECTION_ID() a",
         "CREATE OR REPLACE TEMPORARY TABLE t (a INT DEFAULT (CONNECTION_ID())) SELECT <> a", 0},
        {"ALTER TABLE t ALTER a SET DEFAULT (CONNECTION_ID())",
         "ALTER TABLE t ALTER a SET DEFAULT (CONNECTION_ID())", 0},
        {"PREPARE p FROM 'DO CONNECTION_ID()'", "PREPARE p FROM 'DO <>'", 0},
        {"PREPARE p FROM 'DO CONNECTION_ID(), ''x'''", "PREPARE p FROM 'DO CONNECTION_ID(), ''x'''",
         0},
        {"EXECUTE IMMEDIATE 'DO CONNECTION_ID()'", "EXECUTE IMMEDIATE 'DO <>'", MARIADB},
        {"DO 1 /*! + CONNECTION_ID() */", "DO 1 /*! + <> */", 0},
        {"DO 1 /*!50000 + CONNECTION_ID() */", "DO 1 /*!50000 + <> */", 0},
        {"DO CONNECTION_ID/*! () */", "no", 0},
        {"DO 1 /*M!100100 + CONNECTION_ID() */", "DO 1 /*M!100100 + <> */", MARIADB},
        {"DO 1 /*M!100100 + CONNECTION_ID() */", "DO 1 /*M!100100 + CONNECTION_ID() */", 0},
        {"DO /*!99999 ' */ ' CONNECTION_ID() ' /*!99999 ' */", "no", 0},
        {"DO CONNECTION_ID() /*! + 1", "no", 0},
        {"DO CONNECTION_ID(), 'x", "no", 0},
        {"DO CONNECTION_ID(), '\xc3\xa9'", "no", GBK},
    };
    ASSERT_PLACES(rows);
    char text[4096] = "DO 1";
    struct sql_places p;
    for (int i = 0; i <= SQL_PLACES_MAX; i++) {
        snprintf(text + strlen(text), 32, ",CONNECTION_ID()");
        assert_int_equal(sql_connection_ids_read(copy(text), 0, &p), i < SQL_PLACES_MAX);
    }
    snprintf(text, sizeof text, "DO %.*sCONNECTION_ID()", 30, "((((((((((((((((((((((((((((((((");
    assert_true(sql_connection_ids_read(copy(text), 0, &p));
    snprintf(text, sizeof text, "DO %.*sCONNECTION_ID()", 32, "((((((((((((((((((((((((((((((((");
    assert_false(sql_connection_ids_read(copy(text), 0, &p));
}

static void columns_that_hold_an_id_are_named(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"SELECT CONNECTION_ID()", "SELECT <>|CONNECTION_ID()|", 0},
        {"select connection_id/* */( ) , 1", "select <>|connection_id/* */( )| , 1", 0},
        {"SELECT 1, `connection_id`();", "SELECT 1, <>|`connection_id`()|;", 0},
        {"SELECT DISTINCT CONNECTION_ID() FROM t", "SELECT DISTINCT <>|CONNECTION_ID()| FROM t", 0},
        {"SELECT CONNECTION_ID() + 1 INTO @a", "SELECT <> + 1|CONNECTION_ID() + 1| INTO @a", 0},
        {"SELECT @@pseudo_thread_id, 1; SELECT CONNECTION_ID() WHERE 1",
         "SELECT <@>|@@pseudo_thread_id|, 1; SELECT <>|CONNECTION_ID()| WHERE 1", 0},
        {"SELECT f(CONNECTION_ID(), 1), 2", "SELECT f(<>, 1)|f(CONNECTION_ID(), 1)|, 2", 0},
        {"WITH c AS (SELECT CONNECTION_ID() x) SELECT CONNECTION_ID() FROM c",
         "WITH c AS (SELECT <> x) SELECT <>|CONNECTION_ID()| FROM c", 0},
        {"SELECT (SELECT CONNECTION_ID() FROM t)",
         "SELECT (SELECT <>|CONNECTION_ID()| FROM t)|(SELECT CONNECTION_ID() FROM t)|", 0},
        {"SELECT CONNECTION_ID() AS a, CONNECTION_ID() b, CONNECTION_ID() 'c', CONNECTION_ID() `d`",
         "SELECT <> AS a, <> b, <> 'c', <> `d`", 0},
        {"SELECT CONNECTION_ID() EXCEPT SELECT CONNECTION_ID() except",
         "SELECT <>|CONNECTION_ID()| EXCEPT SELECT <> except", 0},
        {"SELECT CONNECTION_ID() IS NULL", "SELECT <> IS NULL|CONNECTION_ID() IS NULL|", 0},
        {"SELECT CONNECTION_ID() = 'a' \"b\"", "SELECT <> = 'a' \"b\"|CONNECTION_ID() = 'a' \"b\"|",
         0},
        {"SELECT CONNECTION_ID() = date 'x', CONNECTION_ID() + t.date 'x'",
         "SELECT <> = date 'x'|CONNECTION_ID() = date 'x'|, <> + t.date 'x'", 0},
        {"SELECT CONNECTION_ID() = x'41', CONNECTION_ID() = x '41'",
         "SELECT <> = x'41'|CONNECTION_ID() = x'41'|, <> = x '41'", 0},
        {"SELECT CASE WHEN CONNECTION_ID() THEN a ELSE b END, CASE a WHEN 1 THEN CONNECTION_ID() "
         "END c",
         "SELECT CASE WHEN <> THEN a ELSE b END|CASE WHEN CONNECTION_ID() THEN a ELSE b END|, CASE "
         "a WHEN 1 THEN <> END c",
         0},
        {"SELECT CONNECTION_ID() + @@sql_mode - t.a",
         "SELECT <> + @@sql_mode - t.a|CONNECTION_ID() + @@sql_mode - t.a|", 0},
        /* In doubt it has an alias. */
        {"SELECT a + INTERVAL CONNECTION_ID() DAY", "SELECT a + INTERVAL <> DAY", 0},
        {"SELECT /*! CONNECTION_ID() */", "SELECT /*! <>|CONNECTION_ID()| */", 0},
        {"SELECT CONNECTION_ID() /*! AS x */, 1", "SELECT <> /*! AS x */, 1", 0},
        {"SELECT CONNECTION_ID() /*! + */ + 1", "SELECT <> /*! + */ + 1", 0},
        {"INSERT INTO t SELECT CONNECTION_ID() ON DUPLICATE KEY UPDATE a = CONNECTION_ID()",
         "INSERT INTO t SELECT <>|CONNECTION_ID()| ON DUPLICATE KEY UPDATE a = <>", 0},
        {"INSERT INTO t VALUES (CONNECTION_ID()) RETURNING CONNECTION_ID(), b",
         "INSERT INTO t VALUES (<>) RETURNING <>|CONNECTION_ID()|, b", MARIADB},
    };
    ASSERT_PLACES(rows);
}

static void ids_that_are_compared_with_the_servers_are_places(void **state)
{
    (void)state;
    static const struct set_row rows[] = {
        {"KILL CONNECTION_ID()", "threads: KILL CONNECTION_ID()", 0},
        {"SELECT CONNECTION_ID() FROM `innodb_trx`",
         "threads: SELECT CONNECTION_ID() FROM `innodb_trx`", 0},
        {"SELECT * FROM x WHERE PROCESSLIST_ID = CONNECTION_ID()",
         "threads: SELECT * FROM x WHERE PROCESSLIST_ID = CONNECTION_ID()", 0},
        {"SELECT IS_USED_LOCK('a') = 2147483650, 2147483650",
         "threads: SELECT IS_USED_LOCK('a') = <#>|IS_USED_LOCK('a') = 2147483650|, 2147483650", 0},
        {"SELECT 1 FROM processlist WHERE id IN (2147483650, '4294967295') OR 2147483649 = id",
         "threads: SELECT 1 FROM processlist WHERE id IN (<#>, <#>) OR <#> = id", 0},
        {"SELECT 1 FROM processlist WHERE id = 2147483647 OR id = 4294967296 OR id = '214748365x'",
         "threads: SELECT 1 FROM processlist WHERE id = 2147483647 OR id = 4294967296 OR id = "
         "'214748365x'",
         0},
        {"SELECT a = 2147483650 FROM t", "SELECT a = 2147483650 FROM t", 0},
    };
    ASSERT_PLACES(rows);
}

/* ---- tokens ---- */

/* The pieces' texts, with a bar between. */
static const char *pieces_shown(const char *text, uint32_t mode)
{
    static char room[512];
    struct bytes t = copy(text);
    size_t len = 0;
    room[0] = '\0';
    struct sql_reader r = sql_reader(t, mode);
    for (; r.type != SQL_PIECE_END && r.type != SQL_PIECE_BAD; sql_next(&r)) {
        assert_true(r.text.len > 0 && r.text.at >= t.at && r.text.at + r.text.len <= t.at + t.len);
        len +=
            (size_t)snprintf(room + len, sizeof room - len, "%s%s", len ? "|" : "", shown(r.text));
    }
    if (r.type == SQL_PIECE_BAD)
        snprintf(room + len, sizeof room - len, "|BAD");
    sql_next(&r);
    assert_true(r.type == SQL_PIECE_END || r.type == SQL_PIECE_BAD);
    return room;
}

static void a_text_is_cut_as_the_servers_cut_it(void **state)
{
    (void)state;
    assert_string_equal(pieces_shown("1 1.5 .5 1. 1e5 1.e5 1E-5 1e+5", 0),
                        "1|1.5|.5|1.|1e5|1.e5|1E-5|1e+5");
    assert_string_equal(pieces_shown("0x4D 2nd 5e 5e+ 1e5x 1.5x t.5 t .5 =.5 a.b", 0),
                        "0x4D|2nd|5e|5e|+|1e5|x|1.5|x|t|.|5|t|.5|=|.5|a|.|b");
    assert_string_equal(pieces_shown("@a@b.c @'d' @@e a:=b", 0), "@a|@b.c|@'d'|@@|e|a|:=|b");
    assert_string_equal(pieces_shown("'a\\'b' \"c\\\"d\" `e\\`", 0), "'a\\'b'|\"c\\\"d\"|`e\\`");
    assert_string_equal(pieces_shown("@'a\\'b' x", 0), "@'a\\'b'|x");
    assert_string_equal(pieces_shown("@\"a\\\" x", ANSI), "@\"a\\\"|x");
    assert_string_equal(pieces_shown("\"a\\\" 'b'", ANSI), "\"a\\\"|'b'");
    assert_string_equal(pieces_shown("'a\\' 'b'", NO_ESC), "'a\\'|'b'");
    assert_string_equal(pieces_shown("'a''b'", 0), "'a''b'");
    assert_string_equal(pieces_shown("a--b a-- b", 0), "a|-|-|b|a");
    assert_string_equal(pieces_shown("a #b\nc /*'*/d", 0), "a|c|d");
    assert_string_equal(pieces_shown("a /*/ b", 0), "a|BAD");
    assert_string_equal(pieces_shown("a 'b\\", 0), "a|BAD");
    assert_string_equal(pieces_shown("ab\xc3\xa9 c", GBK), "ab|BAD");
    assert_string_equal(pieces_shown("'ab\xc3\xa9' c", GBK), "|BAD");
    assert_string_equal(pieces_shown("caf\xc3\xa9 c", 0), "caf\xc3\xa9|c");
}

#define TEST(t) cmocka_unit_test_teardown(t, free_copies)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_sets_of_frameworks_are_simple),
        TEST(every_spelling_of_a_target_is_told),
        TEST(a_scope_that_is_a_word_holds_for_the_names_behind_it),
        TEST(values_are_literals_defaults_or_something_else),
        TEST(space_comments_and_semicolons_change_nothing),
        TEST(the_characteristics_of_a_transaction_are_read_whole),
        TEST(what_is_not_understood_to_its_end_is_no_simple_set),
        TEST(a_set_may_be_as_long_as_the_limits_say),
        TEST(a_select_of_variables_is_read),
        TEST(a_select_of_anything_more_is_not_read),
        TEST(one_fact_is_told),
        TEST(more_than_one_fact_is_not_told),
        TEST(names_are_told),
        TEST(names_that_are_not_plain_are_not_told),
        TEST(the_names_of_locks_are_told),
        TEST(names_of_locks_that_are_not_literals_are_admitted),
        TEST(the_places_of_connection_id_are_told),
        TEST(columns_that_hold_an_id_are_named),
        TEST(ids_that_are_compared_with_the_servers_are_places),
        TEST(a_text_is_cut_as_the_servers_cut_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
