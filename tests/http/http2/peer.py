"""Helpers: an HTTP/2 server around a test's application, and a client that sends frames of any kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import hpack

from polykind.http.connection import App
from polykind.http.http2.http2_connection import Http2Connection
from polykind.http.listener import Http2Options, HttpServer, Limits
from polykind.http2 import frames
from polykind.http2.frames import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    encode_frame,
    encode_settings,
)
from tests.http.helpers import TIMEOUT

Headers = list[tuple[str, str]]


class Frame(NamedTuple):
    kind: int
    flags: int
    stream_id: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of an RST_STREAM or GOAWAY frame."""
        return int.from_bytes(self.payload[:4] if self.kind == RST_STREAM else self.payload[4:8], "big")


class Http2Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def head(method: str = "GET", path: str = "/", *more: tuple[str, str]) -> Headers:
    return [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), *more]


class Http2Peer:
    """One client connection. Frames of other streams are kept while it reads one stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._kept: list[Frame] = []
        self.settings: dict[int, int] = {}

    def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))

    async def greet(self, settings: dict[int, int] | None = None) -> None:
        """Send the preface and settings, and read the server's settings."""
        self.send(PREFACE, encode_settings(settings or {}))
        frame = await self._read()
        assert (frame.kind, frame.flags, frame.stream_id) == (SETTINGS, 0, 0)
        self.settings = frames.decode_settings(frame.payload)
        self.send(encode_frame(SETTINGS, ACK, 0, b""))

    def request(self, stream_id: int, headers: Headers, *, flags: int = END_HEADERS | END_STREAM) -> None:
        self.send(encode_frame(HEADERS, flags, stream_id, self.encoder.encode(headers)))

    def post(self, stream_id: int, body: bytes, *more: tuple[str, str], path: str = "/") -> None:
        self.request(stream_id, head("POST", path, *more), flags=END_HEADERS)
        for start in range(0, max(1, len(body)), 16384):
            last = END_STREAM if start + 16384 >= len(body) else 0
            self.send(encode_frame(DATA, last, stream_id, body[start : start + 16384]))

    async def _read(self) -> Frame:
        async with asyncio.timeout(TIMEOUT):
            header = await self.reader.readexactly(9)
            kind, flags, stream_id = frames.unpack_header(header)
            return Frame(kind & 0xFF, flags, stream_id, await self.reader.readexactly(kind >> 8))

    async def frame(self, *kinds: int, stream_id: int | None = None) -> Frame:
        """Return the next frame of these kinds, of one stream if it is given. Keep all other frames."""
        for index, frame in enumerate(self._kept):
            if frame.kind in kinds and stream_id in (None, frame.stream_id):
                return self._kept.pop(index)
        while True:
            frame = await self._read()
            if frame.kind in kinds and stream_id in (None, frame.stream_id):
                return frame
            self._kept.append(frame)

    def decode(self, frame: Frame) -> dict[str, str]:
        return {str(name): str(value) for name, value in self._decoder.decode(frame.payload)}

    async def head(self, stream_id: int) -> tuple[int, dict[str, str], bool]:
        """Return the status and the headers of a response, and True if it has no body."""
        frame = await self.frame(HEADERS, RST_STREAM, stream_id=stream_id)
        assert frame.kind == HEADERS, f"reset with code {frame.code}"
        headers = self.decode(frame)
        return int(headers.pop(":status")), headers, bool(frame.flags & END_STREAM)

    async def response(self, stream_id: int) -> Http2Response:
        status, headers, ended = await self.head(stream_id)
        body = b""
        while not ended:
            frame = await self.frame(DATA, RST_STREAM, stream_id=stream_id)
            assert frame.kind == DATA, f"reset with code {frame.code}"
            body += frame.payload
            ended = bool(frame.flags & END_STREAM)
        return Http2Response(status, headers, body)

    async def reset(self, stream_id: int) -> int:
        """Return the error code with which the server resets a stream."""
        return (await self.frame(RST_STREAM, stream_id=stream_id)).code

    async def goaway(self) -> int:
        """Return the error code with which the server ends the connection."""
        return (await self.frame(GOAWAY)).code

    async def ping(self) -> None:
        """Wait until the server has handled everything that was sent before."""
        self.send(encode_frame(PING, 0, 0, b"polykind"))
        assert (await self.frame(PING)).payload == b"polykind"

    def add_window(self, stream_id: int, increment: int) -> None:
        self.send(encode_frame(WINDOW_UPDATE, 0, stream_id, increment.to_bytes(4, "big")))

    async def ended(self) -> bool:
        """True if the server closes the connection, after any frames."""
        try:
            async with asyncio.timeout(TIMEOUT):
                while await self.reader.read(65536):
                    pass
        except ConnectionError:
            pass
        return True


class RunningHttp2:
    """A server whose port serves HTTP/2 without TLS, and its client connections."""

    def __init__(self, http: HttpServer, port: int) -> None:
        self.http, self.port = http, port
        self.peers: list[Http2Peer] = []

    async def peer(self, settings: dict[int, int] | None = None, *, limit: int = 2**16) -> Http2Peer:
        peer = await self.silent_peer(limit=limit)
        await peer.greet(settings)
        return peer

    async def silent_peer(self, *, limit: int = 2**16) -> Http2Peer:
        """Connect and send nothing."""
        peer = Http2Peer(*await asyncio.open_connection("127.0.0.1", self.port, limit=limit))
        self.peers.append(peer)
        return peer


@asynccontextmanager
async def served_http2(
    app: App, limits: Limits | None = None, options: Http2Options | None = None
) -> AsyncIterator[RunningHttp2]:
    http = HttpServer(app, limits, options)
    await http.start("127.0.0.1", 0, None)
    server = await asyncio.get_running_loop().create_server(lambda: Http2Connection(http), "127.0.0.1", 0)
    out = RunningHttp2(http, server.sockets[0].getsockname()[1])
    try:
        yield out
    finally:
        for peer in out.peers:
            peer.writer.transport.abort()
        server.close()
        await http.stop(grace=5)
