# SPDX-License-Identifier: Apache-2.0
"""Commands but statements; several statements at once; results of all kinds; LOAD DATA LOCAL; ids and KILL."""
from script import script

STATES = {
    "schema": ("USE app2", "SELECT DATABASE()"), "time_zone": ("SET time_zone = '+01:00'", "SELECT @@time_zone"),
    "sql_mode": ("SET sql_mode = 'ANSI_QUOTES'", "SELECT @@sql_mode"), "names": ("SET NAMES latin1", "SELECT @@character_set_client, @@collation_connection"),
    "collation": ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SELECT @@collation_connection"),
    "user_variable": ("SET @a = 5", "SELECT @a"), "temp_table": ("CREATE TEMPORARY TABLE tt SELECT 1 AS x", "SELECT * FROM app.tt"),
    "lock": ("SELECT GET_LOCK('k', 0)", "SELECT IS_USED_LOCK('k') IS NULL"), "transaction": ("INSERT INTO u (v) VALUES ('x')", "SELECT COUNT(*) FROM app.u"),
    "autocommit": ("SET autocommit = 0", "SELECT @@autocommit"), "last_insert_id": ("INSERT INTO u (v) VALUES ('x')", "SELECT LAST_INSERT_ID()"),
    "isolation": ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SHOW VARIABLES LIKE 't%_isolation'"),
    "one_shot": ("SET TRANSACTION READ ONLY", "INSERT INTO app.u (v) VALUES ('after')"), "wait_timeout": ("SET wait_timeout = 55", "SELECT @@wait_timeout"),
    "text_prepare": ("PREPARE p FROM 'SELECT 1'", "EXECUTE p"), "lock_tables": ("LOCK TABLES t READ", "SELECT COUNT(*) FROM app.u"),
    "warnings": ("SELECT CAST('x' AS SIGNED)", "SHOW WARNINGS"), "found_rows": ("SELECT id FROM t LIMIT 3", "SELECT FOUND_ROWS()"),
    "row_count": ("UPDATE t SET n = 0 WHERE id < 4", "SELECT ROW_COUNT()"), "role": ("SET ROLE r1", "SELECT CURRENT_ROLE()"),
    "deferred_begin": ("BEGIN", "INSERT INTO app.u (v) VALUES ('committed')"), "multi_off": (".option 1", "SELECT 1; SELECT 2"),
}
# MariaDB leaves its role to whom COM_CHANGE_USER logs in; here it ends.
for how, command in {"reset": ".reset", "change_user": ".change_user app apppass app", "change_user_no_schema": ".change_user app apppass"}.items():
    for name, (make, look) in STATES.items():
        begin = "BEGIN" if name == "transaction" else "SELECT 1"
        script(f"{how}_ends_{name}", f"""
        {begin}
        {make}
        {look}
        {command}
        .ping
        {look}
        B SELECT COUNT(*) FROM u
        {look}
        """, refuse="1235.*state of the last", on="mysql9" if name == "role" and how != "reset" else "mariadb mysql9",
               modes="text" if name == "multi_off" else "text prepared")

script("change_user_to_another", """
SELECT CURRENT_USER(), USER() LIKE 'app@%'
.change_user app2 app2pass app2
SELECT CURRENT_USER(), DATABASE(), name FROM place
.change_user app wrong app
B.change_user nobody nothing app
C.change_user app apppass no_such_schema
C[any] SELECT 1
D.change_user nopass x
""", modes="text")
script("change_user_refused_ends", """
.change_user app wrong app
[gone] SELECT 1
B.change_user nobody nothing app
B[gone] SELECT 1
""", modes="text", on="mysql9")
script("change_user_persistent_reuse", """
INSERT INTO u (v) VALUES ('first request')
.change_user app apppass app
SET NAMES utf8mb4
SELECT v FROM u
BEGIN
INSERT INTO u (v) VALUES ('left open')
.change_user app apppass app
SELECT v FROM u
SET NAMES utf8mb4
.change_user app apppass app
SELECT @@character_set_client, @@collation_connection, LAST_INSERT_ID()
""")
script("ping_and_init_db", """
.ping
.init_db app
.init_db app
SELECT DATABASE()
.init_db app2
.ping
SELECT name FROM place
.init_db
SELECT DATABASE()
.init_db `app`
BEGIN
.ping
.init_db app
.ping
COMMIT
.statistics
SELECT 1
""")
script("set_option", """
SELECT 1; SELECT 2
.option 1
SELECT 1; SELECT 2
B SELECT 3; SELECT 4
.option 0
SELECT 5; SELECT 6
.option 7
SELECT 7; SELECT 8
BEGIN
.option 0
ROLLBACK
C.connect caps=-MULTI_STATEMENTS
C SELECT 1; SELECT 2
C.option 0
C SELECT 1; SELECT 2
C.reset
C SELECT 1; SELECT 2
""", modes="text")

MULTI = {
    "selects": "SELECT 1; SELECT 'two' AS b; SELECT v FROM t WHERE id < 3", "trailing": "SELECT 1;; ", "trailing_space": "SELECT 1; ",
    "set_and_select": "SET time_zone = '+01:00'; SELECT @@time_zone", "names": "SET NAMES latin1; SET sql_mode = 'ANSI_QUOTES'",
    "use": "USE app2; SELECT name FROM place", "insert_and_id": "INSERT INTO u (v) VALUES ('m'); SELECT LAST_INSERT_ID()",
    "row_count": "UPDATE t SET n = 1 WHERE id < 3; SELECT ROW_COUNT()", "found_rows": "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1; SELECT FOUND_ROWS()",
    "transaction": "BEGIN; INSERT INTO u (v) VALUES ('m'); COMMIT", "open_transaction": "BEGIN; INSERT INTO u (v) VALUES ('m')",
    "rolled_back": "BEGIN; INSERT INTO u (v) VALUES ('m'); ROLLBACK", "user_variable": "SET @a = 5; SELECT @a", "temp": "CREATE TEMPORARY TABLE tt (x INT); INSERT INTO tt VALUES (1); SELECT * FROM tt",
    "temp_dropped": "CREATE TEMPORARY TABLE tt (x INT); DROP TEMPORARY TABLE tt", "lock": "SELECT GET_LOCK('m', 0); SELECT 1",
    "error_first": "SELEC 1; SELECT 2", "error_second": "SELECT 1; SELECT nothing; SELECT 3", "error_in_set": "SET time_zone = '+01:00'; SET no_such = 1; SET time_zone = '+02:00'",
    "warnings": "SELECT CAST('x' AS SIGNED); SHOW WARNINGS", "comment_only": "/* nothing */; SELECT 1", "empty": ";", "call": "CALL p_two(); SELECT 3",
    "autocommit": "SET autocommit = 0; INSERT INTO u (v) VALUES ('m')", "comments": "SELECT 1 /* ; */; -- ; no\tmore", "quoted": "SELECT ';', \";\", `id` FROM t WHERE id = 1; SELECT 2",
    "ddl": "CREATE TABLE mm (a INT); INSERT INTO mm VALUES (1); SELECT * FROM mm; DROP TABLE mm", "prepare": "PREPARE p FROM 'SELECT 1'; EXECUTE p; DEALLOCATE PREPARE p",
    "begin_commit": "BEGIN; COMMIT", "begin_begin": "BEGIN; BEGIN", "set_global": "SELECT 1; SET GLOBAL sort_buffer_size = 65536", "executable": "SELECT 1 /*! ; SELECT 2 */",
}
for name, sql in MULTI.items():
    script(f"multi_{name}", f"""
    .text {sql}
    .ping
    SELECT @@time_zone, @@sql_mode, @@character_set_client, DATABASE(), @a, @@autocommit
    B SELECT COUNT(*) FROM u
    SELECT COUNT(*) FROM app.u
    .text {sql}
    SELECT LAST_INSERT_ID()
    ROLLBACK
    .ping
    """, modes="text", refuse="1235.*state of the last")
script("multi_laravel_boot", """
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci', SESSION sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SELECT @@collation_connection, @@sql_mode
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'; SET SESSION sql_mode = ''; SET time_zone = '+00:00'
SELECT @@collation_connection, @@sql_mode, @@time_zone
B SELECT @@collation_connection, @@sql_mode, @@time_zone
""", modes="text")

EXECUTABLE = {
    "plain": "/*! SELECT 1 */", "version": "/*!50000 SELECT 2 */", "too_new": "/*!99999 SELECT 3 */", "half": "SELECT /*! 1, */ 2",
    "mariadb": "/*M! SELECT 4 */", "mariadb_version": "/*M!100100 SELECT 5 */", "set": "/*!40101 SET NAMES utf8 */", "dump": "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */",
    "dump2": "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */", "begin": "/*!50000 BEGIN */", "nested": "/*! SELECT 1 /* inner */ */",
    "optimizer_hint": "SELECT /*+ NO_INDEX_MERGE(t) */ 1", "use": "/*!50000 USE app2 */", "open": "/*! SELECT 1", "open_plain": "SELECT 1 /* open",
}
for name, sql in EXECUTABLE.items():
    script(f"executable_comment_{name}", f"""
    {sql}
    .ping
    SELECT DATABASE(), @@unique_checks, @OLD_TIME_ZONE IS NULL, @@character_set_client
    {sql}
    ROLLBACK
    B SELECT DATABASE(), @@unique_checks, @OLD_TIME_ZONE
    """)

script("connection_id", """
[greeting] SELECT CONNECTION_ID()
SELECT 1
[greeting] select connection_id() as id
[greeting] SELECT @@pseudo_thread_id
B[greeting] SELECT CONNECTION_ID()
SET @c = CONNECTION_ID()
[greeting] SELECT @c
[greeting] SELECT CONNECTION_ID()
.reset
[greeting] SELECT CONNECTION_ID()
.change_user app apppass app
[greeting] SELECT CONNECTION_ID()
[nometa] SELECT CONNECTION_ID() = $idA AS same, CONNECTION_ID() = $idB AS other
.prepare c SELECT CONNECTION_ID()
[greeting] .execute c
.execute[greeting] c
[greeting] SELECT v, CONNECTION_ID() FROM t WHERE 1 = 0 UNION SELECT CONNECTION_ID(), 1
""", conf={"pool_max": 3})
script("connection_id_in_expressions", """
SELECT CONNECTION_ID() > 0, CONNECTION_ID() > 0 AS a, CONNECTION_ID() IS NULL, 1 AS one
[mask] SELECT CONNECTION_ID() + 1, CONCAT('x', CONNECTION_ID()), CONNECTION_ID() * 1.5, -CONNECTION_ID()
[mask] SELECT connection_id/* */( ) + /* c */ 1 -- end
[mask] SELECT  `connection_id`() | 0   , IFNULL(CONNECTION_ID(), 1), CONNECTION_ID()+1 `a``b`, CONNECTION_ID()+1 'c'
[mask] SELECT CONNECTION_ID() + @@pseudo_thread_id, @@pseudo_thread_id + 1, @@session.pseudo_thread_id
SELECT CONNECTION_ID() = @@pseudo_thread_id, (SELECT CONNECTION_ID()) > 0, 1 IN (SELECT CONNECTION_ID())
SELECT * FROM (SELECT CONNECTION_ID() > 1, 2) d
SELECT d.* FROM (SELECT (CONNECTION_ID() > (SELECT 1 FROM t LIMIT 1)), 'a' 'b') d
WITH c AS (SELECT CONNECTION_ID() > 1) SELECT * FROM c
SELECT CASE WHEN CONNECTION_ID() > 5 THEN 'more' ELSE 'less' END IS NULL
SELECT CASE CONNECTION_ID() WHEN 5 THEN 1 END AS five, CASE CONNECTION_ID() WHEN -5 THEN 1 END
SELECT DISTINCT CONNECTION_ID() > 0 FROM t WHERE CONNECTION_ID() > 0
SELECT CONNECTION_ID() > 0, COUNT(*) FROM t GROUP BY CONNECTION_ID() > 0 ORDER BY CONNECTION_ID()
SELECT id FROM t WHERE id < 3 ORDER BY CONNECTION_ID(), id
SELECT CONNECTION_ID() = date 'x', CONNECTION_ID() = 'a' "b", CONNECTION_ID() = x'41', 'x' = CONNECTION_ID() y
SELECT CONNECTION_ID() > 0 + 100000000000 - 100000000000 + 100000000000 - 100000000000 + 100000000000 - 100000000000 + \
100000000000 - 100000000000 + 100000000000 - 100000000000 + 100000000000 - 100000000000 + 100000000000 - 100000000000 + 1 - 1
SELECT /*! CONNECTION_ID() > 0, */ 2
SELECT 1 /*!50000 , CONNECTION_ID() > 0 */
SELECT 1 /*!99999 + CONNECTION_ID() */, 2
[mask] SELECT /*!50000 CONNECTION_ID() */
SELECT CONNECTION_ID() > 0 UNION ALL SELECT CONNECTION_ID() < 0
INSERT INTO u (v, n) SELECT CONNECTION_ID() > 0, 1 ON DUPLICATE KEY UPDATE n = CONNECTION_ID() > 0
SELECT v, n FROM u
DO CONNECTION_ID()
.prepare s SELECT CONNECTION_ID() > ?, CONNECTION_ID() > 0 b
.execute s 1
B.prepare s SELECT CONNECTION_ID() > ?, CONNECTION_ID() > 0 b
B.execute s 1
""", conf={"pool_max": 3})
script("connection_id_is_one", """
[mask] SET @c = CONNECTION_ID()
SELECT @c = CONNECTION_ID(), @c = @@pseudo_thread_id
[greeting] SELECT v FROM (SELECT CONNECTION_ID() AS v) d
[greeting] SELECT /*! CONNECTION_ID() */
[greeting] SELECT 0 + `Connection_Id`() AS quoted
[greeting] SELECT CONNECTION_ID() FROM t WHERE id = 1 GROUP BY CONNECTION_ID()
[greeting] SELECT CONNECTION_ID() FROM DUAL ORDER BY CONNECTION_ID() LIMIT 1
CREATE TABLE ids AS SELECT CONNECTION_ID(), CONNECTION_ID() AS id, CONNECTION_ID() > 0, @@pseudo_thread_id AS t
[greeting] SELECT id FROM ids
SELECT id = CONNECTION_ID(), t = CONNECTION_ID() FROM ids
SHOW CREATE TABLE ids
.text PREPARE p FROM 'SELECT CONNECTION_ID() AS a'
.text[greeting] EXECUTE p
.text DEALLOCATE PREPARE p
.prepare one SELECT 1, CONNECTION_ID() = $idA AS same
.execute one
B.prepare one SELECT 1, CONNECTION_ID() = $idB AS same
B.execute one
A.execute one
.prepare x SELECT CONNECTION_ID() = ?, CONNECTION_ID() = $idA AS a
.execute x 5
B.prepare x SELECT CONNECTION_ID() = ?, CONNECTION_ID() = $idA AS a
B.execute x 5
A.execute x 5
""", conf={"pool_max": 3}, clean="DROP TABLE IF EXISTS app.ids")
script("connection_id_in_tables", """
INSERT INTO u (v, n) VALUES ('mine', 1)
[nometa] SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()
[nometa] SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID = $idA
SELECT GET_LOCK('c', 0)
[greeting] SELECT IS_USED_LOCK('c')
B[nometa] SELECT IS_USED_LOCK('c') = $idA AS of_a
""", conf={"pool_max": 3}, modes="text")
script("connection_id_of_others", """
A SELECT GET_LOCK('c', 0)
B SELECT IS_USED_LOCK('c') AS owner /* $idA */
B SELECT IS_USED_LOCK('c') = $idA AS a, IS_USED_LOCK('c') = $idB AS b, $idA <> IS_USED_LOCK('c') AS c
B SELECT IS_USED_LOCK('c') IN ($idA, 5) AS a, IS_USED_LOCK('c') = '$idA' AS b, IS_USED_LOCK('c') IS NULL
B SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID IN ($idA, '$idB')
B SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID = $idA AND USER = 'app'
A SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID = $idA AND INFO LIKE '%who am I%'
A.prepare mine SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE ID = $idA
A.execute mine
B SELECT 1
A.execute mine
A.prepare owner SELECT IS_USED_LOCK('c')
A.execute[greeting,nometa] owner
B.prepare none SELECT IS_USED_LOCK('nobody')
B.execute none
B.prepare its SELECT IS_USED_LOCK('c') = $idA AS n
B SELECT 4000000000 = 4000000000 AS x
A SELECT RELEASE_LOCK('c')
B SELECT IS_USED_LOCK('c') = $idA AS a, IS_USED_LOCK('c')
""", conf={"pool_max": 3}, modes="text", refuse="1235.*another client's connection id")
script("kill_query", """
A SELECT 1
A.send SELECT SLEEP(8)
.until SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(8)'
B KILL QUERY $idA
A.recv
A SELECT 2
A[greeting] SELECT CONNECTION_ID()
B SELECT 3
""", modes="text", conf={"pool_max": 3})
script("kill_query_of_bound_id", """
A[bind=mine,greeting] SELECT CONNECTION_ID()
A.send SELECT SLEEP(8)
.until SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(8)'
B KILL QUERY $mine
A.recv
A SELECT 2
""", modes="text", conf={"pool_max": 3})
script("kill_query_in_transaction", """
A BEGIN
A INSERT INTO u (v) VALUES ('kept')
A.send SELECT SLEEP(8) FROM t
.until SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(8) FROM t'
B KILL QUERY $idA
A.recv
A.ping
A SELECT COUNT(*) FROM u
A COMMIT
B SELECT v FROM u
""", modes="text", conf={"pool_max": 3})
script("kill_query_of_an_idle_one", """
A SELECT 1
B KILL QUERY $idA
A SELECT 2
A BEGIN
A INSERT INTO u (v) VALUES ('x')
B KILL QUERY $idA
A SELECT 3
A COMMIT
B KILL QUERY $idA
A.prepare s SELECT 5
A.execute s
""", modes="text", conf={"pool_max": 3})
script("kill_connection", """
A SELECT 1
B KILL $idA
A[gone] SELECT 2
C BEGIN
C INSERT INTO u (v) VALUES ('lost')
B KILL CONNECTION $idC
C[gone] COMMIT
B SELECT COUNT(*) FROM u
D SELECT 1
B.process_kill $idD
D[gone] SELECT 1
B SELECT 'still here'
""", modes="text", conf={"pool_max": 3})
script("kill_connection_busy", """
A.connect
A.send SELECT SLEEP(8)
.until SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(8)'
B KILL $idA
A[gone] .recv
A.recv[gone]
B SELECT 1
""".replace("A[gone] .recv\nA.recv[gone]", "A.recv[gone]"), modes="text", conf={"pool_max": 3})
script("kill_oneself", """
A KILL QUERY $idA
A SELECT 1
A[gone] KILL $idA
A[gone] SELECT 2
B KILL QUERY CONNECTION_ID()
B[gone] KILL CONNECTION_ID()
B[gone] SELECT 1
""", modes="text")
script("kill_unknown", """
A KILL 4000000000
A KILL QUERY 4000000001
A.process_kill 4000000002
A KILL 'x'
A KILL
A KILL QUERY 0
A SELECT 1
""", modes="text")
script("kill_prepared", """
A SELECT 1
B.prepare k KILL QUERY ?
B.prepare k KILL QUERY $idA
B.execute k
A SELECT 2
""", modes="text")

script("kill_by_an_expression", """
A SET @mine = CONNECTION_ID()
A KILL QUERY @mine
A SELECT 'still here'
A KILL QUERY $idA + 0
A KILL QUERY '$idA'
B KILL QUERY $idA + 0
B KILL QUERY @nothing
B SET @its = $idA
B.prepare k KILL QUERY @its
B.execute k
B SELECT ROW_COUNT()
A SELECT @mine > 0
B KILL @its
A[gone] SELECT 1
B SELECT 'still here'
C SET @mine = CONNECTION_ID()
C[gone] KILL @mine
C[gone] SELECT 1
D.prepare k KILL CONNECTION $idD
D[gone] .execute k
""".replace("D[gone] .execute k", "D.execute[gone] k"), modes="text", conf={"pool_max": 4})
script("kill_and_the_last_statement", """
A SELECT 1
B UPDATE t SET n = 1 WHERE id < 4
B KILL QUERY $idA
B SELECT ROW_COUNT()
B SELECT CAST('x' AS SIGNED)
B KILL QUERY $idA
B SHOW WARNINGS
B SET @its = $idA
B SELECT CAST('x' AS SIGNED)
B KILL QUERY @its
B SELECT ROW_COUNT()
B KILL 4000000000
B SHOW WARNINGS
""", modes="text", refuse="1235.*state of the last", conf={"pool_max": 3})
script("kill_by_a_parameter", """
A SELECT 1
B.prepare k KILL QUERY ?
B.execute k $idA
B.prepare c KILL CONNECTION ?
B.execute c $idA
A[gone] SELECT 2
B.execute c 4000000000
B.prepare e KILL QUERY ? + 1
B.execute e 4000000000
B SELECT 3
""", modes="text", on="mariadb")
script("kill_of_another_user", """
A INSERT INTO u (v) VALUES ('mine')
A SET @a = 1
B.connect user=app2 password=app2pass db=app2
B KILL $idA
B KILL QUERY $idA
B SET @its = $idA
B KILL @its /* $idA */
A SELECT v, @a FROM u
""", modes="text", conf={"pool_max": 3})
script("kill_among_other_statements", """
A SELECT 1
B.text SELECT 1; KILL QUERY $idA
B.text KILL QUERY $idA; SELECT 1
B.text SELECT 2; KILL QUERY 4000000000; SELECT 3
A SELECT 2
""", modes="text", refuse="1235.*send it alone")

script("load_data_local", """
A.connect caps=+LOCAL_FILES
A LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE u FIELDS TERMINATED BY ',' (id, v, n)
A SELECT id, v, n FROM u ORDER BY id
A SELECT LAST_INSERT_ID(), ROW_COUNT()
A LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE u FIELDS TERMINATED BY ',' (id, v, n)
A SHOW WARNINGS
A LOAD DATA LOCAL INFILE 'empty.csv' INTO TABLE u
A load  data /* c */ concurrent local infile 'rows.csv' replace INTO TABLE u FIELDS TERMINATED BY ',' (id, v, n)
A LOAD DATA LOCAL INFILE 'bad.csv' INTO TABLE u FIELDS TERMINATED BY ',' (id, v, n)
A SELECT COUNT(*) FROM u
A LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE nowhere
A BEGIN
A LOAD DATA LOCAL INFILE 'big.csv' INTO TABLE trail FIELDS TERMINATED BY ',' (id, v, @n)
A.ping
A ROLLBACK
A SELECT COUNT(*) FROM trail
A SELECT 1
""", modes="text", refuse="1235.*state of the last")
script("load_data_local_not_allowed", """
A LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE u FIELDS TERMINATED BY ','
A LOAD DATA INFILE '/nonexistent' INTO TABLE u
A SELECT COUNT(*) FROM u
""", modes="text")
script("found_rows_flag", """
A.connect caps=+FOUND_ROWS
A UPDATE t SET n = n WHERE id < 4
B UPDATE t SET n = n WHERE id < 4
A SELECT ROW_COUNT()
A INSERT INTO t (id, v) VALUES (1, 'a') ON DUPLICATE KEY UPDATE v = 'a'
B INSERT INTO t (id, v) VALUES (1, 'a') ON DUPLICATE KEY UPDATE v = 'a'
A.reset
A UPDATE t SET n = n WHERE id < 4
A.prepare s UPDATE t SET n = n WHERE id < ?
A.execute s 3
B.prepare s UPDATE t SET n = n WHERE id < ?
B.execute s 3
""", refuse="1235.*state of the last")

script("results_types", """
SELECT * FROM types ORDER BY a
SELECT a, b + 1, c * 2, -d, e / 2, f % 7, g, h * h, i + j FROM types WHERE a IS NOT NULL
SELECT k, l, m, n, o, YEAR(k), UNIX_TIMESTAMP(m) FROM types WHERE a IS NOT NULL ORDER BY a
SELECT p, q, HEX(r), HEX(s), t, u, HEX(v), w, w + 0, x, x + 0, y + 0, HEX(y), z FROM types ORDER BY a
SELECT NULL, 1, 1.5, 1e5, 'x', x'41', b'101', TRUE, DATE '2024-01-01', TIME '10:00:00', TIMESTAMP '2024-01-01 00:00:00'
SELECT CAST(1 AS UNSIGNED), CAST('1.23' AS DECIMAL(10,4)), CAST(1 AS CHAR), CAST('a' AS BINARY), CAST(5 AS DOUBLE)
SELECT COUNT(*), SUM(a), AVG(b), MIN(k), MAX(l), GROUP_CONCAT(q ORDER BY a), STD(a), BIT_OR(b) FROM types
SELECT JSON_OBJECT('a', 1), JSON_ARRAY(1, NULL)
SELECT id, v, n, RANK() OVER (ORDER BY n DESC) FROM t ORDER BY id
""")
script("results_names", """
SELECT 1 AS `a b`, 2 AS '', 3 AS `x.y`, 4 `plain`
SELECT 1 + 1, t.id, t.v AS w, x.n FROM t, t x WHERE t.id = 1 AND x.id = 2
SELECT * FROM (SELECT 1 AS a, 2 AS a) d
SELECT * FROM v_t
SELECT t.*, o.* FROM t JOIN app2.t o USING (id) ORDER BY 1
SELECT 'a very long expression that becomes the name of its column', 'and another one which is even longer than that was'
SHOW CREATE TABLE parent
SHOW CREATE VIEW v_t
[mask] SHOW INDEX FROM parent
SHOW FULL COLUMNS FROM parent
EXPLAIN SELECT v FROM t WHERE id = 1
SHOW DATABASES
SHOW TABLES
SHOW ENGINES
SHOW COLLATION LIKE 'latin1%'
SHOW CHARACTER SET LIKE 'utf8%'
SHOW GRANTS
SHOW TRIGGERS LIKE 'trg_tz'
SHOW PROCEDURE STATUS LIKE 'nothing'
SHOW PLUGINS LIKE 'nothing'
CHECK TABLE t
CHECKSUM TABLE t
""".replace("SHOW PLUGINS LIKE 'nothing'\n", "").replace("SHOW TRIGGERS LIKE 'trg_tz'\n", ""))
script("results_none", """
SELECT v FROM t WHERE 1 = 0
SELECT v FROM t LIMIT 0
SELECT NULL FROM t WHERE id = 1
DO 1
SELECT '' AS empty, NULL AS nothing
UPDATE t SET n = 0 WHERE 1 = 0
DELETE FROM t WHERE id = 999
(SELECT 1 LIMIT 0)
""")
script("results_big", """
SELECT REPEAT('x', 1000000), LENGTH(REPEAT('y', 100))
SELECT REPEAT('z', 16777214)
SELECT REPEAT('z', 16777215), 1
SELECT REPEAT('z', 16777216) UNION ALL SELECT 'after'
SELECT a.id, b.id, c.id, d.id, e.id FROM t a, t b, t c, t d, t e ORDER BY 1, 2, 3, 4, 5
SELECT 1
""", modes="text")
script("results_many_columns", "\n".join([
    "SELECT " + ", ".join(f"{i} AS c{i}" for i in range(600)),
    "SELECT " + ", ".join(f"NULL AS n{i}" for i in range(70)),
    "SELECT " + ", ".join(str(i) for i in range(5000))]))
script("statements_big", f"""
SELECT LENGTH('{'q' * 100000}')
INSERT INTO trail (v) VALUES {', '.join(f"('row {i}')" for i in range(3000))}
SELECT COUNT(*), MIN(id), MAX(id) FROM trail
SELECT LAST_INSERT_ID()
SELECT '{'long ' * 4000}' AS x, LAST_INSERT_ID()
SET @big = '{'v' * 20000}'
SELECT LENGTH(@big)
SET time_zone = '+01:00' /* {'pad ' * 5000} */
SELECT @@time_zone
""")
script("errors_of_each_kind", """
SELEC 1
SELECT * FROM nowhere
SELECT nothing FROM t
SELECT * FROM nowhere.t
INSERT INTO t (id) VALUES (1)
INSERT INTO u (v) VALUES (REPEAT('x', 100))
INSERT INTO u (n) VALUES (NULL)
INSERT INTO child (p) VALUES (55)
DELETE FROM parent WHERE id = 1 AND 1 / 0
SELECT 1 FROM t GROUP BY nothing
SELECT MAX(id) FROM t WHERE MAX(id) > 1
SELECT (SELECT id FROM t)
SELECT 1 UNION SELECT 1, 2
CREATE TABLE t (a INT)
DROP TABLE nowhere
CREATE DATABASE forbidden
SELECT * FROM mysql.user
SELECT f_nothing()
SELECT 18446744073709551615 + 1
SELECT CAST('99999999999999999999' AS SIGNED)
SELECT EXP(1000)
SELECT ST_GeomFromText('nonsense')
SELECT JSON_EXTRACT('{', '$.a')
SELECT 'a' REGEXP '('
UPDATE v_check SET n = 1000 WHERE id = 1
INSERT INTO v_t (nothing) VALUES (1)
ALTER TABLE t DROP COLUMN nothing
SELECT * FROM t WHERE id = (SELECT 1, 2)
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'signalled'
SELECT SLEEP(-1)
SELECT
;
-- nothing
SELECT 1 2 3
\u00e9
SELECT @@nothing
SHOW NOTHING
KILL nothing
SELECT 'unclosed
SELECT 1
""", clean="DROP DATABASE IF EXISTS forbidden", modes="text prepared")
script("errors_empty_query", """
.raw b''
.raw b' '
.raw b'\\x00'
.raw b'SELECT 1\\x00'
.raw b'/**/'
.raw b'# comment'
SELECT 1
""", modes="text")
script("errors_in_the_middle", """
SELECT id, (SELECT id FROM t x WHERE x.id >= t.id) FROM t ORDER BY id DESC
SELECT 1
CALL p_do('SELECT 1')
CALL p_do('SELECT nothing')
CALL p_do('SELECT id FROM t WHERE id < 3')
SELECT 2
""")
script("view_and_fk_and_trigger", """
UPDATE v_t SET v = 'via view' WHERE id = 1
SELECT v FROM t WHERE id = 1
INSERT INTO v_check (v, n) VALUES ('ok', 5)
INSERT INTO v_check (v, n) VALUES ('not', 500)
INSERT INTO trg_row (v) VALUES ('x'), ('y')
SELECT LAST_INSERT_ID()
SELECT v FROM trail
INSERT INTO trg_read (v) VALUES ('r')
SELECT v, l FROM trg_read
INSERT INTO child (p) VALUES (1), (2)
DELETE FROM parent WHERE id = 1
""")
script("do_and_sleep", """
DO SLEEP(0)
DO 1, 2
SELECT SLEEP(0.01)
SELECT BENCHMARK(10, MD5('x'))
DO f_var(9)
SELECT @fv
DO nothing_here()
""")
script("show_processlist_and_status", """
[any] SHOW PROCESSLIST
[any] SHOW FULL PROCESSLIST
[any] SHOW STATUS LIKE 'Threads_connected'
[any] SHOW SESSION STATUS LIKE 'Last_query_cost'
[mask] SELECT USER()
SELECT CURRENT_USER(), SESSION_USER() = USER(), SYSTEM_USER() = USER()
SELECT VERSION() = @@version, @@version = VERSION()
SELECT DATABASE(), SCHEMA(), CHARSET(USER()), COLLATION(DATABASE())
""")
script("info_texts", """
INSERT INTO trail (v) VALUES ('a'), ('b')
INSERT INTO trail (v) SELECT v FROM t
UPDATE t SET n = 1 WHERE id < 4
UPDATE t SET n = 1
DELETE FROM trail
REPLACE INTO t (id, v) VALUES (1, 'a'), (2, 'b')
INSERT IGNORE INTO t (id) VALUES (1), (2), (77)
ALTER TABLE parent COMMENT 'x'
CREATE TABLE it SELECT id FROM t
DROP TABLE it
INSERT INTO trail (v) VALUES ('single')
BEGIN
UPDATE t SET n = 2 WHERE id = 1
COMMIT
SET @x = 1
""")
