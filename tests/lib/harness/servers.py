# SPDX-License-Identifier: Apache-2.0
"""MariaDB and MySQL 9, each started once a run under build/test/ from a template data directory that is kept.

Both have the same accounts, schemas and tables, so that one case runs on either:
  app/apppass, app2/app2pass   the schemas app, app2, shop       admin/adminpass  everything: the tests' own eyes
  nopass (empty password)      ed/edpass: ed25519 (MariaDB only) root over the socket: our uid, any password
Tuned for speed, not for safety. TLS is on, with an authority made for the run."""
import getpass
import os
import pathlib
import shutil
import signal
import subprocess

from . import wire
from .procs import BUILD, ROOT, WORK, Process, Timeout, free_port, until

MYSQL9 = ROOT / "tests" / "lib" / "mysql9.sh"
# Bump when what a template holds changes.
TEMPLATE = 4
MAX_PACKET = 72 << 20

SCHEMA = """
CREATE DATABASE app CHARACTER SET utf8mb4; CREATE DATABASE app2 CHARACTER SET utf8mb4;
CREATE DATABASE shop CHARACTER SET utf8mb4;
CREATE TABLE app.orders (order_id INT PRIMARY KEY AUTO_INCREMENT, order_no VARCHAR(20) NOT NULL UNIQUE,
  status VARCHAR(20) NOT NULL, n INT NOT NULL DEFAULT 0);
CREATE TABLE app.counters (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);
CREATE TABLE app.blobs (id INT PRIMARY KEY, data LONGBLOB);
CREATE TABLE app.log (id INT PRIMARY KEY AUTO_INCREMENT, who VARCHAR(64), what VARCHAR(200));
CREATE TABLE app.place (name VARCHAR(20)); INSERT INTO app.place VALUES ('app');
CREATE TABLE app2.place (name VARCHAR(20)); INSERT INTO app2.place VALUES ('app2');
CREATE TABLE shop.place (name VARCHAR(20)); INSERT INTO shop.place VALUES ('shop');
INSERT INTO app.counters (id) VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10);
CREATE PROCEDURE app.two_sets() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; END;
CREATE PROCEDURE app.echo(v INT) BEGIN SELECT v AS v; SELECT v + 1 AS w; END;
CREATE PROCEDURE app.take_lock(name VARCHAR(64)) BEGIN DECLARE got INT; SELECT GET_LOCK(name, 0) INTO got; END;
CREATE PROCEDURE app.touch_session() BEGIN SET time_zone = '+09:00'; SET @leak = 'proc'; END;
CREATE PROCEDURE app.touch_and_fail() BEGIN SET time_zone = '+09:00'; SET @leak = 'proc';
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose'; END;
"""


def statements(text):
    """Splits at semicolons that end a line or precede the next statement, leaving BEGIN..END bodies whole."""
    out, depth, current = [], 0, []
    for part in text.replace("\n", " ").split(";"):
        current.append(part)
        words = part.upper().split()
        depth += words.count("BEGIN") - words.count("END")
        if depth == 0:
            sql = ";".join(current).strip()
            if sql:
                out.append(sql)
            current = []
    return out


def make_certificates(folder):
    """ca.pem, server-cert.pem, server-key.pem for 127.0.0.1 and localhost."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)
    (folder / "san.cnf").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=sluice test authority",
            "-keyout", "ca-key.pem", "-out", "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server-key.pem", "-out",
            "server.csr")
    openssl("x509", "-req", "-days", "30", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem",
            "-CAcreateserial", "-extfile", "san.cnf", "-out", "server-cert.pem")


class Server:
    """A database server on a free port of 127.0.0.1 and a unix socket."""

    def __init__(self, run_dir, sock_dir, certs):
        self.dir = run_dir / self.flavour
        self.dir.mkdir(parents=True)
        self.data = self.dir / "data"
        self.tmp = self.dir / "tmp"
        self.tmp.mkdir()
        self.sock = str(sock_dir / self.flavour)
        self.port = free_port()
        self.certs = certs
        self.log = self.dir / "server.log"
        self.process = None
        self.admin_client = None

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    @property
    def ca(self):
        return str(self.certs / "ca.pem")

    def url(self, tcp=True, user=None, password=None, query=""):
        who = f"{user}:{password}@" if user else ""
        if tcp:
            return f"mysql://{who}127.0.0.1:{self.port}{'?' + query if query else ''}"
        return f"mysql+unix://{who}{self.sock}{'?' + query if query else ''}"

    def template(self):
        """The kept template's path, made when it is not there. A rename puts it in place whole."""
        keep = BUILD / "test-template" / f"{self.flavour}-{TEMPLATE}-{self.version().replace('/', '_')}"
        if not keep.exists():
            keep.parent.mkdir(parents=True, exist_ok=True)
            work = keep.with_name(f"{keep.name}.{os.getpid()}")
            shutil.rmtree(work, ignore_errors=True)
            self.install(work)
            self.data, final = work, self.data
            self.start()
            self.make_accounts()
            self.stop()
            self.data = final
            work.rename(keep)
        return keep

    def make_accounts(self):
        root = wire.Client(self.sock, self.first_user(), "")
        for sql in self.accounts() + statements(SCHEMA):
            root.query(sql)
        root.quit()

    def prepare(self):
        keep = self.template()
        subprocess.run(["cp", "-a", "--reflink=auto", keep, self.data], check=True)
        # Two servers out of one template must not share their identity.
        (self.data / "auto.cnf").unlink(missing_ok=True)

    def common_options(self):
        return ["--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.tmp}", f"--socket={self.sock}",
                f"--port={self.port}", "--bind-address=127.0.0.1", f"--pid-file={self.dir / 'pid'}",
                "--skip-log-bin", "--skip-name-resolve", "--max-connections=500",
                f"--max-allowed-packet={MAX_PACKET}", "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=32M", "--innodb-log-buffer-size=4M", "--innodb-flush-method=nosync",
                "--performance-schema=OFF", "--table-open-cache=400", "--local-infile=1",
                f"--ssl-ca={self.certs / 'ca.pem'}", f"--ssl-cert={self.certs / 'server-cert.pem'}",
                f"--ssl-key={self.certs / 'server-key.pem'}"]

    def start(self, extra=()):
        self.process = Process(self.flavour, [*self.argv(), *extra], self.log)
        until(f"{self.flavour} to answer (log: {self.log})", self._answers, 60, 0.03)

    def _answers(self):
        if not self.process.running():
            raise Timeout(f"{self.flavour} ended at its start:\n{self.process.log()[-2000:]}")
        try:
            c = wire.Client(self.address, login=False, timeout=5)
            c.greet()
            c.close()
            return True
        except wire.ServerError:
            # Before there are accounts, nobody may come by TCP; but it answers.
            return True
        except (OSError, wire.Gone):
            return False

    def stop(self, number=signal.SIGTERM):
        self.forget_admin()
        if self.process and self.process.running():
            self.process.signal(signal.SIGCONT)
            self.process.signal(number)
            try:
                self.process.wait(30)
            except Timeout:
                self.process.kill()

    def restart(self, extra=()):
        self.stop()
        self.start(extra)

    def freeze(self):
        """Returns when every thread has stopped: the signal alone lets a running one answer once more."""
        self.process.signal(signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        until("every thread to stop", lambda: all(
            (t / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T" for t in tasks.iterdir()))

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    # -- the tests' own eyes

    def connect(self, **kw):
        kw.setdefault("user", "admin")
        kw.setdefault("password", "adminpass")
        return wire.Client(self.sock, **kw)

    @property
    def admin(self):
        """A connection kept for looking at the server; made anew after forget_admin()."""
        if self.admin_client is None:
            self.admin_client = self.connect()
        return self.admin_client

    def forget_admin(self):
        if self.admin_client:
            self.admin_client.close()
            self.admin_client = None

    def status(self, name):
        return int(self.admin.query(f"SHOW GLOBAL STATUS LIKE '{name}'").rows[0][1])

    def processes(self, user=None):
        """Rows of the process list as dicts, without the tests' own connection and the server's threads."""
        rows = self.admin.query("SELECT ID, USER, DB, COMMAND, TIME, STATE, INFO FROM information_schema.PROCESSLIST "
                                "WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler')").rows
        names = ("id", "user", "db", "command", "time", "state", "info")
        out = [dict(zip(names, (c.decode("utf-8", "replace") if c is not None else None for c in r))) for r in rows]
        return [p for p in out if user is None or p["user"] == user]

    def kill_all(self, user="app"):
        for p in self.processes(user):
            try:
                self.admin.query(f"KILL {p['id']}")
            except wire.ServerError as e:
                if e.errno != 1094:
                    raise

    def clean(self):
        """Called before each case: the tables and globals as the template has them."""
        a = self.admin
        for sql in ("TRUNCATE app.orders", "TRUNCATE app.blobs", "TRUNCATE app.log", "UPDATE app.counters SET n = 0"):
            a.query(sql)


class MariaDB(Server):
    flavour = "mariadb"
    is_mariadb = True

    @staticmethod
    def binary():
        return shutil.which("mariadbd") or shutil.which("mysqld") or next(
            (p for p in ("/usr/sbin/mariadbd", "/usr/sbin/mysqld") if os.path.exists(p)), None)

    @classmethod
    def absent(cls):
        """None, or why there is none here."""
        if not cls.binary():
            return "there is no mariadbd here (make deps)"
        if "MariaDB" not in cls.version():
            return f"{cls.binary()} is not MariaDB"
        return None

    @classmethod
    def version(cls):
        out = subprocess.run([cls.binary(), "--version"], capture_output=True, text=True).stdout
        return next((w for w in out.split() if "MariaDB" in w), out.strip())

    def argv(self):
        user = ["--user=root"] if os.getuid() == 0 else []
        return [self.binary(), *self.common_options(), *user, "--thread-handling=one-thread-per-connection",
                "--innodb-log-file-size=8M", "--plugin-load-add=auth_ed25519", "--skip-slave-start",
                "--aria-log-file-size=8M", "--key-buffer-size=1M"]

    def first_user(self):
        # install-db's socket account, for our own uid.
        return getpass.getuser()

    def install(self, folder):
        user = ["--user=root"] if os.getuid() == 0 else []
        done = subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}", "--skip-test-db",
                               "--auth-root-authentication-method=socket",
                               f"--auth-root-socket-user={getpass.getuser()}",
                               "--innodb-log-file-size=8M", *user], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"mariadb-install-db: {done.stdout}{done.stderr}")

    def accounts(self):
        users = [("app", "apppass"), ("app2", "app2pass"), ("nopass", "")]
        out = [f"CREATE USER {u}@'%' IDENTIFIED BY '{p}'" for u, p in users]
        out += ["CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('edpass')",
                "CREATE USER admin@'%' IDENTIFIED BY 'adminpass'", "GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION"]
        for u in ("app", "app2", "nopass", "ed"):
            out += [f"GRANT ALL ON {db}.* TO {u}@'%'" for db in ("app", "app2", "shop")]
        return out


class Mysql9(Server):
    flavour = "mysql9"
    is_mariadb = False

    @classmethod
    def absent(cls):
        done = subprocess.run([MYSQL9, "fetch"], capture_output=True, text=True)
        if done.returncode:
            return f"MySQL 9 cannot be had (mysql9.sh fetch: exit {done.returncode}) {done.stderr.strip()[-300:]}"
        return None

    @classmethod
    def version(cls):
        out = subprocess.run([MYSQL9, "mysqld", "--version"], capture_output=True, text=True).stdout
        words = out.split()
        return words[words.index("Ver") + 1] if "Ver" in words else "9"

    def argv(self):
        return [MYSQL9, "mysqld", *self.common_options(), "--innodb-redo-log-capacity=8M", "--loose-mysqlx=OFF",
                "--innodb-doublewrite=OFF", "--early-plugin-load=", "--plugin-load-add=auth_socket.so"]

    def first_user(self):
        return "root"

    def install(self, folder):
        done = subprocess.run([MYSQL9, "mysqld", "--no-defaults", "--initialize-insecure", f"--datadir={folder}",
                               "--innodb-redo-log-capacity=8M", "--innodb-flush-method=nosync"],
                              capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"mysqld --initialize-insecure: {done.stdout}{done.stderr}"[-2000:])

    def accounts(self):
        users = [("app", "apppass"), ("app2", "app2pass"), ("nopass", "")]
        out = [f"CREATE USER {u}@'%' IDENTIFIED WITH caching_sha2_password BY '{p}'" for u, p in users]
        out += ["CREATE USER admin@'%' IDENTIFIED WITH caching_sha2_password BY 'adminpass'",
                "GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION"]
        for u in ("app", "app2", "nopass"):
            out += [f"GRANT ALL ON {db}.* TO {u}@'%'" for db in ("app", "app2", "shop")]
        # As on Debian: by the socket, whatever password is offered; for us too when we are not root.
        me = getpass.getuser()
        if me != "root":
            out += [f"CREATE USER '{me}'@localhost IDENTIFIED WITH auth_socket"]
        return out + ["ALTER USER root@localhost IDENTIFIED WITH auth_socket"]
