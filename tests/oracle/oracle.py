# SPDX-License-Identifier: Apache-2.0
"""The oracle: one server, the Sluices before it, and the judgement on a script played direct and through.

run.py, generate.py and prove.py differ only in which scripts they give it."""
import pathlib
import re
import shutil
import signal
import tempfile

from harness import procs, servers, wire
from harness.sluice import Sluice
import fixture
import outcome
from neighbours import KEY, Neighbours
from player import PASSWORDS, Player

KINDS = {"mariadb": servers.MariaDB, "mysql9": servers.Mysql9}
# pool_max=2 and two neighbours: both backends change hands between any two steps. Two clients of a script may pin.
CONF = {"pool_max": 2, "max_pinned": "100%", "queue_timeout": "2s"}
# Waits for locks end soon, in scripts that are about them.
SERVER_OPTIONS = ("--innodb-lock-wait-timeout=2", "--lock-wait-timeout=3")
# Of the error of Sluice's, and how often a script is played that met it too early.
HELD_TOO_SHORT = "its connection went to another client meanwhile"
PLAYS = 3


class Verdict:
    """What came of one script in one mode."""

    def __init__(self, script, mode):
        self.script, self.mode = script, mode
        self.steps = 0
        self.wrong, self.refused, self.forbidden = [], [], []

    @property
    def bad(self):
        return bool(self.wrong or self.forbidden)

    def text(self):
        lines = [f"WRONG   step {n}: {step}\n        {what}" for n, step, what in self.wrong]
        lines += [f"REFUSED step {n}: {step}\n        {what}" for n, step, what in self.forbidden]
        return "\n".join(lines)


class Lane:
    """One server with its data, and the Sluices that scripts need."""

    def __init__(self, flavour, run_dir, sock_dir, certs, direct=False, env=None):
        self.flavour, self.direct, self.env = flavour, direct, env
        self.db = KINDS[flavour](run_dir, sock_dir, certs)
        self.db.prepare()
        self.db.start(SERVER_OPTIONS)
        self.fixture = fixture.Fixture(self.db)
        self.fixture.make()
        self.dir = run_dir / f"{flavour}-sluice"
        self.sluices, self.neighbours = {}, {}

    # -- what scripts need

    def sluice(self, script):
        key = repr(sorted(script.conf.items()))
        s = self.sluices.get(key)
        if s and s.process.running():
            return s
        if s:
            self.drop(key)
        s = Sluice(self.dir / f"s{len(list(self.dir.glob('s*')))}", self.db.url(),
                   {"mysql": {**CONF, **script.conf}, "process": {"log_level": "info"}}, env=self.env)
        self.sluices[key] = s
        return s

    def drop(self, key):
        """Forgets a Sluice and its neighbours; what it says of its end."""
        s = self.sluices.pop(key)
        for k in [k for k in self.neighbours if k[0] == key]:
            self.neighbours.pop(k).close()
        return s.finish()

    def neighbours_of(self, script, user, caps):
        """Those of this user's pool, made at the first time."""
        key = repr(sorted(script.conf.items()))
        k = (key, user, caps & KEY)
        if k not in self.neighbours:
            s = self.sluices[key]
            try:
                self.neighbours[k] = Neighbours(s.address, user, PASSWORDS.get(user, ""), caps, s.pinned)
            except wire.ServerError:
                return None  # the script's client is about to hear the same
        return self.neighbours[k]

    # -- a script

    def judge(self, script, mode):
        """When others wait, a backend is held for what the last statement left for some tenths of a second only. Where a
        slow machine let that pass, Sluice refuses, and what follows from it is no verdict: it is played again."""
        for _ in range(PLAYS):
            v = self.judge_once(script, mode)
            late = [n for n, _, text in v.refused + v.forbidden if HELD_TOO_SHORT in text]
            if not late or any(n < min(late) for n, *_ in v.wrong + v.forbidden) or not v.bad:
                break
        return v

    def judge_once(self, script, mode):
        v = Verdict(script, mode)
        try:
            direct, there = self.play(script, mode, False)
            through, here = self.play(script, mode, not self.direct)
        finally:
            self.fixture.reset(script)
        v.steps = len(direct)
        for i, (d, t) in enumerate(zip(direct, through)):
            self.compare(v, i, d, t)
        if not v.bad and not v.refused and there != here:
            table = next(k for k in there if there[k] != here[k])
            v.wrong.append((0, f"the rows of {table} at the end", f"direct {outcome.shown(there[table])}; "
                            f"sluice {outcome.shown(here[table])}"))
        return v

    def compare(self, v, i, direct, through):
        step = v.script.steps[i]
        if through.refused and not direct.refused:
            at = v.refused if v.script.refuse and re.search(v.script.refuse, through.refused) else v.forbidden
            at.append((i + 1, str(step), through.refused))
            return
        prepared = v.mode == "prepared" or step.verb in ("prepare", "execute", "fetch")
        what = outcome.difference(direct, through, self.flavour == "mysql9" and prepared)
        if what and len(v.wrong) < 4:
            v.wrong.append((i + 1, str(step), what))

    def play(self, script, mode, through):
        """(outcomes, what is in the tables then)"""
        self.fixture.reset(script)
        saved = [(name, self.db.admin.value(f"SELECT @@GLOBAL.{name}")) for name in script.globals]
        address, between = self.db.address, None
        if through:
            address, between = self.sluice(script).address, self.hostility(script)
        p = Player(script, address, self.db, mode == "prepared", between, through)
        try:
            outcomes = p.play()
        finally:
            for name, value in saved:
                self.db.admin.query(f"SET GLOBAL {name} = {value if re.fullmatch('[0-9.]+', value) else repr(value)}")
            self.settle()
            if through and saved: # put back past Sluice, which learns of it when it next opens a connection
                for key in list(self.sluices):
                    self.drop(key)
        there = self.fixture.look() if script.writes else None
        self.fixture.tidy(script)
        return outcomes, there

    def settle(self):
        for n in self.neighbours.values():
            n.settle()

    def hostility(self, script):
        """The function that a player calls before each step."""
        begun = {}

        def between(player, step):
            texts = [] if step.verb != "query" else [step.text]
            pools = {(script.user, 0)} | {(c.user, c.caps & KEY) for c in player.clients.values() if c}
            for pool in pools:
                if pool not in begun:
                    begun[pool] = self.neighbours_of(script, *pool)
                    if begun[pool]:
                        begun[pool].begin(script)
                if begun[pool]:
                    begun[pool].steal(texts)
        return between

    def recover(self):
        """After a script that broke something: everything anew that a client can have harmed."""
        for key in list(self.sluices):
            self.drop(key)
        if not self.db.process.running():
            self.db.start(SERVER_OPTIONS)
        self.db.forget_admin()
        self.db.kill_all()
        for name in self.fixture.dirty:
            self.fixture.dirty[name] = True

    def finish(self):
        """What is wrong with the way the Sluices ended."""
        wrong = [self.drop(key) for key in list(self.sluices)]
        self.db.stop(signal.SIGKILL)
        return [w for w in wrong if w]


class Servers:
    """The directories of a run, and its lanes; ends all of them."""

    def __enter__(self):
        procs.WORK.mkdir(parents=True, exist_ok=True)
        self.run_dir = pathlib.Path(tempfile.mkdtemp(prefix="oracle.", dir=procs.WORK))
        self.sock_dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-or-"))
        self.certs = self.run_dir / "certs"
        self.certs.mkdir()
        servers.make_certificates(self.certs)
        self.lanes = []
        return self

    def lane(self, flavour, **kw):
        """(lane, None), or (None, why there is none)"""
        why = KINDS[flavour].absent()
        if why:
            return None, why.splitlines()[0][:120]
        lane = Lane(flavour, self.run_dir, self.sock_dir, self.certs, **kw)
        self.lanes.append(lane)
        return lane, None

    def __exit__(self, *_):
        for lane in self.lanes:
            try:
                lane.finish()
            except (OSError, wire.Gone, procs.Timeout):
                pass
        procs.end_all()
        shutil.rmtree(self.run_dir, ignore_errors=True)
        shutil.rmtree(self.sock_dir, ignore_errors=True)
