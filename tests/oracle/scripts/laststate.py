# SPDX-License-Identifier: Apache-2.0
"""State of the last statement but LAST_INSERT_ID(): ROW_COUNT, FOUND_ROWS, warnings, diagnostics. Right, or an error."""
from script import script

LOST = "1235.*state of the last statement"
# Between an INSERT of 2 rows and ROW_COUNT(): what does each statement leave?
AFTER = {
    "select": "SELECT v FROM t", "select_one": "SELECT 1", "update": "UPDATE t SET n = n + 1 WHERE id < 4", "nothing": "DO 1",
    "delete": "DELETE FROM t WHERE id = 1", "set": "SET time_zone = '+01:00'", "set_user": "SET @x = 1", "use": "USE app",
    "names": "SET NAMES utf8mb4", "begin": "BEGIN", "commit": "COMMIT", "show": "SHOW TABLES LIKE 't'",
    "ddl": "CREATE TABLE lst (a INT)", "error": "SELECT nothing", "syntax": "SELEC 1", "replace": "REPLACE INTO t (id, v) VALUES (1, 'z')",
    "insert_select": "INSERT INTO trail (v) SELECT v FROM t", "call": "CALL p_insert('x')", "call_rows": "CALL p_two()",
    "update_nothing": "UPDATE t SET n = n", "duplicate": "INSERT INTO t (id) VALUES (1)", "variables": "SELECT @@time_zone",
    "ignore": "INSERT IGNORE INTO t (id) VALUES (1), (99)", "truncate": "TRUNCATE trail", "into": "SELECT 1 INTO @into",
    "show_warnings": "SHOW WARNINGS", "set_twice": "SET sql_mode = DEFAULT, time_zone = '+01:00'", "autocommit": "SET autocommit = 1",
}
for name, sql in AFTER.items():
    # Asking for FOUND_ROWS() leaves a warning on MySQL, also where Sluice refuses it: SHOW WARNINGS would see that.
    found = "" if name == "show_warnings" else "SELECT FOUND_ROWS()"
    script(f"row_count_after_{name}", f"""
    INSERT INTO u (v) VALUES ('p'), ('q')
    {sql}
    SELECT ROW_COUNT()
    SELECT ROW_COUNT() AS again
    {sql}
    {found}
    {sql}
    SHOW COUNT(*) WARNINGS
    """, refuse=LOST, clean="DROP TABLE IF EXISTS app.lst")

for verb, text in {"ping": ".ping", "init_db": ".init_db app", "option": ".option 0", "reset": ".reset", "statistics": "[any] SELECT 1"}.items():
    script(f"row_count_after_command_{verb}", f"""
    UPDATE t SET n = 0 WHERE id < 3
    {text}
    SELECT ROW_COUNT(), FOUND_ROWS()
    SELECT v FROM t LIMIT 3
    {text}
    SELECT FOUND_ROWS()
    SELECT CAST('x' AS SIGNED)
    {text}
    SHOW WARNINGS
    SELECT CAST('x' AS SIGNED)
    {text}
    SELECT @@warning_count
    """, refuse=LOST)

script("row_count_kinds", """
UPDATE t SET n = 7 WHERE id IN (1, 2)
SELECT ROW_COUNT()
UPDATE t SET n = 7 WHERE id IN (1, 2)
SELECT ROW_COUNT()
INSERT INTO u (v, n) VALUES ('a', ROW_COUNT())
SELECT n FROM u
DELETE FROM t
SELECT ROW_COUNT() + 0 AS n
INSERT INTO t (id, v) VALUES (1, 'x') ON DUPLICATE KEY UPDATE v = 'y'
INSERT INTO t (id, v) VALUES (1, 'x') ON DUPLICATE KEY UPDATE v = 'z'
SELECT ROW_COUNT()
BEGIN
UPDATE t SET n = 70
SELECT ROW_COUNT()
COMMIT
SELECT ROW_COUNT()
""", refuse=LOST)
script("found_rows_kinds", """
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2
SELECT FOUND_ROWS()
SELECT FOUND_ROWS()
SELECT id FROM t LIMIT 2
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id > 1 LIMIT 1
select found_rows();
SELECT id FROM t
SELECT FOUND_ROWS() AS n FROM DUAL
(SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1) UNION ALL (SELECT id FROM t LIMIT 1) LIMIT 1
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 0
SELECT FOUND_ROWS(), FOUND_ROWS()
SHOW TABLES
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 3
SET @n = FOUND_ROWS()
SELECT @n
""", refuse=LOST)
script("found_rows_wordpress", """
SELECT SQL_CALC_FOUND_ROWS t.id FROM t WHERE 1 = 1 AND t.n > 5 ORDER BY t.id DESC LIMIT 0, 2
SELECT FOUND_ROWS()
SELECT t.* FROM t WHERE id IN (5, 4)
SELECT SQL_CALC_FOUND_ROWS t.id FROM t ORDER BY id LIMIT 4, 2
SET NAMES utf8mb4
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1
INSERT INTO u (v) VALUES ('x')
SELECT FOUND_ROWS()
SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1
BEGIN
SELECT FOUND_ROWS()
COMMIT
""", refuse=LOST)
script("found_rows_prepared", """
.prepare c SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id > ? LIMIT 1
.prepare f SELECT FOUND_ROWS()
.execute c 1
.execute f
.execute c 3
.execute f
SELECT FOUND_ROWS()
.execute c 0
.stmt_close c
SELECT FOUND_ROWS()
""", refuse=LOST)
SHOWS = {"show": "SHOW WARNINGS", "count": "SHOW COUNT(*) WARNINGS", "variable": "SELECT @@warning_count",
         "session_variable": "SELECT @@session.warning_count AS w", "limit": "SHOW WARNINGS LIMIT 1",
         "limit_offset": "SHOW WARNINGS LIMIT 1, 1", "errors": "SHOW ERRORS", "error_count": "SELECT @@error_count",
         "show_error_count": "SHOW COUNT(*) ERRORS", "semicolon": "show warnings;", "comment": "/* c */ SHOW /* d */ WARNINGS",
         "diagnostics": "GET DIAGNOSTICS @n = NUMBER", "condition": "GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT, @e = MYSQL_ERRNO"}
for name, sql in SHOWS.items():
    script(f"warnings_{name}", f"""
    SELECT CAST('abc' AS SIGNED), CAST('de' AS SIGNED)
    {sql}
    {sql}
    SELECT @n, @m, @e
    SELECT 77
    {sql}
    SELECT nothing_here
    {sql}
    SELECT @n, @m, @e
    SET sql_mode = ''
    INSERT INTO u (v, n) VALUES (REPEAT('long', 20), 'abc')
    {sql}
    DROP TABLE IF EXISTS never_there
    {sql}
    {sql}
    """, refuse=LOST)
CLEARS = {"set": "SET time_zone = '+01:00'", "set_user": "SET @a = 1", "select_table": "SELECT v FROM t WHERE id = 1",
          "names": "SET NAMES utf8mb4", "names_utf8": "SET NAMES utf8", "use": "USE app", "begin": "BEGIN", "commit": "COMMIT",
          "do": "DO 0", "insert": "INSERT INTO u (n) VALUES (1)", "error": "SELEC", "show": "SHOW TABLES LIKE 't'",
          "select_var": "SELECT @@time_zone", "set_error": "SET no_such = 1", "autocommit": "SET autocommit = 1",
          "sql_mode": "SET sql_mode = 'NO_ZERO_DATE'", "select_const": "SELECT 5", "deprecated": "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'"}
for name, sql in CLEARS.items():
    script(f"warnings_cleared_by_{name}", f"""
    SELECT CAST('abc' AS SIGNED)
    {sql}
    SHOW WARNINGS
    SELECT CAST('abc' AS SIGNED)
    {sql}
    SELECT @@warning_count, @@error_count
    {sql}
    SHOW COUNT(*) WARNINGS
    """, refuse=LOST)
script("warnings_prepared_execute", """
SET sql_mode = ''
.prepare i INSERT INTO u (v, n) VALUES (?, ?)
.execute i 'a', 'not a number'
SHOW WARNINGS
.execute i 'b', '5'
SHOW WARNINGS
.prepare s SELECT CAST(? AS SIGNED)
.execute s 'x'
SELECT @@warning_count
.execute s 'y'
.stmt_close s
SHOW WARNINGS
.prepare bad SELECT nothing_at_all
SHOW WARNINGS
.prepare w SELECT 1 / 0
SHOW WARNINGS
""", refuse=LOST)
script("warnings_many", """
SELECT CAST('a' AS SIGNED), CAST('b' AS SIGNED), CAST('c' AS SIGNED), CAST('d' AS SIGNED)
SHOW WARNINGS
SHOW WARNINGS LIMIT 2
SHOW WARNINGS LIMIT 1 OFFSET 2
SELECT CAST(CONCAT('x', a.id, b.id, c.id) AS SIGNED) FROM t a, t b, t c WHERE a.id * b.id * c.id > 100
SHOW COUNT(*) WARNINGS
SHOW WARNINGS LIMIT 70
SET max_error_count = 2
SELECT CAST('a' AS SIGNED), CAST('b' AS SIGNED), CAST('c' AS SIGNED)
SHOW WARNINGS
SHOW COUNT(*) WARNINGS
SET max_error_count = 0
SELECT CAST('a' AS SIGNED)
SHOW WARNINGS
SELECT @@warning_count
""", refuse=LOST)
script("warnings_in_transaction", """
BEGIN
SET sql_mode = ''
INSERT INTO u (n) VALUES ('x')
SHOW WARNINGS
INSERT INTO u (n) VALUES ('y')
COMMIT
SHOW WARNINGS
BEGIN
INSERT INTO u (n) VALUES ('z')
SELECT ROW_COUNT(), @@warning_count
ROLLBACK
SHOW WARNINGS
""", refuse=LOST)
script("warnings_of_call", """
CALL p_warn()
SHOW WARNINGS
CALL p_fail()
SHOW WARNINGS
SHOW ERRORS
SELECT @@error_count
CALL p_two()
SHOW WARNINGS
""", refuse=LOST)
script("diagnostics_of_errors", """
INSERT INTO t (id) VALUES (1)
SHOW ERRORS
INSERT INTO t (id) VALUES (1)
GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @e = MYSQL_ERRNO, @m = MESSAGE_TEXT
SELECT @s, @e, @m
BEGIN
UPDATE t SET n = 1 WHERE id = 1
SELECT * FROM nowhere
GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT
SELECT @n, @r
COMMIT
GET CURRENT DIAGNOSTICS CONDITION 5 @s = RETURNED_SQLSTATE
SHOW ERRORS
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'own', MYSQL_ERRNO = 4711
SHOW ERRORS
SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'a warning of ours'
SHOW WARNINGS
RESIGNAL
SHOW ERRORS LIMIT 1
""", refuse=LOST)
script("explain_leaves_a_note", """
EXPLAIN SELECT v FROM t WHERE id = 1
SHOW WARNINGS
EXPLAIN EXTENDED SELECT v FROM t WHERE id = 1
SHOW WARNINGS
""", refuse=LOST)
# A pin in a session that had no warnings, on a backend where another client's error stands.
script("no_warnings_of_another_behind_a_pin", """
A SELECT v FROM t
B SELECT nothing
A SET sql_auto_is_null = 1
A SHOW WARNINGS
A SHOW ERRORS
A SELECT @@warning_count
C INSERT INTO app.trg_row (v) VALUES ('w2')
B SELECT nothing
C SET @c = 1
C SHOW WARNINGS
""")
script("warnings_of_what_is_no_statement", """
B SHOW WARNINGS
B.init_db app2
B SELECT nothing
B.init_db app2
B SELECT CAST('x' AS SIGNED)
B.init_db app
B SHOW WARNINGS
B.ping
B.init_db app2
""", refuse=LOST)
