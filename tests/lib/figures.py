#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a line of Sluice's figures every 2 s.  figures.py ADMIN_ADDR SLUICE_PID SECONDS (0: for ever)

Ends with 0 when the time is over, 1 when Sluice is gone."""
import json
import os
import sys
import time
import urllib.request

EVERY_S = 2.0


def read(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=1) as r:
        return r.read().decode()


def statements(address):
    """The counter of statements, over all kinds; None when it is not there."""
    found = [float(line.rsplit(" ", 1)[1]) for line in read(address, "/metrics").splitlines()
             if line.startswith("sluice_statements_total") and 'proto="mysql"' in line]
    return sum(found) if found else None


def line(address, before):
    """(text, (time, statements))"""
    m = json.loads(read(address, "/status"))["mysql"]
    now = (time.monotonic(), statements(address))
    pools = m["pools"]

    def total(key):
        return sum(p[key] for p in pools)
    rate = "-"
    if before and before[1] is not None and now[1] is not None:
        rate = f"{(now[1] - before[1]) / (now[0] - before[0]):.1f}"
    lends = total("hits") + total("misses")
    hits = f"{100 * total('hits') / lends:.0f} %" if lends else "-"
    return (f"clients {m['clients']:>4}   backends {total('idle') + total('lent') + total('pinned'):>3} "
            f"(idle {total('idle')}, lent {total('lent')}, pinned {total('pinned')})   waiting {m['waiting']}   "
            f"queries/s {rate:>7}   pool hit rate {hits}"), now


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def main():
    address, pid, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    end = time.monotonic() + seconds if seconds else float("inf")
    before = None
    while alive(pid):
        try:
            text, before = line(address, before)
        except (OSError, ValueError, KeyError) as e:
            text = f"no figures: {e!r}"
        print(time.strftime("%H:%M:%S "), text, flush=True)
        time.sleep(max(0.0, min(EVERY_S, end - time.monotonic())))
        if time.monotonic() >= end:
            return 0
    return 1


if __name__ == "__main__":
    os.environ.setdefault("no_proxy", "127.0.0.1,localhost")
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
