#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sluice against a direct connection, the bare forwarder, HAProxy and others present.

See bench/README.md. Everything runs on loopback beside a private MariaDB under build/bench/.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys

import scenarios
import syscalls
from fixture import (DATABASE, HOST, PASSWORD, USER, BenchError, Forwarder, HAProxy, MySQLRouter,
                     ProxySQL, Server, Sluice, Target)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SPARE_DESCRIPTORS = 500
DRIVER_EXTRA_SECONDS = 120


class Bench:
    """One run: the server, the targets, and what failed so far."""

    def __init__(self, options, directory):
        self.rounds_wanted, self.seconds = options.rounds, options.secs
        self.directory = directory
        self.server = Server(directory)
        self.targets, self.failures = [], []
        self.descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    @property
    def proxies(self):
        return [t for t in self.targets if t.pid]

    def rounds(self, most=None):
        """The targets of each round, in an order that moves on by one each time."""
        for i in range(min(self.rounds_wanted, most or self.rounds_wanted)):
            at = i % len(self.targets)
            yield self.targets[at:] + self.targets[:at]

    def clients_that_fit(self, wanted):
        """A forwarding proxy has two descriptors per client."""
        return min(wanted, (self.descriptors - SPARE_DESCRIPTORS) // 2)

    def driver(self, target, mode, *arguments):
        return [f"{self.directory}/driver", mode, HOST, str(target.port), USER, PASSWORD, DATABASE,
                *arguments]

    def php(self, target, *arguments):
        return ["php", f"{HERE}/fpm.php", HOST, str(target.port), USER, PASSWORD, DATABASE,
                *arguments]

    def drive(self, target, scenario, argv):
        """Runs a load to its end. Errors and wrong rows make the whole run fail in the end."""
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=self.seconds + DRIVER_EXTRA_SECONDS)
        except subprocess.TimeoutExpired:
            return self.check(target, scenario, "", "the load did not end")
        return self.check(target, scenario, done.stdout, done.stderr)

    def check(self, target, scenario, output, complaint):
        try:
            result = json.loads(output.strip().splitlines()[-1])
        except (ValueError, IndexError):
            result = {"n": 0, "errs": 1, "wrong": 0, "qps": 0, "p50": 0, "p99": 0,
                      "err": complaint.strip()[-300:] or "the load said nothing"}
        if not result["n"] and not result["errs"] + result["wrong"]:
            result.update(errs=1, err="no request was answered")
        if result["errs"] or result["wrong"]:
            self.failures.append(f"{scenario} {target.name}: {result['n']} good, "
                                 f"{result['errs']} errors, {result['wrong']} wrong rows; "
                                 f"first: {result['err']}")
        return result

    def note_the_dead(self):
        for target in self.proxies:
            status = target.process.popen.poll()
            if status is not None:
                self.failures.append(f"{target.name} ended by itself with status {status}:\n"
                                     f"{target.process.log()[-1000:]}")

    @contextlib.contextmanager
    def idle_clients(self, target, scenario, clients):
        """Holds idle clients inside the block; the result is complete after it."""
        argv = self.driver(target, "idle", str(clients), str(scenarios.IDLE_HOLD_SECONDS),
                           str(scenarios.RAMP_THREADS))
        driver = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        held = {"errs": 0, "wrong": 0}
        try:
            opened = self.check(target, scenario, driver.stdout.readline(), "")
            driver.stdout.readline()
            yield held
            rest, _ = driver.communicate()
            asked_again = self.check(target, scenario, rest, "")
            for key in held:
                held[key] = opened[key] + asked_again[key]
        finally:
            if driver.poll() is None:
                driver.kill()
                driver.wait()
        self.server.settle()


def parse_options(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAMES",
                        help="scenarios, comma-separated; prefixes will do")
    parser.add_argument("--targets", metavar="NAMES", help="targets, comma-separated")
    parser.add_argument("--rounds", type=int, help="default 7, or ROUNDS in the environment")
    parser.add_argument("--secs", type=int, help="of each load; default 2, or SECS")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 1 second by default")
    parser.add_argument("--delay-us", type=int, default=0, metavar="US",
                        help="one-way delay to the server for all targets; 500: 1 ms away")
    parser.add_argument("--save", action="store_true", help="keep the output in bench/results/")
    parser.add_argument("--syscalls", action="store_true",
                        help="count system calls instead (see syscalls.sh)")
    parser.add_argument("--build", default=os.environ.get("B", "build"), metavar="DIR")
    parser.add_argument("--list", action="store_true", help="name the scenarios and end")
    options = parser.parse_args(argv)
    rounds, secs = (3, 1) if options.quick else (7, 2)
    options.rounds = options.rounds or int(os.environ.get("ROUNDS", rounds))
    options.secs = options.secs or int(os.environ.get("SECS", secs))
    return options


def all_targets(bench, build, server_port):
    here = bench.directory
    sluice = f"{build}/sluice"
    yield Target("direct", here, server_port)
    yield Forwarder("forwarder", here, server_port, f"{here}/forwarder")
    if shutil.which("haproxy"):
        yield HAProxy("haproxy", here, server_port, ["haproxy", "-v"])
    if os.access(sluice, os.X_OK):
        yield Sluice("sluice", here, server_port, sluice)
    if shutil.which("proxysql"):
        yield ProxySQL("proxysql", here, server_port, ["proxysql", "--version"])
    if shutil.which("mysqlrouter"):
        yield MySQLRouter("mysqlrouter", here, server_port, ["mysqlrouter", "--version"])


def start_targets(bench, options, stack):
    """Starts the server and each target; `stack` ends them."""
    stack.callback(bench.server.stop)
    bench.server.start()
    server_port = bench.server.port
    if options.delay_us:
        wire = Forwarder("wire", bench.directory, server_port, f"{bench.directory}/forwarder",
                         options.delay_us)
        stack.callback(wire.stop)
        wire.start()
        server_port = wire.port
    wanted = options.targets.split(",") if options.targets else None
    for target in all_targets(bench, options.build, server_port):
        if wanted is None or target.name in wanted:
            stack.callback(target.stop)
            target.start()
            bench.targets.append(target)


def heading(bench, options):
    def command(*argv):
        done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT)
        return done.stdout.strip() if done.returncode == 0 else ""

    with open("/proc/cpuinfo") as f:
        model = next((x.partition(":")[2].strip() for x in f if x.startswith("model name")), "?")
    changed = " with changes" if command("git", "status", "--porcelain") else ""
    lines = [
        f"date     {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"commit   {command('git', 'rev-parse', '--short', 'HEAD') or 'none'}{changed}",
        f"machine  {model}, {os.cpu_count()} cores, Linux {platform.release()}",
        f"server   {bench.server.version()}"
        + (f", {options.delay_us} us away" if options.delay_us else ""),
        f"php      {command('php', '-r', 'echo PHP_VERSION;') or 'none'}",
        *(f"{t.name:8} {v}" for t in bench.targets if (v := t.version())),
        f"rounds   {bench.rounds_wanted} of {bench.seconds} s, interleaved; median (min..max)",
        f"files    at most {bench.descriptors:,} open per process",
    ]
    return "\n".join(lines) + "\n"


class Output:
    """Prints as it goes and keeps what it printed."""

    def __init__(self):
        self.text = ""

    def __call__(self, text):
        print(text, flush=True)
        self.text += text + "\n"

    def save(self):
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True,
                                capture_output=True).stdout.strip() or "none"
        now = datetime.datetime.now(datetime.timezone.utc)
        os.makedirs(f"{HERE}/results", exist_ok=True)
        path = f"{HERE}/results/{now:%Y%m%dT%H%M}-{commit}.txt"
        with open(path, "w") as f:
            f.write(self.text)
        print("saved as", os.path.relpath(path, ROOT))


def measure(bench, options, out):
    selected = scenarios.select(options.only)
    if not shutil.which("php"):
        selected = [s for s in selected if not s.name.startswith(("fpm", "order"))]
        out("php is not installed: the FPM pattern is left out\n")
    for scenario in selected:
        bench.server.settle()
        out(scenario.run(bench))


def main(argv):
    options = parse_options(argv)
    if options.list:
        print("\n".join(f"{s.name:14} {s.title}" for s in scenarios.SCENARIOS))
        return 0
    options.build = os.path.join(ROOT, options.build)
    directory = f"{options.build}/bench"
    if not os.access(f"{directory}/driver", os.X_OK):
        raise BenchError("the drivers are not built: run `make bench`")
    os.environ["PATH"] += ":/usr/sbin"  # mariadbd and haproxy are there, for users too
    if not shutil.which("mariadbd"):
        raise BenchError("mariadbd is not installed")
    scenarios.select(options.only)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench, out = Bench(options, directory), Output()
    with contextlib.ExitStack() as stack:
        start_targets(bench, options, stack)
        out(heading(bench, options))
        if options.syscalls:
            out(syscalls.run(bench))
        else:
            measure(bench, options, out)
        bench.note_the_dead()
    if bench.failures:
        out("FAILED: the figures above are void\n  " + "\n  ".join(bench.failures[:40]))
    if options.save:
        out.save()
    return 1 if bench.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
