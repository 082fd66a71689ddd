# SPDX-License-Identifier: Apache-2.0
"""The end of Sluice: TERM drains, nothing is lost, idle clients are sent nothing; HUP reloads whole or not at all."""
import signal
import threading
import time

from harness import wire
from harness.cases import case
from harness.sluice import run_once


def draining(t, **process):
    conf = {"process": {"drain_idle": "300ms", "drain_timeout": "8s", **process}}
    return t.sluice(conf=conf)


@case(needs="sluice")
def without_clients_term_ends_soon_with_0(t):
    s = draining(t)
    start = time.monotonic()
    assert s.stop(signal.SIGTERM, 10) == 0
    assert time.monotonic() - start < 5


@case(needs="sluice", each=["TERM", "QUIT"])
def readyz_fails_at_once_and_clients_are_served_on(t, name):
    s = draining(t, drain_timeout="15s", drain_idle="2s")
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 1 WHERE id = 1")
    s.process.signal(getattr(signal, "SIG" + name))
    t.until("/readyz to fail", lambda: s.get("/readyz")[0] == 503)
    assert s.get("/livez")[0] == 200
    late = wire.Client(s.address, db="app")
    assert late.value("SELECT 'late'") == "late", "FPM connects late in its own requests"
    late.quit()
    c.query("COMMIT")
    assert t.db.admin.value("SELECT n FROM app.counters WHERE id = 1") == "1"
    c.quit()
    assert s.process.wait(20) == 0
    s.ended = 0


@case(needs="sluice")
def a_second_term_changes_nothing(t):
    s = draining(t)
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 1 WHERE id = 1")
    s.process.signal(signal.SIGTERM)
    t.until("/readyz to fail", lambda: s.get("/readyz")[0] == 503)
    s.process.signal(signal.SIGTERM)
    c.query("COMMIT")
    c.quit()
    assert s.stop(signal.SIGTERM, 20) == 0
    assert t.db.admin.value("SELECT n FROM app.counters WHERE id = 1") == "1"


@case(needs="sluice")
def idle_clients_get_no_packet_and_the_next_command_1053(t):
    s = draining(t)
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SELECT 1")
    busy = wire.Client(s.address, db="app")
    t.defer(busy.close)
    busy.query("BEGIN")
    busy.query("SELECT n FROM counters")
    s.process.signal(signal.SIGTERM)
    # The listener closes drain_idle after the last activity, or near the end of drain_timeout.
    t.until("the listeners to close", lambda: refused(s), 15)
    try:
        c.query("SELECT 2")
    except wire.ServerError as e:
        assert (e.errno, e.sqlstate, e.seq) == (1053, "08S01", 1) and e.text.startswith("sluice: "), e
    except (wire.Gone, OSError):
        pass  # closed, without a packet of its own accord
    else:
        raise AssertionError("a command was served after the drain")
    busy.query("COMMIT")
    assert s.process.wait(20) == 0
    s.ended = 0


def refused(s):
    try:
        wire.open_socket(s.address, 2).close()
        return False
    except OSError:
        return True


@case(needs="sluice")
def under_load_no_transaction_is_lost(t):
    s = draining(t)
    done, failures, stop = [], [], threading.Event()

    def work(k):
        n = 0
        while not stop.is_set():
            try:
                c = wire.Client(s.address, db="app", timeout=20)
            except (OSError, wire.Gone, wire.ServerError):
                break  # listeners are closed: the end
            try:
                c.query("BEGIN")
                c.query(f"UPDATE counters SET n = n + 1 WHERE id = {k}")
                c.query("COMMIT")
                n += 1
                c.quit()
            except wire.ServerError as e:
                if e.errno != 1053:
                    failures.append(str(e))
                break
            except (OSError, wire.Gone) as e:
                failures.append(repr(e))
                break
        done.append(n)
    workers = [t.background(work, k) for k in range(1, 9)]
    t.until("some work", lambda: int(t.db.admin.value("SELECT SUM(n) FROM app.counters")) > 100)
    s.process.signal(signal.SIGTERM)
    for w in workers:
        w.result(30)
    stop.set()
    assert s.process.wait(20) == 0
    s.ended = 0
    assert not failures, failures
    assert int(t.db.admin.value("SELECT SUM(n) FROM app.counters")) == sum(done)


@case(needs="sluice")
def a_client_that_never_ends_is_cut_at_the_timeout(t):
    s = draining(t, drain_timeout="4s")
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("BEGIN")
    c.query("UPDATE counters SET n = 1 WHERE id = 1")
    start = time.monotonic()
    s.process.signal(signal.SIGTERM)
    t.until("/readyz to fail", lambda: s.get("/readyz")[0] == 503)
    assert c.value("SELECT n FROM counters WHERE id = 1") == "1", "it is served until then"
    assert s.process.wait(20) == 0
    s.ended = 0
    assert time.monotonic() - start < 8
    t.until("its transaction to be rolled back", lambda: not t.db.processes("app"))
    assert t.db.admin.value("SELECT n FROM app.counters WHERE id = 1") == "0"


@case(needs="sluice")
def int_ends_at_once(t):
    s = draining(t)
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("BEGIN")
    start = time.monotonic()
    assert s.stop(signal.SIGINT, 10) == 0
    assert time.monotonic() - start < 2


@case(needs="sluice")
def the_unix_socket_is_gone_after_the_end(t):
    s = draining(t)
    s.stop()
    assert not (s.dir / "m").exists()


@case(needs="sluice", each=["http", "command"])
def drain_may_be_asked_for_by(t, way):
    s = draining(t)
    if way == "http":
        assert s.http("POST", "/drain")[0] in (200, 202)
    else:
        done = run_once("drain", "--admin-listen", f"127.0.0.1:{s.admin_port}")
        assert done.returncode == 0, done
    assert s.process.wait(15) == 0
    s.ended = 0


@case(needs="sluice", each=["syntax", "unknown key", "bad value", "bad certificate"])
def a_reload_of_a_bad_file_changes_nothing(t, what):
    s = t.sluice(conf={"mysql": {"pool_max": 2}})
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SELECT 1")
    if what == "syntax":
        s.write_conf("mysql = { listen = ")
    elif what == "unknown key":
        s.conf["mysql"]["pool_maximum"] = 9
        s.write_conf()
    elif what == "bad value":
        s.conf["mysql"]["pool_max"] = -4
        s.write_conf()
    else:
        s.conf["mysql"].update(listen_tls_cert=str(s.dir / "none.pem"), listen_tls_key=str(s.dir / "none.pem"))
        s.write_conf()
    code, body = s.http("POST", "/reload")
    assert code == 422 and body.strip(), (code, body)
    s.process.signal(signal.SIGHUP)
    t.until("the metric to tell", lambda: s.metric("sluice_config_reload_success") == 0)
    assert c.value("SELECT 1") == "1"
    assert s.pools()[0]["max"] == 2
    assert wire.Client(s.address).value("SELECT 1") == "1"


@case(needs="sluice", each=["HUP", "http"])
def a_reload_takes_effect_without_losing_clients(t, way):
    s = t.sluice(conf={"mysql": {"pool_max": 2}})
    c = wire.Client(s.address, db="app")
    t.defer(c.close)
    c.query("SET @pinned = 1")
    s.conf["mysql"]["pool_max"] = 5
    s.write_conf()
    if way == "HUP":
        s.process.signal(signal.SIGHUP)
    else:
        assert s.http("POST", "/reload")[0] == 200
    t.until("the new limit", lambda: s.pools()[0]["max"] == 5)
    assert c.value("SELECT @pinned") == "1"
    assert s.metric("sluice_config_reload_success") == 1
