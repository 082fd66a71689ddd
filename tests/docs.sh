#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that conf/sluice.cfg shows each option of conf/options.def, at its default. No build needed.

set -eu
cd "$(dirname "$0")/.."

# The rows as `list section key default`; a row's default is its first string.
rows() {
    awk '
        /^#define OPTIONS_(POOL|MYSQL_OWN|REDIS_OWN|ADMIN_OWN|PROCESS_OWN)\(/ {
            list = $2; sub(/^OPTIONS_/, "", list); sub(/\(.*/, "", list); next
        }
        /^ *[XE]\(S, / {
            line = $0; sub(/^ *[XE]\(S, /, "", line)
            key = line; sub(/,.*/, "", key)
            value = ""
            if (match(line, /"[^"]*"/)) value = substr(line, RSTART + 1, RLENGTH - 2)
            if (key == "listen" && list == "POOL") value = "-"
            print list, key, (value == "" ? "\"\"" : value)
        }' conf/options.def
}

# Is `#KEY = ...DEFAULT...` in section $1 of the example?
shown() {
    sed -n "/^$1 = {/,/^};/p" conf/sluice.cfg | grep -E "^ *#$2 = " | grep -qF -- "$3"
}

rows | {
    status=0
    count=0
    while read -r list key value; do
        case $list in
        POOL) sections="mysql redis" ;;
        MYSQL_OWN) sections="mysql" ;;
        REDIS_OWN) sections="redis" ;;
        ADMIN_OWN) sections="admin" ;;
        *) sections="process" ;;
        esac
        [ "$value" = - ] && value=127.0.0.1
        case $key in users | session_mode_users | sentinel | cluster) value="()" ;; esac
        for section in $sections; do
            count=$((count + 1))
            shown "$section" "$key" "$value" || {
                echo "conf/sluice.cfg: $section.$key is not shown at its default, $value"
                status=1
            }
        done
    done
    [ "$count" -gt 0 ] || { echo "tests/docs.sh: no row found in conf/options.def"; status=1; }
    echo "docs: $count options, status $status"
    exit $status
}
