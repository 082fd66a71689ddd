# SPDX-License-Identifier: Apache-2.0
"""Processes, ports, paths and waiting.

Every process the tests start is started here and ended here, by its process id. Nothing waits for a fixed
time: `until` polls with a deadline, and says what it waited for when that passes."""
import atexit
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("SLUICE_TEST_BUILD", ROOT / "build"))
WORK = BUILD / "test"

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_lock = threading.Lock()
_alive = []


class Timeout(AssertionError):
    """A deadline passed. The text names what was waited for."""


def until(what, probe, seconds=10.0, every=0.01):
    """Calls probe() until it returns something true, and returns that; Timeout after `seconds`."""
    end = time.monotonic() + seconds
    last = None
    while True:
        value = probe()
        if value:
            return value
        last = value
        if time.monotonic() >= end:
            raise Timeout(f"waited {seconds:g} s for {what}; last seen: {last!r}")
        time.sleep(every)


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child in a process group of its own, with its output in a file. Ends with the test run, whatever happens.

    PDEATHSIG counts the thread that forked as the parent, so a Process is started by a thread that outlives it."""

    def __init__(self, name, argv, log, env=None, cwd=None, stdin=subprocess.DEVNULL, stdout=None):
        self.name = name
        self.log_path = pathlib.Path(log)
        self._log = open(self.log_path, "ab")
        self.popen = subprocess.Popen(
            [str(a) for a in argv], stdin=stdin, stdout=stdout or self._log, stderr=self._log,
            env=env, cwd=cwd, start_new_session=True, preexec_fn=_die_with_parent)
        self.pid = self.popen.pid
        with _lock:
            _alive.append(self)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        if self.running():
            os.kill(self.pid, number)

    def wait(self, seconds=30):
        """The exit status; Timeout when it still runs after `seconds`."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Timeout(f"{self.name} (pid {self.pid}) still runs after {seconds:g} s") from None
        self._forget()
        return code

    def kill(self):
        """Ends it at once, with whatever it forked (its process group)."""
        if self.running():
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.popen.wait()
        self._forget()

    def _forget(self):
        with _lock:
            if self in _alive:
                _alive.remove(self)
        if not self._log.closed:
            self._log.close()


@atexit.register
def end_all():
    """Ends every process still alive; called at exit and by the watchdog."""
    with _lock:
        rest = list(reversed(_alive))
    for p in rest:
        p.kill()


def rss_bytes(pid):
    """Resident memory of a process, without pages of files."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no RssAnon of pid {pid}")


def open_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Background:
    """A function in a thread; result() returns what it returned or raises what it raised."""

    def __init__(self, fn, *args, **kw):
        self._value = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(fn, args, kw), daemon=True)
        self._thread.start()

    def _run(self, fn, args, kw):
        try:
            self._value = fn(*args, **kw)
        except BaseException as e:  # handed to result(), also a Timeout
            self._error = e

    def done(self):
        return not self._thread.is_alive()

    def result(self, seconds=30):
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise Timeout(f"a background call did not end within {seconds:g} s")
        if self._error:
            raise self._error
        return self._value
