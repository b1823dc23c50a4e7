"""An HTTP server around an application of a test's own, and a client that sends bytes as the test says."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from polykind.http.connection import App
from polykind.http.listener import HttpServer, Limits

PATIENCE = 10.0


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Peer:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def line(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), PATIENCE)

    async def head(self) -> tuple[int, dict[str, str]]:
        first = await self.line()
        if not first:
            raise EOFError
        headers = {}
        while (line := await self.line()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name] = value.strip()
        return int(first.split()[1]), headers

    async def answer(self, *, bodiless: bool = False) -> Answer:
        status, headers = await self.head()
        if bodiless or status in (100, 304):
            return Answer(status, headers, b"")
        if headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while chunk := await self.chunk():
                body += chunk
            return Answer(status, headers, body)
        size = int(headers["Content-Length"])
        return Answer(status, headers, await asyncio.wait_for(self.reader.readexactly(size), PATIENCE))

    async def chunk(self) -> bytes:
        """One chunk of a stream; empty at its end."""
        size = int(await self.line(), 16)
        data = await asyncio.wait_for(self.reader.readexactly(size + 2), PATIENCE)
        return data[:-2]

    async def ended(self) -> bool:
        """Whether the server closes without another byte."""
        try:
            return not await asyncio.wait_for(self.reader.read(1), PATIENCE)
        except ConnectionError:
            return True

    def cut(self) -> None:
        self.writer.transport.abort()


class Served:
    """A server that listens, and the peers that came to it."""

    def __init__(self, http: HttpServer, port: int, tls: ssl.SSLContext | None) -> None:
        self.http, self.port, self._tls = http, port, tls
        self.peers: list[Peer] = []

    async def peer(self, *, limit: int = 2**16) -> Peer:
        name = "localhost" if self._tls else None
        opened = await asyncio.open_connection("127.0.0.1", self.port, ssl=self._tls, server_hostname=name, limit=limit)
        self.peers.append(Peer(*opened))
        return self.peers[-1]

    async def ask(self, data: bytes) -> Answer:
        """One exchange on a connection of its own."""
        peer = await self.peer()
        peer.send(data)
        return await peer.answer()


@asynccontextmanager
async def served(
    app: App, limits: Limits | None = None, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
) -> AsyncIterator[Served]:
    http = HttpServer(app, limits)
    port = await http.start("127.0.0.1", 0, tls[0] if tls else None)
    out = Served(http, port, tls[1] if tls else None)
    try:
        yield out
    finally:
        for peer in out.peers:
            peer.cut()
        await http.stop(grace=5)


def get(path: str = "/", *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def post(body: bytes, *lines: str, path: str = "/") -> bytes:
    return get(path, f"Content-Length: {len(body)}", *lines, method="POST") + body


async def until(condition: object) -> None:
    """Wait until a condition holds, turn by turn of the loop."""
    assert callable(condition)
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)
