# SPDX-License-Identifier: Apache-2.0
"""A strict reader of the Prometheus text format 0.0.4: what a scraper may choke on is an error here."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LINE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


def _labels(text, line):
    out, pos = {}, 0
    while pos < len(text):
        m = LABEL.match(text, pos)
        if not m:
            raise AssertionError(f"bad labels: {line!r}")
        if m[1] in out:
            raise AssertionError(f"label {m[1]} twice: {line!r}")
        out[m[1]] = re.sub(r'\\([\\"n])', lambda e: "\n" if e[1] == "n" else e[1], m[2])
        pos = m.end()
    return out


def parse(text):
    """{name: {frozenset of label pairs: value}}; AssertionError names the offending line."""
    if not text.endswith("\n"):
        raise AssertionError("the last line has no newline")
    types, helps, samples, closed, family = {}, {}, {}, set(), None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP ") or line.startswith("# TYPE "):
            _, kind, name, rest = (line.split(" ", 3) + [""])[:4]
            table = helps if kind == "HELP" else types
            if name in table:
                raise AssertionError(f"{kind} of {name} twice")
            if kind == "TYPE" and rest not in ("counter", "gauge", "histogram", "summary", "untyped"):
                raise AssertionError(f"bad type: {line!r}")
            if kind == "HELP" and not rest:
                raise AssertionError(f"an empty help: {line!r}")
            table[name] = rest
            if name != family:
                closed.add(family)
            family = name
            if family in closed:
                raise AssertionError(f"{family} is not in one piece")
            continue
        if not line or line.startswith("#"):
            continue
        m = LINE.match(line)
        if not m:
            raise AssertionError(f"bad sample: {line!r}")
        owner = family_of(m[1], types)
        if owner is None or owner not in helps:
            raise AssertionError(f"no HELP and TYPE before {line!r}")
        if owner != family:
            raise AssertionError(f"a sample of {owner} among those of {family}: {line!r}")
        if types[owner] == "counter" and not owner.endswith("_total"):
            raise AssertionError(f"a counter without _total: {owner}")
        key = frozenset(_labels(m[2] or "", line).items())
        if key in samples.setdefault(m[1], {}):
            raise AssertionError(f"a sample twice: {line!r}")
        samples[m[1]][key] = float(m[3])
    check_histograms(types, samples)
    return samples


def family_of(sample, types):
    if sample in types and types[sample] != "histogram":
        return sample
    for name, kind in types.items():
        if any(sample == name + s for s in SUFFIXES.get(kind, ())):
            return name
    return None


def check_histograms(types, samples):
    """Buckets rise, the last is +Inf and equals the count."""
    for name, kind in types.items():
        if kind != "histogram":
            continue
        series = {}
        for key, value in samples.get(name + "_bucket", {}).items():
            rest = frozenset(p for p in key if p[0] != "le")
            series.setdefault(rest, []).append((float(dict(key)["le"]), value))
        for rest, buckets in series.items():
            buckets.sort()
            values = [v for _, v in buckets]
            if values != sorted(values) or buckets[-1][0] != float("inf"):
                raise AssertionError(f"the buckets of {name} {dict(rest)} do not rise to +Inf: {buckets}")
            if samples[name + "_count"].get(rest) != values[-1]:
                raise AssertionError(f"the count of {name} is not its last bucket")


def total(samples, name, **labels):
    """The sum of a metric's samples that have these labels; 0 when there is none."""
    return sum(v for key, v in samples.get(name, {}).items() if labels.items() <= dict(key).items())
