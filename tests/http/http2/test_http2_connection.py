"""One HTTP/2 connection without a socket, fed with arbitrary frames and bytes in arbitrary pieces."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from polykind.http.http2.http2_connection import Http2Connection
from polykind.http.messages import Request
from polykind.http2 import frames
from polykind.http2.frames import PREFACE, encode_frame, encode_settings
from polykind.operations.responses import Response, Sink, Stream
from tests.http import fake_transport


async def app(request: Request) -> Response | Stream:
    if request.method == "POST":
        await asyncio.sleep(0)
        return Response(200, b"x" * 20_000)
    if request.path == "/index.html":

        def start(sink: Sink) -> None:
            sink.send(b"event")

        return Stream(start, lambda: None)
    return Response(200, b"{}")


def exchange(pieces: list[bytes]) -> list[tuple[int, int, bytes]]:
    """Return the type, the stream and the payload of each frame that the server writes. Fail if one is incomplete."""
    written = asyncio.run(fake_transport.exchange(Http2Connection, app, pieces)).written
    out, at = [], 0
    while at < len(written):
        head, _, stream_id = frames.unpack_header(written, at)
        end = at + 9 + (head >> 8)
        assert end <= len(written)
        out.append((head & 0xFF, stream_id, written[at + 9 : end]))
        at = end
    return out


def test_memory_of_a_lost_connection_is_freed_without_the_garbage_collector() -> None:
    requests = encode_frame(1, 5, 1, b"\x82\x87\x84") + encode_frame(1, 5, 3, b"\x82\x87\x85")
    received = PREFACE + encode_settings({}) + requests
    assert fake_transport.is_freed_by_reference_counting(Http2Connection, app, received)


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
    exchange([whole[start:end] for start, end in pairwise(places)])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes(data: bytes) -> None:
    exchange([data])
    exchange([PREFACE + encode_settings({}) + data])


@settings(deadline=None)
@given(conversations)
def test_pieces_do_not_matter(data: bytes) -> None:
    """The kinds of frames that the server sends do not depend on how the client's bytes arrive."""
    whole = PREFACE + encode_settings({}) + data

    def sent(pieces: list[bytes]) -> list[tuple[int, int]]:
        kinds = [(kind, stream_id) for kind, stream_id, _ in exchange(pieces)]
        return sorted(kinds)

    assert sent([whole]) == sent([whole[at : at + 1] for at in range(len(whole))])
