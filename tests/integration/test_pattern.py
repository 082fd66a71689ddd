# SPDX-License-Identifier: Apache-2.0
"""The daily life of PHP-FPM, at scale: thousands of requests, each with a new connection, some of which die."""
import json
import random
import threading

from harness.cases import case

REQUESTS, CHILDREN = 5000, 64
USERS, FLAGS = 2, 2
POOL_MAX, RESERVED = 6, 1
RESIDENTS = 20


def drive(t, fpm, seed):
    """Sends the requests by CHILDREN threads. Returns (answers, number of those that died, failures)."""
    rng = random.Random(seed)
    kinds = ["plain"] * 9 + ["leave"]
    todo = [(n, rng.choice(kinds), rng.choice(["trx", "temp", "lock"]), rng.choice(["exit", "kill"]))
            for n in range(REQUESTS)]
    answers, failures, died = [], [], []
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not todo or len(failures) > 5:
                    return
                n, kind, what, how = todo.pop()
            query = f"n={n}&kind={kind}&what={what}&how={how}"
            try:
                got = fpm.json("request.php", query)
                with lock:
                    answers.append(got)
            except ConnectionError:
                with lock:
                    (died if kind == "leave" and how == "kill" else failures).append(query)
            except Exception as e:
                with lock:
                    failures.append(f"{query}: {e!r}"[:600])
    workers = [t.background(work) for _ in range(CHILDREN)]
    for w in workers:
        w.result(150)
    return answers, len(died), failures


@case()
def five_thousand_fpm_requests_each_find_a_fresh_session(t):
    f = t.front(pool_max=POOL_MAX, queue_timeout="30s", reserved=RESERVED)
    fpm = t.fpm(CHILDREN, front=f)
    before = t.db.status("Connections")
    answers, died, failures = drive(t, fpm, seed=7)
    moved = t.db.status("Connections") - before
    assert not failures, failures[:3]
    wrong = [a for a in answers if a["wrong"]]
    assert not wrong, wrong[:3]
    assert len(answers) + died == REQUESTS
    t.until("the locks of those who died to be free", lambda: all(
        t.db.admin.value(f"SELECT IS_FREE_LOCK('lk{i}')") == "1" for i in range(10)))
    t.until("their transactions to be rolled back", lambda: counted(t) == sum(a["counted"] for a in answers))
    if f.sluice:
        # Each user's first login is proved by one connection, and refused once with a random password.
        assert moved <= POOL_MAX * USERS * FLAGS + RESERVED + 2 * USERS, f"{moved} connections for {REQUESTS} requests"
        t.until("all clients to be gone", lambda: f.sluice.status()["mysql"]["clients"] == 0)
        t.until("no pin to be left", lambda: not f.sluice.pinned())


@case(needs="sluice")
def processes_that_keep_their_connections_are_each_served_within_a_second(t):
    f = t.front(pool_max=2, min_idle=0)
    go = t.dir / "go"
    processes = [t.php_start("resident.php", front=f, NUMBER=n, GO=go) for n in range(RESIDENTS)]
    t.until("all requests to be served", lambda: all("served" in p.log() for p in processes), 60)
    assert f.sluice.status()["mysql"]["clients"] >= RESIDENTS
    assert len(t.db.processes("app")) <= 2
    go.write_text("")
    assert [p.wait(30) for p in processes] == [0] * RESIDENTS, processes[0].log()
    answers = [json.loads(p.log().strip().splitlines()[-1]) for p in processes]
    assert all(a["right"] for a in answers), answers
    # The second is the promise itself, and some fifty times what it takes.
    assert max(a["seconds"] for a in answers) < 1, sorted(a["seconds"] for a in answers)


def counted(t):
    return int(t.db.admin.value("SELECT SUM(n) FROM app.counters"))
