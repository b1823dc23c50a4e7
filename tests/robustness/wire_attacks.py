"""Hostile bytes on connections: pipelined requests, chunks, heads, WebSocket frames, and many idle connections.

Each attack returns the status of the first final response, or 0 if the server closes the connection without one.
"""

from __future__ import annotations

import contextlib
import re
import select
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

from tests.robustness.attacker import BOMBS, SIZE
from tests.support.raw import connect, head
from tests.support.server import ServerProcess

WireAttack = Callable[[ServerProcess], int]
_CHUNKED = b"Transfer-Encoding: chunked"
_WATCH = b"/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=2"
_UPGRADE = (
    b"Upgrade: websocket",
    b"Connection: Upgrade",
    b"Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==",
    b"Sec-WebSocket-Version: 13",
    b"Origin: https://localhost",
)
_SECONDS = 60
_final_status = re.compile(rb"HTTP/1\.1 (101|[2-5]\d\d) ").search


def _converse(server: ServerProcess, pieces: Iterable[bytes], *, wait: bool = False) -> bytes:
    """Send and receive at the same time until the server closes. Return the first and last bytes that it sent.

    If `wait` is true, send only the first piece before the server responds.
    """
    source, unsent, first, last = iter(pieces), b"", b"", b""
    deadline = time.monotonic() + _SECONDS
    with connect(server, 30) as client:
        client.setblocking(False)
        sending, started = True, 0
        while time.monotonic() < deadline:
            try:
                chunk = client.recv(1 << 18)
                if not chunk:
                    break
                first, last = (first or chunk[:4096]), (last + chunk)[-4096:]
                continue
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except OSError:
                break
            if sending and (unsent or first or not wait or started == 0):
                started += 1
                unsent = unsent or next(source, b"")
                sending = bool(unsent)
                try:
                    unsent = unsent[client.send(unsent) :] if unsent else b""
                    continue
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
                except OSError:
                    sending = False
            select.select([client], [client] if sending else [], [], 0.5)
    return first + last


def _status(received: bytes) -> int:
    found = _final_status(received)
    return int(found[1]) if found else 0


def _post(pieces: Iterable[bytes], *lines: bytes) -> WireAttack:
    def attack(server: ServerProcess) -> int:
        return _status(_converse(server, chain([head(server, b"POST", BOMBS.encode(), *lines)], pieces)))

    return attack


def _pipeline(method: bytes, path: bytes, count: int) -> WireAttack:
    def attack(server: ServerProcess) -> int:
        request = head(server, method, path, close=False)
        return _status(_converse(server, [request * count + head(server, method, path)]))

    return attack


def _endless_head(server: ServerProcess) -> int:
    start = b"GET /readyz HTTP/1.1\r\nHost: x\r\nX-Long: "
    return _status(_converse(server, chain([start], repeat(b"x" * 65536, 2_000))))


def _endless_trailers(server: ServerProcess) -> int:
    start = head(server, b"POST", BOMBS.encode(), _CHUNKED) + b"0\r\n"
    return _status(_converse(server, chain([start], repeat(b"X-Trailer: y\r\n" * 4_000, 200))))


def _frame(opcode: int, payload: bytes = b"", first: int = 0x80, mask: int = 0x80) -> bytes:
    size = len(payload)
    length = struct.pack(">B", mask | size) if size < 126 else struct.pack(">BQ", mask | 127, size)
    return struct.pack(">B", first | opcode) + length + (b"\0\0\0\0" if mask else b"") + payload


def _websocket(*frames: bytes) -> WireAttack:
    """Send frames on the WebSocket of a watch. The result is the code of the close frame."""

    def attack(server: ServerProcess) -> int:
        received = _converse(server, [head(server, b"GET", _WATCH, *_UPGRADE, close=False), *frames], wait=True)
        assert _status(received) == 101, received[:500]
        return int.from_bytes(received[-2:], "big") if received[-4:-2] == b"\x88\x02" else 0

    return attack


def _idle(server: ServerProcess) -> int:
    """Keep a thousand connections open, half of them inside a request."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(1_000)]
        for client in clients[::2]:
            client.sendall(b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
        return _status(_converse(server, [head(server, b"GET", b"/readyz")]))


def _slow_body(server: ServerProcess) -> int:
    """Send one byte of a body every tenth of a second, until the server's time for a request ends."""

    def pieces() -> Iterator[bytes]:
        yield head(server, b"POST", BOMBS.encode(), b"Content-Length: 1000000")
        while True:
            time.sleep(0.1)
            yield b" "

    return _status(_converse(server, pieces()))


_TINY = b"1\r\n \r\n" * 10_000
_TWO = b"2\r\n  \r\n" * 10_000

WIRE_ATTACKS: dict[str, tuple[WireAttack, int]] = {
    "pipelined requests": (_pipeline(b"GET", b"/readyz", 20_000), 200),
    "pipelined requests of objects": (_pipeline(b"GET", b"/api/v1/namespaces/default", 10_000), 200),
    "pipelined errors": (_pipeline(b"GET", b"/api/v1/namespaces/none", 10_000), 404),
    "endless head": (_endless_head, 431),
    "endless trailers": (_endless_trailers, 400),
    "chunks of one byte": (_post(repeat(_TINY, 330), _CHUNKED), 413),
    "chunks of two bytes": (_post(repeat(_TWO, 165), _CHUNKED), 413),
    "chunk extension": (_post(chain([b"1;"], repeat(b"x" * 65536, 800)), _CHUNKED), 400),
    "chunk extensions": (_post(repeat(b"1;" + b"x" * 4_000 + b"\r\n \r\n", 10_000), _CHUNKED), 400),
    "long chunk size": (_post([b"0" * 1_000_000 + b"1\r\n \r\n"], _CHUNKED), 400),
    "huge chunk": (_post([b"ffffffffffffffffff\r\n"], _CHUNKED), 400),
    "expectation of a huge body": (_post([], b"Expect: 100-continue", b"Content-Length: 9999999999"), 413),
    "unknown expectation": (_post([], b"Expect: nothing", b"Content-Length: 10"), 417),
    "gzip bomb": (_post([b"\x1f\x8b" + b"\0" * 98], b"Content-Encoding: gzip", b"Content-Length: 100"), 400),
    "idle connections": (_idle, 200),
    "WebSocket frames without payload": (_websocket(_frame(1) * 400_000), 1000),
    "WebSocket pings": (_websocket(_frame(9) * 100_000), 1000),
    "WebSocket fragments": (_websocket(_frame(1, b"x", first=0) + _frame(0, b"x", first=0) * 300_000), 1000),
    "WebSocket frame of 16 EiB": (_websocket(b"\x82\xff" + b"\xff" * 8 + b"\0" * 4), 1009),
    "unmasked WebSocket frame": (_websocket(_frame(1, b"x", mask=0)), 1002),
    "unknown WebSocket opcode": (_websocket(_frame(7, b"x")), 1002),
    "reserved bits of a WebSocket frame": (_websocket(_frame(1, b"x", first=0xF0)), 1002),
    "long WebSocket ping": (_websocket(_frame(9, b"x" * 126)), 1002),
    "fragmented WebSocket ping": (_websocket(_frame(9, b"x", first=0)), 1002),
    "WebSocket continuation without a start": (_websocket(_frame(0, b"x")), 1002),
    "WebSocket data": (_websocket(_frame(2, b"x" * SIZE) * 30), 1000),
}
"""Each attack with the status of its response. The result of a WebSocket is the code of the server's close frame."""
SLOW_ATTACKS: dict[str, tuple[WireAttack, int]] = {"slow body": (_slow_body, 0)}
"""Attacks that take as long as the server's time to receive a request."""
CI_WIRE_ATTACKS = (
    "pipelined requests",
    "endless head",
    "chunks of two bytes",
    "chunk extensions",
    "unknown expectation",
    "WebSocket pings",
)
"""The attacks that every run of the tests makes. `make torture` makes all of them."""
