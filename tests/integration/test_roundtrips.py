# SPDX-License-Identifier: Apache-2.0
"""Round trips to the server per request, counted by a relay between Sluice and it: a new connection each, the pool warm
and the application seen once."""
from harness.cases import case

# Where BEGIN's OK is awaited before a write, one more than statement and COMMIT.
REQUESTS = {"emulated": 1, "native": 1, "insert": 1, "laravel10": 1, "laravel11": 1, "wordpress": 2, "doctrine": 3,
            "read_then_write": 3, "nothing": 0, "persistent": 0}


def far_relay(t):
    """A server some way off: what is sent without waiting for the answer is there before it, however the writes fall."""
    relay = t.relay()
    relay.delay_s = 0.01
    return relay


def rest(t):
    """Waits until both of the pool's connections are there and idle: none being opened, refreshed or read back from."""
    t.until("the pool to rest", lambda: t.front().sluice.status()["mysql"]["pools"][0]["idle"] == 2)


def counted(t, relay, request):
    before = relay.turns()
    t.php("application.php", REQUEST=request)
    # What is read back behind a reply comes after the client has gone: it would be counted next time.
    rest(t)
    return relay.turns() - before


@case(needs="sluice", each=sorted(REQUESTS))
def a_request_costs_no_more_round_trips_than(t, request):
    relay = far_relay(t)
    s = t.sluice(backend=relay.url(query="pool_max=2&tls=off"))
    t.use(s)
    counted(t, relay, request)
    counted(t, relay, request)
    seen = [counted(t, relay, request) for _ in range(5)]
    assert max(seen) <= REQUESTS[request], (seen, relay.trips[-12:])


@case(needs="sluice")
def after_a_reset_or_change_of_user_nothing_is_asked(t):
    relay = far_relay(t)
    t.use(t.sluice(backend=relay.url(query="pool_max=2&tls=off")))
    c = t.client(db="app")
    for _ in range(2):
        c.query("SET time_zone = '+01:00'")
        assert c.value("SELECT @@time_zone") == "+01:00"
        c.reset()
        c.value("SELECT n FROM counters WHERE id = 1")
    rest(t)
    before = relay.turns()
    c.reset()
    c.change_user("app", "apppass", "app")
    assert relay.turns() == before, relay.trips[-6:]
    c.value("SELECT n FROM counters WHERE id = 1")
    # MySQL goes back to its own character set, which has to be restored on a connection of the pool.
    assert relay.turns() <= before + 2, relay.trips[-6:]
