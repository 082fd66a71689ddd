# SPDX-License-Identifier: Apache-2.0
"""A scripted MySQL server: for timing that a real one does not give, and for what a real one never sends.

    peer = ScriptPeer(on_query=lambda link, sql: link.stall_until(gate) or link.ok() if "slow" in sql else False)

on_query(link, sql) returns True when it answered (or chose not to); otherwise the peer answers as a plain server
does: OK to SET, USE and the like, a row to SELECTs of @@variables and constants. on_accept(link) comes in place of
the greeting when it returns True. Every command is recorded in peer.seen, in order of arrival."""
import os
import re
import socket
import struct
import threading

from . import wire
from .relay import reset_close

VARIABLES = {"wait_timeout": "28800", "interactive_timeout": "28800", "max_allowed_packet": "16777216",
             "version": "8.0.99-script", "hostname": "script", "server_uuid": "5c21f7e0-0000-0000-0000-000000000001",
             "version_comment": "scripted peer", "sql_mode": "STRICT_TRANS_TABLES", "time_zone": "SYSTEM",
             "autocommit": "1", "character_set_client": "utf8mb4", "character_set_connection": "utf8mb4",
             "character_set_results": "utf8mb4", "collation_connection": "utf8mb4_general_ci", "server_id": "1",
             "transaction_isolation": "REPEATABLE-READ", "tx_isolation": "REPEATABLE-READ", "read_only": "0"}
CAPS = (wire.PHP_CAPS | wire.FOUND_ROWS | wire.CONNECT_WITH_DB | wire.CONNECT_ATTRS | wire.LENENC_AUTH |
        wire.PS_MULTI_RESULTS | wire.SESSION_TRACK | wire.DEPRECATE_EOF | wire.LOCAL_FILES | wire.IGNORE_SPACE |
        wire.INTERACTIVE)


class Link:
    """One accepted connection, as the script sees it."""

    def __init__(self, peer, sock, number):
        self.peer, self.sock, self.number = peer, sock, number
        self.seq = 0
        self.buffer = bytearray()
        self.caps = 0
        self.user = ""

    def send(self, payload):
        self.sock.sendall(struct.pack("<I", len(payload))[:3] + bytes([self.seq & 255]) + payload)
        self.seq += 1

    def send_raw(self, data):
        self.sock.sendall(data)

    def read(self):
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[:3], "little"):
            data = self.sock.recv(1 << 16)
            if not data:
                raise wire.Gone("closed")
            self.buffer += data
        n = int.from_bytes(self.buffer[:3], "little")
        payload = bytes(self.buffer[4:4 + n])
        self.seq = self.buffer[3] + 1
        del self.buffer[:4 + n]
        return payload

    # -- what a script may do

    def greet(self, version=None, caps=CAPS, plugin=b"mysql_native_password"):
        version = (version or VARIABLES["version"]).encode()
        self.send(b"\x0a" + version + b"\0" + struct.pack("<I", 1000 + self.number) + b"saltsalt\0" +
                  struct.pack("<HBHHB", caps & 0xFFFF, 45, wire.AUTOCOMMIT, caps >> 16, 21) + bytes(10) +
                  b"saltsaltsalt\0" + plugin + b"\0")

    def accept_login(self):
        """Takes any answer as right."""
        response = self.read()
        self.caps = struct.unpack_from("<I", response)[0] & CAPS
        self.user = response[32:].split(b"\0")[0].decode()
        self.ok()

    def ok(self, status=wire.AUTOCOMMIT, affected=0, last_id=0, warnings=0):
        self.send(b"\0" + wire.lenenc(affected) + wire.lenenc(last_id) + struct.pack("<HH", status, warnings))
        return True

    def error(self, errno, sqlstate, text):
        self.send(b"\xff" + struct.pack("<H", errno) + b"#" + sqlstate.encode() + text.encode())
        return True

    def column(self, name):
        s = wire.lenenc_str
        self.send(s(b"def") + s(b"") * 3 + s(name.encode()) + s(name.encode()) +
                  struct.pack("<BHIBHBH", 12, 45, 1024, 253, 0, 0, 0))

    def end(self, status=wire.AUTOCOMMIT):
        if self.caps & wire.DEPRECATE_EOF:
            self.send(b"\xfe\0\0" + struct.pack("<HH", status, 0))
        else:
            self.send(b"\xfe" + struct.pack("<HH", 0, status))

    def columns(self, names):
        self.send(wire.lenenc(len(names)))
        for name in names:
            self.column(name)
        if not self.caps & wire.DEPRECATE_EOF:
            self.send(b"\xfe" + struct.pack("<HH", 0, wire.AUTOCOMMIT))

    def row(self, values):
        self.send(b"".join(b"\xfb" if v is None else wire.lenenc_str(str(v).encode()) for v in values))

    def result(self, names, rows, status=wire.AUTOCOMMIT):
        self.columns(names)
        for r in rows:
            self.row(r)
        self.end(status)
        return True

    def reset(self):
        reset_close(self.sock)
        return True

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)
        return True

    def stall_until(self, event, seconds=60):
        """Answers nothing until the test sets `event` (or ends)."""
        event.wait(seconds)


def select_columns(sql):
    """[(name, value)] of a SELECT of constants and @@variables, or None."""
    m = re.match(r"\s*SELECT\s+(.*?)(?:\s+LIMIT\s+\d+)?\s*;?\s*$", sql, re.I | re.S)
    if not m or re.search(r"\bFROM\b", m[1], re.I):
        return None
    out = []
    for item in re.split(r",(?![^(]*\))", m[1]):
        expr, _, alias = re.sub(r"\s+AS\s+", "\0", item.strip(), flags=re.I).partition("\0")
        var = re.fullmatch(r"@@(?:session\.|global\.)?(\w+)", expr, re.I)
        value = VARIABLES.get(var[1].lower(), "0") if var else expr.strip("'\"")
        out.append(((alias or expr).strip("`'\" "), value))
    return out


class ScriptPeer:
    def __init__(self, on_query=None, on_accept=None, on_command=None, unix=None):
        self.on_query, self.on_accept, self.on_command = on_query, on_accept, on_command
        self.seen = []
        self.accepted = 0
        self.links = []
        self.failures = []
        if unix:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(unix)
        else:
            self.listener = socket.socket()
            self.listener.bind(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
        self.listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def url(self, query=""):
        # Plain bytes: this peer has no certificate.
        return f"mysql://127.0.0.1:{self.port}?tls=off{'&' + query if query else ''}"

    def queries(self):
        return [body.decode("utf-8", "replace") for _, number, body in list(self.seen) if number == wire.QUERY]

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            link = Link(self, sock, self.accepted)
            self.links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        try:
            if self.on_accept and self.on_accept(link):
                return
            link.greet()
            link.accept_login()
            while True:
                payload = link.read()
                number, body = payload[0], payload[1:]
                self.seen.append((link.number, number, body))
                if number == wire.QUIT:
                    break
                self._answer(link, number, body)
        except (wire.Gone, OSError):
            pass
        except Exception as e:  # shown by the case at its end
            self.failures.append(repr(e))
        link.sock.close()

    def _answer(self, link, number, body):
        if self.on_command and self.on_command(link, number, body):
            return
        if number in (wire.STMT_CLOSE, wire.STMT_LONG_DATA):
            return
        if number != wire.QUERY:
            link.ok()
            return
        sql = body.decode("utf-8", "replace")
        if self.on_query and self.on_query(link, sql):
            return
        cols = select_columns(sql)
        if cols:
            link.result([n for n, _ in cols], [[v for _, v in cols]])
        elif re.match(r"\s*(SHOW|SELECT)\b", sql, re.I):
            link.result(["Variable_name", "Value"], [])
        else:
            link.ok()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for link in self.links:
            try:
                link.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
