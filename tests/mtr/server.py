# SPDX-License-Identifier: Apache-2.0
"""A MariaDB as mysql-test's tests want one that is "extern": mtr's own options and databases, root without a password.

Its data directory lies in mtr's vardir, since the tests load `../../std_data/..` and write `../../tmp/..`. It listens
on a socket in a directory of its own and on nothing else, unless the clients are to come directly."""
import os
import re
import subprocess

from harness import servers, wire
from harness.procs import Process, Timeout, until

# What the expected results depend on (include/default_mysqld.cnf); the rest is for speed.
OPTIONS = ["--character-set-server=latin1", "--default-storage-engine=myisam", "--local-infile",
           "--log-bin-trust-function-creators=1", "--key-buffer-size=1M", "--sort-buffer-size=256K",
           "--max-heap-table-size=1M", "--use-stat-tables=preferably", "--histogram-type=json_hb",
           "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
           "--innodb-flush-method=nosync", "--skip-log-bin", "--performance-schema=ON"]
PREPARE = ["DELETE FROM mysql.global_priv WHERE user = ''",
           "ALTER TABLE mysql.gtid_slave_pos ENGINE=Aria TRANSACTIONAL=0",
           "CREATE DATABASE IF NOT EXISTS test CHARACTER SET latin1 COLLATE latin1_swedish_ci",
           "CREATE DATABASE mtr CHARACTER SET latin1 COLLATE latin1_swedish_ci", "FLUSH PRIVILEGES"]


def delimited(text):
    """The statements of an mtr script, which ends them by || and has comments of whole lines."""
    lines = [x for x in text.splitlines() if not re.match(r"\s*(--|delimiter\b)", x)]
    return [s.strip() for s in "\n".join(lines).split("||") if s.strip()]


class Server(servers.MariaDB):
    def __init__(self, vardir, sock_dir, tcp):
        self.dir = vardir / "mysqld.1"
        self.dir.mkdir(parents=True)
        self.data = self.dir / "data"
        self.sock = str(sock_dir / "s")
        self.port = servers.free_port() if tcp else None
        self.log = self.dir / "server.log"
        self.general_log = self.dir / "general.log"
        self.process = None
        self.admin_client = None

    def argv(self):
        user = ["--user=root"] if os.getuid() == 0 else []
        where = ["--bind-address=127.0.0.1", f"--port={self.port}"] if self.port else ["--skip-networking"]
        return [self.binary(), "--no-defaults", f"--datadir={self.data}", f"--socket={self.sock}", *where,
                f"--pid-file={self.dir / 'pid'}", "--general-log", "--log-output=FILE",
                f"--general-log-file={self.general_log}", *user, *OPTIONS]

    def make(self, mtr_dir):
        """The data directory, and in it what mtr's own start would have put there. Starts the server."""
        user = ["--user=root"] if os.getuid() == 0 else []
        done = subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--skip-test-db",
                               "--auth-root-authentication-method=normal", "--innodb-log-file-size=8M",
                               "--character-set-server=latin1", *user], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"mariadb-install-db: {done.stdout}{done.stderr}")
        self.start()
        for sql in PREPARE:
            self.admin.query(sql)
        for name in ("mtr_warnings", "mtr_check"):
            for sql in delimited((mtr_dir / "include" / f"{name}.sql").read_text()):
                self.admin.query(sql)
        # What comes from here on is about the tests.
        self.restart()
        self.admin.query("FLUSH GENERAL LOGS")
        self.general_log.write_text("")

    def start(self, extra=()):
        self.process = Process("mariadb", [*self.argv(), *extra], self.log)
        until(f"mariadb to answer (log: {self.log})", self._answers, 60, 0.03)

    def _answers(self):
        if not self.process.running():
            raise Timeout(f"mariadb ended at its start:\n{self.process.log()[-2000:]}")
        try:
            self.connect().quit()
            return True
        except (OSError, wire.Gone):
            return False

    def connect(self, **kw):
        kw.setdefault("user", "root")
        kw.setdefault("password", "")
        kw.setdefault("attrs", {"program_name": "driver"})
        return wire.Client(self.sock, **kw)
