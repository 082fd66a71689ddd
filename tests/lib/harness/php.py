# SPDX-License-Identifier: Apache-2.0
"""PHP: scripts of tests/integration/php under the CLI, and under a private PHP-FPM by a small FastCGI client."""
import glob
import json
import os
import shutil
import socket
import struct
import subprocess

from .procs import ROOT, Process, until
from .sluice import clean_env

SCRIPTS = ROOT / "tests" / "integration" / "php"
# opcache is switched off for the CLI anyway; here it would only cost start-up.
FLAGS = ["-d", "display_errors=stderr", "-d", "log_errors=0", "-d", "memory_limit=1G", "-d", "opcache.enable=0"]


class PhpFailed(AssertionError):
    pass


def environment(front, **env):
    """What php/lib.php reads: where to connect and as whom."""
    out = {"DB_HOST": "127.0.0.1", "DB_PORT": str(front.port), "DB_SOCKET": front.sock, "DB_USER": "app",
           "DB_PASSWORD": "apppass", "DB_NAME": "app"}
    out.update({k: str(v) for k, v in env.items()})
    return out


def start(front, script, log, **env):
    """A script in the background: a Process; its output goes to `log`."""
    return Process("php", ["php", *FLAGS, SCRIPTS / script], log, env=clean_env(environment(front, **env)))


def run(front, script, timeout=60, **env):
    """Runs a script; returns the JSON of its last line. Anything on stderr is a failure: warnings count."""
    done = subprocess.run(["php", *FLAGS, str(SCRIPTS / script)], capture_output=True, text=True, timeout=timeout,
                          env=clean_env(environment(front, **env)))
    if done.returncode or done.stderr.strip():
        raise PhpFailed(f"{script} exit {done.returncode}: {done.stderr.strip()} {done.stdout.strip()}"[:2000])
    return json.loads(done.stdout.strip().splitlines()[-1])


def fpm_binary():
    named = [p for p in glob.glob("/usr/sbin/php-fpm*") if os.access(p, os.X_OK)]
    return shutil.which("php-fpm") or (sorted(named)[-1] if named else None)


class Fpm:
    """A php-fpm with `children` static processes on a unix socket."""

    def __init__(self, folder, front, children=8, **env):
        folder.mkdir(parents=True, exist_ok=True)
        self.sock = str(folder / "f")
        conf = folder / "fpm.conf"
        lines = ["[global]", "daemonize = no", f"error_log = {folder / 'fpm.log'}", "log_level = warning", "[www]",
                 f"listen = {self.sock}", "listen.backlog = 1024", "pm = static", f"pm.max_children = {children}",
                 "clear_env = no", "catch_workers_output = yes", "php_admin_value[display_errors] = 0"]
        if os.getuid() == 0:
            lines += ["user = root", "group = root"]
        conf.write_text("\n".join(lines) + "\n")
        argv = [fpm_binary(), "--nodaemonize", "--fpm-config", conf] + (["-R"] if os.getuid() == 0 else [])
        self.process = Process("php-fpm", argv, folder / "out", env=clean_env(environment(front, **env)))
        until("php-fpm's socket", lambda: os.path.exists(self.sock), 15)

    def get(self, script, query="", timeout=60):
        """(headers and body as text, stderr as text); ConnectionError when the worker died."""
        path = str(SCRIPTS / script)
        params = {"SCRIPT_FILENAME": path, "SCRIPT_NAME": "/" + script, "REQUEST_METHOD": "GET",
                  "QUERY_STRING": query, "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_URI": f"/{script}?{query}"}
        return exchange(self.sock, params, timeout=timeout)

    def json(self, script, query="", timeout=60):
        out, err = self.get(script, query, timeout)
        text = out.split("\r\n\r\n", 1)[-1].strip()
        if err or not text:
            raise PhpFailed(f"{script}?{query}: {err} {out}"[:2000])
        return json.loads(text.splitlines()[-1])

    def stop(self):
        self.process.kill()


def record(kind, data):
    return struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data


def exchange(sock, params, body=b"", timeout=60):
    """One FastCGI request: what it wrote to stdout and stderr, as texts; ConnectionError when the worker died."""
    head = b""
    for k, v in params.items():
        k, v = k.encode(), v.encode()
        for b in (k, v):
            head += bytes([len(b)]) if len(b) < 128 else struct.pack(">I", len(b) | 1 << 31)
        head += k + v
    out, err = bytearray(), bytearray()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(timeout)
        s.connect(sock)
        parts = [record(1, struct.pack(">HB5x", 1, 0)), record(4, head), record(4, b"")]
        parts += [record(5, body[at:at + 32768]) for at in range(0, len(body), 32768)] + [record(5, b"")]
        s.sendall(b"".join(parts))
        f = s.makefile("rb")
        while True:
            frame = f.read(8)
            if len(frame) < 8:
                raise ConnectionError(f"the worker closed without an end: {params['REQUEST_URI']}")
            _, kind, _, length, padding = struct.unpack(">BBHHBx", frame)
            data = f.read(length + padding)[:length]
            if kind == 6:
                out += data
            elif kind == 7:
                err += data
            elif kind == 3:
                return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
