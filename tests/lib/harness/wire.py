# SPDX-License-Identifier: Apache-2.0
"""A raw MySQL client: shows each flag, status bit and sequence id, and lets a test cut the stream where it likes.

Protocol: dev.mysql.com "Client/Server Protocol". Standard library only, so RSA-OAEP is written out here; that
code is for tests, and takes no care to keep a secret."""
import hashlib
import os
import socket
import ssl
import struct
import base64

LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB = 0x1, 0x2, 0x4, 0x8
COMPRESS, LOCAL_FILES, IGNORE_SPACE, PROTOCOL_41 = 0x20, 0x80, 0x100, 0x200
INTERACTIVE, SSL, TRANSACTIONS, SECURE_CONNECTION = 0x400, 0x800, 0x2000, 0x8000
MULTI_STATEMENTS, MULTI_RESULTS, PS_MULTI_RESULTS = 0x10000, 0x20000, 0x40000
PLUGIN_AUTH, CONNECT_ATTRS, LENENC_AUTH = 0x80000, 0x100000, 0x200000
SESSION_TRACK, DEPRECATE_EOF, QUERY_ATTRIBUTES = 0x800000, 0x1000000, 0x8000000

# What PHP's mysqlnd sends for PDO, LOCAL_FILES and CONNECT_ATTRS apart.
PHP_CAPS = (LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_STATEMENTS |
            MULTI_RESULTS | PLUGIN_AUTH)

IN_TRANS, AUTOCOMMIT, MORE_RESULTS = 0x1, 0x2, 0x8
CURSOR_EXISTS, LAST_ROW_SENT, STATE_CHANGED = 0x40, 0x80, 0x4000

(QUIT, INIT_DB, QUERY, FIELD_LIST, STATISTICS, PROCESS_INFO, PROCESS_KILL, DEBUG, PING, CHANGE_USER, STMT_PREPARE,
 STMT_EXECUTE, STMT_LONG_DATA, STMT_CLOSE, STMT_RESET, SET_OPTION, STMT_FETCH, RESET_CONNECTION) = (
    1, 2, 3, 4, 9, 10, 12, 13, 14, 17, 22, 23, 24, 25, 26, 27, 28, 31)
END_OF_REQUEST_ID = 0xFFFFFFFE
MAX = 0xFFFFFF


class ServerError(Exception):
    """An ERR packet."""

    def __init__(self, payload, seq):
        self.errno = struct.unpack_from("<H", payload, 1)[0]
        rest = payload[3:]
        self.sqlstate = ""
        if rest[:1] == b"#":
            self.sqlstate, rest = rest[1:6].decode(), rest[6:]
        self.text = rest.decode("utf-8", "replace")
        self.seq = seq
        super().__init__(f"{self.errno} ({self.sqlstate}): {self.text}")


class Gone(Exception):
    """The peer closed the connection, between packets or in the middle of one."""


class Broken(AssertionError):
    """The peer broke the protocol: a wrong sequence id, a packet of a wrong form."""


def lenenc(n):
    if n < 251:
        return bytes([n])
    if n < 1 << 16:
        return b"\xfc" + struct.pack("<H", n)
    if n < 1 << 24:
        return b"\xfd" + struct.pack("<I", n)[:3]
    return b"\xfe" + struct.pack("<Q", n)


def lenenc_str(b):
    return lenenc(len(b)) + b


def read_lenenc(buf, pos):
    """(value or None for NULL, next position)"""
    first = buf[pos]
    if first < 251:
        return first, pos + 1
    if first == 251:
        return None, pos + 1
    width = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(buf[pos + 1:pos + 1 + width], "little"), pos + 1 + width


def read_lenenc_str(buf, pos):
    n, pos = read_lenenc(buf, pos)
    if n is None:
        return None, pos
    return bytes(buf[pos:pos + n]), pos + n


def scramble_native(password, salt):
    if not password:
        return b""
    h1 = hashlib.sha1(password).digest()
    h2 = hashlib.sha1(salt[:20] + hashlib.sha1(h1).digest()).digest()
    return bytes(a ^ b for a, b in zip(h1, h2))


def scramble_sha2(password, salt):
    if not password:
        return b""
    h1 = hashlib.sha256(password).digest()
    h2 = hashlib.sha256(hashlib.sha256(h1).digest() + salt[:20]).digest()
    return bytes(a ^ b for a, b in zip(h1, h2))


def _der(buf, pos):
    """(tag, content, next position)"""
    tag, n = buf[pos], buf[pos + 1]
    pos += 2
    if n & 0x80:
        width = n & 0x7F
        n = int.from_bytes(buf[pos:pos + width], "big")
        pos += width
    return tag, buf[pos:pos + n], pos + n


def rsa_oaep(pem, message):
    """PKCS#1 v2 OAEP with SHA-1 and an empty label, as the servers want it."""
    body = b"".join(line for line in pem.strip().splitlines() if not line.startswith(b"-"))
    _, spki, _ = _der(base64.b64decode(body), 0)
    _, _, pos = _der(spki, 0)
    _, bits, _ = _der(spki, pos)
    _, key, _ = _der(bits[1:], 0)
    _, n_bytes, pos = _der(key, 0)
    _, e_bytes, _ = _der(key, pos)
    n, e = int.from_bytes(n_bytes, "big"), int.from_bytes(e_bytes, "big")
    k = (n.bit_length() + 7) // 8

    def mask(seed, length):
        out = b""
        for i in range((length + 19) // 20):
            out += hashlib.sha1(seed + struct.pack(">I", i)).digest()
        return out[:length]

    db = hashlib.sha1(b"").digest() + bytes(k - len(message) - 42) + b"\x01" + message
    seed = os.urandom(20)
    masked_db = bytes(a ^ b for a, b in zip(db, mask(seed, k - 21)))
    masked_seed = bytes(a ^ b for a, b in zip(seed, mask(masked_db, 20)))
    return pow(int.from_bytes(b"\0" + masked_seed + masked_db, "big"), e, n).to_bytes(k, "big")


class Greeting:
    def __init__(self, payload):
        if payload[0] != 10:
            raise Broken(f"greeting of protocol {payload[0]}")
        end = payload.index(0, 1)
        self.version = payload[1:end].decode()
        self.connection_id, = struct.unpack_from("<I", payload, end + 1)
        salt = payload[end + 5:end + 13]
        low, self.charset, self.status, high, _ = struct.unpack_from("<HBHHB", payload, end + 14)
        self.caps = low | high << 16
        self.extended_caps, = struct.unpack_from("<I", payload, end + 28)
        rest = payload[end + 32:]
        self.salt = salt + rest[:12]
        self.plugin = rest[13:].split(b"\0")[0].decode()


class Result:
    """One OK packet or one result set."""

    def __init__(self):
        self.columns = []
        self.rows = []
        self.row_count = 0
        self.affected = self.last_id = 0
        self.status = self.warnings = 0
        self.info = b""
        self.tracked = b""
        # Status and warnings of the EOF behind the columns; None without one.
        self.head = None

    @property
    def value(self):
        return self.rows[0][0]

    @property
    def in_transaction(self):
        return bool(self.status & IN_TRANS)


class Statement:
    def __init__(self, ident, columns, params, warnings):
        self.id, self.columns, self.params, self.warnings = ident, columns, params, warnings


def open_socket(address, timeout=30):
    """address: (host, port), or the path of a unix socket."""
    if isinstance(address, (str, os.PathLike)):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(str(address))
    else:
        s = socket.create_connection(address, timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


class Client:
    """One connection. Errors of the server are raised as ServerError, with the sequence id they came with.

    cut: splits what is sent: None, or a number of bytes after which each send() ends."""

    def __init__(self, address, user="app", password="apppass", db=None, caps=PHP_CAPS, charset=45, tls=False,
                 timeout=30, cut=None, plugin=None, attrs=None, infile=None, login=True, first_response=None):
        self.address = address
        self.local = isinstance(address, (str, os.PathLike))
        self.sock = open_socket(address, timeout)
        self.password = password.encode()
        self.user, self.db, self.charset, self.attrs = user, db, charset, attrs
        self.cut = cut
        self.infile = infile
        self.plugin = plugin
        self.secure = self.local
        self.buffer = bytearray()
        self.seq = 0
        self.last_seq = -1
        self.caps = caps | (CONNECT_WITH_DB if db else 0) | (CONNECT_ATTRS if attrs else 0) | (SSL if tls else 0)
        self.effective = 0
        self.auth_steps = []
        self.greeting = None
        if login:
            self.greet()
            self.log_in(tls, first_response)

    # -- packets

    def send_bytes(self, data):
        if self.cut is None:
            self.sock.sendall(data)
            return
        for i in range(0, len(data), self.cut):
            self.sock.sendall(data[i:i + self.cut])

    def frame(self, payload):
        """payload as packets, from the present sequence id on."""
        out = bytearray()
        at = 0
        while True:
            part = payload[at:at + MAX]
            out += struct.pack("<I", len(part))[:3] + bytes([self.seq & 255]) + part
            self.seq += 1
            at += MAX
            if len(part) < MAX:
                return bytes(out)

    def send_packet(self, payload):
        self.send_bytes(self.frame(payload))

    def _fill(self, n):
        while len(self.buffer) < n:
            data = self.sock.recv(1 << 18)
            if not data:
                raise Gone("in the middle of a packet" if self.buffer else "between packets")
            self.buffer += data

    def read_packet(self, any_seq=False):
        """One payload, joined from as many packets as it came in; each sequence id is checked."""
        payload = bytearray()
        while True:
            self._fill(4)
            n = int.from_bytes(self.buffer[:3], "little")
            got = self.buffer[3]
            if not any_seq and got != self.seq & 255:
                raise Broken(f"sequence id {got} where {self.seq & 255} was due")
            self._fill(4 + n)
            payload += self.buffer[4:4 + n]
            del self.buffer[:4 + n]
            self.last_seq = got
            self.seq = got + 1
            if n < MAX:
                return bytes(payload)

    def read_reply(self):
        """A payload; ServerError when it is an ERR packet."""
        payload = self.read_packet()
        if payload[:1] == b"\xff":
            raise ServerError(payload, self.last_seq)
        return payload

    # -- login

    def greet(self):
        payload = self.read_packet()
        if payload[:1] == b"\xff":
            raise ServerError(payload, self.last_seq)
        self.greeting = Greeting(payload)
        self.effective = self.caps & self.greeting.caps

    def start_tls(self):
        self.send_packet(struct.pack("<IIB23x", self.caps, 1 << 30, self.charset))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.sock = context.wrap_socket(self.sock)
        self.secure = True

    def _response(self, plugin, salt):
        if plugin == "mysql_native_password":
            return scramble_native(self.password, salt)
        if plugin == "caching_sha2_password":
            return scramble_sha2(self.password, salt)
        if plugin == "mysql_clear_password" or plugin == "sha256_password" and self.secure:
            return self.password + b"\0"
        if plugin == "sha256_password":
            return b"\x01"  # asks for the key
        raise Broken(f"asked for the plugin {plugin!r}")

    def _login_tail(self, plugin, salt, first_response):
        response = self._response(plugin, salt) if first_response is None else first_response
        body = self.user.encode() + b"\0"
        body += lenenc_str(response) if self.caps & LENENC_AUTH else bytes([len(response)]) + response
        return body

    def _attrs(self):
        pairs = b"".join(lenenc_str(k.encode()) + lenenc_str(v.encode()) for k, v in (self.attrs or {}).items())
        return lenenc_str(pairs)

    def log_in(self, tls=False, first_response=None):
        if tls:
            self.start_tls()
        plugin = self.plugin or self.greeting.plugin
        if plugin not in ("mysql_native_password", "caching_sha2_password"):
            plugin = "mysql_native_password"
        body = struct.pack("<IIB23x", self.caps, 1 << 30, self.charset)
        body += self._login_tail(plugin, self.greeting.salt, first_response)
        if self.caps & CONNECT_WITH_DB:
            body += (self.db or "").encode() + b"\0"
        if self.caps & PLUGIN_AUTH:
            body += plugin.encode() + b"\0"
        if self.caps & CONNECT_ATTRS:
            body += self._attrs()
        self.send_packet(body)
        return self.finish_auth(plugin, self.greeting.salt)

    def finish_auth(self, plugin, salt):
        """The steps after the first response, up to OK. auth_steps records which there were."""
        while True:
            payload = self.read_reply()
            if payload[0] == 0:
                return self._parse_ok(payload)
            if payload[0] == 0xFE:
                name, rest = payload[1:].split(b"\0", 1)
                plugin, salt = name.decode(), rest[:20]
                self.auth_steps.append("switch " + plugin)
                self.send_packet(self._response(plugin, salt))
            elif payload[:2] == b"\x01\x03":
                self.auth_steps.append("fast")
            elif plugin == "caching_sha2_password" and payload[:2] == b"\x01\x04":
                self._full_auth(salt)
            elif payload[0] == 1 and b"PUBLIC KEY" in payload:
                self._send_sealed(payload[1:], salt)
            else:
                raise Broken(f"authentication packet {payload[:20].hex()}")

    def _full_auth(self, salt):
        clear = self.password + b"\0"
        if self.secure:
            self.auth_steps.append("full clear")
            self.send_packet(clear)
            return
        self.auth_steps.append("full rsa")
        self.send_packet(b"\x02")
        self._send_sealed(self.read_reply()[1:], salt)

    def _send_sealed(self, pem, salt):
        mixed = bytes(c ^ salt[i % 20] for i, c in enumerate(self.password + b"\0"))
        self.send_packet(rsa_oaep(pem, mixed))

    # -- replies

    def _parse_ok(self, payload):
        r = Result()
        r.affected, pos = read_lenenc(payload, 1)
        r.last_id, pos = read_lenenc(payload, pos)
        r.status, r.warnings = struct.unpack_from("<HH", payload, pos)
        pos += 4
        if self.effective & SESSION_TRACK and pos < len(payload):
            r.info, pos = read_lenenc_str(payload, pos)
            if r.status & STATE_CHANGED and pos < len(payload):
                r.tracked, pos = read_lenenc_str(payload, pos)
        else:
            r.info = payload[pos:]
        return r

    def _is_end(self, payload):
        return payload[0] == 0xFE and len(payload) < (MAX if self.effective & DEPRECATE_EOF else 9)

    def _end(self, payload, r):
        """Takes status and warnings off an EOF packet, or the OK in its place."""
        if self.effective & DEPRECATE_EOF:
            ok = self._parse_ok(payload)
            r.status, r.warnings, r.info, r.tracked = ok.status, ok.warnings, ok.info, ok.tracked
        else:
            r.warnings, r.status = struct.unpack_from("<HH", payload, 1)

    def _read_columns(self, count, r):
        for _ in range(count):
            r.columns.append(Column(self.read_reply()))
        if count and not self.effective & DEPRECATE_EOF:
            payload = self.read_reply()
            if payload[0] != 0xFE or len(payload) > 5:
                raise Broken("no EOF after the columns")
            self._end(payload, r)
            r.head = (r.status, r.warnings)

    def _read_rows(self, r, binary, sink):
        while True:
            payload = self.read_reply()
            if self._is_end(payload):
                self._end(payload, r)
                return
            r.row_count += 1
            if sink:
                sink(payload)
            else:
                r.rows.append(binary_row(payload, r.columns) if binary else text_row(payload, len(r.columns)))

    def read_result(self, binary=False, sink=None):
        """One result. sink(payload): takes each row unparsed instead of keeping it."""
        payload = self.read_reply()
        if payload[0] == 0:
            return self._parse_ok(payload)
        if payload[0] == 0xFB:
            self._send_file(payload[1:].decode())
            return self.read_result(binary, sink)
        r = Result()
        count, _ = read_lenenc(payload, 0)
        self._read_columns(count, r)
        # With an open cursor there are no rows here: they come by STMT_FETCH.
        if not r.status & CURSOR_EXISTS:
            self._read_rows(r, binary, sink)
        return r

    def read_results(self, binary=False, sink=None):
        out = [self.read_result(binary, sink)]
        while out[-1].status & MORE_RESULTS:
            out.append(self.read_result(binary, sink))
        return out

    def _send_file(self, name):
        data = self.infile(name) if self.infile else b""
        for i in range(0, len(data), 1 << 16):
            self.send_packet(data[i:i + (1 << 16)])
        self.send_packet(b"")

    # -- commands

    def send_command(self, number, body=b""):
        self.seq = 0
        self.send_packet(bytes([number]) + body)

    def command(self, number, body=b""):
        self.send_command(number, body)
        return self.read_result()

    def send_query(self, sql):
        self.send_command(QUERY, sql if isinstance(sql, bytes) else sql.encode())

    def query(self, sql, sink=None):
        self.send_query(sql)
        return self.read_results(sink=sink)[-1]

    def queries(self, sql):
        """All results of a multi-statement or CALL."""
        self.send_query(sql)
        return self.read_results()

    def value(self, sql):
        v = self.query(sql).value
        return v.decode("utf-8", "replace") if v is not None else None

    def ping(self):
        return self.command(PING)

    def use(self, schema):
        return self.command(INIT_DB, schema.encode())

    def reset(self):
        return self.command(RESET_CONNECTION)

    def set_option(self, number):
        self.send_command(SET_OPTION, struct.pack("<H", number))
        payload = self.read_reply()
        r = Result()
        if payload[0] == 0xFE and len(payload) < 9:
            r.warnings, r.status = struct.unpack_from("<HH", payload, 1)
            return r
        return self._parse_ok(payload)

    def statistics(self):
        self.send_command(STATISTICS)
        return self.read_reply().decode("utf-8", "replace")

    def end_of_request(self):
        """phpworker's mark: no reply."""
        self.send_command(STMT_CLOSE, struct.pack("<I", END_OF_REQUEST_ID))

    def change_user(self, user, password, db=""):
        self.user, self.password, self.db = user, password.encode(), db
        self.auth_steps = []
        salt, plugin = self.greeting.salt, "mysql_native_password"
        body = self._login_tail(plugin, salt, scramble_native(self.password, salt)) + db.encode() + b"\0"
        body += struct.pack("<H", self.charset) + plugin.encode() + b"\0"
        if self.caps & CONNECT_ATTRS:
            body += self._attrs()
        self.send_command(CHANGE_USER, body)
        return self.finish_auth(plugin, salt)

    def prepare(self, sql):
        self.send_command(STMT_PREPARE, sql if isinstance(sql, bytes) else sql.encode())
        head = self.read_reply()
        ident, ncols, nparams, _, warnings = struct.unpack_from("<IHHBH", head, 1)
        params, columns = Result(), Result()
        self._read_columns(nparams, params)
        self._read_columns(ncols, columns)
        return Statement(ident, columns.columns, params.columns, warnings)

    def send_execute(self, st, args=(), cursor=False, types=True):
        """args: None, int, float, str or bytes; an Ellipsis marks one sent by long_data."""
        body = struct.pack("<IBI", st.id, 1 if cursor else 0, 1)
        if args:
            nulls = bytearray((len(args) + 7) // 8)
            kinds = values = b""
            for i, a in enumerate(args):
                if a is None:
                    nulls[i // 8] |= 1 << i % 8
                kind, value = bind(a)
                kinds += kind
                values += value
            body += bytes(nulls) + bytes([1 if types else 0]) + (kinds if types else b"") + values
        self.send_command(STMT_EXECUTE, body)

    def execute(self, st, args=(), cursor=False, types=True, sink=None):
        self.send_execute(st, args, cursor, types)
        return self.read_results(binary=True, sink=sink)[0]

    def executes(self, st, args=()):
        self.send_execute(st, args)
        return self.read_results(binary=True)

    def fetch(self, st, result, n):
        """n rows of a cursor; result's columns say how to read them."""
        self.send_command(STMT_FETCH, struct.pack("<II", st.id, n))
        r = Result()
        r.columns = result.columns
        self._read_rows(r, True, None)
        return r

    def long_data(self, st, param, data):
        self.send_command(STMT_LONG_DATA, struct.pack("<IH", st.id, param) + data)

    def close_statement(self, st):
        self.send_command(STMT_CLOSE, struct.pack("<I", st.id))

    def reset_statement(self, st):
        return self.command(STMT_RESET, struct.pack("<I", st.id))

    # -- endings

    def quit(self):
        try:
            self.send_command(QUIT)
        except OSError:
            pass
        self.close()

    def close(self):
        """Closes without a QUIT, as a PHP process does that dies."""
        self.sock.close()

    def abort(self):
        """A RST to the peer."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def silent(self, seconds=0.2):
        """True when nothing comes for that long: for what must not be sent at all."""
        if self.buffer:
            return False
        self.sock.settimeout(seconds)
        try:
            return not self.sock.recv(1, 0 if isinstance(self.sock, ssl.SSLSocket) else socket.MSG_PEEK)
        except (TimeoutError, socket.timeout):
            return True
        finally:
            self.sock.settimeout(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Column:
    def __init__(self, payload):
        pos = 0
        parts = []
        for _ in range(6):
            part, pos = read_lenenc_str(payload, pos)
            parts.append(part)
        self.schema, self.table, self.name = (p.decode("utf-8", "replace") for p in (parts[1], parts[2], parts[4]))
        self.charset, self.length, self.type, self.flags, self.decimals = struct.unpack_from("<HIBHB", payload, pos + 1)
        self.raw = payload


def text_row(payload, count):
    row, pos = [], 0
    for _ in range(count):
        value, pos = read_lenenc_str(payload, pos)
        row.append(value)
    if pos != len(payload):
        raise Broken("bytes left over after a row")
    return row


FIXED = {1: "<b", 2: "<h", 3: "<i", 4: "<f", 5: "<d", 8: "<q", 9: "<i", 13: "<h"}


def binary_row(payload, columns):
    width = (len(columns) + 9) // 8
    nulls, pos = payload[1:1 + width], 1 + width
    row = []
    for i, c in enumerate(columns):
        if nulls[(i + 2) // 8] >> (i + 2) % 8 & 1:
            row.append(None)
        elif c.type == 6:
            row.append(None)
        elif c.type in FIXED:
            form = FIXED[c.type].upper() if c.flags & 32 and c.type not in (4, 5) else FIXED[c.type]
            row.append(struct.unpack_from(form, payload, pos)[0])
            pos += struct.calcsize(form)
        else:
            value, pos = read_lenenc_str(payload, pos)
            row.append(value)
    if pos != len(payload):
        raise Broken("bytes left over after a binary row")
    return row


def bind(a):
    """(type bytes, value bytes) of one parameter"""
    if a is None:
        return b"\x06\x00", b""
    if a is ...:
        return b"\xfc\x00", b""
    if isinstance(a, int):
        return b"\x08\x00", struct.pack("<q", a)
    if isinstance(a, float):
        return b"\x05\x00", struct.pack("<d", a)
    data = a.encode() if isinstance(a, str) else bytes(a)
    return b"\xfd\x00", lenenc_str(data)
