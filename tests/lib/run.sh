#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make run`: a private MariaDB and Redis, Sluice on its default ports, and a PHP page that uses it.
#
#   RUN_SECONDS=N           end after N seconds, exit 0        SLUICE_DEMO_PORT=N    the page's port (8080)
#   SLUICE_MYSQL_BACKEND=U  use that server, start no MariaDB  SLUICE_REDIS_BACKEND  likewise for Redis
#   SLUICE_MYSQL_LISTEN, SLUICE_ADMIN_LISTEN, SLUICE_HEALTH_LISTEN   move Sluice off its default ports
#
# Data stays in build/run/ for the next time. Whatever is started here is ended here, by its process id.
set -u

root=$(cd -P -- "$(dirname -- "$0")/../.." && pwd) || exit 1
build=${B:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
run=$build/run
sluice=$build/sluice
demo_port=${SLUICE_DEMO_PORT:-8080}
mysql_listen=${SLUICE_MYSQL_LISTEN:-127.0.0.1:6033}
admin_listen=${SLUICE_ADMIN_LISTEN:-127.0.0.1:6070}
health_listen=${SLUICE_HEALTH_LISTEN:-127.0.0.1:6071}
PATH=$PATH:/usr/sbin
pids=

say() { printf 'run: %s\n' "$*"; }

# fail WHY [LOG]: says it with the end of that log, and ends (the trap ends the rest).
fail() {
    printf 'run: %s\n' "$1" >&2
    if [ -n "${2:-}" ] && [ -s "$2" ]; then
        echo "run: the end of $2:" >&2
        tail -n 15 -- "$2" | sed 's/^/    /' >&2
    fi
    exit 1
}

alive() { kill -0 "$1" 2>/dev/null; }

# end_one PID: TERM, then KILL after 10 s. `wait` reaps it.
end_one() {
    kill "$1" 2>/dev/null || return 0
    i=0
    while alive "$1" && [ $i -lt 100 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    kill -9 "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# In reverse order of starting: the page, Sluice, then the servers behind it.
end_all() {
    trap '' INT TERM HUP
    for pid in $pids; do end_one "$pid"; done
    pids=
}
trap 'end_all' EXIT
trap 'exit 0' INT TERM HUP

# start LOG COMMAND...: in the background, its pid in $started. setsid: a Ctrl-C reaches this script only, so
# that the order above holds.
start() {
    log=$1
    shift
    setsid "$@" >"$log" 2>&1 </dev/null &
    started=$!
    pids="$started $pids"
}

# wait_for WHAT PID LOG PROBE...: until PROBE succeeds, at most 30 s and as long as PID lives.
wait_for() {
    what=$1 pid=$2 log=$3
    shift 3
    i=0
    until "$@" >/dev/null 2>&1; do
        alive "$pid" || fail "$what ended at its start" "$log"
        [ $i -lt 300 ] || fail "$what does not answer after 30 s" "$log"
        sleep 0.1
        i=$((i + 1))
    done
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# port_is_free PORT: nobody listens there. SO_REUSEADDR: as the programs themselves do.
port_is_free() {
    python3 -c 'import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))' "$1" 2>/dev/null
}

# need_port ADDR WHAT VARIABLE: only for ADDRs of the form host:port. The example keeps VARIABLE's form.
need_port() {
    case $1 in unix:* | off | *,*) return ;; esac
    port=${1##*:}
    port_is_free "$port" && return
    case $3 in *_LISTEN) example=${1%:*}:$((port + 100)) ;; *) example=$((port + 100)) ;; esac
    fail "port $port, for $2, is taken. Choose another: $3=$example make run"
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail "there is no $1 here: run \`make deps\`"
}

# MariaDB refuses to run as root unless told to.
user_option=
[ "$(id -u)" -ne 0 ] || user_option=--user=root

start_mariadb() {
    need mariadbd
    need mariadb-install-db
    dir=$run/mariadb
    # A unix socket's path has at most 107 bytes.
    my_sock=$run/mariadb.sock
    [ ${#my_sock} -lt 100 ] || my_sock=$(mktemp -u /tmp/sluice-run-XXXXXX)
    if [ ! -e "$dir/.ready" ]; then
        rm -rf "$dir"
        say "making a private MariaDB in $dir"
        mariadb-install-db --no-defaults --datadir="$dir" --skip-test-db \
            --auth-root-authentication-method=socket --auth-root-socket-user="$(id -un)" \
            ${user_option:+"$user_option"} >"$run/mariadb-install.log" 2>&1 ||
            fail 'mariadb-install-db failed' "$run/mariadb-install.log"
    fi
    my_port=$(free_port)
    start "$run/mariadb.log" mariadbd --no-defaults --datadir="$dir" --socket="$my_sock" --port="$my_port" \
        --bind-address=127.0.0.1 --skip-log-bin --skip-name-resolve --innodb-flush-log-at-trx-commit=0 \
        --innodb-buffer-pool-size=64M --pid-file="$run/mariadb.pid" ${user_option:+"$user_option"}
    wait_for MariaDB "$started" "$run/mariadb.log" mariadb_answers
    if [ ! -e "$dir/.ready" ]; then
        as_admin <"$root/deploy/demo/schema.sql" 2>"$run/mariadb-schema.log" ||
            fail 'the demo schema could not be loaded' "$run/mariadb-schema.log"
        : >"$dir/.ready"
    fi
    SLUICE_MYSQL_BACKEND=mysql://127.0.0.1:$my_port
    say "MariaDB: 127.0.0.1:$my_port and $my_sock, user app, password apppass, database app"
}

as_admin() { mariadb --no-defaults --socket="$my_sock" --user="$(id -un)"; }

mariadb_answers() { echo 'SELECT 1' | as_admin; }

start_redis() {
    need redis-server
    redis_port=$(free_port)
    redis_sock=$run/redis.sock
    [ ${#redis_sock} -lt 100 ] || redis_sock=$(mktemp -u /tmp/sluice-run-XXXXXX)
    start "$run/redis.log" redis-server --port "$redis_port" --bind 127.0.0.1 --unixsocket "$redis_sock" \
        --save '' --appendonly no --dir "$run"
    wait_for Redis "$started" "$run/redis.log" redis_answers
    say "Redis: 127.0.0.1:$redis_port and $redis_sock. This version of sluice does not serve Redis yet: connect directly"
}

redis_answers() {
    python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1); s.sendall(b"PING\r\n")
sys.exit(s.recv(16) != b"+PONG\r\n")' "$redis_port"
}

start_sluice() {
    # Passed as flags: the environment may hold the same names, and the flags win.
    start "$run/sluice.log" "$sluice" --mysql-listen "$mysql_listen" --mysql-backend "$SLUICE_MYSQL_BACKEND" \
        --admin-listen "$admin_listen" --health-listen "$health_listen"
    sluice_pid=$started
    wait_for sluice "$sluice_pid" "$run/sluice.log" grep -q 'event=ready' "$run/sluice.log"
}

start_demo() {
    DEMO_DB_HOST=${mysql_listen%:*} DEMO_DB_PORT=${mysql_listen##*:}
    export DEMO_DB_HOST DEMO_DB_PORT
    start "$run/demo.log" php -d display_errors=0 -S "127.0.0.1:$demo_port" "$root/deploy/demo/index.php"
    wait_for 'the PHP page' "$started" "$run/demo.log" demo_answers
}

demo_answers() {
    python3 -c 'import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$demo_port"
}

main() {
    need python3
    need php
    [ -x "$sluice" ] || fail "there is no $sluice: run \`make\`"
    need_port "$mysql_listen" sluice SLUICE_MYSQL_LISTEN
    need_port "$admin_listen" "sluice's admin page" SLUICE_ADMIN_LISTEN
    need_port "$health_listen" "sluice's health page" SLUICE_HEALTH_LISTEN
    need_port "127.0.0.1:$demo_port" 'the PHP page' SLUICE_DEMO_PORT
    mkdir -p "$run" || exit 1
    if [ -n "${SLUICE_MYSQL_BACKEND:-}" ]; then
        say 'MySQL: the server in SLUICE_MYSQL_BACKEND; the demo page needs the tables of deploy/demo/schema.sql there'
    else
        start_mariadb
    fi
    if [ -n "${SLUICE_REDIS_BACKEND:-}" ]; then
        say 'Redis: yours in SLUICE_REDIS_BACKEND; this version of sluice does not serve Redis yet'
    else
        start_redis
    fi
    # Redis' variables would be refused by a sluice that does not know them yet.
    unset SLUICE_REDIS_BACKEND SLUICE_REDIS_LISTEN SLUICE_DEMO_PORT
    start_sluice
    start_demo
    cat <<TEXT
run: ready
  the page       http://127.0.0.1:$demo_port/
  in PHP         new PDO('mysql:host=${mysql_listen%:*};port=${mysql_listen##*:};dbname=app', 'app', 'apppass')
  by hand        mariadb -h ${mysql_listen%:*} -P ${mysql_listen##*:} -u app -papppass app
  admin          http://$admin_listen/  (/status, /metrics)
  logs           $run/*.log        Ctrl-C ends everything
TEXT
    # The figures run until their time is over or Sluice is gone. `wait`, so that a signal is not kept waiting.
    python3 "$root/tests/lib/figures.py" "$admin_listen" "$sluice_pid" "${RUN_SECONDS:-0}" &
    figures=$!
    pids="$figures $pids"
    wait "$figures"
    code=$?
    [ $code -eq 0 ] || fail 'sluice ended' "$run/sluice.log"
}

main
