# SPDX-License-Identifier: Apache-2.0
"""Session state: each client sees its own, whatever backend serves it, and nothing of another's."""
import time

from harness import wire
from harness.cases import case

# Per kind of state: how A sets it, how it is seen, what A must see and what a fresh client must not.
SETTINGS = {
    "time_zone": ("SET time_zone = '+09:00'", "SELECT @@time_zone", "+09:00"),
    "sql_mode": ("SET SESSION sql_mode = 'ANSI_QUOTES'", "SELECT @@sql_mode", "ANSI_QUOTES"),
    "group_concat_max_len": ("SET group_concat_max_len = 4321", "SELECT @@group_concat_max_len", "4321"),
    "names": ("SET NAMES latin1", "SELECT @@character_set_client", "latin1"),
    "collation": ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SELECT @@collation_connection", "utf8mb4_bin"),
    "autocommit": ("SET autocommit = 0", "SELECT @@autocommit", "0"),
    "wait_timeout": ("SET wait_timeout = 777", "SELECT @@wait_timeout", "777"),
    "foreign_key_checks": ("SET foreign_key_checks = 0", "SELECT @@foreign_key_checks", "0"),
    "isolation": ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", None, "READ-COMMITTED"),
    "user_variable": ("SET @leak = 'A'", "SELECT @leak", "A"),
    "user_variable_in_select": ("SELECT @leak := 'A'", "SELECT @leak", "A"),
    "user_variable_into": ("SELECT 'A' INTO @leak", "SELECT @leak", "A"),
    "schema_by_use": ("USE shop", "SELECT name FROM place", "shop"),
    "temporary_table": ("CREATE TEMPORARY TABLE place SELECT 'mine' AS name", "SELECT name FROM place", "mine"),
    "temporary_table_in_comment": ("/*! CREATE TEMPORARY TABLE place SELECT 'mine' AS name */",
                                   "SELECT name FROM place", "mine"),
    "timestamp": ("SET timestamp = 1000", "SELECT UNIX_TIMESTAMP()", "1000"),
    "sql_auto_is_null": ("SET sql_auto_is_null = 1", "SELECT @@sql_auto_is_null", "1"),
    "text_prepare": ("PREPARE p FROM 'SELECT 31'", "EXECUTE p", "31"),
    "max_statement_in_comment": ("/* hello */ SET group_concat_max_len = 5432", "SELECT @@group_concat_max_len",
                                 "5432"),
}


def look(t, kind):
    if kind == "isolation":
        return "SELECT @@tx_isolation" if t.db.is_mariadb else "SELECT @@transaction_isolation"
    return SETTINGS[kind][1]


@case(each=sorted(SETTINGS))
def state_is_kept_for_its_client_and_seen_by_no_other(t, kind):
    how, _, mine = SETTINGS[kind]
    sql = look(t, kind)
    f = t.front(pool_max=4)
    plain = t.client(db="app")
    try:
        default = plain.value(sql)
    except wire.ServerError as e:
        default = e.errno
    plain.quit()
    a = t.client(db="app")
    a.query(how)
    for _ in range(3):
        t.neighbour(db="app")
        assert a.value(sql) == mine, kind
        b = t.client(db="app", front=f)
        try:
            seen = b.value(sql)
        except wire.ServerError as e:
            seen = e.errno
        assert seen != mine and (kind == "timestamp" or seen == default), (kind, seen, default)
        b.quit()
    a.close()
    for _ in range(5):
        c = t.client(db="app", front=f)
        try:
            seen = c.value(sql)
        except wire.ServerError as e:
            seen = e.errno
        assert seen != mine and (kind == "timestamp" or seen == default), (kind, seen, default)
        c.quit()


@case(each=["text", "prepared", "call"])
def settings_made_by(t, way):
    a = t.client(db="app")
    if way == "text":
        a.query("SET time_zone = '+09:00', @leak = 'proc'")
    elif way == "call":
        a.query("CALL touch_session()")
    else:
        a.execute(a.prepare("SET time_zone = ?, @leak = ?"), ["+09:00", "proc"])
    t.neighbour(db="app")
    assert a.query("SELECT @@time_zone, @leak").rows == [[b"+09:00", b"proc"]]
    a.quit()
    for _ in range(4):
        b = t.client(db="app")
        row = b.query("SELECT @@time_zone, @leak").rows[0]
        assert row[0] != b"+09:00" and row[1] is None, row
        b.quit()


@case()
def a_procedure_that_sets_and_fails_leaks_nothing(t):
    a = t.client(db="app")
    t.fails(1644, a.query, "CALL touch_and_fail()")
    t.neighbour(2, db="app")
    assert a.value("SELECT @@time_zone") == "+09:00"
    a.quit()
    for _ in range(4):
        b = t.client(db="app")
        row = b.query("SELECT @@time_zone, @leak").rows[0]
        assert row[0] != b"+09:00" and row[1] is None, row


@case(each=["reset", "change-user", "end-of-request"])
def a_client_may_put_its_session_back(t, how):
    a = t.client(db="app")
    a.query("SET time_zone = '+09:00'")
    a.query("SET @leak = 1")
    a.query("CREATE TEMPORARY TABLE tt (x INT)")
    a.query("BEGIN")
    a.query("UPDATE counters SET n = n + 1 WHERE id = 1")
    if how == "reset":
        a.reset()
    elif how == "change-user":
        a.change_user("app", "apppass", "app")
    else:
        a.end_of_request()
        if t.direct:
            return  # a server ignores the mark: that is all to see here
    assert not a.ping().in_transaction
    assert a.value("SELECT @leak") is None
    t.fails(1146, a.query, "SELECT * FROM tt")
    # What is virtual stays over the mark (design.md, MySQL rule 13).
    assert (a.value("SELECT @@time_zone") == "+09:00") == (how == "end-of-request")
    assert a.value("SELECT DATABASE()") == "app"
    assert a.value("SELECT n FROM counters WHERE id = 1") == "0"


@case()
def change_user_changes_the_account(t):
    a = t.client(db="app")
    assert a.value("SELECT CURRENT_USER()").startswith("app@")
    a.change_user("app2", "app2pass", "app2")
    assert a.value("SELECT CONCAT(CURRENT_USER(), '/', DATABASE())") in ("app2@%/app2",)
    a.change_user("app", "apppass", "shop")
    assert a.value("SELECT name FROM place") == "shop"


@case()
def a_change_user_with_a_wrong_password_gets_1045(t):
    a = t.client(db="app")
    t.fails(1045, a.change_user, "app2", "no", "app2")


@case()
def schemas_do_not_mix(t):
    f = t.front(pool_max=2)
    clients = [(name, t.client(db=name, front=f)) for name in ("app", "app2", "shop")]
    for _ in range(5):
        for name, c in clients:
            assert c.value("SELECT name FROM place") == name
    none = t.client(front=f)
    t.fails(1046, none.query, "SELECT name FROM place")
    none.use("shop")
    assert none.value("SELECT name FROM place") == "shop"
    t.fails((1049, 1044), none.use, "no_such_schema")
    assert none.value("SELECT name FROM place") == "shop", "a USE that failed changes nothing"


@case()
def found_rows_is_per_client(t):
    f = t.front(pool_max=4)
    t.db.admin.query("UPDATE app.counters SET n = 5 WHERE id = 1")
    plain = t.client(db="app", front=f)
    found = t.client(db="app", front=f, caps=wire.PHP_CAPS | wire.FOUND_ROWS)
    for _ in range(4):
        assert plain.query("UPDATE counters SET n = 5 WHERE id = 1").affected == 0
        assert found.query("UPDATE counters SET n = 5 WHERE id = 1").affected == 1


@case()
def ignore_space_is_per_client(t):
    plain = t.client(db="app")
    spaced = t.client(db="app", caps=wire.PHP_CAPS | wire.IGNORE_SPACE)
    for _ in range(3):
        assert spaced.value("SELECT count (*) FROM place") == "1"
        t.fails((1064, 1630), plain.query, "SELECT count (*) FROM place")
    spaced.query("SET sql_mode = ''")
    t.fails((1064, 1630), spaced.query, "SELECT count (*) FROM place")


@case()
def transactions_are_seen_only_when_committed(t):
    a, b = t.client(db="app"), t.client(db="app")
    assert a.query("BEGIN").in_transaction
    assert a.query("UPDATE counters SET n = n + 1 WHERE id = 2").in_transaction
    assert b.value("SELECT n FROM counters WHERE id = 2") == "0"
    assert a.value("SELECT n FROM counters WHERE id = 2") == "1"
    assert not a.query("COMMIT").in_transaction
    assert b.value("SELECT n FROM counters WHERE id = 2") == "1"
    a.query("START TRANSACTION")
    a.query("UPDATE counters SET n = 99 WHERE id = 2")
    a.query("ROLLBACK")
    assert b.value("SELECT n FROM counters WHERE id = 2") == "1"


@case()
def savepoints_work(t):
    a = t.client(db="app")
    a.query("BEGIN")
    a.query("UPDATE counters SET n = 1 WHERE id = 1")
    a.query("SAVEPOINT s")
    a.query("UPDATE counters SET n = 2 WHERE id = 1")
    t.neighbour(db="app")
    a.query("ROLLBACK TO s")
    a.query("COMMIT")
    assert a.value("SELECT n FROM counters WHERE id = 1") == "1"


@case()
def autocommit_off_is_a_transaction(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("SET autocommit = 0")
    a.query("UPDATE counters SET n = 7 WHERE id = 3")
    t.neighbour(db="app")
    assert b.value("SELECT n FROM counters WHERE id = 3") == "0"
    a.query("COMMIT")
    assert b.value("SELECT n FROM counters WHERE id = 3") == "7"
    a.query("UPDATE counters SET n = 8 WHERE id = 3")
    a.query("SET autocommit = 1")
    assert b.value("SELECT n FROM counters WHERE id = 3") == "8", "SET autocommit = 1 commits"


@case()
def a_consistent_snapshot_is_taken_when_asked_for(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    b.query("UPDATE counters SET n = 5 WHERE id = 4")
    assert a.value("SELECT n FROM counters WHERE id = 4") == "0"
    a.query("COMMIT")
    assert a.value("SELECT n FROM counters WHERE id = 4") == "5"


@case()
def a_read_only_transaction_refuses_writes(t):
    a = t.client(db="app")
    a.query("START TRANSACTION READ ONLY")
    t.fails(1792, a.query, "UPDATE counters SET n = 1 WHERE id = 1")
    a.query("ROLLBACK")


@case()
def set_transaction_counts_for_the_next_one_only(t):
    a = t.client(db="app")
    a.query("SET TRANSACTION READ ONLY")
    t.neighbour(db="app")
    a.query("BEGIN")
    t.fails(1792, a.query, "UPDATE counters SET n = 1 WHERE id = 1")
    a.query("ROLLBACK")
    a.query("BEGIN")
    a.query("UPDATE counters SET n = 1 WHERE id = 1")
    a.query("ROLLBACK")
    assert not a.ping().in_transaction


@case()
def an_implicit_commit_is_one(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("BEGIN")
    a.query("UPDATE counters SET n = 3 WHERE id = 5")
    r = a.query("CREATE TABLE IF NOT EXISTS ddl_probe (x INT)")
    t.defer(t.db.admin.query, "DROP TABLE IF EXISTS app.ddl_probe")
    assert not r.in_transaction
    assert b.value("SELECT n FROM counters WHERE id = 5") == "3"


@case()
def a_failed_statement_leaves_the_transaction_open(t):
    a = t.client(db="app")
    a.query("BEGIN")
    a.query("INSERT INTO orders (order_no, status) VALUES ('X1', 'new')")
    t.fails(1062, a.query, "INSERT INTO orders (order_no, status) VALUES ('X1', 'new')")
    t.neighbour(db="app")
    assert a.value("SELECT COUNT(*) FROM orders") == "1"
    a.query("ROLLBACK")
    assert a.value("SELECT COUNT(*) FROM orders") == "0"


@case()
def named_locks_are_held_by_who_took_them(t):
    a, b = t.client(db="app"), t.client(db="app")
    assert a.value("SELECT GET_LOCK('l1', 0)") == "1"
    t.neighbour(2, db="app")
    assert b.value("SELECT GET_LOCK('l1', 0)") == "0"
    assert a.value("SELECT RELEASE_LOCK('l1')") == "1"
    assert b.value("SELECT GET_LOCK('l1', 5)") == "1"
    b.quit()
    t.until("the lock of a client that left to be free", lambda: t.db.admin.value("SELECT IS_FREE_LOCK('l1')") == "1")


@case()
def a_lock_taken_inside_a_procedure_is_held(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("CALL take_lock('inside')")
    t.neighbour(2, db="app")
    assert b.value("SELECT GET_LOCK('inside', 0)") == "0"
    assert a.value("SELECT IS_USED_LOCK('inside')") is not None
    a.quit()
    t.until("the lock to be free", lambda: t.db.admin.value("SELECT IS_FREE_LOCK('inside')") == "1")


@case()
def table_locks_are_held_and_end(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("LOCK TABLES counters WRITE")
    t.neighbour()
    waiting = t.background(b.query, "SELECT n FROM counters WHERE id = 1")
    t.until("the other to wait", lambda: any("lock" in (p["state"] or "").lower() for p in t.db.processes("app")))
    assert not waiting.done()
    a.query("UNLOCK TABLES")
    assert waiting.result().value == b"0"


@case()
def a_handler_stays_open(t):
    t.db.admin.query("INSERT INTO app.orders (order_no, status) VALUES ('H1', 'x'), ('H2', 'x')")
    a = t.client(db="app")
    a.query("HANDLER orders OPEN")
    t.neighbour(2)
    assert a.query("HANDLER orders READ FIRST").rows[0][1] == b"H1"
    t.neighbour()
    assert a.query("HANDLER orders READ NEXT").rows[0][1] == b"H2"
    a.query("HANDLER orders CLOSE")


PINNING = ["SET @x = 1", "CREATE TEMPORARY TABLE tt (x INT)", "SELECT GET_LOCK('p', 0)", "LOCK TABLES app.place READ",
           "BEGIN; SELECT name FROM app.place", "PREPARE p FROM 'SELECT 1'"]


def pin_begins_and_ends(t, sql, how):
    ends = {"SET @x": ("user_variable", None), "CREATE": ("temporary_table", "DROP TEMPORARY TABLE tt"),
            "SELECT GET": ("named_lock", "SELECT RELEASE_LOCK('p')"), "LOCK": ("table_lock", "UNLOCK TABLES"),
            "BEGIN": ("transaction", "COMMIT"), "PREPARE": ("text_prepare", "DEALLOCATE PREPARE p")}
    reason, end = next(v for k, v in ends.items() if sql.startswith(k))
    s = t.front().sluice
    c = t.client(db="app")
    c.queries(sql)
    assert s.pinned() == {reason: 1}, s.pinned()
    assert s.metric("sluice_pinned", proto="mysql", reason=reason) == 1
    if how == "statement" and end:
        c.query(end)
    else:
        c.reset()
    t.until("the pin to end", lambda: not s.pinned())
    assert s.metric("sluice_pins_total", proto="mysql", reason=reason) == 1


@case(needs="sluice", each=PINNING)
def a_pin_has_a_reason_and_ends(t, sql):
    pin_begins_and_ends(t, sql, "reset")


@case(needs="sluice", each=PINNING)
def a_pin_ends_by_its_statement(t, sql):
    pin_begins_and_ends(t, sql, "statement")


@case(needs="sluice")
def plain_statements_pin_nothing(t):
    s = t.front().sluice
    c = t.client(db="app")
    for sql in ("SELECT 1", "SET NAMES utf8mb4", "USE shop", "SELECT 'a@b.c', \"@x\"",
                "INSERT INTO app.log (who) VALUES ('me@example.org')", "SELECT `name` FROM place -- @x := 1",
                "SELECT @@version, @@session.sql_mode"):
        c.query(sql)
    assert not s.pinned(), s.pinned()


@case(needs="sluice")
def settings_and_prepares_pin_nothing(t):
    s = t.front().sluice
    c = t.client(db="app")
    c.query("SET time_zone = '+01:00'")
    c.execute(c.prepare("SELECT ? + 1"), [1])
    assert not s.pinned(), s.pinned()


@case(needs="sluice")
def many_clients_share_few_backends(t):
    s = t.front(pool_max=3).sluice
    clients = [t.client(db="app", front=t.front()) for _ in range(30)]
    for _ in range(3):
        for i, c in enumerate(clients):
            assert c.value(f"SELECT {i}") == str(i)
    assert len(t.db.processes("app")) <= 3
    assert s.status()["mysql"]["clients"] == 30


@case(needs="sluice")
def equal_sessions_cost_no_extra_round_trip(t):
    relay = t.relay()
    s = t.sluice(backend=relay.url(), conf={"mysql": {"pool_max": 1, "tls": "off", "min_idle": 0,
                                                      "probe_after": "5min", "refresh_every": "5min"}})
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SET time_zone = '+02:00'")
    c.query("SELECT 1")
    before = relay.turns()
    for _ in range(20):
        c.query("SELECT NOW()")
    assert relay.turns() - before == 20, relay.turns() - before


@case()
def an_error_after_begin_in_one_text_leaves_the_transaction_open(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    t.fails(1146, a.queries, "BEGIN; INSERT INTO log (who) VALUES ('open'); SELECT * FROM no_such_table")
    t.neighbour(2, db="app")
    assert a.ping().in_transaction
    a.query("ROLLBACK")
    assert a.value("SELECT COUNT(*) FROM log WHERE who = 'open'") == "0"


@case()
def closing_a_statement_that_is_not_open_ends_nothing(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    st = a.prepare("SELECT 'mine'")
    a.send_command(0x19, (0x7FFFFF00).to_bytes(4, "little"))
    t.neighbour(2, db="app")
    assert a.execute(st).rows == [[b"mine"]]


@case(needs="sluice")
def a_dropped_schema_is_unknown_to_the_next_login(t):
    t.front(pool_max=2)
    a = t.client(db="app")
    t.db.admin.query("GRANT ALL ON gone_soon.* TO app@'%'")
    t.defer(t.db.admin.query, "REVOKE ALL ON gone_soon.* FROM app@'%'")
    a.query("CREATE DATABASE IF NOT EXISTS gone_soon")
    b = t.client(db="gone_soon")
    b.query("SELECT 1")
    b.quit()
    a.query("DROP DATABASE gone_soon")
    t.fails(1049, t.client, db="gone_soon")


@case()
def warnings_that_nobody_asks_for_hold_nobody_up(t):
    t.front(pool_max=1, queue_timeout="3s")
    a, b = t.client(db="app"), t.client(db="app")
    a.query("SELECT CAST('x' AS SIGNED)")
    assert b.value("SELECT 1") == "1"


@case(needs="sluice")
def a_view_or_trigger_never_sees_another_clients_insert_id(t):
    admin = t.db.admin
    admin.query("CREATE OR REPLACE VIEW app.last_id AS SELECT LAST_INSERT_ID() AS id")
    t.defer(admin.query, "DROP VIEW app.last_id")
    t.front(pool_max=1)
    a, b = t.client(db="app"), t.client(db="app")
    for _ in range(2):
        a.query("INSERT INTO log (who) VALUES ('a')")
        assert b.value("SELECT id FROM last_id") == "0"


@case(on="mariadb")
def a_prepared_xa_transaction_outlives_its_client(t):
    f = t.front(pool_max=1)
    a = t.client(db="app")
    for sql in ("XA START 'kept'", "INSERT INTO log (who) VALUES ('xa')", "XA END 'kept'", "XA PREPARE 'kept'"):
        a.query(sql)
    a.quit()
    if f.sluice:
        t.until("its backend to be gone", lambda: not f.sluice.pinned())
    c = t.client(db="app")
    t.until("the transaction to be there", lambda: c.query("XA RECOVER").rows)
    c.query("XA COMMIT 'kept'")
    assert c.value("SELECT COUNT(*) FROM log WHERE who = 'xa'") == "1"


@case(each=["BEGIN", "begin /* c */ Work ;", "START TRANSACTION", "BEGIN -- x", "BEGIN # x", "START/**/TRANSACTION # x"])
def a_begin_begins_in_every_spelling(t, sql):
    t.front(pool_max=2)
    a, b = t.client(db="app"), t.client(db="app")
    assert a.query(sql).in_transaction
    a.query("INSERT INTO log (who) VALUES ('spelling')")
    assert b.value("SELECT COUNT(*) FROM log WHERE who = 'spelling'") == "0"
    assert not a.query(sql.replace("BEGIN", "ROLLBACK") if "BEGIN" in sql else "ROLLBACK WORK -- x").in_transaction
    assert a.value("SELECT COUNT(*) FROM log WHERE who = 'spelling'") == "0"


@case(each=["goes", "resets", "idles in a transaction"])
def profiles_are_seen_by_nobody_else(t, how):
    t.front(pool_max=1, **({"idle_in_transaction_timeout": "1s"} if how.startswith("idles") else {}))
    a = t.client(db="app")
    a.query("SET profiling = 1")
    a.query("SELECT n FROM counters LIMIT 1")
    if how == "goes":
        a.quit()
    elif how == "resets":
        a.reset()
    else:
        a.query("BEGIN")
        a.query("SELECT n FROM counters LIMIT 1")
    assert not t.client(db="app").query("SHOW PROFILES").rows


@case(needs="sluice")
def what_profiling_ends_is_one_backend(t):
    f = t.front(pool_max=1)
    a = t.client(db="app")
    a.query("SET profiling = 1")
    a.reset()
    a.query("SELECT 1")
    opened = f.sluice.metric("sluice_backend_connects_total", proto="mysql")
    for _ in range(3):
        a.query("CREATE TEMPORARY TABLE mine (id INT)")
        a.reset()
    a.query("SELECT 1")
    assert f.sluice.metric("sluice_backend_connects_total", proto="mysql") == opened


@case(needs="sluice")
def a_transaction_begun_behind_a_read_may_idle_longer_than_backend_timeout(t):
    """The subject is time: a deadline of sluice's own questions must not outlive their answers."""
    t.front(pool_max=2, backend_timeout="1s")
    c = t.client(db="app")
    c.query("BEGIN")
    c.query("SELECT n FROM counters LIMIT 1")
    time.sleep(2.5)
    assert c.query("SELECT 5").in_transaction
