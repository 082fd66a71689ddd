# SPDX-License-Identifier: Apache-2.0
"""A PHP process that stays and does what it is told: php/told.php."""
import json
import select
import subprocess
import time

from harness import php
from harness.procs import Process, Timeout
from harness.sluice import clean_env


class PhpError(AssertionError):
    """What PHP threw: errno of the server, 0 for anything else."""

    def __init__(self, errno, text):
        super().__init__(f"PHP: {errno} {text}")
        self.errno = errno


class Application:
    """do(code) runs a piece of PHP and returns what it returns. start() and result() are its halves, so that many
    can run at once; result() also notes in `seconds` how long it took."""

    def __init__(self, t, front=None, **env):
        front = front or t.front()
        self.process = Process("php", ["php", *php.FLAGS, "-d", "mysqli.allow_persistent=1",
                                       php.SCRIPTS / "told.php"], t.dir / f"app{len(t._ends)}",
                               env=clean_env(php.environment(front, **env)), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        self.seconds = 0.0
        self._began = 0.0
        t.defer(self.end)

    def start(self, code):
        self.process.popen.stdin.write(json.dumps(code).encode() + b"\n")
        self._began = time.monotonic()
        self.process.popen.stdin.flush()

    def result(self, seconds=30):
        out = self.process.popen.stdout
        if not select.select([out], [], [], seconds)[0]:
            raise Timeout(f"PHP did not answer within {seconds:g} s")
        line = out.readline()
        self.seconds = time.monotonic() - self._began
        if not line:
            raise PhpError(0, f"ended: {self.process.log()[-1000:]}")
        got = json.loads(line)
        if "error" in got:
            raise PhpError(*got["error"])
        return got["value"]

    def do(self, code, seconds=30):
        self.start(code)
        return self.result(seconds)

    def kill(self):
        """SIGKILL, as an out-of-memory killer does it."""
        self.process.kill()

    def end(self):
        self.process.kill()
        self.process.popen.stdin.close()
        self.process.popen.stdout.close()
