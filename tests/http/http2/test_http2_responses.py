"""Requests and responses over HTTP/2: bodies, flow control, streams, deadlines and shutdown."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from polykind.http.http2.http2_connection import Http2Connection
from polykind.http.listener import Http2Options, Limits
from polykind.http.messages import Request
from polykind.http2 import frames
from polykind.http2.frames import (
    CANCEL,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    NO_ERROR,
    RST_STREAM,
    WINDOW_UPDATE,
    encode_frame,
    encode_settings,
)
from polykind.operations.responses import JoinedParts, Response
from tests.http.apps import BlockedApp, StreamingApp, echo
from tests.http.helpers import until
from tests.http.http2.peer import RunningHttp2, head, served_http2

BIG = {INITIAL_WINDOW_SIZE: 2**31 - 1}


async def test_get() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        for stream_id in (1, 3, 5):
            peer.request(stream_id, head("GET", "/a/b?c=d", ("accept", "x"), ("impersonate-group", "g")))
            response = await peer.response(stream_id)
            assert response.status == 200
            assert response.headers["content-type"] == "application/json"
            assert response.headers["cache-control"] == "no-cache, private"
            assert int(response.headers["content-length"]) == len(response.body)
            assert response.headers["audit-id"]
            assert response.headers["date"].endswith("GMT")
            request = json.loads(response.body)
            assert (request["path"], request["query"], request["protocol"]) == ("/a/b", "c=d", "HTTP/2.0")
            assert request["headers"] == {
                "accept": "x",
                "host": "localhost",
                "impersonate": "",
                "impersonate-group": "g",
            }


async def test_equal_blocks_after_a_change_of_the_table() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        stream_id = 1
        for path in ("/a", "/a", "/b", "/b", "/a", "/c", "/b"):
            peer.request(stream_id, head(path=path))
            assert json.loads((await peer.response(stream_id)).body)["path"] == path
            stream_id += 2


async def test_client_audit_id_and_headers() -> None:
    async def app(request: Request) -> Response:
        return Response(429, b"{}", headers=((b"Retry-After", b"1"), (b"Cache-Control", b"public")))

    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head("GET", "/", ("audit-id", "z" * 200)))
        response = await peer.response(1)
        assert response.status == 429
        assert response.headers["audit-id"] == "z" * 200
        assert response.headers["retry-after"] == "1"
        assert response.headers["cache-control"] == "public"


async def test_long_response_head() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.request(1, [*head(), ("audit-id", "z" * 15_000)])
        assert (await peer.response(1)).headers["audit-id"] == "z" * 15_000
        block = peer.encoder.encode([*head(), ("audit-id", "z" * 40_000)], huffman=False)
        peer.send(encode_frame(HEADERS, END_STREAM, 3, block[:16384]))
        peer.send(encode_frame(frames.CONTINUATION, 0, 3, block[16384:32768]))
        peer.send(encode_frame(frames.CONTINUATION, END_HEADERS, 3, block[32768:]))
        parts = [await peer.frame(HEADERS, stream_id=3)]
        while not parts[-1].flags & END_HEADERS:
            parts.append(await peer.frame(frames.CONTINUATION, stream_id=3))
        joined = parts[0]._replace(payload=b"".join(part.payload for part in parts))
        assert peer.decode(joined)["audit-id"] == "z" * 40_000
        assert b"z" * 10_000 in (await peer.frame(DATA, stream_id=3)).payload


@pytest.mark.parametrize("size", [0, 1, 16_384, 16_385, 300_000, 3_000_000])
@pytest.mark.parametrize("with_length", [True, False])
async def test_bodies(size: int, with_length: bool) -> None:
    received: list[bytes] = []

    async def app(request: Request) -> Response:
        received.append(request.body)
        return Response(201, b"")

    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head("POST", "/", *([("content-length", str(size))] if with_length else [])), flags=END_HEADERS)
        body, window = b"x" * size, 256 * 1024
        # Send as much as the window of the stream allows, as a client does.
        while True:
            part, body = body[: min(16_384, window)], body[min(16_384, window) :]
            peer.send(encode_frame(DATA, 0 if body else END_STREAM, 1, part))
            window -= len(part)
            if not body:
                break
            if not window:
                update = await peer.frame(WINDOW_UPDATE, stream_id=1)
                window += int.from_bytes(update.payload, "big")
        response = await peer.response(1)
        assert (response.status, response.body, response.headers["content-length"]) == (201, b"", "0")
        assert received == [b"x" * size]


async def test_body_in_tiny_frames() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.request(1, head("POST"), flags=END_HEADERS)
        peer.send(encode_frame(DATA, 0, 1, b"x") * 5000, encode_frame(DATA, END_STREAM, 1, b""))
        assert len(json.loads((await peer.response(1)).body)["body"]) == 5000


@pytest.mark.parametrize("length", ["20000", ""])
async def test_long_body_is_rejected(length: str) -> None:
    async with served_http2(echo, Limits(max_body_bytes=10_000)) as server:
        peer = await server.peer()
        peer.post(1, b"x" * 20_000, *([("content-length", length)] if length else []))
        response = await peer.response(1)
        assert response.status == 413
        assert json.loads(response.body)["message"] == "Request entity too large: limit is 10000"
        assert await peer.reset(1) == NO_ERROR
        peer.request(3, head())
        assert (await peer.response(3)).status == 200


async def test_expectations() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.request(1, head("POST", "/", ("expect", "100-continue")), flags=END_HEADERS)
        assert (await peer.head(1))[0] == 100
        peer.send(encode_frame(DATA, END_STREAM, 1, b"abc"))
        assert json.loads((await peer.response(1)).body)["body"] == "abc"
        peer.request(3, head("POST", "/", ("expect", "nothing")), flags=END_HEADERS)
        assert (await peer.response(3)).status == 417


async def test_responses_without_body() -> None:
    async def app(request: Request) -> Response:
        return Response(304, b"", b"") if request.path == "/304" else Response(200, b"abc")

    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head("HEAD"))
        status, headers, ended = await peer.head(1)
        assert (status, headers["content-length"], ended) == (200, "3", True)
        peer.request(3, head("GET", "/304"))
        status, headers, ended = await peer.head(3)
        assert (status, "content-length" in headers, ended) == (304, False, True)


# ---------------------------------------------------------------------- flow control of responses


@pytest.mark.parametrize(
    "body",
    [b"x" * 100_000, b"x" * 1_000_000, JoinedParts(b"[", [b"x" * 9_999] * 100, b",", b"]")],
    ids=["short", "long", "parts"],
)
async def test_window_of_a_stream(body: bytes | JoinedParts) -> None:
    async def app(request: Request) -> Response:
        return Response(200, body if request.path == "/long" else b"abc")

    async with served_http2(app) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 10})
        peer.add_window(0, 10_000_000)
        peer.request(1, head(path="/long"))
        _, headers, _ = await peer.head(1)
        first = await peer.frame(DATA, stream_id=1)
        assert len(first.payload) == 10
        # Another stream is not delayed.
        peer.request(3, head(path="/short"))
        assert (await peer.response(3)).body == b"abc"
        peer.send(encode_settings({INITIAL_WINDOW_SIZE: 20}))
        second = await peer.frame(DATA, stream_id=1)
        assert len(second.payload) == 10
        peer.add_window(1, 2_000_000)
        received = first.payload + second.payload
        while True:
            frame = await peer.frame(DATA, stream_id=1)
            assert len(frame.payload) <= 16_384
            received += frame.payload
            if frame.flags & END_STREAM:
                break
        assert received == (body if isinstance(body, bytes) else b"".join(body))
        assert len(received) == int(headers["content-length"])


async def test_window_of_the_connection_is_shared_fairly() -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 200_000)

    async with served_http2(app) as server:
        peer = await server.peer(BIG)
        for stream_id in (1, 3, 5):
            peer.request(stream_id, head())
        await peer.ping()
        received = {1: 0, 3: 0, 5: 0}
        for _ in range(4):
            frame = await peer.frame(DATA)
            received[frame.stream_id] += len(frame.payload)
        assert received == {1: 65_535, 3: 0, 5: 0}
        peer.add_window(0, 65_536 * 3)
        while sum(received.values()) < 65_535 + 65_536 * 3:
            frame = await peer.frame(DATA)
            received[frame.stream_id] += len(frame.payload)
        assert all(size >= 65_535 for size in received.values())
        peer.add_window(0, 1_000_000)
        while sum(received.values()) < 600_000:
            frame = await peer.frame(DATA)
            received[frame.stream_id] += len(frame.payload)
        assert received == {1: 200_000, 3: 200_000, 5: 200_000}


@pytest.mark.parametrize("size", [0, 1000, 600_000])
async def test_window_of_exactly_the_body(size: int) -> None:
    async def app(request: Request) -> Response:
        return Response(200, [b"x" * (size // 10)] * 10)

    async with served_http2(app) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: size})
        peer.add_window(0, size + 1)
        peer.request(1, head())
        assert len((await peer.response(1)).body) == size


async def test_long_response_with_many_window_updates() -> None:
    async def app(request: Request) -> Response:
        return Response(200, [b"x" * 1_000_000] * 60)

    async with served_http2(app) as server:
        peer = await server.peer(limit=2**20)
        peer.request(1, head())
        received = 0
        while received < 60_000_000:
            size = len((await peer.frame(DATA)).payload)
            received += size
            # A Go client sends a WINDOW_UPDATE for every 4 KiB.
            for start in range(0, size, 4096):
                for stream_id in (0, 1):
                    peer.add_window(stream_id, min(4096, size - start))
        assert received == 60_000_000


async def test_window_below_zero() -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 2_000)

    async with served_http2(app) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 1000})
        peer.request(1, head())
        assert len((await peer.frame(DATA)).payload) == 1000
        peer.send(encode_settings({INITIAL_WINDOW_SIZE: 500}))
        peer.add_window(1, 500)
        await peer.ping()
        peer.add_window(1, 10)
        assert len((await peer.frame(DATA)).payload) == 10


def unsent(server: RunningHttp2) -> list[bytes | memoryview]:
    """Return the pieces that the streams of the only connection hold."""
    (connection,) = server.http.connections
    assert isinstance(connection, Http2Connection)
    return [piece for stream in connection.streams.values() for piece in stream.unsent]


async def test_streams_that_wait_for_the_connection_hold_no_data() -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 600_000)

    async with served_http2(app) as server:
        peer = await server.peer(BIG)
        for stream_id in range(1, 21, 2):
            peer.request(stream_id, head())
        for _ in range(4):
            await peer.frame(DATA, stream_id=1)
        await peer.ping()
        assert len(unsent(server)) == 1
        peer.add_window(0, 10_000_000)
        for stream_id in range(3, 21, 2):
            assert len((await peer.response(stream_id)).body) == 600_000


async def test_short_rest_of_a_long_event_does_not_keep_the_event() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 999})
        peer.request(1, head(path="/watch"))
        await peer.head(1)
        app.sinks[0].send(b"x" * 1_000)
        await peer.frame(DATA, stream_id=1)
        assert unsent(server) == [b"x"]
        assert isinstance(unsent(server)[0], bytes)


async def test_client_that_reads_nothing_is_given_up() -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 100_000)

    async with served_http2(app, Limits(request_seconds=0.05, sweep_seconds=0.01)) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 0})
        peer.request(1, head())
        assert await peer.reset(1) == CANCEL


async def test_long_bodies_wait_for_each_other() -> None:
    """Only four streams at a time may send more than the initial window."""
    async with served_http2(BlockedApp()) as server:
        peer = await server.peer()
        for stream_id in (1, 3, 5, 7, 9):
            peer.request(stream_id, head("POST"), flags=END_HEADERS)
            peer.send(encode_frame(DATA, 0, stream_id, b"x" * 16_384) * 9)
        await peer.ping()
        granted = {(await peer.frame(WINDOW_UPDATE)).stream_id for _ in range(5)}
        assert granted == {0, 1, 3, 5, 7}
        peer.send(encode_frame(RST_STREAM, 0, 3, b"\0\0\0\x08"))
        assert (await peer.frame(WINDOW_UPDATE, stream_id=9)).stream_id == 9


# ---------------------------------------------------------------------- concurrency and deadlines


async def test_requests_run_concurrently_and_respond_out_of_order() -> None:
    waiting: dict[str, asyncio.Event] = {"/1": asyncio.Event(), "/3": asyncio.Event()}

    async def app(request: Request) -> Response:
        await waiting[request.path].wait()
        return Response(200, request.path.encode())

    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head(path="/1"))
        peer.request(3, head(path="/3"))
        await peer.ping()
        waiting["/3"].set()
        assert (await peer.response(3)).body == b"/3"
        waiting["/1"].set()
        assert (await peer.response(1)).body == b"/1"


async def test_request_times_out() -> None:
    app = BlockedApp()
    async with served_http2(app, Limits(request_seconds=0.05, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.request(1, head())
        response = await peer.response(1)
        assert response.status == 504
        assert b"request did not complete within the allotted timeout" in response.body
        assert app.cancelled == 1
        await peer.ping()


async def test_body_must_arrive_in_time() -> None:
    async with served_http2(echo, Limits(receive_seconds=0.3, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.request(1, head("POST"), flags=END_HEADERS)
        assert await peer.reset(1) == CANCEL
        await peer.ping()


@pytest.mark.parametrize("data", [b"", b"\0\0", encode_frame(HEADERS, END_STREAM, 1, b"\x82")])
async def test_idle_connection_is_closed(data: bytes) -> None:
    limits = Limits(idle_seconds=0.3, receive_seconds=0.6, sweep_seconds=0.01, linger_seconds=0.01)
    async with served_http2(echo, limits) as server:
        peer = await server.peer()
        peer.send(data)
        assert await peer.goaway() == NO_ERROR
        assert await peer.ended()
        await until(lambda: not server.http.connections)


async def test_many_requests_at_once() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.add_window(0, 10_000_000)
        peer.request(1, head(path="/x"))
        block = peer.encoder.encode(head(path="/x"))
        ids = range(3, 4003, 2)
        peer.send(*(encode_frame(HEADERS, END_HEADERS | END_STREAM, stream_id, block) for stream_id in ids))
        for _ in ids:
            assert b"/x" in (await peer.frame(DATA)).payload


# ---------------------------------------------------------------------- streams


async def test_stream_keeps_order_and_ends_normally() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head(path="/watch"))
        status, headers, _ = await peer.head(1)
        assert status == 200
        assert not {"content-length", "transfer-encoding"} & set(headers)
        for number in range(100):
            app.sinks[0].send(b"%d," % number)
        received = b""
        while not received.endswith(b"99,"):
            received += (await peer.frame(DATA)).payload
        assert received == b"".join(b"%d," % number for number in range(100))
        app.sinks[0].finish()
        last = await peer.frame(DATA)
        assert (last.payload, last.flags) == (b"", END_STREAM)
        assert app.ended == 1
        peer.request(3, head())
        assert (await peer.response(3)).status == 200


async def test_head_request_of_stream_has_no_body() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head("HEAD", "/watch"))
        assert (await peer.head(1))[2]
        assert (app.sinks, app.ended) == ([], 1)


async def test_reset_ends_a_stream() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head(path="/watch"))
        await peer.head(1)
        peer.send(encode_frame(RST_STREAM, 0, 1, b"\0\0\0\x08"))
        await until(lambda: app.ended == 1)
        app.sinks[0].send(b"into the void")
        app.sinks[0].finish()
        await peer.ping()
        with pytest.raises(ConnectionError):
            await app.sinks[0].drained()


async def test_lost_connection_ends_all_streams() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        for stream_id in (1, 3):
            peer.request(stream_id, head(path="/watch"))
            await peer.head(stream_id)
        peer.writer.transport.abort()
        await until(lambda: app.ended == 2)
        await until(lambda: not server.http.connections)


async def test_aborted_stream_is_reset() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head(path="/watch"))
        await peer.head(1)
        app.sinks[0].abort()
        assert await peer.reset(1) == frames.INTERNAL_ERROR
        assert app.ended == 1
        await peer.ping()


async def test_only_slow_stream_is_reset(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "polykind.http")
    app = StreamingApp()
    async with served_http2(app, Limits(max_unread_bytes=100_000)) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 1000})
        for stream_id in (1, 3):
            peer.request(stream_id, head(path="/watch"))
            await peer.head(stream_id)
        peer.add_window(0, 10_000_000)
        peer.add_window(3, 10_000_000)
        await peer.ping()
        for _ in range(11):
            for sink in app.sinks:
                sink.send(b"x" * 10_000)
        assert await peer.reset(1) == CANCEL
        assert app.ended == 1
        assert "reads too slowly" in caplog.text
        size = 0
        while size < 110_000:
            size += len((await peer.frame(DATA, stream_id=3)).payload)
        await peer.ping()


async def test_unread_streams_of_a_connection_have_a_common_limit() -> None:
    app = StreamingApp()
    async with served_http2(app, Limits(max_unread_bytes=100_000)) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 0})
        for stream_id in range(1, 21, 2):
            peer.request(stream_id, head(path="/watch"))
            await peer.head(stream_id)
        for sink in app.sinks:
            sink.send(b"x" * 90_000)
        await until(lambda: app.ended == 8)
        await peer.ping()


async def test_drained_waits_for_the_window() -> None:
    app = StreamingApp()
    async with served_http2(app) as server:
        peer = await server.peer({INITIAL_WINDOW_SIZE: 0})
        peer.request(1, head(path="/watch"))
        await peer.head(1)
        app.sinks[0].send_part(b"abc")
        drained = asyncio.ensure_future(app.sinks[0].drained())
        await peer.ping()
        assert not drained.done()
        peer.add_window(1, 3)
        assert (await peer.frame(DATA)).payload == b"abc"
        await drained
        await app.sinks[0].drained()


# ---------------------------------------------------------------------- shutdown


async def test_shutdown_finishes_requests_and_streams() -> None:
    blocked, streaming = BlockedApp(), StreamingApp()

    async def app(request: Request) -> Response:
        if request.method == "POST":
            return Response(200, request.body)
        return await (blocked if request.path == "/blocked" else streaming)(request)  # type: ignore[return-value]

    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head(path="/watch"))
        peer.request(3, head(path="/blocked"))
        peer.request(5, head("POST"), flags=END_HEADERS)
        await peer.head(1)
        stopping = asyncio.ensure_future(server.http.stop(grace=5))
        goaway = await peer.frame(GOAWAY)
        assert (goaway.code, goaway.payload[:4]) == (NO_ERROR, b"\0\0\0\5")
        assert (await peer.frame(DATA, stream_id=1)).flags == END_STREAM
        peer.request(7, head())
        blocked.go.set()
        assert (await peer.response(3)).status == 200
        assert not stopping.done()
        peer.send(encode_frame(DATA, END_STREAM, 5, b"late"))
        assert (await peer.response(5)).body == b"late"
        await stopping
        assert await peer.ended()


async def test_goaway_chance() -> None:
    async with served_http2(echo, Limits(linger_seconds=0.01), Http2Options(goaway_chance=1.0)) as server:
        peer = await server.peer()
        peer.request(1, head())
        assert (await peer.response(1)).status == 200
        assert await peer.goaway() == NO_ERROR
        assert await peer.ended()
