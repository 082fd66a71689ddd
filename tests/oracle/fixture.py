# SPDX-License-Identifier: Apache-2.0
"""The data that scripts run on, the same before each run of each script.

Made by the tests' own connection to the server, never through Sluice."""
import re

# One statement a paragraph.
OBJECTS = """
CREATE TABLE app.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30), n INT)

CREATE TABLE app.u (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30) UNIQUE, n INT NOT NULL DEFAULT 0)

CREATE TABLE app.trail (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(60)) AUTO_INCREMENT = 5000

CREATE TABLE app.parent (id INT PRIMARY KEY)

CREATE TABLE app.child (id INT PRIMARY KEY AUTO_INCREMENT, p INT, CONSTRAINT child_p FOREIGN KEY (p) REFERENCES app.parent (id))

CREATE TABLE app.trg_tz (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30))

CREATE TABLE app.trg_var (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30))

CREATE TABLE app.trg_row (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30))


CREATE TABLE app.trg_read (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30), l BIGINT)

CREATE TABLE app.days (d DATETIME, s TIMESTAMP NULL)

CREATE TABLE app.words (w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, l VARCHAR(20) CHARACTER SET latin1)

CREATE TABLE app.types (a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d MEDIUMINT, e INT, f BIGINT, g BIGINT UNSIGNED, h DECIMAL(20,6), i FLOAT, j DOUBLE, k DATE, l DATETIME(6), m TIMESTAMP NULL, n TIME(3), o YEAR, p CHAR(5), q VARCHAR(20), r BINARY(4), s VARBINARY(10), t TINYTEXT, u TEXT, v BLOB, w ENUM('x','y'), x SET('x','y','z'), y BIT(10), z JSON)

CREATE TABLE app2.t (id INT PRIMARY KEY AUTO_INCREMENT, v BIGINT, other VARCHAR(9))

CREATE TABLE app2.nlog (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200)) AUTO_INCREMENT = 900000

CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, shop_only INT)

CREATE VIEW app.v_lastid AS SELECT LAST_INSERT_ID() AS l

CREATE VIEW app.v_t AS SELECT id, v FROM app.t WHERE id < 4

CREATE VIEW app.v_check AS SELECT id, v, n FROM app.t WHERE n < 100 WITH CHECK OPTION

CREATE VIEW app.v_words AS SELECT w, l FROM app.words

CREATE TRIGGER app.trg_tz_bi BEFORE INSERT ON app.trg_tz FOR EACH ROW SET time_zone = '+05:00'

CREATE TRIGGER app.trg_var_bi BEFORE INSERT ON app.trg_var FOR EACH ROW SET @trg = NEW.v

CREATE TRIGGER app.trg_row_ai AFTER INSERT ON app.trg_row FOR EACH ROW INSERT INTO app.trail (v) VALUES (CONCAT('row ', NEW.v))


CREATE TRIGGER app.trg_read_bi BEFORE INSERT ON app.trg_read FOR EACH ROW SET NEW.l = LAST_INSERT_ID()

CREATE FUNCTION app.f_plain(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 1

CREATE FUNCTION app.f_var(x INT) RETURNS INT NO SQL BEGIN SET @fv = x; RETURN x; END

CREATE FUNCTION app.f_tz() RETURNS INT NO SQL BEGIN SET time_zone = '+06:00'; RETURN 6; END

CREATE FUNCTION app.f_lock(x VARCHAR(30)) RETURNS INT NO SQL RETURN GET_LOCK(x, 0)

CREATE FUNCTION app.f_insert(x VARCHAR(30)) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO app.trail (v) VALUES (x); RETURN LAST_INSERT_ID(); END

CREATE FUNCTION app.f_lastid() RETURNS BIGINT NO SQL RETURN LAST_INSERT_ID()

CREATE PROCEDURE app.p_do(s TEXT) BEGIN SET @p_do = s; PREPARE p_do FROM @p_do; EXECUTE p_do; DEALLOCATE PREPARE p_do; SET @p_do = NULL; END

CREATE PROCEDURE app.p_tz() BEGIN SET time_zone = '+09:00'; END

CREATE PROCEDURE app.p_var() BEGIN SET @pv = 'proc'; END

CREATE PROCEDURE app.p_temp() BEGIN CREATE TEMPORARY TABLE ptemp (x INT); INSERT INTO ptemp VALUES (42); END

CREATE PROCEDURE app.p_lock(x VARCHAR(30)) BEGIN DECLARE got INT; SELECT GET_LOCK(x, 0) INTO got; END

CREATE PROCEDURE app.p_begin() BEGIN START TRANSACTION; INSERT INTO app.u (v) VALUES ('from p_begin'); END

CREATE PROCEDURE app.p_insert(x VARCHAR(30)) BEGIN INSERT INTO app.u (v) VALUES (x); END

CREATE PROCEDURE app.p_two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 'x' AS c; END

CREATE PROCEDURE app.p_out(IN a INT, OUT b INT) BEGIN SET b = a * 2; SELECT a AS a; END

CREATE PROCEDURE app.p_fail() BEGIN SET time_zone = '+09:00'; SET @pf = 'set'; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose'; END

CREATE PROCEDURE app.p_warn() BEGIN INSERT INTO app.u (v, n) VALUES ('warned', 1); SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'a warning'; END

CREATE PROCEDURE app.p_autocommit() BEGIN SET autocommit = 0; END

CREATE PROCEDURE app.p_lastid() BEGIN SELECT LAST_INSERT_ID() AS l; END

CREATE PROCEDURE app.p_names() BEGIN SET NAMES latin1; END
"""

ROWS = {
    "app.t": "(id, v, n) VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30), (4, 'd', 40), (5, 'e', 50)",
    "app.u": "", "app.trail": "", "app.child": "", "app.trg_tz": "", "app.trg_var": "", "app.trg_row": "",
    "app.trg_read": "", "shop.t": "(shop_only) VALUES (1)",
    "app.days": "VALUES ('2024-01-07 23:30:00', '2024-01-07 23:30:00'), ('2023-12-31 01:02:03', NULL)",
    "app.words": "VALUES ('b', 'b'), ('A', 'A'), ('a', 'a'), ('B', 'B'), ('\u00e9', '\u00e9'), ('z', 'z'), ('', '')",
    "app2.t": "(id, v, other) VALUES (1, 111, 'app2'), (2, 222, 'app2')",
    "app.parent": "VALUES (1), (2)",
    "app.types": "VALUES (-128, 255, -32768, -8388608, -2147483648, -9223372036854775808, 18446744073709551615, "
                 "-12345678901234.567891, 1.5, -2.25, '2024-02-29', '2024-02-29 12:34:56.789012', "
                 "'2024-02-29 12:34:56', '-838:59:59.000', 2024, 'ab', 'varchar', 'bin', 0x00FF41, 'tiny', 'text', "
                 "0x0001FF, 'y', 'x,z', b'1000000001', '{\"a\": 1}'), "
                 "(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '1000-01-01', '1000-01-01 00:00:00', '1971-01-01 00:00:01', '00:00:00', "
                 "1901, '', '', '', '', '', '', '', 'x', '', b'0', '[]'), "
                 "(NULL" + ", NULL" * 25 + ")",
}
# Emptied and filled before each run of a script that may write; the others are only read.
WRITTEN = ("app.t", "app.u", "app.trail", "app.child", "app.trg_tz", "app.trg_var", "app.trg_row",
           "app.trg_read", "app.words")
# Compared after each run: what a client was told and what is there are not the same thing.
SEEN = ("app.t", "app.u", "app.trail", "app.child")
SCHEMAS = ("app", "app2", "shop")
DDL = re.compile(r"create|drop|alter|rename", re.I)


class Fixture:
    def __init__(self, db):
        self.db = db
        self.dirty = {name: True for name in WRITTEN}

        self.known = None

    @property
    def admin(self):
        """The tests' own connection; it may be another one than before, after a server's restart."""
        if self.db.admin is not self.known:
            self.known = self.db.admin
            self.known.query("SET sql_mode = '', time_zone = '+00:00', foreign_key_checks = 0, sql_notes = 0")
        return self.known

    def make(self):
        a = self.admin
        for sql in OBJECTS.strip().split("\n\n"):
            a.query(sql)
        for table in ROWS:
            self.fill(table)
        for sql in ("CREATE ROLE r1", "GRANT SELECT ON app.* TO r1", "GRANT r1 TO app@'%'"):
            a.query(sql)
        self.tables = self.list_tables()

    def fill(self, table):
        self.admin.query(f"TRUNCATE {table}")
        if ROWS[table]:
            self.admin.query(f"INSERT INTO {table} {ROWS[table]}")
        if table == "app.trail":
            self.admin.query("ALTER TABLE app.trail AUTO_INCREMENT = 5000")

    def reset(self, script):
        """Before a run: tables that this script, or the one before, may have written."""
        mentioned = " ".join(s.text for s in script.steps).lower()
        for table in WRITTEN:
            if self.dirty[table]:
                self.fill(table)
            # t and u are a word of many scripts; the others are written where they are named, or by routines.
            self.dirty[table] = script.writes and (
                len(table) == 5 or table[4:] in mentioned or "f_" in mentioned or "trg_" in mentioned)

    def list_tables(self):
        return {s: sorted(r[0].decode() for r in self.admin.query(f"SHOW TABLES FROM {s}").rows) for s in SCHEMAS}

    def tidy(self, script):
        """After a run: what it made and left; what it dropped is an error of the script's."""
        a = self.admin
        for sql in script.clean:
            a.query(sql)
        if not any(DDL.search(s.text) for s in script.steps):
            return
        if any("shop" in s.text and DDL.search(s.text) for s in script.steps):
            a.query("DROP DATABASE IF EXISTS shop")
            a.query("CREATE DATABASE shop CHARACTER SET utf8mb4")
        now = self.list_tables()
        for schema in SCHEMAS:
            for name in set(now[schema]) - set(self.tables[schema]):
                a.query(f"DROP TABLE IF EXISTS {schema}.`{name}`")
            lost = set(self.tables[schema]) - set(now[schema])
            if lost:
                self.restore(schema, lost)

    def restore(self, schema, names):
        """Makes tables again that a script dropped."""
        for sql in OBJECTS.strip().split("\n\n"):
            m = re.match(r"CREATE (?:TABLE|VIEW) (\w+)\.(\w+)", sql)
            if m and m[1] == schema and m[2] in names:
                self.admin.query(sql)
                if f"{schema}.{m[2]}" in ROWS:
                    self.fill(f"{schema}.{m[2]}")
        if "place" in names:
            self.admin.query(f"CREATE TABLE {schema}.place (name VARCHAR(20))")
            self.admin.query(f"INSERT INTO {schema}.place VALUES ('{schema}')")

    def look(self):
        """What is in the tables now."""
        return {t: self.admin.query(f"SELECT * FROM {t} ORDER BY 1").rows for t in SEEN}
