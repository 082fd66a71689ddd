#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs unit test programs one after the other: unit.sh BUILD_DIR PROGRAM...
# Prints what failed whole, then one line of counts, which also goes to BUILD_DIR/check/unit.
set -u
build=$1
shift
mkdir -p "$build/check"
passed=0 failed=0
for t in "$@"; do
    if "$t" >"$t.log" 2>&1; then :; else
        cat "$t.log"
        echo "FAILED: $t"
        # A program that ended before its last test counts as one failure at least.
        grep -q '^\[  FAILED  \]' "$t.log" || failed=$((failed + 1))
    fi
    passed=$((passed + $(grep -c '^\[       OK \]' "$t.log")))
    # Each failed test is named where it ends and once more in the summary.
    failed=$((failed + $(grep '^\[  FAILED  \] [a-z]' "$t.log" | sort -u | wc -l)))
done
echo "unit: $passed passed, $failed failed, 0 skipped" | tee "$build/check/unit"
[ "$failed" -eq 0 ]
