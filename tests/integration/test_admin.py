# SPDX-License-Identifier: Apache-2.0
"""What operators see and start: HTTP, metrics, the command line, the configuration."""
import json
import os
import signal
import socket

from harness import procs, wire
from harness.cases import case
from harness.sluice import binary, clean_env, render, run_once


@case(needs="sluice")
def the_endpoints_answer(t):
    s = t.front().sluice
    t.client(db="app").query("SELECT 1")
    for path in ("/livez", "/startupz", "/readyz", "/metrics", "/status", "/"):
        assert s.get(path)[0] == 200, path
    for path in ("/livez", "/startupz", "/readyz", "/metrics"):
        assert s.get(path, port=s.health_port)[0] == 200, path
    for path in ("/status", "/", "/drain"):
        assert s.get(path, port=s.health_port)[0] in (403, 404, 405), path
    assert s.http("POST", "/drain", port=s.health_port)[0] in (403, 404, 405)
    assert s.http("POST", "/reload", port=s.health_port)[0] in (403, 404, 405)
    assert s.get("/nothing")[0] == 404
    assert s.get("/drain")[0] in (404, 405), "a GET must not drain"
    assert s.get("/readyz")[0] == 200


@case(needs="sluice")
def status_has_the_promised_shape(t):
    s = t.front(pool_max=7).sluice
    t.client(db="app").query("SET @x = 1")
    d = s.status()
    assert {"version", "uptime_s", "ready", "mysql", "errors"} <= d.keys(), d
    m = d["mysql"]
    assert {"listen", "clients", "clients_active", "waiting", "pools", "pins", "statements"} <= m.keys(), m
    assert d["ready"] is True and m["clients"] == 1 and m["pins"]["user_variable"] == 1
    p, = [p for p in m["pools"] if p["user"] == "app"]
    assert {"backend", "user", "max", "idle", "lent", "pinned", "login", "waiting", "hits", "misses"} <= p.keys(), p
    assert p["max"] == 7 and p["pinned"] == 1
    assert str(s.port) in json.dumps(m["listen"])


@case(needs="sluice")
def metrics_are_well_formed_and_count(t):
    s = t.front().sluice
    c = t.client(db="app")
    for _ in range(10):
        c.query("SELECT 1")
    c.execute(c.prepare("SELECT ?"), [1])
    t.fails(1146, c.query, "SELECT * FROM no_such_table")
    m = s.metrics()
    wanted = """sluice_clients sluice_clients_total sluice_backends sluice_backend_connects_total sluice_statements_total
        sluice_local_answers_total sluice_pool_lends_total sluice_pool_wait_seconds_count sluice_pinned
        sluice_pins_total sluice_resets_total sluice_reconnects_total sluice_probe_failures_total sluice_retries_total
        sluice_closes_total sluice_errors_total sluice_login_failures_total sluice_request_ends_total
        sluice_rolled_back_total sluice_bytes_total sluice_statement_seconds_count sluice_statement_cache_entries
        sluice_up sluice_build_info sluice_config_reload_success process_resident_memory_bytes
        sluice_pools_client_active_connections sluice_pools_client_waiting_connections
        sluice_pools_server_active_connections sluice_pools_server_idle_connections
        sluice_pools_server_used_connections sluice_pools_server_login_connections
        sluice_pools_server_pinned_connections sluice_pools_client_maxwait_seconds""".split()
    # A family without a sample so far may have only its HELP and TYPE.
    text = s.get("/metrics")[1]
    missing = [w for w in wanted if w not in m and f"# TYPE {w.removesuffix('_count')} " not in text]
    assert not missing, missing
    assert s.metric("sluice_statements_total", proto="mysql") >= 11
    assert s.metric("sluice_clients_total", proto="mysql") == 1
    assert s.metric("sluice_bytes_total", proto="mysql") > 100
    assert s.metric("sluice_up") == 1


@case(needs="sluice")
def labels_with_odd_characters_are_escaped(t):
    s = t.front().sluice
    t.fails((1045, 1698), t.client, user='we"ird\\us\ner', password="x")
    s.metrics()
    s.status()


@case(needs="sluice")
def a_token_guards_the_posts(t):
    token = t.dir / "token"
    token.write_text("s3cret\n")
    os.chmod(token, 0o600)
    s = t.sluice(conf={"admin": {"token_file": str(token)}})
    assert s.http("POST", "/reload")[0] == 401
    assert s.http("POST", "/reload", headers={"Authorization": "Bearer wrong"})[0] in (401, 403)
    assert s.http("POST", "/reload", headers={"Authorization": "Bearer s3cret"})[0] == 200
    assert s.get("/livez")[0] == 200
    assert "s3cret" not in s.log()


BAD_HTTP = {
    "an empty line": b"\r\n",
    "no target": b"GET\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "zeros": b"\0" * 4096,
    "a long target": b"GET /" + b"a" * 70000,
    "a negative length": b"POST /drain HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
}


@case(needs="sluice", on="none", each=sorted(BAD_HTTP))
def bad_http_harms_nobody(t, what):
    s = t.sluice(backend="mysql://127.0.0.1:1")
    with socket.create_connection(("127.0.0.1", s.admin_port), 10) as c:
        try:
            c.sendall(BAD_HTTP[what])
            c.shutdown(socket.SHUT_WR)
            while c.recv(4096):
                pass
        except OSError:
            pass
    assert s.get("/livez")[0] == 200


@case(needs="sluice", on="none")
def ready_needs_the_backend_when_told_so(t):
    s = t.sluice(backend=f"mysql://127.0.0.1:{procs.free_port()}", conf={"process": {"ready_requires": "backend"}})
    code, body = s.get("/readyz")
    assert code == 503 and body.strip(), "the cause is in the body"
    assert s.get("/livez")[0] == 200


@case(needs="sluice")
def ready_with_the_backend_when_it_answers(t):
    s = t.sluice(conf={"process": {"ready_requires": "backend"}})
    t.until("/readyz", lambda: s.get("/readyz")[0] == 200)


@case(needs="sluice")
def wait_and_health_tell_by_their_exit_status(t):
    s = t.sluice()
    where = ("--admin-listen", f"127.0.0.1:{s.admin_port}", "--health-listen", f"127.0.0.1:{s.health_port}")
    assert run_once("wait", "--max", "10s", *where).returncode == 0
    assert run_once("health", *where).returncode == 0
    s.stop()
    assert run_once("health", *where).returncode != 0
    assert run_once("wait", "--max", "300ms", *where).returncode != 0


@case(needs="sluice", on="none")
def version_and_help_are_printed(t):
    done = run_once("--version")
    assert done.returncode == 0 and "0." in done.stdout, done
    done = run_once("--help")
    assert done.returncode == 0 and "--mysql-backend" in done.stdout and "--check" in done.stdout, done


BAD = {
    "an unknown flag": (["--no-such-flag"], {}, None, "no-such-flag"),
    "an unknown variable": ([], {"SLUICE_MYSQL_POOL_MAXIMUM": "3"}, None, "SLUICE_MYSQL_POOL_MAXIMUM"),
    "an unknown key": ([], {}, {"mysql": {"pool_maximum": 3}}, "pool_maximum"),
    "a value out of range": ([], {}, {"mysql": {"pool_max": 0}}, "pool_max"),
    "a number where a duration is due": ([], {}, {"mysql": {"queue_timeout": 5}}, "queue_timeout"),
    "a duration without a unit": ([], {}, {"mysql": {"queue_timeout": "5"}}, "queue_timeout"),
    "a bad URL": (["--mysql-backend", "http://x"], {}, None, "mysql"),
    "a bad address": (["--mysql-backend", "mysql://127.0.0.1", "--mysql-listen", "nowhere"], {}, None, "nowhere"),
    "a variable that is not set": ([], {}, {"mysql": {"backend": "mysql://${NO_SUCH_VARIABLE_HERE}"}},
                                   "NO_SUCH_VARIABLE_HERE"),
    "a missing file": (["-c", "/no/such/file.cfg"], {}, None, "/no/such/file.cfg"),
    "a missing secret file": ([], {"SLUICE_MYSQL_BACKEND_FILE": "/no/such/secret"}, None, "/no/such/secret"),
}


@case(needs="sluice", on="none", each=sorted(BAD))
def check_finds(t, what):
    flags, env, conf, named = BAD[what]
    if conf:
        path = t.dir / "bad.cfg"
        path.write_text(render(conf))
        flags = ["-c", path, *flags]
    done = run_once("--check", *flags, env=env)
    assert done.returncode == 2, done
    assert named in done.stderr + done.stdout, done


@case(needs="sluice", on="none")
def check_takes_a_good_file_and_defaults_of_variables(t):
    path = t.dir / "good.cfg"
    path.write_text(render({"mysql": {"backend": "mysql://${HOST_NOT_SET:-127.0.0.1}:3306", "pool_max": 8,
                                      "queue_timeout": "250ms"}}))
    done = run_once("--check", "-c", path)
    assert done.returncode == 0, done


@case(needs="sluice", on="none")
def kubernetes_service_links_are_not_taken_for_options(t):
    env = {"SLUICE_PORT": "tcp://10.0.0.1:6033", "SLUICE_SERVICE_HOST": "10.0.0.1", "SLUICE_SERVICE_PORT": "6033",
           "SLUICE_PORT_6033_TCP_ADDR": "10.0.0.1"}
    done = run_once("--check", "--mysql-backend", "mysql://127.0.0.1", env=env)
    assert done.returncode == 0, done


@case(needs="sluice")
def check_online_says_what_works_and_what_does_not(t):
    good = run_once("--check=online", "--mysql-backend", t.db.url(user="app", password="apppass"))
    assert good.returncode == 0, good
    wrong = run_once("--check=online", "--mysql-backend", t.db.url(user="app", password="wrong"))
    assert wrong.returncode == 1 and "1045" in wrong.stderr + wrong.stdout, wrong
    dead = run_once("--check=online", "--mysql-backend", f"mysql://127.0.0.1:{procs.free_port()}")
    assert dead.returncode == 1 and (dead.stderr + dead.stdout).strip(), dead
    assert run_once("--check=online", "--mysql-backend", "nonsense").returncode == 2
    assert "apppass" not in good.stdout + good.stderr


@case(needs="sluice", on="none")
def print_config_masks_secrets_and_shows_precedence(t):
    path = t.dir / "a.cfg"
    path.write_text(render({"mysql": {"backend": "mysql://bob:hunter22@127.0.0.1:3306", "pool_max": 8,
                                      "users": [{"name": "ann", "password": "hunter33"}], "queue_timeout": "7s"}}))
    done = run_once("--print-config", "-c", path, env={"SLUICE_MYSQL_POOL_MAX": "9"})
    text = done.stdout
    assert done.returncode == 0 and "hunter22" not in text and "hunter33" not in text, done
    assert "pool_max" in text and "9" in text and "7s" in text and "bob" in text, text


@case(needs="sluice")
def a_backend_in_parts_and_by_file_works(t):
    secret = t.dir / "pw"
    secret.write_text("apppass\n")
    port = procs.free_port()
    env = {"SLUICE_MYSQL_HOST": "127.0.0.1", "SLUICE_MYSQL_PORT": str(t.db.port), "SLUICE_MYSQL_USER": "app",
           "SLUICE_MYSQL_PASSWORD_FILE": str(secret), "SLUICE_MYSQL_LISTEN": f"127.0.0.1:{port}"}
    s = t.sluice(backend="", conf={"mysql": {"listen": f"127.0.0.1:{port}"}}, env=env)
    assert s.port == port
    assert wire.Client(s.address, db="app").value("SELECT 1") == "1"


@case(needs="sluice")
def flags_alone_are_enough(t):
    port, admin = procs.free_port(), procs.free_port()
    p = procs.Process("sluice", [binary(), "--mysql-listen", f"127.0.0.1:{port}", "--mysql-backend", t.db.url(),
                                 "--admin-listen", f"127.0.0.1:{admin}", "--health-listen", "off"], t.dir / "log",
                      env=clean_env())
    t.defer(p.kill)
    t.until("the ready line", lambda: "event=ready" in p.log())
    assert wire.Client(("127.0.0.1", port), db="app").value("SELECT 1") == "1"
    p.signal(signal.SIGINT)
    assert p.wait(10) == 0


@case(needs="sluice")
def a_taken_port_is_told(t):
    s = t.sluice()
    done = run_once("--mysql-listen", f"127.0.0.1:{s.port}", "--mysql-backend", t.db.url(), "--admin-listen",
                    "127.0.0.1:0", "--health-listen", "off")
    assert done.returncode == 1 and str(s.port) in done.stderr, done


@case(needs="sluice")
def usr1_writes_the_state_to_the_log(t):
    s = t.front().sluice
    t.client(db="app").query("SELECT 1")
    before = len(s.log())
    s.process.signal(signal.SIGUSR1)
    t.until("the state in the log", lambda: "app" in s.log()[before:])


@case(needs="sluice")
def localhost_is_explained_when_no_client_came(t):
    # PHP's "localhost" means a socket. The minute is Sluice's own timer; nothing shorter would show it.
    s = t.sluice(conf={"mysql": {"listen": "127.0.0.1:0"}})
    t.until("the hint", lambda: "event=no_client_yet" in s.log(), 75)
    assert "127.0.0.1" in s.log() and s.log().count("no_client_yet") == 1


@case(needs="sluice")
def json_logs_are_json(t):
    s = t.sluice(conf={"process": {"log_format": "json"}}, wait=False)
    t.until("the ready line", lambda: '"ready"' in s.log())
    for line in s.log().splitlines():
        json.loads(line)


@case(needs="sluice")
def descriptors_do_not_leak(t):
    f = t.front(pool_max=2, min_idle=0)
    t.client(db="app").quit()
    t.until("it to settle", lambda: f.sluice.status()["mysql"]["clients"] == 0)
    before = procs.open_fds(f.sluice.pid)
    for i in range(60):
        c = wire.Client(f.address, db="app")
        c.query("SELECT 1")
        c.abort() if i % 2 else c.quit()
    t.until("the descriptors to be back", lambda: procs.open_fds(f.sluice.pid) <= before + 2)
