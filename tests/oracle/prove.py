#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle proven: a Sluice that breaks one of its rules must be found out. Usage: SLUICE=build/break/sluice prove.py.

Such a build lists its rules by `sluice --version`, one a line, `rule NAME`; the environment variable SLUICE_BREAK_RULE
breaks one. For each rule scripts run until one fails that passes when nothing is broken; a rule that no script misses
is a failure. The scripts whose names have most words in common with the rule's come first, or those named in FIRST."""
import argparse
import fnmatch
import pathlib
import re
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import sluice  # noqa: E402
import oracle  # noqa: E402
import run  # noqa: E402

# rule: patterns of the scripts that are likely to miss it, the likeliest first. Words of a rule's name that are no words
# of scripts' names stand in SAME.
FIRST = {}
SAME = {"last": ["lastid"], "insert": ["lastid"], "insert_id": ["lastid"], "identity": ["lastid"], "fingerprint": ["var", "names"],
        "variables": ["var"], "charset": ["names", "charset"], "collation": ["names", "charset"], "warnings": ["warnings"],
        "autocommit": ["trx", "autocommit"], "begin": ["begin", "trx"], "deferred": ["begin", "trx"], "deferral": ["begin"],
        "transaction": ["trx", "begin", "end"], "schema": ["schema"], "database": ["schema"], "use": ["schema"],
        "row": ["row", "count"], "found": ["found"], "user": ["uservar"], "variable": ["uservar", "var"], "temp": ["temp"],
        "temporary": ["temp"], "lock": ["lock", "get"], "types": ["types", "untyped"], "statement": ["prepared"],
        "prepare": ["prepared"], "ddl": ["ddl"], "metadata": ["ddl", "prepared"], "reset": ["reset", "ends"], "kill": ["kill"],
        "long": ["long"], "cursor": ["cursor"], "mark": ["mark"], "request": ["mark"], "multi": ["multi"], "ping": ["ping", "command"],
        "baseline": ["global", "fresh"], "global": ["global"], "one": ["one", "shot", "volatile"], "pins": ["pins"], "role": ["role"],
        "null": ["null"], "call": ["call", "procedure"], "routine": ["call", "function"], "trigger": ["trigger"], "names": ["names"],
        "key": ["binds"], "local": ["after", "cleared"], "snapshot": ["snapshot"], "isolation": ["isolation"], "text": ["text"]}


def rules():
    out = sluice.run_once("--version").stdout
    return re.findall(r"^rule (\S+)", out, re.M)


def ordered(rule, some):
    """The likely scripts first; then the others, spread over the areas."""
    patterns = FIRST.get(rule, [])
    words = set(re.split(r"[_-]", rule))
    words |= {s for w in words for s in SAME.get(w, [])}

    def likely(s):
        for i, p in enumerate(patterns):
            if fnmatch.fnmatch(s.name, p):
                return (0, i)
        return (1, -len(words & set(s.name.split("_"))))
    rank = {s.name: i for i, s in enumerate(sorted(some, key=lambda s: (s.name[::-1])))}
    return sorted(some, key=lambda s: (likely(s), rank[s.name]))


class Prover:
    """One server, with a Sluice that keeps the rules and one for each rule that does not."""

    def __init__(self, servers, flavour):
        self.lane, self.why = servers.lane(flavour)
        self.flavour = flavour
        self.sound = {}

    def fails(self, s, mode, rule):
        """The first line that says what is wrong; None when nothing is."""
        if self.lane.env != ({"SLUICE_BREAK_RULE": rule} if rule else None):
            for key in list(self.lane.sluices):
                self.lane.drop(key)
            self.lane.env = {"SLUICE_BREAK_RULE": rule} if rule else None
        try:
            v = self.lane.judge(s, mode)
        except Exception:
            self.lane.recover()
            return traceback.format_exc(limit=-1).strip().splitlines()[-1]
        return v.text() if v.bad else None

    def catch(self, rule, some, seconds):
        """(script, mode, what it saw), or None."""
        end = time.monotonic() + seconds
        for s in ordered(rule, some):
            for mode in run.modes_of(s, ["text", "prepared"]):
                if time.monotonic() > end:
                    return None
                saw = self.fails(s, mode, rule)
                if saw and self.passes(s, mode):
                    return s, mode, saw
        return None

    def passes(self, s, mode):
        """With all rules kept; asked once for each."""
        if (s.name, mode) not in self.sound:
            self.sound[s.name, mode] = not self.fails(s, mode, None)
        return self.sound[s.name, mode]


def main():
    p = argparse.ArgumentParser(description="Breaks each of Sluice's rules, and looks whether a script notices.")
    p.add_argument("-k", action="append", metavar="PATTERN", help="only rules whose name holds PATTERN")
    p.add_argument("--backend", choices=["mariadb", "mysql9", "all"], default="all", help="all: until one of both catches it")
    p.add_argument("--seconds", type=float, default=180, help="for each rule and server")
    options = p.parse_args()
    names = [r for r in rules() if not options.k or any(k in r for k in options.k)]
    if not names:
        print(f"{sluice.binary()} lists no rules: it is no build that can break them", file=sys.stderr)
        return 2
    everything = run.load()
    caught = missed = 0
    with oracle.Servers() as servers:
        provers = [Prover(servers, f) for f in oracle.KINDS if options.backend in (f, "all")]
        provers = [p for p in provers if p.lane]
        for rule in names:
            start, found = time.monotonic(), None
            for prover in provers:
                found = prover.catch(rule, [s for s in everything if prover.flavour in s.on], options.seconds)
                if found:
                    break
            took = time.monotonic() - start
            if found:
                caught += 1
                s, mode, saw = found
                print(f"caught  {rule}: {s.area}.{s.name} ({prover.flavour}, {mode}, {took:.1f} s)\n"
                      f"        {saw.splitlines()[0][:160]}", flush=True)
            else:
                missed += 1
                print(f"MISSED  {rule}: no script noticed ({took:.0f} s)", flush=True)
    print(f"{caught} passed, {missed} failed, 0 skipped")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
