# SPDX-License-Identifier: Apache-2.0
"""The harness itself: a peer, relay or parser that is wrong would make other cases pass for nothing."""
import socket
import threading

from harness import prom, wire
from harness.cases import case
from harness.servers import statements
from harness.sluice import SANITIZER, render


@case(on="none", each=["classic", "deprecate-eof"])
def the_scripted_peer_answers_a_client(t, form):
    gate = threading.Event()
    peer = t.peer(on_query=lambda link, sql: "slow" in sql and (link.stall_until(gate) or link.ok(affected=3)))
    caps = wire.PHP_CAPS | (wire.DEPRECATE_EOF if form != "classic" else 0)
    c = wire.Client(peer.address, caps=caps, db="app")
    t.defer(c.close)
    assert c.query("SELECT @@wait_timeout, @@session.hostname AS h, 1").rows == [[b"28800", b"script", b"1"]]
    c.query("SET NAMES utf8mb4")
    slow = t.background(c.query, "slow")
    assert not slow.done()
    gate.set()
    assert slow.result().affected == 3
    assert "SET NAMES utf8mb4" in peer.queries() and not peer.failures


@case()
def the_relay_counts_turns_cuts_and_refuses(t):
    relay = t.relay()
    c = wire.Client(relay.address, db="app")
    t.defer(c.close)
    before = relay.turns()
    for _ in range(5):
        c.query("SELECT 1")
    assert relay.turns() - before == 5
    relay.stall()
    waiting = t.background(c.query, "SELECT 2")
    assert not waiting.done()
    relay.flow()
    assert waiting.result().value == b"2"
    relay.refuse()
    try:
        socket.create_connection(relay.address, 2)
        raise AssertionError("a refusing relay was connected to")
    except ConnectionRefusedError:
        pass
    relay.accept_again()
    assert wire.Client(relay.address).value("SELECT 3") == "3"
    relay.cut(reset=True)
    try:
        c.query("SELECT 4")
        raise AssertionError("a cut link answered")
    except (OSError, wire.Gone):
        pass


@case(on="none")
def the_blackhole_neither_accepts_nor_refuses(t):
    hole = t.blackhole()
    try:
        socket.create_connection(("127.0.0.1", hole.port), 0.3)
        raise AssertionError("the blackhole accepted")
    except TimeoutError:
        pass


BAD_METRICS = ["x 1\n", "# HELP a b\n# TYPE a gauge\na 1", "# HELP a b\n# TYPE a counter\na 1\n",
               "# HELP a b\n# TYPE a gauge\na{l=\"x} 1\n", "# HELP a b\n# TYPE a gauge\na 1\na 2\n",
               "# HELP a b\n# TYPE a gauge\na{l=\"1\",l=\"2\"} 1\n", "# HELP a b\n# TYPE a sort\na 1\n",
               "# HELP a b\n# TYPE a gauge\na 1\n# HELP c d\n# TYPE c gauge\nc 1\na{x=\"1\"} 1\n",
               "# HELP h b\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n"]


@case(on="none", each=range(len(BAD_METRICS)))
def malformed_metrics_are_found(t, i):
    try:
        prom.parse(BAD_METRICS[i])
    except (AssertionError, ValueError):
        return
    raise AssertionError(f"taken as good: {BAD_METRICS[i]!r}")


@case(on="none")
def good_metrics_are_read(t):
    got = prom.parse('# HELP a_total b\n# TYPE a_total counter\na_total{l="x\\"y\\\\"} 2\na_total{l="z"} 3\n'
                     '# HELP h b\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 4\nh_count 2\n')
    assert prom.total(got, "a_total") == 5 and prom.total(got, "a_total", l='x"y\\') == 2
    assert prom.total(got, "h_count") == 2


@case(on="none")
def sanitizers_reports_are_recognised(t):
    for text in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "a.c:1:2: runtime error: signed overflow",
                 "==9==ERROR: LeakSanitizer: detected memory leaks"):
        assert SANITIZER.search(text), text
    assert not SANITIZER.search("level=info event=ready mysql=127.0.0.1:6033")


@case(on="none")
def configurations_are_written_in_libconfigs_syntax(t):
    text = render({"mysql": {"pool_max": 4, "users": [{"name": "a", "password": "q\"\\"}], "retry_reads": False}})
    assert 'pool_max = 4;' in text and 'retry_reads = false;' in text and '"q\\"\\\\"' in text, text
    assert "( {" in text and text.count("{") == text.count("}") == 2, text


@case(on="none")
def bodies_of_procedures_are_not_split(t):
    assert len(statements("SELECT 1; CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; SELECT 3;")) == 3
