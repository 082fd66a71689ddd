# SPDX-License-Identifier: Apache-2.0
"""What the kernel knows of a process: CPU time and memory, read from /proc."""

import os

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """CPU time of all living threads, to the nanosecond. For a process whose threads stay."""
    total_ns = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
            total_ns += int(f.read().split()[0])
    return total_ns / 1e9


def cpu_seconds_with_dead_threads(pid):
    """CPU time of the whole process, to a tick (10 ms). For a thread-per-connection server."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _kib_of(path, name):
    with open(path) as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def pss_kib(pid):
    return _kib_of(f"/proc/{pid}/smaps_rollup", "Pss")


def rss_kib(pid):
    return _kib_of(f"/proc/{pid}/status", "VmRSS")


def peak_rss_kib(pid):
    return _kib_of(f"/proc/{pid}/status", "VmHWM")


def reset_peak_rss(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as f:
        f.write("5")


def thread_ids(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


def is_traced(tid):
    return _kib_of(f"/proc/{tid}/status", "TracerPid") != 0
