# SPDX-License-Identifier: Apache-2.0
"""State of the last statement: LAST_INSERT_ID(), FOUND_ROWS(), ROW_COUNT(), warnings.

A neighbour takes every backend between the steps. The answer is right, or it is an error that names Sluice: never
another client's number."""
from harness import wire
from harness.cases import case

SPELLINGS = ["SELECT LAST_INSERT_ID()", "SELECT LAST_INSERT_ID();", "select last_insert_id() as id",
             "/* why */ SELECT LAST_INSERT_ID()", "SELECT LAST_INSERT_ID() FROM DUAL", "SELECT @@last_insert_id",
             "SELECT @@identity", "SELECT LAST_INSERT_ID() LIMIT 1", "SELECT last_insert_id ( )",
             "SELECT 0 + LAST_INSERT_ID()"]


def steal(t):
    """Runs statements with ids, rows and warnings of their own on as many backends as there may be."""
    thieves = [t.client(db="app") for _ in range(3)]
    for c in thieves:
        c.query("INSERT INTO orders (order_id, order_no, status) SELECT 500000 + IFNULL(MAX(order_id), 0), "
                "CONCAT('T', UUID_SHORT() % 1000000000), 'thief' FROM orders")
        c.query("INSERT INTO log (who, what) VALUES ('thief', 'a'), ('thief', 'b'), ('thief', 'c')")
        c.query("SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4")
    for c in thieves:
        c.quit()


def right_or_named(ask, wanted):
    """ask() gives `wanted`, or an error of Sluice's."""
    try:
        got = ask()
    except wire.ServerError as e:
        assert e.text.startswith("sluice: "), f"an error that does not say who: {e}"
        return
    assert got == wanted, f"{got!r} where {wanted!r} was due"


def insert(c, no="A1"):
    return c.query(f"INSERT INTO orders (order_no, status) VALUES ('{no}', 'mine')")


@case(each=SPELLINGS)
def last_insert_id_is_the_clients_own(t, sql):
    t.front(pool_max=2)
    a = t.client(db="app")
    mine = insert(a).last_id
    assert mine
    for _ in range(3):
        steal(t)
        right_or_named(lambda: a.value(sql), str(mine))
    for i in range(6):
        a.query(f"SELECT {i}")
    steal(t)
    right_or_named(lambda: a.value(sql), str(mine))


@case()
def last_insert_id_in_an_insert_is_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    mine = insert(a).last_id
    steal(t)

    def use():
        a.query("INSERT INTO blobs (id, data) VALUES (LAST_INSERT_ID(), 'x')")
        return t.db.admin.value("SELECT id FROM app.blobs")
    right_or_named(use, str(mine))


@case()
def last_insert_id_by_a_prepared_statement_is_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    st = a.prepare("SELECT LAST_INSERT_ID()")
    mine = insert(a).last_id
    for _ in range(2):
        steal(t)
        right_or_named(lambda: int(a.execute(st).value), mine)


@case()
def an_explicit_id_is_not_last_insert_id(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    mine = insert(a).last_id
    a.query("INSERT INTO orders (order_id, order_no, status) VALUES (424242, 'A2', 'explicit')")
    steal(t)
    right_or_named(lambda: a.value("SELECT LAST_INSERT_ID()"), str(mine))


@case()
def a_fresh_client_has_no_last_insert_id(t):
    t.front(pool_max=1)
    insert(t.client(db="app"))
    steal(t)
    b = t.client(db="app")
    right_or_named(lambda: b.value("SELECT LAST_INSERT_ID()"), "0")


@case()
def last_insert_id_may_be_set(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    a.query("UPDATE counters SET n = LAST_INSERT_ID(n + 7) WHERE id = 1")
    steal(t)
    right_or_named(lambda: a.value("SELECT LAST_INSERT_ID()"), "7")


@case()
def row_count_is_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    a.query("UPDATE counters SET n = 9 WHERE id IN (1, 2)")
    steal(t)
    right_or_named(lambda: a.value("SELECT ROW_COUNT()"), "2")


@case()
def found_rows_is_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    a.query("SELECT SQL_CALC_FOUND_ROWS id FROM counters LIMIT 3")
    steal(t)
    right_or_named(lambda: a.value("SELECT FOUND_ROWS()"), "10")


@case()
def found_rows_is_kept_when_others_want_the_backend(t):
    t.front(pool_max=1)
    a, b = t.client(db="app"), t.client(db="app")
    a.query("SELECT SQL_CALC_FOUND_ROWS id FROM counters LIMIT 3")
    assert b.query("SELECT 1 UNION SELECT 2").rows
    assert a.value("SELECT FOUND_ROWS()") == "10"
    assert b.value("SELECT FOUND_ROWS()") == "2"


@case()
def found_rows_without_the_flag_is_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    a.query("SELECT id FROM counters LIMIT 3")
    steal(t)
    right_or_named(lambda: a.value("SELECT FOUND_ROWS()"), "3")


@case(each=["SHOW WARNINGS", "SHOW COUNT(*) WARNINGS", "SELECT @@warning_count"])
def warnings_are_the_clients_own(t, sql):
    t.front(pool_max=2)
    a = t.client(db="app")
    r = a.query("SELECT 1 + 'x'")
    assert r.warnings == 1
    steal(t)

    def ask():
        row = a.query(sql).rows[0]
        return row[2].decode() if sql == "SHOW WARNINGS" else row[0].decode()
    right_or_named(ask, "Truncated incorrect DOUBLE value: 'x'" if sql == "SHOW WARNINGS" else "1")
    assert a.query("SELECT 77").rows == [[b"77"]]


@case()
def an_errors_diagnostics_are_the_clients_own(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    t.fails(1146, a.query, "SELECT * FROM no_such_table")
    steal(t)
    right_or_named(lambda: a.query("SHOW ERRORS").rows[0][1], b"1146")


@case()
def php_gets_its_own_insert_id(t):
    t.front(pool_max=2)
    assert t.php("lastid.php") == {"wrong": 0, "ids": 40}


@case()
def rand_with_a_seed_set_repeats(t):
    t.front(pool_max=2)
    a = t.client(db="app")

    def draw():
        a.query("SET rand_seed1 = 11, rand_seed2 = 22")
        steal(t)
        return a.value("SELECT RAND()")
    first = draw()
    right_or_named(draw, first)


BETWEEN = ["BEGIN", "SET @a = 1", "SET NAMES latin1", "SET time_zone = '+03:00'", "SET sql_mode = CONCAT('A', 'NSI')",
           "USE app", "SAVEPOINT s"]


def take_away(t):
    """Another client waits for the only backend until it is let go, and leaves what is its own there."""
    other = t.client(db="app")
    assert t.background(other.value, "SELECT CAST('other' AS SIGNED) FROM counters LIMIT 1").result(5) == "0"
    t.fails(1054, other.query, "SELECT nothing")  # an error stands there now, of a client that stays


@case(needs="sluice", each=BETWEEN)
def found_rows_of_a_backend_let_go_are_not_its_next_ones(t, sql):
    t.front(pool_max=1, min_idle=0)
    a = t.client(db="app")
    a.query("SELECT SQL_CALC_FOUND_ROWS id FROM counters LIMIT 2")
    take_away(t)
    a.query(sql)
    right_or_named(lambda: a.value("SELECT FOUND_ROWS()"), "10")


@case(needs="sluice", each=BETWEEN)
def found_rows_outlive_what_is_read_back(t, sql):
    t.front(pool_max=1, min_idle=0)
    a = t.client(db="app")
    a.query("SELECT SQL_CALC_FOUND_ROWS id FROM counters LIMIT 2")
    a.query(sql)
    assert a.value("SELECT FOUND_ROWS()") == "10"


@case(needs="sluice", each=BETWEEN)
def warnings_of_a_backend_let_go_are_not_its_next_ones(t, sql):
    t.front(pool_max=1, min_idle=0)
    a = t.client(db="app")
    a.query("SELECT CAST('mine' AS SIGNED)")
    take_away(t)
    a.query(sql)
    # MariaDB leaves them for what uses no table.
    left = ["Truncated incorrect INTEGER value: 'mine'"] if t.db.is_mariadb else []
    right_or_named(lambda: [row[2].decode() for row in a.query("SHOW WARNINGS").rows], left)


@case(needs="sluice", each=BETWEEN)
def no_warnings_are_none_on_whatever_backend(t, sql):
    t.front(pool_max=1, min_idle=0)
    a = t.client(db="app")
    a.query("SELECT n FROM counters")
    take_away(t)
    a.query(sql)
    assert a.query("SHOW WARNINGS").rows == []
    assert a.value("SELECT @@warning_count") == "0"
