# SPDX-License-Identifier: Apache-2.0
"""Each command of the protocol, raw, and bytes that are none."""
import struct

from harness import wire
from harness.cases import case


@case()
def ping_is_answered(t):
    r = t.client().ping()
    assert r.status & wire.AUTOCOMMIT and not r.in_transaction


@case()
def statistics_are_text(t):
    text = t.client().statistics()
    assert "Uptime" in text and "Threads" in text, text


@case()
def init_db_and_its_errors(t):
    c = t.client()
    c.use("app")
    assert c.value("SELECT DATABASE()") == "app"
    t.fails((1049, 1044), c.use, "no_such_schema")
    assert c.value("SELECT DATABASE()") == "app"


@case()
def reset_connection_is_answered(t):
    c = t.client(db="app")
    assert c.reset().status & wire.AUTOCOMMIT
    assert c.value("SELECT DATABASE()") == "app", "the schema stays"


@case()
def set_option_is_answered_and_an_unknown_one_refused(t):
    c = t.client()
    c.set_option(0)
    c.set_option(1)
    t.fails((1047, 1064), c.set_option, 9)
    assert c.value("SELECT 1") == "1"


@case(on="mariadb")
def field_list_gives_the_columns(t):
    c = t.client(db="app")
    c.send_command(wire.FIELD_LIST, b"place\0%")
    names = []
    while True:
        payload = c.read_reply()
        if c._is_end(payload):
            break
        names.append(wire.Column(payload).name)
    assert names == ["name"]
    assert c.value("SELECT 1") == "1"


@case(needs="sluice")
def field_list_is_answered_on_every_server(t):
    c = t.client(db="app")
    c.send_command(wire.FIELD_LIST, b"place\0%")
    try:
        while not c._is_end(c.read_reply()):
            pass
    except wire.ServerError:
        pass  # MySQL 9 may have dropped it; what counts is that the connection is still in step
    assert c.value("SELECT 1") == "1"


@case(on="mariadb")
def process_kill_by_the_clients_id_works(t):
    a, b = t.client(db="app"), t.client(db="app")
    victim = a.greeting.connection_id
    waiting = t.background(a.query, "SELECT SLEEP(20)")
    t.until("the query to run", lambda: any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    b.command(wire.PROCESS_KILL, struct.pack("<I", victim))
    try:
        waiting.result(10)
    except (wire.ServerError, wire.Gone, OSError):
        pass
    t.until("the query to be gone", lambda: not any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))


@case()
def connection_id_is_the_greetings(t):
    # Rule 11: the ids that clients see are Sluice's; applications log this one, and KILL by it.
    c = t.client(db="app")
    for _ in range(2):
        assert int(c.value("SELECT CONNECTION_ID()")) == c.greeting.connection_id
        t.neighbour()


@case()
def the_process_list_shows_the_clients_own_id(t):
    c = t.client(db="app")
    for sql in ("SHOW PROCESSLIST", "SHOW FULL PROCESSLIST", "show /* mine */ processlist;"):
        mine = [r for r in c.query(sql).rows if (r[7] or b"").lower().startswith(b"show")]
        assert [int(r[0]) for r in mine] == [c.greeting.connection_id], mine
    s = c.prepare("SHOW FULL PROCESSLIST")
    for _ in range(2):
        rows = c.execute(s).rows
        assert c.greeting.connection_id in [r[0] for r in rows], rows
        t.neighbour()


@case(each=["KILL QUERY {}", "KILL {}"])
def kill_by_the_clients_id_works(t, sql):
    a, b = t.client(db="app"), t.client(db="app")
    victim = a.greeting.connection_id
    assert t.direct or victim & 0x80000000, hex(victim)
    waiting = t.background(a.query, "SELECT SLEEP(20)")
    t.until("the query to run", lambda: any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    b.query(sql.format(victim))
    try:
        waiting.result(10)
    except (wire.ServerError, wire.Gone, OSError):
        pass
    t.until("the query to be gone", lambda: not any("SLEEP" in (p["info"] or "") for p in t.db.processes("app")))
    if sql.startswith("KILL QUERY"):
        assert a.value("SELECT 1") == "1"
    assert b.value("SELECT 1") == "1"


@case()
def killing_an_unknown_id_gets_the_servers_1094(t):
    t.fails(1094, t.client().query, "KILL 999999")


@case()
def killing_another_users_query_needs_the_right(t):
    a, b = t.client(db="app"), t.client(user="app2", password="app2pass")
    a.query("SET @pinned = 1")
    try:
        b.query(f"KILL {a.greeting.connection_id}")
    except wire.ServerError as e:
        assert e.errno in (1094, 1095), e
    else:
        raise AssertionError("one user killed another's connection")
    assert a.value("SELECT 1") == "1"


@case(each=[0xFF, 0x7F, 0x55])
def an_unknown_command_gets_1047(t, number):
    c = t.client()
    t.fails((1047, 1835), c.command, number)


@case()
def debug_is_refused_or_answered_but_never_hangs(t):
    c = t.client(timeout=5)
    c.send_command(wire.DEBUG)
    try:
        c.read_reply()
    except wire.ServerError as e:
        assert e.errno in (1227, 1047, 1235), e
    assert c.value("SELECT 1") == "1"


INTERNAL = {"binlog dump": 18, "table dump": 19, "register replica": 21, "daemon": 29}


@case(each=sorted(INTERNAL))
def replication_and_internal_commands_are_refused(t, command):
    c = t.client(timeout=5)
    try:
        c.command(INTERNAL[command], b"\0" * 20)
        raise AssertionError(f"{command} was answered with success")
    except wire.ServerError:
        pass
    except wire.Gone:
        assert t.direct, "Sluice answers before it closes"


@case()
def an_empty_query_gets_the_servers_error(t):
    c = t.client()
    t.fails(1065, c.query, "")
    t.fails((1065, 1064), c.query, "  ")
    assert c.value("SELECT 1") == "1"


@case()
def commands_may_come_byte_by_byte(t):
    c = t.client(db="app", cut=1)
    assert c.value("SELECT 'slow'") == "slow"
    st = c.prepare("SELECT ? AS v")
    assert c.execute(st, ["s"]).rows == [[b"s"]]


@case()
def commands_sent_without_waiting_are_answered_in_order(t):
    c = t.client(db="app")
    batch = b""
    for i in range(50):
        c.seq = 0
        batch += c.frame(bytes([wire.QUERY]) + f"SELECT {i}".encode())
    c.send_bytes(batch)
    for i in range(50):
        c.seq = 1
        assert c.read_result().value == str(i).encode()


@case()
def quit_closes_without_a_reply(t):
    c = t.client()
    c.send_command(wire.QUIT)
    try:
        c.read_packet()
    except (wire.Gone, ConnectionResetError):
        return
    raise AssertionError("QUIT was answered")


GARBAGE = {
    "an HTTP request": b"GET / HTTP/1.1\r\n\r\n",
    "zeros": b"\0" * 100,
    "ones": b"\xff" * 100,
    "a packet too short": b"\1\0\0\1\5",
    "flags only": b"\x05\0\0\1\x0d\xa6\x03\0\0",
}


@case(needs="sluice", each=sorted(GARBAGE))
def garbage_instead_of_a_login_harms_nobody(t, what):
    f = t.front()
    c = wire.Client(f.address, login=False)
    c.greet()
    c.sock.sendall(GARBAGE[what])
    c.sock.shutdown(1)
    try:
        while c.read_packet(any_seq=True):
            pass
    except (wire.Gone, OSError):
        pass
    c.close()
    assert t.client(db="app").value("SELECT 1") == "1"
    assert f.sluice.process.running()


@case(needs="sluice")
def a_sequence_id_out_of_order_is_an_error_not_a_hang(t):
    c = t.client(timeout=5)
    c.seq = 7
    c.send_packet(bytes([wire.QUERY]) + b"SELECT 1")
    try:
        c.read_packet(any_seq=True)
    except (wire.Gone, ConnectionResetError):
        pass
    assert t.client().value("SELECT 1") == "1"


@case(needs="sluice")
def the_end_of_request_mark_gets_no_reply_and_ends_pins(t):
    f = t.front()
    c = t.client(db="app")
    c.query("SET @x = 1")
    c.query("SELECT GET_LOCK('mark', 0)")
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 1 WHERE id = 1")
    c.end_of_request()
    assert c.silent()
    t.until("the pins to end", lambda: not f.sluice.pinned())
    t.until("the lock to be free", lambda: t.db.admin.value("SELECT IS_FREE_LOCK('mark')") == "1")
    assert c.value("SELECT n FROM counters WHERE id = 1") == "0"
    assert f.sluice.metric("sluice_request_ends_total", proto="mysql") == 1
    assert f.sluice.metric("sluice_rolled_back_total") == 1
