"""One connection without a socket, fed with arbitrary bytes in arbitrary pieces."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from polykind.http.http1_connection import Http1Connection
from polykind.http.messages import Request
from polykind.operations.responses import Response
from tests.http.fake_transport import exchange, is_freed_by_reference_counting


async def echo(request: Request) -> Response:
    if "late" in request.path:
        await asyncio.sleep(0)
    description = {"method": request.method, "path": request.path, "body": request.body.decode("latin-1")}
    return Response(200, json.dumps(description).encode())


def test_memory_of_a_lost_connection_is_freed_without_the_garbage_collector() -> None:
    request = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    assert is_freed_by_reference_counting(Http1Connection, echo, request)


def split(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({p % (len(data) + 1) for p in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(edges)]


bodies = st.binary(max_size=30)
paths = st.sampled_from(["/a", "/late", "/late/x", "/b?c=d"])


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, dict[str, str]]:
    path, body = draw(paths), draw(bodies)
    description = {"method": "POST", "path": path.partition("?")[0], "body": body.decode("latin-1")}
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n".encode()
    if draw(st.booleans()):
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, description
    chunks = [c for c in split(body, draw(st.lists(st.integers(0, 30), max_size=3))) if c]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n", description


places = st.lists(st.integers(0, 10_000), max_size=12)


@given(st.lists(requests(), min_size=1, max_size=6), places)
@settings(deadline=None)
def test_responses_do_not_depend_on_how_bytes_are_split(
    sent: list[tuple[bytes, dict[str, str]]], where: list[int]
) -> None:
    transport = asyncio.run(exchange(Http1Connection, echo, split(b"".join(data for data, _ in sent), where)))
    found = re.findall(rb"HTTP/1.1 200 OK\r\n.*?\r\n\r\n(\{.*?\})(?=HTTP/1|$)", transport.written, re.DOTALL)
    assert [json.loads(body) for body in found] == [expected for _, expected in sent]
    assert not transport.closed


lines = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /late HTTP/1.1\r\n",
        b"Host: x\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 99999\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Connection: close\r\n",
        b"Connection: upgrade\r\nUpgrade: h2c\r\n",
        b"X: " + b"y" * 1500 + b"\r\n",
        b"\r\n",
        b"hello",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
)


@given(st.lists(lines | st.binary(max_size=10), max_size=25), places)
@example([b"hello", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], [])
@settings(deadline=None, max_examples=300)
def test_arbitrary_bytes_get_valid_http_responses(parts: list[bytes], where: list[int]) -> None:
    transport = asyncio.run(exchange(Http1Connection, echo, split(b"".join(parts), where)))
    statuses = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3}) ", transport.written)]
    assert set(statuses) <= {100, 200, 400, 413, 431}
    rejected = [s for s in statuses if s >= 400]
    assert len(rejected) <= 1
    if rejected:
        assert statuses[-1] >= 400
        assert transport.closed
