#!/bin/sh
# A MySQL 9 server and its command line clients, out of Debian sid, for the tests.
#
#   tests/lib/mysql9.sh fetch           get them into build/sid (a no-op once they are there)
#   tests/lib/mysql9.sh path            print the tree's path, if it is ready
#   tests/lib/mysql9.sh mysqld ARGS...  become the server
#   tests/lib/mysql9.sh mysql ARGS...   become the client; so too mysqladmin, mysqldump,
#                                       mysqlslap, mysqlshow, mysqlcheck, mysqlimport, mysqlbinlog
#
# Exit status 3: MySQL 9 cannot be had here (offline, or the package is gone), or it has
# not been fetched. Any other status of mysqld, mysql... is that program's own.
#
# Why sid, and why this way: the stable releases of Debian carry MariaDB only, and MySQL 9
# speaks a protocol that differs from it in what matters to a proxy (caching_sha2_password,
# TLS by default, session tracking). The packages are unpacked, never installed: the
# machine's own package lists, its dpkg database and its libraries stay as they are, and no
# root is needed. Since sid's binaries want sid's libc, they are run by the tree's own
# dynamic loader with the tree's libraries first, rather than in a chroot: so data
# directories, sockets and process ids are the machine's, and a signal to the process that
# a test started goes to mysqld itself.
#
# To move to sid's present version: rm -rf build/sid, and fetch again.
#
# SLUICE_DEBIAN_MIRROR=URI names a Debian mirror to use before those that the machine's
# own package sources name.

set -u

# Bump when what a tree holds changes: a tree of another layout is fetched anew.
LAYOUT=1

root=$(cd -P -- "$(dirname -- "$0")/../.." && pwd) || exit 1
build=$root/build
tree=$build/sid
stamp=$tree/.ready

say() { printf 'mysql9: %s\n' "$*"; }

# cannot REASON [LOG]: the loud end. Status 3 is for the callers, which tell
# "not to be had here" from a failing test by it.
cannot() {
    {
        echo '*****************************************************************'
        echo '* mysql9: MySQL 9 IS NOT AVAILABLE: the tests against it CANNOT run'
        echo "* why: $1"
        echo "* tried: Debian sid's mysql-server-core and mysql-client-core, into"
        echo "*        $tree"
        echo '* then: check the network and the package sources, or name a Debian'
        echo '*       mirror in SLUICE_DEBIAN_MIRROR, and run'
        echo '*       tests/lib/mysql9.sh fetch'
        echo '*****************************************************************'
        if [ -n "${2:-}" ] && [ -s "$2" ]; then
            echo 'mysql9: the last lines of its log:'
            tail -n 20 -- "$2" | sed 's/^/    /'
        fi
    } >&2
    exit 3
}

# ---------------------------------------------------------------- the tree, in use

# ready: is there a whole tree? The stamp is written last and the tree is moved into place
# whole, so the stamp alone would do; the loader's test costs nothing, and notices a tree
# that somebody thinned out by hand.
ready() {
    [ -r "$stamp" ] && read -r layout version <"$stamp" && [ "$layout" = "$LAYOUT" ] || return 1
    find_loader "$tree"
}

# find_loader TREE: sets loader and libdir. The loader lies in the multiarch library
# directory on every architecture; only the two names differ.
find_loader() {
    for loader in "$1"/usr/lib/*/ld-linux*.so.* "$1"/usr/lib/*/ld64.so.*; do
        if [ -f "$loader" ]; then
            libdir=${loader%/*}
            return 0
        fi
    done
    return 1
}

# The wrappers that start a program. --inhibit-cache: the machine's ld.so.cache would name
# the machine's older libraries. --argv0: usage texts and messages then name the program
# and not the loader (ps and pgrep see the loader all the same, so stop it by its pid).
# OPENSSL_CONF and OPENSSL_MODULES: the machine's own OpenSSL policy and modules are meant
# for another OpenSSL, and would make what TLS does here differ from machine to machine.
enter() {
    prog=$1
    shift
    OPENSSL_CONF=/dev/null
    OPENSSL_MODULES=$libdir/ossl-modules
    export OPENSSL_CONF OPENSSL_MODULES
    exec "$loader" --inhibit-cache --library-path "$libdir" --argv0 "$prog" "$prog" "$@"
}

# server ARGS...: the options that name an option file have to come first, so such a first
# argument of the caller's is kept there; without one, --no-defaults keeps out the
# machine's /etc/mysql, which may well be MariaDB's. Ours go before the caller's, for the
# last one given wins.
server() {
    case ${1:-} in
    --no-defaults | --defaults-* | --print-defaults) first=$1 && shift ;;
    *) first=--no-defaults ;;
    esac
    # As root, mysqld refuses to run unless told to; and of several --user the first one
    # wins, so ours is given only if the caller gives none.
    user=
    if [ "$(id -u)" -eq 0 ]; then
        user=--user=root
        for arg; do
            case $arg in --user | --user=* | -u*) user= ;; esac
        done
    fi
    # --mysqlx=OFF: no test speaks the X protocol, and its port would be a second one to
    # collide on. --secure-file-priv=NULL: the built-in directory does not exist here, and
    # mysqld would refuse to start without it.
    enter "$tree/usr/sbin/mysqld" "$first" \
        --basedir="$tree/usr" \
        --lc-messages-dir="$tree/usr/share/mysql" \
        --character-sets-dir="$tree/usr/share/mysql/charsets" \
        --plugin-dir="$tree/usr/lib/mysql/plugin" \
        --secure-file-priv=NULL \
        --loose-mysqlx=OFF \
        ${user:+"$user"} "$@"
}

# client PROG ARGS...: likewise. mysqlslap has no --character-sets-dir, and would grumble
# about --loose-character-sets-dir.
client() {
    prog=$1
    shift
    case ${1:-} in
    --no-defaults | --defaults-* | --print-defaults | --login-path=*) first=$1 && shift ;;
    *) first=--no-defaults ;;
    esac
    [ "$prog" = mysqlslap ] ||
        set -- --character-sets-dir="$tree/usr/share/mysql/charsets" "$@"
    enter "$tree/usr/bin/$prog" "$first" --plugin-dir="$tree/usr/lib/mysql/plugin" "$@"
}

# ---------------------------------------------------------------- fetching it

# machine_mirrors: candidates, one "URI<tab>OPTIONS" a line, best first: the caller's, then
# those of the machine's own Debian entries (for the main archive: whatever entry of
# Debian's main component has a suite of Debian's own naming). OPTIONS are the entry's
# signed-by and trusted. None is written down here: a mirror is the machine's affair. One
# that turns out to hold no sid costs a failed request or two.
machine_mirrors() {
    if [ -n "${SLUICE_DEBIAN_MIRROR:-}" ]; then
        printf '%s\t\n' "$SLUICE_DEBIAN_MIRROR"
    fi
    # shellcheck source=/dev/null
    code=$(. /etc/os-release 2>/dev/null && case ${ID:-} in ubuntu) ;; *) echo "${DEBIAN_CODENAME:-${VERSION_CODENAME:-}}" ;; esac)
    suites="${code:-sid} sid unstable testing stable oldstable experimental"

    # One-line entries: deb [OPTIONS] URI SUITE COMPONENT...
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk -v suites="$suites" '
        BEGIN { n = split(suites, s, " "); for (i = 1; i <= n; i++) ok[s[i]] = 1 }
        { sub(/#.*/, "") }
        $1 != "deb" { next }
        {
            opts = ""
            if (match($0, /\[[^]]*\]/)) {
                opts = substr($0, RSTART + 1, RLENGTH - 2)
                $0 = substr($0, 1, RSTART - 1) " " substr($0, RSTART + RLENGTH)
            }
            if (!($3 in ok)) next
            keep = ""; main = 0
            for (i = 4; i <= NF; i++) if ($i == "main") main = 1
            m = split(opts, o, /[ \t]+/)
            for (i = 1; i <= m; i++) if (o[i] ~ /^(signed-by=\/|trusted=)/) keep = keep " " o[i]
            if (main) print $2 "\t" substr(keep, 2)
        }'

    # Stanzas (deb822). A Signed-By that holds the key itself cannot go on one line, and is
    # left to the keyring package.
    for f in /etc/apt/sources.list.d/*.sources; do
        if [ -r "$f" ]; then
            cat "$f"
            echo
        fi
    done | awk -v suites="$suites" '
        BEGIN { n = split(suites, s, " "); for (i = 1; i <= n; i++) ok[s[i]] = 1 }
        function flush(    i, m, a, good, keep) {
            good = 0
            m = split(f["suites"], a, " ")
            for (i = 1; i <= m; i++) if (a[i] in ok) good = 1
            if ((" " f["types"] " ") !~ / deb /) good = 0
            if ((" " f["components"] " ") !~ / main /) good = 0
            if (tolower(f["enabled"]) ~ /no|false|0/) good = 0
            if (good) {
                keep = ""
                if (f["signed-by"] ~ /^ *\/[^ ]*( \/[^ ]*)* *$/) {
                    keep = f["signed-by"]
                    gsub(/^ +| +$/, "", keep)
                    gsub(/ +/, ",", keep)
                    keep = "signed-by=" keep
                }
                if (tolower(f["trusted"]) ~ /yes/) keep = keep " trusted=yes"
                m = split(f["uris"], a, " ")
                for (i = 1; i <= m; i++) print a[i] "\t" keep
            }
            split("", f)
        }
        /^#/ { next }
        /^[ \t]*$/ { flush(); next }
        /^[ \t]/ { gsub(/[ \t]+/, " "); f[key] = f[key] $0; next }
        {
            key = tolower($0); sub(/:.*/, "", key)
            val = $0; sub(/^[^:]*:/, "", val); gsub(/[ \t]+/, " ", val)
            f[key] = val
        }
        END { flush() }'
}

# default_mirrors: debootstrap's own default, of the installed one, or else of its package,
# unpacked. It is what a machine falls back to whose own sources lead to no sid: an Ubuntu.
default_mirrors() {
    d=$(command -v debootstrap 2>/dev/null || echo /usr/sbin/debootstrap)
    if ! [ -r "$d" ] && host_deb debootstrap; then
        d=$work/host/usr/sbin/debootstrap
    fi
    sed -n 's/^DEF_MIRROR="\{0,1\}\([^"]*\)"\{0,1\}$/\1\t/p' "$d" 2>/dev/null
}

# host_deb PACKAGE: unpack a package of the machine's own release into work/host. With the
# machine's sources, but lists of our own: a fresh machine has none, and a plain user could
# not fetch them to where the machine keeps them.
host_deb() {
    mkdir -p "$work/host/deb" "$work/host/lists/partial" && (
        cd "$work/host/deb" || exit 1
        name=$1
        set -- -o Dir::Etc::sourcelist=/etc/apt/sources.list \
            -o Dir::Etc::sourceparts=/etc/apt/sources.list.d \
            -o Dir::Etc::trustedparts=/etc/apt/trusted.gpg.d \
            -o Dir::State::lists="$work/host/lists" \
            -o Dir::Cache="$work/host/cache"
        mkdir -p "$work/host/cache/archives/partial"
        echo "mysql9: fetching this machine's own $name" >>"$log"
        # Once will do; and a source of the machine's that fails need not be the one that
        # has the package.
        [ -e "$work/host/updated" ] || sid_apt apt-get -q "$@" update >>"$log" 2>&1
        : >"$work/host/updated"
        sid_apt apt-get -q "$@" download "$name" >>"$log" 2>&1 &&
            dpkg-deb -x "$name"_*.deb "$work/host"
    )
}

# find_keyring: sets keyring to the file with the archive's keys, if it can be had. An
# Ubuntu machine has it in a package that is seldom installed.
find_keyring() {
    for keyring in /usr/share/keyrings/debian-archive-keyring.gpg \
        /usr/share/keyrings/debian-archive-keyring.pgp; do
        [ ! -r "$keyring" ] || return 0
    done
    host_deb debian-archive-keyring
    keyring=$work/host/usr/share/keyrings/debian-archive-keyring.gpg
    [ -r "$keyring" ] || keyring=
}

# trust OPTIONS: lays out the keys that a mirror's signature is checked with: the archive's,
# and those that the machine itself checks that entry with (its own signed-by, else the
# machine's general ones), for a mirror may be signed by who runs it. Copied to where our
# apt looks by itself, for a path in a source's signed-by cannot hold a blank.
trust() {
    rm -rf "$apt/trusted.d"
    mkdir -p "$apt/trusted.d"
    if [ -n "$keyring" ]; then
        cp -L "$keyring" "$apt/trusted.d/debian-archive.gpg"
    fi
    case $1 in
    *signed-by=*)
        keys=${1#*signed-by=}
        keys=${keys%% *}
        while [ -n "$keys" ]; do
            key=${keys%%,*}
            keys=${keys#"$key"}
            keys=${keys#,}
            name=${key##*/}
            # apt knows the two formats by these two endings only.
            case $name in *.asc) ;; *) name=${name%.*}.gpg ;; esac
            cp -L "$key" "$apt/trusted.d/entry-$name" 2>/dev/null
        done
        ;;
    *)
        cp -L /etc/apt/trusted.gpg.d/*.gpg /etc/apt/trusted.gpg.d/*.asc "$apt/trusted.d/" 2>/dev/null
        ;;
    esac
}

# private_apt: an apt of our own in work/apt: its own lists, cache, (empty) dpkg status,
# sources and pins; but with the machine's settings, since those hold its proxies,
# certificates, time-outs and credentials (auth.conf stays where it is).
#
# apt reads the file in APT_CONFIG first, then Dir::Etc::parts, then Dir::Etc::main: so the
# first only points at the other two, and what must not be overridden is in the last.
private_apt() {
    mkdir -p "$apt/conf.d" "$apt/none" "$apt/state/lists/partial" "$apt/cache/archives/partial" || return 1
    : >"$apt/status"
    # Not all of these need be there, or readable for a plain user: that is no failure.
    cp -L /etc/apt/apt.conf.d/* "$apt/conf.d/" 2>/dev/null
    cp -L /etc/apt/apt.conf "$apt/conf.d/zz-machine-main.conf" 2>/dev/null
    if [ -n "${APT_CONFIG:-}" ]; then
        cp -L "$APT_CONFIG" "$apt/conf.d/00-machine-env.conf" 2>/dev/null
    fi
    cat >"$apt/first.conf" <<CONF
Dir::Etc::parts "$apt/conf.d";
Dir::Etc::main "$apt/last.conf";
CONF
    # The hooks are cleared, for they act on the machine: they refresh or clean its caches.
    # Sandbox::User: apt's helpers otherwise run as a user who need not be able to enter
    # this directory; that what comes is genuine rests on signatures, not on them.
    cat >"$apt/last.conf" <<CONF
#clear APT::Update;
#clear APT::Default-Release;
#clear APT::Architectures;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::State "$apt/state";
Dir::State::lists "$apt/state/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Cache::archives "$apt/cache/archives";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/none";
Dir::Etc::preferences "$apt/none/preferences";
Dir::Etc::preferencesparts "$apt/none";
Dir::Etc::trustedparts "$apt/trusted.d";
APT::Sandbox::User "root";
APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "3";
CONF
}

sid_apt() {
    # apt-get's own wording is parsed below, and must be the untranslated one.
    APT_CONFIG=$apt/first.conf LC_ALL=C "$@"
}

# find_mirror: try those in work/mirrors, up to one that has what we want; our apt is then
# set to it. Each is tried only once, in the first place that it has.
find_mirror() {
    tab=$(printf '\t')
    while IFS=$tab read -r uri opts <&3; do
        uri=${uri%/}
        ! grep -qsxF -- "$uri" "$work/tried" || continue
        echo "$uri" >>"$work/tried"
        trust "$opts"
        case $opts in *trusted=yes*) opts=' trusted=yes' ;; *) opts= ;; esac
        # target=Packages: neither translations nor what desktop tools asked apt to add.
        echo "deb [arch=$arch lang=none target=Packages$opts] $uri sid main" >"$apt/sources.list"
        cat "$apt/sources.list" >>"$log"
        # Without --error-on=any, an update that got nothing is a success.
        if sid_apt apt-get -q --error-on=any update >>"$log" 2>&1; then
            if plan; then
                return 0
            fi
            echo "mysql9: that mirror's sid has no MySQL 9 server that can be installed" >>"$log"
        fi
    done 3<"$work/mirrors"
    return 1
}

# plan: the packages to fetch, as NAME=VERSION, from the mirror whose lists were just read;
# fails if there is no MySQL 9 server among them. The package names have carried no version
# since 9.x came to sid, but did before and may again.
plan() {
    pkgs=
    for part in server client; do
        name=$(sid_apt apt-cache pkgnames "mysql-$part-core" |
            grep -Ex "mysql-$part-core(-9[.0-9]*)?" | sort -V | tail -n 1)
        [ -n "$name" ] || return 1
        pkgs="$pkgs $name"
    done
    # shellcheck disable=SC2086 # two names, to be split
    sid_apt apt-get -q -s install $pkgs >"$work/plan" 2>>"$log" || return 1
    grep -Eq '^Inst mysql-server-core[^ ]* \(9[.]' "$work/plan" || return 1
    # Left out: what only scripts, and conversions to outlandish character sets, want. That
    # no library is missing for it is checked after unpacking.
    sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' "$work/plan" |
        grep -Ev '^(perl|libperl|libgdbm|libdb5|libc-gconv|libsasl2-modules|libtirpc-common|gcc-[0-9.]*-base)' >"$work/packages"
    [ -s "$work/packages" ]
}

# unpack: the packages in work/deb into work/tree, less what no test can use. The tools for
# other storage engines and for a server's upkeep are 7 MB each.
unpack() {
    mkdir -p "$work/tree" || return 1
    for deb in "$work"/deb/*.deb; do
        dpkg-deb -x "$deb" "$work/tree" >>"$log" 2>&1 || return 1
    done
    (
        cd "$work/tree/usr" &&
            rm -rf share/doc share/man share/locale share/lintian share/bug \
                bin/myisam* bin/ibd2sdi bin/innochecksum bin/mysql_migrate_keyring \
                bin/mysql_secure_installation bin/mysqld_* bin/mysqldumpslow
    )
}

# whole TREE: do the programs find every library in the tree, and run?
whole() {
    find_loader "$1" || return 1
    for p in sbin/mysqld bin/mysql bin/mysqladmin; do
        "$loader" --inhibit-cache --library-path "$libdir" --list "$1/usr/$p" >"$work/libs" 2>>"$log" || return 1
        # A library that the machine lent is one that the next machine may not have.
        if grep -v 'linux-vdso' "$work/libs" | grep '=>' | grep -vF "=> $libdir/" >>"$log"; then
            return 1
        fi
    done
    version=$(OPENSSL_CONF=/dev/null "$loader" --inhibit-cache --library-path "$libdir" \
        "$1/usr/sbin/mysqld" --no-defaults --version 2>>"$log") || return 1
    version=$(printf '%s\n' "$version" | sed -n 's/.* Ver \([^ ]*\).*/\1/p')
    [ -n "$version" ]
}

# own PATH...: under sudo, what was made belongs to who asked for it, not to root.
own() {
    if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_UID:-}" ]; then
        chown -Rh "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" -- "$@"
    fi
}

fetch() {
    # Whatever the caller's: others are to use what is made here.
    umask 022
    if ready; then
        say "MySQL $version is in $tree already"
        return 0
    fi
    for tool in apt-get dpkg-deb flock awk; do
        command -v "$tool" >/dev/null 2>&1 || cannot "there is no $tool here"
    done
    [ -d "$build" ] || { mkdir -p "$build" && own "$build"; } || cannot "cannot make $build"

    # One at a time: tests that run side by side may all ask for it first thing.
    # (Tried first in a subshell: where exec fails, the shell ends with a status of its own.)
    (: >>"$build/.sid.lock") 2>/dev/null || cannot "cannot write in $build"
    exec 9>>"$build/.sid.lock"
    own "$build/.sid.lock"
    flock 9
    if ready; then
        say "MySQL $version is in $tree already"
        return 0
    fi

    # Beside its final place, so that the last step is a rename. Whatever is left of a
    # fetch that was killed goes first: under the lock, it is nobody's.
    rm -rf "$build"/.sid.work.*
    work=$(mktemp -d "$build/.sid.work.XXXXXX") || cannot "cannot write in $build"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    log=$work/log
    apt=$work/apt
    : >"$log"
    private_apt || cannot "cannot write in $work"
    arch=$(dpkg --print-architecture) || cannot 'dpkg does not know the architecture'

    find_keyring
    machine_mirrors >"$work/mirrors"
    if ! find_mirror; then
        default_mirrors >"$work/mirrors"
        find_mirror || cannot 'no mirror gave a MySQL 9 server (offline? gone from sid?)' "$log"
    fi

    mkdir -p "$work/deb" || cannot "cannot write in $work"
    # shellcheck disable=SC2046 # one word a package
    (cd "$work/deb" && sid_apt apt-get -q download $(cat "$work/packages")) >>"$log" 2>&1 ||
        cannot 'its packages could not be downloaded' "$log"
    unpack || cannot 'its packages could not be unpacked (disk full? an old dpkg?)' "$log"
    whole "$work/tree" || cannot 'what was unpacked does not run, or lacks libraries' "$log"
    echo "$LAYOUT $version" >"$work/tree/.ready"
    # For who wants to know what a failing test ran against.
    cp "$work/packages" "$work/tree/.packages"
    own "$work/tree"
    { rm -rf "$tree" && mv "$work/tree" "$tree"; } || cannot "cannot write $tree"
    say "fetched MySQL $version from Debian sid ($(wc -l <"$tree/.packages") packages, $(du -sm "$tree" | cut -f1) MB) into $tree"
}

# ---------------------------------------------------------------- what to do

usage() {
    echo "usage: $0 fetch | path | mysqld ARGS... | mysql ARGS... | mysqladmin ARGS..." >&2
    exit 2
}

need() {
    ready || cannot "it has not been fetched into $tree"
}

cmd=${1:-}
[ $# -eq 0 ] || shift
case $cmd in
fetch)
    [ $# -eq 0 ] || usage
    fetch
    ;;
path)
    [ $# -eq 0 ] || usage
    need
    printf '%s\n' "$tree"
    ;;
mysqld)
    need
    server "$@"
    ;;
mysql | mysqladmin | mysqldump | mysqlslap | mysqlshow | mysqlcheck | mysqlimport | mysqlbinlog)
    need
    client "$cmd" "$@"
    ;;
*)
    usage
    ;;
esac
