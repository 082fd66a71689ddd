#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle proven: a Sluice that breaks one of its rules must be found out.

`make break` builds it: its --version lists its rules, one a line, `rule NAME`, and the environment variable
SLUICE_BREAK_RULE breaks one. For each rule scripts run, those named in FIRST before the others, until one gets a wrong
answer that it does not get when nothing is broken. A refusal, a hang or an end of Sluice is no catch; a rule that no
script misses is a failure."""
import argparse
import multiprocessing
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import procs, sluice  # noqa: E402
import oracle  # noqa: E402
import run  # noqa: E402

os.environ.setdefault("SLUICE", str(procs.BUILD / "break" / "sluice"))

# rule: the server where it is looked for first, and the scripts that are known to miss it there.
FIRST = {
    "schema_restored": ("mariadb", "schema_use"),
    "charset_restored": ("mysql9", "charset_bytes_latin1"),
    "variables_restored": ("mariadb", "var_time_zone"),
    "sql_mode_tracked": ("mysql9", "var_sql_mode_kinds"),
    "last_insert_id_restored": ("mariadb", "lastid_of_two_clients"),
    "begin_carried": ("mysql9", "trx_error_inside"),
    "reset_clears_variables": ("mariadb", "reset_ends_time_zone"),
    "change_user_clears_state": ("mysql9", "change_user_ends_time_zone"),
    "dirty_is_reset": ("mariadb", "mark_ends_pins"),
    "transaction_pins": ("mysql9", "trx_savepoints"),
    "one_shot_pins": ("mariadb", "trx_one_shot"),
    "user_variable_pins": ("mysql9", "uservar_two_clients"),
    "temporary_table_pins": ("mariadb", "temp_two_and_one_dropped"),
    "named_lock_pins": ("mysql9", "get_lock"),
    "table_lock_pins": ("mariadb", "lock_tables"),
    "xa_pins": ("mariadb", "trx_xa"),
    "cursor_pins": ("mysql9", "prepared_cursor"),
    "long_data_sent": ("mariadb", "prepared_long_data_insert"),
    "last_state_own": ("mysql9", "row_count_kinds"),
    "warnings_own": ("mariadb", "warnings_show"),
    "connection_id_replaced": ("mysql9", "kill_query_of_bound_id"),
    "lexer_follows_sql_mode": ("mariadb", "var_sql_mode_no_backslash_lock"),
    "prepare_keyed_by_state": ("mysql9", "prepared_binds_schema"),
    "types_resent": ("mariadb", "prepared_untyped_second"),
}


def rules():
    out = sluice.run_once("--version").stdout
    return re.findall(r"^rule (\S+)", out, re.M)


def ordered(rule, some):
    """Those of FIRST; then the others, spread over the areas."""
    first = FIRST.get(rule, ("",))[1:]
    by_name = {s.name: s for s in some}
    return [by_name[n] for n in first if n in by_name] + sorted((s for s in some if s.name not in first), key=lambda s: s.name[::-1])


def strangers(listed):
    """What FIRST names and is not there."""
    scripts = {s.name: s for s in run.load()}
    out = [rule for rule in FIRST if rule not in listed]
    return out + [n for flavour, *names in FIRST.values() for n in names if n not in scripts or flavour not in scripts[n].on]


class Prover:
    """One server, with a Sluice before it that breaks one rule, or none."""

    def __init__(self, lane, everything):
        self.lane = lane
        self.some = [s for s in everything if lane.flavour in s.on]
        self.sound = {}

    def wrong(self, s, mode, rule):
        """The first wrong answer; None when there is none, and when it did not come to that."""
        env = {"SLUICE_BREAK_RULE": rule} if rule else None
        if self.lane.env != env:
            for key in list(self.lane.sluices):
                self.lane.drop(key)
            self.lane.env = env
        try:
            v = self.lane.judge(s, mode)
            trouble = run.ended(self.lane)
        except Exception as e:
            trouble = f"{type(e).__name__}: {e}"
        if not trouble:
            return "step {}: {}: {}".format(*v.wrong[0]) if v.wrong else None
        self.lane.recover()
        print(f"        {rule}: no catch by {s.name} ({mode}): {trouble.splitlines()[0][:100]}", flush=True)
        return None

    def is_sound(self, s, mode):
        """It gets no wrong answer while all rules are kept; asked once for each."""
        if (s.name, mode) not in self.sound:
            self.sound[s.name, mode] = not self.wrong(s, mode, None)
        return self.sound[s.name, mode]

    def catch(self, rule, seconds):
        """(script, mode, what it saw), or None."""
        end = time.monotonic() + seconds
        for s in ordered(rule, self.some):
            for mode in run.modes_of(s, ["text", "prepared"]):
                if time.monotonic() > end:
                    return None
                saw = self.wrong(s, mode, rule)
                if saw and self.is_sound(s, mode):
                    return s, mode, saw
        return None

    def prove_sound(self, names):
        """Beforehand, and with one Sluice: those that are likely to be asked for."""
        for rule in names:
            for s in self.some:
                if s.name in FIRST.get(rule, ())[1:]:
                    self.is_sound(s, run.modes_of(s, ["text", "prepared"])[0])


def prove(flavour, names, seconds):
    """[rule caught?] on one server, which is there."""
    with oracle.Servers() as servers:
        prover = Prover(servers.lane(flavour)[0], run.load())
        prover.prove_sound(names)
        return [prove_one(prover, rule, seconds) for rule in names]


def prove_one(prover, rule, seconds):
    start = time.monotonic()
    found = prover.catch(rule, seconds)
    took = time.monotonic() - start
    if not found:
        print(f"MISSED  {rule}: no script noticed ({prover.lane.flavour}, {took:.0f} s)", flush=True)
        return False
    s, mode, saw = found
    # In one write, so that two servers' lines do not mix.
    print(f"caught  {rule}: {s.area}.{s.name} ({prover.lane.flavour}, {mode}, {took:.1f} s)\n        " + " ".join(saw.split())[:160],
          flush=True)
    return True


def main():
    p = argparse.ArgumentParser(description="Breaks each of Sluice's rules, and looks whether a script notices.")
    p.add_argument("-k", action="append", metavar="PATTERN", help="only rules whose name holds PATTERN")
    p.add_argument("--backend", choices=["mariadb", "mysql9", "all"], default="all", help="all: each rule on the one that FIRST names")
    p.add_argument("--seconds", type=float, default=180, help="for each rule")
    p.add_argument("-j", type=int, default=1, metavar="N", help="1: one server after the other; 2: side by side")
    options = p.parse_args()
    listed = rules()
    if not listed:
        print(f"{sluice.binary()} lists no rules: it is no build that can break them (make break)", file=sys.stderr)
        return 2
    if strangers(listed):
        print(f"FIRST names what is not there: {', '.join(strangers(listed))}", file=sys.stderr)
        return 2
    flavours = [f for f in oracle.KINDS if options.backend in (f, "all") and not oracle.KINDS[f].absent()]
    shares = {f: [] for f in flavours}
    for rule in listed:
        if not options.k or any(k in rule for k in options.k):
            shares[FIRST[rule][0] if rule in FIRST and FIRST[rule][0] in flavours else flavours[0]].append(rule)
    with multiprocessing.Pool(options.j) as pool:
        caught = sum(pool.starmap(prove, [(f, names, options.seconds) for f, names in shares.items() if names], 1), [])
    print(f"{sum(caught)} passed, {len(caught) - sum(caught)} failed, 0 skipped")
    return 0 if caught and all(caught) else 1


if __name__ == "__main__":
    sys.exit(main())
