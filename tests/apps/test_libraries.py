# SPDX-License-Identifier: Apache-2.0
"""Debian's php-illuminate-database and php-doctrine-dbal: one script each, direct and through Sluice, side by side."""
import pathlib

import packages
from harness.cases import Front, Skip, case
from watch import Watch

PHP = pathlib.Path(__file__).resolve().parent / "php"
PHP_PATH = pathlib.Path("/usr/share/php")
# The package whose version counts, what the script loads, and the versions whose interface it uses.
PACKAGES = {"illuminate": ("php-illuminate-database",
                           [f"Illuminate/{part}/autoload.php" for part in ("Database", "Events", "Pagination")],
                           ("8.", "9.", "10.", "11.")),
            "doctrine": ("php-doctrine-dbal", ["Doctrine/DBAL/autoload.php"], ("3.",))}
SIDE_BY_SIDE = 6


def require(name):
    package, files, versions = PACKAGES[name]
    for file in files:
        if not (PHP_PATH / file).exists():
            raise Skip(f"{PHP_PATH / file}, which comes with {package}, is not there (make deps)")
    version = packages.installed_version(package)
    if not version.startswith(versions):
        raise Skip(f"{package} is {version}, and its interface another one than that of {' '.join(versions)}")
    packages.lacking("pdo_mysql", "mysqli", "mbstring")


def direct(t, script, **env):
    """What the script sees without a proxy."""
    return t.php(PHP / script, front=Front(t.db.port, t.db.sock), timeout=90, **env)


def same(wanted, got, who):
    for n, (a, b) in enumerate(zip(wanted, got)):
        assert a == b, f"{who}, step {n}, {a[0]}:\n  direct: {a}\n  sluice: {b}"
    assert len(wanted) == len(got), f"{who}: {len(got)} steps where direct has {len(wanted)}"


def side_by_side(t, script, name):
    """The script alone, then in several processes at once, each on tables of its own, on fewer backends: all must see
    what direct runs saw."""
    rounds = 2 if t.db.is_mariadb else 1
    alone = direct(t, script, PREFIX="direct_", ALONE=1)
    wanted = direct(t, script, PREFIX="direct_", ROUNDS=rounds)
    with Watch(t, name, pool_max=2, queue_timeout="60s"):
        same(alone, t.php(PHP / script, timeout=60, PREFIX="t0_", ALONE=1), f"{name} alone")
        runs = [t.background(t.php, PHP / script, timeout=110, PREFIX=f"t{n}_", ROUNDS=rounds)
                for n in range(SIDE_BY_SIDE)]
        for n, run in enumerate(runs):
            same(wanted, run.result(120), f"{name} number {n}")


@case()
def illuminate_sees_the_same_as_direct(t):
    require("illuminate")
    side_by_side(t, "illuminate.php", "illuminate")


@case()
def doctrine_sees_the_same_as_direct(t):
    require("doctrine")
    side_by_side(t, "doctrine.php", "doctrine")


@case()
def doctrine_retries_after_a_deadlock(t):
    require("doctrine")
    wanted = direct(t, "doctrine.php", MODE="deadlock")
    with Watch(t, "doctrine's deadlock", pool_max=2):
        for _ in range(3):
            same(wanted, t.php(PHP / "doctrine.php", MODE="deadlock"), "deadlock")
