# SPDX-License-Identifier: Apache-2.0
"""State that lives in one connection: user variables, temporary tables, locks, HANDLER, text PREPARE, roles, routines.
And how each of them ends."""
from script import script

USER_VARIABLES = {
    "set": "SET @a = 'A'", "set_assign": "SET @a := 'A'", "select": "SELECT @a := 'A'", "into": "SELECT 'A' INTO @a",
    "do": "DO @a := 'A'", "quoted": "SET @`a` = 'A'", "single_quoted": "SET @'a' = 'A'", "expression": "SET @a = CONCAT('', 'A')",
    "subquery": "SET @a = (SELECT 'A')", "with_variable": "SET time_zone = '+01:00', @a = 'A'", "where": "SELECT id FROM t WHERE (@a := 'A') = 'A' LIMIT 1",
    "update": "UPDATE t SET n = 1 WHERE id = 1 AND (@a := 'A') = 'A'", "insert": "INSERT INTO u (v) VALUES (@a := 'A')",
    "comment": "/* c */ SET /* d */ @a = 'A'", "executable": "/*! SET @a = 'A' */", "into_from": "SELECT v, n FROM t WHERE id = 1 INTO @a, @b",
    "into_first": "SELECT v INTO @a FROM t WHERE id = 1", "call": "CALL p_do('SET @a = ''A''')", "trigger": "INSERT INTO trg_var (v) VALUES ('A')",
    "function": "SELECT f_var(5)", "procedure": "CALL p_var()", "null": "SET @a = NULL", "number": "SET @a = 1.50, @b = 3e2, @c = -7",
    "binary": "SET @a = _binary'A', @b = x'41'", "collated": "SET @a = 'A' COLLATE utf8mb4_bin",
}
for name, sql in USER_VARIABLES.items():
    script(f"uservar_{name}", f"""
    SELECT @a, @b, @c, @trg, @fv, @pv
    {sql}
    SELECT @a, @b, @c, @trg, @fv, @pv
    SELECT 1
    B SELECT @a, @trg, @fv, @pv
    SELECT @a = 'a', COALESCE(@a, 'none'), @trg, @fv, @pv
    .reset
    SELECT @a, @trg, @fv, @pv
    """)
script("uservar_two_clients", """
A SET @a = 'of A'
B SELECT @a := 'of B'
A SELECT @a
B SELECT @a
A SET @a = CONCAT(@a, '!'), @n = 5
A SELECT @a, @n, @A
B.change_user app apppass app
B SELECT @a
A.quit
A SELECT @a
C SELECT @a
""")
script("uservar_row_number", """
SET @r = 0
SELECT @r := @r + 1 AS r, v FROM t ORDER BY id
SELECT @r
UPDATE t SET n = (@r := @r + 10) ORDER BY id
SELECT n FROM t ORDER BY id
SELECT @r
""")
script("uservar_mail_is_none", """
SELECT 'someone@example.org' AS `m@il`
SELECT v FROM t WHERE v = 'x@y'
SELECT "a@b", 'it''s @a', @@version IS NULL
-- @a
SELECT 1 /* @a := 1 */
INSERT INTO u (v) VALUES ('me@a')
SELECT v FROM u
""")
script("uservar_many", """
SET @a = 1, @b = 'two', @c = 3.5, @d = NULL, @e = x'00ff'
SELECT @a, @b, @c, @d, HEX(@e)
SELECT @a + 1, @a = '1', @c * 2, @d IS NULL
SET @a = @a + 1
SET @b = @a
SELECT @a, @b
SET @big = REPEAT('x', 70000)
SELECT LENGTH(@big)
SET @j = '{"a": [1, 2]}'
SELECT @j
SET @t = CAST('2024-01-01' AS DATE)
SELECT @t
""")

TEMP = {
    "plain": "CREATE TEMPORARY TABLE tt (x INT)", "comment": "/* c */ CREATE TEMPORARY TABLE tt (x INT)",
    "executable": "/*! CREATE TEMPORARY TABLE tt (x INT) */", "mid_executable": "CREATE /*!32302 TEMPORARY */ TABLE tt (x INT)",
    "if_not_exists": "CREATE TEMPORARY TABLE IF NOT EXISTS tt (x INT)", "like": "CREATE TEMPORARY TABLE tt LIKE parent",
    "select": "CREATE TEMPORARY TABLE tt SELECT 1 AS x", "as_select": "CREATE TEMPORARY TABLE tt AS (SELECT id AS x FROM t)",
    "schema": "CREATE TEMPORARY TABLE app.tt (x INT)", "lower": "create\ttemporary\ttable tt (x int)",
    "or_replace": "CREATE OR REPLACE TEMPORARY TABLE tt (x INT)", "call": "CALL p_do('CREATE TEMPORARY TABLE tt (x INT)')",
    "engine": "CREATE TEMPORARY TABLE tt (x INT) ENGINE = MEMORY",
}
ENDS = {"drop": "DROP TEMPORARY TABLE tt", "drop_table": "DROP TABLE tt", "drop_if": "DROP TEMPORARY TABLE IF EXISTS tt, tt2",
        "reset": ".reset", "change_user": ".change_user app apppass app", "call": "CALL p_do('DROP TEMPORARY TABLE tt')"}
ends = list(ENDS.values())
for i, (name, sql) in enumerate(TEMP.items()):
    script(f"temp_{name}", f"""
    {sql}
    INSERT INTO tt VALUES (11)
    SELECT * FROM tt
    B SELECT * FROM tt
    SELECT COUNT(*) FROM tt
    {ends[i % len(ends)]}
    SELECT * FROM tt
    {sql}
    SELECT COUNT(*) FROM tt
    {ends[(i + 2) % len(ends)]}
    SELECT COUNT(*) FROM tt
    """)
script("temp_in_procedure", """
CALL p_temp()
SELECT * FROM ptemp
B SELECT * FROM ptemp
B CALL p_temp()
B SELECT * FROM ptemp
DROP TEMPORARY TABLE ptemp
SELECT * FROM ptemp
CALL p_temp()
A.quit
C SELECT * FROM ptemp
""")
script("temp_shadows_a_table", """
SELECT COUNT(*) FROM t
.prepare s SELECT * FROM t WHERE id = ?
.execute s 1
CREATE TEMPORARY TABLE t (id INT, mine INT)
INSERT INTO t VALUES (1, 111)
SELECT * FROM t
.execute s 1
.prepare z SELECT * FROM t
.execute z
B SELECT COUNT(*) FROM t
B.prepare z SELECT * FROM t
B.execute z
DROP TEMPORARY TABLE t
SELECT COUNT(*) FROM t
.execute s 1
.execute z
CREATE TEMPORARY TABLE t SELECT 5 AS five
.reset
SELECT COUNT(*) FROM t
""", refuse="")
script("temp_renamed", """
CREATE TEMPORARY TABLE ta (x INT)
INSERT INTO ta VALUES (1)
ALTER TABLE ta RENAME TO tb
SELECT * FROM tb
SELECT * FROM ta
DROP TEMPORARY TABLE ta
SELECT * FROM tb
ALTER TABLE tb ADD COLUMN y INT DEFAULT 9
SELECT * FROM tb
RENAME TABLE tb TO tc
SELECT * FROM tb
TRUNCATE TABLE tb
SELECT COUNT(*) FROM tb
DROP TABLE tb
SELECT * FROM tb
""", clean="DROP TABLE IF EXISTS app.tc")
script("temp_in_transaction", """
BEGIN
INSERT INTO u (v) VALUES ('a')
CREATE TEMPORARY TABLE tt (x INT) ENGINE = InnoDB
.ping
INSERT INTO tt VALUES (1)
DROP TEMPORARY TABLE tt
.ping
ROLLBACK
SELECT COUNT(*) FROM u
SELECT * FROM tt
""")
script("temp_two_and_one_dropped", """
CREATE TEMPORARY TABLE t1 (x INT)
CREATE TEMPORARY TABLE t2 (x INT)
DROP TEMPORARY TABLE t1
SELECT * FROM t2
INSERT INTO t2 VALUES (5)
SELECT * FROM t2
CREATE TEMPORARY TABLE t2 (x INT)
DROP TEMPORARY TABLE t2, nothing
SELECT * FROM t2
CREATE TEMPORARY TABLE app2.t1 (y INT)
USE app2
SELECT * FROM t1
DROP TABLE t1
SELECT * FROM t1
""")

script("lock_tables", """
LOCK TABLES t READ, u WRITE
SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM trail
INSERT INTO u (v) VALUES ('locked')
INSERT INTO t (v) VALUES ('no')
SET time_zone = '+01:00'
UNLOCK TABLES
SELECT COUNT(*) FROM trail
B SELECT v FROM u
LOCK TABLES t WRITE
LOCK TABLES u WRITE
SELECT COUNT(*) FROM t
BEGIN
SELECT COUNT(*) FROM t
COMMIT
LOCK TABLE u WRITE
.reset
SELECT COUNT(*) FROM t
B INSERT INTO u (v) VALUES ('free')
LOCK TABLES nowhere READ
SELECT COUNT(*) FROM t
""")
script("lock_tables_keeps_others_out", """
LOCK TABLES u WRITE
B SET lock_wait_timeout = 1
B INSERT INTO u (v) VALUES ('waits')
UNLOCK TABLES
B INSERT INTO u (v) VALUES ('goes')
LOCK TABLES u WRITE
A.quit
B INSERT INTO u (v) VALUES ('goes too')
B SELECT COUNT(*) FROM u
""", conf={"pool_max": 3})
script("flush_tables_with_read_lock", """
FLUSH TABLES WITH READ LOCK
SELECT COUNT(*) FROM t
B SET lock_wait_timeout = 1
B INSERT INTO u (v) VALUES ('waits')
UNLOCK TABLES
B INSERT INTO u (v) VALUES ('goes')
FLUSH TABLES t WITH READ LOCK
SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM u
.reset
SELECT COUNT(*) FROM u
""", user="admin", conf={"pool_max": 3})
script("get_lock", """
SELECT GET_LOCK('one', 0)
SELECT IS_USED_LOCK('one') = CONNECTION_ID(), IS_FREE_LOCK('one')
B SELECT GET_LOCK('one', 0), IS_FREE_LOCK('one')
SELECT GET_LOCK('two', 0)
SELECT IS_USED_LOCK('one') = CONNECTION_ID(), IS_USED_LOCK('two') = CONNECTION_ID()
SELECT RELEASE_LOCK('one')
B SELECT GET_LOCK('one', 0)
SELECT RELEASE_LOCK('one'), RELEASE_LOCK('nothing')
SELECT RELEASE_LOCK('two')
B SELECT GET_LOCK('two', 0), RELEASE_ALL_LOCKS()
SELECT GET_LOCK('two', 0)
SELECT RELEASE_ALL_LOCKS()
SELECT IS_USED_LOCK('two')
SELECT GET_LOCK('x', 0), GET_LOCK('x', 0)
SELECT RELEASE_LOCK('x')
B SELECT IS_FREE_LOCK('x')
SELECT RELEASE_LOCK('x'), RELEASE_LOCK('x')
B SELECT IS_FREE_LOCK('x')
""", conf={"pool_max": 3})
script("get_lock_spellings", """
DO GET_LOCK('l', 0)
B SELECT IS_FREE_LOCK('l')
DO RELEASE_LOCK('l')
B SELECT IS_FREE_LOCK('l')
SET @g = GET_LOCK('l', 0)
B SELECT IS_FREE_LOCK('l')
SELECT @g, RELEASE_LOCK('l')
INSERT INTO u (v) VALUES (GET_LOCK('l', 0))
B SELECT IS_FREE_LOCK('l')
DELETE FROM u WHERE RELEASE_LOCK('l')
B SELECT IS_FREE_LOCK('l')
SELECT v FROM t WHERE id = 1 AND get_lock ('l', 0)
B SELECT IS_FREE_LOCK('l')
.reset
B SELECT IS_FREE_LOCK('l')
SELECT GET_LOCK('l', 0)
A.quit
[mask] SELECT 1
B SELECT GET_LOCK('l', 1)
""", conf={"pool_max": 3})
script("get_lock_in_routines", """
CALL p_lock('pl')
B SELECT IS_FREE_LOCK('pl')
SELECT IS_USED_LOCK('pl') = CONNECTION_ID()
SELECT RELEASE_LOCK('pl')
SELECT f_lock('fl')
SELECT IS_USED_LOCK('fl') = CONNECTION_ID()
B SELECT IS_FREE_LOCK('fl')
SELECT RELEASE_ALL_LOCKS()
B SELECT IS_FREE_LOCK('fl')
CALL p_do('DO GET_LOCK(''dl'', 0)')
SELECT IS_USED_LOCK('dl') = CONNECTION_ID()
SELECT RELEASE_LOCK('dl')
""", conf={"pool_max": 3})
script("get_lock_waits", """
SELECT GET_LOCK('w', 0)
B.send SELECT GET_LOCK('w', 5)
.until SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT GET\\_LOCK(''w'', 5)'
SELECT RELEASE_LOCK('w')
B.recv
B SELECT IS_USED_LOCK('w') = CONNECTION_ID()
B SELECT RELEASE_LOCK('w')
SELECT GET_LOCK('', 0)
SELECT GET_LOCK(NULL, 0)
SELECT GET_LOCK('n', -1)
SELECT GET_LOCK(REPEAT('x', 70), 0)
SELECT RELEASE_ALL_LOCKS()
""", conf={"pool_max": 3})
script("handler", """
HANDLER t OPEN
HANDLER t READ FIRST
HANDLER t READ NEXT
HANDLER t READ `PRIMARY` = (3)
HANDLER t READ `PRIMARY` NEXT
HANDLER t CLOSE
HANDLER t READ FIRST
HANDLER t OPEN AS h
SELECT COUNT(*) FROM t
HANDLER h READ FIRST LIMIT 2
B HANDLER h READ FIRST
.reset
HANDLER h READ FIRST
""")
script("text_prepare", """
PREPARE p FROM 'SELECT ? + 1 AS x'
SET @a = 41
EXECUTE p USING @a
B EXECUTE p USING @a
B PREPARE p FROM 'SELECT 99'
B EXECUTE p
EXECUTE p USING @a
DEALLOCATE PREPARE p
EXECUTE p USING @a
B EXECUTE p
B DROP PREPARE p
SET @s = 'INSERT INTO u (v) VALUES (''by text'')'
PREPARE q FROM @s
EXECUTE q
SELECT LAST_INSERT_ID()
PREPARE q FROM 'SELEC'
EXECUTE q
DEALLOCATE PREPARE q
PREPARE r FROM 'SELECT DATABASE()'
USE app2
EXECUTE r
.reset
EXECUTE r
""")
script("text_prepare_state", """
PREPARE s FROM 'SET time_zone = ''+01:00'''
EXECUTE s
DEALLOCATE PREPARE s
SELECT @@time_zone
B SELECT @@time_zone
EXECUTE IMMEDIATE 'SET group_concat_max_len = 5'
SELECT GROUP_CONCAT(v) FROM t
EXECUTE IMMEDIATE 'CREATE TEMPORARY TABLE ei (x INT)'
SELECT * FROM ei
B SELECT * FROM ei
EXECUTE IMMEDIATE CONCAT('SELECT ', '1')
PREPARE b FROM 'BEGIN'
EXECUTE b
INSERT INTO u (v) VALUES ('x')
B SELECT COUNT(*) FROM u
ROLLBACK
DEALLOCATE PREPARE b
SELECT COUNT(*) FROM u
""")
script("text_prepare_of_gets_lock", """
PREPARE l FROM 'SELECT GET_LOCK(?, 0)'
SET @n = 'pl'
EXECUTE l USING @n
DEALLOCATE PREPARE l
B SELECT IS_FREE_LOCK('pl')
SELECT IS_USED_LOCK('pl') = CONNECTION_ID()
SELECT RELEASE_LOCK('pl')
""", conf={"pool_max": 3})
script("set_role", """
SELECT CURRENT_ROLE()
SET ROLE r1
SELECT CURRENT_ROLE()
B SELECT CURRENT_ROLE()
SELECT COUNT(*) FROM t
SET ROLE NONE
SELECT CURRENT_ROLE()
SET ROLE nothing
SET ROLE DEFAULT
SELECT CURRENT_ROLE()
SET ROLE r1
A.quit
C SELECT CURRENT_ROLE()
D SELECT CURRENT_ROLE()
""", conf={"pool_max": 3})
script("set_role_and_reset", """
SET ROLE r1
.reset
SELECT CURRENT_ROLE()
SELECT COUNT(*) FROM t
.ping
.reset
SELECT CURRENT_ROLE(), @@time_zone, DATABASE()
B SELECT CURRENT_ROLE()
SET ROLE NONE
.reset
SELECT CURRENT_ROLE()
""", conf={"pool_max": 3})
script("call_results", """
CALL p_two()
CALL p_out(21, @o)
SELECT @o
CALL p_insert('called')
SELECT LAST_INSERT_ID(), ROW_COUNT()
CALL p_fail()
SELECT @pf, @@time_zone
CALL p_begin()
.ping
B SELECT COUNT(*) FROM u
COMMIT
B SELECT COUNT(*) FROM u
CALL nothing()
CALL p_two(1)
CALL app.p_two
CALL p_autocommit()
.ping
SET autocommit = 1
CALL p_lastid()
""", refuse="1235")
script("functions_with_effects", """
SELECT f_plain(1)
SELECT f_var(7)
SELECT @fv
B SELECT @fv
SELECT f_insert('x')
SELECT LAST_INSERT_ID()
SELECT v FROM trail
SELECT f_tz(), @@time_zone
SELECT @@time_zone
SELECT nothing_of_the_kind(1)
SELECT app.f_plain(f_plain(1)) FROM t WHERE f_plain(id) = 3
UPDATE t SET n = f_var(n)
SELECT @fv
INSERT INTO trg_var (v) VALUES ('a'), ('last')
SELECT @trg
""")
script("select_into_forms", """
SELECT id, v FROM t WHERE id = 2 INTO @i, @v
SELECT @i, @v
SELECT id FROM t INTO @i
SELECT id FROM t WHERE id = 99 INTO @i
SELECT @i
SELECT 1, 2 INTO @only
B SELECT @i
SELECT 'x' INTO OUTFILE '/nonexistent/directory/file'
SELECT 'x' INTO DUMPFILE '/nonexistent/directory/file'
""", refuse="1235")
script("pins_all_at_once_and_reset", """
SET @a = 1
CREATE TEMPORARY TABLE tt (x INT)
SELECT GET_LOCK('all', 0)
PREPARE p FROM 'SELECT 1'
.prepare b SELECT 2
HANDLER t OPEN
BEGIN
INSERT INTO u (v) VALUES ('x')
SET time_zone = '+01:00', sql_mode = 'ANSI_QUOTES'
USE app2
.reset
.ping
SELECT @a, @@time_zone, @@sql_mode, DATABASE()
SELECT * FROM app.tt
EXECUTE p
HANDLER t READ FIRST
B SELECT IS_FREE_LOCK('all')
SELECT COUNT(*) FROM app.u
SELECT LAST_INSERT_ID()
""", modes="text")
script("mark_ends_pins", """
SET @a = 1
SET time_zone = '+01:00'
CREATE TEMPORARY TABLE tt (x INT)
SELECT GET_LOCK('m', 0)
BEGIN
INSERT INTO u (v) VALUES ('rolled back')
.mark ROLLBACK; DROP TEMPORARY TABLE tt; DO RELEASE_ALL_LOCKS(); SET @a = NULL
.ping
[nometa] SELECT @a, @@time_zone, DATABASE()
SELECT * FROM tt
B SELECT IS_FREE_LOCK('m')
SELECT COUNT(*) FROM u
USE app2
SET sql_mode = 'ANSI_QUOTES'
.mark
SELECT name FROM place
SELECT @@sql_mode
LOCK TABLES t READ
.mark UNLOCK TABLES
SELECT COUNT(*) FROM app.t
""", modes="text")
script("mark_of_nothing", """
.mark
SELECT 1
.mark
.mark
INSERT INTO u (v) VALUES ('x')
.mark
SELECT v FROM u
SET autocommit = 0
INSERT INTO u (v) VALUES ('y')
.mark ROLLBACK
.ping
SELECT COUNT(*) FROM u
.prepare p SELECT 5
.mark ROLLBACK
.execute p
""")
