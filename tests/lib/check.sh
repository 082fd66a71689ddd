#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make check` does once everything is installed: builds, then each stage, then the sum. FUZZ_SECONDS (10) is for
# each fuzz target; B is the build directory.
# shellcheck disable=SC2086 # sum, make and fuzzers are lists of words
set -u
cd "$(dirname -- "$0")/../.." || exit
build=${B:-build}
sum="tests/lib/summary.sh $build/check/summary"
make="make --no-print-directory B=$build"
fuzzers='packet handshake reply sql sql_simple sql_digest config http'

$make all || exit 1
$sum start
$sum run layers tests/layers.sh
$sum run docs tests/docs.sh
$sum run unit $make unit
$sum run fuzz env T="${FUZZ_SECONDS:-10}" tests/fuzz/run.sh $fuzzers
$sum run planted env PLANT=1 T=60 tests/fuzz/run.sh $fuzzers
tests/lib/mysql9.sh fetch
# The whole integration run is under the sanitizers: what is slow in it is waiting.
$make B="$build/asan" OPT='-O1 -g' SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' all || exit 1
$sum run integration env SLUICE="$PWD/$build/asan/sluice" tests/integration/run.py -j2
$sum run plain env tests/integration/run.py -j2 -k big -k pattern -k memory -k grows
$sum run oracle env tests/oracle/run.py --known -j2
$sum run oracle-random env tests/oracle/generate.py --seed 11 --count 20
$make break || exit 1
$sum run oracle-proof env SLUICE="$PWD/$build/break/sluice" tests/oracle/prove.py -j2
$sum run apps env tests/apps/run.py -j2
$sum run mtr env tests/mtr/run.py
exec $sum total
