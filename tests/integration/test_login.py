# SPDX-License-Identifier: Apache-2.0
"""Logging in: who gets in, how, and what one is told who does not."""
import getpass
import itertools
import os
import subprocess

from harness import wire
from harness.cases import Skip, case
from harness.servers import MYSQL9
from harness.sluice import run_once

CLIENTS = ["pdo-emulated", "pdo-native", "pdo-persistent", "mysqli", "mysqli-persistent"]
# PHP has no TLS over a unix socket ("This stream does not support SSL/crypto").
WAYS = [f"{c}-{w}" for c, w in itertools.product(CLIENTS, ("tcp-plain", "tcp-tls", "unix-plain"))]


def php_login(t, front, way):
    client, *kind, transport, tls = way.split("-")
    kind = kind[0] if kind else ""
    env = {"DB_UNIX": "1" if transport == "unix" else "", "DB_TLS": "1" if tls == "tls" else "",
           "DB_NATIVE": "1" if kind == "native" else "", "DB_PERSISTENT": "1" if kind == "persistent" else ""}
    got = t.php("login_mysqli.php" if client == "mysqli" else "login_pdo.php", front=front, **env)
    assert got["v"] == "h\u00e9llo" and got["d"] == "app" and got["u"].startswith("app@"), got
    if kind == "persistent":
        assert got["again"] == (["7", None] if client == "mysqli" else 7), got
    return got


@case(each=WAYS)
def php_logs_in(t, way):
    php_login(t, t.front(), way)


@case(needs="sluice", each=["tcp-off", "tcp-prefer", "tcp-verify", "unix"])
def the_backend_side_may_be(t, side):
    transport, _, tls = side.partition("-")
    keys = {"tls": tls} if tls else {}
    if tls == "verify":
        keys["tls_ca"] = t.db.ca
    s = t.sluice(backend=t.db.url(tcp=transport == "tcp"), conf={"mysql": keys})
    got = php_login(t, s, "pdo-emulated-tcp-plain")
    assert bool(got["cipher"]) == (tls in ("prefer", "verify")), got


@case(needs="sluice", each=["verify"])
def a_backend_with_an_unknown_authority_is_refused(t, tls):
    s = t.sluice(conf={"mysql": {"tls": tls, "connect_timeout": "1s"}})
    t.fails(1429, wire.Client, s.address)


def cli(argv, front, transport, *more):
    where = [f"--socket={front.sock}"] if transport == "unix" else ["--host=127.0.0.1", f"--port={front.port}"]
    return subprocess.run([*argv, "--no-defaults", *where, "-uapp", "-papppass", *more, "app", "-N", "-e",
                           "SELECT 40 + 2; SELECT DATABASE()"], capture_output=True, text=True, timeout=30)


@case(each=["tcp", "unix"])
def the_mariadb_command_line_client_logs_in(t, transport):
    # Over a socket it does not ask for TLS; over TCP this version asks for it only when told to.
    done = cli(["mariadb"], t.front(), transport)
    assert done.returncode == 0 and done.stdout.split() == ["42", "app"], done


@case(each=["tcp", "unix"])
def the_mysql_9_command_line_client_logs_in_with_its_defaults(t, transport):
    done = cli([MYSQL9, "mysql"], t.front(), transport)
    if done.returncode == 3:
        raise Skip("the mysql 9 client cannot be had")
    assert done.returncode == 0 and done.stdout.split() == ["42", "app"], done


@case(needs="sluice")
def the_mysql_9_client_gets_the_key_over_plain_tcp(t):
    done = cli([MYSQL9, "mysql"], t.front(), "tcp", "--ssl-mode=DISABLED", "--get-server-public-key")
    assert done.returncode == 0 and done.stdout.split() == ["42", "app"], done


@case(each=["tcp-plain", "tcp-tls", "unix-plain", "unix-tls"])
def a_raw_client_logs_in(t, way):
    transport, tls = way.split("-")
    c = t.client(unix=transport == "unix", tls=tls == "tls", db="app")
    assert c.value("SELECT CONCAT(USER(), DATABASE())").startswith("app@")


@case()
def the_greeting_shows_the_servers_version_and_charset(t):
    # So that frameworks that look at the version choose what they would choose without Sluice.
    t.client(db="app").value("SELECT 1")
    ours, theirs = t.client(), wire.Client(t.db.address)
    t.defer(theirs.close)
    assert ours.greeting.version == theirs.greeting.version
    assert ours.greeting.charset == theirs.greeting.charset


@case(on="mysql9")
def a_first_login_works_with_a_cold_server_cache(t):
    t.front()
    t.db.admin.query("FLUSH PRIVILEGES")
    assert t.client(db="app").value("SELECT 5") == "5"


@case(needs="sluice")
def a_second_login_is_fast(t):
    t.client()
    second = t.client()
    assert second.auth_steps and second.auth_steps[-1] == "fast", second.auth_steps


@case(needs="sluice", on="mariadb")
def an_ed25519_account_logs_in_from_php(t):
    got = t.php("login_pdo.php", DB_USER="ed", DB_PASSWORD="edpass")
    assert got["u"].startswith("ed@"), got


@case(each=["cold", "warm"])
def a_wrong_password_gets_the_servers_1045(t, cache):
    f = t.front()
    if cache == "warm":
        t.client()
    e = t.fails(1045, t.client, password="wrong")
    assert e.sqlstate == "28000" and "Access denied for user 'app'@" in e.text and "using password: YES" in e.text, e
    # and that guess has not locked the right one out
    assert t.client(front=f).value("SELECT 1") == "1"


@case()
def an_unknown_user_gets_the_servers_1045(t):
    e = t.fails(1045, t.client, user="nobody", password="x")
    assert "Access denied for user 'nobody'@" in e.text, e


@case()
def an_unknown_schema_gets_1049_at_connect(t):
    e = t.fails((1049, 1044), t.client, db="no_such_schema")
    assert "no_such_schema" in e.text, e


@case(needs="sluice")
def an_account_that_accepts_anything_is_refused_and_users_is_named(t):
    s = t.sluice(backend=t.db.url(tcp=False))
    for password in ("", "whatever"):
        try:
            wire.Client(s.address, getpass.getuser(), password)
        except wire.ServerError as e:
            assert e.text.startswith("sluice: ") and "users" in e.text, e
        else:
            raise AssertionError(f"we came in with {password!r}")


@case()
def an_account_with_an_empty_password_takes_that_only(t):
    # Rule 8: a login proves a password if the account refuses a random one, and this one does.
    t.fails(1045, t.client, user="nopass", password="x")
    assert t.client(user="nopass", password="").value("SELECT 1") == "1"
    t.fails(1045, t.client, user="nopass", password="y")


@case(needs="sluice")
def a_client_that_compresses_gets_1043_and_not_a_hang(t):
    e = t.fails(1043, t.client, caps=wire.PHP_CAPS | wire.COMPRESS, timeout=5)
    assert e.sqlstate == "08S01" and e.text.startswith("sluice: "), e


@case(needs="sluice")
def no_flag_that_is_not_served_is_advertised(t):
    caps = t.client().greeting.caps
    assert not caps & (wire.COMPRESS | wire.QUERY_ATTRIBUTES), hex(caps)
    assert caps & wire.SSL, "TLS towards clients is on by default"


@case(needs="sluice")
def a_client_may_set_flags_that_were_not_advertised(t):
    # libmysqlclient 9 sends DEPRECATE_EOF, QUERY_ATTRIBUTES and MFA unasked.
    c = t.client(caps=wire.PHP_CAPS | wire.DEPRECATE_EOF | wire.QUERY_ATTRIBUTES | 0x10000000)
    body = (b"\0\1" if c.effective & wire.QUERY_ATTRIBUTES else b"") + b"SELECT 9"
    c.send_command(wire.QUERY, body)
    assert c.read_results()[0].value == b"9"


@case(needs="sluice")
def users_of_the_configuration_need_no_learning(t):
    s = t.sluice(conf={"mysql": {"users": [{"name": "app", "password": "apppass"}]}})
    assert wire.Client(s.address, db="app").value("SELECT 1") == "1"
    t.fails(1045, wire.Client, s.address, password="wrong")
    t.fails(1045, wire.Client, s.address, user="app2", password="app2pass")


@case(needs="sluice")
def a_password_file_serves_a_user(t):
    secret = t.dir / "secret"
    secret.write_text("apppass\n")
    os.chmod(secret, 0o600)
    s = t.sluice(conf={"mysql": {"users": [{"name": "app", "password_file": str(secret)}]}})
    assert wire.Client(s.address, db="app").value("SELECT 1") == "1"


@case(needs="sluice")
def the_credentials_of_the_url_do_not_let_clients_in(t):
    s = t.sluice(backend=t.db.url(user="app", password="apppass"))
    t.fails(1045, wire.Client, s.address, password="guess")
    assert wire.Client(s.address).value("SELECT 1") == "1"


@case(needs="sluice")
def trusted_local_clients_come_in_as_the_urls_user(t):
    s = t.sluice(backend=t.db.url(user="app", password="apppass", query="clients=trust"))
    c = wire.Client(s.address, user="anyone", password="")
    assert c.value("SELECT CURRENT_USER()").startswith("app@")


@case(needs="sluice", on="none")
def trust_is_refused_for_a_listener_that_others_reach(t):
    done = run_once("--check", "--mysql-listen", "0.0.0.0:6033", "--mysql-backend",
                    "mysql://app:x@127.0.0.1:3306?clients=trust")
    assert done.returncode == 2 and "trust" in done.stderr + done.stdout, done


@case()
def the_login_may_come_byte_by_byte(t):
    c = t.client(cut=1, db="app", attrs={"_client_name": "cut"})
    assert c.value("SELECT 'whole'") == "whole"


@case()
def a_changed_password_counts_at_once_for_new_secrets(t):
    a = t.db.admin
    a.query("CREATE USER turn@'%' IDENTIFIED BY 'one'")
    t.defer(t.db.admin.query, "DROP USER turn@'%'")
    assert t.client(user="turn", password="one").value("SELECT 1") == "1"
    a.query("ALTER USER turn@'%' IDENTIFIED BY 'two'")
    assert t.client(user="turn", password="two").value("SELECT 1") == "1"
    t.fails(1045, t.client, user="turn", password="three")


@case(needs="sluice")
def passwords_never_reach_the_log(t):
    f = t.front()
    t.client(db="app").query("SELECT 1")
    t.fails(1045, t.client, password="hunter22")
    log = f.sluice.log()
    assert "apppass" not in log and "hunter22" not in log


@case(needs="sluice")
def a_user_known_by_hash_alone_needs_the_password(t):
    import hashlib
    stored = "*" + hashlib.sha1(hashlib.sha1(b"apppass").digest()).hexdigest().upper()
    if t.db.flavour != "mariadb":
        raise Skip("MySQL 9 has no mysql_native_password")
    f = t.front(users=[{"name": "app", "hash": stored}])
    t.client(front=f).query("SELECT 1")
    for wrong in ("", "nope"):
        t.fails(1045, t.client, front=f, password=wrong)


@case(needs="sluice", on="mariadb")
def a_role_set_out_of_sight_never_reaches_another_client(t):
    t.db.admin.query("CREATE OR REPLACE ROLE hidden_role")
    t.db.admin.query("GRANT hidden_role TO app@'%'")
    t.defer(t.db.admin.query, "DROP ROLE IF EXISTS hidden_role")
    t.front(pool_max=1, min_idle=0)
    a = t.client(db="app")
    a.query("EXECUTE IMMEDIATE 'SET ROLE hidden_role'")
    a.quit()
    assert t.client(db="app").value("SELECT CURRENT_ROLE()") is None
