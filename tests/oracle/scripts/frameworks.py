# SPDX-License-Identifier: Apache-2.0
"""What frameworks and applications really send, from their connection to the end of a request. None of it is refused."""
from script import script

STRICT = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
script("laravel_10_boot", f"""
.text use `app`;
.prepare a set names 'utf8mb4' collate 'utf8mb4_unicode_ci'
.execute a
.prepare b set time_zone='+00:00'
.execute b
.prepare c set session sql_mode='{STRICT}'
.execute c
.stmt_close a
.stmt_close b
.stmt_close c
.prepare q select * from `t` where `id` = ? limit 1
.execute q 1
.stmt_close q
.prepare i insert into `u` (`v`, `n`) values (?, ?)
.execute i 'x', 5
.stmt_close i
SELECT @@collation_connection, @@sql_mode, @@time_zone, LAST_INSERT_ID()
""")
script("laravel_11_boot_and_transaction", f"""
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci', SESSION sql_mode='{STRICT}';
.prepare q select * from `t` where `n` > ? order by `id` asc
.execute q 20
START TRANSACTION
.prepare i insert into `u` (`v`, `n`) values (?, ?)
.execute i 'x', 5
SAVEPOINT trans2
.prepare j update `u` set `n` = ? where `id` = ?
.execute j 6, 1
ROLLBACK TO SAVEPOINT trans2
COMMIT
.prepare e select exists(select * from `u` where `v` = ?) as `exists`
.execute e 'x'
.prepare s select count(*) as aggregate from `u`
.execute s
SELECT @@collation_connection
""")
script("laravel_queue_and_locks", """
START TRANSACTION
.prepare q select * from `t` where `v` = ? and `n` > ? order by `id` asc limit 1 FOR UPDATE SKIP LOCKED
.execute q 'b', 1
.prepare u update `t` set `n` = ? where `id` = ?
.execute u 99, 2
COMMIT
B START TRANSACTION
B SELECT * FROM t WHERE id = 3 LOCK IN SHARE MODE
B COMMIT
SELECT n FROM t WHERE id = 2
""")
script("laravel_schema", """
select table_name as `name`, table_type from information_schema.tables where table_schema = 'app' and table_name = 'parent'
SET FOREIGN_KEY_CHECKS=0;
create table `migrations` (`id` int unsigned not null auto_increment primary key, `migration` varchar(191) not null, `batch` int not null) default character set utf8mb4 collate 'utf8mb4_unicode_ci'
SET FOREIGN_KEY_CHECKS=1;
insert into `migrations` (`migration`, `batch`) values ('first', 1)
select `migration` from `migrations` order by `batch` asc, `migration` asc
alter table `migrations` add `more` json null
select * from `migrations`
drop table if exists `migrations`
SELECT @@foreign_key_checks
""")
script("doctrine_transaction", """
SET NAMES utf8mb4
START TRANSACTION
.prepare i INSERT INTO u (v, n) VALUES (?, ?)
.execute i 'x', 1
.execute i 'y', 2
COMMIT
SELECT t0.id AS id_1, t0.v AS v_2 FROM t t0 WHERE t0.id = 1
SELECT DATABASE()
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
START TRANSACTION
SELECT n FROM t WHERE id = 1 FOR UPDATE
UPDATE t SET n = 5 WHERE id = 1
SAVEPOINT DOCTRINE_2
UPDATE t SET n = 6 WHERE id = 1
RELEASE SAVEPOINT DOCTRINE_2
ROLLBACK
SELECT n FROM t WHERE id = 1
""")
script("doctrine_emulated", """
START TRANSACTION
INSERT INTO u (v, n) VALUES ('quoted \\'string\\'', 5)
COMMIT
SELECT u0_.id AS id_0, u0_.v AS v_1 FROM u u0_ WHERE u0_.n = 5 ORDER BY u0_.id ASC LIMIT 10
SET AUTOCOMMIT=0
INSERT INTO u (v) VALUES ('z')
COMMIT
SET AUTOCOMMIT=1
SELECT COUNT(*) FROM u
""")
script("wordpress_boot", """
SET NAMES utf8mb4
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'
SELECT @@SESSION.sql_mode
SET SESSION sql_mode='NO_ENGINE_SUBSTITUTION'
.init_db app
SELECT v, n FROM t WHERE v = 'a' LIMIT 1
SELECT SQL_CALC_FOUND_ROWS t.id FROM t WHERE 1=1 ORDER BY t.id DESC LIMIT 0, 2
SELECT FOUND_ROWS()
INSERT INTO `u` (`v`, `n`) VALUES ('option', 1) ON DUPLICATE KEY UPDATE `v` = VALUES(`v`), `n` = VALUES(`n`)
UPDATE `t` SET `v` = 'new' WHERE `id` = 1
SHOW FULL COLUMNS FROM `u`
SHOW VARIABLES LIKE 'sql_mode'
SELECT @@SESSION.sql_mode
DESCRIBE `t`;
SELECT COUNT(*) FROM t
""")
script("wordpress_dbdelta_and_delete", """
SET NAMES utf8mb4
SET SESSION sql_mode='NO_ENGINE_SUBSTITUTION'
SHOW TABLES LIKE 't'
CREATE TABLE wp_x (id bigint(20) unsigned NOT NULL auto_increment, name varchar(191) NOT NULL default '', PRIMARY KEY (id), KEY name (name)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci
SHOW WARNINGS
INSERT INTO wp_x (name) VALUES ('a')
INSERT INTO wp_x (name) VALUES ('b')
[mask] SHOW INDEX FROM wp_x
DELETE FROM wp_x WHERE id IN (1)
DROP TABLE IF EXISTS wp_x
SELECT 1
""", refuse="1235.*state of the last")
script("drupal_boot", """
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci
SET sql_mode = 'ANSI,TRADITIONAL'
SET SESSION sql_mode = 'ANSI,TRADITIONAL'
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
.prepare a SELECT "v" AS "v", "n" AS "n" FROM "t" "x" WHERE "id" IN ( ?, ? )
.execute a 1, 2
START TRANSACTION
.prepare i INSERT INTO "u" ("v", "n") VALUES (?, ?) ON DUPLICATE KEY UPDATE "v" = VALUES("v")
.execute i 'cid', 1
SAVEPOINT "savepoint_1"
.execute i 'cid', 2
RELEASE SAVEPOINT "savepoint_1"
COMMIT
SELECT 1 AS "expression" FROM "u" "x" WHERE "n" = 1
.text SHOW VARIABLES LIKE "version"
INSERT INTO "trail" ("v") VALUES ('semaphore')
DELETE FROM "trail" WHERE "v" = 'semaphore'
SELECT "id" FROM "t" LIMIT 2 OFFSET 1
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
START TRANSACTION
SELECT MAX("id") AS "expression" FROM "t"
COMMIT
""")
script("mediawiki_boot", """
SET NAMES utf8mb4
SET group_concat_max_len = 262144, sql_mode = ''
SET sql_mode='TRADITIONAL'
BEGIN
SELECT /* MediaWiki\\Foo::bar */ v,n FROM `t` WHERE id = 1 LIMIT 1
INSERT /* page */ INTO `u` (v,n) VALUES ('Main_Page',1)
SELECT /* id */ LAST_INSERT_ID()
UPDATE /* touched */ `t` SET n = n + 1 WHERE id = 1
COMMIT
SELECT GET_LOCK('wiki:key', 5) AS acquired
SELECT IS_FREE_LOCK('wiki:key') AS unlocked
SELECT RELEASE_LOCK('wiki:key') AS released
REPLACE INTO `u` (v,n) VALUES ('Main_Page',2)
INSERT IGNORE INTO `u` (v,n) VALUES ('Main_Page',3)
SELECT v FROM `t` WHERE n > 5 ORDER BY id LIMIT 2
BEGIN
SELECT id FROM t WHERE id = 1 FOR UPDATE
SAVEPOINT wikimedia_rdbms_atomic1
DELETE FROM `t` WHERE id = 5
ROLLBACK TO SAVEPOINT wikimedia_rdbms_atomic1
COMMIT
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
SELECT COUNT(*) FROM t
SELECT @@max_statement_time IS NULL
""")
script("pdo_emulated_and_native", """
SET time_zone = '+00:00'
START TRANSACTION
INSERT INTO u (v) VALUES ('a')
COMMIT
.prepare s SELECT v FROM u WHERE id = ?
.execute s 1
.execute s '1'
.stmt_close s
SET AUTOCOMMIT=0
COMMIT
SET AUTOCOMMIT=1
.ping
SELECT v FROM u
""")
script("mysqli_persistent", """
SET NAMES utf8mb4
.prepare s SELECT v FROM t WHERE id = ?
.execute s 1
.execute[untyped] s 2
.stmt_reset s
.execute[untyped] s 3
.change_user app apppass app
SET NAMES utf8mb4
.prepare s SELECT v FROM t WHERE id = ?
.execute s 4
.stmt_close s
.ping
.option 0
SELECT 1; SELECT 2
.option 1
SELECT 3
""", modes="text")
script("symfony_lock_and_session", """
SET NAMES utf8mb4
SELECT GET_LOCK('session', 50)
START TRANSACTION
SELECT v FROM u WHERE v = 'sess' FOR UPDATE
INSERT INTO u (v, n) VALUES ('sess', 1)
COMMIT
DO RELEASE_LOCK('session')
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED
START TRANSACTION
UPDATE u SET n = 2 WHERE v = 'sess'
COMMIT
SELECT n FROM u
""")
script("mysqldump_header_and_footer", """
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
LOCK TABLES `u` WRITE;
/*!40000 ALTER TABLE `u` DISABLE KEYS */;
INSERT INTO `u` VALUES (0,'zero',1),(5,'five',2);
/*!40000 ALTER TABLE `u` ENABLE KEYS */;
UNLOCK TABLES;
SELECT id, v FROM u ORDER BY id
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;
SELECT @@time_zone, @@sql_mode, @@foreign_key_checks, @@unique_checks, @@sql_notes, @@collation_connection
""")
script("request_after_request", """
A SET NAMES utf8mb4
A SET SESSION sql_mode = 'ANSI_QUOTES'
A INSERT INTO u (v) VALUES ('first')
A.quit
A SELECT @@sql_mode, LAST_INSERT_ID(), @@character_set_client
A BEGIN
A.drop
A INSERT INTO u (v) VALUES ('second')
A.quit
B SELECT v FROM u
B SELECT @@sql_mode
B.quit
C.connect charset=8
C SELECT @@character_set_client, @@collation_connection
C.quit
D.connect db=app2
D SELECT name FROM place
D.quit
A SELECT name FROM place
""")
