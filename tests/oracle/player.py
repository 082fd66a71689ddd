# SPDX-License-Identifier: Apache-2.0
"""Plays one script against one address, and notes what its clients saw."""
import ast
import re
import socket
import struct
import zlib

from harness import wire
from harness.procs import Timeout, until
import outcome
from script import arguments

TIMEOUT_S = 12
UNTIL_S = 8
# COM_STMT_PREPARE does not know these statements; PDO then sends them as text, and so do we.
UNPREPARABLE = 1295
FILES = {"rows.csv": b"7,seven,70\n8,eight,80\n", "bad.csv": b"x,y\nz\n", "empty.csv": b"",
         "big.csv": b"".join(b"%d,row%d,%d\n" % (i, i, i % 7) for i in range(100, 30100))}
PASSWORDS = {"app": "apppass", "app2": "app2pass", "admin": "adminpass"}
GONE = (1053, 1080, 1317, 1927, 2006, 2013, 4031)


class Player:
    """prepared: plain statements by PREPARE, EXECUTE, CLOSE. between(texts): called before each step."""

    def __init__(self, script, address, db, prepared=False, between=None, through=False):
        self.script, self.address, self.db = script, address, db
        self.prepared, self.between, self.through = prepared, between, through
        self.clients, self.statements, self.kept, self.names = {}, {}, {}, {}
        self.outcomes = []
        self.refused = set()

    def play(self):
        """The outcome of each step, until the end or the first refusal that leaves another state than direct."""
        try:
            for i, step in enumerate(self.script.steps):
                if self.between and i and step.verb not in ("recv", "until"):
                    self.between(self, step)
                out = self.step(step)
                self.outcomes.append(out)
                if out.refused and not re.match(r"SELECT|SHOW|GET|TABLE|VALUES", step.text, re.I):
                    break
        finally:
            self.close()
        return self.outcomes

    def close(self):
        for c in self.clients.values():
            if c:
                c.quit()
        self.clients = {}

    # -- one step

    def step(self, step):
        out = outcome.Outcome()
        text = self.expand(step.text)
        # A statement's EXECUTE that is half a reply would make the next step's reply unreadable.
        try:
            getattr(self, "do_" + step.verb)(step, text, out)
        except wire.ServerError as e:
            out.error(e)
        except (wire.Gone, ConnectionError, BrokenPipeError) as e:
            self.lost(step, out, e)
        except (TimeoutError, socket.timeout):
            out.add("timeout")
            self.lost(step, outcome.Outcome(), None)
        except (wire.Broken, IndexError, struct.error) as e:
            out.add("broken", text=repr(e))
            self.lost(step, outcome.Outcome(), None)
        self.finish(step, out)
        return out

    def lost(self, step, out, error):
        out.add("gone")
        c = self.clients.get(step.client)
        if c:
            c.close()
        self.clients[step.client] = None

    def finish(self, step, out):
        if step.flag("gone") and out.parts:
            last = out.parts[-1]
            if last["kind"] == "gone" or last["kind"] == "error" and last["errno"] in GONE:
                out.parts = [{"kind": "gone"}]
        if step.flag("bind"):
            v = out.value
            self.names[step.flags["bind"]] = v.decode() if isinstance(v, bytes) else str(v)
        if step.flag("greeting"):
            mine = self.greeting_id(step.client)
            got = out.value.decode() if isinstance(out.value, bytes) else str(out.value)
            out.add("greeting", equal=got == str(mine))
            out.replace(mine, "<id>")
        st = self.statements.get((step.client, step.text.split(" ")[0]))
        if st and step.verb in ("execute", "fetch", "stmt_reset"):
            out.replace_text(f"({st.id})", "(<statement>)")
        for name in re.findall(r"\$id([A-Z])", step.text):
            out.replace(self.greeting_id(name), f"<id {name}>")
        if step.flag("any") and not out.refused:
            out.parts = []
        out.mask(step)

    def greeting_id(self, name):
        return self.names[f"id{name}"]

    def expand(self, text):
        return re.sub(r"\$(\w+)", lambda m: str(self.names.get(m[1], m[0])), text) if "$" in text else text

    # -- clients

    def client(self, name):
        if name not in self.clients:
            self.connect(name)
        if self.clients[name] is None:
            raise wire.Gone("was closed before")
        return self.clients[name]

    def connect(self, name, db="app", caps=wire.PHP_CAPS, charset=45, user=None, password=None):
        user = user or self.script.user
        password = PASSWORDS[user] if password is None else password
        c = wire.Client(self.address, user, password, db=db, caps=caps, charset=charset, timeout=TIMEOUT_S,
                        infile=FILES.get, login=False)
        c.greet()
        self.names[f"id{name}"] = c.greeting.connection_id
        self.clients[name] = c
        c.login_ok = c.log_in()
        return c

    def do_connect(self, step, text, out):
        words = dict(w.split("=", 1) for w in text.split())
        options = {}
        if "db" in words:
            options["db"] = None if words["db"] == "-" else words["db"]
        if "charset" in words:
            options["charset"] = int(words["charset"])
        caps = wire.PHP_CAPS
        for sign, name in re.findall(r"([+-])(\w+)", words.get("caps", "")):
            bit = getattr(wire, name)
            caps = caps | bit if sign == "+" else caps & ~bit
        if "user" in words:
            options.update(user=words["user"], password=words.get("password"))
        c = self.connect(step.client, caps=caps, **options)
        out.ok(c.login_ok)
        out.add("greeted", version=c.greeting.version, charset=c.greeting.charset, plugin_auth=bool(
            c.greeting.caps & wire.PLUGIN_AUTH), status=c.greeting.status & outcome.STATUS)

    def do_quit(self, step, text, out):
        self.client(step.client).quit()
        del self.clients[step.client]
        self.forget(step.client)

    def do_drop(self, step, text, out):
        self.client(step.client).close()
        del self.clients[step.client]
        self.forget(step.client)

    def forget(self, client):
        """A script's own statements stay: that their ids are unknown now is something to see."""
        self.kept = {k: v for k, v in self.kept.items() if k[0] != client}

    # -- statements

    def read(self, c, out, binary):
        while True:
            r = c.read_result(binary)
            if r.columns:
                out.rows(r)
            else:
                out.ok(r)
            if not r.status & wire.MORE_RESULTS:
                return r

    def do_text(self, step, text, out):
        c = self.client(step.client)
        c.send_query(text)
        self.read(c, out, False)

    def do_raw(self, step, text, out):
        c = self.client(step.client)
        c.send_query(ast.literal_eval(text))
        self.read(c, out, False)

    def do_query(self, step, text, out):
        if self.prepared:
            self.by_prepare(step, text, out)
        else:
            self.do_text(step, text, out)

    def by_prepare(self, step, text, out):
        """Half of the statements stay prepared and are executed again when their text comes again, as Doctrine
        does it; the others are closed at once, as PDO does it."""
        c = self.client(step.client)
        kept = step.flag("keep") or zlib.crc32(f"{self.script.name} {text}".encode()) & 1
        st = self.kept.get((step.client, text))
        if not st:
            try:
                st = c.prepare(text)
            except wire.ServerError as e:
                out.error(e)
                if e.errno == UNPREPARABLE:
                    self.do_text(step, text, out)
                if out.refused:
                    self.refused.add((step.client, text))
                return
            # Direct it was prepared, and may be kept, since the step at which Sluice refused it.
            if (step.client, text) not in self.refused or not kept:
                self.note_prepared(st, out)
        if st.params:
            return
        if kept:
            self.kept[step.client, text] = st
        try:
            c.send_execute(st)
            self.read(c, out, True)
        finally:
            if not kept:
                c.close_statement(st)

    @staticmethod
    def note_prepared(st, out):
        out.add("prepared", columns=[outcome.column(p.raw) for p in st.columns],
                params=[outcome.column(p.raw) for p in st.params], warnings=st.warnings)

    def named(self, step, text):
        """(client, statement, rest of the text)"""
        name, _, rest = text.partition(" ")
        c = self.client(step.client)
        if name.startswith("#"):
            return c, wire.Statement(int(name[1:], 0), [], [], 0), rest
        if (step.client, name) not in self.statements:
            raise ValueError(f"{self.script.name}: no statement {name} of {step.client}")
        return c, self.statements[step.client, name], rest

    def do_prepare(self, step, text, out):
        name, _, sql = text.partition(" ")
        # One whose PREPARE fails is executed as an unknown id.
        self.statements[step.client, name] = wire.Statement(0x7FFFFFF, [], [], 0)
        st = self.statements[step.client, name] = self.client(step.client).prepare(sql)
        self.note_prepared(st, out)

    def do_execute(self, step, text, out):
        c, st, rest = self.named(step, text)
        c.send_execute(st, arguments(rest), cursor=step.flag("cursor"), types=not step.flag("untyped"))
        st.result = self.read(c, out, True)

    def do_fetch(self, step, text, out):
        c, st, rest = self.named(step, text)
        c.send_command(wire.STMT_FETCH, struct.pack("<II", st.id, int(rest)))
        r = wire.Result()
        r.columns = getattr(st, "result", r).columns
        c._read_rows(r, True, None)
        out.rows(r)

    def do_long(self, step, text, out):
        c, st, rest = self.named(step, text)
        param, _, data = rest.partition(" ")
        c.long_data(st, int(param), ast.literal_eval(data))

    def do_stmt_reset(self, step, text, out):
        c, st, _ = self.named(step, text)
        out.ok(c.reset_statement(st))

    def do_stmt_close(self, step, text, out):
        c, st, _ = self.named(step, text)
        c.close_statement(st)

    # -- other commands

    def do_ping(self, step, text, out):
        out.ok(self.client(step.client).ping())

    def do_init_db(self, step, text, out):
        out.ok(self.client(step.client).use(text))

    def do_reset(self, step, text, out):
        out.ok(self.client(step.client).reset())
        self.forget(step.client)

    def do_change_user(self, step, text, out):
        user, password, *db = text.split()
        r = self.client(step.client).change_user(user, password, db[0] if db else "")
        self.forget(step.client)
        out.ok(r)

    def do_option(self, step, text, out):
        r = self.client(step.client).set_option(int(text))
        out.add("option", status=r.status & outcome.STATUS, warnings=r.warnings)

    def do_statistics(self, step, text, out):
        out.add("statistics", begins=self.client(step.client).statistics()[:8])

    def do_process_kill(self, step, text, out):
        out.ok(self.client(step.client).command(wire.PROCESS_KILL, struct.pack("<I", int(text))))

    def do_mark(self, step, text, out):
        c = self.client(step.client)
        if self.through:
            c.end_of_request()
            return
        c.end_of_request()
        for sql in filter(None, (s.strip() for s in text.split(";"))):
            c.query(sql)

    def do_send(self, step, text, out):
        self.client(step.client).send_query(text)

    def do_recv(self, step, text, out):
        self.read(self.client(step.client), out, False)

    def do_until(self, step, text, out):
        # INNODB_TRX shows new things only when nobody has looked for 100 ms.
        try:
            until(text, lambda: (self.db.admin.value(text) or "0") != "0", UNTIL_S, 0.15)
        except Timeout:
            out.add("never")

    def do_admin(self, step, text, out):
        self.db.admin.query(text)
