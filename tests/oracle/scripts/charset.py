# SPDX-License-Identifier: Apache-2.0
"""Character sets, collations, and the schema."""
from script import script

NAMES = {
    "plain": "SET NAMES latin1", "quoted": "SET NAMES 'latin1'", "double": 'SET NAMES "latin1"', "semicolon": "SET NAMES latin1;",
    "collate": "SET NAMES utf8mb4 COLLATE utf8mb4_bin", "collate_quoted": "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'",
    "default": "SET NAMES DEFAULT", "lower": "set  names  latin1", "comment": "/* c */ SET NAMES /* d */ latin1 -- e",
    "utf8": "SET NAMES utf8", "utf8mb3": "SET NAMES utf8mb3", "binary": "SET NAMES binary", "ucs2": "SET NAMES ucs2",
    "unknown": "SET NAMES no_such_set", "wrong_collation": "SET NAMES latin1 COLLATE utf8mb4_bin", "ascii": "SET NAMES ascii",
    "big5": "SET NAMES big5", "executable": "/*!40101 SET NAMES latin1 */", "and_more": "SET NAMES latin1, time_zone = '+01:00'",
    "more_first": "SET time_zone = '+01:00', NAMES latin1", "charset_word": "SET CHARACTER SET latin1",
    "charset_short": "SET CHARSET 'latin1'", "charset_utf8": "SET CHARACTER SET utf8", "charset_default": "SET CHARACTER SET DEFAULT",
    "equals": "SET NAMES = latin1", "cp932": "SET NAMES cp932", "gbk": "SET NAMES gbk COLLATE gbk_bin",
}
SEEN = """SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection
SELECT w, l, 'x', 'a' = 'A' FROM words ORDER BY w, l LIMIT 3"""
for name, sql in NAMES.items():
    script(f"names_{name}", f"""
    A.text {sql}
    SHOW WARNINGS
    {SEEN}
    B {SEEN.splitlines()[0]}
    {sql}
    SELECT HEX('ab'), CHARSET('ab'), COLLATION('ab'), @@time_zone
    SET NAMES utf8mb4
    {SEEN}
    .reset
    {SEEN.splitlines()[0]}
    """, refuse="1235.*state of the last")

script("charset_bytes_latin1", r"""
SET NAMES latin1
.raw b"INSERT INTO u (v) VALUES ('caf\xe9')"
.raw b"SELECT v, HEX(v), 'caf\xe9' = v FROM u"
B SELECT v, HEX(v) FROM u
SET character_set_results = NULL
SELECT v FROM u
SET character_set_results = utf8mb4
SELECT v FROM u
.raw b"SELECT '\xe9' AS `\xe9`"
.raw b"SELECT no_\xe9 FROM u"
""")
script("charset_bytes_wrong", r"""
.raw b"SELECT HEX('\xe9')"
SHOW WARNINGS
.raw b"INSERT INTO u (v) VALUES ('\xe9\xff')"
SHOW WARNINGS
.raw b"SELECT '\xe9' FROM"
.raw b"SELECT 1 AS `\xff`"
.raw b"\xff\xfe"
SELECT 1
""", refuse="1235")
script("charset_gbk_backslash", r"""
SET NAMES gbk
.raw b"SELECT HEX('\xd5\x5c'), LENGTH('\xd5\x5c')"
.raw b"SELECT '\xd5\x5c', 'x'"
B.raw b"SELECT LENGTH('\\\\')"
SELECT 1
""")
script("charset_multibyte_sjis", r"""
SET NAMES sjis
.raw b"SELECT HEX('\x95\x5c')"
SET @x = 1
.raw b"SELECT '\x83\x5c', @x"
SELECT 2
""")
script("charset_login_numbers", """
A.connect charset=8
A SELECT @@character_set_client, @@collation_connection, @@character_set_results
B.connect charset=33
B SELECT @@character_set_client, @@collation_connection
C.connect charset=46
C SELECT @@collation_connection, 'a' = 'A'
D.connect charset=255
D SELECT @@collation_connection, 'a' = 'A'
E.connect charset=224
E SELECT @@collation_connection
A.reset
A SELECT @@character_set_client, @@collation_connection
C.reset
C SELECT @@collation_connection
C.change_user app apppass app
C SELECT @@collation_connection
A SELECT w, l FROM words ORDER BY 1, 2
""")
script("charset_login_unknown", """
A.connect charset=99
A SELECT @@character_set_client, @@collation_connection
B.connect charset=0
B SELECT @@character_set_client, @@collation_connection
C.connect charset=63
C SELECT @@character_set_client, 'a' = 'A'
""")
script("charset_errors_in_the_clients", """
SET NAMES latin1
SELECT * FROM `t\u00e9`
SET character_set_results = NULL
SELECT * FROM nowhere
SET NAMES utf8mb4
SELECT * FROM `t\u00e9`
SELECT '\u00e9' AS `\u00e9`, _latin1 0xE9
SELECT w COLLATE utf8mb4_bin FROM words ORDER BY 1
SELECT w FROM words WHERE w = 'A' COLLATE utf8mb4_bin
SELECT 'a' = 'A' COLLATE latin1_bin
""")
script("charset_single_variables_move_others", """
SET collation_connection = latin1_bin
SELECT @@character_set_connection, @@collation_connection, @@character_set_client
SET character_set_connection = utf8mb4
SELECT @@character_set_connection, @@collation_connection
SET character_set_server = latin1, collation_database = latin1_bin
SELECT @@character_set_server, @@collation_server, @@character_set_database, @@collation_database
SET character_set_client = ucs2
SET character_set_client = utf8mb4, character_set_results = latin1, collation_connection = utf8mb4_bin
SELECT @@character_set_client, @@character_set_results, @@collation_connection, 'a' = 'A'
SET NAMES utf8mb4
SELECT @@collation_connection, 'a' = 'A'
SET character_set_connection = 33
SELECT @@collation_connection
SET collation_connection = 8
SELECT @@collation_connection
SET collation_connection = DEFAULT
SELECT @@collation_connection
""")
script("charset_in_call_and_prepared", """
CALL p_names()
SELECT @@character_set_client, 'x'
.prepare s SET NAMES utf8mb4 COLLATE utf8mb4_bin
.execute s
SELECT @@collation_connection
.prepare r SET character_set_results = ?
.execute r 'latin1'
SELECT w FROM words
.execute r None
SELECT w FROM words
B SELECT @@collation_connection, @@character_set_results
CALL p_do('SET NAMES utf8mb4')
SELECT @@collation_connection
""")

script("schema_use", """
SELECT DATABASE(), SCHEMA(), v FROM t WHERE id = 1
USE app2
SELECT DATABASE(), v FROM t WHERE id = 1
use `shop`;
SELECT DATABASE(), shop_only FROM t
USE no_such_schema
SELECT DATABASE(), shop_only FROM t
USE mysql
SELECT DATABASE()
.init_db app
SELECT DATABASE(), v FROM t WHERE id = 1
.init_db nowhere
.init_db app2
B SELECT DATABASE()
.text /* c */ USE shop -- x
SELECT name FROM place
/*! USE app2 */
SELECT name FROM place
USE APP
USE 'app'
USE app.t
SELECT name FROM place
""")
script("schema_none", """
A.connect db=-
A SELECT DATABASE()
A SELECT name FROM place
A SELECT name FROM app.place
A USE app
A SELECT name FROM place
B.connect db=-
B SELECT DATABASE()
B SHOW TABLES
A.change_user app apppass
A SELECT DATABASE()
A SELECT name FROM place
A.change_user app apppass app2
A SELECT name FROM place
A.reset
A SELECT name FROM place
""")
script("schema_unknown_at_login", """
A.connect db=no_such_schema
B.connect db=mysql
C.connect db=app2
C SELECT name FROM place
""")
script("schema_dropped_and_made_again", """
USE shop
SELECT DATABASE(), name FROM place
DROP DATABASE shop
SELECT DATABASE()
SELECT name FROM place
.ping
.init_db shop
CREATE DATABASE shop
SELECT DATABASE()
CREATE TABLE fresh (a INT)
.text USE shop
SELECT DATABASE()
CREATE TABLE fresh (a INT)
SHOW TABLES
B.connect db=shop
B SELECT DATABASE()
DROP DATABASE shop
B SELECT DATABASE()
B SELECT 1 FROM fresh
.admin CREATE DATABASE shop
B USE shop
B SELECT DATABASE()
""", refuse="1049.*cannot be restored")
script("schema_dropped_by_another", """
USE shop
SELECT name FROM place
.admin DROP DATABASE shop
SELECT DATABASE()
SELECT name FROM place
.admin CREATE DATABASE shop
.admin CREATE TABLE shop.place (name VARCHAR(20))
SELECT COUNT(*) FROM place
SELECT DATABASE()
B.connect db=shop
B SELECT COUNT(*) FROM place
""", refuse="1049.*cannot be restored")
script("schema_of_a_prepared_use", """
.prepare p USE shop
.prepare q USE app
.prepare r SELECT DATABASE()
.execute p
.text SELECT DATABASE()
.execute q
.text SELECT DATABASE()
.execute p
.execute r
.text USE app2
.execute p
.text SELECT DATABASE()
.text SELECT v FROM t
.execute q
.text SELECT DATABASE()
.execute r
""", modes="text")
script("schema_in_statements_of_others", """
USE app2
INSERT INTO app.u (v) VALUES ('x')
SELECT LAST_INSERT_ID()
SELECT t.v, o.v FROM t JOIN app.t o ON t.id = o.id ORDER BY t.id
SHOW TABLES FROM shop
SHOW TABLES
DESCRIBE t
SHOW COLUMNS FROM app.parent
EXPLAIN SELECT 1
BEGIN
USE app
INSERT INTO u (v) VALUES ('y')
USE app2
COMMIT
SELECT COUNT(*) FROM app.u
CALL app.p_insert('z')
SELECT DATABASE()
CALL p_insert('no such here')
SELECT app.f_plain(1), DATABASE()
""")
script("schema_alter_database", """
CREATE DATABASE IF NOT EXISTS shop
USE shop
SELECT @@character_set_database, @@collation_database
ALTER DATABASE shop CHARACTER SET latin1
SELECT @@character_set_database, @@collation_database
CREATE TABLE made (v VARCHAR(5))
SHOW CREATE TABLE made
DROP TABLE made
B.connect db=shop
B SELECT @@character_set_database, @@collation_database
ALTER DATABASE shop CHARACTER SET utf8mb4
SELECT @@character_set_database
B USE app
B USE shop
B SELECT @@character_set_database
USE app
SELECT @@character_set_database
""")
