#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MariaDB's own test suite through Sluice. Usage: run.py --help; README.md has the rest.

One line a test, `ok`, `FAILED` or `skipped: why`, then the proofs that every session came from Sluice, and last
`N passed, M failed, K skipped`. Exit status: 0, or 1 when something failed, or 2 when nothing could be run."""
import argparse
import fnmatch
import pathlib
import shutil
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import procs, sluice  # noqa: E402

import neighbour  # noqa: E402
import proof  # noqa: E402
import suite  # noqa: E402
from server import Server  # noqa: E402

# A run takes a minute or two; a machine that does other things as well may need longer.
RUN_LIMIT_S = 900
NEEDED, OF = 142, 147
# Two tests wait until the server has no more sessions than when they began: a pool that is larger since then shrinks.
CONF = {"min_idle": 0, "idle_timeout": "1s"}


def names_of(path):
    lines = [x for x in (HERE / path).read_text().splitlines() if x and not x.startswith("#")]
    return {x.split(None, 1)[0]: (x.split(None, 1)[1:] or [""])[0].strip() for x in lines}


class Report:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def ok(self, name, text=""):
        self.passed += 1
        print(f"ok       {name}{text and f'  ({text})'}", flush=True)

    def bad(self, name, text):
        self.failed += 1
        print(f"FAILED   {name}\n    " + text.strip().replace("\n", "\n    "), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped: {name}: {why}", flush=True)

    def check(self, name, wrong, text=""):
        if wrong:
            self.bad(name, str(wrong))
        else:
            self.ok(name, text)

    def total(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0


class Stage:
    """A server, with or without a Sluice in front of it, and one run of mtr."""

    def __init__(self, direct, disturbed):
        self.direct, self.disturbed = direct, disturbed
        procs.WORK.mkdir(parents=True, exist_ok=True)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mtr.", dir=procs.WORK))
        self.vardir = self.dir / "var"
        (self.vardir / "log").mkdir(parents=True)
        # Unix socket paths are at most 107 bytes. mkdtemp's directories are closed to others.
        self.server_dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-db-"))
        self.front_dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-m-"))
        self.db = Server(self.vardir, self.server_dir, tcp=direct)
        self.sluice = None

    def start(self, mtr_dir):
        self.db.make(mtr_dir)
        if self.direct:
            return
        self.before = self.db.status("Connections")
        self.sluice = sluice.Sluice(self.front_dir / "s", f"mysql+unix://{self.db.sock}", conf={"mysql": CONF})

    def counts(self):
        """Connections since Sluice's start: what the server counted, what Sluice opened. Again, while Sluice is about
        to open one."""
        def both():
            counted = self.db.status("Connections") - self.before
            return counted, int(self.sluice.metric("sluice_backend_connects_total"))
        try:
            return procs.until("two equal counts", lambda: (c := both())[0] == c[1] and c, 3, 0.1)
        except procs.Timeout:
            return both()

    def run(self, mtr_dir, names):
        front = self.db if self.direct else self.sluice
        argv = suite.arguments(front.sock, front.port, "root", self.vardir, self.front_dir / "tmp")
        if self.disturbed:
            self.db.admin.query(neighbour.TABLE)
            other = neighbour.Neighbour(front.sock)
        try:
            return suite.Run(mtr_dir, names, argv, self.dir / "mtr.log", RUN_LIMIT_S)
        finally:
            if self.disturbed:
                other.stop()
                print(f"meanwhile a neighbour came {other.clients} times, with {other.statements} statements",
                      flush=True)

    def end(self, keep):
        """Returns what was wrong with Sluice's end, and where the logs are, when they are kept."""
        complaint = self.sluice.finish() if self.sluice else None
        if self.sluice:
            shutil.copy(self.sluice.process.log_path, self.dir / "sluice.log")
        self.db.stop(signal.SIGKILL)
        for folder in (self.server_dir, self.front_dir, self.db.data, self.vardir / "std_data"):
            shutil.rmtree(folder, ignore_errors=True)
        if not keep and not complaint:
            shutil.rmtree(self.dir, ignore_errors=True)
            return complaint, None
        kept = procs.WORK / "mtr" / ("direct" if self.direct else "sluice")
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        self.dir.rename(kept)
        return complaint, kept


def prove(stage, report):
    """That what was tested is Sluice, asked of the server."""
    db = stage.db
    report.check("proof: the server listens on one socket, which sluice alone was told of",
                 proof.listens_for_sluice_only(db))
    sessions = proof.Sessions(db.general_log)
    strangers = sessions.strangers()
    report.check("proof: each session in the server's log begins with sluice's questions",
                 strangers or not sessions.first and "the log has no session at all",
                 f"{len(sessions.first)} sessions, {len(sessions.refused)} logins refused, for "
                 f"{int(stage.sluice.metric('sluice_clients_total'))} clients")
    counted, opened = stage.counts()
    report.check("proof: the server counted as many connections as sluice opened",
                 counted != opened and f"the server counted {counted}, sluice {opened}", f"{opened} connections")
    n, others = proof.present(db)
    report.check("proof: each session there is now says that it is sluice", others, f"{n} sessions")


def settled(stage, report):
    """That the tests left nothing behind in Sluice."""
    try:
        procs.until("no client and no pin to be left", lambda: not stage.sluice.pinned() and
                    stage.sluice.metric("sluice_clients") == 0)
        report.ok("no pin is left")
    except procs.Timeout as e:
        report.bad("no pin is left", str(e))


def judge(verdicts, names, known, direct, report):
    """One verdict a test. direct(names): the verdicts without Sluice, for those that failed for no known reason."""
    puzzling = [n for n in names if verdicts[n][0] == "fail" and n not in known]
    without = direct(puzzling) if puzzling and direct else {}
    for name in names:
        verdict, text = verdicts[name]
        if verdict == "pass":
            report.ok(name, "known.list says that it cannot" if name in known and direct else "")
        elif verdict != "fail":
            report.skip(name, text)
        elif without.get(name, ("pass",))[0] != "pass":
            report.skip(name, "fails without sluice, too")
        elif name in known and direct:
            report.skip(name, known[name])
        else:
            report.bad(name, text)


def arguments():
    p = argparse.ArgumentParser(description="MariaDB's own test suite through Sluice (SLUICE=PATH: another binary).")
    p.add_argument("-k", action="append", metavar="PATTERN", help="only tests whose name holds PATTERN")
    p.add_argument("--list", action="store_true", help="print the tests and end")
    p.add_argument("--direct", action="store_true", help="no proxy: is it the test, or Sluice?")
    p.add_argument("--neighbour", action="store_true", help="beside them a client that moves all state, all the time")
    p.add_argument("--keep", action="store_true", help="keep logs, also when all is well")
    return p.parse_args()


def missing(options):
    if not Server.binary():
        return "there is no mariadbd here (make deps)"
    if not suite.folder():
        return "there is no mysql-test here (make deps)"
    if not options.direct and not sluice.binary().exists():
        return f"there is no {sluice.binary()}"
    return None


def staged(names, direct, options, report=None):
    """Starts, runs, proves, ends. The run's verdicts; the proofs go to the report."""
    stage = Stage(direct, options.neighbour and not direct)
    keep = True
    try:
        stage.start(suite.folder())
        run = stage.run(suite.folder(), names)
        if not direct:
            settled(stage, report)
            prove(stage, report)
        keep = options.keep or any(v[0] == "fail" for v in run.verdicts.values()) or report and report.failed
    finally:
        complaint, kept = stage.end(keep)
    if not direct:
        report.check("sluice ends well", complaint)
    good = sum(v[0] == "pass" for v in run.verdicts.values())
    print(f"{'direct' if direct else 'through sluice'}: {good} of {len(names)} tests pass ({run.seconds:.0f} s)"
          + (f"; logs: {kept}" if kept else ""), flush=True)
    return run.verdicts


def main():
    options = arguments()
    known = names_of("known.list")
    assert len(known) <= OF - NEEDED, f"known.list excuses {len(known)} tests"
    names = [n for n in names_of("main.list")
             if not options.k or any(k in n or fnmatch.fnmatch(n, k) for k in options.k)]
    if options.list:
        print("\n".join(names))
        return 0
    report = Report()
    why = missing(options)
    if why or not names:
        print(why or "no test has such a name", file=sys.stderr)
        for name in names:
            report.skip(name, why)
        report.total()
        return 2
    there = [n for n in names if (suite.folder() / "main" / f"{n.removeprefix('main.')}.test").exists()]
    for name in set(names) - set(there):
        report.skip(name, "this mysql-test does not have it")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    verdicts = staged(there, options.direct, options, report)
    direct = None if options.direct else lambda some: staged(some, True, options)
    judge(verdicts, there, known, direct, report)
    if len(there) == OF:
        good = sum(v[0] == "pass" for v in verdicts.values())
        report.check(f"at least {NEEDED} of {OF} pass", good < NEEDED and f"{good} pass", f"{good} pass")
    return report.total()


if __name__ == "__main__":
    sys.exit(main())
