"""One HTTP/2 connection without a socket, fed with arbitrary frames and bytes in arbitrary pieces."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any, cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from polykind.http.http2 import frames
from polykind.http.http2.frames import PREFACE, encode_frame, encode_settings
from polykind.http.http2.http2_connection import Http2Connection
from polykind.http.listener import HttpServer, Limits
from polykind.http.messages import Request, Response, Sink, Stream


class FakeTransport:
    """A transport that records what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def get_extra_info(self, name: str) -> Any:
        return None

    def frames(self) -> list[tuple[int, int, bytes]]:
        """Return the type, the stream and the payload of each written frame. Fail if a frame is incomplete."""
        out, at = [], 0
        while at < len(self.written):
            head, _, stream_id = frames.unpack_header(self.written, at)
            end = at + 9 + (head >> 8)
            assert end <= len(self.written)
            out.append((head & 0xFF, stream_id, self.written[at + 9 : end]))
            at = end
        return out


async def app(request: Request) -> Response | Stream:
    if request.method == "POST":
        await asyncio.sleep(0)
        return Response(200, b"x" * 20_000)
    if request.path == "/index.html":

        def start(sink: Sink) -> None:
            sink.send(b"event")

        return Stream(start, lambda: None)
    return Response(200, b"{}")


async def exchange(pieces: list[bytes]) -> FakeTransport:
    """Feed the pieces to a connection while it reads."""
    http = HttpServer(app, Limits(max_body_bytes=2000, max_head_bytes=2000))
    http.loop = asyncio.get_running_loop()
    connection, transport = Http2Connection(http), FakeTransport()
    connection.connection_made(cast(asyncio.Transport, transport))
    for piece in pieces:
        for _ in range(200):
            if transport.reading or connection.closing:
                break
            await asyncio.sleep(0)
        if connection.closing:
            break
        assert transport.reading
        connection.data_received(piece)
    for _ in range(20):
        await asyncio.sleep(0)
    connection.connection_lost(None)
    assert not http.connections
    return transport


blocks = st.sampled_from(
    [
        b"\x82\x87\x84",
        b"\x83\x87\x84",
        b"\x82\x87\x85",
        b"\x82\x87\x84\x40\x01a\x01b",
        b"\x82\x87\x84\xbe",
        b"\x82\x87",
        b"\x83\x87\x84\x5c\x015",
        b"",
    ]
)
payloads = st.one_of(blocks, st.binary(max_size=20), st.sampled_from([b"\0\0\0\0", b"\x7f\xff\xff\xff", b"x" * 3000]))
any_frames = st.builds(
    encode_frame, st.integers(0, 10), st.sampled_from([0, 1, 4, 5, 8, 0x2D, 0xFF]), st.integers(0, 9), payloads
)
requests = st.builds(encode_frame, st.just(1), st.sampled_from([4, 5]), st.sampled_from([1, 3, 5, 7, 9]), blocks)
bodies = st.builds(encode_frame, st.just(0), st.sampled_from([0, 1]), st.sampled_from([1, 3, 5, 7, 9]), st.binary())
conversations = st.lists(st.one_of(any_frames, requests, bodies), max_size=12).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(conversations, st.lists(st.integers(0, 400), max_size=6))
@example(encode_frame(1, 5, 1, b"\x82\x87\x85") + encode_frame(3, 0, 1, b"\0\0\0\x08"), [])
def test_arbitrary_frames_in_arbitrary_pieces(data: bytes, cuts: list[int]) -> None:
    whole = PREFACE + encode_settings({}) + data
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    asyncio.run(exchange([whole[start:end] for start, end in pairwise(places)])).frames()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes(data: bytes) -> None:
    asyncio.run(exchange([data])).frames()
    asyncio.run(exchange([PREFACE + encode_settings({}) + data])).frames()


@settings(deadline=None)
@given(conversations)
def test_pieces_do_not_matter(data: bytes) -> None:
    """The kinds of frames that the server sends do not depend on how the client's bytes arrive."""
    whole = PREFACE + encode_settings({}) + data

    def sent(pieces: list[bytes]) -> list[tuple[int, int]]:
        kinds = [(kind, stream_id) for kind, stream_id, _ in asyncio.run(exchange(pieces)).frames()]
        return sorted(kinds)

    assert sent([whole]) == sent([whole[at : at + 1] for at in range(len(whole))])
