#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of Sluice's build and test tools: Debian 12 and 13, Ubuntu 24.04.
#
#   deps.sh [build|run|test|apps|lint|all]...    all is the default
#
# Says each missing package and why it is wanted, asks nothing, and does nothing when all are there. What a distribution
# does not have of apps is said and done without: the tests that want it are skipped and counted.
set -u
LC_ALL=C
export LC_ALL

say() { printf 'deps: %s\n' "$*"; }
die() {
    printf 'deps: %s\n' "$*" >&2
    exit 1
}

# The sets: package, then why. A name of the form a|b takes the first that is installed, else the first that apt
# knows. Package names that carry a version (libclang-rt-19-dev) are found by asking clang's own package.
build_set() {
    cat <<'LIST'
gcc  compiles Sluice
libc6-dev  the C library's headers
make  runs the Makefile
pkg-config|pkgconf  finds the libraries
libuv1-dev  event loop
libssl-dev  TLS and password hashes
libconfig-dev  configuration files
libmariadb-dev  probes, sluice --check
liburiparser-dev  backend URLs
libjansson-dev  /status
libxxhash-dev  hashes of prepared texts
libsystemd-dev  sd_notify, socket activation
libllhttp-dev|node-llhttp  HTTP parser
LIST
}

run_set() {
    cat <<'LIST'
mariadb-server  the private database of make run and of the tests
mariadb-client  its command line client
redis-server  the private Redis of make run
php-cli  the demo page and the tests' scripts
php-mysql  PDO and mysqli
python3  the tests' driver and make run's figures
util-linux  setsid
LIST
}

test_set() {
    cat <<'LIST'
libcmocka-dev  unit tests
openssl  the tests' certificates
php-fpm  real FPM requests in the tests
php-redis  Redis from PHP
clang  fuzz targets, sanitizers
LIBCLANG_RT  clang's sanitizer and fuzzer runtimes
strace  counts system calls in the tests
procps  looks at processes
xz-utils  unpacks MySQL 9's packages
debootstrap  knows the Debian mirror, where MySQL 9 comes from
LIST
}

apps_set() {
    cat <<'LIST'
mariadb-test  MariaDB's own tests, run through Sluice
php-illuminate-database  Laravel's database layer, run through Sluice
php-illuminate-events  a part of it, used by the same test
php-illuminate-pagination  a part of it, used by the same test
php-doctrine-dbal  Doctrine's, run through Sluice
php-mbstring  WordPress and MediaWiki want it
php-xml  MediaWiki wants it
php-intl  MediaWiki wants it
LIST
}

lint_set() {
    cat <<'LIST'
clang-format  make fmt, make fmt-check
clang-tidy  make lint
cppcheck  make lint
shellcheck  make lint
git  make layers lists the files by it
LIST
}

# installed NAME: unpacked and configured. A virtual package that something installed provides counts too.
installed() {
    printf '%s\n' "$have" | grep -qx -- "$1"
}

known() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# clang_rt: the runtime package of the clang that the package clang stands for. Debian 12 and later have an
# unversioned one, too.
clang_rt() {
    for name in libclang-rt-dev $(apt-cache depends clang 2>/dev/null |
        sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p'); do
        if installed "$name" || known "$name"; then
            echo "$name"
            return
        fi
    done
    echo libclang-rt-dev
}

# pick A|B: which of them to have; nothing is printed when one is there.
pick() {
    rest=$1
    while [ -n "$rest" ]; do
        one=${rest%%|*}
        installed "$one" && return
        case $rest in *\|*) rest=${rest#*|} ;; *) rest= ;; esac
    done
    rest=$1
    while :; do
        one=${rest%%|*}
        case $rest in
        *\|*) rest=${rest#*|} ;;
        *) break ;;
        esac
        known "$one" && break
    done
    echo "$one"
}

# missing_of SETS: lines "package  why" of what is not there.
missing_of() {
    for set in $1; do "${set}_set"; done | awk 'NF && !seen[$1]++' | while read -r names why; do
        # Asked only when needed: apt-cache is slow, and this must be quick when all is there.
        if [ "$names" = LIBCLANG_RT ]; then
            printf '%s\n' "$have" | grep -q '^libclang-rt-' && continue
            names=$(clang_rt)
        fi
        package=$(pick "$names")
        [ -z "$package" ] || printf '%s  %s\n' "$package" "$why"
    done
}

# as_root COMMAND...: directly, or by sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@" 2>/dev/null || sudo "$@"
    fi
}

policy=/usr/sbin/policy-rc.d
made_policy=

# Servers' packages start a system service when they are installed. Sluice's tests and `make run` use instances of
# their own, so for as long as this installs, a policy-rc.d says "do not start" (status 101). One that is there
# already is left alone.
forbid_services() {
    [ -e "$policy" ] && return
    say "no service will be started: $policy says so for the duration"
    made_policy=1
    if ! { printf '#!/bin/sh\n# put here by sluice, make deps, which removes it again\nexit 101\n' |
        as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"; }; then
        die "cannot write $policy"
    fi
}

allow_services() {
    [ -z "$made_policy" ] || as_root rm -f "$policy"
    made_policy=
}

# install_missing LIST OR_ELSE: apt-get's failure is told to the command OR_ELSE.
install_missing() {
    list=$1
    or_else=$2
    say 'missing:'
    printf '%s\n' "$list" | while read -r package why; do printf '  %-20s %s\n' "$package" "$why"; done
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        die "you are not root, and there is no sudo. As root: apt-get install $(printf '%s\n' "$list" | awk '{printf "%s ", $1}')"
    fi
    trap 'allow_services' EXIT
    trap 'exit 130' INT TERM HUP
    forbid_services
    # shellcheck disable=SC2046 # one word a package
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold install \
        $(printf '%s\n' "$list" | awk '{print $1}') </dev/null || "$or_else" 'apt-get install failed (above)'
    allow_services
}

command -v apt-get >/dev/null 2>&1 ||
    die 'this needs dpkg and apt (Debian 12, 13, Ubuntu 24.04); elsewhere install what this script lists'

sets=
for arg in "${@:-all}"; do
    case $arg in
    all) sets="$sets build run test apps lint" ;;
    run) sets="$sets build run" ;;
    test) sets="$sets build run test apps" ;;
    build | apps | lint) sets="$sets $arg" ;;
    *) die "usage: deps.sh [build|run|test|apps|lint|all]..." ;;
    esac
done
sets=$(echo "$sets" | tr -s ' ' '\n' | awk 'NF && !seen[$1]++' | tr '\n' ' ')
sets=${sets% }

read_have() {
    # shellcheck disable=SC2016 # dpkg-query's own variables
    have=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n${db:Status-Abbrev} ${Provides}\n' 2>/dev/null |
        sed -n 's/^.i. *//p' | tr ',' '\n' | sed 's/^ *//; s/ .*//')
}

# split: what of the sets must be there, and what may be done without.
required=$(echo " $sets " | sed 's/ apps / /')
optional=
case " $sets " in *' apps '*) optional=apps ;; esac

read_have
missing=$(missing_of "$required")
wanted=$(missing_of "$optional")
if [ -z "$missing$wanted" ]; then
    say "all there ($sets)"
    exit 0
fi
say 'something is missing; reading the package lists first'
as_root apt-get -q update -o DPkg::Lock::Timeout=120 >/dev/null || say 'apt-get update failed; going on with the lists that are here'
# Again, since which of two names to take depends on what apt knows.
missing=$(missing_of "$required")
[ -z "$missing" ] || install_missing "$missing" die
wanted=$(missing_of "$optional" | while read -r package why; do
    if known "$package"; then printf '%s  %s\n' "$package" "$why"; fi
done)
[ -z "$wanted" ] || install_missing "$wanted" say
read_have
left=$(missing_of "$required")
[ -z "$left" ] || die "still missing: $left"
missing_of "$optional" | while read -r package why; do
    say "done without $package ($why): its tests are skipped"
done
say "done ($sets)"
