#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adds up the stages of `make check`. Each stage leaves one line "STAGE: N passed, M failed, K skipped".
#
#   summary.sh FILE start                        empties FILE
#   summary.sh FILE run STAGE COMMAND...         runs it, shows its output, and takes the last such line of it; a stage
#                                                without one counts as 1 passed or 1 failed, by its exit status
#   summary.sh FILE total                        prints every stage and, last, the sum; exit 1 when one failed
set -u
file=$1
what=$2
shift 2

case $what in
start)
    mkdir -p "$(dirname -- "$file")" && : >"$file"
    ;;
run)
    stage=$1
    shift
    log=$(dirname -- "$file")/$stage.log
    echo "== $stage"
    began=$(date +%s)
    # A pipe to tee would hide the status, and POSIX has no pipefail.
    { "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"
    read -r status <"$log.status"
    rm -f "$log.status"
    counts=$(grep -Eo '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped' "$log" | tail -n 1)
    # `make unit` says it in its own words.
    [ -n "$counts" ] || counts=$(sed -n 's/^ *\([0-9]*\) unit tests passed$/\1 passed, 0 failed, 0 skipped/p' "$log")
    if [ -z "$counts" ]; then
        [ "$status" -eq 0 ] && counts='1 passed, 0 failed, 0 skipped' || counts='0 passed, 1 failed, 0 skipped'
    elif [ "$status" -ne 0 ]; then
        # It ended badly, whatever it counted: a crash after the last case is a failure, too.
        case $counts in *' 0 failed,'*) counts=$(echo "$counts" | sed 's/ 0 failed/ 1 failed/') ;; esac
    fi
    echo "$stage: $counts ($(($(date +%s) - began)) s)" >>"$file"
    ;;
total)
    echo '== all stages'
    cat "$file"
    awk -F'[: ,]+' '{ p += $2; f += $4; s += $6 }
        END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || NR == 0 }' "$file"
    ;;
*)
    echo "usage: $0 FILE start | run STAGE COMMAND... | total" >&2
    exit 2
    ;;
esac
