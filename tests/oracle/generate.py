#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random scripts: what no hand thought of. Usage: generate.py [--seed N] [--count N] [--backend B].

The seed is printed; the same seed gives the same scripts. One that fails is played direct twice more, so that what
differs by itself is no failure; then steps are dropped one by one while it still fails, and what is left is printed as
it would stand in a file of scripts/."""
import argparse
import copy
import pathlib
import random
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import sluice  # noqa: E402
import oracle  # noqa: E402
import script as scripts  # noqa: E402

# Each client writes only what is its own (its table, a key of its own in u), so that nobody waits for a lock.
# {c} is the client's letter, {x} the script's number, {n} a small number, {w} a word that is new each time.
WORDS = {
    "state": ["SET time_zone = '+0{n}:00'", "SET NAMES latin1", "SET NAMES utf8mb4", "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
              "SET NAMES utf8", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = ''", "SET sql_mode = DEFAULT",
              "SET SESSION sql_mode = 'PIPES_AS_CONCAT'", "SET sql_select_limit = {n}", "SET sql_select_limit = DEFAULT",
              "SET group_concat_max_len = 1{n}", "SET div_precision_increment = {n}", "SET default_week_format = {n}",
              "SET lc_time_names = 'de_DE'", "SET sql_auto_is_null = 1", "SET sql_auto_is_null = 0",
              "SET foreign_key_checks = 0", "SET character_set_results = NULL", "SET collation_connection = latin1_bin",
              "SET auto_increment_increment = {n}", "SET time_zone = DEFAULT, sql_notes = 0", "SET sql_notes = 1",
              "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET no_such_variable = {n}", "USE app2", "USE app",
              "USE shop", "SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE", "CALL app.p_tz()",
              "SET time_zone = '+0{n}:30', no_such_variable = 1", "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')",
              "/*!40101 SET NAMES latin1 */", "SELECT app.f_tz()", ".init_db app2", ".init_db app", ".init_db nowhere"],
    "seen": ["SELECT @@time_zone, FROM_UNIXTIME(0)", "SELECT @@sql_mode", "SELECT 'a' || 'b', 1 / 3", "SELECT DATABASE()",
             "SELECT @@character_set_client, @@collation_connection, CHARSET('a')", "SELECT name FROM place",
             "SELECT w, l FROM app.words ORDER BY 1, 2", "SELECT WEEK(d), DATE_FORMAT(d, '%W') FROM app.days ORDER BY d",
             "SELECT GROUP_CONCAT(v) FROM app.t", "SELECT id FROM app.t ORDER BY id", "SELECT 'a' = 'A', COLLATION('a')",
             "SELECT \"v\" FROM app.t WHERE id = {n}", "SELECT @@autocommit, @@sql_auto_is_null",
             "SHOW VARIABLES LIKE 'time_zone'", "SHOW TABLES FROM app LIKE 'own%'", ".ping"],
    "write": ["INSERT INTO app.u (v) VALUES ('{w}')", "INSERT INTO app.own{x}_{c} (v) VALUES ('{w}'), ('{w}b')",
              "INSERT INTO app.own{x}_{c} (id, v) VALUES (1{n}, '{w}')", "UPDATE app.own{x}_{c} SET v = '{w}' WHERE id < {n}",
              "DELETE FROM app.own{x}_{c} WHERE id = {n}", "INSERT IGNORE INTO app.own{x}_{c} (id, v) VALUES (1, 'x')",
              "REPLACE INTO app.own{x}_{c} (id, v) VALUES ({n}, '{w}')", "INSERT INTO app.own{x}_{c} (id) VALUES (1)",
              "INSERT INTO app.own{x}_{c} (v) SELECT v FROM app.t", "INSERT INTO app.trg_row (v) VALUES ('{w}')",
              "UPDATE app.own{x}_{c} SET n = LAST_INSERT_ID({n} + 40)", "SELECT app.f_insert('{w}')",
              "INSERT INTO app.own{x}_{c} (v) VALUES ('{w}') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)"],
    "last": ["SELECT LAST_INSERT_ID()", "SELECT @@identity", "SELECT last_insert_id() AS i, @@last_insert_id", "SELECT ROW_COUNT()",
             "SELECT FOUND_ROWS()", "SHOW WARNINGS", "SELECT @@warning_count, @@error_count", "SHOW COUNT(*) WARNINGS",
             "SELECT l FROM app.v_lastid", "SELECT id FROM app.own{x}_{c} WHERE id IS NULL",
             "INSERT INTO app.own{x}_{c} (v) VALUES (CONCAT('i', LAST_INSERT_ID()))", "GET DIAGNOSTICS @d = NUMBER", "SELECT @d",
             "SELECT SQL_CALC_FOUND_ROWS id FROM app.t LIMIT {n}", "SELECT id FROM app.t LIMIT {n}", "SHOW ERRORS"],
    "noise": ["SELECT CAST('{w}' AS SIGNED)", "SELECT nothing", "SELEC {n}", "SELECT 1", "DO 1", "DROP TABLE IF EXISTS nothing_{n}",
              "SELECT * FROM nowhere", "SELECT v FROM app.t WHERE id = {n}", "SELECT app.f_plain({n})", "CALL app.p_two()",
              "SELECT * FROM app.types ORDER BY a", "SELECT 1; SELECT 2", "SET @z = {n}; SELECT @z", "SHOW TABLES LIKE 'place'"],
    "trx": ["BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "START TRANSACTION READ ONLY", "SET autocommit = 0",
            "SET autocommit = 1", "SAVEPOINT s{n}", "ROLLBACK TO SAVEPOINT s{n}", "COMMIT AND CHAIN", "BEGIN", "COMMIT", "ROLLBACK",
            "SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT", "BEGIN; INSERT INTO app.own{x}_{c} (v) VALUES ('{w}'); COMMIT"],
    "pin": ["SET @a = {n}", "SELECT @a, @b", "SELECT @b := '{w}'", "SELECT {n} INTO @a", "CREATE TEMPORARY TABLE app.tmp (x INT)",
            "INSERT INTO app.tmp VALUES ({n})", "SELECT * FROM app.tmp", "DROP TEMPORARY TABLE app.tmp", "SELECT GET_LOCK('l{c}', 0)",
            "SELECT IS_USED_LOCK('l{c}') IS NULL, IS_FREE_LOCK('l{c}')", "SELECT RELEASE_LOCK('l{c}')", "SELECT RELEASE_ALL_LOCKS()",
            "PREPARE p FROM 'SELECT {n} + ?'", "EXECUTE p USING @a", "DEALLOCATE PREPARE p", "CALL app.p_temp()", "SELECT * FROM ptemp",
            "SELECT app.f_var({n}), @fv", "SELECT @fv, @pv", "CALL app.p_var()", "HANDLER app.t OPEN", "HANDLER t READ FIRST"],
    "session": [".reset", ".change_user app apppass app", ".quit", ".drop", ".option 1", ".option 0", ".reset"],
    "prepared": [".prepare s{n} SELECT v, ? FROM app.t WHERE id = ?", ".execute s{n} '{w}', {n}", ".execute s{n} {n}, {n}",
                 ".prepare s{n} SELECT LAST_INSERT_ID(), @@time_zone", ".execute s{n}", ".prepare s{n} INSERT INTO app.own{x}_{c} (v) VALUES (?)",
                 ".execute s{n} '{w}'", ".stmt_close s{n}", ".stmt_reset s{n}", ".prepare s{n} SELECT name FROM place", ".execute s{n}",
                 ".prepare s{n} SELECT 'a' || 'b', 1 / 3, CHARSET('a')", ".execute s{n}", ".prepare s{n} SELECT * FROM app.own{x}_{c}",
                 "ALTER TABLE app.own{x}_{c} ADD COLUMN c{w} INT", ".execute[untyped] s{n} {n}, {n}", ".execute[cursor] s{n}", ".fetch s{n} 2"],
}
LIKELY = {"state": 6, "seen": 6, "write": 5, "last": 5, "noise": 3, "trx": 4, "pin": 3, "session": 1, "prepared": 4}
CLIENTS = "ABC"
# State of the last statement that has gone is an error, never a wrong number.
REFUSE = "1235.*state of the last statement"


def statement(r, client, serial, own):
    kind = r.choices(list(LIKELY), list(LIKELY.values()))[0]
    text = r.choice(WORDS[kind]).replace("{c}", client).replace("{w}", f"w{serial}").replace("{x}", own)
    while "{n}" in text:
        text = text.replace("{n}", str(r.randint(1, 4)), 1)
    return text


def generate(seed, number):
    r = random.Random(f"{seed}.{number}")
    clients = CLIENTS[:r.choice((2, 2, 3))]
    lines, prepared = [], set()
    for c in clients:
        lines.append(f".admin CREATE TABLE app.own{number}_{c} (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(30), n INT)")
    for serial in range(r.randint(12, 40)):
        c = r.choice(clients + "A")
        text = statement(r, c, serial, str(number))
        words = text.replace("[", " [").split()
        if words[0] in (".execute", ".fetch", ".stmt_close", ".stmt_reset"):
            name = next(w for w in words if w[0] == "s")
            if (c, name) not in prepared:
                continue
        if words[0] == ".prepare":
            prepared.add((c, words[1]))
        line = f"{c}{'' if text.startswith('.') else ' '}{text}"
        if not unasked(scripts.parse("\n".join(lines + [line]))):
            lines.append(line)
    s = scripts.Script(f"generated_{seed}_{number}", scripts.parse("\n".join(lines)), "generated", refuse=REFUSE,
                       clean="; ".join(f"DROP TABLE IF EXISTS app.own{number}_{c}" for c in CLIENTS), conf={"pool_max": 3})
    return s


def unasked(steps):
    """Does a client ask FOUND_ROWS() before it has run a SELECT? On MariaDB a connection begins with what the one before
    left in the same thread."""
    selected = set()
    for step in steps:
        if "FOUND_ROWS()" in step.text and step.client not in selected:
            return True
        if step.verb == "query" and step.text.startswith("SELECT"):
            selected.add(step.client)
    return False


def judged(lane, s, mode):
    """What follows a refusal (`SELECT @d` behind a GET DIAGNOSTICS that was refused) is no difference of its own."""
    v = lane.judge(s, mode)
    first = min((n for n, *_ in v.refused), default=None)
    v.wrong = [w for w in v.wrong if first is None or 0 < w[0] < first]
    return v


def judge(lane, s, mode):
    """A verdict, or the text of what went wrong in the testing itself."""
    try:
        return judged(lane, s, mode)
    except Exception:
        lane.recover()
        v = oracle.Verdict(s, mode)
        v.wrong.append((0, "the run itself", traceback.format_exc(limit=-3)))
        return v


def steady(lane, s, mode):
    """Does it answer the same when both plays are direct?"""
    lane.direct = True
    try:
        return not judge(lane, s, mode).bad
    finally:
        lane.direct = False


def shrink(lane, s, mode, seconds=60):
    """Drops halves, then quarters, down to single steps, while the script still fails."""
    best, end = s, time.monotonic() + seconds
    size = max(1, len(s.steps) // 2)
    while size and time.monotonic() < end:
        at, dropped = 0, False
        while at < len(best.steps) and time.monotonic() < end:
            smaller = copy.copy(best)
            smaller.steps = best.steps[:at] + best.steps[at + size:]
            if smaller.steps and fails(lane, smaller, mode):
                best, dropped = smaller, True
            else:
                at += size
        size = size if dropped and size == 1 else size // 2
    return best


def fails(lane, s, mode):
    """A script whose statement was dropped raises; that is not what is looked for."""
    if unasked(s.steps):
        return False
    try:
        v = judged(lane, s, mode)
    except Exception:
        lane.recover()
        return False
    return v.bad


def walk(lane, options, tally):
    for number in range(options.first, options.first + options.count):
        s = generate(options.seed, number)
        for mode in s.modes:
            v = judge(lane, s, mode)
            tally["steps"] += v.steps
            tally["refused"] += len(v.refused)
            if not v.bad:
                continue
            if not steady(lane, s, mode):
                tally["unsteady"] += 1
                print(f"{lane.flavour} {s.name} ({mode}) is not the same twice direct: left out", flush=True)
                continue
            small = shrink(lane, s, mode)
            last = judge(lane, small, mode)
            print(f"FAILED  {lane.flavour} {s.name} ({mode})\n{(last if last.bad else v).text()}\n{small.source()}", flush=True)
            tally["failed"] += 1
            break
        else:
            tally["passed"] += 1


def main():
    p = argparse.ArgumentParser(description="Random scripts through the oracle.")
    p.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")), help="default: the date")
    p.add_argument("--count", type=int, default=60, help="scripts for each server")
    p.add_argument("--first", type=int, default=0, metavar="N", help="begin with the N-th")
    p.add_argument("--print", action="store_true", help="print the scripts and end")
    p.add_argument("--backend", choices=["mariadb", "mysql9", "all"], default="all")
    options = p.parse_args()
    print(f"seed {options.seed}, {options.count} scripts", flush=True)
    if options.print:
        for number in range(options.first, options.first + options.count):
            print(generate(options.seed, number).source())
        return 0
    if not sluice.binary().exists():
        print(f"there is no {sluice.binary()}", file=sys.stderr)
        return 2
    total = {"passed": 0, "failed": 0, "skipped": 0}
    with oracle.Servers() as servers:
        for flavour in oracle.KINDS if options.backend == "all" else [options.backend]:
            lane, why = servers.lane(flavour)
            if why:
                print(f"*** NO {flavour}: {why}")
                total["skipped"] += options.count
                continue
            tally = {"passed": 0, "failed": 0, "steps": 0, "refused": 0, "unsteady": 0}
            walk(lane, options, tally)
            print(f"{flavour}: " + ", ".join(f"{v} {k}" for k, v in tally.items()))
            for k in ("passed", "failed"):
                total[k] += tally[k]
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**total))
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
