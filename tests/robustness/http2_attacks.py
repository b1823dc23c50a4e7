"""Hostile frames on HTTP/2 connections: floods, resets, header bombs, and streams that are never read.

Each attack returns the error code of the server's GOAWAY frame or, without an error, the status of the responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, repeat

from polykind.http2.frames import (
    CONTINUATION,
    DATA,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PING,
    PRIORITY,
    PROTOCOL_ERROR,
    SETTINGS,
    encode_frame,
    encode_reset,
    encode_settings,
)
from tests.robustness.attacker import BOMBS
from tests.robustness.http2_client import Http2Client, head, request, window
from tests.robustness.wire_attacks import WireAttack
from tests.support.server import ServerProcess

_READY = b"\x82\x87\x04\x07/readyz"
_INDEXED = b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000
"""A header of 4,000 bytes that is added to the dynamic table, as entry 62."""
_BODY = b'{"apiVersion":"attacks.example.com/v1","kind":"Bomb","metadata":{"generateName":"b"}}'


def _flood(pieces: Iterable[bytes]) -> WireAttack:
    """Start a request whose body is missing, and send frames after it."""

    def attack(server: ServerProcess) -> int:
        with closing(Http2Client(server)) as client:
            return client.converse(chain([request(1, head(server, b"POST", BOMBS.encode()), ends=False)], pieces))

    return attack


def _requests(count: int) -> WireAttack:
    def attack(server: ServerProcess) -> int:
        frames = b"".join(request(2 * number + 1, _READY) for number in range(count))
        with closing(Http2Client(server)) as client:
            return client.converse([window(0, 1 << 30), frames], until=count)

    return attack


def _rapid_reset(method: bytes, body: bytes = b"") -> WireAttack:
    def attack(server: ServerProcess) -> int:
        block = head(server, method, BOMBS.encode())

        def pieces() -> Iterator[bytes]:
            for stream_id in range(1, 20_001, 2):
                data = encode_frame(DATA, END_STREAM, stream_id, body) if body else b""
                yield request(stream_id, block, ends=not body) + data + encode_reset(stream_id, 8)

        with closing(Http2Client(server)) as client:
            return client.converse(pieces())

    return attack


def _header_bomb(server: ServerProcess) -> int:
    with closing(Http2Client(server)) as client:
        first = request(1, _READY + _INDEXED)
        bombs = [request(stream_id, _READY + b"\xbe" * 16_000) for stream_id in range(3, 203, 2)]
        return client.converse([window(0, 1 << 30), first, *bombs], until=101)


def _header_bombs(server: ServerProcess) -> int:
    """Stay just below the limit of a head, with every request."""
    with closing(Http2Client(server)) as client:
        bombs = b"".join(request(stream_id, _READY + b"\xbe" * 60) for stream_id in range(3, 20_001, 2))
        return client.converse([window(0, 1 << 30), request(1, _READY + _INDEXED), bombs], until=10_000)


def _continuation(payload: bytes) -> WireAttack:
    def attack(server: ServerProcess) -> int:
        with closing(Http2Client(server)) as client:
            start = encode_frame(HEADERS, END_STREAM, 1, _READY)
            return client.converse(chain([start], repeat(encode_frame(CONTINUATION, 0, 1, payload) * 100, 1_000)))

    return attack


def _huffman(server: ServerProcess) -> int:
    """Send Huffman strings that decode to as much as possible: codes of five bits."""
    text = b"\x00" * 15_000  # 24,000 times "0"
    block = _READY + b"\0\x01a\xff" + bytes([(15_000 - 127) % 128 | 0x80, (15_000 - 127) >> 7]) + text
    with closing(Http2Client(server)) as client:
        frames = b"".join(request(stream_id, block) for stream_id in range(1, 801, 2))
        return client.converse([window(0, 1 << 30), frames], until=400)


def _bodies(server: ServerProcess) -> int:
    """Fill the windows of a hundred streams with bodies that never end."""
    block = head(server, b"POST", BOMBS.encode())
    with closing(Http2Client(server)) as client:
        for stream_id in range(1, 200, 2):
            client.send(request(stream_id, block, ends=False) + encode_frame(DATA, 0, stream_id, b" " * 16_384) * 15, 0)
        for stream_id in (1, 3, 5, 7):
            client.send(encode_frame(DATA, 0, stream_id, b" " * 16_384) * 160, 0)
        return client.converse([request(201, _READY), encode_reset(1, 8), request(203, _READY)], until=1)


def _settings(server: ServerProcess) -> int:
    """Change the windows of a hundred open streams again and again."""
    block = head(server, b"POST", BOMBS.encode())
    start = b"".join(request(stream_id, block, ends=False) for stream_id in range(1, 200, 2))
    changes = encode_settings({INITIAL_WINDOW_SIZE: 1}) + encode_settings({INITIAL_WINDOW_SIZE: 2})
    with closing(Http2Client(server)) as client:
        return client.converse([start, *repeat(changes * 100, 200)])


def _trickle(server: ServerProcess) -> int:
    """Read a long response in frames of one byte."""
    with closing(Http2Client(server, {INITIAL_WINDOW_SIZE: 0})) as client:
        start = request(1, head(server, b"GET", b"/openapi/v2"))
        return client.converse([start, *repeat(window(1, 1) * 1_000, 30)])


HTTP2_ATTACKS: dict[str, tuple[WireAttack, int]] = {
    "HTTP/2 requests": (_requests(20_000), 200),
    "HTTP/2 PING flood": (_flood(repeat(encode_frame(PING, 0, 0, b"12345678") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 SETTINGS flood": (_flood(repeat(encode_frame(SETTINGS, 0, 0, b"") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 PRIORITY flood": (_flood(repeat(encode_frame(PRIORITY, 0, 1, b"12345") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 empty DATA": (_flood(repeat(encode_frame(DATA, 0, 1, b"") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 DATA of one byte": (_flood(repeat(encode_frame(DATA, 0, 1, b" ") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 unknown frames": (_flood(repeat(encode_frame(99, 0, 1, b"") * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 windows": (_flood(repeat(window(0, 1) * 1_000, 100)), ENHANCE_YOUR_CALM),
    "HTTP/2 windows of all streams": (_settings, ENHANCE_YOUR_CALM),
    "HTTP/2 rapid reset of lists": (_rapid_reset(b"GET"), ENHANCE_YOUR_CALM),
    "HTTP/2 rapid reset of creates": (_rapid_reset(b"POST", _BODY), ENHANCE_YOUR_CALM),
    "HTTP/2 header bomb": (_header_bomb, 431),
    "HTTP/2 header bombs below the limit": (_header_bombs, 200),
    "HTTP/2 Huffman strings": (_huffman, 200),
    "HTTP/2 empty CONTINUATION": (_continuation(b""), ENHANCE_YOUR_CALM),
    "HTTP/2 endless head": (_continuation(b"\0\x01a\x7f\x00" + b"x" * 127), PROTOCOL_ERROR),
    "HTTP/2 bodies without end": (_bodies, 200),
    "HTTP/2 response byte by byte": (_trickle, ENHANCE_YOUR_CALM),
}
CI_HTTP2_ATTACKS = (
    "HTTP/2 requests",
    "HTTP/2 rapid reset of creates",
    "HTTP/2 header bombs below the limit",
    "HTTP/2 endless head",
    "HTTP/2 bodies without end",
)
"""The attacks that every run of the tests makes."""
