# SPDX-License-Identifier: Apache-2.0
"""That every session came from sluice, as the server tells it: by where it listens, by its general log, by its count
of connections, and by performance_schema."""
import pathlib
import re
import stat

# What Sluice asks for first on a connection that it has logged in (pool/ask.c, killer.c): no client of mtr's does.
FIRST_WORDS = ("SET session_track_", "SHOW SESSION VARIABLES WHERE Variable_name IN ('autocommit',", "KILL QUERY ")
CONNECT = re.compile(r"^(?:\d{6} +\d+:\d\d:\d\d)?\t+ *(\d+) (Connect|Query|Change user|Init DB|Quit)\t(.*)")


class Sessions:
    """{id: first words} of the sessions that a general log has seen begin. A refused login has no words."""

    def __init__(self, path):
        self.first = {}
        self.refused = set()
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                m = CONNECT.match(line)
                if m:
                    self._take(int(m[1]), m[2], m[3])

    def _take(self, number, command, text):
        if command == "Connect":
            if text.startswith("Access denied"):
                self.refused.add(number)
            else:
                self.first.setdefault(number, None)
        elif self.first.get(number, "") is None:
            self.first[number] = text if command == "Query" else command

    def strangers(self):
        """Sessions that begin otherwise than Sluice's: {id: what they began with}. One that said nothing came and
        went: a proof of a password."""
        return {k: v for k, v in self.first.items() if v and v != "Quit" and not v.startswith(FIRST_WORDS)}


def listens_for_sluice_only(db):
    """None, or what else could be connected to."""
    rows = dict((r[0].decode(), r[1].decode()) for r in db.admin.query(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('skip_networking', 'port', 'socket', 'extra_port')").rows)
    if rows.get("skip_networking") != "ON" or rows.get("port") != "0" or rows.get("extra_port", "0") != "0":
        return f"the server listens on TCP: {rows}"
    if rows["socket"] != db.sock:
        return f"the server listens on {rows['socket']}, and sluice was told {db.sock}"
    mode = pathlib.Path(db.sock).parent.stat().st_mode
    return f"its directory is open to others: {mode:o}" if stat.S_IMODE(mode) & 0o077 else None


def present(db):
    """The sessions that exist now and did not say that they are Sluice."""
    rows = db.admin.query(
        "SELECT t.PROCESSLIST_ID, t.PROCESSLIST_USER, a.ATTR_VALUE FROM performance_schema.threads t "
        "LEFT JOIN performance_schema.session_connect_attrs a ON a.PROCESSLIST_ID = t.PROCESSLIST_ID "
        "AND a.ATTR_NAME = 'program_name' "
        "WHERE t.NAME = 'thread/sql/one_connection' AND t.PROCESSLIST_ID <> CONNECTION_ID()").rows
    return len(rows), [r for r in rows if r[2] != b"sluice"]
