# SPDX-License-Identifier: Apache-2.0
"""Clients that vanish: what they ran stops, what they held is free, and the next one gets a clean backend."""
import signal

from harness import wire
from harness.cases import case

SOON_S = 5


def running(t, text, user="app"):
    return any(text in (p["info"] or "") for p in t.db.processes(user))


def row_is_free(t, ident):
    """Can another lock the row, without waiting?"""
    probe = t.db.connect(db="app")
    probe.query("SET innodb_lock_wait_timeout = 1")
    probe.query("BEGIN")
    try:
        probe.query(f"SELECT n FROM counters WHERE id = {ident} FOR UPDATE NOWAIT")
        return True
    except wire.ServerError as e:
        if e.errno in (1205, 3572):
            return False
        raise
    finally:
        probe.query("ROLLBACK")
        probe.quit()


@case(needs="sluice", each=["close", "reset", "half-close"])
def a_query_of_a_client_that_left_is_stopped(t, how):
    f = t.front(pool_max=2)
    c = t.client(db="app")
    c.send_query("SELECT SLEEP(30) /* left */")
    t.until("the query to run", lambda: running(t, "left"))
    if how == "half-close":
        c.sock.shutdown(1)
    elif how == "reset":
        c.abort()
    else:
        c.close()
    t.until("the query to be gone", lambda: not running(t, "left"), SOON_S)
    for _ in range(3):
        assert t.client(db="app", front=f).value("SELECT 1") == "1"


@case(needs="sluice")
def a_killed_php_process_leaves_no_query_and_no_row_lock(t):
    f = t.front(pool_max=2)
    p = t.php_start("hold.php", front=f)
    t.until("PHP to hold the row and sleep", lambda: running(t, "SLEEP") and not row_is_free(t, 1))
    p.signal(signal.SIGKILL)
    t.until("the query to be gone", lambda: not running(t, "SLEEP"), SOON_S)
    t.until("the row to be free", lambda: row_is_free(t, 1), SOON_S)
    assert t.client(db="app", front=f).value("SELECT n FROM counters WHERE id = 1") == "0"


@case()
def a_transaction_of_a_client_that_left_is_rolled_back(t):
    f = t.front(pool_max=2)
    c = t.client(db="app")
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 50 WHERE id = 2")
    assert not row_is_free(t, 2)
    c.abort()
    t.until("the row to be free", lambda: row_is_free(t, 2), SOON_S)
    assert t.client(db="app", front=f).value("SELECT n FROM counters WHERE id = 2") == "0"


@case()
def what_a_client_that_left_held_is_free(t):
    c = t.client(db="app")
    c.query("CREATE TEMPORARY TABLE tt (x INT)")
    c.query("SET @leak = 1, time_zone = '+09:00'")
    assert c.value("SELECT GET_LOCK('left', 0)") == "1"
    c.close()
    t.until("the lock to be free", lambda: t.db.admin.value("SELECT IS_FREE_LOCK('left')") == "1", SOON_S)
    for _ in range(3):
        b = t.client(db="app")
        assert b.value("SELECT @leak") is None
        t.fails(1146, b.query, "SELECT * FROM tt")


@case(needs="sluice")
def table_locks_of_a_client_that_left_are_free(t):
    t.front(pool_max=2)
    c = t.client(db="app")
    c.query("LOCK TABLES counters WRITE")
    c.abort()
    assert t.client(db="app", timeout=SOON_S).value("SELECT n FROM counters WHERE id = 1") == "0"


@case(needs="sluice")
def a_client_that_leaves_in_the_middle_of_a_result_costs_the_next_nothing(t):
    f = t.front(pool_max=1)
    for _ in range(3):
        c = t.client(db="app")
        c.send_query("WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 50) "
                     "SELECT REPEAT('x', 1000000) FROM s")
        c.read_packet()
        c.abort()
        assert t.client(db="app", front=f).value("SELECT 'mine'") == "mine"


@case(needs="sluice")
def a_client_that_leaves_in_the_middle_of_a_command_costs_nothing(t):
    f = t.front(pool_max=1)
    for cut in (1, 3, 4, 5, 100):
        c = t.client(db="app")
        c.seq = 0
        whole = c.frame(bytes([wire.QUERY]) + b"UPDATE counters SET n = n + 1 WHERE id = 1 /*" + b"x" * 200 + b"*/")
        c.send_bytes(whole[:cut])
        c.abort()
    assert t.client(db="app", front=f).value("SELECT n FROM counters WHERE id = 1") == "0"


@case(needs="sluice")
def a_waiting_client_that_leaves_gives_its_place_up(t):
    f = t.front(pool_max=1, queue_timeout="30s", max_pinned="100 %")
    holder = t.client(db="app")
    holder.query("BEGIN")
    holder.query("SELECT n FROM counters")
    gone = t.client(db="app")
    gone.send_query("UPDATE counters SET n = 1 WHERE id = 9")
    t.until("it to wait", lambda: f.sluice.status()["mysql"]["waiting"] == 1)
    gone.abort()
    t.until("it to wait no more", lambda: f.sluice.status()["mysql"]["waiting"] == 0)
    holder.query("COMMIT")
    assert holder.value("SELECT n FROM counters WHERE id = 9") == "0", "its statement was never sent"


@case(needs="sluice")
def the_kill_of_a_left_query_never_hits_another_clients(t):
    f = t.front(pool_max=4)
    for i in range(10):
        c = t.client(db="app")
        c.send_query("SELECT SLEEP(0.02) /* race */")
        t.until("it to run or be over", lambda: running(t, "race") or True)
        c.abort()
        others = [t.client(db="app", front=f) for _ in range(3)]
        for o in others:
            assert o.value("SELECT SLEEP(0.01)") == "0", "someone else's query was interrupted"
        for o in others:
            o.quit()


@case(needs="sluice")
def idle_clients_that_leave_are_forgotten(t):
    s = t.front().sluice
    clients = [t.client() for _ in range(50)]
    t.until("all to be counted", lambda: s.status()["mysql"]["clients"] == 50)
    for i, c in enumerate(clients):
        c.abort() if i % 2 else c.close()
    t.until("none to be counted", lambda: s.status()["mysql"]["clients"] == 0)


@case(needs="sluice")
def an_idle_transaction_is_ended_in_time(t):
    t.front(idle_in_transaction_timeout="500ms")
    c = t.client(db="app")
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 1 WHERE id = 3")
    t.until("the row to be free", lambda: row_is_free(t, 3), SOON_S)
    try:
        c.query("COMMIT")
    except wire.ServerError as e:
        assert e.text.startswith("sluice: "), e
    except (wire.Gone, OSError):
        pass
    else:
        raise AssertionError("COMMIT succeeded for a transaction that was rolled back")


@case(needs="sluice")
def one_victim_killed_many_times_at_once_is_killed_once(t):
    f = t.front(pool_max=2)
    a, k = t.client(db="app", front=f), t.client(db="app", front=f)
    waiting = t.background(a.query, "SELECT SLEEP(20)")
    t.until("the query to run", lambda: any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    for _ in range(6):
        k.query(f"KILL QUERY {a.greeting.connection_id}")
    try:
        waiting.result(10)
    except Exception as e:
        assert getattr(e, "errno", 0) == 1317, e
    assert k.value("SELECT 1") == "1" and a.value("SELECT 1") == "1"


@case(needs="sluice")
def a_file_with_packets_out_of_order_costs_its_client_alone(t):
    f = t.front(pool_max=1)
    c = wire.Client(f.address, db="app", caps=wire.PHP_CAPS | wire.LOCAL_FILES)
    t.defer(c.close)
    c.query("CREATE TEMPORARY TABLE tl (a VARCHAR(9))")
    c.send_query("LOAD DATA LOCAL INFILE '/x' INTO TABLE tl")
    c.read_packet()
    c.sock.sendall(b"\0\0\0\x09")
    try:
        while True:
            c.read_packet(any_seq=True)
    except (wire.Gone, OSError):
        pass
    d = wire.Client(f.address, db="app", caps=wire.PHP_CAPS | wire.LOCAL_FILES)
    t.defer(d.close)
    assert d.value("SELECT 1") == "1"
