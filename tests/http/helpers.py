"""Helpers: an HTTP server around a test's application, and a client that sends raw bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from polykind.http.connection import App
from polykind.http.listener import HttpServer, Limits
from tests.support.waiting import eventually_async

TIMEOUT = 10.0


class RawResponse(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Peer:
    """One client connection that sends and reads raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def line(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), TIMEOUT)

    async def head(self) -> tuple[int, dict[str, str]]:
        first = await self.line()
        if not first:
            raise EOFError
        headers = {}
        while (line := await self.line()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name] = value.strip()
        return int(first.split()[1]), headers

    async def response(self, *, no_body: bool = False) -> RawResponse:
        status, headers = await self.head()
        if no_body or status in (100, 304):
            return RawResponse(status, headers, b"")
        if headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while chunk := await self.chunk():
                body += chunk
            return RawResponse(status, headers, body)
        size = int(headers["Content-Length"])
        return RawResponse(status, headers, await asyncio.wait_for(self.reader.readexactly(size), TIMEOUT))

    async def chunk(self) -> bytes:
        """Read one chunk of a stream. Empty at the end of the stream."""
        size = int(await self.line(), 16)
        data = await asyncio.wait_for(self.reader.readexactly(size + 2), TIMEOUT)
        return data[:-2]

    async def ended(self) -> bool:
        """True if the server closes the connection without another byte."""
        try:
            return not await asyncio.wait_for(self.reader.read(1), TIMEOUT)
        except ConnectionError:
            return True

    def abort(self) -> None:
        self.writer.transport.abort()


class RunningServer:
    """A listening server and its client connections."""

    def __init__(self, http: HttpServer, port: int, tls: ssl.SSLContext | None) -> None:
        self.http, self.port, self._tls = http, port, tls
        self.peers: list[Peer] = []

    async def peer(self, *, limit: int = 2**16) -> Peer:
        name = "localhost" if self._tls else None
        opened = await asyncio.open_connection("127.0.0.1", self.port, ssl=self._tls, server_hostname=name, limit=limit)
        self.peers.append(Peer(*opened))
        return self.peers[-1]

    async def ask(self, data: bytes) -> RawResponse:
        """Send one request on a new connection and return the response."""
        peer = await self.peer()
        peer.send(data)
        return await peer.response()


@asynccontextmanager
async def served(
    app: App, limits: Limits | None = None, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
) -> AsyncIterator[RunningServer]:
    http = HttpServer(app, limits)
    port = await http.start("127.0.0.1", 0, tls[0] if tls else None)
    out = RunningServer(http, port, tls[1] if tls else None)
    try:
        yield out
    finally:
        for peer in out.peers:
            peer.abort()
        await http.stop(grace=5)


def get(path: str = "/", *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def post(body: bytes, *lines: str, path: str = "/") -> bytes:
    return get(path, f"Content-Length: {len(body)}", *lines, method="POST") + body


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    await eventually_async(condition, TIMEOUT, pause=0.001)
