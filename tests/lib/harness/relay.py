# SPDX-License-Identifier: Apache-2.0
"""A TCP relay in front of a server: stalls, cuts, refuses, delays, counts round trips and tells what was asked in them."""
import os
import select
import selectors
import socket
import struct
import threading
import time


def reset_close(s):
    """Closes with a RST."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


COMMANDS = {1: "QUIT", 2: "INIT_DB", 3: "QUERY", 4: "FIELD_LIST", 9: "STATISTICS", 12: "PROCESS_KILL", 14: "PING",
            17: "CHANGE_USER", 22: "PREPARE", 23: "EXECUTE", 24: "LONG_DATA", 25: "CLOSE", 26: "STMT_RESET",
            27: "SET_OPTION", 28: "FETCH", 31: "RESET_CONNECTION"}
WITH_TEXT = (2, 3, 22)
SHOWN_BYTES = 200
SSL_REQUEST_BYTES = 32


class Asked:
    """Reads the commands out of what a client sends: each begins with sequence id 0. Blind once TLS has begun."""

    def __init__(self):
        self.head = bytearray()
        self.left = None  # bytes to come of the packet whose head has been read
        self.first = True
        self.blind = False

    def read(self, data):
        """The commands that begin to be whole with these bytes: texts."""
        out = []
        at = 0
        while at < len(data) and not self.blind:
            if self.left:
                step = min(self.left, len(data) - at)
                if len(self.head) < 4 + SHOWN_BYTES:
                    self.head += data[at:at + min(step, 4 + SHOWN_BYTES - len(self.head))]
                self.left -= step
                at += step
            else:
                step = min(4 - len(self.head), len(data) - at)
                self.head += data[at:at + step]
                at += step
                if len(self.head) == 4:
                    self.left = int.from_bytes(self.head[:3], "little")
            if self.left == 0:
                self._whole(out)
        return out

    def _whole(self, out):
        length = int.from_bytes(self.head[:3], "little")
        body = bytes(self.head[4:])
        if self.head[3] == 0 and body:
            name = COMMANDS.get(body[0], f"command {body[0]}")
            text = body[1:].decode("utf-8", "replace") if body[0] in WITH_TEXT else ""
            out.append(f"{name} {text}".strip())
        elif self.first:
            out.append("login")
            self.blind = length == SSL_REQUEST_BYTES
        self.head, self.left, self.first = bytearray(), None, False


class Link:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.turns = 0
        self.last = None
        self.asked = Asked()
        self.trip = None
        self.to_server = self.to_client = 0


class Relay:
    """Listens on a free port of 127.0.0.1; each connection goes to `target` ((host, port) or a path).

    turns()   how often the direction changed from client to server, over all links: round trips begun
    trips     what was asked in each of them: a list of texts, as "QUERY SELECT 1"
    stall()   bytes stay where they are      flow()  they move again     delay_s  waits before each piece to the client
    cut()     closes all links (reset=True: with RST)
    refuse()  closes the listener, so connects are refused   accept_again() opens the same port"""

    def __init__(self, target):
        self.target = target
        self.delay_s = 0.0
        self.trips = []
        self._links = []
        self._lock = threading.Lock()
        self._flowing = threading.Event()
        self._flowing.set()
        self._stop = False
        self.connects = 0
        self.listener = None
        self.port = 0
        self._open()

    def _open(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def url(self, user=None, password=None, query=""):
        who = f"{user}:{password}@" if user else ""
        return f"mysql://{who}127.0.0.1:{self.port}{'?' + query if query else ''}"

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.connects += 1
            try:
                if isinstance(self.target, (str, os.PathLike)):
                    server = socket.socket(socket.AF_UNIX)
                    server.connect(str(self.target))
                else:
                    server = socket.create_connection(self.target, 5)
            except OSError:
                reset_close(client)
                continue
            for s in (client, server):
                s.settimeout(None)
                if s.family == socket.AF_INET:
                    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = Link(client, server)
            with self._lock:
                self._links.append(link)
            threading.Thread(target=self._carry, args=(link,), daemon=True).start()

    def _carry(self, link):
        sel = selectors.DefaultSelector()
        try:
            sel.register(link.client, selectors.EVENT_READ)
            sel.register(link.server, selectors.EVENT_READ)
            while not self._stop:
                ready = sel.select(0.5)
                self._flowing.wait()
                for key, _ in ready:
                    if not self._pass(link, key.fileobj):
                        return
        except (OSError, ValueError, KeyError):
            return
        finally:
            sel.close()
            for s in (link.client, link.server):
                s.close()

    def _pass(self, link, source):
        try:
            data = source.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True  # read already, as what was early (below)
        if not data:
            return False
        if source is link.client:
            self._to_server(link, data)
            return True
        if self.delay_s:
            time.sleep(self.delay_s)
        # What the client sent before it can have seen this belongs to the round trip that ends here.
        while link.last == "client" and select.select([link.client], [], [], 0)[0]:
            early = link.client.recv(1 << 16)
            if not early:
                return False
            self._to_server(link, early)
        link.last = "server"
        link.to_client += len(data)
        link.client.sendall(data)
        return True

    def _to_server(self, link, data):
        if link.last != "client":
            link.turns += 1
            link.trip = []
            self.trips.append(link.trip)
        link.last = "client"
        link.trip += link.asked.read(data)
        link.to_server += len(data)
        link.server.sendall(data)

    def links(self):
        with self._lock:
            return list(self._links)

    def turns(self):
        return sum(link.turns for link in self.links())

    def stall(self):
        self._flowing.clear()

    def flow(self):
        self._flowing.set()

    def cut(self, reset=False):
        for link in self.links():
            for s in (link.client, link.server):
                try:
                    if reset:
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def refuse(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def accept_again(self):
        self._open()

    def close(self):
        self._stop = True
        self.refuse()
        self.flow()
        self.cut()


class Blackhole:
    """A listener whose accept queue is full: connects to it neither succeed nor fail."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.fillers = []
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(s)

    def url(self):
        return f"mysql://127.0.0.1:{self.port}"

    def close(self):
        for s in (self.listener, *self.fillers):
            s.close()
