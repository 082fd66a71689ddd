#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs fuzz targets: run.sh TARGET..., for T seconds each (default 60), below B (default build).
# PLANT=1 builds each with -DSLUICE_PLANT_BUG instead: an off-by-one that the target must find, or it is no good.
# COVER=1 builds with source coverage and prints the lines of its parser that each target reaches.
# The last line is `N passed, M failed, 0 skipped`.
set -u
cd "$(dirname -- "$0")/../.." || exit
build=${B:-build}
seconds=${T:-60}
cc=${FUZZ_CC:-clang}
passed=0 failed=0

# The files that hold the parser of a target, and what else it links.
parts() {
    case $1 in
    packet) echo protocol/wire.c protocol/mysql_packet.c protocol/mysql_response.c ;;
    handshake) echo protocol/mysql_handshake.c ;;
    reply) echo protocol/mysql_reply.c ;;
    sql) echo protocol/sql_scan.c protocol/sql_grammar.c protocol/sql_lead.c protocol/sql_word.c ;;
    sql_simple) echo protocol/sql_token.c protocol/sql_simple.c protocol/sql_set_read.c protocol/sql_names_read.c protocol/sql_ids_read.c ;;
    sql_digest) echo protocol/sql_token.c protocol/sql_digest.c ;;
    config) echo conf/load.c conf/units.c conf/url.c conf/address.c conf/value.c conf/layer.c ;;
    http) echo health/http_parse.c ;;
    *) echo "no such target: $1" >&2; exit 2 ;;
    esac
}

llhttp_flags() {
    if pkg-config --exists libllhttp; then
        pkg-config --cflags --libs libllhttp
    else
        echo "-I/usr/share/include/llhttp /usr/share/llhttp/api.c /usr/share/llhttp/http.c /usr/share/llhttp/llhttp.c"
    fi
}

links() {
    case $1 in
    config) echo conf/*.c "$(pkg-config --cflags --libs libconfig liburiparser)" ;;
    http) echo health/http_parse.c protocol/wire.c "$(llhttp_flags)" ;;
    *) echo protocol/*.c ;;
    esac
}

one() {
    target=$1
    dir=$build/fuzz/$target
    rm -rf "$dir" && mkdir -p "$dir/new"
    flags='-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined'
    [ -z "${PLANT:-}" ] || flags="$flags -DSLUICE_PLANT_BUG=1"
    [ -z "${COVER:-}" ] || flags='-fsanitize=fuzzer -fprofile-instr-generate -fcoverage-mapping'
    # shellcheck disable=SC2046,SC2086 # lists of words
    $cc -std=gnu11 -O1 -g -w -I. -D_GNU_SOURCE -DSLUICE_VERSION='"fuzz"' -DSLUICE_COMMIT='"fuzz"' $flags -o "$dir/fuzz" \
        "tests/fuzz/fuzz_$target.c" $(links "$target") || return 1
    set -- -max_len=4096 -max_total_time="$seconds" -print_final_stats=0 -verbosity=0 -timeout=10 -artifact_prefix="$dir/"
    [ ! -f "tests/fuzz/$target.dict" ] || set -- "$@" "-dict=tests/fuzz/$target.dict"
    LLVM_PROFILE_FILE=$dir/profile LSAN_OPTIONS=suppressions=tests/fuzz/leaks.supp:print_suppressions=0 \
        "$dir/fuzz" "$@" "$dir/new" "tests/fuzz/corpus/$target" >"$dir/log" 2>&1
    status=$?
    if [ -n "${COVER:-}" ]; then
        suffix=$(command -v llvm-cov >/dev/null 2>&1 || echo -14)
        "llvm-profdata$suffix" merge -o "$dir/data" "$dir/profile"
        # shellcheck disable=SC2046
        "llvm-cov$suffix" report "$dir/fuzz" -instr-profile="$dir/data" $(parts "$target") |
            awk -v t="$target" '/\.c |^TOTAL/ { printf "%-10s %-24s lines %s\n", t, $1, $10 }'
    fi
    [ -n "${PLANT:-}" ] || { [ $status -eq 0 ] || tail -40 "$dir/log"; return $status; }
    [ $status -ne 0 ]
}

for target in "$@"; do
    if one "$target"; then
        passed=$((passed + 1))
        echo "ok       fuzz $target${PLANT:+ finds the planted bug}"
    else
        failed=$((failed + 1))
        echo "FAILED   fuzz $target${PLANT:+ does not find the planted bug}"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
