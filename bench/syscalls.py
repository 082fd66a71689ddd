# SPDX-License-Identifier: Apache-2.0
"""System calls of each proxy per connect+SELECT+close and per query, counted by strace."""

import os
import re
import shutil
import signal
import subprocess
import time

import procfs
from fixture import BenchError
from report import table

STORM_CYCLES, QUERIES = 2000, 10000
LOAD_SECONDS = 300  # a traced proxy is slow; the count ends the load, not the time
ATTACH_SECONDS = 10
LEAST_SHOWN = 0.005


def run(bench):
    if not shutil.which("strace"):
        raise BenchError("strace is not installed")
    threads = os.environ.get("THREADS", "1")
    loads = [
        (f"storm: per connect+SELECT+close, {STORM_CYCLES:,} cycles, {threads} thread(s)",
         STORM_CYCLES, ["storm", str(STORM_CYCLES), threads, str(LOAD_SECONDS)]),
        (f"point: per query on persistent connections, {QUERIES:,} queries, {threads} thread(s)",
         QUERIES, ["point", threads, str(LOAD_SECONDS), str(QUERIES)]),
    ]
    return "\n".join(tabulate(bench, *load) for load in loads)


def tabulate(bench, title, operations, load):
    counts = {t.name: count(bench, t, load) for t in bench.proxies}
    names = sorted({n for c in counts.values() for n in c},
                   key=lambda n: -max(c.get(n, 0) for c in counts.values()))
    rows = [[n, *(f"{c.get(n, 0) / operations:.3f}" for c in counts.values())]
            for n in names if max(c.get(n, 0) for c in counts.values()) / operations > LEAST_SHOWN]
    rows.append(["total", *(f"{sum(c.values()) / operations:.3f}" for c in counts.values())])
    return table(title, ["call", *counts], rows)


def count(bench, target, load):
    """Calls by name while the load runs, after one connection has warmed the proxy up."""
    bench.drive(target, "warm-up", bench.driver(target, "point", "1", "1", "100"))
    bench.server.settle()
    path = f"{bench.directory}/{target.name}.strace"
    strace = subprocess.Popen(["strace", "-c", "-f", "-o", path, "-p", str(target.pid)],
                              stderr=subprocess.DEVNULL)
    try:
        wait_attached(strace, target.pid)
        bench.drive(target, load[0], bench.driver(target, *load))
        bench.server.settle()
    finally:
        strace.send_signal(signal.SIGINT)
        strace.wait()
    with open(path) as f:
        return parse(f.read())


def wait_attached(strace, pid):
    deadline = time.monotonic() + ATTACH_SECONDS
    while not all(procfs.is_traced(tid) for tid in procfs.thread_ids(pid)):
        if strace.poll() is not None or time.monotonic() > deadline:
            raise BenchError("strace cannot attach (ptrace not permitted?)")
        time.sleep(0.02)


def parse(summary):
    """Lines of `strace -c`: % time, seconds, usecs/call, calls, errors if any, name."""
    counts = {}
    for line in summary.splitlines():
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z]\w*)$", line)
        if found and found[2] != "total":
            counts[found[2]] = int(found[1])
    return counts
