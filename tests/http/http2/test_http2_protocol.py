"""The rules of RFC 9113, sections 3 to 6 and 8: which frames the server accepts, and how it rejects the others."""

from __future__ import annotations

import json

import pytest

from polykind.http.listener import Http2Options, Limits
from polykind.http2 import frames
from polykind.http2.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    NO_ERROR,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    REFUSED_STREAM,
    RST_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    WINDOW_UPDATE,
    WITH_PRIORITY,
    encode_frame,
    encode_settings,
)
from tests.http.apps import BlockedApp, echo
from tests.http.helpers import until
from tests.http.http2.peer import head, served_http2

ZERO = b"\0\0\0\0"
ONE = b"\0\0\0\1"


def reset(stream_id: int) -> bytes:
    return encode_frame(RST_STREAM, 0, stream_id, b"\0\0\0\x08")


# ---------------------------------------------------------------------- section 3: the start


async def test_settings_of_the_server() -> None:
    async with served_http2(echo, options=Http2Options(max_streams=7)) as server:
        peer = await server.peer()
        assert peer.settings == {
            frames.MAX_CONCURRENT_STREAMS: 7,
            frames.INITIAL_WINDOW_SIZE: 256 * 1024,
            frames.MAX_HEADER_LIST_SIZE: 256 * 1024,
        }
        assert (await peer.frame(SETTINGS)).flags == ACK


async def test_preface_in_single_bytes() -> None:
    async with served_http2(echo) as server:
        peer = await server.silent_peer()
        for byte in PREFACE + encode_settings({}):
            peer.send(bytes([byte]))
            await peer.writer.drain()
        await peer.frame(SETTINGS)
        assert (await peer.frame(SETTINGS)).flags == ACK


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", PREFACE[:-1] + b"x", PREFACE + encode_frame(PING, 0, 0, b"12345678")],
    ids=["HTTP/1.1", "wrong preface", "no settings"],
)
async def test_invalid_start(data: bytes) -> None:
    async with served_http2(echo, Limits(linger_seconds=0.01)) as server:
        peer = await server.silent_peer()
        peer.send(data)
        assert await peer.goaway() == PROTOCOL_ERROR
        assert await peer.ended()


# ---------------------------------------------------------------------- connection errors

BLOCK = b"\x82\x87\x84"
"""GET https:/, without an authority."""
HEADERS_1 = encode_frame(HEADERS, END_HEADERS | END_STREAM, 1, BLOCK)
OPEN_1 = encode_frame(HEADERS, END_HEADERS, 1, BLOCK)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"\x00\x40\x01\x00\x00\0\0\0\1", FRAME_SIZE_ERROR, id="long frame"),
        pytest.param(encode_frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR, id="DATA without a stream"),
        pytest.param(encode_frame(DATA, 0, 1, b"x"), PROTOCOL_ERROR, id="DATA on an idle stream"),
        pytest.param(OPEN_1 + encode_frame(DATA, PADDED, 1, b"\x05xx"), PROTOCOL_ERROR, id="DATA padding"),
        pytest.param(encode_frame(HEADERS, 5, 0, BLOCK), PROTOCOL_ERROR, id="HEADERS without a stream"),
        pytest.param(encode_frame(HEADERS, 5, 2, BLOCK), PROTOCOL_ERROR, id="HEADERS on an even stream"),
        pytest.param(encode_frame(HEADERS, 5 | PADDED, 1, b"\x40" + BLOCK), PROTOCOL_ERROR, id="HEADERS padding"),
        pytest.param(encode_frame(HEADERS, 5 | WITH_PRIORITY, 1, b"x"), FRAME_SIZE_ERROR, id="HEADERS priority"),
        pytest.param(
            encode_frame(HEADERS, 5 | WITH_PRIORITY, 1, ONE + b"\0" + BLOCK),
            PROTOCOL_ERROR,
            id="self-dependency",
        ),
        pytest.param(OPEN_1 + reset(1) + HEADERS_1, STREAM_CLOSED, id="HEADERS on a closed stream"),
        pytest.param(
            encode_frame(HEADERS, 5, 5, BLOCK) + encode_frame(HEADERS, 5, 3, BLOCK), STREAM_CLOSED, id="lower stream"
        ),
        pytest.param(encode_frame(HEADERS, 5, 1, b"\x80"), frames.COMPRESSION_ERROR, id="HPACK index 0"),
        pytest.param(encode_frame(CONTINUATION, 4, 1, BLOCK), PROTOCOL_ERROR, id="CONTINUATION alone"),
        pytest.param(HEADERS_1 + encode_frame(CONTINUATION, 4, 1, b""), PROTOCOL_ERROR, id="CONTINUATION at the end"),
        pytest.param(encode_frame(HEADERS, 0, 1, b"") + HEADERS_1, PROTOCOL_ERROR, id="HEADERS in a header block"),
        pytest.param(
            encode_frame(HEADERS, 0, 1, BLOCK) + encode_frame(PING, 0, 0, b"12345678"),
            PROTOCOL_ERROR,
            id="PING in a header block",
        ),
        pytest.param(
            encode_frame(HEADERS, 0, 1, BLOCK) + encode_frame(CONTINUATION, 4, 3, b""),
            PROTOCOL_ERROR,
            id="CONTINUATION of another stream",
        ),
        pytest.param(encode_frame(PRIORITY, 0, 0, b"\0\0\0\0\0"), PROTOCOL_ERROR, id="PRIORITY without a stream"),
        pytest.param(reset(0), PROTOCOL_ERROR, id="RST_STREAM without a stream"),
        pytest.param(reset(1), PROTOCOL_ERROR, id="RST_STREAM on an idle stream"),
        pytest.param(OPEN_1 + encode_frame(RST_STREAM, 0, 1, b"x"), FRAME_SIZE_ERROR, id="RST_STREAM size"),
        pytest.param(encode_frame(SETTINGS, ACK, 0, b"\0\1\0\0\0\0"), FRAME_SIZE_ERROR, id="SETTINGS ack with payload"),
        pytest.param(encode_frame(SETTINGS, 0, 1, b""), PROTOCOL_ERROR, id="SETTINGS on a stream"),
        pytest.param(encode_frame(SETTINGS, 0, 0, b"\0\1\0"), FRAME_SIZE_ERROR, id="SETTINGS size"),
        pytest.param(encode_settings({frames.ENABLE_PUSH: 2}), PROTOCOL_ERROR, id="ENABLE_PUSH 2"),
        pytest.param(encode_settings({frames.INITIAL_WINDOW_SIZE: 2**31}), FLOW_CONTROL_ERROR, id="large window"),
        pytest.param(encode_settings({frames.MAX_FRAME_SIZE: 16383}), PROTOCOL_ERROR, id="small frames"),
        pytest.param(encode_settings({frames.MAX_FRAME_SIZE: 2**24}), PROTOCOL_ERROR, id="large frames"),
        pytest.param(encode_frame(PUSH_PROMISE, 4, 1, ZERO + BLOCK), PROTOCOL_ERROR, id="PUSH_PROMISE"),
        pytest.param(encode_frame(PING, 0, 1, b"12345678"), PROTOCOL_ERROR, id="PING on a stream"),
        pytest.param(encode_frame(PING, 0, 0, b"1234"), FRAME_SIZE_ERROR, id="PING size"),
        pytest.param(encode_frame(GOAWAY, 0, 1, ZERO + ZERO), PROTOCOL_ERROR, id="GOAWAY on a stream"),
        pytest.param(encode_frame(WINDOW_UPDATE, 0, 0, ZERO), PROTOCOL_ERROR, id="WINDOW_UPDATE of 0"),
        pytest.param(encode_frame(WINDOW_UPDATE, 0, 0, b"x"), FRAME_SIZE_ERROR, id="WINDOW_UPDATE size"),
        pytest.param(encode_frame(WINDOW_UPDATE, 0, 1, ONE), PROTOCOL_ERROR, id="WINDOW_UPDATE on an idle stream"),
        pytest.param(encode_frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), FLOW_CONTROL_ERROR, id="window overflow"),
    ],
)
async def test_connection_errors(data: bytes, code: int) -> None:
    async with served_http2(echo, Limits(linger_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(data)
        assert await peer.goaway() == code
        assert await peer.ended()


# ---------------------------------------------------------------------- stream errors


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(encode_frame(PRIORITY, 0, 1, b"\0\0\0"), FRAME_SIZE_ERROR, id="PRIORITY size"),
        pytest.param(OPEN_1 + encode_frame(WINDOW_UPDATE, 0, 1, ZERO), PROTOCOL_ERROR, id="WINDOW_UPDATE of 0"),
        pytest.param(
            OPEN_1 + encode_frame(WINDOW_UPDATE, 0, 1, b"\x7f\xff\xff\xff"), FLOW_CONTROL_ERROR, id="window overflow"
        ),
        pytest.param(HEADERS_1 + encode_frame(DATA, 0, 1, b"x"), STREAM_CLOSED, id="DATA on a closed stream"),
        pytest.param(OPEN_1 + reset(1) + encode_frame(DATA, 0, 1, b"x"), STREAM_CLOSED, id="DATA on a reset stream"),
        pytest.param(OPEN_1 + encode_frame(HEADERS, END_HEADERS, 1, b""), PROTOCOL_ERROR, id="trailers without an end"),
    ],
)
async def test_stream_errors(data: bytes, code: int) -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.send(data)
        assert await peer.reset(1) == code
        await peer.ping()


async def test_more_data_than_the_window() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        # The server extends the windows of four streams, as soon as they are half used.
        for stream_id in (1, 3, 5, 7, 9):
            peer.request(stream_id, head("POST"), flags=END_HEADERS)
            peer.send(encode_frame(DATA, 0, stream_id, b"x" * 16384) * 17)
        assert await peer.reset(9) == FLOW_CONTROL_ERROR
        await peer.ping()


async def test_data_on_a_half_closed_stream() -> None:
    async with served_http2(BlockedApp()) as server:
        peer = await server.peer()
        peer.send(HEADERS_1, encode_frame(DATA, 0, 1, b"x"))
        assert await peer.reset(1) == STREAM_CLOSED
        await peer.ping()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([(":method", "GET"), (":scheme", "https")], id="no path"),
        pytest.param([(":method", "GET"), (":path", "/")], id="no scheme"),
        pytest.param([(":scheme", "https"), (":path", "/")], id="no method"),
        pytest.param(head(path=""), id="empty path"),
        pytest.param(head(path="relative"), id="relative path"),
        pytest.param(head("G T"), id="invalid method"),
        pytest.param([*head(), (":path", "/")], id="repeated path"),
        pytest.param([("x", "y"), *head()], id="pseudo-header after a header"),
        pytest.param([*head(), (":unknown", "x")], id="unknown pseudo-header"),
        pytest.param([*head(), (":status", "200")], id="pseudo-header of responses"),
        pytest.param([*head(), ("X-Upper", "x")], id="upper case"),
        pytest.param([*head(), ("a b", "x")], id="space in a name"),
        pytest.param([*head(), ("", "x")], id="empty name"),
        pytest.param([*head(), ("a", "x\ny")], id="line feed in a value"),
        pytest.param([*head(), ("a", "x\0y")], id="NUL in a value"),
        pytest.param([*head(), ("connection", "close")], id="connection"),
        pytest.param([*head(), ("transfer-encoding", "chunked")], id="transfer-encoding"),
        pytest.param([*head(), ("upgrade", "websocket")], id="upgrade"),
        pytest.param([*head(), ("te", "gzip")], id="te"),
        pytest.param([*head(), ("content-length", "5")], id="content-length without a body"),
        pytest.param([*head(), ("content-length", "x")], id="invalid content-length"),
        pytest.param([*head(), ("content-length", "0"), ("content-length", "1")], id="two content-lengths"),
        pytest.param([(n, "a/b" if n == ":authority" else v) for n, v in head()], id="invalid authority"),
    ],
)
async def test_malformed_requests(headers: list[tuple[str, str]]) -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.request(1, headers)
        assert await peer.reset(1) == PROTOCOL_ERROR
        peer.request(3, head())
        assert (await peer.response(3)).status == 200


@pytest.mark.parametrize(("size", "length"), [(5, 4), (5, 6), (0, 1)])
async def test_body_of_another_length(size: int, length: int) -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.post(1, b"x" * size, ("content-length", str(length)))
        assert await peer.reset(1) == PROTOCOL_ERROR


# ---------------------------------------------------------------------- accepted frames


async def test_ignored_frames() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.send(
            encode_frame(0x77, 0xFF, 9, b"unknown type"),
            encode_frame(PRIORITY, 0, 1, b"\0\0\0\0\0"),
            encode_frame(PING, ACK, 0, b"12345678"),
            encode_settings({0x77: 1, frames.HEADER_TABLE_SIZE: 0, frames.MAX_CONCURRENT_STREAMS: 0}),
            encode_frame(GOAWAY, 0, 0, ZERO + ZERO + b"debug"),
        )
        await peer.ping()
        peer.request(1, head(path="/a"))
        assert (await peer.response(1)).status == 200
        peer.send(reset(1), encode_frame(WINDOW_UPDATE, 0, 1, ONE))
        await peer.ping()


async def test_padding_priority_and_continuation() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        block = peer.encoder.encode(head("POST", "/a?b=c", ("x-long", "y" * 50)))
        flags = PADDED | WITH_PRIORITY
        peer.send(
            encode_frame(HEADERS, flags, 1, b"\x03" + ZERO + b"\x10" + block[:5] + b"\0\0\0"),
            encode_frame(CONTINUATION, 0, 1, block[5:9]),
            encode_frame(CONTINUATION, 0, 1, b""),
            encode_frame(CONTINUATION, END_HEADERS, 1, block[9:]),
            encode_frame(DATA, PADDED, 1, b"\x02ab\0\0"),
            encode_frame(DATA, PADDED | END_STREAM, 1, b"\x00c"),
        )
        response = json.loads((await peer.response(1)).body)
        assert (response["method"], response["path"], response["query"]) == ("POST", "/a", "b=c")
        assert response["headers"] == {"x-long": "y" * 50, "host": "localhost"}
        assert response["body"] == "abc"


async def test_trailers_are_ignored() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        peer.request(1, head("POST"), flags=END_HEADERS)
        peer.send(encode_frame(DATA, 0, 1, b"abc"))
        peer.request(1, [("x-checksum", "1")])
        response = json.loads((await peer.response(1)).body)
        assert response["body"] == "abc"
        assert "x-checksum" not in response["headers"]
        # The trailers have changed the dynamic table, to which later headers refer.
        peer.request(3, head("GET", "/", ("x-checksum", "1")))
        assert json.loads((await peer.response(3)).body)["headers"]["x-checksum"] == "1"


async def test_frames_in_single_bytes() -> None:
    async with served_http2(echo) as server:
        peer = await server.peer()
        block = peer.encoder.encode(head("POST"))
        for byte in encode_frame(HEADERS, END_HEADERS, 1, block) + encode_frame(DATA, END_STREAM, 1, b"abc"):
            peer.send(bytes([byte]))
            await peer.writer.drain()
        assert json.loads((await peer.response(1)).body)["body"] == "abc"


async def test_refused_streams() -> None:
    app = BlockedApp()
    async with served_http2(app, options=Http2Options(max_streams=2)) as server:
        peer = await server.peer()
        for stream_id in (1, 3, 5):
            peer.request(stream_id, head(path=f"/{stream_id}"))
        assert await peer.reset(5) == REFUSED_STREAM
        assert app.started == 2
        app.go.set()
        assert [(await peer.response(stream_id)).body for stream_id in (1, 3)] == [b"/1", b"/3"]
        peer.request(7, head(path="/7"))
        assert (await peer.response(7)).body == b"/7"


async def test_reset_cancels_the_request() -> None:
    app = BlockedApp()
    async with served_http2(app) as server:
        peer = await server.peer()
        peer.request(1, head())
        await until(lambda: app.started == 1)
        peer.send(reset(1))
        await until(lambda: app.cancelled == 1)
        await peer.ping()


@pytest.mark.parametrize(
    "frame",
    [
        encode_frame(PING, 0, 0, b"12345678"),
        encode_frame(SETTINGS, 0, 0, b""),
        encode_frame(PRIORITY, 0, 1, b"\0\0\0\0\0"),
        encode_frame(0x77, 0, 0, b""),
        encode_frame(DATA, 0, 1, b""),
        encode_frame(WINDOW_UPDATE, 0, 0, ONE),
        reset(1),
    ],
    ids=["PING", "SETTINGS", "PRIORITY", "unknown", "empty DATA", "WINDOW_UPDATE", "RST_STREAM"],
)
async def test_floods(frame: bytes) -> None:
    async with served_http2(BlockedApp(), Limits(linger_seconds=0.01)) as server:
        peer = await server.peer()
        peer.request(1, head("POST"), flags=END_HEADERS)
        peer.send(frame * 20_000)
        assert await peer.goaway() == frames.ENHANCE_YOUR_CALM
        assert await peer.ended()


async def test_rapid_reset() -> None:
    app = BlockedApp()
    async with served_http2(app, Limits(linger_seconds=0.01)) as server:
        peer = await server.peer()
        block = peer.encoder.encode(head())
        for stream_id in range(1, 5001, 2):
            peer.send(encode_frame(HEADERS, END_HEADERS | END_STREAM, stream_id, block), reset(stream_id))
        assert await peer.goaway() == frames.ENHANCE_YOUR_CALM
        await until(lambda: app.cancelled == app.started)
        assert app.started <= 1100


async def test_large_head() -> None:
    """The connection goes on, and its dynamic table has the headers of the rejected request."""
    async with served_http2(echo, Limits(max_head_bytes=1000)) as server:
        peer = await server.peer()
        peer.request(1, head("GET", "/", ("x", "y" * 1000), ("after", "z")))
        response = await peer.response(1)
        assert response.status == 431
        assert response.body == b"<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>"
        assert set(response.headers) == {"content-type", "content-length", "date"}
        peer.request(3, head("GET", "/", ("after", "z")))
        assert (await peer.response(3)).status == 200


async def test_large_head_of_a_body() -> None:
    async with served_http2(echo, Limits(max_head_bytes=1000)) as server:
        peer = await server.peer()
        peer.request(1, head("POST", "/", ("x", "y" * 1000)), flags=END_HEADERS)
        assert (await peer.response(1)).status == 431
        assert await peer.reset(1) == NO_ERROR
        peer.request(3, head())
        assert (await peer.response(3)).status == 200


async def test_large_trailers() -> None:
    async with served_http2(echo, Limits(max_head_bytes=1000)) as server:
        peer = await server.peer()
        peer.request(1, head("POST", "/"), flags=END_HEADERS)
        peer.request(1, [("x", "y" * 1000), ("after", "z")])
        assert (await peer.response(1)).status == 200
        peer.request(3, head("GET", "/", ("after", "z")))
        assert (await peer.response(3)).status == 200


async def test_endless_head() -> None:
    async with served_http2(echo, Limits(max_head_bytes=1000, linger_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(encode_frame(HEADERS, END_STREAM, 1, BLOCK))
        peer.send(encode_frame(CONTINUATION, 0, 1, b"\0\x01a\x20" + b"x" * 32) * 100)
        assert await peer.goaway() == PROTOCOL_ERROR
        assert await peer.ended()
