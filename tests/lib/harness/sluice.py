# SPDX-License-Identifier: Apache-2.0
"""A Sluice under test: configuration, start, addresses, status, metrics, log, end."""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess

from . import prom, wire
from .procs import BUILD, Process, Timeout, rss_bytes, until

SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|ThreadSanitizer|runtime error:")


def binary():
    return pathlib.Path(os.environ.get("SLUICE", BUILD / "sluice")).resolve()


def sanitized():
    """Is the binary a sanitizer's build? Then its memory says nothing."""
    return b"__asan_init" in binary().read_bytes() or b"__tsan_init" in binary().read_bytes()


def libconfig(value, depth=0):
    """A Python value in libconfig's syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "( " + ", ".join(libconfig(v, depth + 1) for v in value) + " )"
    inner = "".join(f"{'  ' * depth}{k} = {libconfig(v, depth + 1)};\n" for k, v in value.items())
    return inner if depth == 0 else "{\n" + inner + "  " * (depth - 1) + "}"


def render(conf):
    return "# written by the test\n" + "".join(f"{k} = {libconfig(v, 1)};\n" for k, v in conf.items())


def clean_env(env=None):
    """The environment without SLUICE_*, plus env. Of sanitizers' options ours go first."""
    out = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE")}
    out.setdefault("ASAN_OPTIONS", "abort_on_error=0:exitcode=99:detect_leaks=1")
    out.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1:exitcode=99")
    out.update(env or {})
    return out


def run_once(*args, env=None, timeout=30, stdin=None):
    """A run to its end: CompletedProcess with text output. For --check, wait, drain and the like."""
    return subprocess.run([binary(), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          env=clean_env(env), stdin=stdin or subprocess.DEVNULL)


class Sluice:
    """Starts on free ports and on a unix socket in `folder`.

    conf     {"mysql": {...}, "admin": {...}, "process": {...}}; what is given here wins over the defaults below
    flags    further arguments      env  further environment
    expect   the exit statuses that stop() takes as good"""

    def __init__(self, folder, backend, conf=None, flags=(), env=None, wait=True):
        self.dir = pathlib.Path(folder)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.sock = str(self.dir / "m")
        self.conf = {
            "mysql": {"listen": f"127.0.0.1:0,unix:{self.sock}", "backend": backend},
            "admin": {"listen": "127.0.0.1:0", "health_listen": "127.0.0.1:0"},
            "process": {"drain_idle": "100ms", "log_level": "debug"},
        }
        for section, keys in (conf or {}).items():
            self.conf.setdefault(section, {}).update(keys)
        if backend is None:
            del self.conf["mysql"]["backend"]
        self.conf_path = self.dir / "sluice.cfg"
        self.write_conf()
        self.port = self.admin_port = self.health_port = None
        self.ended = None
        self.process = Process("sluice", [binary(), "-c", self.conf_path, *flags], self.dir / "log", env=clean_env(env))
        self.pid = self.process.pid
        if wait:
            self.wait_ready()

    def write_conf(self, text=None):
        self.conf_path.write_text(render(self.conf) if text is None else text)

    # -- start

    def wait_ready(self, seconds=20):
        line = until("sluice's ready line", self._ready_line, seconds)
        self.ready = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))
        for address in self.ready.get("mysql", "").strip('"').split(","):
            m = re.fullmatch(r".*:(\d+)", address)
            if m and not address.startswith("unix:"):
                self.port = int(m[1])
        m = re.fullmatch(r".*:(\d+)", self.ready.get("admin", "").strip('"').split(",")[0])
        self.admin_port = int(m[1]) if m else None
        m = re.fullmatch(r".*:(\d+)", self.ready.get("health", "").strip('"'))
        self.health_port = int(m[1]) if m else None

    def _ready_line(self):
        text = self.process.log()
        for line in text.splitlines():
            if "event=ready" in line:
                return line
        if not self.process.running():
            raise Timeout(f"sluice ended with {self.process.popen.returncode} before it was ready:\n{text[-3000:]}")
        return None

    # -- looking

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def client(self, unix=False, **kw):
        return wire.Client(self.sock if unix else self.address, **kw)

    def http(self, method, path, port=None, headers=None, timeout=20):
        """(status, body)"""
        c = http.client.HTTPConnection("127.0.0.1", port or self.admin_port, timeout=timeout)
        try:
            c.request(method, path, headers=headers or {})
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def get(self, path, **kw):
        return self.http("GET", path, **kw)

    def status(self):
        code, body = self.get("/status")
        assert code == 200, f"/status: {code} {body}"
        return json.loads(body)

    def pools(self):
        return self.status()["mysql"]["pools"]

    def pinned(self):
        """{reason: n} without the reasons that none has."""
        return {k: v for k, v in self.status()["mysql"]["pins"].items() if v}

    def metrics(self):
        code, body = self.get("/metrics")
        assert code == 200, f"/metrics: {code}"
        return prom.parse(body)

    def metric(self, name, **labels):
        return prom.total(self.metrics(), name, **labels)

    def log(self):
        return self.process.log()

    def rss(self):
        return rss_bytes(self.pid)

    # -- ends

    def stop(self, number=signal.SIGTERM, seconds=40):
        """Signals, waits, returns the exit status."""
        self.process.signal(number)
        self.ended = self.process.wait(seconds)
        return self.ended

    def kill(self):
        self.ended = "killed"
        self.process.kill()

    def finish(self):
        """At the end of a case. Returns what is wrong with the way it ended, or None."""
        if self.ended is None:
            if not self.process.running():
                self.ended = self.process.popen.returncode
                wrong = f"sluice had ended by itself with {self.ended}"
                return wrong + self.complaint()
            try:
                self.stop(signal.SIGINT, 15)
            except Timeout as e:
                self.process.kill()
                return f"after SIGINT {e}{self.complaint()}"
            if self.ended != 0:
                return f"sluice ended with {self.ended}{self.complaint()}"
        found = SANITIZER.search(self.log())
        return f"a sanitizer report{self.complaint()}" if found else None

    def complaint(self):
        """The part of the log that explains a bad end."""
        text = self.log()
        m = SANITIZER.search(text)
        start = max(0, m.start() - 200) if m else max(0, len(text) - 1500)
        return ":\n" + text[start:start + 6000]
