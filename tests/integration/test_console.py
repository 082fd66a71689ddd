# SPDX-License-Identifier: Apache-2.0
"""The admin console: SHOW, PAUSE, KILL and the like, over the MySQL port."""
import hashlib
import os
import pwd
import re
import subprocess

from harness import wire
from harness.cases import Skip, case

HASH = "*" + hashlib.sha1(hashlib.sha1(b"hashedpass").digest()).hexdigest().upper()
OPS = [{"name": "ops", "password": "opspass"}, {"name": "hashed", "hash": HASH}]

POOLS = """database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel
    sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode
    backend flags max pinned hits misses paused""".split()
BOTH = """type user database state addr port local_addr local_port connect_time request_time wait wait_us
    close_needed ptr link remote_pid tls application_name prepared_statements id""".split()
COLUMNS = {
    "POOLS": POOLS,
    "CLIENTS": BOTH + "peer pid db pins backend_id queries".split(),
    "SERVERS": BOTH + "backend flags db charset client since_ms age_ms".split(),
    "STATS": """database total_server_assignment_count total_xact_count total_query_count total_received total_sent
        total_xact_time total_query_time total_wait_time clients local_answers pins connects resets probe_failures kills
        retries login_failures request_ends uptime_s""".split(),
    "PINS": "client user reason since_ms statement_digest backend_id".split(),
    "STATEMENTS": """user db digest_text digest clients backends hits count_star parameters columns shared""".split(),
    "CONFIG": "key value default changeable source".split(),
    "ERRORS": "error errno sqlstate count_star".split(),
    "LISTS": "list items".split(),
    "VERSION": "version backend_version".split(),
    "DATABASES": """name host port database force_user pool_size min_pool_size reserve_pool_size server_lifetime
        pool_mode max_connections current_connections paused disabled up backend_version last_error""".split(),
    "USERS": "name pool_size current_connections clients secret paused".split(),
    "MEM": "name size used free memtotal".split(),
    "HELP": "command does".split(),
}


class Console:
    """A raw client of it; rows come as dictionaries of texts."""

    def __init__(self, t, s, unix=True, **kw):
        self.raw = s.client(unix=unix, db="sluice", **kw)
        t.defer(self.raw.close)

    def rows(self, sql):
        r = self.raw.query(sql)
        names = [c.name for c in r.columns]
        return [dict(zip(names, [v.decode() if v is not None else None for v in row])) for row in r.rows]

    def row(self, sql):
        row, = self.rows(sql)
        return row

    def run(self, sql):
        r = self.raw.query(sql)
        assert not r.columns, sql
        return r


def console(t, s=None, **kw):
    return Console(t, s or t.front().sluice, **kw)


def with_ops(t, **mysql_keys):
    return t.sluice(conf={"admin": {"users": OPS}, "mysql": mysql_keys})


def on_a_schema_called_sluice(t):
    """A real one, with a table, until the case ends."""
    admin = t.db.admin
    admin.query("CREATE DATABASE IF NOT EXISTS sluice")
    t.defer(admin.query, "DROP DATABASE IF EXISTS sluice")
    admin.query("CREATE TABLE IF NOT EXISTS sluice.real_one (n INT)")
    admin.query("GRANT ALL ON sluice.* TO app@'%'")


def mysql_cli(*args, uid=None, password=None):
    """The real `mysql`; the same path with and without a terminal's questions."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    if password is not None:
        env["MYSQL_PWD"] = password
    return subprocess.run(["mysql", "--no-defaults", *args], capture_output=True, text=True, timeout=20, env=env,
                          user=uid, stdin=subprocess.DEVNULL)


# -- tables


@case(needs="sluice", on="mariadb", each=sorted(COLUMNS))
def show_has_its_columns_in_order(t, table):
    c = console(t)
    t.client(db="app").query("SET @x = 1")
    r = c.raw.query(f"SHOW {table}")
    assert [x.name for x in r.columns] == COLUMNS[table], [x.name for x in r.columns]
    assert all(x.type in (8, 253) for x in r.columns)
    assert r.rows or table == "STATEMENTS"


FORMS = {"lower case": "show pools", "a semicolon": "SHOW POOLS;", "spaces and a comment": "  Show /* now */ Pools ; ",
         "a comment behind": "SHOW POOLS -- now", "a comment before": "# first\nSHOW POOLS"}


@case(needs="sluice", on="mariadb", each=sorted(FORMS))
def commands_are_read_with(t, what):
    t.client(db="app").query("SELECT 1")
    assert console(t).rows(FORMS[what])[0]["user"] == "app"


@case(needs="sluice")
def pools_tell_who_has_what(t):
    f = t.front(pool_max=2, min_idle=0, queue_timeout="30s")
    holders = [t.client(db="app") for _ in range(2)]
    for h in holders:
        h.query("BEGIN")
        h.query("INSERT INTO app.log (who, what) VALUES ('a', 'b')")
    c = console(t)
    p = c.row("SHOW POOLS LIKE 'app'")
    assert (p["cl_active"], p["sv_active"], p["sv_idle"], p["pinned"], p["max"]) == ("2", "2", "0", "2", "2"), p
    assert p["cl_waiting"] == "0" and p["maxwait"] == "0" and p["pool_mode"] == "transaction" and p["paused"] == "0"
    assert p["backend"] == p["database"] == f"127.0.0.1:{t.db.port}"
    waiter = t.client(db="app")
    waiter.send_query("SELECT 'waited'")
    t.until("one to wait", lambda: c.row("SHOW POOLS LIKE 'app'")["cl_waiting"] == "1")
    t.until("its wait to be told", lambda: int(c.row("SHOW POOLS LIKE 'app'")["maxwait_us"]) > 0)
    holders[0].query("ROLLBACK")
    assert waiter.read_results()[0].value == b"waited"
    p = c.row("SHOW POOLS LIKE 'app'")
    assert (p["cl_waiting"], p["sv_active"], p["sv_idle"]) == ("0", "1", "1"), p
    metrics = f.sluice.metric("sluice_pools_server_active_connections", user="app")
    assert metrics == int(p["sv_active"])


@case(needs="sluice", on="mariadb")
def clients_and_servers_name_each_other(t):
    t.front()
    a = t.client(db="app")
    a.query("BEGIN")
    a.query("INSERT INTO app.log (who, what) VALUES ('a', 'b')")
    c = console(t)
    me = c.row("SHOW CLIENTS LIKE 'app'")
    ident = a.greeting.connection_id
    assert me["id"] == str(ident) and me["type"] == "C" and me["user"] == "app" and me["db"] == "app", me
    assert me["addr"] == "127.0.0.1" and me["port"] == str(a.sock.getsockname()[1])
    assert me["local_port"] == str(t.front().port)
    assert me["peer"] == f"127.0.0.1:{me['port']}" and me["pid"] is None
    assert me["pins"] == "transaction" and me["tls"] == "" and int(me["queries"]) == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", me["connect_time"])
    server, = [x for x in c.rows("SHOW SERVERS") if x["state"] == "lent"]
    assert server["client"] == me["id"] and server["link"] == me["ptr"] and me["link"] == server["ptr"]
    assert server["db"] == "app" and me["backend_id"] == server["id"]
    there = a.value("SELECT id FROM information_schema.processlist WHERE info LIKE '%processlist%'")
    assert server["remote_pid"] == there
    a.query("ROLLBACK")
    assert c.row("SHOW CLIENTS LIKE 'app'")["backend_id"] is None
    mine = c.row("SHOW CLIENTS LIKE '(console)'")
    assert mine["pid"] == mine["remote_pid"] == str(os.getpid()) and mine["addr"] == mine["peer"] == "unix", mine


@case(needs="sluice", on="mariadb")
def a_tls_client_shows_its_version(t):
    t.client(db="app", tls=True).query("SELECT 1")
    assert console(t).row("SHOW CLIENTS LIKE 'app'")["tls"].startswith("TLSv1.")


@case(needs="sluice")
def pins_come_and_go(t):
    a = t.client(db="app")
    a.query("CREATE TEMPORARY TABLE t1 (n INT)")
    a.query("BEGIN")
    a.query("INSERT INTO t1 VALUES (1)")
    c = console(t)
    found = {p["reason"]: p for p in c.rows("SHOW PINS")}
    assert {"temporary_table", "transaction"} <= found.keys(), found
    p = found["temporary_table"]
    assert p["client"] == str(a.greeting.connection_id) and p["user"] == "app" and int(p["since_ms"]) < 60000
    assert p["backend_id"] == c.row("SHOW CLIENTS LIKE 'app'")["backend_id"]
    assert c.row("SHOW PINS LIKE 'temporary%'")["reason"] == "temporary_table"
    assert c.rows("SHOW LISTS LIKE 'pinned_clients'")[0]["items"] == "1"
    a.quit()
    t.until("no pin", lambda: not c.rows("SHOW PINS"))


@case(needs="sluice")
def statements_are_counted(t):
    a, b = t.client(db="app"), t.client(db="app")
    c = console(t)
    for x in (a, b):
        st = x.prepare("SELECT n + ? FROM app.orders WHERE order_id = 1")
        x.execute(st, [1])
    s = c.row("SHOW STATEMENTS LIKE '%orders%'")
    assert (s["user"], s["db"], s["clients"], s["parameters"], s["columns"], s["shared"]) == \
        ("app", "app", "2", "1", "1", "1"), s
    assert int(s["backends"]) >= 1 and len(s["digest"]) == 16
    a.quit()
    t.until("one client to be left", lambda: c.row("SHOW STATEMENTS LIKE '%orders%'")["clients"] == "1")


@case(needs="sluice", on="mariadb")
def stats_and_errors_count(t):
    c = console(t)
    before = c.row("SHOW STATS")
    a = t.client(db="app")
    for _ in range(5):
        a.query("SELECT 1")
    after = c.row("SHOW STATS")
    grown = {k: int(after[k]) - int(before[k]) for k in before if before[k] and before[k].isdigit()}
    assert grown["total_query_count"] == 5 and grown["total_server_assignment_count"] >= 5 and grown["clients"] == 1
    assert grown["total_received"] > 0 and grown["total_sent"] > 0 and grown["total_query_time"] > 0
    assert after["total_xact_count"] is None
    t.fails(1235, a.command, 18)  # COM_BINLOG_DUMP
    assert c.row("SHOW ERRORS LIKE 'refused'") == {"error": "refused", "errno": "1235", "sqlstate": "42000",
                                                   "count_star": "1"}


@case(needs="sluice", on="mariadb")
def config_tells_values_and_sources_without_secrets(t):
    s = with_ops(t, pool_max=7)
    c = console(t, s, user="ops", password="opspass")
    row = c.row("SHOW CONFIG LIKE 'mysql.pool\\_max'")
    assert (row["value"], row["default"], row["changeable"]) == ("7", "16", "yes"), row
    assert "sluice.cfg" in row["source"]
    assert c.row("SHOW CONFIG LIKE 'process.threads'")["changeable"] == "no"
    assert "opspass" not in str(c.rows("SHOW CONFIG")) and "ops" in c.row("SHOW CONFIG LIKE 'admin.users'")["value"]


@case(needs="sluice", on="mariadb")
def lists_users_databases_version_mem_and_help_say_something(t):
    t.client(db="app").query("SELECT 1")
    c = console(t)
    lists = {x["list"]: int(x["items"]) for x in c.rows("SHOW LISTS")}
    assert lists["used_clients"] == 2 and lists["console_clients"] == 1 and lists["pools"] == 1 and lists["users"] == 1
    assert lists["free_servers"] + lists["used_servers"] == int(c.row("SHOW DATABASES")["current_connections"])
    assert c.row("SHOW USERS LIKE 'app'")["secret"] == "learned" and c.row("SHOW USERS LIKE 'app'")["clients"] == "1"
    d = c.row("SHOW DATABASES")
    assert d["port"] == str(t.db.port) and d["up"] == "1" and d["backend_version"] == c.raw.greeting.version
    assert c.row("SHOW VERSION")["version"].startswith("sluice ")
    client = c.row("SHOW MEM LIKE 'client'")
    assert int(client["memtotal"]) == int(client["size"]) * 2
    text = str(c.rows("SHOW HELP"))
    assert all(f"SHOW {name} " in text for name in COLUMNS) and "PAUSE" in text and "KILL" in text and "DRAIN" in text


@case(needs="sluice", on="mariadb")
def like_filters_by_any_text(t):
    c = console(t)
    every = len(c.rows("SHOW CONFIG"))
    assert 0 < len(c.rows("SHOW CONFIG LIKE 'mysql.%'")) < every
    assert len(c.rows("SHOW CONFIG LIKE '%'")) == every
    assert c.rows("show config like 'MYSQL.pool_ma_'")[0]["key"] == "mysql.pool_max"
    assert not c.rows("SHOW CONFIG LIKE 'nothing at all'")
    assert c.rows('SHOW CONFIG LIKE "mysql.users"')
    t.fails(1064, c.raw.query, "SHOW CONFIG LIKE mysql")
    t.fails(1064, c.raw.query, "SHOW CONFIG LIKE 'open")


@case(needs="sluice", on="mariadb")
def a_thousand_rows_come_whole(t):
    f = t.front(client_max=3000)
    others = [wire.Client(f.address, db="app") for _ in range(400)]
    try:
        c = console(t)
        rows = c.rows("SHOW CLIENTS")
        assert len(rows) == 401 and len({r["id"] for r in rows}) == 401
        assert len(c.rows("SHOW CLIENTS LIKE 'app'")) == 400
    finally:
        for o in others:
            o.close()


# -- who


@case(needs="sluice", on="mariadb", each=["caching_sha2_password", "mysql_native_password"])
def an_admin_user_comes_in_over_tcp(t, plugin):
    s = with_ops(t)
    for tls in (False, True):
        assert console(t, s, unix=False, user="ops", password="opspass", plugin=plugin, tls=tls).rows("SHOW VERSION")
    assert console(t, s, unix=False, user="hashed", password="hashedpass", plugin=plugin).rows("SHOW VERSION")
    assert "opspass" not in s.log() and "event=console_login" in s.log()


@case(needs="sluice", on="mariadb", each=["caching_sha2_password", "mysql_native_password"])
def a_wrong_password_is_refused(t, plugin):
    s = with_ops(t)
    for kw in ({}, {"tls": True}):
        for password in ("wrong", ""):
            e = t.fails(1045, s.client, db="sluice", user="ops", password=password, plugin=plugin, **kw)
            assert "Access denied for user 'ops'" in e.text
    t.fails(1045, s.client, db="sluice", user="hashed", password="wrong", plugin=plugin)
    t.fails(1045, s.client, unix=True, db="sluice", user="ops", password="wrong", plugin=plugin)
    assert s.metric("sluice_login_failures_total") == 6


@case(needs="sluice")
def other_users_go_to_the_server(t):
    on_a_schema_called_sluice(t)
    s = with_ops(t)
    for unix in (False, True):
        a = s.client(unix=unix, db="sluice")
        t.defer(a.close)
        assert a.query("SHOW TABLES").rows == [[b"real_one"]]
        a.query("INSERT INTO real_one VALUES (1)")
        t.fails(1064, a.query, "SHOW POOLS")
    b = s.client(db="app")
    t.defer(b.close)
    b.use("sluice")
    assert b.query("SELECT COUNT(*) FROM real_one").value == b"2"


@case(needs="sluice")
def tcp_is_no_way_in_without_admin_users(t):
    on_a_schema_called_sluice(t)
    a = t.client(db="sluice")
    assert a.query("SHOW TABLES").rows == [[b"real_one"]]
    t.fails((1045, 1698), t.client, user="ops", password="x", db="sluice")


@case(needs="sluice", on="mariadb")
def the_socket_lets_in_our_own_uid_and_root(t):
    s = t.front().sluice
    assert console(t, user="anybody", password="anything").rows("SHOW VERSION")
    assert console(t, user="", password="").rows("SHOW VERSION")
    if os.getuid() != 0:
        raise Skip("only root can try as somebody else")
    for path in [s.dir, *s.dir.parents]:
        if str(path).startswith("/tmp/") and path != path.parent:
            os.chmod(path, 0o755)
    os.chmod(s.sock, 0o666)
    nobody = pwd.getpwnam("nobody").pw_uid
    sql = ("-S", s.sock, "-u", "anybody", "sluice", "-e", "SHOW VERSION")
    done = mysql_cli(*sql, password="x", uid=nobody)
    assert done.returncode and "1045" in done.stderr, done
    for more in ((), ("--default-auth=mysql_native_password",)):
        for password in ("x", ""):
            done = mysql_cli(*more, *sql, password=password)
            assert done.returncode == 0, done
    c = s.client(unix=True, db="app")
    t.defer(c.close)
    c.change_user("anybody", "anything", "sluice")
    assert c.query("SHOW VERSION").rows


@case(needs="sluice", on="mariadb")
def change_user_enters_and_leaves(t):
    s = with_ops(t)
    c = s.client(db="app")
    t.defer(c.close)
    c.query("SET @x = 1")
    c.change_user("ops", "opspass", "sluice")
    assert c.query("SHOW POOLS").columns[0].name == "database"
    assert c.value("SELECT DATABASE()") == "sluice"
    c.change_user("app", "apppass", "app")
    assert c.value("SELECT DATABASE()") == "app" and c.value("SELECT @x") is None
    t.fails(1064, c.query, "SHOW POOLS")
    c.change_user("ops", "opspass", "sluice")
    t.fails(1045, c.change_user, "ops", "wrong", "sluice")


@case(needs="sluice", on="mariadb")
def the_console_answers_while_the_server_is_away(t):
    r = t.relay()
    s = t.sluice(backend=f"mysql://127.0.0.1:{r.port}", conf={"mysql": {"connect_timeout": "500ms"}})
    c = console(t, s)
    r.close()
    t.until("it to be noticed", lambda: c.row("SHOW DATABASES")["up"] == "0" or not c.rows("SHOW SERVERS"))
    assert console(t, s).rows("SHOW POOLS") is not None


# -- clients' own habits


@case(needs="sluice", on="mariadb")
def what_clients_ask_by_themselves_is_answered(t):
    c = console(t)
    assert "sluice" in c.raw.value("select @@version_comment limit 1")
    assert c.raw.query("select @@version_comment limit 1").columns[0].name == "@@version_comment"
    assert c.raw.value("SELECT DATABASE()") == "sluice"
    assert c.raw.value("SELECT CONNECTION_ID()") == str(c.raw.greeting.connection_id)
    assert c.raw.value("SELECT VERSION()") == c.raw.value("SELECT @@version") == c.raw.greeting.version
    r = c.raw.query("/* jdbc */SELECT  @@session.auto_increment_increment AS auto_increment_increment, "
                    "@@character_set_client AS `cs`, @@no_such AS nothing, 'x', 1")
    assert [x.name for x in r.columns] == ["auto_increment_increment", "cs", "nothing", "'x'", "1"]
    assert r.rows == [[b"1", b"utf8mb4", None, b"x", b"1"]]
    for sql in ("SET NAMES utf8mb4", "SET autocommit=0, sql_mode=''", "BEGIN", "COMMIT", "rollback", "USE sluice",
                "USE `sluice`", "START TRANSACTION"):
        c.run(sql)
    for sql in ("SHOW WARNINGS", "SHOW VARIABLES LIKE 'x%'", "SHOW GLOBAL STATUS", "SHOW TABLES", "SHOW FULL TABLES"):
        assert not c.rows(sql), sql
    c.raw.ping()
    c.raw.use("sluice")
    c.raw.reset()
    c.raw.set_option(0)
    assert "Uptime" in c.raw.statistics()
    t.fails(1049, c.raw.use, "app")
    t.fails(1049, c.raw.query, "USE app")
    assert c.rows("SHOW VERSION")


WRONG = ["SELEC 1", "SELECT * FROM t", "SELECT 1 FROM t", "SHOW", "SHOW NOTHING", "SHOW POOLS NOW", "KILL", "KILL x",
         "", ";", "PAUSE a b", "RELOAD now", "SHUTDOWN", "INSERT INTO t VALUES (1)", "SHOW POOLS LIKE", "'", "/*", "SELECT",
         "SELECT @@", "SELECT DATABASE(", "\x00\xff\xfe", "DRAIN now", "SELECT 1 AS", "SELECT " + "1," * 60 + "1"]


@case(needs="sluice", on="mariadb")
def what_is_no_command_is_refused_with_advice(t):
    c = console(t)
    for sql in WRONG:
        e = t.fails(1064, c.raw.query, sql.encode("latin-1"))
        assert e.text.startswith("sluice: ") and e.sqlstate == "42000", e
        if not sql.startswith(("SHUTDOWN", "SHOW POOLS LIKE")):
            assert "SHOW HELP" in e.text, e
    t.fails(1047, c.raw.command, wire.FIELD_LIST, b"t\0")
    t.fails(1047, c.raw.command, 99)
    t.fails(1295, c.raw.prepare, "SHOW POOLS")
    c.raw.close_statement(wire.Statement(1, [], [], 0))
    c.raw.end_of_request()
    t.fails(1064, c.raw.query, "SHOW " + "x" * 300_000)
    t.fails((1064, 1153), c.raw.query, "SHOW " + "x" * 17_000_000)
    assert c.rows("SHOW VERSION")


@case(needs="sluice", on="mariadb")
def commands_cut_anywhere_are_read(t):
    s = t.front().sluice
    c = Console(t, s, cut=1)
    assert c.rows("SHOW VERSION") and c.rows("SHOW HELP")
    c.raw.send_bytes(b"".join((b"\x0d\0\0\0\x03SHOW VERSION", b"\x01\0\0\0\x0e")))  # the next one before its answer
    c.raw.seq = 1
    assert c.raw.read_result().rows
    c.raw.seq = 1
    c.raw.read_result()


@case(needs="sluice", on="mariadb")
def the_mysql_client_works(t):
    s = with_ops(t)
    s.client(db="app").query("SELECT 1")
    base = ("-h127.0.0.1", f"-P{s.port}", "-uops")
    done = mysql_cli(*base, "sluice", "-e", "SHOW POOLS; SHOW HELP; \\s", password="opspass")
    assert done.returncode == 0 and "cl_active\tcl_waiting" in done.stdout and "Uptime" in done.stdout, done
    # With completion of names, as at a terminal.
    done = mysql_cli(*base, "--auto-rehash", "-t", "sluice", "-e", "use sluice; show pools like 'app'",
                     password="opspass")
    assert done.returncode == 0 and "| app " in done.stdout, done
    done = mysql_cli(*base, "sluice", "-e", "SHOW POOLS", password="wrong")
    assert done.returncode and "1045" in done.stderr, done
    done = mysql_cli("-S", s.sock, "-uops", "sluice", "-E", "-e", "SHOW VERSION\\G", password="opspass")
    assert done.returncode == 0 and "version: sluice" in done.stdout, done
    done = mysql_cli(*base, "sluice", "-e", "nonsense", password="opspass")
    assert "1064" in done.stderr and "SHOW HELP" in done.stderr, done


@case(needs="sluice", on="mariadb", each=["emulated", "native"])
def pdo_and_mysqli_work_with_prepares(t, how):
    s = with_ops(t)
    s.client(db="app").query("SELECT 1")
    out = t.php("console.php", front=s, DB_USER="ops", DB_PASSWORD="opspass", DB_NAME="sluice",
                DB_NATIVE="1" if how == "native" else "")
    assert out["pdo"]["user"] == "app" and out["pdo"]["max"] == 16 and out["like"] == 1, out
    assert out["help"] > 15 and out["kill"][0] == 1094 and "Unknown thread" in out["kill"][1], out
    assert out["mysqli"] == COLUMNS["POOLS"] and out["prepared"] == "sluice", out


# -- commands


@case(needs="sluice", on="mariadb")
def kill_ends_a_client_of_anybody(t):
    f = t.front(pool_max=2)
    c = console(t)
    a, b = t.client(db="app"), t.client(user="app2", password="app2pass", db="app")
    a.query("BEGIN")
    a.query("INSERT INTO app.log (who, what) VALUES ('killed', 'x')")
    c.run(f"KILL {a.greeting.connection_id}")
    try:
        a.query("SELECT 1")
        raise AssertionError("it lives")
    except (wire.Gone, OSError):
        pass
    c.run(f"kill connection {b.greeting.connection_id & 0x7fffffff};")
    t.until("both to be gone", lambda: len(c.rows("SHOW CLIENTS")) == 1)
    t.until("no backend to be held", lambda: c.row("SHOW POOLS LIKE 'app'")["sv_active"] == "0")
    e = t.fails(1094, c.raw.query, f"KILL {a.greeting.connection_id}")
    assert e.text == f"Unknown thread id: {a.greeting.connection_id}"
    t.fails(1094, c.raw.query, "KILL 0x8000ffff")
    assert t.client(db="app").value("SELECT COUNT(*) FROM app.log WHERE who = 'killed'") == "0"
    assert "event=console" in f.sluice.log()


@case(needs="sluice", on="mariadb")
def kill_query_ends_a_statement_alone(t):
    c = console(t)
    a = t.client(db="app")
    a.send_query("SELECT SLEEP(60)")
    t.until("it to run", lambda: c.row("SHOW CLIENTS LIKE 'app'")["state"] == "active")
    c.run(f"KILL QUERY {a.greeting.connection_id:#x}")
    try:
        assert a.read_results()[0].value == b"1"
    except wire.ServerError as e:
        assert e.errno == 1317
    assert a.value("SELECT 1") == "1"
    c.raw.command(wire.PROCESS_KILL, a.greeting.connection_id.to_bytes(4, "little"))
    t.until("it to be gone", lambda: not c.rows("SHOW CLIENTS LIKE 'app'"))


@case(needs="sluice", on="mariadb")
def the_console_can_kill_itself(t):
    c = console(t)
    t.fails(1317, c.raw.query, f"KILL {c.raw.greeting.connection_id}")
    try:
        c.raw.ping()
        raise AssertionError("it lives")
    except (wire.Gone, OSError):
        pass


@case(needs="sluice", each=["everything", "a user", "a backend"])
def paused_clients_queue_until_resume_of(t, what):
    t.front(pool_max=2, queue_timeout="30s")
    whom = {"everything": "", "a user": " app", "a backend": f" 127.0.0.1:{t.db.port}"}[what]
    c = console(t)
    inside, outside = t.client(db="app"), t.client(db="app")
    other = t.client(user="app2", password="app2pass", db="app")
    inside.query("BEGIN")
    inside.query("INSERT INTO app.log (who, what) VALUES ('inside', 'x')")
    c.run("PAUSE" + whom)
    assert c.row("SHOW POOLS LIKE 'app'")["paused"] == "1"
    outside.send_query("SELECT 'resumed'")
    t.until("it to queue", lambda: c.row("SHOW POOLS LIKE 'app'")["cl_waiting"] == "1")
    inside.query("INSERT INTO app.log (who, what) VALUES ('inside', 'y')")
    inside.query("COMMIT")
    t.until("all to be given back", lambda: c.row("SHOW POOLS LIKE 'app'")["sv_active"] == "0")
    late = t.client(db="app")
    late.send_query("SELECT 'late'")
    t.until("it to queue too", lambda: c.row("SHOW POOLS LIKE 'app'")["cl_waiting"] == "2")
    other.send_query("SELECT 'other'")
    if whom == " app":
        assert other.read_results()[0].value == b"other"
    else:
        t.until("the other one to queue", lambda: c.row("SHOW POOLS LIKE 'app2'")["cl_waiting"] == "1")
        assert c.row("SHOW DATABASES")["paused"] == "1"
        t.fails(1105, c.raw.query, "RESUME app")
    c.run("RESUME" + whom)
    assert outside.read_results()[0].value == b"resumed" and late.read_results()[0].value == b"late"
    if whom != " app":
        assert other.read_results()[0].value == b"other"
    assert {p["paused"] for p in c.rows("SHOW POOLS")} == {"0"}


@case(needs="sluice", on="mariadb")
def resume_without_a_name_ends_every_pause(t):
    c = console(t)
    a = t.client(db="app")
    a.query("SELECT 1")
    c.run("PAUSE app")
    c.run("PAUSE")
    c.run("RESUME")
    assert a.value("SELECT 2") == "2" and c.row("SHOW USERS LIKE 'app'")["paused"] == "0"
    t.fails(1049, c.raw.query, "PAUSE nobody_like_that")
    t.fails(1049, c.raw.query, "RESUME nobody_like_that")


@case(needs="sluice", on="mariadb")
def a_pause_is_bounded_by_queue_timeout_and_says_so(t):
    t.front(queue_timeout="300ms")
    c = console(t)
    a = t.client(db="app")
    a.query("SELECT 1")
    c.run("PAUSE")
    e = t.fails(1040, a.query, "SELECT 1")
    assert "paused" in e.text and "RESUME" in e.text, e
    c.run("RESUME")
    assert a.value("SELECT 1") == "1"


@case(needs="sluice", on="mariadb")
def what_is_answered_here_goes_on_while_paused(t):
    t.front(queue_timeout="30s")
    c = console(t)
    a = t.client(db="app")
    a.query("SELECT 1")
    c.run("PAUSE")
    a.ping()
    a.use("app")
    assert t.client(db="app").ping() is not None
    c.run("RESUME")


@case(needs="sluice", on="mariadb")
def reload_takes_a_good_file_and_names_what_is_wrong_with_a_bad_one(t):
    s = t.front(pool_max=4).sluice
    c = console(t)
    t.client(db="app").query("SELECT 1")
    s.conf["mysql"]["pool_max"] = 6
    s.write_conf()
    c.run("RELOAD")
    assert c.row("SHOW POOLS LIKE 'app'")["max"] == "6"
    s.write_conf("mysql = { pool_maximum = 3; };\n")
    e = t.fails(1105, c.raw.query, "RELOAD")
    assert e.text.startswith("sluice: ") and "pool_maximum" in e.text and "stays" in e.text, e
    s.write_conf("mysql = {\n")
    assert "sluice.cfg:" in t.fails(1105, c.raw.query, "RELOAD;").text
    assert c.row("SHOW POOLS LIKE 'app'")["max"] == "6"
    s.write_conf()
    c.run("reload")


@case(needs="sluice", on="mariadb")
def admin_users_come_and_go_by_reload(t):
    s = t.front().sluice
    s.conf["admin"]["users"] = OPS
    s.write_conf()
    first = console(t)
    first.run("RELOAD")
    assert console(t, s, unix=False, user="ops", password="opspass").rows("SHOW VERSION")
    t.fails((1045, 1698, 1049, 1044), s.client, unix=True, db="sluice", user="anybody", password="x")
    assert first.rows("SHOW VERSION"), "who is in stays in"


@case(needs="sluice", on="mariadb", each=["DRAIN", "shutdown wait_for_clients;"])
def drain_begins_a_drain(t, how):
    s = t.front().sluice
    c = console(t)
    a = t.client(db="app")
    a.query("BEGIN")
    a.query("INSERT INTO app.log (who, what) VALUES ('a', 'b')")
    c.run(how)
    assert s.get("/readyz")[0] == 503
    assert a.value("SELECT 1") == "1"
    assert c.rows("SHOW CLIENTS LIKE 'app'"), "it can be watched"
    a.query("ROLLBACK")
    a.quit()
    s.ended = s.process.wait(20)
    assert s.ended == 0


@case(needs="sluice", on="mariadb")
def watching_does_not_hold_a_drain_up(t):
    s = t.sluice(conf={"process": {"drain_idle": "300ms", "drain_timeout": "60s"}})
    c = console(t, s)
    c.run("DRAIN")
    try:
        while True:
            c.rows("SHOW LISTS")
            if not s.process.running():
                break
    except (wire.Gone, OSError, wire.ServerError):
        pass
    s.ended = s.process.wait(10)
    assert s.ended == 0
