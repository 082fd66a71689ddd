# SPDX-License-Identifier: Apache-2.0
"""What a client saw of one step, in a form that can be compared, and how two of them differ."""
import struct

from harness import wire

# IN_TRANS AUTOCOMMIT MORE_RESULTS CURSOR_EXISTS LAST_ROW_SENT DB_DROPPED NO_BACKSLASH_ESCAPES PS_OUT_PARAMS
# IN_TRANS_READONLY: what a client may act on. Not: NO_INDEX_USED, SLOW, METADATA_CHANGED, STATE_CHANGED.
STATUS = 0x1 | 0x2 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x1000 | 0x2000
NAMES = {0x1: "IN_TRANS", 0x2: "AUTOCOMMIT", 0x8: "MORE_RESULTS", 0x40: "CURSOR_EXISTS", 0x80: "LAST_ROW_SENT",
         0x100: "DB_DROPPED", 0x200: "NO_BACKSLASH_ESCAPES", 0x1000: "PS_OUT_PARAMS", 0x2000: "IN_TRANS_READONLY"}
# Of the EOF behind the columns only what changes how the client reads on. Sluice has its backends without that packet,
# and rows stream: what the server puts there about the end (IN_TRANS of a transaction that begins with this very
# statement, warnings, MORE_RESULTS) it says again in the EOF behind the rows, where it is compared.
HEAD = 0x40 | 0x1000
SLUICE = "sluice: "


def status_words(bits):
    return "|".join(n for b, n in NAMES.items() if bits & b) or "0"


def column(raw):
    """(schema, table, org_table, name, org_name, charset, length, type, flags, decimals)"""
    pos, parts = 0, []
    for _ in range(6):
        part, pos = wire.read_lenenc_str(raw, pos)
        parts.append(part.decode("utf-8", "backslashreplace"))
    return (*parts[1:], *struct.unpack_from("<HIBHB", raw, pos + 1), raw[pos + 11:])


class Outcome:
    """parts: a list of dicts, one for each packet that ends something: OK, rows, ERR, PREPARE's answer."""

    def __init__(self):
        self.parts = []
        self.value = None

    def add(self, kind, **fields):
        self.parts.append({"kind": kind, **fields})
        return self

    def ok(self, r):
        self.add("ok", affected=r.affected, last_id=r.last_id, status=r.status & STATUS, warnings=r.warnings,
                 info=bytes(r.info))

    def rows(self, r):
        if self.value is None and r.rows and r.rows[0]:
            self.value = r.rows[0][0]
        self.add("rows", columns=[column(c.raw) for c in r.columns], rows=[tuple(row) for row in r.rows],
                 status=r.status & STATUS, warnings=r.warnings,
                 head_status=r.head[0] & HEAD if r.head else None)

    def error(self, e):
        self.add("error", errno=e.errno, sqlstate=e.sqlstate, text=e.text)

    @property
    def refused(self):
        """The text of Sluice's own error, or None."""
        for p in self.parts:
            if p["kind"] == "error" and p["text"].startswith(SLUICE):
                return f"{p['errno']} ({p['sqlstate']}) {p['text']}"
        return None

    def replace(self, old, new):
        """For connection ids: the same name on both sides."""
        old_b, new_b = str(old).encode(), new.encode()
        for p in self.parts:
            if p["kind"] == "rows":
                p["rows"] = [tuple(new_b if c == old or c == old_b else c for c in row) for row in p["rows"]]
            if p["kind"] == "error":
                p["text"] = p["text"].replace(str(old), new)

    def replace_text(self, old, new):
        for p in self.parts:
            if p["kind"] == "error":
                p["text"] = p["text"].replace(old, new)

    def mask(self, step):
        for p in self.parts:
            if p["kind"] == "rows":
                if step.flag("mask"):
                    p["rows"] = [tuple(None if c is None else "*" for c in row) for row in p["rows"]]
                if step.flag("unordered"):
                    p["rows"] = sorted(p["rows"], key=repr)
            if step.flag("nometa"):
                p.pop("columns", None)
                p.pop("params", None)


def shown(value):
    text = repr(value)
    return text if len(text) <= 600 else text[:600] + "..."


def untyped(part):
    """The same without the types of columns that are one @variable."""
    columns = part.get("columns") or []
    loose = [c[3].startswith("@") and not c[3].startswith("@@") for c in columns]
    if not any(loose):
        return part
    out = {**part, "columns": [c[:5] if free else c for c, free in zip(columns, loose)]}
    if "rows" in part:
        out["rows"] = [tuple(text_of(v) if free else v for v, free in zip(row, loose)) for row in part["rows"]]
    return out


def text_of(value):
    """The same for 300, 300.0 and b'300'."""
    try:
        return value if value is None else float(value)
    except ValueError:
        return value


def difference(direct, through, variables_untyped=False):
    """None, or the first thing in which the outcome through Sluice differs, in words."""
    if late_error(direct.parts, through.parts):
        return None
    for i, (d, t) in enumerate(zip(direct.parts, through.parts)):
        if variables_untyped:
            d, t = untyped(d), untyped(t)
        if d == t:
            continue
        where = f"part {i + 1}: " if len(direct.parts) > 1 else ""
        if d["kind"] != t["kind"]:
            return f"{where}direct {summary(d)}; sluice {summary(t)}"
        for key in d:
            if d[key] != t.get(key):
                a, b = d[key], t.get(key)
                if "status" in key and a is not None and b is not None:
                    a, b = status_words(a), status_words(b)
                return f"{where}{key}: direct {shown(a)}; sluice {shown(b)}"
    if len(direct.parts) != len(through.parts):
        return (f"{len(direct.parts)} parts direct, {len(through.parts)} through sluice: "
                f"{[summary(p) for p in direct.parts]} and {[summary(p) for p in through.parts]}")
    return None


def late_error(direct, through):
    """A text that was prepared before is answered from the cache, and what makes it impossible now is found by its
    EXECUTE: the same error, one command later (pool/README.md)."""
    return (len(direct) == 1 and len(through) == 2 and direct[0]["kind"] == "error" and
            through[0]["kind"] == "prepared" and through[1] == direct[0])


def summary(p):
    if p["kind"] == "error":
        return f"error {p['errno']} ({p['sqlstate']}) {p['text']}"
    if p["kind"] == "rows":
        return f"rows {shown(p['rows'])}"
    return p["kind"] + (f" {p['affected']}/{p['last_id']}" if p["kind"] == "ok" else "")
