"""Broken and hostile HTTP: the server rejects or closes the connection and serves all other clients as before."""

from __future__ import annotations

import contextlib
import json
import socket
import time

import pytest

from tests.robustness.conftest import Ask
from tests.support.raw import connect, exchange, head, statuses
from tests.support.server import ServerProcess

BROKEN = {
    "no http": b"hello there\r\n\r\n",
    "tls in tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "version 9": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "http 2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "nul in a header": b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "blank in a name": b"GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a huge length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "length in words": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
    "bad chunks": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "length and chunks": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_http_is_rejected_or_closed(server: ServerProcess, ask: Ask, name: str) -> None:
    answer = exchange(server, BROKEN[name])
    assert all(400 <= code < 500 or code == 505 for code in statuses(answer)), answer[:500]


def test_unknown_method_is_not_allowed(server: ServerProcess, ask: Ask, tabs: str) -> None:
    for method in (b"BREW", b"TRACE", b"CONNECT", b"PROPFIND", b"get", b"X" * 200):
        answer = exchange(server, head(server, method, tabs.encode()))
        assert all(400 <= code < 500 or code == 501 for code in statuses(answer)), (method, answer[:500])


def test_huge_headers_are_rejected(server: ServerProcess, ask: Ask, tabs: str) -> None:
    answer = exchange(server, head(server, b"GET", tabs.encode(), b"X-Big: " + b"x" * 4 * 1024 * 1024), 20)
    assert all(400 <= code < 500 for code in statuses(answer)), answer[:500]
    many = [b"X-%d: y" % i for i in range(100_000)]
    answer = exchange(server, head(server, b"GET", tabs.encode(), *many), 20)
    assert all(code == 200 or 400 <= code < 500 for code in statuses(answer)), answer[:500]


def test_huge_request_line_is_rejected(server: ServerProcess, ask: Ask) -> None:
    answer = exchange(server, head(server, b"GET", b"/apis?" + b"x" * 2 * 1024 * 1024), 20)
    assert all(400 <= code < 500 for code in statuses(answer)), answer[:500]


def test_endless_body_is_cut(server: ServerProcess, ask: Ask, tabs: str) -> None:
    with connect(server, 20) as connection:
        connection.sendall(head(server, b"POST", tabs.encode(), b"Transfer-Encoding: chunked"))
        answer = b""
        try:
            for _ in range(200):
                connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        except OSError:
            pass
        with contextlib.suppress(OSError):
            answer = connection.recv(65536)
    assert all(400 <= code < 500 for code in statuses(answer)), answer[:500]


def test_pipelined_requests_get_responses_in_order(server: ServerProcess, ask: Ask, tabs: str) -> None:
    wanted = [tabs, f"{tabs}/absent", "/readyz", f"{tabs}/my-crontab"]
    data = b"".join(head(server, b"GET", path.encode(), close=False) for path in wanted[:-1])
    answer = exchange(server, data + head(server, b"GET", wanted[-1].encode()))
    assert statuses(answer) == [200, 404, 200, 200]


def test_garbage_after_a_request_does_not_affect_its_response(server: ServerProcess, ask: Ask) -> None:
    answer = exchange(server, head(server, b"GET", b"/readyz", close=False) + b"\x00\x01garbage\r\n\r\n")
    codes = statuses(answer)
    assert codes[0] in (200, 400)
    assert all(400 <= code < 500 for code in codes[1:])


def test_slow_and_silent_connections_do_not_delay_other_clients(server: ServerProcess, ask: Ask, tabs: str) -> None:
    """Open a hundred connections that stop halfway. The server answers other clients at once."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(server)) for _ in range(60)]
        for i, connection in enumerate(held):
            if i % 3 == 0:
                connection.sendall(b"GET /readyz HTT")
            elif i % 3 == 1:
                connection.sendall(head(server, b"POST", tabs.encode(), b"Content-Length: 100000") + b'{"a":')
        parts = [stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 10)) for _ in range(40)]
        parts[0].sendall(b"\x16\x03\x01")
        begin = time.monotonic()
        assert ask("GET", f"{tabs}/my-crontab").status == 200
        assert time.monotonic() - begin < 5
        drop = held[0]
        drop.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def test_plain_http_on_the_tls_port_is_rejected(server: ServerProcess, ask: Ask) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(OSError):
            assert b"200" not in connection.recv(1000)


def test_watcher_that_never_reads_does_not_delay_writers(server: ServerProcess, ask: Ask, tabs: str) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            deaf = stack.enter_context(connect(server))
            deaf.sendall(head(server, b"GET", f"{tabs}?watch=1&resourceVersion=0".encode(), close=False))
        patch = {"Content_Type": "application/merge-patch+json"}
        for i in range(100):
            note = json.dumps({"metadata": {"annotations": {"n": str(i), "pad": "x" * 50_000}}}).encode()
            assert ask("PATCH", f"{tabs}/my-crontab", note, **patch).status == 200
        ask("PATCH", f"{tabs}/my-crontab", b'{"metadata":{"annotations":null}}', **patch)


@pytest.mark.parametrize("token", ["", "nonsense", "x" * 100_000, "\x7f", "a b c"])
def test_bad_token_is_unauthorized(ask: Ask, tabs: str, token: str) -> None:
    answer = ask("GET", tabs, Authorization=f"Bearer {token}")
    assert answer.status in (400, 401, 403, 431), answer.body
