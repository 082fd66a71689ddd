#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The integration tests' driver. Usage: run.py --help; tests/README.md has the rest.

Prints one line a case, `ok`, `FAILED` or `skipped: why`, and last `N passed, M failed, K skipped`.
Exit status: 0, or 1 when a case failed, or 2 when nothing could be run."""
import argparse
import faulthandler
import fnmatch
import importlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import cases, procs, servers, sluice, wire  # noqa: E402

CASE_LIMIT_S = 180
KINDS = {"mariadb": servers.MariaDB, "mysql9": servers.Mysql9}


class Report:
    """Counts, and prints from both lanes without mixing lines."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed, self.failed, self.skipped = 0, [], 0
        self.reasons = {}

    def line(self, verdict, where, name, seconds=None, text=""):
        with self.lock:
            took = f" ({seconds:.1f} s)" if seconds and seconds >= 0.5 else ""
            print(f"{verdict:<9}{where:<8} {name}{took}{text}", flush=True)

    def ok(self, where, name, seconds):
        self.passed += 1
        self.line("ok", where, name, seconds)

    def bad(self, where, name, seconds, text):
        self.failed.append(f"{where} {name}")
        self.line("FAILED", where, name, seconds, "\n    " + text.strip().replace("\n", "\n    "))

    def skip(self, where, name, why):
        self.skipped += 1
        self.reasons[why] = self.reasons.get(why, 0) + 1
        self.line("skipped:", where, name, text=f": {why}")


class Watchdog:
    """Ends the whole run, with each thread's stack, when one case takes far too long."""

    def __init__(self, report):
        self.report = report
        self.since = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while True:
            time.sleep(1)
            for lane, (name, start) in list(self.since.items()):
                if time.monotonic() - start > CASE_LIMIT_S:
                    print(f"FAILED  {lane:<8} {name}: no end after {CASE_LIMIT_S} s; the run stops here", flush=True)
                    faulthandler.dump_traceback()
                    procs.end_all()
                    r = self.report
                    print(f"{r.passed} passed, {len(r.failed) + 1} failed, {r.skipped} skipped", flush=True)
                    os._exit(1)


class Lane:
    """The cases of one server, in order."""

    def __init__(self, flavour, chosen, options, report, watchdog):
        self.flavour, self.chosen, self.options = flavour, chosen, options
        self.report, self.watchdog = report, watchdog
        self.db = None

    def start(self, run_dir, sock_dir, certs):
        """Starts the server; why not, when it cannot be."""
        if self.flavour == "none" or not self.chosen:
            return None
        kind = KINDS[self.flavour]
        why = kind.absent()
        if why:
            return why
        self.db = kind(run_dir, sock_dir, certs)
        self.db.prepare()
        self.db.start()
        return None

    def run(self):
        for case in self.chosen:
            if case.needs == "sluice" and (self.options.direct or not sluice.binary().exists()):
                why = "needs sluice" + ("" if self.options.direct else f", and there is no {sluice.binary()}")
                self.report.skip(self.flavour, case.name, why)
                continue
            if case.later and not self.options.direct:
                self.report.skip(self.flavour, case.name, f"not yet: {case.later}")
                continue
            self.one(case)
            if self.options.stop and self.report.failed:
                return

    def one(self, case):
        start = time.monotonic()
        self.watchdog.since[self.flavour] = (case.name, start)
        kept = procs.WORK / "failed" / f"{self.flavour}-{case.name}".replace("/", "_")
        t = cases.Test(self.db, self.options.direct, kept)
        trouble, skipped = "", None
        try:
            self.ready()
            case.run(t)
        except cases.Skip as e:
            skipped = str(e)
        except Exception:
            trouble = traceback.format_exc(limit=-4)
        wrong = t.finish()
        del self.watchdog.since[self.flavour]
        seconds = time.monotonic() - start
        trouble += "\n".join(wrong)
        if trouble:
            t.keep()
            self.report.bad(self.flavour, case.name, seconds, f"{trouble}\nits files: {kept}")
        elif skipped:
            self.report.skip(self.flavour, case.name, skipped)
        else:
            self.report.ok(self.flavour, case.name, seconds)
        t.remove()

    def ready(self):
        """The server as the template has it, also after a case that left it stopped, frozen or dead."""
        if self.db is None:
            return
        if not self.db.process.running():
            self.db.start()
        self.db.thaw()
        try:
            self.db.clean()
        except (OSError, wire.Gone, wire.ServerError):
            self.db.forget_admin()
            self.db.restart()
            self.db.clean()


def choose(options):
    for path in sorted(HERE.glob("test_*.py")):
        importlib.import_module(path.stem)
    wanted = {"all": ["mariadb", "mysql9"]}.get(options.backend, [options.backend])
    lanes = {f: [] for f in ["none", *wanted]}
    for c in cases.ALL:
        if options.k and not any(p in c.name or fnmatch.fnmatch(c.name, p) for p in options.k):
            continue
        for flavour in c.on:
            if flavour in lanes:
                lanes[flavour].append(c)
    return {f: chosen for f, chosen in lanes.items() if chosen}


def arguments():
    p = argparse.ArgumentParser(description="Sluice's integration tests.")
    p.add_argument("-k", action="append", metavar="PATTERN", help="only cases whose name holds PATTERN (or matches it)")
    p.add_argument("--list", action="store_true", help="print the cases and end")
    p.add_argument("--backend", choices=["mariadb", "mysql9", "all"], default="all")
    p.add_argument("--direct", action="store_true", help="no proxy: clients connect to the servers")
    p.add_argument("-j", type=int, default=1, metavar="N", help="1: one server after the other; 2: side by side")
    p.add_argument("-x", "--stop", action="store_true", help="stop at the first failure")
    return p.parse_args()


def run_lanes(lanes, options, report):
    watchdog = Watchdog(report)
    procs.WORK.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(procs.WORK / "failed", ignore_errors=True)
    run_dir = pathlib.Path(tempfile.mkdtemp(prefix="run.", dir=procs.WORK))
    # A unix socket's path has at most 107 bytes, and the build directory may lie deep.
    sock_dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-db-"))
    ready = []
    try:
        certs = run_dir / "certs"
        certs.mkdir()
        if any(f != "none" for f in lanes):
            servers.make_certificates(certs)
        for flavour, chosen in lanes.items():
            lane = Lane(flavour, chosen, options, report, watchdog)
            why = lane.start(run_dir, sock_dir, certs)
            if why:
                print(f"\n*** NO {flavour}: {len(chosen)} cases are skipped: {why}\n", flush=True)
                for c in chosen:
                    report.skip(flavour, c.name, why.splitlines()[0][:120])
            else:
                ready.append(lane)
        walk(ready, options.j)
    finally:
        for lane in ready:
            if lane.db:
                lane.db.stop(signal.SIGKILL)
        procs.end_all()
        shutil.rmtree(run_dir, ignore_errors=True)
        shutil.rmtree(sock_dir, ignore_errors=True)


def walk(lanes, side_by_side):
    if side_by_side < 2:
        for lane in lanes:
            lane.run()
        return
    threads = [threading.Thread(target=lane.run) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    options = arguments()
    faulthandler.enable()
    lanes = choose(options)
    if options.list:
        for flavour, chosen in lanes.items():
            for c in chosen:
                print(f"{flavour:<8} {c.name}{'  (needs sluice)' if c.needs else ''}")
        return 0
    if not lanes:
        print("no case has such a name", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = Report()
    run_lanes(lanes, options, report)
    for why, n in report.reasons.items():
        print(f"skipped {n}: {why}")
    for name in report.failed:
        print(f"failed: {name}")
    print(f"{report.passed} passed, {len(report.failed)} failed, {report.skipped} skipped")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
