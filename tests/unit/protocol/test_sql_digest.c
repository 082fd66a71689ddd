/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol/sql_digest.h. Every text is read out of an exact copy on the heap, and so is every
 * prefix of it: the sanitizer sees a read beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
// cmocka wants the three above first
#include <cmocka.h>

#include "protocol/sql_digest.h"
#include "protocol/sql_scan.h"

enum {
    ANSI = SQL_MODE_ANSI_QUOTES,
    NO_ESC = SQL_MODE_NO_BACKSLASH_ESCAPES,
    GBK = SQL_MODE_MULTIBYTE_UNSAFE,
};

static struct sql_digest digest_of(const char *text, size_t len, uint32_t mode)
{
    struct sql_digest d;
    uint8_t *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    sql_digest_make(bytes_of(copy, len), mode, &d);
    free(copy);
    assert_int_equal(strlen(d.text), d.len);
    assert_true(d.len <= SQL_DIGEST_TEXT_MAX_BYTES);
    return d;
}

struct row {
    const char *text;
    const char *want;
    uint32_t mode;
};

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sql_digest d = digest_of(rows[i].text, strlen(rows[i].text), rows[i].mode);
        if (strcmp(d.text, rows[i].want) != 0)
            fail_msg("%s\n  got  %s\n  want %s", rows[i].text, d.text, rows[i].want);
    }
}

#define CHECK(rows) check(rows, sizeof rows / sizeof rows[0])

static void literals_become_question_marks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT 'a', \"b\" FROM t WHERE c=1", "SELECT ? FROM t WHERE c = ?", 0},
        {"SELECT a FROM t WHERE b = 'it''s' AND c = 'd\\'e'",
         "SELECT a FROM t WHERE b = ? AND c = ?", 0},
        {"UPDATE t SET a = 1.5, b = .5, c = 1.e5, d = 1e-5, e = 0x4D",
         "UPDATE t SET a = ?, b = ?, c = ?, d = ?, e = ?", 0},
        {"SELECT x'4D' + b'1' + N'c' + _utf8mb4'd' + DATE '2026-01-01'",
         "SELECT ? + ? + ? + _utf8mb4 ? + DATE ?", 0},
        {"SELECT 'a' 'b' /* c */ 'd'", "SELECT ?", 0},
        {"SELECT ?, :name", "SELECT ?, : name", 0},
        {"SELECT 1", "SELECT ?", 0},
        {"SELECT -1", "SELECT ?", 0},
        {"SELECT a - 1, (b) -1, -c, a=-1, a IN (-1, +2)",
         "SELECT a - ?, (b) - ?, - c, a = ?, a IN (?)", 0},
        {"SELECT \"a\" FROM \"t\"", "SELECT \"a\" FROM \"t\"", ANSI},
        {"SELECT 'a\\', b, 'c'", "SELECT ?, b, ?", NO_ESC},
        {"SET @a := 5, @'b c' = 6", "SET @a := ?, @? = ?", 0},
        {"SELECT @@session.sql_mode, `a`.`b`", "SELECT @@session.sql_mode, `a`.`b`", 0},
        {"INSERT INTO t VALUES (NULL, 1)", "INSERT INTO t VALUES (?)", 0},
        {"SELECT a FROM t WHERE b IS NULL AND c = NULL",
         "SELECT a FROM t WHERE b IS NULL AND c = ?", 0},
    };
    CHECK(rows);
}

static void passwords_are_literals(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"CREATE USER 'app'@'10.0.0.1' IDENTIFIED BY 'secret'", "CREATE USER ? @? IDENTIFIED BY ?",
         0},
        {"CREATE USER app@localhost IDENTIFIED WITH 'x' BY \"secret\"",
         "CREATE USER app @localhost IDENTIFIED WITH ? BY ?", 0},
        {"ALTER USER app IDENTIFIED BY PASSWORD '*ABC'", "ALTER USER app IDENTIFIED BY PASSWORD ?",
         0},
        {"SET PASSWORD FOR 'app'@'%' = PASSWORD('secret')", "SET PASSWORD FOR ? @? = PASSWORD(?)",
         0},
        {"SET PASSWORD='secret'", "SET PASSWORD = ?", 0},
        {"CHANGE MASTER TO MASTER_PASSWORD='secret'", "CHANGE MASTER TO MASTER_PASSWORD = ?", 0},
    };
    CHECK(rows);
}

static void the_length_of_a_list_does_not_count(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (?)", 0},
        {"SELECT a FROM t WHERE b IN(1,2 , 'c')", "SELECT a FROM t WHERE b IN (?)", 0},
        {"SELECT a FROM t WHERE b IN (?,?,?)", "SELECT a FROM t WHERE b IN (?)", 0},
        {"INSERT INTO t VALUES (1,2)", "INSERT INTO t VALUES (?)", 0},
        {"INSERT INTO t (a, b) VALUES (1,2),(3,-4) , ( 5 , NULL )",
         "INSERT INTO t(a, b) VALUES (?)", 0},
        {"SELECT a FROM t WHERE (b, c) IN ((1,2),(3,4))", "SELECT a FROM t WHERE (b, c) IN ((?))",
         0},
        {"SELECT a FROM t LIMIT 1, 2", "SELECT a FROM t LIMIT ?", 0},
        {"SELECT 1, 2, a, 3, 4", "SELECT ?, a, ?", 0},
        {"SELECT f(1, 2), f(1), f(), f(a, 1)", "SELECT f(?), f(?), f(), f(a, ?)", 0},
        {"VALUES (1), (a), (2), (3, b), (4), (5),", "VALUES (?), (a), (?), (?, b), (?),", 0},
        {"VALUES (1), (2,", "VALUES (?), (?,", 0},
        {"VALUES (1), (2", "VALUES (?), (?", 0},
        {"VALUES (1), (", "VALUES (?), (", 0},
        {"VALUES (1), ((2))", "VALUES (?), ((?))", 0},
        {"SELECT 1,", "SELECT ?,", 0},
    };
    CHECK(rows);
}

static void space_comments_and_the_last_semicolon_do_not_count(void **state)
{
    (void)state;
    static const char want[] = "SELECT a, COUNT(*) FROM t WHERE b >= ? AND c <=> ? OR d ->> ?";
    static const char *const texts[] = {
        "SELECT a,COUNT(*) FROM t WHERE b>=1 AND c<=>2 OR d->>'$.e'",
        "  SELECT a , COUNT( * )\n FROM\tt WHERE b >= 1 AND c <=> 2 OR d ->> '$.e' ; ; ",
        "/* 'x */SELECT/**/a,COUNT(*) # y\nFROM t -- z\nWHERE b>=/**/1 AND c<=>2 OR d->>'$.e'#",
    };
    uint64_t hash = digest_of(texts[0], strlen(texts[0]), 0).hash;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sql_digest d = digest_of(texts[i], strlen(texts[i]), 0);
        assert_string_equal(d.text, want);
        assert_true(d.hash == hash);
    }
    static const struct row rows[] = {
        {"", "", 0},
        {" ; ", "", 0},
        {"-- x", "", 0},
        {"SELECT 1; SELECT 2;", "SELECT ?; SELECT ?", 0},
        {"SELECT /*+ SET_VAR(a='b') */ 1;", "SELECT ?", 0},
    };
    CHECK(rows);
}

static void what_cannot_be_read_shows_nothing(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SELECT a, 'secret", "SELECT a, ?", 0},
        {"SELECT a, \"secret", "SELECT a, ?", 0},
        {"SELECT a, `b", "SELECT a, ?", 0},
        {"SELECT a, 'secret\\", "SELECT a, ?", 0},
        {"SELECT a /* secret", "SELECT a ?", 0},
        {"SELECT a /*!40101 , 'secret' */, b", "SELECT a ?", 0},
        {"SELECT a /*M! , 'secret' */, b", "SELECT a ?", SQL_MODE_MARIADB},
        {"SELECT a /*M! , 'secret' */, b", "SELECT a, b", 0},
        {"SELECT a, '\xbf\x27 secret', b", "SELECT a, ?", GBK},
        {"SELECT \xbf\x27 secret", "SELECT ?", GBK},
        {"SELECT 'secret'", "SELECT ?", GBK},
        {"SELECT caf\xc3\xa9, '\xc3\xa9'", "SELECT caf\xc3\xa9, ?", 0},
        {"SELECT `a\nb\x7f`", "SELECT `a?b?`", 0},
    };
    CHECK(rows);
    assert_string_equal(digest_of("SELECT a\0, 'secret'", 19, 0).text, "SELECT a ?");
}

static void no_prefix_shows_a_literal(void **state)
{
    (void)state;
    static const char text[] =
        "INSERT INTO t (a, b) VALUES ('ZQ1', \"ZQ2\"), (x'5A51', 7357e7357), "
        "(N'ZQ', -7357.7357e+7) /* ZQ */ , (@a, 'ZQ''ZQ\\'ZQ') -- ZQ\n"
        "ON DUPLICATE KEY UPDATE `c` = 0x7357; # ZQ";
    for (size_t len = 0; len <= strlen(text); len++)
        for (uint32_t mode = 0; mode < 16; mode += 2) { /* with backslashes as escapes */
            struct sql_digest d = digest_of(text, len, mode);
            assert_null(strstr(d.text, "735"));
            if (!(mode & ANSI))
                assert_null(strstr(d.text, "ZQ"));
        }
}

static void a_long_digest_is_cut_at_a_token_and_hashed_whole(void **state)
{
    (void)state;
    char text[4096] = "SELECT";
    char other[4096];
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), 32, " column%03d +", i);
    snprintf(other, sizeof other, "%s x", text);
    struct sql_digest d = digest_of(text, strlen(text), 0);
    assert_true(d.len <= SQL_DIGEST_TEXT_MAX_BYTES && d.len > SQL_DIGEST_TEXT_MAX_BYTES - 16);
    assert_string_equal(d.text + d.len - 4, " ...");
    assert_memory_equal(d.text, text, d.len - 4);
    assert_int_equal(text[d.len - 4], ' ');
    struct sql_digest e = digest_of(other, strlen(other), 0);
    assert_string_equal(d.text, e.text);
    assert_true(d.hash != e.hash);
    text[0] = '`';
    memset(text + 1, 'a', 1000);
    strcpy(text + 1001, "`, b");
    assert_string_equal(digest_of(text, strlen(text), 0).text, "...");
}

/* One byte below, at and above the room. */
static void a_digest_that_just_fits_is_not_cut(void **state)
{
    (void)state;
    char text[SQL_DIGEST_TEXT_MAX_BYTES + 8];
    memset(text, 'a', sizeof text);
    size_t fits = SQL_DIGEST_TEXT_MAX_BYTES - 4;
    text[5] = ' ';
    assert_int_equal(digest_of(text, fits, 0).len, fits);
    struct sql_digest d = digest_of(text, fits + 1, 0);
    assert_string_equal(d.text, "aaaaa ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_become_question_marks),
        cmocka_unit_test(passwords_are_literals),
        cmocka_unit_test(the_length_of_a_list_does_not_count),
        cmocka_unit_test(space_comments_and_the_last_semicolon_do_not_count),
        cmocka_unit_test(what_cannot_be_read_shows_nothing),
        cmocka_unit_test(no_prefix_shows_a_literal),
        cmocka_unit_test(a_long_digest_is_cut_at_a_token_and_hashed_whole),
        cmocka_unit_test(a_digest_that_just_fits_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
