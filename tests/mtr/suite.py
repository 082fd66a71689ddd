# SPDX-License-Identifier: Apache-2.0
"""mysql-test-run.pl in external mode: where it is, one run of it, what it says about each test."""
import os
import pathlib
import re
import time

from harness.procs import Process, Timeout

PLACES = ["/usr/share/mysql/mysql-test", "/usr/share/mariadb/mariadb-test", "/usr/share/mysql/mariadb-test"]
SCRIPT = "mysql-test-run.pl"
LINE = re.compile(rb"^(main\.[\w.-]+)(?: '[^']*')?(?: w\d+)? +"
                  rb"\[ (pass|fail|skipped|disabled|retry-\w+) \] *(.*)$", re.M)


def folder():
    """mysql-test's directory, or None."""
    wanted = [os.environ["MYSQL_TEST_DIR"]] if "MYSQL_TEST_DIR" in os.environ else PLACES
    return next((pathlib.Path(p) for p in wanted if pathlib.Path(p, SCRIPT).exists()), None)


def arguments(sock, port, user, vardir, tmpdir):
    return ["perl", SCRIPT, "--extern", f"socket={sock}", "--extern", f"port={port}",
            "--extern", f"user={user}", "--force", "--retry=0", "--max-test-fail=0", "--parallel=1",
            "--testcase-timeout=3", f"--vardir={vardir}", f"--tmpdir={tmpdir}"]


class Run:
    """One run, at an end. verdicts: {test: (verdict, text)}, text being the difference or the reason."""

    def __init__(self, mtr_dir, names, argv, log, seconds):
        self.log = pathlib.Path(log)
        self.dir = mtr_dir
        self.timed_out = False
        self.began = time.time()
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MTR_", "MYSQL_"))}
        process = Process("mtr", [*argv, *names], self.log, env=env, cwd=mtr_dir)
        try:
            process.wait(seconds)
        except Timeout:
            self.timed_out = True
            process.kill()
        self.seconds = time.time() - self.began
        self.verdicts = self._read(names)
        self._remove_rejects()

    def _read(self, names):
        text = self.log.read_bytes()
        found = list(LINE.finditer(text))
        out = {}
        for m, after in zip(found, [*found[1:], None]):
            name, verdict = m[1].decode(), m[2].decode()
            said = m[3] if verdict != "fail" else text[m.end():after.start() if after else len(text)]
            # A test may run more than once, with other engines: one bad one counts.
            if out.get(name, ("pass",))[0] == "pass":
                out[name] = (verdict, said.decode("utf-8", "replace").strip())
        for name in names:
            out.setdefault(name, ("fail", "mtr did not come to it" if self.timed_out else
                                  f"mtr did not run it:\n{text[-600:].decode('utf-8', 'replace')}"))
        return out

    def _remove_rejects(self):
        """What was got instead of the expected result is in the log already; mtr leaves it beside the tests."""
        for name in self.verdicts:
            reject = self.dir / "main" / (name.removeprefix("main.") + ".reject")
            if reject.exists() and reject.stat().st_mtime >= self.began - 1:
                reject.unlink(missing_ok=True)
