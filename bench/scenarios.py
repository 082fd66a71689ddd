# SPDX-License-Identifier: Apache-2.0
"""What is measured. A scenario has a name, a title and run(bench), which returns a table's text."""

import procfs
from report import median, plain, ratios, table, with_range

STORM_CYCLES_PER_SECOND = 20000  # the bound by count; far above what this load reaches
IDLE_CLIENTS, IDLE_CLIENTS_CPU = 5000, 4000
IDLE_HOLD_SECONDS = 300
RAMP_THREADS = 16
BIG_MEGABYTES, BIG_TIMES = 200, 3
PARAM_MIB = 64
PARAM_MEGABYTES = PARAM_MIB * 1.048576
HEAVY_ROUNDS = 5  # at most; rounds of the loads that move much or hold many


class Load:
    """Requests at full speed for a while: QPS, latency, CPU, new backend connections."""

    def __init__(self, name, title, command):
        self.name, self.title, self.command = name, title, command

    def run(self, bench):
        found = {t.name: [] for t in bench.targets}
        for targets in bench.rounds():
            for target in targets:
                found[target.name].append(self.measure(bench, target))
        return table(f"{self.name}: {self.title}", LOAD_HEADER,
                     [load_row(t, found) for t in bench.targets])

    def measure(self, bench, target):
        server = bench.server
        server.settle()
        connections = server.status("Connections")
        server_cpu = procfs.cpu_seconds_with_dead_threads(server.pid)
        cpu = procfs.cpu_seconds(target.pid) if target.pid else None
        result = bench.drive(target, self.name, self.command(bench, target))
        per_100k = 1e5 / max(result["n"], 1)
        result["cpu"] = target.pid and (procfs.cpu_seconds(target.pid) - cpu) * per_100k
        result["server_cpu"] = \
            (procfs.cpu_seconds_with_dead_threads(server.pid) - server_cpu) * per_100k
        result["connections"] = server.status("Connections") - connections
        return result


LOAD_HEADER = ["target", "QPS", "QPS/direct", "p50 ms", "p99 ms", "p99/direct", "CPU s/100k",
               "CPU/forwarder", "server CPU", "new conns", "errors"]


def load_row(target, found):
    def column(key, name=target.name):
        return [r[key] for r in found.get(name, [])]

    def against(key, name):
        return ratios(column(key), column(key, name)) if name != target.name else []

    return [target.name, plain(median(column("qps")), 0),
            with_range(against("qps", "direct")), plain(median(column("p50")), 3),
            plain(median(column("p99")), 3), plain(median(against("p99", "direct"))),
            plain(median(column("cpu"))), with_range(against("cpu", "forwarder")),
            plain(median(column("server_cpu"))), plain(median(column("connections")), 0),
            sum(column("errs")) + sum(column("wrong"))]


def fpm(workload, mode, processes):
    return lambda bench, target: bench.php(
        target, workload, mode, str(processes), str(bench.seconds))


def storm(threads):
    return lambda bench, target: bench.driver(
        target, "storm", str(STORM_CYCLES_PER_SECOND * bench.seconds), str(threads),
        str(bench.seconds))


def point(threads):
    return lambda bench, target: bench.driver(
        target, "point", str(threads), str(bench.seconds), "0")


class IdleMemory:
    """Memory of a proxy that holds idle clients, each of which has asked once."""

    name = "idle-memory"
    title = "memory per idle client, over the process with none"

    def run(self, bench):
        clients = bench.clients_that_fit(IDLE_CLIENTS)
        rows = [self.measure(bench, target, clients) for target in bench.proxies]
        return table(f"{self.name}: {self.title}; {clients:,} clients",
                     ["target", "PSS empty KiB", "PSS held KiB", "PSS B/client", "RSS B/client",
                      "new conns", "errors"], rows)

    def measure(self, bench, target, clients):
        target.stop()
        target.start()
        bench.drive(target, self.name, bench.driver(target, "point", "1", "1", "100"))
        bench.server.settle()
        before = bench.server.status("Threads_connected")
        pss, rss = procfs.pss_kib(target.pid), procfs.rss_kib(target.pid)
        with bench.idle_clients(target, self.name, clients) as held:
            pss_held, rss_held = procfs.pss_kib(target.pid), procfs.rss_kib(target.pid)
            backends = bench.server.status("Threads_connected") - before
        return [target.name, plain(pss, 0), plain(pss_held, 0),
                plain((pss_held - pss) * 1024 / clients, 0),
                plain((rss_held - rss) * 1024 / clients, 0), plain(backends, 0),
                held["errs"] + held["wrong"]]


class IdleCpu:
    """The same load with and without many idle clients beside it."""

    name = "idle-cpu"
    title = "CPU per query beside idle clients, over the same load alone (8 persistent clients)"

    def run(self, bench):
        clients = bench.clients_that_fit(IDLE_CLIENTS_CPU)
        found = {t.name: [] for t in bench.targets}
        for targets in bench.rounds(HEAVY_ROUNDS):
            for target in targets:
                found[target.name].append(self.measure(bench, target, clients))
        return table(f"{self.name}: {self.title}; {clients:,} idle",
                     ["target", "CPU s/100k alone", "beside idle", "CPU ratio", "QPS ratio",
                      "errors"], [self.row(t.name, found[t.name]) for t in bench.targets])

    def row(self, name, rounds):
        alone, beside = ([r[i] for r in rounds] for i in (0, 1))

        def column(results, key):
            return [r[key] for r in results]

        return [name, plain(median(column(alone, "cpu"))), plain(median(column(beside, "cpu"))),
                with_range(ratios(column(beside, "cpu"), column(alone, "cpu"))),
                with_range(ratios(column(beside, "qps"), column(alone, "qps"))),
                sum(r["errs"] + r["wrong"] for r in alone + beside)]

    def measure(self, bench, target, clients):
        load = Load(self.name, "", point(8))
        alone = load.measure(bench, target)
        with bench.idle_clients(target, self.name, clients) as held:
            beside = load.measure(bench, target)
        beside["errs"] += held["errs"] + held["wrong"]
        return alone, beside


class Bulk:
    """Many bytes at once: time, CPU, and how much the proxy's memory grows meanwhile."""

    def __init__(self, name, title, megabytes, times, command):
        self.name, self.title = name, title
        self.megabytes, self.times, self.command = megabytes, times, command

    def run(self, bench):
        for target in bench.proxies:  # fresh, so that memory kept from other loads hides nothing
            target.stop()
            target.start()
        found = {t.name: [] for t in bench.targets}
        for targets in bench.rounds(HEAVY_ROUNDS):
            for target in targets:
                found[target.name].append(self.measure(bench, target))
        return table(f"{self.name}: {self.title}",
                     ["target", "MB/s", "MB/s / direct", "CPU s/GB", "CPU/forwarder",
                      "RSS growth KiB, first", "worst", "errors"],
                     [self.row(t, found) for t in bench.targets])

    def measure(self, bench, target):
        bench.server.settle()
        if target.pid:
            procfs.reset_peak_rss(target.pid)
            rss, cpu = procfs.rss_kib(target.pid), procfs.cpu_seconds(target.pid)
        result = bench.drive(target, self.name, self.command(bench, target, self.times))
        result["rate"] = self.megabytes / (result["p50"] / 1e3) if result["p50"] else None
        result["cpu"] = result["growth"] = None
        if target.pid:
            result["cpu"] = (procfs.cpu_seconds(target.pid) - cpu) * 1e3 \
                / (self.megabytes * self.times)
            result["growth"] = procfs.peak_rss_kib(target.pid) - rss
        return result

    def row(self, target, found):
        def column(key, name=target.name):
            return [r[key] for r in found.get(name, [])]

        def against(key, name):
            return ratios(column(key), column(key, name)) if name != target.name else []

        growth = [g for g in column("growth") if g is not None]
        return [target.name, plain(median(column("rate")), 0),
                with_range(against("rate", "direct")),
                plain(median(column("cpu")), 3), with_range(against("cpu", "forwarder")),
                plain(growth[0] if growth else None, 0), plain(max(growth) if growth else None, 0),
                sum(column("errs")) + sum(column("wrong"))]


def big(bench, target, times):
    return bench.driver(target, "big", str(times))


def param(kind):
    return lambda bench, target, times: bench.driver(
        target, "param", kind, str(PARAM_MIB), str(times))


def fpm_scenarios():
    for processes in (1, 8, 64):
        for mode in ("emul", "native"):
            plural = "process" if processes == 1 else "processes"
            yield Load(f"fpm{processes}-{mode}",
                       f"new PDO ({mode}), SELECT by key, close; {processes} {plural}",
                       fpm("pk", mode, processes))
    for mode in ("emul", "native"):
        yield Load(f"order8-{mode}", f"new PDO ({mode}), SELECT and UPDATE, close; 8 processes",
                   fpm("order", mode, 8))
    for processes in (1, 8):
        yield Load(f"laravel{processes}", "new PDO (native), USE, SET NAMES, time_zone, sql_mode by "
                   f"prepares, SELECT by key, close; processes: {processes}",
                   fpm("laravel", "native", processes))


SCENARIOS = [
    *fpm_scenarios(),
    Load("storm", "connect, SELECT, close in C; 32 threads", storm(32)),
    Load("point1", "persistent connection, SELECT by key; 1 thread", point(1)),
    Load("point8", "persistent connections, SELECT by key; 8 threads", point(8)),
    IdleMemory(),
    IdleCpu(),
    Bulk("big", "a result of 200 MB, read as fast as it comes", BIG_MEGABYTES, BIG_TIMES, big),
    Bulk("param-text", f"a parameter of {PARAM_MIB} MiB in the statement's text",
         PARAM_MEGABYTES, 1, param("text")),
    Bulk("param-native", f"a parameter of {PARAM_MIB} MiB bound to a prepared statement",
         PARAM_MEGABYTES, 1, param("native")),
]


def select(only):
    """Scenarios whose name is, or begins with, one of the comma-separated words."""
    if not only:
        return SCENARIOS
    words = only.split(",")
    for word in words:
        if not any(s.name.startswith(word) for s in SCENARIOS):
            raise SystemExit(f"no scenario {word!r}; there are: "
                             + " ".join(s.name for s in SCENARIOS))
    return [s for s in SCENARIOS if any(s.name.startswith(word) for word in words)]
