# SPDX-License-Identifier: Apache-2.0
"""The applications' Debian packages, unpacked under build/apps/ and not installed: both depend on a web server, which
would be enabled on the machine; and no root is needed. `rm -rf build/apps` fetches them anew."""
import os
import re
import shutil
import subprocess
import threading

from harness.cases import Skip
from harness.procs import BUILD

KEEP = BUILD / "apps"
SETS = {"wordpress": ["wordpress", "php-getid3"], "mediawiki": ["mediawiki", "mediawiki-classes"]}
_lock = threading.Lock()
_why = {}


def run(*argv, cwd=None):
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, cwd=cwd, env=env)


def tree(name):
    """Where the application's packages are unpacked; Skip, when they cannot be had."""
    with _lock:
        place = KEEP / name
        if not (place / "usr").exists():
            # Asked once a run: it can take long to find out that there is no network.
            if name not in _why:
                _why[name] = fetch(name, place)
            if _why[name]:
                raise Skip(_why[name])
        return place


def fetch(name, place):
    """None, or why not. A rename puts the tree in place whole."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return f"there is no apt here to fetch the package {name} with"
    work = KEEP / f"{name}.{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    (work / "debs").mkdir(parents=True)
    options, done = [], None
    # The machine's own package lists may be missing or old: then with lists of our own.
    for options in ([], private_lists(work / "apt")):
        if options and run("apt-get", *options, "-q", "update").returncode:
            break
        # A theme is a package of its own, and which one it is differs by release.
        known = run("apt-cache", *options, "depends", name).stdout
        themes = re.findall(r"Recommends: (wordpress-theme-\S+)", known)
        done = run("apt-get", *options, "-q", "download", *SETS[name], *themes, cwd=work / "debs")
        if done.returncode == 0:
            break
    if done.returncode:
        shutil.rmtree(work)
        return f"the package {name} cannot be fetched: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}"
    for deb in sorted((work / "debs").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", deb, work / "tree"], check=True)
    bend_links(work / "tree", place)
    shutil.rmtree(place, ignore_errors=True)
    (work / "tree").rename(place)
    shutil.rmtree(work)
    return None


def bend_links(folder, place):
    """Links from one part of the packages to another, which are absolute, lead into the tree where it will be."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            target = os.readlink(path)
            if target.startswith("/") and os.path.lexists(f"{folder}{target}"):
                path.unlink()
                path.symlink_to(f"{place}{target}")


def private_lists(folder):
    for sub in ("lists/partial", "cache/archives/partial"):
        (folder / sub).mkdir(parents=True)
    return ["-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}"]


def version(name):
    """What the application's changelog in its package says."""
    for path in (KEEP / name / "usr/share/doc" / name).glob("changelog.Debian*"):
        out = run("zcat", "-f", path).stdout
        return re.match(r"\S+ \((.*?)\)", out)[1]
    return "?"


def installed_version(package):
    return run("dpkg-query", "-W", "-f", "${Version}", package).stdout


def lacking(*extensions):
    """Skip, when PHP has not all of these."""
    have = run("php", "-m").stdout.lower().split()
    missing = [e for e in extensions if e.lower() not in have]
    if missing:
        raise Skip(f"PHP lacks {', '.join(missing)} (make deps)")
