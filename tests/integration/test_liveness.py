# SPDX-License-Identifier: Apache-2.0
"""Backends that die, freeze, time out or cannot be reached: clients get an answer, in time, once."""
import signal
import threading
import time

from harness import procs, wire
from harness.cases import case

LOST = (1927, 2013)


@case(needs="sluice")
def a_killed_idle_backend_is_not_noticed(t):
    t.front(pool_max=2)
    c = t.client(db="app")
    for _ in range(5):
        assert c.value("SELECT 1") == "1"
        t.db.kill_all()
        assert c.value("SELECT 2") == "2"
        c.query("UPDATE counters SET n = n + 1 WHERE id = 1")
    assert c.value("SELECT n FROM counters WHERE id = 1") == "5", "each write ran once"


@case(needs="sluice")
def php_with_idle_connections_notices_no_killed_backends(t):
    f = t.front()
    p = t.php_start("idle.php", front=f, GO=t.dir / "go")
    t.until("PHP to have connected", lambda: "connected" in p.log())
    t.db.kill_all()
    (t.dir / "go").write_text("")
    assert p.wait(20) == 0, p.log()
    assert p.log().strip().endswith('{"rows":10}') and "Warning" not in p.log(), p.log()


@case(needs="sluice")
def a_restarted_server_is_not_noticed_by_idle_clients(t):
    t.front(pool_max=2, connect_timeout="20s", queue_timeout="20s")
    c = t.client(db="app")
    c.query("SET NAMES latin1")
    t.db.restart()
    assert c.query("SELECT @@character_set_client, DATABASE()").rows == [[b"latin1", b"app"]]


@case(needs="sluice")
def a_backend_lost_in_a_transaction_gives_one_clean_error(t):
    t.front(pool_max=2)
    c = t.client(db="app")
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 5 WHERE id = 1")
    t.db.kill_all()
    try:
        c.query("SELECT n FROM counters WHERE id = 1")
    except wire.ServerError as e:
        assert e.errno == 1927 and e.sqlstate == "70100" and e.text.startswith("sluice: ") and e.seq == 1, e
    else:
        raise AssertionError("the transaction's loss was hidden")
    # Whether the client may go on is Sluice's choice; if it may, there is no second error and no half transaction.
    try:
        assert c.value("SELECT n FROM counters WHERE id = 1") == "0"
    except (wire.Gone, OSError):
        pass


@case(needs="sluice", each=["user_variable", "temporary_table", "named_lock"])
def a_lost_pinned_backend_is_never_replaced_silently(t, pin):
    sql = {"user_variable": "SET @v = 1", "temporary_table": "CREATE TEMPORARY TABLE tt (x INT)",
           "named_lock": "SELECT GET_LOCK('lost', 0)"}[pin]
    t.front(pool_max=2)
    c = t.client(db="app")
    c.query(sql)
    t.db.kill_all()
    e = t.fails((1927, 1429), c.query, "SELECT 1")
    assert e.text.startswith("sluice: "), e


@case(needs="sluice")
def a_write_whose_backend_is_lost_is_not_sent_twice(t):
    t.front(pool_max=2)
    c = t.client(db="app")
    writing = t.background(c.query, "INSERT INTO log (who, what) SELECT 'w', SLEEP(20)")
    t.until("the write to run", lambda: any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    t.db.kill_all()
    e = t.fails(1927, writing.result, 10)
    assert e.sqlstate == "70100" and e.seq == 1, e
    t.until("the killed write to be gone", lambda: not any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    # MySQL's SLEEP ends early by a KILL and the row goes in; MariaDB's statement fails. Never two.
    assert int(t.db.admin.value("SELECT COUNT(*) FROM app.log")) <= 1


@case(needs="sluice")
def a_reply_cut_in_the_middle_is_an_end_not_a_wrong_result(t):
    relay = t.relay()
    s = t.sluice(backend=relay.url(query="tls=off"))
    c = wire.Client(s.address, db="app", timeout=20)
    t.defer(c.close)
    rows = []

    def take(row):
        rows.append(len(row))
        if len(rows) == 2:
            relay.cut(reset=True)
    try:
        c.query("WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 200) "
                "SELECT REPEAT('x', 500000) FROM s", sink=take)
    except (wire.ServerError, wire.Gone, OSError):
        pass
    else:
        raise AssertionError(f"a cut result came whole: {len(rows)} rows")
    assert wire.Client(s.address).value("SELECT 1") == "1"


def down_at_login(t, s, within):
    start = time.monotonic()
    e = t.fails(1429, wire.Client, s.address, timeout=within + 10)
    assert e.text.startswith("sluice: ") and e.sqlstate in ("HY000", ""), e
    took = time.monotonic() - start
    assert took < within + 2, f"the answer took {took:.1f} s"
    return e


@case(needs="sluice", on="none")
def a_closed_port_gets_1429_at_login(t):
    s = t.sluice(backend=f"mysql://127.0.0.1:{procs.free_port()}", conf={"mysql": {"connect_timeout": "1s"}})
    down_at_login(t, s, 1)
    assert s.get("/livez")[0] == 200 and s.get("/startupz")[0] == 503
    assert s.get("/readyz")[0] == 200, "one outage of the database must not take every pod out"


@case(needs="sluice", on="none")
def a_backend_that_drops_packets_gets_1429_at_login(t):
    s = t.sluice(backend=t.blackhole().url(), conf={"mysql": {"connect_timeout": "1s"}})
    down_at_login(t, s, 1)


@case(needs="sluice", on="none")
def an_unresolvable_name_gets_1429_at_login(t):
    s = t.sluice(backend="mysql://no-such-host.invalid:3306", conf={"mysql": {"connect_timeout": "1s"}})
    down_at_login(t, s, 1)


@case(needs="sluice", on="none")
def a_backend_that_never_greets_gets_1429_at_login(t):
    gate = threading.Event()
    t.defer(gate.set)
    peer = t.peer(on_accept=lambda link: link.stall_until(gate) or True)
    s = t.sluice(backend=peer.url(), conf={"mysql": {"connect_timeout": "1s"}})
    down_at_login(t, s, 1)


@case(needs="sluice", on="none", each=["garbage", "reset", "close"])
def a_backend_that_greets_with(t, what):
    def accept(link):
        if what == "garbage":
            link.send_raw(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
        if what == "reset":
            link.reset()
        link.sock.close()
        return True
    s = t.sluice(backend=t.peer(on_accept=accept).url(), conf={"mysql": {"connect_timeout": "1s"}})
    down_at_login(t, s, 1)


@case(needs="sluice")
def a_backend_that_comes_late_is_waited_for(t):
    relay = t.relay()
    relay.refuse()
    s = t.sluice(backend=relay.url(), conf={"mysql": {"connect_timeout": "15s"}})
    login = t.background(wire.Client, s.address, db="app")
    t.until("the client to wait", lambda: s.status()["mysql"]["clients"] >= 1)
    assert not login.done()
    relay.accept_again()
    assert login.result(15).value("SELECT 3") == "3"
    t.until("/startupz", lambda: s.get("/startupz")[0] == 200)


@case(needs="sluice")
def a_port_that_closes_later_gets_1429_for_the_next_statement(t):
    relay = t.relay()
    # No warm ones: the relay could take one in the very moment in which it closes its port.
    conf = {"connect_timeout": "1s", "queue_timeout": "2s", "min_idle": 0}
    s = t.sluice(backend=relay.url(), conf={"mysql": conf})
    c = wire.Client(s.address, db="app", timeout=20)
    t.defer(c.close)
    assert c.value("SELECT 1") == "1"
    relay.refuse()
    relay.cut()
    e = t.fails((1429, 1927), c.query, "SELECT 2")
    assert e.text.startswith("sluice: ") and e.seq == 1, e
    relay.accept_again()
    assert t.until("the way back", lambda: answers(c, s), 15)


def answers(c, s):
    try:
        return c.value("SELECT 1") == "1"
    except wire.ServerError:
        return False
    except (wire.Gone, OSError):
        return wire.Client(s.address).value("SELECT 1") == "1"


@case(needs="sluice")
def a_frozen_server_gives_an_error_within_the_backend_timeout(t):
    t.front(pool_max=2, backend_timeout="1s", connect_timeout="1s", queue_timeout="2s", probe_timeout="500ms")
    c = t.client(db="app", timeout=20)
    c.query("SELECT 1")
    t.db.freeze()
    t.defer(t.db.thaw)
    start = time.monotonic()
    e = t.fails((1927, 1429), c.query, "SELECT 2")
    assert e.text.startswith("sluice: ") and time.monotonic() - start < 6, e
    t.db.thaw()
    assert t.until("service again", lambda: answers(c, t.front().sluice), 15)


@case(needs="sluice")
def a_stalled_connection_does_not_hold_up_the_others(t):
    relay = t.relay()
    s = t.sluice(backend=relay.url(), conf={"mysql": {"backend_timeout": "20s"}})
    first = wire.Client(s.address, db="app")
    t.defer(first.close)
    first.query("SELECT 1")
    relay.stall()
    stuck = t.background(first.query, "SELECT 2")
    assert s.get("/livez")[0] == 200
    assert s.status()["mysql"]["clients"] == 1
    relay.flow()
    assert stuck.result(20).value == b"2"


@case(needs="sluice")
def clients_outlive_the_servers_wait_timeout(t):
    t.db.admin.query("SET GLOBAL wait_timeout = 2")
    t.defer(lambda: t.db.admin.query("SET GLOBAL wait_timeout = 28800"))
    t.front(pool_max=3)
    clients = [t.client(db="app") for _ in range(10)]
    for c in clients:
        c.query("SELECT 1")
    # The server's own timer is what this is about: no event tells that it has run.
    time.sleep(5)
    for i, c in enumerate(clients):
        assert c.value(f"SELECT {i}") == str(i)
        c.query("UPDATE counters SET n = n + 1 WHERE id = 1")
    assert clients[0].value("SELECT n FROM counters WHERE id = 1") == "10"


@case(needs="sluice")
def an_idle_backend_lent_after_probe_after_is_probed(t):
    t.front(pool_max=1, min_idle=0, probe_after="100ms", refresh_every="5min", probe_query="SELECT 'probe'")
    c = t.client(db="app")
    c.query("SELECT 1")
    before = t.db.status("Com_select")
    time.sleep(0.2)  # longer than probe_after: that time passes is the case's subject
    assert c.value("SELECT 2") == "2"
    # The status read itself runs no SELECT.
    assert t.db.status("Com_select") - before >= 2


@case(needs="sluice")
def warm_backends_are_refreshed(t):
    t.front(pool_max=2, min_idle=1, refresh_every="200ms")
    t.client(db="app").query("SELECT 1")
    # Reading the status is no SELECT itself.
    before = t.db.status("Com_select")
    t.until("refreshes", lambda: t.db.status("Com_select") - before >= 5)


@case(needs="sluice")
def a_probe_that_fails_costs_the_client_nothing(t):
    relay = t.relay()
    s = t.sluice(backend=relay.url(), conf={"mysql": {"probe_after": "50ms", "probe_timeout": "300ms", "pool_max": 2}})
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SELECT 1")
    time.sleep(0.1)  # longer than probe_after, as above
    relay.cut(reset=True)
    assert c.value("SELECT 2") == "2"


@case(needs="sluice")
def the_servers_own_too_many_connections_queues_while_the_pool_lives(t):
    f = t.front(pool_max=4, queue_timeout="10s", min_idle=0)
    holder = t.client(db="app")
    holder.query("SELECT 1")
    t.db.admin.query("SET GLOBAL max_connections = 10")
    t.defer(lambda: t.db.admin.query("SET GLOBAL max_connections = 500"))
    hogs = []
    while len(hogs) < 12:
        try:
            hogs.append(t.db.connect(user="app2", password="app2pass"))
        except wire.ServerError as e:
            assert e.errno == 1040, e
            break
    others = [t.background(t.client, db="app", front=f) for _ in range(3)]
    assert holder.value("SELECT 'alive'") == "alive"
    for h in hogs:
        h.quit()
    for o in others:
        assert o.result(15).value("SELECT 1") == "1"


@case(needs="sluice")
def a_crashed_server_comes_back(t):
    t.front(connect_timeout="20s", queue_timeout="20s")
    c = t.client(db="app", timeout=60)
    c.query("SELECT 1")
    t.db.stop(signal.SIGKILL)
    again = t.background(c.value, "SELECT 2")
    t.db.start()
    try:
        assert again.result(30) == "2"
    except wire.ServerError as e:
        assert e.text.startswith("sluice: "), e
    assert t.client(db="app").value("SELECT 3") == "3"


@case(needs="sluice")
def a_killed_read_is_not_replayed(t):
    t.front(pool_max=3, min_idle=2)
    c = t.client(db="app")
    reading = t.background(c.query, "SELECT SLEEP(0.9)")
    victim = t.until("the read to run", lambda: [p["id"] for p in t.db.processes("app") if "SLEEP" in (p["info"] or "")])
    t.db.admin.query(f"KILL {victim[0]}")
    e = t.fails((1927, 1317), reading.result, 10)
    assert e.seq == 1, e
    assert not any("SLEEP" in (p["info"] or "") for p in t.db.processes("app"))
    assert t.front().sluice.metric("sluice_retries_total", proto="mysql") == 0


@case(needs="sluice")
def a_backend_cut_inside_a_row_ends_the_client_without_a_word(t):
    relay = t.relay()
    s = t.sluice(backend=relay.url(), conf={"mysql": {"min_idle": 0, "pool_max": 2}})
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SELECT 1")
    c.send_query("SELECT REPEAT('x', 4000000), SLEEP(1)")
    c.read_packet()
    relay.cut()
    try:
        while True:
            payload = c.read_packet()
            assert b"sluice" not in payload[1:], payload[:80]
    except (wire.Gone, OSError):
        pass
