"""The handshake of WebSockets, and WebSockets on real sockets."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from polykind.http.framing import BINARY_MESSAGES, GZIP_CHUNKS, HTTP_CHUNKS, TEXT_MESSAGES, Framing
from polykind.http.listener import Limits
from polykind.http.messages import Request
from polykind.http.websocket import WebSocketStream, is_websocket, refusal
from polykind.http.websocket_frames import PING, PONG, TEXT, encode_close, encode_frame
from polykind.operations.responses import Response, Sink, Stream
from tests.http.helpers import TIMEOUT, Peer, RunningServer, get, served
from tests.http.test_websocket_frames import client_frame

HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "keep-alive, Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Origin": "http://localhost",
}


def handshake(**headers: str) -> Request:
    """Return a request for a WebSocket. Underscores in the names of headers stand for hyphens; "" removes a header."""
    changed = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    merged = {name.lower(): value for name, value in HANDSHAKE.items()} | changed
    return Request("GET", "/", "", {n.encode(): v.encode() for n, v in merged.items() if v}, b"")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, True),
        ({"upgrade": "WebSocket"}, True),
        ({"upgrade": "SPDY/3.1"}, False),
        ({"connection": "keep-alive"}, False),
    ],
)
def test_websocket_needs_both_headers(headers: dict[str, str], expected: bool) -> None:
    assert is_websocket(handshake(**headers)) is expected


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({"origin": "https://console.example.com:8443"}, None),
        ({"sec_websocket_protocol": "base64.binary.k8s.io"}, None),
        ({"sec_websocket_protocol": "base64.binary.k8s.io, v4.channel.k8s.io"}, 400),
        ({"sec_websocket_key": ""}, 400),
        ({"sec_websocket_version": "8"}, 400),
        ({"origin": ""}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "console"}, 403),
    ],
)
def test_handshakes_are_refused_as_by_kube_apiserver(headers: dict[str, str], status: int | None) -> None:
    refused = refusal(handshake(**headers))
    assert (refused and refused.status) == status


def test_accepted_handshake_proves_the_key_and_names_the_subprotocol() -> None:
    request = handshake(sec_websocket_protocol="base64.binary.k8s.io")
    headers = dict(WebSocketStream(request, lambda _: None, lambda: None).headers)
    assert headers[b"Sec-WebSocket-Accept"] == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert headers[b"Sec-WebSocket-Protocol"] == b"base64.binary.k8s.io"


@pytest.mark.parametrize("framing", [HTTP_CHUNKS, GZIP_CHUNKS, TEXT_MESSAGES, BINARY_MESSAGES])
def test_framing_an_event_and_its_chunk_gives_the_same_bytes(framing: Framing) -> None:
    event = b"\x00\x00\x01\x2c" + b"\r\n" * 150
    assert framing.frame([event]) == framing.from_chunk(HTTP_CHUNKS.frame([event]))


def test_long_event_is_not_compressed_on_the_event_loop() -> None:
    event = b"x" * 300_000
    chunk = GZIP_CHUNKS.from_chunk(HTTP_CHUNKS.frame([event]))
    assert len(chunk) > len(event)
    assert gzip.decompress(chunk.partition(b"\r\n")[2][:-2]) == event


def test_each_event_is_a_message() -> None:
    assert TEXT_MESSAGES.frame([b"{}\n", b"[]\n"]) == encode_frame(TEXT, b"{}\n") + encode_frame(TEXT, b"[]\n")


# ---------------------------------------------------------------------- connections


class WebSocketApp:
    """An application that opens a WebSocket for each request, and records the sinks."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.ended = 0

    async def __call__(self, request: Request) -> Response | Stream:
        return WebSocketStream(request, self.sinks.append, self._end)

    def _end(self) -> None:
        self.ended += 1


async def opened(server: RunningServer) -> Peer:
    peer = await server.peer()
    peer.send(get("/watch", *(f"{name}: {value}" for name, value in HANDSHAKE.items())))
    status, headers = await peer.head()
    assert (status, set(headers)) == (101, {"Upgrade", "Connection", "Sec-WebSocket-Accept"})
    return peer


async def expect(peer: Peer, data: bytes) -> None:
    assert await peer.reader.readexactly(len(data)) == data


async def test_ping_is_answered_between_messages() -> None:
    app = WebSocketApp()
    async with served(app) as server:
        peer = await opened(server)
        app.sinks[0].send(TEXT_MESSAGES.frame([b"one"]))
        peer.send(client_frame(TEXT, b"ignored") + client_frame(PING, b"alive"))
        await expect(peer, encode_frame(TEXT, b"one") + encode_frame(PONG, b"alive"))
        app.sinks[0].finish()
        await expect(peer, encode_close(1000))
        assert await peer.ended()
        assert app.ended == 1


@pytest.mark.parametrize(("frame", "status"), [(client_frame(8), 1000), (encode_frame(TEXT, b"unmasked"), 1002)])
async def test_close_and_violation_end_the_stream(frame: bytes, status: int) -> None:
    app = WebSocketApp()
    async with served(app) as server:
        peer = await opened(server)
        peer.send(frame)
        await expect(peer, encode_close(status))
        assert await peer.ended()
        assert app.ended == 1


async def test_client_that_pings_without_reading_is_disconnected() -> None:
    app = WebSocketApp()
    async with served(app, Limits(max_unread_bytes=100_000)) as server:
        peer = await opened(server)
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        app.sinks[0].send(b"x" * 32_000_000)
        # Pings that arrive together have one response, so send them one by one.
        async with asyncio.timeout(TIMEOUT):
            while not app.ended:
                peer.send(client_frame(PING, b"x" * 125))
                await asyncio.sleep(0)
        assert app.ended == 1


async def test_shutdown_closes_the_websocket() -> None:
    app = WebSocketApp()
    async with served(app) as server:
        peer = await opened(server)
        await server.http.stop(grace=5)
        await expect(peer, encode_close(1000))
        assert app.ended == 1
