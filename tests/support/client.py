"""A small asynchronous HTTP/1.1 client with one keep-alive connection. It hides no bytes from the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.server import trusting


class Reply(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A client for `url` with a bearer token. It connects on first use and reconnects after `close`."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.token = parts.hostname or "", parts.port or 443, token
        self.accept = "application/json"
        self.headers: tuple[str, ...] = ()
        """Extra header lines for every request."""
        self.tls = trusting() if parts.scheme == "https" else None
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.reader is None or self.writer is None:
            opened = await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=2**26)
            self.reader, self.writer = opened
        return self.reader, self.writer

    async def send(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, dict[bytes, bytes]]:
        """Send a request and read the response's head."""
        reader, writer = await self.connect()
        more = "".join(f"{line}\r\n" for line in self.headers)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Accept: {self.accept}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        line = await reader.readline()
        if not line:
            raise ConnectionResetError("the server hung up")
        headers: dict[bytes, bytes] = {}
        while (header := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            name = name.strip().lower()
            # A response may have several Warning headers. They are joined by line breaks.
            before = headers[name] + b"\n" if name == b"warning" and name in headers else b""
            headers[name] = before + value.strip()
        return int(line.split()[1]), headers

    async def chunks(self) -> AsyncIterator[bytes]:
        reader, _ = await self.connect()
        while True:
            line = await reader.readline()
            if not line:
                raise ConnectionResetError("the server hung up")
            size = int(line.split(b";")[0], 16)
            data = await reader.readexactly(size) if size else b""
            await reader.readline()
            if not size:
                return
            yield data

    async def call(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Reply:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        status, headers = await self.send(method, path, data, kind)
        if headers.get(b"transfer-encoding") == b"chunked":
            return Reply(status, headers, b"".join([chunk async for chunk in self.chunks()]))
        reader, _ = await self.connect()
        return Reply(status, headers, await reader.readexactly(int(headers.get(b"content-length", b"0"))))

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of a watch stream until the server ends it."""
        status, headers = await self.send("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status}")
        if length := int(headers.get(b"content-length", b"0")):
            # A watch that fails at its start is a complete response, with the events before the failure.
            reader, _ = await self.connect()
            for line in (await reader.readexactly(length)).splitlines():
                yield line
            return
        rest = b""
        async for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line

    def close(self) -> None:
        if self.writer is not None:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
