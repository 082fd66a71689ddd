#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Line coverage by folder of a build with --coverage that has been run: coverage.sh BUILD_DIR FOLDER...
set -eu
build=$1
shift
for folder in "$@"; do
    find "$build/obj/$folder" -name '*.gcda' -exec gcov -n -o "$build/obj/$folder" {} + 2>/dev/null |
        awk -v f="$folder" '
            /^File / { mine = index($0, "\x27" f "/") > 0; next }
            /^Lines executed:/ && mine { split($0, a, /[:% ]+/); lines += a[5]; hit += a[3] * a[5] / 100; mine = 0 }
            END { printf "%-10s %5.1f %% of %d lines\n", f, lines ? 100 * hit / lines : 0, lines }'
done
