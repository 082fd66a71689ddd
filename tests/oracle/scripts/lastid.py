# SPDX-License-Identifier: Apache-2.0
"""LAST_INSERT_ID() and its kin: the client's own, in whatever spelling, however long ago."""
from script import script

SPELLINGS = {
    "plain": "SELECT LAST_INSERT_ID()", "semicolon": "SELECT LAST_INSERT_ID();", "alias": "SELECT last_insert_id() AS id",
    "comment": "/* why */ SELECT LAST_INSERT_ID()", "dash_comment": "SELECT LAST_INSERT_ID() -- why",
    "dual": "SELECT LAST_INSERT_ID() FROM DUAL", "variable": "SELECT @@last_insert_id", "identity": "SELECT @@identity",
    "session": "SELECT @@session.last_insert_id, @@local.identity", "limit": "SELECT LAST_INSERT_ID() LIMIT 1",
    "spaced": "SELECT last_insert_id ( )", "sum": "SELECT 0 + LAST_INSERT_ID()",
    "cast": "SELECT CAST(LAST_INSERT_ID() AS CHAR)", "subquery": "SELECT (SELECT LAST_INSERT_ID()) x",
    "derived": "SELECT x FROM (SELECT LAST_INSERT_ID() x) d", "inner_comment": "SELECT LAST_INSERT_ID(/* none */)",
    "executable_comment": "SELECT /*! LAST_INSERT_ID() */", "where": "SELECT v FROM u WHERE id = LAST_INSERT_ID()",
    "view": "SELECT l FROM v_lastid", "function": "SELECT f_lastid()",
    "if": "SELECT IF(LAST_INSERT_ID() > 0, 'id', 'none')", "union": "SELECT 1 UNION ALL SELECT LAST_INSERT_ID()",
    "mixed_case": "sElEcT Last_Insert_Id()", "tab": "SELECT\tLAST_INSERT_ID\t()",
    "exists": "SELECT EXISTS (SELECT 1 FROM u WHERE id = LAST_INSERT_ID())", "call": "CALL p_lastid()",
    "assigned": "SELECT @i := LAST_INSERT_ID()", "set": "SET @i = LAST_INSERT_ID()", "do": "DO LAST_INSERT_ID()",
    "values": "VALUES ROW(LAST_INSERT_ID())", "with": "WITH w AS (SELECT LAST_INSERT_ID() l) SELECT l FROM w",
    "show": "SHOW VARIABLES LIKE 'last_insert_id'", "show_identity": "SHOW SESSION VARIABLES LIKE 'identity'",
    "multi_id_and_variable": "SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity",
}
for name, sql in SPELLINGS.items():
    script(f"lastid_{name}", f"""
    INSERT INTO u (v) VALUES ('one')
    INSERT INTO u (v) VALUES ('two')
    {sql}
    SELECT 1
    SELECT n FROM t
    SET time_zone = '+01:00'
    SET NAMES latin1
    .ping
    UPDATE t SET n = 1
    DELETE FROM t WHERE id = 5
    {sql}
    B {sql}
    """, refuse="1235.*state of the last")

# The INSERT is what differs; what LAST_INSERT_ID() is then is not always the OK packet's id.
INSERTS = {
    "nothing": "SELECT 1", "explicit": "INSERT INTO u (id, v) VALUES (77, 'x')", "multi_row": "INSERT INTO u (v) VALUES ('a'), ('b'), ('c')",
    "null": "INSERT INTO u (id, v) VALUES (NULL, 'x')", "zero": "INSERT INTO u (id, v) VALUES (0, 'x')",
    "mixed": "INSERT INTO u (id, v) VALUES (NULL, 'x'), (500, 'y'), (NULL, 'z')", "default": "INSERT INTO u (id, v) VALUES (DEFAULT, 'x')",
    "empty": "INSERT INTO u () VALUES ()", "set_form": "INSERT INTO u SET v = 'x'", "select": "INSERT INTO u (v) SELECT v FROM t",
    "select_nothing": "INSERT INTO u (v) SELECT v FROM t WHERE 1 = 0", "replace": "REPLACE INTO u (v) VALUES ('dup')",
    "duplicate_key": "INSERT INTO u (v) VALUES ('dup') ON DUPLICATE KEY UPDATE n = n + 1",
    "duplicate_key_id": "INSERT INTO u (v) VALUES ('dup') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 5",
    "duplicate_key_new": "INSERT INTO u (v) VALUES ('new') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)",
    "ignore_duplicate": "INSERT IGNORE INTO u (v) VALUES ('dup')", "ignore_new": "INSERT IGNORE INTO u (v) VALUES ('dup'), ('new')",
    "failed": "INSERT INTO u (v) VALUES ('fine'), ('dup')", "failed_at_once": "INSERT INTO u (v) VALUES ('dup')",
    "no_auto_increment": "INSERT INTO parent VALUES (50)", "update_expr": "UPDATE t SET n = LAST_INSERT_ID(n + 7) WHERE id = 1",
    "select_expr": "SELECT LAST_INSERT_ID(123)", "set_variable": "SET last_insert_id = 456", "set_insert_id": "SET insert_id = 900",
    "trigger_inserts": "INSERT INTO trg_row (v) VALUES ('x')", "trigger_reads": "INSERT INTO trg_read (v) VALUES ('x')",
    "function": "SELECT f_insert('x')", "procedure": "CALL p_insert('called')", "temp": "CREATE TEMPORARY TABLE tmpi (a INT AUTO_INCREMENT PRIMARY KEY)",
    "create_select": "CREATE TABLE made (a INT AUTO_INCREMENT PRIMARY KEY) SELECT v FROM t", "prepared": "SELECT 2",
    "values_of_itself": "INSERT INTO u (v, n) VALUES ('x', LAST_INSERT_ID())", "returning": "INSERT INTO u (v) VALUES ('x') RETURNING id",
    "other_schema": "INSERT INTO app2.t (v) VALUES (5)", "negative": "INSERT INTO u (id, v) VALUES (-5, 'x')",
    "delete": "DELETE FROM u", "truncate": "TRUNCATE u", "multi_table": "INSERT INTO trail (v) SELECT v FROM u",
}
for name, sql in INSERTS.items():
    script(f"lastid_after_{name}", f"""
    INSERT INTO u (v) VALUES ('dup')
    INSERT INTO u (v) VALUES ('later')
    {sql}
    SELECT LAST_INSERT_ID()
    SELECT 1
    SELECT @@identity
    INSERT INTO trail (v) VALUES (CONCAT('id ', LAST_INSERT_ID()))
    SELECT v, id = LAST_INSERT_ID() FROM trail
    {sql}
    SELECT @@last_insert_id
    """, clean="DROP TABLE IF EXISTS app.made; DELETE FROM app2.t WHERE v = 5; ALTER TABLE app2.t AUTO_INCREMENT = 3; DELETE FROM app.parent WHERE id = 50")

script("lastid_of_nothing", """
SELECT LAST_INSERT_ID()
B INSERT INTO u (v) VALUES ('of B')
SELECT LAST_INSERT_ID(), @@identity
INSERT INTO t (id, v) VALUES (77, 'explicit')
SELECT LAST_INSERT_ID()
C SELECT LAST_INSERT_ID()
C INSERT INTO u (v, n) VALUES ('of C', LAST_INSERT_ID())
C SELECT v, n FROM u
""")
script("lastid_rolled_back", """
BEGIN
INSERT INTO u (v) VALUES ('a')
ROLLBACK
SELECT LAST_INSERT_ID()
BEGIN
SELECT LAST_INSERT_ID()
COMMIT
INSERT INTO u (v) VALUES ('b')
.reset
SELECT LAST_INSERT_ID()
INSERT INTO u (v) VALUES ('c')
.change_user app apppass app
SELECT LAST_INSERT_ID()
""")
script("lastid_prepared", """
.prepare i INSERT INTO u (v) VALUES (?)
.prepare l SELECT LAST_INSERT_ID()
.execute i 'a'
.execute l
.execute i 'b'
SELECT 5
.execute l
B INSERT INTO u (v) VALUES ('of B')
.execute l
.prepare x SELECT v FROM u WHERE id = LAST_INSERT_ID()
.execute x
.prepare e UPDATE t SET n = LAST_INSERT_ID(?) WHERE id = 1
.execute e 4711
.execute l
""")
script("lastid_is_null", """
SET sql_auto_is_null = 1
INSERT INTO u (v) VALUES ('a')
SELECT 1
SELECT id, v FROM u WHERE id IS NULL
SELECT id, v FROM u WHERE id IS NULL
INSERT INTO u (v) VALUES ('b')
SET time_zone = '+01:00'
SELECT id FROM u WHERE id IS NULL
SELECT LAST_INSERT_ID()
B SELECT id FROM u WHERE id IS NULL
SET sql_auto_is_null = 0
INSERT INTO u (v) VALUES ('c')
SELECT id FROM u WHERE id IS NULL
SET sql_auto_is_null = 1
SELECT id FROM u WHERE id IS NULL
.prepare n SELECT id FROM u WHERE id IS NULL
INSERT INTO u (v) VALUES ('d')
.execute n
.execute n
""", refuse="1235")
script("lastid_increments", """
SET auto_increment_increment = 10, auto_increment_offset = 5
INSERT INTO u (v) VALUES ('a'), ('b')
SELECT LAST_INSERT_ID()
B INSERT INTO u (v) VALUES ('of B')
B SELECT LAST_INSERT_ID()
INSERT INTO u (v) VALUES ('c')
SELECT id, v FROM u ORDER BY id
""")
script("lastid_of_two_clients", """
A INSERT INTO u (v) VALUES ('a1')
B INSERT INTO u (v) VALUES ('b1')
A SELECT LAST_INSERT_ID()
B SELECT LAST_INSERT_ID()
A INSERT INTO trail (v) VALUES (LAST_INSERT_ID())
A SELECT LAST_INSERT_ID()
B SELECT LAST_INSERT_ID()
C SELECT LAST_INSERT_ID()
B INSERT INTO trail (v) VALUES (LAST_INSERT_ID())
SELECT v FROM trail
A.quit
D SELECT LAST_INSERT_ID()
""")
script("lastid_sequences", """
CREATE SEQUENCE sq START 100
SELECT NEXTVAL(sq)
SELECT NEXT VALUE FOR sq
SELECT LASTVAL(sq)
B SELECT LASTVAL(sq)
SELECT LASTVAL(sq), PREVIOUS VALUE FOR sq
SELECT SETVAL(sq, 500)
SELECT NEXTVAL(sq)
B SELECT NEXTVAL(sq)
SELECT LASTVAL(sq)
INSERT INTO u (v) VALUES (NEXTVAL(sq))
SELECT LASTVAL(sq), LAST_INSERT_ID()
DROP SEQUENCE sq
""", on="mariadb", refuse="1235.*a sequence gave last")
script("lastid_sequence_as_default", """
CREATE SEQUENCE sqd
CREATE TABLE sd (a INT DEFAULT NEXTVAL(sqd), b INT)
INSERT INTO sd (b) VALUES (1), (2)
SELECT LASTVAL(sqd)
SELECT LASTVAL(sqd)
SELECT a, b FROM sd
DROP TABLE sd
DROP SEQUENCE sqd
""", on="mariadb", refuse="1235.*a sequence gave last")
script("lastid_big", """
INSERT INTO u (id, v) VALUES (2000000000, 'big')
INSERT INTO u (v) VALUES ('next')
SELECT LAST_INSERT_ID()
SET last_insert_id = 18446744073709551615
SELECT LAST_INSERT_ID(), @@last_insert_id
SELECT 1
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(9223372036854775808)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(-1)
SELECT LAST_INSERT_ID()
SELECT LAST_INSERT_ID(NULL)
SELECT LAST_INSERT_ID()
""")
