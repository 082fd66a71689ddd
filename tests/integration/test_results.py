# SPDX-License-Identifier: Apache-2.0
"""Results of every shape: several of them, large ones, files; and the edges of packet sizes."""
import hashlib

from harness import wire
from harness.cases import Skip, case
from harness.servers import MAX_PACKET
from harness.sluice import sanitized

M = 1 << 20
EDGES = [2**24 - 2, 2**24 - 1, 2**24, 2**25 + 3]
# A statement's text around its one large literal.
HEAD, TAIL = b"SELECT LENGTH('", b"')"


@case()
def several_statements_give_several_results(t):
    c = t.client(db="app")
    sets = c.queries("SELECT 1; SELECT 2, 3; UPDATE counters SET n = 1 WHERE id = 1; SELECT 'end'")
    assert [s.rows for s in sets] == [[[b"1"]], [[b"2", b"3"]], [], [[b"end"]]]
    assert sets[2].affected == 1
    assert c.value("SELECT 4") == "4"


@case()
def an_error_in_the_middle_ends_the_results(t):
    c = t.client(db="app")
    c.send_query("SELECT 1; SELECT * FROM no_such_table; SELECT 3")
    first = c.read_result()
    assert first.status & wire.MORE_RESULTS
    t.fails(1146, c.read_result)
    assert c.value("SELECT 4") == "4"


@case()
def state_set_in_several_statements_holds(t):
    c = t.client(db="app")
    c.queries("SET time_zone = '+09:00'; BEGIN; UPDATE counters SET n = 1 WHERE id = 1; SET @v = 8")
    t.neighbour(2, db="app")
    assert c.query("SELECT @@time_zone, @v, n FROM counters WHERE id = 1").rows == [[b"+09:00", b"8", b"1"]]
    c.query("ROLLBACK")
    assert c.value("SELECT n FROM counters WHERE id = 1") == "0"


@case()
def several_statements_are_an_option(t):
    c = t.client(db="app", caps=wire.PHP_CAPS & ~wire.MULTI_STATEMENTS)
    t.fails(1064, c.query, "SELECT 1; SELECT 2")
    c.set_option(0)
    for _ in range(2):
        assert len(c.queries("SELECT 1; SELECT 2")) == 2
        t.neighbour(db="app")
    c.set_option(1)
    t.fails(1064, c.query, "SELECT 1; SELECT 2")


@case()
def a_call_gives_its_results_and_an_ok(t):
    c = t.client(db="app")
    sets = c.queries("CALL two_sets()")
    assert [s.rows for s in sets] == [[[b"1"]], [[b"2", b"3"]], []]
    assert c.value("SELECT 5") == "5"


@case(each=["plain", "deprecate-eof"])
def rows_of_every_kind_arrive(t, flag):
    caps = wire.PHP_CAPS | (wire.DEPRECATE_EOF if flag == "deprecate-eof" else 0)
    c = t.client(db="app", caps=caps)
    r = c.query("SELECT NULL, '', 'x', REPEAT('y', 250), REPEAT('z', 251), REPEAT('w', 70000), 1.5 UNION ALL "
                "SELECT 1, 2, 3, 4, 5, 6, 7")
    assert [None if v is None else len(v) for v in r.rows[0]] == [None, 0, 1, 250, 251, 70000, 3]
    assert len(r.rows) == 2
    assert c.query("SELECT 1 FROM place WHERE 1 = 0").rows == []
    wide = ", ".join(f"{i} AS c{i}" for i in range(300))
    assert len(c.query(f"SELECT {wide}").rows[0]) == 300


def infile(data):
    return lambda name: data


@case(each=["LOAD DATA LOCAL INFILE '{}' INTO TABLE log (what)", "load  data /* x */ concurrent local infile '{}' "
            "INTO TABLE log (what)", "/* first */ LOAD DATA LOCAL INFILE '{}' INTO TABLE log (what)"])
def load_data_local_takes_the_clients_file(t, sql):
    trap = t.dir / "on-the-proxys-disk"
    trap.write_text("stolen\n")
    c = t.client(db="app", caps=wire.PHP_CAPS | wire.LOCAL_FILES, infile=infile(b"one\ntwo\nthree\n"))
    assert c.query(sql.format(trap)).affected == 3
    t.neighbour(db="app")
    assert t.db.admin.value("SELECT GROUP_CONCAT(what ORDER BY id) FROM app.log WHERE who IS NULL") == "one,two,three"


@case()
def load_data_local_of_a_large_file(t):
    line = b"x" * 99 + b"\n"
    c = t.client(db="app", caps=wire.PHP_CAPS | wire.LOCAL_FILES, infile=infile(line * 50000))
    assert c.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE log (what)").affected == 50000


@case()
def load_data_local_without_the_flag_is_refused_and_harmless(t):
    c = t.client(db="app")
    t.fails((1148, 3948, 4166, 2000), c.query, "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE log (what)")
    assert c.value("SELECT COUNT(*) FROM log") == "0"


@case(needs="sluice")
def a_client_that_leaves_in_the_middle_of_its_file_harms_nobody(t):
    t.front(pool_max=1)
    c = t.client(db="app", caps=wire.PHP_CAPS | wire.LOCAL_FILES)
    c.send_query("LOAD DATA LOCAL INFILE 'f' INTO TABLE log (what)")
    assert c.read_packet()[0] == 0xFB
    c.send_packet(b"half a file\n" * 1000)
    c.abort()
    assert t.client(db="app").value("SELECT 6") == "6"


@case()
def php_loads_its_own_file(t):
    path = t.dir / "rows.txt"
    path.write_text("from php 1\nfrom php 2\n")
    assert t.php("load_local.php", FILE=path) == {"rows": 2, "what": "from php 1"}


@case(each=EDGES)
def a_query_of_size(t, size):
    # size is the payload's: the command byte and the text.
    n = size - 1 - len(HEAD) - len(TAIL)
    c = t.client(db="app")
    for _ in range(2):
        assert c.value(HEAD + b"q" * n + TAIL) == str(n)
    assert c.value("SELECT 1") == "1"


def text_size(room):
    """How long a text fills `room` bytes together with the length in front of it, which takes 4 bytes or 9."""
    return room - 4 if room - 4 < 1 << 24 else room - 9


@case(each=EDGES)
def a_row_of_size(t, size):
    n = text_size(size)
    c = t.client(db="app", timeout=60)
    for _ in range(2):
        sizes = []
        c.query(f"SELECT REPEAT('r', {n})", sink=lambda p: sizes.append((len(p), p[-1:])))
        assert sizes == [(size, b"r")], sizes
    assert c.value("SELECT 1") == "1"


@case(each=EDGES)
def a_parameter_of_size(t, size):
    c = t.client(db="app", timeout=60)
    st = c.prepare("SELECT SHA2(?, 256), LENGTH(?)")
    # Beside the text: command 1, id 4, flags 1, count 4, nulls 1, bound 1, types 4, the small parameter 2.
    n = text_size(size - 18)
    data = (bytes(range(256)) * (n // 256 + 1))[:n]
    row = c.execute(st, [data, "x"]).rows[0]
    assert row[0].decode() == hashlib.sha256(data).hexdigest() and row[1] == 1
    assert c.value("SELECT 1") == "1"


@case(each=EDGES)
def long_data_of_size(t, size):
    c = t.client(db="app", timeout=60)
    st = c.prepare("SELECT LENGTH(?)")
    c.long_data(st, 0, b"L" * (size - 7))
    assert c.execute(st, [...]).rows[0][0] == size - 7


@case(each=[16384, 16385, 16386])
def sizes_around_a_tls_record(t, size):
    c = t.client(db="app", tls=True)
    n = size - 1 - len(HEAD) - len(TAIL)
    assert c.value(HEAD + b"q" * n + TAIL) == str(n)
    assert len(c.value(f"SELECT REPEAT('r', {size})")) == size


def calm(s):
    if s and sanitized():
        raise Skip("a sanitizer's build: its memory says nothing")


@case()
def a_parameter_of_64_mb_streams(t):
    f = t.front(backend_timeout="60s")
    calm(f.sluice)
    t.client(db="app").query("SELECT 1")
    before = f.sluice.rss() if f.sluice else 0
    peak = 0
    c = t.client(db="app", timeout=120)
    st = c.prepare("SELECT LENGTH(?)")
    data = b"P" * (64 * M)
    sending = t.background(c.execute, st, [data])
    while not sending.done():
        peak = max(peak, f.sluice.rss() if f.sluice else 0)
    assert sending.result().rows[0][0] == len(data)
    assert peak - before < 2 * M, f"memory grew by {(peak - before) >> 10} KiB"


@case(each=["fast", "slow"])
def a_result_of_200_mb_streams(t, reader):
    f = t.front(backend_timeout="60s")
    calm(f.sluice)
    t.client(db="app").query("SELECT 1")
    before = f.sluice.rss() if f.sluice else 0
    c = t.client(db="app", timeout=120)
    seen = {"rows": 0, "bytes": 0, "peak": 0}

    def take(row):
        seen["rows"] += 1
        seen["bytes"] += len(row)
        if f.sluice and (reader == "slow" or seen["rows"] % 10 == 0):
            seen["peak"] = max(seen["peak"], f.sluice.rss())
    c.query("WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 200) "
            f"SELECT REPEAT('x', {M}) FROM s", sink=take)
    assert seen["rows"] == 200 and seen["bytes"] >= 200 * M
    assert seen["peak"] - before < 2 * M, f"memory grew by {(seen['peak'] - before) >> 10} KiB"


@case(needs="sluice")
def a_client_that_does_not_read_stops_the_flow(t):
    f = t.front()
    calm(f.sluice)
    t.client(db="app").query("SELECT 1")
    before = f.sluice.rss()
    c = t.client(db="app", timeout=60)
    c.send_query("WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 100) "
                 f"SELECT REPEAT('x', {M}) FROM s")
    t.until("the server to wait for its reader", lambda: any(
        p["command"] == "Query" and "REPEAT" in (p["info"] or "") for p in t.db.processes("app")))
    t.until("the bytes on the way to come to rest", at_rest(lambda: f.sluice.metric("sluice_bytes_total")))
    assert f.sluice.rss() - before < 2 * M
    assert t.client(db="app").value("SELECT 1") == "1", "others are served meanwhile"
    sizes = []
    c.read_results(sink=lambda p: sizes.append(len(p)))
    assert len(sizes) == 100


def at_rest(measure, looks=20):
    """A probe for until(): true when measure() has been the same for `looks` calls."""
    seen = []

    def probe():
        seen.append(measure())
        return len(seen) > looks and len(set(seen[-looks:])) == 1
    return probe


@case()
def what_the_server_would_refuse_as_too_large_gets_1153(t):
    limit = 4 * M
    t.db.admin.query(f"SET GLOBAL max_allowed_packet = {limit}")
    t.defer(lambda: t.db.admin.query(f"SET GLOBAL max_allowed_packet = {MAX_PACKET}"))
    f = t.front(pool_max=1)
    c = t.client(db="app")
    assert c.value(HEAD + b"q" * (limit - 100) + TAIL) == str(limit - 100)
    text = HEAD + b"q" * (limit - len(HEAD) - len(TAIL)) + TAIL
    try:
        c.query(text)
    except wire.ServerError as e:
        assert e.errno == 1153 and e.sqlstate == "08S01", e
    except (OSError, wire.Gone):
        assert t.direct, "a server may just close; Sluice answers"
    else:
        raise AssertionError("one byte more than max_allowed_packet was taken")
    if f.sluice:
        before = t.db.status("Connections")
        assert t.client(db="app", front=f).value("SELECT 1") == "1"
        assert t.db.status("Connections") == before, "the backend was lost"
