# SPDX-License-Identifier: Apache-2.0
"""Limits: exact, fair, and told in words."""
import time

from harness import wire
from harness.cases import case
from harness.sluice import sanitized


def hold(t, front, n, sql="SELECT n FROM counters", **kw):
    """n clients in a transaction each."""
    out = []
    for _ in range(n):
        c = t.client(db="app", front=front, **kw)
        c.query("BEGIN")
        c.query(sql)
        out.append(c)
    return out


@case(needs="sluice")
def a_full_queue_gets_1040_that_lists_the_holders(t):
    f = t.front(pool_max=2, queue_timeout="500ms", max_pinned="100 %")
    hold(t, f, 2)
    c = t.client(db="app", front=f)
    start = time.monotonic()
    e = t.fails(1040, c.query, "SELECT 1")
    took = time.monotonic() - start
    assert e.sqlstate == "08004" and e.text.startswith("sluice: ") and e.seq == 1, e
    assert "2 of 2" in e.text and "transaction" in e.text and "0x8" in e.text.lower(), e.text
    assert 0.4 < took < 3, took


@case(needs="sluice")
def waiters_are_served_in_order(t):
    f = t.front(pool_max=1, queue_timeout="20s", max_pinned="100 %")
    holder, = hold(t, f, 1)
    waiting = []
    for i in range(5):
        c = t.client(db="app", front=f)
        waiting.append(t.background(c.query, f"INSERT INTO log (who) VALUES ('w{i}')"))
        t.until("one more to wait", lambda n=i + 1: f.sluice.status()["mysql"]["waiting"] == n)
    holder.query("COMMIT")
    for w in waiting:
        w.result(10)
    assert t.db.admin.value("SELECT GROUP_CONCAT(who ORDER BY id) FROM app.log") == "w0,w1,w2,w3,w4"


@case(needs="sluice")
def pool_max_is_exact_per_user(t):
    f = t.front(pool_max=3, queue_timeout="20s", reserved=1)
    most = {"app": 0, "app2": 0}
    clients = [t.client(db="app", user=u, password=u + "pass", front=f) for u in most for _ in range(12)]
    work = [t.background(c.query, "SELECT SLEEP(0.1)") for c in clients]
    while not all(w.done() for w in work):
        for u in most:
            most[u] = max(most[u], len(t.db.processes(u)))
    for w in work:
        w.result()
    assert 2 <= most["app"] <= 3 + 1 and 2 <= most["app2"] <= 3 + 1, most


@case(needs="sluice")
def pool_total_is_exact_and_idle_backends_of_others_are_evicted(t):
    f = t.front(pool_max=4, pool_total=4, min_idle=0, reserved=1, queue_timeout="10s")
    most = 0
    for user in ("app", "app2", "app"):
        clients = [t.client(db="app", user=user, password=user + "pass", front=f) for _ in range(8)]
        work = [t.background(c.query, "SELECT SLEEP(0.1)") for c in clients]
        while not all(w.done() for w in work):
            most = max(most, len(t.db.processes("app")) + len(t.db.processes("app2")))
        for w in work:
            w.result()
    assert 2 <= most <= 4 + 1, most


@case(needs="sluice")
def pins_cannot_starve_everyone(t):
    f = t.front(pool_max=4, max_pinned="75 %", queue_timeout="500ms")
    pinned = 0
    for i in range(4):
        c = t.client(db="app", front=f)
        try:
            c.query(f"SELECT GET_LOCK('starve{i}', 0)")
            pinned += 1
        except wire.ServerError as e:
            assert e.errno == 1040 and e.text.startswith("sluice: "), e
    assert pinned == 3, pinned
    assert t.client(db="app", front=f).value("SELECT 'served'") == "served"


@case(needs="sluice")
def too_many_clients_get_1040(t):
    f = t.front(client_max=5)
    held = [t.client(front=f) for _ in range(5)]
    e = t.fails(1040, t.client, front=f)
    assert e.text.startswith("sluice: "), e
    held[0].quit()
    t.until("room for one more", lambda: comes_in(t, f))


def comes_in(t, front):
    try:
        t.client(front=front).quit()
        return True
    except wire.ServerError as e:
        assert e.errno == 1040, e
        return False


@case(needs="sluice", each=["silent", "half"])
def a_login_that_does_not_end_is_ended(t, how):
    f = t.front(login_timeout="500ms")
    c = wire.Client(f.address, login=False, timeout=10)
    t.defer(c.close)
    c.greet()
    if how == "half":
        c.sock.sendall(b"\x50\0\0\1\x0d\xa6")
    start = time.monotonic()
    try:
        while True:
            c.read_packet(any_seq=True)
    except (wire.Gone, ConnectionResetError):
        pass
    assert time.monotonic() - start < 4


@case(needs="sluice")
def idle_clients_are_closed_only_when_asked_for(t):
    f = t.front(client_idle_timeout="500ms")
    c = t.client(db="app", front=f, timeout=10)
    c.query("SELECT 1")
    try:
        while True:
            # Rule 12: no unsolicited packet is ever sent to an idle client; it is just closed.
            raise AssertionError(f"an idle client was sent {c.read_packet(any_seq=True)!r}")
    except (wire.Gone, ConnectionResetError):
        pass


@case(needs="sluice")
def one_slow_client_costs_the_others_nothing(t):
    f = t.front(pool_max=1, min_idle=1)
    slow = t.client(db="app", front=f)
    slow.seq = 0
    text = slow.frame(bytes([wire.QUERY]) + b"SELECT 'slow'")
    quick = t.client(db="app", front=f)
    for i in range(len(text)):
        slow.sock.sendall(text[i:i + 1])
        assert quick.value(f"SELECT {i}") == str(i)
    assert slow.read_results()[0].value == b"slow"


@case(needs="sluice")
def a_slow_reader_holds_a_backend_but_not_the_loop(t):
    f = t.front(pool_max=2)
    slow = t.client(db="app", front=f)
    slow.send_query("WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 40) "
                    "SELECT REPEAT('x', 1000000) FROM s")
    quick = t.client(db="app", front=f)
    for i in range(20):
        assert quick.value(f"SELECT {i}") == str(i)
    slow.abort()


@case(needs="sluice")
def guesses_are_limited_before_the_server_blocks_us(t):
    f = t.front()
    t.client(front=f).quit()
    codes = []
    for i in range(60):
        try:
            t.client(front=f, password=f"guess{i}")
        except wire.ServerError as e:
            codes.append(e.errno)
    assert set(codes) <= {1045, 1203} and len(codes) == 60, codes
    assert 1203 in codes, "no guess was refused by the rate limit"


@case(needs="sluice")
def min_idle_keeps_backends_warm(t):
    # No more than these can be opened: while one is lent, it is not one of the warm ones.
    f = t.front(pool_max=3, min_idle=3)
    t.client(db="app", front=f).query("SELECT 1")
    t.until("three warm backends", lambda: len(t.db.processes("app")) == 3)
    before = t.db.status("Connections")
    for _ in range(20):
        c = t.client(db="app", front=f)
        c.query("SELECT 1")
        c.quit()
    assert t.db.status("Connections") == before, "clients came and went over the warm ones"


@case(needs="sluice")
def min_idle_of_the_urls_user_is_there_before_any_client(t):
    s = t.sluice(backend=t.db.url(user="app", password="apppass"), conf={"mysql": {"min_idle": 2}})
    t.until("two warm backends", lambda: len(t.db.processes("app")) == 2)
    assert s.get("/startupz")[0] == 200


@case(needs="sluice")
def idle_backends_shrink(t):
    f = t.front(pool_max=6, min_idle=1, idle_timeout="300ms")
    work = [t.background(t.client(db="app", front=f).query, "SELECT SLEEP(0.2)") for _ in range(6)]
    for w in work:
        w.result()
    t.until("one to be left", lambda: len(t.db.processes("app")) <= 1)


@case(needs="sluice")
def old_backends_are_replaced(t):
    f = t.front(pool_max=1, min_idle=1, max_age="300ms")
    c = t.client(db="app", front=f)
    c.query("SELECT 1")

    def ids():
        return {p["id"] for p in t.db.processes("app")}
    first = t.until("a backend", ids)
    t.until("another backend", lambda: ids() and not ids() & first)
    assert c.value("SELECT 1") == "1"


@case(needs="sluice")
def thousands_of_idle_clients_are_cheap(t):
    f = t.front()
    t.client(front=f)
    before = f.sluice.rss()
    clients = [t.client(front=f) for _ in range(400)]
    assert all(c.ping() for c in clients[::40])
    assert f.sluice.status()["mysql"]["clients"] == 401
    grown = (f.sluice.rss() - before) / 400
    assert sanitized() or grown < 64 << 10, f"{grown / 1024:.0f} KiB a client"
