#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real PHP applications and libraries through Sluice. Usage: run.py --help; README.md has the rest.

The driver is the integration tests' own, with the cases of this folder; one option more:
  --statements FILE   with --direct: writes what the applications send about their session, out of the server's log"""
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

from harness import procs  # noqa: E402


def driver():
    """The integration driver, looking for cases here, and keeping its files apart from the integration tests'."""
    spec = importlib.util.spec_from_file_location("driver", HERE.parent / "integration" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE = HERE
    module.CASE_LIMIT_S = 400
    procs.WORK = procs.WORK / "apps"
    return module


def main():
    if "--statements" in sys.argv:
        at = sys.argv.index("--statements")
        os.environ["APPS_STATEMENTS"] = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    return driver().main()


if __name__ == "__main__":
    sys.exit(main())
