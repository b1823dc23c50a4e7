"""A lean HTTP/1.1 client for load: it sends prepared requests and measures the time until each response is complete."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from polykind.cluster.cluster_access import ClusterAccess
from polykind.cluster.cluster_client import credentials, ssl_context


class LoadError(Exception):
    """The server has rejected a request of the benchmark."""


class Reply(NamedTuple):
    """A complete response."""

    status: int
    body: bytes


class LoadClient:
    """One connection to the server."""

    def __init__(self, access: ClusterAccess, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(access.server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._context = context
        self._server_name = access.server_name or self._host
        lines = [f"Host: {parts.netloc}", "User-Agent: polykind-bench", "Accept: application/json"]
        self._head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in credentials(access).items())])
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def connect(self) -> None:
        name = self._server_name if self._context is not None else None
        self._reader, self._writer = await asyncio.open_connection(
            self._host, self._port, ssl=self._context, server_hostname=name, limit=16 * 1024 * 1024
        )

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def prepare(self, method: str, path: str, body: object = None, media_type: str = "application/json") -> bytes:
        """Return the bytes of a request."""
        content = b"" if body is None else msgspec.json.encode(body)
        kind = f"Content-Type: {media_type}\r\nContent-Length: {len(content)}\r\n" if content else ""
        return f"{method} {path} HTTP/1.1\r\n{self._head}\r\n{kind}\r\n".encode() + content

    async def send(self, request: bytes) -> Reply:
        """Send a request and return its response. Raise LoadError if the status is not 2xx."""
        self._writer.write(request)
        reply = await self._read()
        if not 200 <= reply.status < 300:
            line = request.split(b"\r\n", 1)[0].decode()
            raise LoadError(f"{line}: {reply.status} {reply.body[:300].decode(errors='replace')}")
        return reply

    async def _read(self) -> Reply:
        head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        lower = head.lower()
        at = lower.find(b"\r\ncontent-length:")
        if at >= 0:
            size = int(lower[at + 17 : lower.index(b"\r\n", at + 17)])
            return Reply(status, await self._reader.readexactly(size))
        return Reply(status, b"".join([part async for part in self._chunks()]))

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readline(), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()

    async def lines(self, request: bytes) -> AsyncIterator[bytes]:
        """Send a watch request and yield the lines of its response."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if head[9:12] != b"200":
            raise LoadError(f"the watch was rejected: {head[:100].decode(errors='replace')}")
        rest = b""
        async for chunk in self._chunks():
            *complete, rest = (rest + chunk).split(b"\n")
            for line in complete:
                yield line


class Samples(NamedTuple):
    """The latencies of the requests of one measurement in seconds, and its duration."""

    latencies: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


async def run_load(clients: list[LoadClient], requests: Iterator[bytes], seconds: float) -> Samples:
    """Send requests on all connections, each when the previous one has its response, until the time is over."""
    latencies: list[float] = []
    started = time.perf_counter()
    end = started + seconds

    async def work(client: LoadClient) -> None:
        for request in requests:
            before = time.perf_counter()
            if before >= end:
                return
            await client.send(request)
            latencies.append(time.perf_counter() - before)

    await asyncio.gather(*map(work, clients))
    return Samples(latencies, time.perf_counter() - started)


def context_of(access: ClusterAccess) -> ssl.SSLContext | None:
    """Return the TLS context for a server, or None for an http:// URL."""
    return ssl_context(access) if access.server.startswith("https") else None
