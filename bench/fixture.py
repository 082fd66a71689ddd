# SPDX-License-Identifier: Apache-2.0
"""The private MariaDB and the programs under test. Loopback only; each is ended by its own pid."""

import os
import shutil
import socket
import subprocess
import time

HOST = "127.0.0.1"
USER, PASSWORD, DATABASE = "bench", "benchpass", "sbtest"
READY_SECONDS = 30
FIRST_PORT, LAST_PORT = 21000, 31000  # below the kernel's range for outgoing connections

# driver.c and fpm.php check every row against these values.
SCHEMA = f"""
CREATE DATABASE {DATABASE};
USE {DATABASE};
CREATE TABLE orders (order_id INT PRIMARY KEY AUTO_INCREMENT, order_no VARCHAR(32) NOT NULL UNIQUE,
    amount DECIMAL(10,2), status VARCHAR(16), paid_at DATETIME NULL);
INSERT INTO orders (order_id, order_no, amount, status)
    SELECT seq, CONCAT('NO', LPAD(seq - 1, 8, '0')), seq / 100, 'new' FROM seq_1_to_10000;
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(64));
INSERT INTO users SELECT seq, CONCAT('user ', seq) FROM seq_1_to_1000;
CREATE TABLE big (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(1000)) CHARSET latin1;
INSERT INTO big SELECT seq, REPEAT(CHAR(97 + seq MOD 26 USING latin1), 1000) FROM seq_1_to_200000;
CREATE USER '{USER}'@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{PASSWORD}');
GRANT ALL ON {DATABASE}.* TO '{USER}'@'%';
"""

SERVER_OPTIONS = [
    "--bind-address=" + HOST, "--skip-name-resolve", "--skip-log-bin", "--back-log=4096",
    "--max-connections=6000", "--table-open-cache=512", "--max-allowed-packet=256M",
    "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=128M",
    "--innodb-flush-log-at-trx-commit=0", "--wait-timeout=3600", "--thread-cache-size=256",
]


# MariaDB refuses to run as root unless told to.
AS_ROOT = ["--user=root"] if os.geteuid() == 0 else []


class BenchError(Exception):
    """The run cannot go on; the text is for the user."""


def free_port():
    """A port nobody listens on and the kernel will not give to an outgoing connection."""
    start = FIRST_PORT + os.getpid() % 5000
    for port in range(start, LAST_PORT):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((HOST, port))
            except OSError:
                continue
        if port not in free_port.given:
            free_port.given.add(port)
            return port
    raise BenchError("no free port")


free_port.given = set()


class Process:
    """One program of ours: started, awaited, ended."""

    def __init__(self, name, argv, log_path):
        self.name, self.argv, self.log_path = name, argv, log_path
        self.popen = None

    @property
    def pid(self):
        return self.popen.pid

    def start(self, is_ready):
        with open(self.log_path, "wb") as log:
            self.popen = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + READY_SECONDS
        while not is_ready():
            if self.popen.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise BenchError(f"{self.name} did not start:\n{self.log()[-2000:]}")
            time.sleep(0.02)

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def stop(self):
        if self.popen is None:
            return
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(20)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        self.popen = None


def listens(port):
    """Whether a socket listens on the port; asks the kernel, so that the program sees no client."""
    with open("/proc/net/tcp") as f:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
                   for line in f.readlines()[1:])


class Server:
    """The MariaDB fixture. Its data are kept between runs; they are the same each time."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        self.data = os.path.join(self.directory, "db")
        self.port = free_port()
        self.socket = os.path.join(self.directory, "db.sock")
        self.client = None
        self.process = Process("mariadbd", [
            "mariadbd", "--no-defaults", "--datadir=" + self.data, *AS_ROOT,
            f"--port={self.port}", "--socket=" + self.socket,
            f"--pid-file={self.directory}/db.pid", *SERVER_OPTIONS], self.directory + "/db.log")

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        marker = os.path.join(self.directory, "db.ready")
        fresh = not os.path.exists(marker)
        if fresh:
            self._install()
        self.process.start(lambda: listens(self.port))
        if fresh:
            self._mariadb(SCHEMA)
            with open(marker, "w") as f:
                f.write("complete\n")
        self.client = subprocess.Popen(
            self._client_argv() + ["--skip-column-names", "--batch", "--unbuffered"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _client_argv(self):
        return ["mariadb", "--no-defaults", "--user=root", "--socket=" + self.socket]

    def _install(self):
        shutil.rmtree(self.data, ignore_errors=True)
        with open(self.directory + "/install.log", "wb") as log:
            done = subprocess.run(
                ["mariadb-install-db", "--no-defaults", "--datadir=" + self.data, *AS_ROOT,
                 "--auth-root-authentication-method=normal", "--skip-test-db"],
                stdout=log, stderr=log)
        if done.returncode != 0:
            raise BenchError(f"mariadb-install-db failed, see {self.directory}/install.log")

    def _mariadb(self, sql):
        done = subprocess.run(self._client_argv(), input=sql, text=True, capture_output=True)
        if done.returncode != 0:
            raise BenchError("the schema was refused: " + done.stderr)

    def status(self, name):
        """A status counter, by a connection that stays open and so adds nothing to it."""
        self.client.stdin.write(f"SHOW GLOBAL STATUS LIKE '{name}';\n")
        self.client.stdin.flush()
        return int(self.client.stdout.readline().split()[1])

    def version(self):
        self.client.stdin.write("SELECT VERSION();\n")
        self.client.stdin.flush()
        return self.client.stdout.readline().strip()

    def settle(self):
        """Waits until the server has buried the connections that the last load left."""
        before, deadline = -1, time.monotonic() + 20
        while time.monotonic() < deadline:
            now = self.status("Threads_connected")
            if now == before:
                return
            before = now
            time.sleep(0.05)

    def stop(self):
        if self.client:
            self.client.stdin.close()
            self.client.wait()
            self.client = None
        self.process.stop()


class Target:
    """A way to the server: none in between, or one program."""

    def __init__(self, name, directory, server_port, version_argv=None):
        self.name, self.directory, self.server_port = name, directory, server_port
        self.version_argv = version_argv
        self.port, self.process = server_port, None

    def argv(self):
        return None

    def is_ready(self):
        return listens(self.port)

    def start(self):
        if type(self) is Target:
            return
        self.port = free_port()
        self.process = Process(self.name, self.argv(), f"{self.directory}/{self.name}.log")
        self.process.start(self.is_ready)

    @property
    def pid(self):
        return self.process.pid if self.process else None

    def stop(self):
        if self.process:
            self.process.stop()
            self.process = None

    def version(self):
        if not self.version_argv:
            return None
        done = subprocess.run(self.version_argv, capture_output=True, text=True)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return lines[0] if lines else None

    def write(self, suffix, text):
        path = f"{self.directory}/{self.name}{suffix}"
        with open(path, "w") as f:
            f.write(text)
        return path


class Forwarder(Target):
    def __init__(self, name, directory, server_port, program, delay_us=0):
        super().__init__(name, directory, server_port)
        self.program, self.delay_us = program, delay_us

    def argv(self):
        return [self.program, str(self.port), f"{HOST}:{self.server_port}", str(self.delay_us)]


class HAProxy(Target):
    def argv(self):
        # One thread, as the forwarder and sluice have: two cost HAProxy more CPU per query.
        path = self.write(".cfg", f"""
global
    nbthread 1
    maxconn 9000
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen mysql
    bind {HOST}:{self.port} backlog 4096
    server db {HOST}:{self.server_port}
""")
        return ["haproxy", "-db", "-f", path]


class Sluice(Target):
    """As it comes: pool_max is 16, pass-through login."""

    def __init__(self, name, directory, server_port, program):
        super().__init__(name, directory, server_port, [program, "--version"])
        self.program = program

    def argv(self):
        return [self.program, "--mysql-listen", f"{HOST}:{self.port}",
                "--mysql-backend", f"mysql://{HOST}:{self.server_port}",
                "--admin-listen", "off", "--health-listen", "off"]

    def is_ready(self):
        return "event=ready" in self.process.log()


class ProxySQL(Target):
    def argv(self):
        data = f"{self.directory}/proxysql"
        shutil.rmtree(data, ignore_errors=True)
        os.mkdir(data)
        path = self.write(".cfg", f"""
datadir="{data}"
admin_variables={{ mysql_ifaces="{HOST}:{free_port()}" }}
mysql_variables={{ threads=1; max_connections=9000; interfaces="{HOST}:{self.port}";
    monitor_enabled=false; max_allowed_packet=268435456; }}
mysql_servers=({{ address="{HOST}"; port={self.server_port}; hostgroup=0; max_connections=16; }})
mysql_users=({{ username="{USER}"; password="{PASSWORD}"; default_hostgroup=0;
    max_connections=9000; }})
""")
        return ["proxysql", "-f", "--no-version-check", "-D", data, "-c", path]


class MySQLRouter(Target):
    def argv(self):
        path = self.write(".conf", f"""
[DEFAULT]
max_total_connections=9000
[io]
threads=1
[routing:bench]
bind_address={HOST}:{self.port}
destinations={HOST}:{self.server_port}
routing_strategy=first-available
protocol=classic
max_connections=9000
max_connect_errors=1000000
""")
        return ["mysqlrouter", "-c", path]
