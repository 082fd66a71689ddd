# SPDX-License-Identifier: Apache-2.0
"""Prepared statements of the protocol: what binds at PREPARE, types, cursors, long data, DDL in between, ids."""
from script import script

# What a prepared text keeps of the session it was prepared in, and what it takes from the one it is executed in.
BINDS = {
    "schema": ("SELECT name FROM place", "USE app2"), "sql_mode": ("SELECT 'a' || 'b'", "SET sql_mode = 'PIPES_AS_CONCAT'"),
    "ansi_quotes": ('SELECT "v" FROM t WHERE id = 1', "SET sql_mode = 'ANSI_QUOTES'"),
    "default_week_format": ("SELECT WEEK(d) FROM days", "SET default_week_format = 3"),
    "div_precision_increment": ("SELECT 1 / 3", "SET div_precision_increment = 9"),
    "group_concat_max_len": ("SELECT GROUP_CONCAT(v, 'xxxx') FROM t", "SET group_concat_max_len = 5"),
    "lc_time_names": ("SELECT DATE_FORMAT(d, '%W') FROM days", "SET lc_time_names = 'de_DE'"),
    "time_zone": ("SELECT FROM_UNIXTIME(0), s FROM days", "SET time_zone = '+05:00'"),
    "charset": ("SELECT HEX('\u00e9'), CHARSET('a'), w FROM words", "SET NAMES latin1"),
    "collation": ("SELECT 'a' = 'A'", "SET NAMES utf8mb4 COLLATE utf8mb4_bin"),
    "results": ("SELECT w, l FROM words", "SET character_set_results = latin1"),
    "sql_auto_is_null": ("SELECT id FROM u WHERE id IS NULL", "SET sql_auto_is_null = 1"),
    "sql_select_limit": ("SELECT id FROM t", "SET sql_select_limit = 2"),
    "sql_safe_updates": ("UPDATE t SET n = 0", "SET sql_safe_updates = 1"),
    "foreign_key_checks": ("REPLACE INTO child (id, p) VALUES (5, 77)", "SET foreign_key_checks = 0"),
    "optimizer_switch": ("SELECT v FROM t WHERE id IN (SELECT id FROM t)", "SET optimizer_switch = 'semijoin=off'"),
    "ignore_space": ("SELECT COUNT (*) FROM t", "SET sql_mode = 'IGNORE_SPACE'"),
    "no_backslash": (r"SELECT 'a\nb'", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"),
    "high_not": ("SELECT NOT 1 BETWEEN -5 AND 5", "SET sql_mode = 'HIGH_NOT_PRECEDENCE'"),
    "real_as_float": ("CREATE TEMPORARY TABLE rf (a REAL)", "SET sql_mode = 'REAL_AS_FLOAT'"),
    "only_full_group_by": ("SELECT v, COUNT(*) FROM t GROUP BY n", "SET sql_mode = 'ONLY_FULL_GROUP_BY'"),
    "strict": ("INSERT INTO u (n) VALUES ('x')", "SET sql_mode = ''"), "user_variable": ("SELECT @x", "SET @x = 'text'"),
    "isolation": ("SELECT COUNT(*) FROM u", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
    "max_join_size": ("SELECT COUNT(*) FROM t a, t b", "SET max_join_size = 1"), "last_insert_id": ("SELECT LAST_INSERT_ID()", "INSERT INTO u (v) VALUES ('x')"),
    "autocommit": ("INSERT INTO trail (v) VALUES ('x')", "SET autocommit = 0"), "storage_engine": ("CREATE TABLE se (a INT)", "SET default_storage_engine = 'MyISAM'"),
    "explicit_timestamp": ("SELECT UNIX_TIMESTAMP() < 5000", "SET timestamp = 1000"),
}
# MySQL 9.7 may go on without the check in a connection that once prepared the text without it, by what its table cache
# holds: it is not the same twice.
ONE_SERVER = {"foreign_key_checks": "mariadb"}
for name, (sql, change) in BINDS.items():
    script(f"prepared_binds_{name}", f"""
    A.prepare s {sql}
    A.execute s
    B {change}
    B.prepare s {sql}
    B.execute s
    A.execute s
    A {change}
    A.execute s
    A.prepare again {sql}
    A.execute again
    B.execute s
    A.execute s
    C.prepare s {sql}
    C.execute s
    A.stmt_close s
    A.execute again
    A ROLLBACK
    """, clean="DROP TABLE IF EXISTS app.se", modes="text", conf={"pool_max": 3}, on=ONE_SERVER.get(name, "mariadb mysql9"))

script("prepared_types_change", """
.prepare s SELECT ?, ? + 1
.execute s 1, 2
.execute s 'text', '5'
.execute s None, None
.execute s 1.5, 2.25
.execute s b'\\x00\\xff', 7
.execute s 9223372036854775807, -1
.execute[untyped] s 5, 6
.execute s 'a', 'b'
.execute[untyped] s 'c', 'd'
B.prepare s SELECT ?, ? + 1
B.execute s 'of B', 3
.execute[untyped] s 'e', 'f'
B.execute[untyped] s 'g', 4
""", modes="text", on="mariadb")
# MySQL 9 goes on with the type of the first time where it can: README, "What is not compared". So one kind a statement.
for name, first, then in (("integers", "1, 2", "9223372036854775807, -1"), ("texts", "'text', '5'", "'a', '7'"),
                          ("bytes", "b'\\x00\\xff', b'7'", "b'', b'1'"), ("decimals", "1.5, 2.25", "-0.5, 0.0"),
                          ("nulls", "None, None", "None, None")):
    script(f"prepared_types_{name}", f"""
    .prepare s SELECT ?, ? + 1
    .execute s {first}
    .execute[untyped] s {then}
    B.prepare s SELECT ?, ? + 1
    B.execute s {then}
    .execute s {then}
    .execute s {first}
    B.execute[untyped] s {first}
    B SELECT 1
    .execute[untyped] s {then}
    """, modes="text")
script("prepared_untyped_second", """
.prepare s INSERT INTO u (v, n) VALUES (?, ?)
.execute s 'a', 1
.execute[untyped] s 'b', 2
SELECT 1
.execute[untyped] s 'c', 3
B.prepare s INSERT INTO u (v, n) VALUES (?, ?)
B.execute s None, '44'
.execute[untyped] s 'd', 4
B.execute[untyped] s None, '55'
SELECT v, n FROM u ORDER BY id
""", modes="text")
script("prepared_untyped_first", """
.prepare s SELECT ?
.execute[untyped] s 5
.execute s 6
B.prepare s SELECT ?
B.execute[untyped] s 7
B.execute s 'x'
""", modes="text")
script("prepared_without_its_parameters", """
B.prepare s INSERT INTO app.u (v) VALUES (?)
B.execute[cursor] s
A BEGIN
B.execute s
B.execute s 'x'
B.execute[cursor] s
""", modes="text")
script("prepared_after_error", """
.prepare s INSERT INTO t (id, v) VALUES (?, ?)
.execute s 1, 'duplicate'
.execute s 100, 'fine'
.execute[untyped] s 101, 'fine'
.execute s 1, 'duplicate'
.execute[untyped] s 102, 'fine'
SELECT id, v FROM t WHERE id > 50 ORDER BY id
.prepare d SELECT 1 / ?
.execute d 0
SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'
.prepare e INSERT INTO u (n) VALUES (1 / ?)
.execute e 0
.execute e 1
""", modes="text", refuse="1235")
script("prepared_same_text_two_clients", """
A.prepare s SELECT v, n FROM t WHERE id = ?
B.prepare s SELECT v, n FROM t WHERE id = ?
A.execute s 1
B.execute s 2
A.execute s 3
B.execute s 'x'
A.stmt_close s
B.execute s 4
A.prepare s SELECT v, n FROM t WHERE id = ?
A.execute s 5
B.quit
A.execute s 1
C.prepare s SELECT v, n FROM t WHERE id = ?
C.execute s 2
""", modes="text")
script("prepared_comments_differ", """
.prepare a SELECT v FROM t WHERE id = ? /* trace 1 */
.execute a 1
.prepare b SELECT v FROM t WHERE id = ? /* trace 2 */
.execute b 2
.prepare c SELECT v FROM t WHERE id = ? /*! + 1 */
.execute c 1
.prepare d SELECT v FROM t WHERE id = ? /*! + 2 */
.execute d 1
.prepare e SELECT v FROM t WHERE id = ? -- trace
.execute e 3
.prepare f SELECT v FROM t WHERE id = ?;
.execute f 4
.prepare g select v from t where id = ?
.execute g 4
.prepare h SELECT 'x /* not */', ?
.execute h 1
.prepare i SELECT 'x /* no t */', ?
.execute i 1
.prepare j SELECT 5 /* one */
.prepare k SELECT 5 /* two */
.execute j
.execute k
""", modes="text")
script("prepared_errors", """
.prepare a SELEC 1
.prepare b SELECT * FROM nowhere
.prepare c USE app2
.prepare d LOCK TABLES t READ
.prepare e SHOW ERRORS
.prepare f SELECT 1; SELECT 2
.prepare g PREPARE x FROM 'SELECT 1'
.prepare h BEGIN
.execute h
.prepare i SELECT nothing FROM t
.prepare j CALL nothing()
.prepare k SELECT ? FROM t WHERE ?
.prepare l INSERT INTO u (v) VALUES (?, ?)
.prepare m
.prepare n SET no_such = ?
.prepare o LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE u
.prepare p HANDLER t OPEN
.prepare q SELECT 1 AS one
.execute q
.execute a
ROLLBACK
""", modes="text")
script("prepared_unknown_ids", """
.execute #12345
.execute #0xFFFFFFFD
.fetch #777 1
.stmt_reset #999
.stmt_close #1234
.long #4321 0 b'data'
SELECT 1
.prepare s SELECT ?
.execute s 'x'
.stmt_close s
.execute s 'x'
.stmt_reset s
SELECT 2
""", modes="text")
script("prepared_wrong_count", """
.prepare s SELECT ?, ?
.execute s
.execute s 1, 2
.prepare n SELECT 1
.execute n
""", modes="text", on="mysql9")
script("prepared_last_id_of_mariadb", """
.prepare s SELECT ? + 1
.execute #0xFFFFFFFF 4
.prepare t SELECT 'second'
.execute #0xFFFFFFFF
B.execute #0xFFFFFFFF
.stmt_close t
.execute #0xFFFFFFFF
""", modes="text", on="mariadb")
script("prepared_limit", "\n".join(
    [".prepare s SELECT id FROM t ORDER BY id LIMIT ?"] + [f".execute s {n}" for n in range(0, 8)] +
    [".execute s '3'", ".prepare o SELECT id FROM t ORDER BY id LIMIT ?, ?", ".execute o 1, 2", ".execute o 4, 9",
     ".execute o 0, 0", ".execute o -1, 1"] +
    [f"SELECT id FROM t ORDER BY id LIMIT {n}" for n in range(1, 6)]))
script("prepared_inference", """
.prepare a SELECT ?
.execute a 1
.prepare a2 SELECT ?
.execute a2 'x'
.prepare b SELECT ? + ?, CONCAT(?, 'x'), ? IS NULL
.execute b 1, '2', 3, None
.prepare c SELECT v FROM t WHERE id = ? AND v LIKE ?
.execute c 1, 'a%'
.prepare c2 SELECT v FROM t WHERE id = ? AND v LIKE ?
.execute c2 '1', b'a'
.prepare d SELECT CAST(? AS DATE), DATE_ADD(?, INTERVAL 1 DAY)
.execute d '2024-02-28', '2024-02-28'
.prepare e SELECT IF(?, 'yes', 'no'), COALESCE(?, ?, 'none')
.execute e 0, None, None
.execute e 1, None, 5
.prepare f SELECT COUNT(*) FROM t WHERE id IN (?, ?, ?)
.execute f 1, 2, 99
.prepare g INSERT INTO t (v, n) VALUES (?, ?), (?, ?)
.execute g 'x', 1, 'y', '2'
.prepare h SELECT ? UNION SELECT ?
.execute h 1, 'b'
.prepare i SELECT * FROM t WHERE n > ? ORDER BY ? LIMIT ?
.execute i 20, 1, 2
""", modes="text")
script("prepared_types_all", """
.prepare s SELECT * FROM types ORDER BY a
.execute s
.execute s
SELECT * FROM types ORDER BY a
.prepare w SELECT a, k, l, n, z FROM types WHERE a < ? OR g = ? OR k = ? OR h < ?
.execute w 0, 5, '2024-02-29', '0.5'
.execute w None, 18446744073709551615, None, -1.5
""" .replace("18446744073709551615", "'18446744073709551615'"), modes="text")
script("prepared_null_bits", "\n".join(
    [f".prepare s{n} SELECT {', '.join('?' * n)}\n.execute s{n} {', '.join('None' if i % 2 else str(i) for i in range(n))}"
     for n in (1, 7, 8, 9, 15, 16, 17, 65)]), modes="text")
script("prepared_many_statements", "\n".join(
    [f".prepare s{n} SELECT {n} AS n{n}, ?" for n in range(80)] + [f".execute s{n} {n}" for n in range(0, 80, 7)] +
    [f".stmt_close s{n}" for n in range(0, 80, 2)] + [f".execute s{n} 'x'" for n in range(1, 80, 9) if n % 2] +
    ["B.prepare s SELECT 1 AS n1, ?", "B.execute s 5"]), modes="text")
script("prepared_small_cache", "\n".join(
    [f".prepare s{n} SELECT {n} AS n{n}, ?" for n in range(12)] + [f".execute s{n} {n}" for n in (0, 11, 5, 0, 3, 11, 7)] +
    ["B.prepare s SELECT 5 AS n5, ?", "B.execute s 5", ".execute[untyped] s5 6", ".execute[untyped] s0 6"]),
    modes="text", conf={"statement_cache": 4})
script("prepared_300_executes", "\n".join(
    [".prepare i INSERT INTO trail (v) VALUES (?)", ".prepare l SELECT LAST_INSERT_ID()"] +
    [f".execute{'[untyped]' if n % 3 else ''} i 'row {n}'" for n in range(60)] + [".execute l", "SELECT COUNT(*), MAX(v) FROM trail"]),
    modes="text")
DDL = {"add": "ALTER TABLE ddl ADD COLUMN extra INT DEFAULT 5", "drop": "ALTER TABLE ddl DROP COLUMN b",
       "modify": "ALTER TABLE ddl MODIFY b BIGINT", "rename_column": "ALTER TABLE ddl CHANGE b bb VARCHAR(10)",
       "to_string": "ALTER TABLE ddl MODIFY b VARCHAR(200)", "add_first": "ALTER TABLE ddl ADD COLUMN z VARCHAR(3) DEFAULT 'z' FIRST",
       "recreate": "CREATE OR REPLACE TABLE ddl (x VARCHAR(9), y DATE, w INT)", "index": "ALTER TABLE ddl ADD INDEX (b)"}
for name, sql in DDL.items():
    for who in ("other", "self"):
        client = "B" if who == "other" else "A"
        # A table of its own: a PREPARE answered from the cache may show columns from before a DDL past Sluice, until
        # the first EXECUTE (pool/README.md); that is not what these are about.
        own = f"ddl_{name}_{who}"
        script(f"prepared_ddl_{name}_by_{who}", f"""
        .admin CREATE TABLE app.{own} (a INT, b INT, c VARCHAR(5))
        .admin INSERT INTO app.{own} VALUES (1, 2, 'c')
        A.prepare s SELECT * FROM {own}
        A.execute s
        A.prepare i INSERT INTO {own} VALUES (?, ?, ?)
        A.execute i 3, 4, 'd'
        {client} {sql.replace("ddl", own)}
        A.execute s
        A.execute s
        A.execute i 5, 6, 'e'
        C.prepare s SELECT * FROM {own}
        C.execute s
        B.prepare s SELECT * FROM {own}
        B.execute s
        A.execute s
        """, clean=f"DROP TABLE IF EXISTS app.{own}", modes="text")
script("prepared_ddl_past_sluice", """
.admin DROP TABLE IF EXISTS app.ddl
.admin CREATE TABLE app.ddl (a INT, b INT)
.admin INSERT INTO app.ddl VALUES (1, 2)
.prepare s SELECT * FROM ddl WHERE a = ?
.execute s 1
.admin ALTER TABLE app.ddl ADD COLUMN c INT DEFAULT 9
.execute s 1
.execute s 1
B.prepare s SELECT * FROM ddl WHERE a = ?
B.execute s 1
.admin DROP TABLE app.ddl
.execute s 1
.admin CREATE TABLE app.ddl (a VARCHAR(5), q DATE)
.admin INSERT INTO app.ddl VALUES ('1', '2024-01-01')
.execute s 1
.execute s 7
B.execute s 1
.stmt_close s
.prepare[nometa] s SELECT * FROM ddl WHERE a = ?
.execute s '1'
""", clean="DROP TABLE IF EXISTS app.ddl", modes="text")
script("prepared_cursor", """
.prepare s SELECT id, v FROM t WHERE id > ? ORDER BY id
.execute[cursor] s 0
.fetch s 3
SELECT 'between'
B SELECT 1
.fetch s 3
.fetch s 3
.execute[cursor] s 2
.fetch s 1
.stmt_reset s
.fetch s 1
.execute[cursor] s 3
.fetch s 100
.execute[cursor] s 99
.fetch s 1
.execute[cursor] s 0
.fetch s 2
.stmt_close s
SELECT 'end'
""", modes="text")
script("prepared_cursor_left_open", """
.prepare s SELECT id FROM t
.execute[cursor] s
.fetch s 2
INSERT INTO u (v) VALUES ('x')
.prepare z SELECT v FROM t
.execute[cursor] z
.fetch z 1
.fetch s 2
.reset
.fetch s 1
SELECT 1
""", modes="text")
script("prepared_cursor_of_no_rows", """
.prepare i INSERT INTO u (v) VALUES (?)
.execute[cursor] i 'a'
.prepare z SET @x = ?
.execute[cursor] z 1
SELECT @x
.prepare w SHOW TABLES LIKE 't'
.execute[cursor] w
.fetch w 5
.prepare c CALL p_two()
.execute[cursor] c
""", modes="text")
script("prepared_long_data", """
.prepare s SELECT ?, LENGTH(?), ?
.long s 0 b'first '
.long s 1 b'x' * 70000
.long s 0 b'second'
.execute s ..., ..., 'plain'
.execute s 'a', 'b', 'c'
.long s 0 b'kept '
SELECT 'between'
.long s 0 b'over'
.execute s ..., 'b', 'c'
.long s 2 b'thrown away'
.stmt_reset s
.execute s 'a', 'b', 'c'
.long s 9 b'no such parameter'
.execute s 'a', 'b', 'c'
.execute s 'a', 'b', 'c'
.long s 0 b'closed with it'
.stmt_close s
SELECT 'end'
""".replace("b'x' * 70000", repr(b"x" * 3000)), modes="text")
script("prepared_long_data_insert", """
.prepare s INSERT INTO u (v, n) VALUES (?, ?)
.long s 0 b'long'
.execute s ..., 5
.long s 0 b''
.execute s ..., 6
.long s 0 b'third'
B SELECT COUNT(*) FROM u
.execute s ..., 7
SELECT v, n FROM u ORDER BY id
.long s 0 b'half'
A.quit
B SELECT COUNT(*) FROM u
""", modes="text")
script("prepared_call", """
.prepare c CALL p_two()
.execute c
.execute c
SELECT 1
.prepare o CALL p_out(?, @o)
.execute o 5
SELECT @o
.prepare r CALL p_out(?, ?)
.execute r 6, None
SELECT 2
.prepare i CALL p_insert(?)
.execute i 'x'
SELECT LAST_INSERT_ID()
.prepare f CALL p_fail()
.execute f
SELECT @@time_zone
.prepare e CALL p_temp()
.execute e
SELECT * FROM ptemp
""", modes="text")
script("prepared_dies_with_reset", """
.prepare s SELECT 1
.execute s
A.reset
.execute #1
SELECT 1
.prepare s SELECT 2
.execute s
A.change_user app apppass app
.execute #2
.prepare s SELECT 3
.execute s
""", modes="text")
script("prepared_set_statements", """
.prepare a SET time_zone = ?
.execute a '+01:00'
SELECT @@time_zone
.execute a 'nonsense'
SELECT @@time_zone
.prepare b SET sql_mode = ?, @x = ?
.execute b 'ANSI_QUOTES', 'user'
SELECT @@sql_mode, @x
.prepare c SET NAMES latin1
.execute c
SELECT @@character_set_client
.prepare d SET autocommit = 0
.execute d
INSERT INTO u (v) VALUES ('x')
B SELECT COUNT(*) FROM u
.prepare e COMMIT
.execute e
B SELECT COUNT(*) FROM u
.prepare f START TRANSACTION
.execute f
INSERT INTO u (v) VALUES ('y')
.prepare g ROLLBACK
.execute g
B SELECT COUNT(*) FROM u
.execute a '+02:00'
.execute a '+02:00'
SELECT @@time_zone
""", modes="text")
script("prepared_in_transactions", """
.prepare i INSERT INTO u (v) VALUES (?)
.prepare c SELECT COUNT(*) FROM u
BEGIN
.execute i 'a'
.execute c
B SELECT COUNT(*) FROM u
ROLLBACK
.execute c
BEGIN
.execute i 'b'
COMMIT
.execute c
B.prepare c SELECT COUNT(*) FROM u
B BEGIN
B.execute c
.execute i 'c'
B.execute c
B COMMIT
B.execute c
""", modes="text")
script("prepared_show_and_others", """
.prepare a SHOW TABLES LIKE 't'
.execute a
.prepare b SHOW VARIABLES LIKE 'sql_mode'
.execute b
SET sql_mode = ''
.execute b
.prepare c DO 1
.execute c
.prepare d DESCRIBE parent
.execute d
.prepare e EXPLAIN SELECT 1
.execute e
.prepare f SELECT @@time_zone, DATABASE(), CONNECTION_ID() > 0
.execute f
SET time_zone = '+01:00'
.execute f
USE app2
.execute f
.prepare g TRUNCATE app.trail
.execute g
.prepare h CREATE TABLE app.made (a INT)
.execute h
.execute h
.prepare i DROP TABLE app.made
.execute i
.execute i
.prepare j ANALYZE TABLE app.parent
.execute j
""", modes="text")
script("prepared_big_values", f"""
.prepare s SELECT LENGTH(?), MD5(?)
.execute s '{'x' * 300}', '{'y' * 5000}'
.execute s '', ''
.execute s '{'z' * 70000}', 'a'
.prepare r SELECT REPEAT(?, ?)
.execute r 'ab', 40000
.execute r 'q', 17000000
""", modes="text")
script("prepared_long_text", f"""
.prepare s SELECT {', '.join(f"'{'c' * 200}' AS c{i}" for i in range(100))}
.execute s
B.prepare s SELECT {', '.join(f"'{'c' * 200}' AS c{i}" for i in range(100))}
B.execute s
SELECT {' + '.join('1' for _ in range(2000))} AS n
""", modes="text")
