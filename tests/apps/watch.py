# SPDX-License-Identifier: Apache-2.0
"""What is looked at around an application: that Sluice carried all of it, what it cost, and what is left behind."""
import os
import re
import threading

_print = threading.Lock()
COMMANDS = ("Query", "Execute", "Prepare", "Init DB", "Change user", "Reset Connection")
SESSION = re.compile(r"\s*(SET|SHOW|USE|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|LOCK|UNLOCK|CALL|DO|KILL|FLUSH|"
                     r"CREATE\s+TEMPORARY|DROP\s+TEMPORARY|SELECT\s+(@@|@|DATABASE|VERSION|CONNECTION_ID|GET_LOCK|"
                     r"RELEASE_LOCK|IS_FREE_LOCK|LAST_INSERT_ID|FOUND_ROWS|ROW_COUNT|SQL_CALC_FOUND_ROWS))\b", re.I)
ANYWHERE = re.compile(r"SQL_CALC_FOUND_ROWS|FOUND_ROWS\(|LAST_INSERT_ID\(|_LOCK\(|CONNECTION_ID\(|@\w|FOR UPDATE|"
                      r"LOCK IN SHARE|ROW_COUNT\(", re.I)


def pins_of(sluice):
    """{reason: n} of the pins that hold now, by /status, and by the console's SHOW PINS."""
    held = sluice.pinned()
    with sluice.client(unix=True, user="", password="", db="sluice") as c:
        for row in c.query("SHOW PINS").rows:
            held.setdefault(row[2].decode(), "by SHOW PINS")
    return held


class Watch:
    """Around one application: `with Watch(t, name, pool_max=2) as front: ...` starts Sluice with these keys, and looks
    at the end. With --direct there is nothing to judge, but with --statements the server's log to read."""

    def __init__(self, t, name, **mysql_keys):
        self.t, self.name, self.keys = t, name, mysql_keys
        self.statements_file = os.environ.get("APPS_STATEMENTS") if t.direct else None

    def __enter__(self):
        # The server counts every connection that anybody makes. Ours to look with is there already.
        self.before = self.t.db.status("Connections")
        self.front = self.t.front(**self.keys)
        if self.statements_file:
            for sql in ("SET GLOBAL general_log = OFF", "TRUNCATE mysql.general_log", "SET GLOBAL log_output = 'TABLE'",
                        "SET GLOBAL general_log = ON"):
                self.t.db.admin.query(sql)
        return self.front

    def __exit__(self, kind, *_):
        if kind is None and self.front.sluice:
            self.judge()
        elif kind is None and self.statements_file:
            self.write_statements()
        return False

    def judge(self):
        s = self.front.sluice
        self.t.until(f"no pin to be left behind by {self.name}", lambda: not pins_of(s), 15, 0.1)
        self.print_counters()
        made = self.t.db.status("Connections") - self.before
        by_sluice = s.metric("sluice_backend_connects_total")
        assert made <= by_sluice, f"{made} connections at the server, and {by_sluice:.0f} of them by sluice"
        assert s.metric("sluice_statements_total") > 0
        wrong = [line for line in s.log().splitlines() if " level=error" in line or " level=warn" in line]
        assert not wrong, "sluice's log:\n" + "\n".join(wrong[:20])
        errors = {dict(k).get("code"): n for k, n in s.metrics().get("sluice_errors_total", {}).items() if n}
        assert not errors, f"errors of sluice's own: {errors}"

    def print_counters(self):
        """What the application made Sluice do, for whoever reads the run's output."""
        metrics = self.front.sluice.metrics()

        def by(name, label=None):
            """The samples of a counter, the largest first; their sum, when no label is asked for."""
            out = {}
            for key, n in metrics.get(f"sluice_{name}", {}).items():
                word = dict(key).get(label, "")
                out[word] = out.get(word, 0) + int(n)
            largest_first = sorted(out.items(), key=lambda kv: -kv[1])
            return " ".join(f"{k}={n}".lstrip("=") for k, n in largest_first if n) or "none"

        waited = sum(metrics.get("sluice_pool_wait_seconds_sum", {}).values())
        lines = [f"statements    {by('statements_total', 'kind')}",
                 f"local answers {by('local_answers_total', 'kind')}",
                 f"lends         {by('pool_lends_total', 'match')}",
                 f"pins          {by('pins_total', 'reason')}",
                 f"resets        {by('resets_total', 'cause')}",
                 f"clients       {by('clients_total')}, backends made {by('backend_connects_total')}, "
                 f"waited {waited:.2f} s"]
        with _print:
            print(f"  {self.t.db.flavour} {self.name}: " + "\n      ".join(lines), flush=True)

    # -- what the applications say about their session

    def write_statements(self):
        a = self.t.db.admin
        a.query("SET GLOBAL general_log = OFF")
        wanted = ", ".join(f"'{c}'" for c in COMMANDS)
        rows = a.query("SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log "
                       f"WHERE command_type IN ({wanted}) AND user_host LIKE 'app[%'").rows
        seen = {}
        for kind, text in ((r[0].decode(), (r[1] or b"").decode("utf-8", "replace")) for r in rows):
            if kind in ("Init DB", "Change user", "Reset Connection"):
                text = f"<{kind}> {text}"
            text = normal(text)
            if kind in COMMANDS[:3] and not SESSION.match(text) and not ANYWHERE.search(text):
                continue
            seen[kind, text] = seen.get((kind, text), 0) + 1
        with _print, open(self.statements_file, "a") as f:
            f.write(f"# {self.name} on {self.t.db.flavour}: how often, protocol's command, statement\n")
            for (kind, text), n in sorted(seen.items(), key=lambda kv: (-kv[1], kv[0])):
                f.write(f"{n}\t{kind}\t{text}\n")
            f.write("\n")


def normal(text):
    """One form for statements that differ in their values only. What is said about the session stays as it is."""
    text = re.sub(r"\bt\d+_|\bdirect_", "", " ".join(text.split()))
    if not re.match(r"(SET|USE|SHOW)\b", text, re.I):
        text = re.sub(r"(?s)'(?:[^'\\]|\\.|'')*'", "'?'", text)
        text = re.sub(r"(?<![\w@.])\d+(?!\w)", "N", text)
    return text[:400]
