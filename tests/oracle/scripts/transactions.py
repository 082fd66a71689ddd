# SPDX-License-Identifier: Apache-2.0
"""Transactions: begun in each spelling, ended in each way, deferred or not; what other clients see of them."""
from script import script

BEGINS = {
    "begin": "BEGIN", "work": "BEGIN WORK", "start": "START TRANSACTION", "semicolon": "begin;", "comment": "/* x */ START TRANSACTION",
    "read_only": "START TRANSACTION READ ONLY", "read_write": "START TRANSACTION READ WRITE",
    "snapshot": "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "snapshot_rw": "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE", "executable": "/*!50000 BEGIN */",
    "autocommit": "SET autocommit = 0", "spaced": "  START   TRANSACTION  ", "trailing": "BEGIN -- go",
    "not_atomic": "BEGIN NOT ATOMIC SELECT 1; END", "transaction_word": "BEGIN TRANSACTION", "call": "CALL p_begin()",
}
for name, sql in BEGINS.items():
    script(f"begin_{name}", f"""
    .text {sql}
    .ping
    SELECT COUNT(*) FROM t
    INSERT INTO u (v) VALUES ('in it')
    B SELECT COUNT(*) FROM u
    SELECT COUNT(*) FROM u
    {sql}
    B SELECT COUNT(*) FROM u
    INSERT INTO u (v) VALUES ('second')
    ROLLBACK
    .ping
    SELECT COUNT(*) FROM u
    B SELECT COUNT(*) FROM u
    """, modes="text prepared" if ";" not in sql else "text")

ENDS = {
    "commit": "COMMIT", "commit_space": "COMMIT ", "work": "COMMIT WORK", "rollback": "ROLLBACK", "chain": "COMMIT AND CHAIN",
    "no_chain": "COMMIT AND NO CHAIN NO RELEASE", "rollback_chain": "ROLLBACK AND CHAIN", "ddl": "CREATE TABLE imp (a INT)",
    "truncate": "TRUNCATE trail", "begin": "BEGIN", "set_autocommit": "SET autocommit = 1", "lock": "LOCK TABLES t READ",
    "analyze": "ANALYZE TABLE parent", "grant": "SET PASSWORD = 'x' + 1", "alter": "ALTER TABLE parent COMMENT 'x'",
    "temp_table": "CREATE TEMPORARY TABLE tmp1 (a INT)", "use": "USE app2", "set_names": "SET NAMES latin1",
    "error": "SELECT * FROM nowhere", "duplicate": "INSERT INTO t (id) VALUES (1)", "savepoint": "SAVEPOINT s",
    "failed_ddl": "CREATE TABLE t (a INT)", "drop_nothing": "DROP TABLE IF EXISTS never_there", "flush": "FLUSH TABLES parent",
    "check": "CHECK TABLE parent", "create_view": "CREATE OR REPLACE VIEW v_imp AS SELECT 1 AS a",
}
for name, sql in ENDS.items():
    script(f"end_{name}", f"""
    BEGIN
    INSERT INTO u (v) VALUES ('a')
    {sql}
    .ping
    B SELECT COUNT(*) FROM app.u
    INSERT INTO app.u (v) VALUES ('b')
    B SELECT COUNT(*) FROM app.u
    ROLLBACK
    .ping
    B SELECT v FROM app.u ORDER BY 1
    UNLOCK TABLES
    SELECT @@autocommit
    """, clean="DROP TABLE IF EXISTS app.imp; DROP VIEW IF EXISTS app.v_imp")

script("trx_release", """
BEGIN
INSERT INTO u (v) VALUES ('a')
COMMIT RELEASE
[gone] SELECT 1
B SELECT v FROM u
B BEGIN
B INSERT INTO u (v) VALUES ('b')
B ROLLBACK RELEASE
B[gone] SELECT 1
C SELECT v FROM u
""", modes="text")
script("trx_empty", """
BEGIN
COMMIT
BEGIN
ROLLBACK
BEGIN
BEGIN
.ping
COMMIT
COMMIT
ROLLBACK
START TRANSACTION READ ONLY
COMMIT
.ping
SELECT ROW_COUNT()
""", refuse="1235")
script("trx_begin_set_select", """
BEGIN
SET time_zone = '+01:00'
SELECT @@time_zone, FROM_UNIXTIME(0)
SELECT v FROM t WHERE id = 1
SET sql_mode = 'ANSI_QUOTES'
INSERT INTO u (v) SELECT "v" FROM t WHERE id = 2
USE app2
INSERT INTO app.u (v) VALUES ('from app2')
SET NAMES latin1
ROLLBACK
SELECT COUNT(*) FROM app.u
SELECT @@time_zone, @@sql_mode, DATABASE(), @@character_set_client
""")
script("trx_begin_prepare", """
BEGIN
.prepare i INSERT INTO u (v) VALUES (?)
.execute i 'x'
B SELECT COUNT(*) FROM u
ROLLBACK
SELECT COUNT(*) FROM u
START TRANSACTION
.execute i 'y'
COMMIT
B SELECT v FROM u
.stmt_close i
BEGIN
.prepare s SELECT COUNT(*) FROM u
.stmt_close s
.ping
B INSERT INTO u (v) VALUES ('of B')
SELECT COUNT(*) FROM u
B INSERT INTO u (v) VALUES ('later')
SELECT COUNT(*) FROM u
COMMIT
SELECT COUNT(*) FROM u
""")
script("trx_isolation_seen", """
A SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
A BEGIN
A SELECT n FROM t WHERE id = 1
B UPDATE t SET n = 11 WHERE id = 1
A SELECT n FROM t WHERE id = 1
A COMMIT
A SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ
A BEGIN
A SELECT n FROM t WHERE id = 1
B UPDATE t SET n = 12 WHERE id = 1
A SELECT n FROM t WHERE id = 1
A COMMIT
A SELECT n FROM t WHERE id = 1
A SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
B BEGIN
B UPDATE t SET n = 13 WHERE id = 1
A SELECT n FROM t WHERE id = 1
B ROLLBACK
A SELECT n FROM t WHERE id = 1
""")
script("trx_snapshot_at_first_read", """
A BEGIN
B INSERT INTO u (v) VALUES ('before the first read')
A SELECT v FROM u
B INSERT INTO u (v) VALUES ('after it')
A SELECT v FROM u
A COMMIT
A START TRANSACTION WITH CONSISTENT SNAPSHOT
B INSERT INTO u (v) VALUES ('after the snapshot')
A SELECT v FROM u
A COMMIT
A SELECT v FROM u
""")
script("trx_one_shot", """
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
BEGIN
SELECT n FROM t WHERE id = 1
B UPDATE t SET n = 21 WHERE id = 1
SELECT n FROM t WHERE id = 1
COMMIT
BEGIN
SELECT n FROM t WHERE id = 1
B UPDATE t SET n = 22 WHERE id = 1
SELECT n FROM t WHERE id = 1
COMMIT
SET TRANSACTION READ ONLY
INSERT INTO u (v) VALUES ('refused once')
INSERT INTO u (v) VALUES ('allowed')
SET TRANSACTION READ ONLY
BEGIN
.ping
INSERT INTO u (v) VALUES ('no')
ROLLBACK
INSERT INTO u (v) VALUES ('yes')
BEGIN
SET TRANSACTION READ ONLY
SET SESSION TRANSACTION READ ONLY
ROLLBACK
INSERT INTO u (v) VALUES ('session')
SET SESSION TRANSACTION READ WRITE, ISOLATION LEVEL SERIALIZABLE
INSERT INTO u (v) VALUES ('again')
SET @@transaction_read_only = 1
SET @@tx_read_only = 1
INSERT INTO u (v) VALUES ('one shot')
INSERT INTO u (v) VALUES ('done')
SET TRANSACTION ISOLATION LEVEL NONSENSE
SET SESSION TRANSACTION READ WRITE
""")
# What uses no table begins no transaction.
script("trx_one_shot_waits", """
SET TRANSACTION READ ONLY
SELECT 1 + 1
B INSERT INTO u (v) VALUES ('b')
SELECT FROM_UNIXTIME(0) IS NULL
DO 0
B INSERT INTO u (v) VALUES ('b2')
INSERT INTO u (v) VALUES ('refused')
B INSERT INTO u (v) VALUES ('b3')
SELECT COUNT(*) FROM u
INSERT INTO u (v) VALUES ('goes')
SELECT v FROM u
""")
script("trx_savepoints", """
BEGIN
INSERT INTO u (v) VALUES ('1')
SAVEPOINT a
INSERT INTO u (v) VALUES ('2')
SAVEPOINT b
INSERT INTO u (v) VALUES ('3')
ROLLBACK TO SAVEPOINT b
SELECT v FROM u
ROLLBACK TO a
SELECT v FROM u
RELEASE SAVEPOINT a
ROLLBACK TO a
RELEASE SAVEPOINT nothing
INSERT INTO u (v) VALUES ('4')
COMMIT
SELECT v FROM u
SAVEPOINT outside
ROLLBACK TO outside
RELEASE SAVEPOINT outside
B SELECT v FROM u
""")
script("trx_autocommit_off", """
SET autocommit = 0
.ping
SELECT 1
SELECT COUNT(*) FROM t
.ping
INSERT INTO u (v) VALUES ('a')
B SELECT COUNT(*) FROM u
COMMIT
B SELECT COUNT(*) FROM u
INSERT INTO u (v) VALUES ('b')
SET autocommit = 0
B SELECT COUNT(*) FROM u
SET autocommit = 1
B SELECT COUNT(*) FROM u
.ping
SET autocommit = 0
INSERT INTO u (v) VALUES ('c')
ROLLBACK
SET @@autocommit = ON
SELECT COUNT(*) FROM u
SET autocommit = 0, sql_mode = ''
INSERT INTO u (v) VALUES ('d')
.reset
SELECT COUNT(*) FROM u
.ping
""")
script("trx_autocommit_off_set_between", """
SET autocommit = 0
INSERT INTO u (v) VALUES ('a')
SET time_zone = '+01:00'
SET NAMES latin1
USE app
B SELECT COUNT(*) FROM u
SET foreign_key_checks = 0
ROLLBACK
SELECT COUNT(*) FROM u
CALL p_autocommit()
INSERT INTO u (v) VALUES ('b')
B SELECT COUNT(*) FROM u
COMMIT
B SELECT COUNT(*) FROM u
BEGIN
COMMIT
.ping
B CALL p_autocommit()
B.ping
B INSERT INTO u (v) VALUES ('never')
B.drop
C SELECT COUNT(*) FROM u
""")
script("trx_error_inside", """
BEGIN
INSERT INTO u (v) VALUES ('a')
INSERT INTO u (v) VALUES ('a')
.ping
SELECT nothing FROM t
SELEC 1
.ping
INSERT INTO u (v) VALUES ('b')
INSERT INTO u (v) VALUES ('c'), ('a')
B SELECT COUNT(*) FROM u
COMMIT
B SELECT v FROM u ORDER BY v
BEGIN
INSERT INTO child (id, p) VALUES (5, 99)
INSERT INTO child (id, p) VALUES (6, 1)
COMMIT
SELECT p FROM child
""")
script("trx_lock_wait_timeout", """
A BEGIN
A UPDATE t SET n = 1 WHERE id = 1
B SET innodb_lock_wait_timeout = 1
B BEGIN
B UPDATE t SET n = 5 WHERE id = 2
B UPDATE t SET n = 2 WHERE id = 1
B.ping
B SELECT n FROM t WHERE id = 2
B COMMIT
A COMMIT
B SELECT id, n FROM t WHERE id < 3
B BEGIN
B SELECT * FROM t WHERE id = 1 FOR UPDATE
A SELECT id FROM t FOR UPDATE NOWAIT
A SELECT id FROM t WHERE id > 2 FOR UPDATE SKIP LOCKED
B ROLLBACK
""", conf={"pool_max": 3})
script("trx_deadlock", """
A BEGIN
A INSERT INTO u (v) VALUES ('1'), ('2'), ('3')
A UPDATE t SET n = 1 WHERE id = 1
B BEGIN
B UPDATE t SET n = 2 WHERE id = 2
A.send UPDATE t SET n = 1 WHERE id = 2
.until SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'
B UPDATE t SET n = 2 WHERE id = 1
A.recv
B.ping
B SELECT n FROM t WHERE id = 2
A COMMIT
B SELECT id, n FROM t WHERE id < 3
B ROLLBACK
""", conf={"pool_max": 3})
script("trx_serializable", """
A SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE
A BEGIN
A SELECT n FROM t WHERE id = 1
B SET innodb_lock_wait_timeout = 1
B UPDATE t SET n = 0 WHERE id = 1
A COMMIT
B UPDATE t SET n = 0 WHERE id = 1
A SELECT n FROM t WHERE id = 1
""", conf={"pool_max": 3})
script("trx_abandoned", """
A BEGIN
A INSERT INTO u (v) VALUES ('lost')
A.drop
B SELECT COUNT(*) FROM u
B BEGIN
B INSERT INTO u (v) VALUES ('lost too')
B.quit
A SELECT COUNT(*) FROM u
A SET autocommit = 0
A INSERT INTO u (v) VALUES ('and this')
A.quit
B SELECT COUNT(*) FROM u
B.ping
""")
script("trx_read_only_status", """
START TRANSACTION READ ONLY
.ping
SELECT COUNT(*) FROM t
INSERT INTO u (v) VALUES ('no')
CREATE TEMPORARY TABLE tmp1 (a INT)
.ping
COMMIT
.ping
INSERT INTO u (v) VALUES ('yes')
START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT
.ping
ROLLBACK
DROP TEMPORARY TABLE IF EXISTS tmp1
""")
script("trx_xa", """
XA START 'x1'
.ping
INSERT INTO u (v) VALUES ('xa')
BEGIN
COMMIT
XA END 'x1'
.ping
XA PREPARE 'x1'
.ping
XA COMMIT 'x1'
.ping
SELECT v FROM u
XA START 'x2'
INSERT INTO u (v) VALUES ('xa2')
XA END 'x2'
XA ROLLBACK 'x2'
SELECT v FROM u
XA COMMIT 'nothing'
XA START 'x3'
SET time_zone = '+01:00'
XA END 'x3'
XA COMMIT 'x3' ONE PHASE
.ping
""")
script("trx_xa_abandoned", """
XA START 'y1'
INSERT INTO u (v) VALUES ('xa')
.drop
B SELECT COUNT(*) FROM u
B XA START 'y1'
B XA END 'y1'
B XA ROLLBACK 'y1'
""")
script("trx_dml_returns", """
BEGIN
UPDATE t SET n = n + 1 WHERE id < 3
UPDATE t SET n = n WHERE id < 3
DELETE FROM t WHERE id = 5
REPLACE INTO t (id, v, n) VALUES (1, 'r', 0), (9, 's', 0)
INSERT INTO t (id, v) VALUES (1, 'x') ON DUPLICATE KEY UPDATE v = 'dup'
INSERT INTO t (id, v) VALUES (1, 'dup') ON DUPLICATE KEY UPDATE v = 'dup'
INSERT INTO t (v) SELECT v FROM t
DELETE FROM t LIMIT 2
COMMIT
SELECT id, v, n FROM t ORDER BY id
""")
script("trx_begin_then_every_read", """
BEGIN
SHOW TABLES LIKE 't'
BEGIN
DESCRIBE parent
.ping
BEGIN
EXPLAIN SELECT 1
START TRANSACTION
SELECT @@time_zone
START TRANSACTION
VALUES ROW(1), ROW(2)
START TRANSACTION
DO 1
.ping
COMMIT
BEGIN
SELECT LAST_INSERT_ID()
SELECT DATABASE()
COMMIT
.ping
""", modes="text prepared")
script("trx_begin_refused_statement", """
BEGIN
LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE u FIELDS TERMINATED BY ','
.ping
ROLLBACK
BEGIN
CALL p_insert('called')
.ping
ROLLBACK
SELECT COUNT(*) FROM u
BEGIN
SELECT f_insert('f')
ROLLBACK
SELECT COUNT(*) FROM trail
""")
script("trx_commit_chain_status", """
BEGIN
INSERT INTO u (v) VALUES ('a')
COMMIT AND CHAIN
.ping
INSERT INTO u (v) VALUES ('b')
B SELECT v FROM u
ROLLBACK AND CHAIN
.ping
INSERT INTO u (v) VALUES ('c')
ROLLBACK
.ping
SELECT v FROM u
SET completion_type = CHAIN
BEGIN
COMMIT
.ping
ROLLBACK AND NO CHAIN
.ping
""")
