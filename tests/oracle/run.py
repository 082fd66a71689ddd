#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle test's driver. Usage: run.py --help; README.md has the rest.

Each script runs twice on the same data, direct and through Sluice with hostile neighbours, and each step's answers are
compared. Exit status: 0, 1 when a script failed, 2 when nothing could be run."""
import argparse
import faulthandler
import fnmatch
import importlib
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import procs, sluice  # noqa: E402
import oracle  # noqa: E402
import script as scripts  # noqa: E402


def load():
    for path in sorted((HERE / "scripts").glob("*.py")):
        scripts.area(path.stem)
        importlib.import_module(f"scripts.{path.stem}")
    return scripts.ALL


def modes_of(s, wanted):
    plain = any(step.verb == "query" for step in s.steps)
    return [m for m in s.modes if m in wanted and (m == "text" or plain or s.modes == ["prepared"])]


class Tally:
    def __init__(self):
        self.scripts = self.steps = self.wrong = self.refused = self.passed = self.failed = self.skipped = 0


class Report:
    """Counts for each server, and prints."""

    def __init__(self, verbose):
        self.verbose = verbose
        self.tallies = {}
        self.refusals, self.failures = {}, []

    def add(self, flavour, s, verdicts, trouble, seconds):
        t = self.tallies.setdefault(flavour, Tally())
        t.scripts += 1
        t.steps += sum(v.steps for v in verdicts)
        t.wrong += sum(len(v.wrong) for v in verdicts)
        t.refused += sum(len(v.refused) + len(v.forbidden) for v in verdicts)
        for v in verdicts:
            for _, step, text in v.refused:
                self.refusals.setdefault((s.name, step, text), set()).add(f"{flavour} {v.mode}")
        bad = [v for v in verdicts if v.bad]
        if trouble or bad:
            t.failed += 1
            self.failures.append(f"{flavour} {s.area}.{s.name}")
        else:
            t.passed += 1
        # In one write, so that two servers' lines do not mix.
        lines = []
        if trouble or bad or self.verbose:
            lines.append(f"{'FAILED' if trouble or bad else 'ok':<8}{flavour:<8} {s.area}.{s.name} ({seconds:.1f} s)")
        for v in bad:
            lines.append(f"    {v.mode}:\n    " + v.text().replace("\n", "\n    "))
        if trouble:
            lines.append("    " + trouble.strip().replace("\n", "\n    "))
        if lines:
            print("\n".join(lines), flush=True)

    def skip(self, flavour, n, why):
        self.tallies.setdefault(flavour, Tally()).skipped += n
        print(f"*** NO {flavour}: {n} scripts are skipped: {why}", flush=True)

    def end(self):
        for (name, step, text), where in sorted(self.refusals.items()):
            print(f"refused: {name}: {step}\n    {text}  [{', '.join(sorted(where))}]")
        for name in self.failures:
            print(f"failed: {name}")
        for flavour, t in self.tallies.items():
            print(f"{flavour}: {t.scripts} scripts, {t.steps} steps, {t.wrong} wrong, {t.refused} refused")
        total = [sum(getattr(t, k) for t in self.tallies.values()) for k in ("passed", "failed", "skipped")]
        print("{} passed, {} failed, {} skipped".format(*total))
        return 1 if total[1] or not total[0] else 0


def run_lane(lane, chosen, options, report):
    """A Sluice ends with the thread that started it, so it is also ended here."""
    walk_scripts(lane, chosen, options, report)
    for complaint in lane.finish():
        report.failures.append(f"{lane.flavour}: {complaint}")
        report.tallies[lane.flavour].failed += 1


def known():
    """Scripts whose answers are known to be wrong, with the reason: `area.name reason` a line. They are counted as
    skipped; --known runs them too."""
    lines = (HERE / "known.txt").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def walk_scripts(lane, chosen, options, report):
    skips = {} if options.known else known()
    for s in chosen:
        if f"{s.area}.{s.name}" in skips:
            report.tallies.setdefault(lane.flavour, Tally()).skipped += 1
            print(f"skipped: {lane.flavour:<8} {s.area}.{s.name}: {skips[f'{s.area}.{s.name}']}", flush=True)
            continue
        start = time.monotonic()
        verdicts, trouble = [], ""
        try:
            for mode in modes_of(s, options.mode):
                verdicts.append(lane.judge(s, mode))
        except Exception:
            trouble = traceback.format_exc(limit=-5)
        if not trouble:
            trouble = ended(lane)
        if trouble:
            lane.recover()
        report.add(lane.flavour, s, verdicts, trouble, time.monotonic() - start)
        if options.stop and report.failures:
            return


def ended(lane):
    """What to say of a Sluice that ended by itself, or complained of memory."""
    for s in lane.sluices.values():
        if not s.process.running() or sluice.SANITIZER.search(s.log()):
            return f"sluice ended by itself{s.complaint()}"
    return ""


def choose(options):
    out = [s for s in load() if not options.k or any(
        p in f"{s.area}.{s.name}" or fnmatch.fnmatch(s.name, p) for p in options.k)]
    return {f: [s for s in out if f in s.on] for f in oracle.KINDS if options.backend in (f, "all")}


def arguments():
    p = argparse.ArgumentParser(description="Sluice against a direct connection, step by step.")
    p.add_argument("-k", action="append", metavar="PATTERN", help="only scripts whose area.name holds PATTERN")
    p.add_argument("--list", action="store_true", help="print the scripts and end")
    p.add_argument("--backend", choices=["mariadb", "mysql9", "all"], default="all")
    p.add_argument("--mode", choices=["text", "prepared", "both"], default="both")
    p.add_argument("--direct", action="store_true", help="no proxy: are the scripts the same twice?")
    p.add_argument("-j", type=int, default=1, metavar="N", help="1: one server after the other; 2: side by side")
    p.add_argument("-v", "--verbose", action="store_true", help="a line for each script, not only for failures")
    p.add_argument("--known", action="store_true", help="also the scripts of known.txt, which are known to fail")
    p.add_argument("-x", "--stop", action="store_true", help="stop at the first failure")
    options = p.parse_args()
    options.mode = ["text", "prepared"] if options.mode == "both" else [options.mode]
    return options


def side_by_side(flavours):
    """A process for each server: this program once more. Its lines are passed on, its counts added up."""
    argv = [a for a in sys.argv if a not in ("-j2", "-j", "2")]
    children = [subprocess.Popen([sys.executable, *argv, "--backend", f], stdout=subprocess.PIPE, text=True)
                for f in flavours]
    lock, last = threading.Lock(), {}

    def pass_on(child):
        for line in child.stdout:
            if re.fullmatch(r"\d+ passed, \d+ failed, \d+ skipped\n", line):
                last[child.pid] = [int(w) for w in re.findall(r"\d+", line)]
                continue
            with lock:
                print(line, end="", flush=True)
    threads = [threading.Thread(target=pass_on, args=(c,)) for c in children]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = [c.wait() for c in children]
    total = [sum(c) for c in zip(*last.values())] or [0, 1, 0]
    print("{} passed, {} failed, {} skipped".format(*total))
    return max(codes, key=abs)


def run_all(chosen, options, report):
    with oracle.Servers() as s:
        for flavour, some in chosen.items():
            lane, why = s.lane(flavour, direct=options.direct) if some else (None, None)
            if why:
                report.skip(flavour, len(some), why)
            elif lane:
                run_lane(lane, some, options, report)


def main():
    options = arguments()
    faulthandler.enable()
    chosen = choose(options)
    if options.list:
        for s in scripts.ALL:
            if any(s in some for some in chosen.values()):
                print(f"{s.area}.{s.name}  [{' '.join(s.on)}] [{' '.join(modes_of(s, options.mode))}]")
        return 0
    if not any(chosen.values()):
        print("no script has such a name", file=sys.stderr)
        return 2
    if not options.direct and not sluice.binary().exists():
        print(f"there is no {sluice.binary()}", file=sys.stderr)
        return 2
    if options.j > 1 and sum(map(bool, chosen.values())) > 1:
        return side_by_side(chosen)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = Report(options.verbose)
    run_all(chosen, options, report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
