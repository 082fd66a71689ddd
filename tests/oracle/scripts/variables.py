# SPDX-License-Identifier: Apache-2.0
"""System variables of the session, one by one: set in each way, seen in @@ and in what depends on them, put back by
DEFAULT, by COM_RESET_CONNECTION and by a fresh client."""
from script import script

LONG = "REPEAT('m', 20)"
CTE = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 50) SELECT COUNT(*) FROM r"
JOIN = "SELECT COUNT(*) FROM t a, t b, t c"

# name: (value, another value, what depends on it: statements, servers)
BOTH, MARIADB, MYSQL = "mariadb mysql9", "mariadb", "mysql9"
VARIABLES = {
    "autocommit": ("0", "OFF", "INSERT INTO u (v) VALUES (NULL); SELECT COUNT(*) FROM u; ROLLBACK; "
                               "SELECT COUNT(*) FROM u", BOTH),
    "sql_mode": ("'ANSI_QUOTES,PIPES_AS_CONCAT'", "'NO_ZERO_DATE'", "SELECT \"v\" FROM t WHERE id = 1; SELECT 'a' || 'b'",
                 BOTH),
    "time_zone": ("'+05:00'", "'-01:30'", "SELECT FROM_UNIXTIME(0), s FROM days ORDER BY d", BOTH),
    "tx_isolation": ("'READ-COMMITTED'", "'SERIALIZABLE'", "BEGIN; SELECT COUNT(*) FROM t; ROLLBACK", MARIADB),
    "transaction_isolation": ("'READ-COMMITTED'", "'SERIALIZABLE'", "BEGIN; SELECT COUNT(*) FROM t; ROLLBACK", MYSQL),
    "tx_read_only": ("1", "ON", "INSERT INTO u (v) VALUES (NULL)", MARIADB),
    "transaction_read_only": ("1", "ON", "INSERT INTO u (v) VALUES (NULL)", MYSQL),
    "foreign_key_checks": ("0", "OFF", "REPLACE INTO child (id, p) VALUES (5, 99)", BOTH),
    "unique_checks": ("0", "OFF", "SELECT 1", BOTH),
    "sql_auto_is_null": ("1", "ON", "INSERT INTO u (v) VALUES (NULL); SELECT id FROM u WHERE id IS NULL; "
                                    "SELECT id FROM u WHERE id IS NULL", BOTH),
    "sql_safe_updates": ("1", "ON", "UPDATE t SET n = n + 1; DELETE FROM t WHERE n = 5", BOTH),
    "sql_select_limit": ("2", "1", "SELECT id FROM t; SELECT id FROM t LIMIT 3; SELECT FOUND_ROWS()", BOTH),
    "group_concat_max_len": ("9", "4", "SELECT GROUP_CONCAT(v, 'xxxx') FROM t", BOTH),
    "lc_time_names": ("'de_DE'", "'fr_FR'", "SELECT DATE_FORMAT(d, '%W %M') FROM days ORDER BY d", BOTH),
    "lc_messages": ("'de_DE'", "'en_US'", "SELECT nothing_here", BOTH),
    "default_week_format": ("3", "6", "SELECT WEEK(d), YEARWEEK(d) FROM days ORDER BY d", BOTH),
    "div_precision_increment": ("9", "1", "SELECT 1 / 7, n / 3 FROM t", BOTH),
    "sql_notes": ("0", "OFF", "DROP TABLE IF EXISTS not_there; SHOW WARNINGS", BOTH),
    "sql_warnings": ("1", "ON", "INSERT INTO u (n) VALUES (1)", BOTH),
    "sql_quote_show_create": ("0", "OFF", "SHOW CREATE TABLE parent", BOTH),
    "max_join_size": ("3", "4", f"{JOIN}; SELECT @@sql_big_selects", BOTH),
    "sql_big_selects": ("0", "OFF", JOIN, BOTH),
    "sql_buffer_result": ("1", "ON", "SELECT id FROM t", BOTH),
    "net_read_timeout": ("77", "78", "SELECT 1", BOTH),
    "net_write_timeout": ("88", "89", "SELECT 1", BOTH),
    "net_retry_count": ("12", "13", "SELECT 1", BOTH),
    "wait_timeout": ("555", "556", "SELECT 1", BOTH),
    "interactive_timeout": ("666", "667", "SELECT @@wait_timeout", BOTH),
    "lock_wait_timeout": ("9", "8", "SELECT 1", BOTH),
    "innodb_lock_wait_timeout": ("7", "6", "SELECT 1", BOTH),
    "max_statement_time": ("0.05", "1", "SELECT SLEEP(0.2)", MARIADB),
    "max_execution_time": ("60", "1000", "SELECT SLEEP(0.2)", MYSQL),
    "auto_increment_increment": ("10", "7", "INSERT INTO u (v) VALUES (NULL), (NULL); SELECT id FROM u ORDER BY id", BOTH),
    "auto_increment_offset": ("4", "1", "INSERT INTO u (v) VALUES (NULL), (NULL); SELECT id FROM u ORDER BY id", BOTH),
    "optimizer_switch": ("'index_merge=off'", "'mrr=on'", "SELECT id FROM t", BOTH),
    "optimizer_search_depth": ("3", "4", "SELECT id FROM t", BOTH),
    "optimizer_prune_level": ("0", "1", "SELECT id FROM t", BOTH),
    "sort_buffer_size": ("65536", "131072", "SELECT v FROM t ORDER BY v", BOTH),
    "join_buffer_size": ("8192", "4096", "SELECT 1", BOTH),
    "read_buffer_size": ("16384", "32768", "SELECT 1", BOTH),
    "read_rnd_buffer_size": ("16384", "32768", "SELECT 1", BOTH),
    "bulk_insert_buffer_size": ("65536", "0", "SELECT 1", BOTH),
    "tmp_table_size": ("65536", "32768", "SELECT DISTINCT v FROM t ORDER BY n", BOTH),
    "max_heap_table_size": ("65536", "32768", "SELECT DISTINCT v FROM t ORDER BY n", BOTH),
    "default_storage_engine": ("'MyISAM'", "'MEMORY'", "CREATE TABLE eng (a INT); SHOW CREATE TABLE eng; DROP TABLE eng", BOTH),
    "default_tmp_storage_engine": ("'MyISAM'", "'MEMORY'", "SELECT 1", BOTH),
    "innodb_strict_mode": ("0", "OFF", "CREATE TABLE strict_t (a INT) KEY_BLOCK_SIZE = 3; "
                                       "DROP TABLE IF EXISTS strict_t", BOTH),
    "innodb_table_locks": ("0", "OFF", "SELECT 1", BOTH),
    "updatable_views_with_limit": ("'NO'", "0", "UPDATE v_words SET l = 'x' LIMIT 1", BOTH),
    "completion_type": ("1", "'CHAIN'", "BEGIN; INSERT INTO u (v) VALUES (NULL); COMMIT; SELECT COUNT(*) FROM u; ROLLBACK; "
                                        "SET completion_type = 0; COMMIT", BOTH),
    "long_query_time": ("3", "4.5", "SELECT 1", BOTH),
    "low_priority_updates": ("1", "ON", "UPDATE t SET n = 0 WHERE id = 1", BOTH),
    "cte_max_recursion_depth": ("5", "6", CTE, MYSQL),
    "max_recursive_iterations": ("5", "6", CTE, MARIADB),
    "block_encryption_mode": ("'aes-256-cbc'", "'aes-128-cbc'", "SELECT HEX(AES_ENCRYPT('a', 'key', REPEAT('i', 16)))",
                              MYSQL),
    "max_sort_length": ("64", "128", "SELECT v FROM t ORDER BY CONCAT(REPEAT('x', 100), v) DESC", BOTH),
    "max_error_count": ("1", "2", "SELECT CAST('a' AS SIGNED), CAST('b' AS SIGNED), CAST('c' AS SIGNED); SHOW WARNINGS",
                        BOTH),
    "max_length_for_sort_data": ("64", "128", "SELECT v FROM t ORDER BY v", BOTH),
    "max_seeks_for_key": ("5", "6", "SELECT v FROM t WHERE id = 1", BOTH),
    "max_sp_recursion_depth": ("3", "4", "SELECT 1", BOTH),
    "max_delayed_threads": ("0", "1", "SELECT 1", BOTH),
    "min_examined_row_limit": ("5", "6", "SELECT 1", BOTH),
    "eq_range_index_dive_limit": ("5", "6", "SELECT v FROM t WHERE id IN (1, 2)", BOTH),
    "range_alloc_block_size": ("8192", "16384", "SELECT 1", BOTH),
    "query_alloc_block_size": ("16384", "32768", "SELECT 1", BOTH),
    "query_prealloc_size": ("32768", "65536", "SELECT 1", BOTH),
    "transaction_alloc_block_size": ("16384", "32768", "SELECT 1", BOTH),
    "preload_buffer_size": ("65536", "131072", "SELECT 1", BOTH),
    "old_alter_table": ("1", "ON", "SELECT 1", BOTH),
    "end_markers_in_json": ("1", "ON", "SELECT 1", MYSQL),
    "show_create_table_verbosity": ("1", "ON", "SHOW CREATE TABLE parent", MYSQL),
    "sql_generate_invisible_primary_key": ("1", "ON", "SELECT 1", MYSQL),
    "sql_require_primary_key": ("1", "ON", "CREATE TABLE nokey (a INT); DROP TABLE IF EXISTS nokey", MYSQL),
    "windowing_use_high_precision": ("0", "OFF", "SELECT SUM(n) OVER (ORDER BY id) FROM t", MYSQL),
    "information_schema_stats_expiry": ("0", "5", "SELECT 1", MYSQL),
    "internal_tmp_mem_storage_engine": ("'MEMORY'", "'TempTable'", "SELECT DISTINCT v FROM t ORDER BY n", MYSQL),
    "explain_format": ("'TREE'", "'JSON'", "SELECT 1", MYSQL),
    "default_collation_for_utf8mb4": ("'utf8mb4_general_ci'", "'utf8mb4_0900_ai_ci'",
                                      "SELECT COLLATION(_utf8mb4'x')", MYSQL),
    "print_identified_with_as_hex": ("1", "ON", "SELECT 1", MYSQL),
    "group_replication_consistency": ("'EVENTUAL'", "'BEFORE'", "SELECT 1", MYSQL),
    "check_constraint_checks": ("0", "OFF", "CREATE TABLE chk (a INT CHECK (a > 0)); INSERT INTO chk VALUES (-1); "
                                            "DROP TABLE chk", MARIADB),
    "query_cache_type": ("0", "2", "SELECT 1", MARIADB),
    "alter_algorithm": ("'COPY'", "'INPLACE'", "SELECT 1", MARIADB),
    "use_stat_tables": ("'NEVER'", "'PREFERABLY'", "SELECT 1", MARIADB),
    "standard_compliant_cte": ("0", "OFF", "SELECT 1", MARIADB),
    "sql_if_exists": ("1", "ON", "DROP TABLE not_there", MARIADB),
    "system_versioning_asof": ("'2020-01-01 00:00:00'", "'DEFAULT'", "SELECT 1", MARIADB),
    "idle_transaction_timeout": ("60", "61", "BEGIN; SELECT COUNT(*) FROM t; COMMIT", MARIADB),
    "in_predicate_conversion_threshold": ("2", "3", "SELECT id FROM t WHERE id IN (1, 2, 3)", MARIADB),
    "column_compression_threshold": ("50", "60", "SELECT 1", MARIADB),
    "join_cache_level": ("0", "4", JOIN, MARIADB),
    "expensive_subquery_limit": ("5", "6", "SELECT 1", MARIADB),
    "rowid_merge_buff_size": ("4096", "8192", "SELECT 1", MARIADB),
    "character_set_client": ("latin1", "'utf8mb4'", "SELECT 'x', HEX('\u00e9')", BOTH),
    "character_set_results": ("latin1", "NULL", "SELECT w, l FROM words; SELECT '\u00e9'", BOTH),
    "character_set_connection": ("latin1", "'ucs2'", "SELECT HEX('\u00e9'), CHARSET('a'), COLLATION('a')", BOTH),
    "collation_connection": ("'utf8mb4_bin'", "latin1_general_cs", "SELECT 'a' = 'A', COLLATION('a'), @@character_set_connection",
                             BOTH),
    "character_set_database": ("latin1", "'utf8mb4'", "SELECT @@collation_database", BOTH),
    "collation_database": ("latin1_bin", "'utf8mb4_bin'", "SELECT @@character_set_database", BOTH),
    "character_set_server": ("latin1", "'utf8mb4'", "SELECT @@collation_server", BOTH),
    "collation_server": ("latin1_bin", "'utf8mb4_bin'", "SELECT @@character_set_server", BOTH),
    "character_set_filesystem": ("latin1", "'utf8mb4'", "SELECT 1", BOTH),
}


def lines(effect):
    return "\n".join(s.strip() for s in effect.split(";"))


# MariaDB's reset puts them to the server's own though the schema stays; here they go on following the schema.
OF_SCHEMA = ("character_set_database", "collation_database")
for name, (value, other, effect, on) in VARIABLES.items():
    reset = "USE app" if name in OF_SCHEMA else ".reset"
    look = f"SELECT @@{name}, @@session.{name}"
    # A variable on which no statement's result depends is looked at once in each way, by text.
    plain = effect == "SELECT 1"
    effect = "" if plain else lines(effect)
    script(f"var_{name}", f"""
    {look}
    SET {name} = {value}
    {look}
    {effect}
    B {look}
    SET SESSION {name} = DEFAULT
    {look}
    {effect}
    SET @@session.{name} = {other}
    {look}
    B SELECT @@{name}
    {reset}
    {look}
    {effect}
    """, on=on, modes="text" if plain else "text prepared")
    script(f"var_{name}_ways", f"""
    .prepare p SET SESSION {name} = ?
    .execute p {"None" if value == "NULL" else value if value[0] in "'0123456789" else repr(value)}
    {look}
    {effect}
    SET @@{name} := DEFAULT, div_precision_increment = 5
    SELECT 1 / 3, @@{name}
    CALL p_do('SET @@local.{name} = {value.replace("'", "''")}')
    {look}
    {effect}
    .text /*!50000 SET {name} = {other} */;
    {look}
    SET LOCAL {name} = {value}, no_such_variable = 1
    {look}
    .change_user app apppass app
    {look}
    SET lock_wait_timeout = 5, {name} = {other}
    SET {name} = @@global.{name}
    {look}
    C {look}
    """, on=on, modes="text")

script("var_volatile_timestamp", """
SET timestamp = 1000
SELECT UNIX_TIMESTAMP(), NOW() = FROM_UNIXTIME(1000)
SELECT UNIX_TIMESTAMP(), CURRENT_TIMESTAMP() = FROM_UNIXTIME(1000)
B SELECT UNIX_TIMESTAMP() > 100000
INSERT INTO u (v) VALUES (UNIX_TIMESTAMP())
SELECT v FROM u
SET timestamp = DEFAULT
SELECT UNIX_TIMESTAMP() > 100000
SET timestamp = 5000.25
SELECT UNIX_TIMESTAMP(NOW(2))
.reset
SELECT UNIX_TIMESTAMP() > 100000
""")
script("var_volatile_insert_id", """
SET insert_id = 500
SELECT @@insert_id
INSERT INTO u (v) VALUES ('at 500')
INSERT INTO u (v) VALUES ('after')
SELECT id, v FROM u ORDER BY id
SET insert_id = 700
B INSERT INTO u (v) VALUES ('of B')
INSERT INTO u (v) VALUES ('at 700')
SELECT id, v FROM u ORDER BY id
SELECT LAST_INSERT_ID()
""")
script("var_volatile_last_insert_id", """
SET last_insert_id = 600
SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity
SET identity = 601
SELECT @@identity, LAST_INSERT_ID()
INSERT INTO u (v, n) VALUES ('x', LAST_INSERT_ID())
SELECT n FROM u
SELECT LAST_INSERT_ID()
SET @@session.last_insert_id = 0
SELECT LAST_INSERT_ID()
""")
script("var_volatile_rand_seed", """
SET rand_seed1 = 11, rand_seed2 = 22
SELECT RAND(), RAND()
SELECT RAND()
B SET rand_seed1 = 11
B SET rand_seed2 = 22
B SELECT RAND()
SET rand_seed1 = 11
SET rand_seed2 = 22
SELECT RAND(), @@rand_seed1
SELECT RAND(5)
""")
script("var_volatile_profiling", """
SET profiling = 1
SELECT 1
SELECT COUNT(*) FROM t
[mask] SHOW PROFILES
B SHOW PROFILES
B SELECT @@profiling
SET profiling = 0
SELECT @@profiling
[mask] SHOW PROFILES
""")
# Without the privilege MySQL 9 answers a PREPARE of SET GLOBAL by a bare OK, which no client can read: by text only.
script("var_privileged", """
SET sql_log_bin = 0
SELECT @@sql_log_bin
SET pseudo_thread_id = 5
.text SET GLOBAL sort_buffer_size = 65536
.text SET @@global.time_zone = '+01:00'
.text SET GLOBAL no_such_variable = 1
.text SET PERSIST sort_buffer_size = 65536
SET max_connections = 5
SET version = 'x'
SET max_user_connections = 1
SELECT 1
""")
script("var_session_track", """
SELECT @@session_track_schema
SET session_track_schema = 0
SET time_zone = '+02:00', session_track_system_variables = ''
.text SET @@session.session_track_state_change := 0
USE app2
SELECT v, @@time_zone FROM t
B SELECT DATABASE()
""", refuse="1235.*session trackers")
script("var_several_at_once", """
SET time_zone = '+02:00', sql_mode = 'ANSI_QUOTES', @x = 5, group_concat_max_len = 7
SELECT @@time_zone, @@sql_mode, @x, @@group_concat_max_len
.text SET SESSION time_zone = '+03:00', group_concat_max_len = 8, GLOBAL sort_buffer_size = 1
SELECT @@time_zone, @@group_concat_max_len
SET time_zone = '+04:00', no_such_variable = 1
SELECT @@time_zone
SET no_such_variable = 1, time_zone = '+04:00'
SELECT @@time_zone
SET time_zone = 'Nowhere/City'
SELECT @@time_zone
SET group_concat_max_len = 9, time_zone = 'nonsense'
SELECT @@time_zone, @@group_concat_max_len
SET sql_mode = 'NO_SUCH_MODE'
SELECT @@sql_mode
SET group_concat_max_len = 'abc'
SET group_concat_max_len = 1
SHOW WARNINGS
SELECT @@group_concat_max_len
SET sql_select_limit = -1
SHOW WARNINGS
SELECT @@sql_select_limit
SET autocommit = 2
SELECT @@autocommit
""")
script("var_values_by_expression", """
SET group_concat_max_len = 10 + 10
SELECT @@group_concat_max_len
SET group_concat_max_len = @@group_concat_max_len * 2
SELECT @@group_concat_max_len
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')
SELECT @@sql_mode, "v" FROM t WHERE id = 1
SET sql_mode = (SELECT REPLACE(@@sql_mode, 'ANSI_QUOTES', ''))
SELECT @@sql_mode
SET time_zone = (SELECT CONCAT('+0', 3, ':00'))
SELECT @@time_zone
SET @tz = '+04:30'
SET time_zone = @tz
SELECT @@time_zone, @tz
SET sql_mode = 4
SELECT @@sql_mode
SET sql_mode = ''
SELECT @@sql_mode
SET sql_mode = DEFAULT
SELECT @@sql_mode
SET group_concat_max_len = (SELECT COUNT(*) FROM t) + 1
SELECT @@group_concat_max_len
""")
script("var_spellings", """
set  Session   TIME_ZONE='+01:00'
SELECT @@TIME_ZONE
SET `time_zone` = '+02:00'
SELECT @@`time_zone`
SET @@`session`.time_zone = '+02:30'
SET /* a */ SESSION /* b */ time_zone /* c */ = /* d */ '+03:00' /* e */;
SELECT @@session . time_zone
SET time_zone := "+04:00"
SELECT @@local.time_zone
A.text SET time_zone = '+05:00' -- a comment
A.text SET time_zone = '+05:30' # a comment
SELECT @@time_zone
SET SESSION time_zone = '+06:00', SESSION sql_mode = '', group_concat_max_len = 6
SELECT @@time_zone, @@sql_mode, @@group_concat_max_len
.text SET SESSION time_zone = '+07:00', @@global.sort_buffer_size = 77
SELECT @@time_zone
SET time_zone = _utf8mb4'+08:00'
SELECT @@time_zone
SET time_zone = 'SYS' 'TEM'
SELECT @@time_zone
SET time_zone = N'+01:15'
SELECT @@time_zone
SET time_zone = x'2B30393A3030'
SELECT @@time_zone
SET foreign_key_checks = true
SET foreign_key_checks = OFF
SET foreign_key_checks = 'on'
SET foreign_key_checks = b'0'
SET foreign_key_checks = 0x01
SELECT @@foreign_key_checks
""")
script("var_sql_mode_no_backslash", r"""
SELECT 'a\'b', LENGTH('a\\b')
SET sql_mode = 'NO_BACKSLASH_ESCAPES'
SELECT LENGTH('a\b')
.ping
B SELECT LENGTH('a\\b')
B.ping
SELECT 'x\', 'y'
BEGIN
INSERT INTO u (v) VALUES ('back\')
COMMIT
SELECT v FROM u
SET sql_mode = DEFAULT
.ping
SELECT LENGTH('a\\b')
""")
# Read with backslashes that escape, all of it is one string.
script("var_sql_mode_no_backslash_lock", r"""
SET sql_mode = 'NO_BACKSLASH_ESCAPES'
SELECT '\', GET_LOCK(0x6e62, 0) -- '
SELECT IS_USED_LOCK('nb') = CONNECTION_ID()
B SELECT IS_FREE_LOCK('nb')
SELECT RELEASE_LOCK('nb')
""")
script("var_sql_mode_kinds", """
SET sql_mode = 'TRADITIONAL'
SELECT @@sql_mode
SET sql_mode = 'ANSI'
SELECT @@sql_mode, "v" FROM t WHERE id = 2
SET sql_mode = 'HIGH_NOT_PRECEDENCE'
SELECT NOT 1 BETWEEN -5 AND 5
SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'
SELECT p, LENGTH(p) FROM types
SHOW WARNINGS
SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'
SELECT CAST(0 AS UNSIGNED) - 1
SET sql_mode = ''
SELECT CAST(0 AS UNSIGNED) - 1
INSERT INTO u (v, n) VALUES ('x', 'abc')
SHOW WARNINGS
SET sql_mode = 'STRICT_ALL_TABLES'
INSERT INTO u (v, n) VALUES ('y', 'abc')
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'
INSERT INTO u (id, v) VALUES (0, 'zero')
SELECT id, v FROM u
SET sql_mode = 'ONLY_FULL_GROUP_BY'
SELECT v, COUNT(*) FROM t GROUP BY n
SET sql_mode = ''
SELECT COUNT(*) FROM (SELECT v, COUNT(*) FROM t GROUP BY n) x
SET sql_mode = 'ERROR_FOR_DIVISION_BY_ZERO'
SELECT 1 / 0
SHOW WARNINGS
""")
# MariaDB sets them, and tells no tracker of it.
script("var_unscoped", """
SET @@time_zone = '+02:00', @@sql_mode = 'ANSI_QUOTES'
SELECT @@time_zone, @@sql_mode, "v" FROM t WHERE id = 1
SET autocommit = 0
INSERT INTO u (v) VALUES ('x')
SET @@autocommit = ON
SELECT COUNT(*) FROM u
SET @@foreign_key_checks := 0, group_concat_max_len = 6
INSERT INTO child (p) VALUES (77)
SELECT GROUP_CONCAT(v), @@foreign_key_checks FROM t
SET @@foreign_key_checks = DEFAULT
SELECT @@foreign_key_checks
B SELECT @@time_zone, @@autocommit
CALL p_do('SET @@time_zone = "+04:00"')
SELECT @@time_zone
.reset
SELECT @@time_zone, @@sql_mode, @@autocommit
""")
script("var_ignore_space_of_the_login", """
A.connect caps=+IGNORE_SPACE
SELECT @@sql_mode, COUNT (*) FROM t
B SELECT COUNT (*) FROM t
.reset
SELECT @@sql_mode
SELECT COUNT (*) FROM t
.change_user app apppass app
SELECT @@sql_mode
SELECT COUNT (*) FROM t
""")
script("var_ignore_space", """
SELECT COUNT (*) FROM t
SET sql_mode = 'IGNORE_SPACE'
SELECT COUNT (*) FROM t
B.connect caps=+IGNORE_SPACE
B SELECT COUNT (*) FROM t
B SELECT @@sql_mode
B SET sql_mode = ''
B SELECT COUNT (*) FROM t
B.reset
B SELECT COUNT (*) FROM t
SELECT COUNT (*) FROM t
SET sql_mode = ''
SELECT COUNT (*) FROM t
""")
script("var_in_trigger", """
SELECT @@time_zone
INSERT INTO trg_tz (v) VALUES ('x')
SELECT @@time_zone, FROM_UNIXTIME(0)
B SELECT @@time_zone, FROM_UNIXTIME(0)
SET time_zone = '+01:00'
SELECT @@time_zone
INSERT INTO trg_tz (v) VALUES ('x'), ('y')
SELECT @@time_zone
.reset
SELECT @@time_zone
""")
script("var_in_function", """
SELECT f_tz()
SELECT @@time_zone, FROM_UNIXTIME(0)
B SELECT @@time_zone, FROM_UNIXTIME(0)
SELECT f_tz() FROM t WHERE id < 3
SET time_zone = '+01:00'
SELECT FROM_UNIXTIME(0)
SELECT v FROM t WHERE id = f_tz()
SELECT FROM_UNIXTIME(0)
""")
script("var_in_procedure", """
CALL p_tz()
SELECT @@time_zone, FROM_UNIXTIME(0)
B SELECT @@time_zone
CALL p_fail()
SELECT @@time_zone, @pf
SET time_zone = DEFAULT
SELECT @@time_zone
CALL p_fail()
SELECT 1
SELECT @@time_zone, FROM_UNIXTIME(0)
CALL p_names()
SELECT @@character_set_client, @@collation_connection
""")
script("var_trigger_made_by_the_script", """
CREATE TABLE tg (a INT)
CREATE TRIGGER tg_bi BEFORE INSERT ON tg FOR EACH ROW SET sql_select_limit = 2, div_precision_increment = 7
INSERT INTO tg VALUES (1), (2), (3)
SELECT id FROM t
SELECT 1 / 3
B SELECT id FROM t
B SELECT 1 / 3
SET sql_select_limit = DEFAULT
SELECT a FROM tg
DROP TABLE tg
SELECT 1 / 3
""")
script("var_set_statement_mariadb", """
SET STATEMENT time_zone = '+09:00' FOR SELECT FROM_UNIXTIME(0)
SELECT FROM_UNIXTIME(0), @@time_zone
SET STATEMENT group_concat_max_len = 4, sql_mode = 'ANSI_QUOTES' FOR SELECT GROUP_CONCAT("v") FROM t
SELECT GROUP_CONCAT(v) FROM t
SET STATEMENT max_statement_time = 1 FOR INSERT INTO u (v) VALUES ('in set statement')
SELECT LAST_INSERT_ID()
SET STATEMENT autocommit = 0 FOR SELECT 1
SET STATEMENT sql_select_limit = 1 FOR SELECT id FROM t
SELECT id FROM t
""", on="mariadb")
script("var_hint_set_var_mysql", """
SELECT /*+ SET_VAR(group_concat_max_len = 4) */ GROUP_CONCAT(v) FROM t
SELECT GROUP_CONCAT(v) FROM t
SELECT /*+ SET_VAR(time_zone = '+09:00') */ FROM_UNIXTIME(0)
SELECT FROM_UNIXTIME(0)
SELECT /*+ SET_VAR(sql_mode = 'PIPES_AS_CONCAT') */ 'a' || 'b'
SELECT /*+ SET_VAR(no_such = 1) */ 1
SHOW WARNINGS
SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1
""", on="mysql9")
script("var_show_variables", """
SET group_concat_max_len = 77, time_zone = '+01:00', sql_mode = 'ANSI_QUOTES'
SHOW VARIABLES LIKE 'group_concat_max_len'
SHOW SESSION VARIABLES LIKE 'time_zone'
SHOW LOCAL VARIABLES WHERE Variable_name IN ('sql_mode', 'autocommit', 'character_set_client')
SHOW GLOBAL VARIABLES LIKE 'time_zone'
B SHOW VARIABLES LIKE 'group_concat_max_len'
B SHOW VARIABLES LIKE 'sql_mode'
SHOW VARIABLES LIKE 'collation%'
SHOW VARIABLES LIKE 'character_set_c%'
""")
script("var_at_at_selects", """
SELECT @@sql_mode
SELECT @@SESSION.sql_mode
SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client
SELECT @@version_comment IS NULL, @@port > 0
SELECT @@max_allowed_packet, @@lower_case_table_names
SELECT @@tx_isolation
SELECT @@transaction_isolation
SELECT @@hostname = @@hostname
SELECT @@no_such_variable
SELECT @@global.autocommit, @@autocommit
SELECT @@time_zone, @@system_time_zone = '' LIMIT 1
SELECT @@time_zone tz, 1 + 1
SELECT @@global.time_zone
SELECT @@session.max_connections
SELECT @@warning_count, @@error_count
""", refuse="1235.*state of the last")
script("var_global_seen_by_fresh_clients", """
Z.connect user=admin password=adminpass
A SELECT @@group_concat_max_len
Z SET GLOBAL group_concat_max_len = 4444
A SELECT @@group_concat_max_len, @@global.group_concat_max_len
B SELECT @@group_concat_max_len
A.reset
A SELECT @@group_concat_max_len
SET group_concat_max_len = 5
SET group_concat_max_len = DEFAULT
SELECT @@group_concat_max_len
Z SET GLOBAL group_concat_max_len = 1024
C SELECT @@group_concat_max_len
A SELECT @@group_concat_max_len
B SELECT @@group_concat_max_len
""", globals="group_concat_max_len")
script("var_global_by_the_client", """
SET GLOBAL sort_buffer_size = 98304
SELECT @@sort_buffer_size, @@global.sort_buffer_size
B SELECT @@sort_buffer_size
SET GLOBAL sort_buffer_size = 65536, time_zone = '+03:00'
SELECT @@time_zone, @@global.sort_buffer_size
C SELECT @@sort_buffer_size, @@time_zone
SET SESSION time_zone = @@GLOBAL.time_zone
SELECT @@time_zone
EXECUTE IMMEDIATE 'SET GLOBAL sort_buffer_size = 131072'
D SELECT @@sort_buffer_size
""", globals="sort_buffer_size time_zone", user="admin", conf={"pool_max": 3})
script("var_global_sql_mode", """
Z.connect user=admin password=adminpass
A SELECT @@sql_mode
Z SET GLOBAL sql_mode = 'ANSI_QUOTES'
A SELECT @@sql_mode
B SELECT @@sql_mode, "v" FROM t WHERE id = 1
A.reset
A SELECT @@sql_mode
A SET sql_mode = ''
A SET sql_mode = DEFAULT
A SELECT @@sql_mode
""", globals="sql_mode")
script("var_global_charset", """
Z.connect user=admin password=adminpass
A SELECT @@character_set_server, @@collation_connection
Z SET GLOBAL character_set_server = latin1
B SELECT @@character_set_server, @@collation_server, @@collation_connection
B.reset
B SELECT @@character_set_server, @@collation_connection
""", globals="character_set_server collation_server")
script("var_set_password_and_default_role", """
SET PASSWORD = PASSWORD('x') + 1
SET DEFAULT ROLE NONE
SELECT 1
""", modes="text")
