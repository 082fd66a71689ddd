# SPDX-License-Identifier: Apache-2.0
"""Prepared statements: the client's ids, types and long data, whatever backend executes them."""
from harness import wire
from harness.cases import Skip, case
from harness.sluice import sanitized

TEXTS, WORKERS, STATEMENT_CACHE = 100000, 2, 64

def orders(t, n=20):
    t.db.admin.query("INSERT INTO app.orders (order_no, status, n) VALUES " +
                     ",".join(f"('NO{i:08}', 'new', {i})" for i in range(n)))


@case()
def a_statement_serves_many_executions_over_changing_backends(t):
    orders(t)
    t.front(pool_max=3)
    c = t.client(db="app")
    st = c.prepare("SELECT order_no, n FROM orders WHERE n = ?")
    assert [x.name for x in st.columns] == ["order_no", "n"] and len(st.params) == 1
    for i in range(12):
        t.neighbour(db="app")
        assert c.execute(st, [i]).rows == [[f"NO{i:08}".encode(), i]]


@case()
def two_clients_with_one_text_do_not_mix(t):
    a, b = t.client(db="app"), t.client(db="app")
    sa, sb = a.prepare("SELECT ? AS v, DATABASE() AS d"), b.prepare("SELECT ? AS v, DATABASE() AS d")
    for i in range(10):
        assert a.execute(sa, [f"a{i}"]).rows[0][0] == f"a{i}".encode()
        assert b.execute(sb, [i]).rows[0][0] in (i, str(i).encode())


@case()
def the_same_text_in_another_schema_is_another_statement(t):
    clients = [(db, t.client(db=db)) for db in ("app", "app2", "shop")]
    held = [(db, c, c.prepare("SELECT name FROM place")) for db, c in clients]
    for _ in range(3):
        for db, c, st in held:
            assert c.execute(st).rows == [[db.encode()]]


@case()
def a_statement_keeps_the_schema_it_was_prepared_in(t):
    c = t.client(db="app")
    st = c.prepare("SELECT name FROM place")
    c.use("app2")
    t.neighbour(db="shop")
    assert c.execute(st).rows == [[b"app"]]
    assert c.execute(c.prepare("SELECT name FROM place")).rows == [[b"app2"]]


@case()
def a_statement_keeps_the_sql_mode_it_was_prepared_under(t):
    c = t.client(db="app")
    st = c.prepare('SELECT "name" FROM place')
    c.query("SET SESSION sql_mode = 'ANSI_QUOTES'")
    ansi = c.prepare('SELECT "name" FROM place')
    for _ in range(3):
        t.neighbour(db="app")
        assert c.execute(st).rows == [[b"name"]]
        assert c.execute(ansi).rows == [[b"app"]]


@case()
def types_sent_once_are_remembered(t):
    # As mysqli does: types only with the first execution.
    c = t.client(db="app")
    st = c.prepare("SELECT ? + 0 AS v")
    assert float(c.execute(st, [41]).rows[0][0]) == 41
    for i in range(6):
        t.neighbour(2, db="app")
        assert float(c.execute(st, [i], types=False).rows[0][0]) == i


@case()
def another_clients_types_do_not_stick(t):
    t.front(pool_max=1)
    a, b = t.client(db="app"), t.client(db="app")
    sa, sb = a.prepare("SELECT CONCAT('', ?) AS v"), b.prepare("SELECT CONCAT('', ?) AS v")
    a.execute(sa, [1])
    b.execute(sb, ["text"])
    for i in range(4):
        assert a.execute(sa, [i], types=False).rows == [[str(i).encode()]]
        assert b.execute(sb, [f"t{i}"], types=False).rows == [[f"t{i}".encode()]]


@case()
def nulls_and_all_simple_types_arrive(t):
    c = t.client(db="app")
    st = c.prepare("SELECT ? IS NULL, ?, ?, ?, LENGTH(?)")
    row = c.execute(st, [None, -5, 1.5, "h\u00e9", b"\0\1\2"]).rows[0]
    assert row[0] == 1 and int(row[1]) == -5 and float(row[2]) == 1.5 and row[3] == "h\u00e9".encode() and row[4] == 3


@case()
def long_data_is_put_together(t):
    c = t.client(db="app")
    st = c.prepare("INSERT INTO blobs (id, data) VALUES (?, ?)")
    for piece in (b"abc", b"", b"d" * 70000, b"end"):
        c.long_data(st, 1, piece)
        t.neighbour(db="app")
    c.execute(st, [1, ...])
    assert c.value("SELECT CONCAT(LENGTH(data), LEFT(data, 4), RIGHT(data, 4)) FROM blobs") == "70006abcddend"
    # An execution clears it.
    c.long_data(st, 1, b"second")
    c.execute(st, [2, ...])
    assert c.value("SELECT data FROM blobs WHERE id = 2") == "second"


@case()
def a_statement_reset_clears_long_data(t):
    c = t.client(db="app")
    st = c.prepare("INSERT INTO blobs (id, data) VALUES (?, ?)")
    c.long_data(st, 1, b"forgotten")
    c.reset_statement(st)
    c.execute(st, [1, "kept"])
    assert c.value("SELECT data FROM blobs WHERE id = 1") == "kept"


@case()
def a_cursor_is_read_piece_by_piece(t):
    orders(t, 10)
    t.front(pool_max=4)
    c = t.client(db="app")
    st = c.prepare("SELECT n FROM orders WHERE n >= ? ORDER BY n")
    r = c.execute(st, [2], cursor=True)
    assert r.status & wire.CURSOR_EXISTS, hex(r.status)
    got = []
    while True:
        piece = c.fetch(st, r, 3)
        got += [row[0] for row in piece.rows]
        t.neighbour(db="app")
        if piece.status & wire.LAST_ROW_SENT:
            break
    assert got == list(range(2, 10))
    assert c.value("SELECT 1") == "1"


@case()
def limits_by_parameter_give_that_many_rows(t):
    orders(t)
    c = t.client(db="app")
    st = c.prepare("SELECT n FROM orders ORDER BY n LIMIT ?")
    for n in range(1, 21):
        assert len(c.execute(st, [n]).rows) == n


@case()
def a_call_with_parameters_ends_whole(t):
    c = t.client(db="app", caps=wire.PHP_CAPS | wire.PS_MULTI_RESULTS)
    st = c.prepare("CALL echo(?)")
    for i in range(3):
        sets = c.executes(st, [i])
        rows = [r.rows for r in sets if r.columns]
        assert [[int(v) for v in r[0]] for r in rows] == [[i], [i + 1]], rows
        assert c.value("SELECT 4") == "4"


@case()
def a_changed_table_shows_its_new_columns(t):
    a, b = t.client(db="app"), t.client(db="app")
    b.query("CREATE TABLE shape (x INT)")
    t.defer(t.db.admin.query, "DROP TABLE IF EXISTS app.shape")
    b.query("INSERT INTO shape VALUES (1)")
    st = a.prepare("SELECT * FROM shape")
    assert a.execute(st).rows == [[1]]
    b.query("ALTER TABLE shape ADD COLUMN y INT DEFAULT 2")
    for _ in range(2):
        r = a.execute(st)
        assert r.rows == [[1, 2]] and [c.name for c in r.columns] == ["x", "y"]
    c = t.client(db="app")
    fresh = c.prepare("SELECT * FROM shape")
    assert c.execute(fresh).rows == [[1, 2]]
    b.query("DROP TABLE shape")
    t.fails(1146, a.execute, st)


@case()
def temporary_tables_of_one_name_do_not_mix_in_statements(t):
    a, b = t.client(db="app"), t.client(db="app")
    a.query("CREATE TEMPORARY TABLE tt SELECT 1 AS x")
    b.query("CREATE TEMPORARY TABLE tt SELECT 'b' AS y, 2 AS z")
    for _ in range(2):
        assert [c.name for c in a.execute(a.prepare("SELECT * FROM tt")).columns] == ["x"]
        assert [c.name for c in b.execute(b.prepare("SELECT * FROM tt")).columns] == ["y", "z"]


@case()
def a_closed_or_unknown_id_gets_1243(t):
    c = t.client(db="app")
    st = c.prepare("SELECT 1")
    c.close_statement(st)
    t.fails(1243, c.execute, st)
    t.fails(1243, c.execute, wire.Statement(77777, [], [], 0))
    c.close_statement(wire.Statement(77777, [], [], 0))
    assert c.value("SELECT 1") == "1", "an unknown id to close is not an error"


@case()
def ids_rise_and_are_not_reused(t):
    c = t.client(db="app")
    ids = []
    for i in range(5):
        st = c.prepare(f"SELECT {i}")
        ids.append(st.id)
        c.close_statement(st)
    assert ids == sorted(set(ids)), ids


@case()
def a_syntax_error_gets_the_servers_1064(t):
    c = t.client(db="app")
    assert "syntax" in t.fails(1064, c.prepare, "SELEKT 1").text
    t.fails(1064, c.prepare, "SELECT 1; SELECT 2")
    assert c.value("SELECT 1") == "1"


@case(on="mysql9")
def what_cannot_be_prepared_gets_1295(t):
    # PDO falls back to the text protocol by this number.
    t.fails(1295, t.client(db="app").prepare, "LOCK TABLES place READ")


@case()
def a_reset_connection_ends_the_statements(t):
    c = t.client(db="app")
    st = c.prepare("SELECT 1")
    c.execute(st)
    c.reset()
    t.fails(1243, c.execute, st)


@case(needs="sluice")
def many_texts_stay_within_the_cache(t):
    s = t.front(pool_max=2, statement_cache=16).sluice
    before = t.db.status("Prepared_stmt_count")
    c = t.client(db="app")
    for i in range(400):
        st = c.prepare(f"SELECT {i} + ?")
        assert float(c.execute(st, [1]).rows[0][0]) == i + 1
        c.close_statement(st)
    assert t.db.status("Prepared_stmt_count") - before <= 2 * 16
    assert s.metric("sluice_statement_cache_entries") <= 400


@case(needs="sluice")
def a_hundred_thousand_texts_leave_the_memory_as_it_was(t):
    if sanitized():
        raise Skip("a sanitizer's build: its memory says nothing")
    s = t.front(pool_max=2).sluice
    statements = t.db.status("Prepared_stmt_count")
    t.client(db="app").query("SELECT 1")
    memory = s.rss()

    def work(first):
        c = t.client(db="app")
        for i in range(first, TEXTS, WORKERS):
            st = c.prepare(f"SELECT {i} + ?")
            if i % 500 < 2:
                assert float(c.execute(st, [1]).rows[0][0]) == i + 1
            c.close_statement(st)
        c.quit()
    # Two at once: both connections to the server have their caches full.
    for run in [t.background(work, n) for n in range(WORKERS)]:
        run.result(280)
    left, grown = t.db.status("Prepared_stmt_count") - statements, s.rss() - memory
    assert left <= WORKERS * STATEMENT_CACHE, f"{left} statements at the server"
    assert grown < 5 << 20, f"memory grew by {grown >> 10} KiB"


@case(needs="sluice")
def open_statements_beyond_the_cache_still_work(t):
    t.front(pool_max=1, statement_cache=8)
    c = t.client(db="app")
    held = [(i, c.prepare(f"SELECT {i} + ?")) for i in range(40)]
    for _ in range(2):
        for i, st in held:
            assert float(c.execute(st, [1]).rows[0][0]) == i + 1


@case(needs="sluice")
def a_known_text_is_prepared_once(t):
    t.front(pool_max=1, min_idle=1)
    before = t.db.status("Com_stmt_prepare")
    for i in range(10):
        c = t.client(db="app")
        assert float(c.execute(c.prepare("SELECT ? * 2 AS once"), [i]).rows[0][0]) == 2 * i
        c.quit()
    assert t.db.status("Com_stmt_prepare") - before <= 2


@case(each=["pdo", "mysqli"])
def php_prepares_natively(t, api):
    orders(t, 10)
    got = t.php(f"prepared_{api}.php", DB_NATIVE=1)
    assert got["names"] == [f"NO{i:08}" for i in range(10)], got
    assert got["null"] is None and got["blob"] == 200000, got
    assert got.get("cursor", list(range(10))) == list(range(10)), got
    assert got["again"] == 5, got


@case()
def an_error_before_costs_no_transaction_later(t):
    """What an error may have left is reset for others, never under a client that holds its backend."""
    t.front(pool_max=2)
    c = t.client(db="app")
    st = c.prepare("SET time_zone = ?")
    t.fails(1298, c.execute, st, ["nonsense"])
    c.execute(c.prepare("SET autocommit = 0"))
    c.query("INSERT INTO log (who) VALUES ('kept')")
    t.neighbour(2, db="app2")
    c.execute(c.prepare("COMMIT"))
    assert t.db.admin.value("SELECT COUNT(*) FROM app.log WHERE who = 'kept'") == "1"


@case()
def a_long_text_is_prepared_where_it_is_executed(t):
    t.front(pool_max=2)
    text = "SELECT ? + LENGTH('" + "x" * 40000 + "')"
    clients = [t.client(db="app") for _ in range(3)]
    held = [(c, c.prepare(text)) for c in clients]
    for _ in range(2):
        for c, st in held:
            t.neighbour(db="app2")
            assert c.execute(st, [1]).rows[0][0] == 40001
