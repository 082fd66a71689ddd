# SPDX-License-Identifier: Apache-2.0
"""Cases: how one is declared, what it is given, and how it ends.

    @case(needs="sluice", on="mariadb")
    def a_wrong_password_gets_the_servers_1045(t): ...

needs    "sluice": the case says something about Sluice; skipped with --direct
on       "mariadb", "mysql9" or both (the default): which servers it runs on; "none": without a server
each     a list: one case for each value, given as the second argument
later    what Sluice does not do yet, in words: skipped with them, but for --direct
alone    it restarts or freezes the server, or changes globals: what it must put back, it does by t.defer"""
import pathlib
import shutil
import tempfile

from . import php, wire
from .procs import Background, until
from .relay import Blackhole, Relay
from .peer import ScriptPeer
from .sluice import Sluice

ALL = []


class Skip(Exception):
    """Raised by a case that cannot run here; its text says why."""


class Case:
    def __init__(self, fn, module, needs, on, later, arg=None, has_arg=False):
        self.fn, self.needs, self.on, self.later, self.arg, self.has_arg = fn, needs, on, later, arg, has_arg
        self.name = f"{module}.{fn.__name__}" + (f"[{arg}]" if has_arg else "")

    def run(self, t):
        return self.fn(t, self.arg) if self.has_arg else self.fn(t)


def case(needs="", on="mariadb mysql9", each=None, later=""):
    def add(fn):
        module = fn.__module__.removeprefix("test_")
        for arg in each if each is not None else [None]:
            ALL.append(Case(fn, module, needs, on.split(), later, arg, each is not None))
        return fn
    return add


class Front:
    """Where a case's clients connect: Sluice, or the server itself with --direct."""

    def __init__(self, port, sock, sluice=None):
        self.port, self.sock, self.sluice = port, str(sock), sluice

    @property
    def address(self):
        return ("127.0.0.1", self.port)


class Test:
    """What a case is given: t.db (the server), t.front(), clients, PHP, peers; all ended when the case ends."""

    def __init__(self, db, direct, folder):
        self.db = db
        self.direct = direct
        # Unix socket paths are at most 107 bytes, so not below the (maybe long) build directory.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-t-"))
        self.kept = folder
        self._ends = []
        self._sluices = []
        self._default = None

    def defer(self, fn, *args):
        self._ends.append((fn, args))

    # -- where to connect

    def sluice(self, backend=None, conf=None, **kw):
        """A Sluice of the case's own. backend: a URL; this case's server by default."""
        if self.direct:
            raise Skip("needs sluice")
        url = self.db.url() if backend is None else backend
        s = Sluice(self.dir / f"s{len(self._sluices)}", url or None, conf, **kw)
        self._sluices.append(s)
        return s

    def front(self, **mysql_keys):
        """The place to connect to; mysql_keys are Sluice's, and mean nothing with --direct. Started once a case."""
        if self._default is None:
            if self.direct:
                self._default = Front(self.db.port, self.db.sock)
            else:
                s = self.sluice(conf={"mysql": mysql_keys})
                self._default = Front(s.port, s.sock, s)
        return self._default

    def use(self, s):
        """This Sluice is the case's front from now on."""
        self._default = Front(s.port, s.sock, s)

    def client(self, unix=False, front=None, **kw):
        f = front or self.front()
        c = wire.Client(f.sock if unix else f.address, **kw)
        self.defer(c.close)
        return c

    def neighbour(self, n=1, **kw):
        """Other clients that each run a statement, so that a free backend changes hands."""
        for _ in range(n):
            c = self.client(**kw)
            c.query("INSERT INTO app.log (who, what) VALUES ('neighbour', 'x'), ('neighbour', 'y')")
            c.query("SELECT 1 UNION SELECT 2 UNION SELECT 3")
            c.quit()

    # -- helpers

    def php(self, script, front=None, **env):
        return php.run(front or self.front(), script, **env)

    def php_start(self, script, front=None, **env):
        p = php.start(front or self.front(), script, self.dir / f"php{len(self._ends)}", **env)
        self.defer(p.kill)
        return p

    def fpm(self, children=8, front=None, **env):
        if not php.fpm_binary():
            raise Skip("there is no php-fpm here (make deps)")
        f = php.Fpm(self.dir / "fpm", front or self.front(), children, **env)
        self.defer(f.stop)
        return f

    def background(self, fn, *args, **kw):
        return Background(fn, *args, **kw)

    def relay(self, target=None):
        r = Relay(target or self.db.address)
        self.defer(r.close)
        return r

    def blackhole(self):
        b = Blackhole()
        self.defer(b.close)
        return b

    def peer(self, **kw):
        p = ScriptPeer(**kw)
        self.defer(p.close)
        return p

    def until(self, what, probe, seconds=10.0, every=0.01):
        return until(what, probe, seconds, every)

    def fails(self, errno, fn, *args, **kw):
        """fn must get this error of the server (a number, or several); returns it."""
        wanted = (errno,) if isinstance(errno, int) else errno
        try:
            fn(*args, **kw)
        except wire.ServerError as e:
            assert e.errno in wanted, f"error {e} where {wanted} was due"
            return e
        raise AssertionError(f"no error where {wanted} was due")

    # -- the end

    def finish(self):
        """Ends everything in reverse order; returns what went wrong in ending."""
        wrong = []
        for fn, args in reversed(self._ends):
            try:
                fn(*args)
            except Exception as e:
                wrong.append(f"in ending: {e!r}")
        for s in self._sluices:
            complaint = s.finish()
            if complaint:
                wrong.append(complaint)
        return wrong

    def keep(self):
        """Moves the case's files to where they can be read after a failure."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.dir, self.kept, symlinks=True, ignore=lambda d, names: [
            n for n in names if not (pathlib.Path(d, n).is_file() or pathlib.Path(d, n).is_dir())])

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)
