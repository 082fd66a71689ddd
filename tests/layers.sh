#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The floors: protocol and conf at the bottom, then health, pool, proxy. An include may go downwards or stay in its
# own folder; protocol and conf do not know each other. Prints each offence as file:line, and exits 1 when there is one.
#
#   layers.sh [ROOT]     ROOT: another tree, for trying this script
set -u
cd "${1:-$(dirname -- "$0")/..}" || exit 2

find protocol conf health pool proxy -name '*.[ch]' -exec awk '
    BEGIN {
        floor["protocol"] = 0; floor["conf"] = 0; floor["health"] = 1; floor["pool"] = 2; floor["proxy"] = 3
        name = "protocol, conf < health < pool < proxy"
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        target = $0
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        from = FILENAME
        sub(/\/.*/, "", from)
        to = target
        if (!sub(/\/.*/, "", to) || !(to in floor)) {
            bad("\"" target "\" is not named from the root, folder first")
        } else if (to != from && floor[to] >= floor[from]) {
            bad(from " includes \"" target "\": not downwards (" name ")")
        }
    }
    function bad(why) { printf "%s:%d: %s\n", FILENAME, FNR, why; found = 1 }
    END { exit found }
' {} + || { echo "layers: offences above" >&2; exit 1; }
echo 'layers: every include goes downwards'
