"""One member of the etcd cluster, connected on first use and reconnected when the connection is lost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from polykind.contract import StoreError
from polykind.store.coalescer import resolve
from polykind.store.etcd.grpc_call import DEADLINE_EXCEEDED, UNAVAILABLE, GrpcCall, GrpcError, OnResponse
from polykind.store.etcd.http2 import Http2Connection

CONNECT_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """etcd's addresses and TLS files: the flags --etcd-servers, --etcd-cafile, --etcd-certfile and --etcd-keyfile."""

    servers: Sequence[str]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """Return the TLS context for https addresses. Raises StoreError."""
        context = ssl.create_default_context()
        try:
            if self.ca_file is not None:
                # Trust only this CA.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.load_verify_locations(self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(file) for file in (self.ca_file, self.cert_file, self.key_file) if file)
            raise StoreError(f"cannot use the etcd certificates ({files}): {error}") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2"])
        return context


class Member:
    """A connection to one member."""

    def __init__(self, url: str, access: EtcdAccess) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StoreError(f"{url} is not an etcd address: it must start with http:// or https://")
        self.url = url
        self._host, self._port = parts.hostname, parts.port or 2379
        self._tls = access.tls() if parts.scheme == "https" else None
        self._loop = asyncio.get_running_loop()
        self._connection: Http2Connection | None = None
        self._connecting: asyncio.Task[Http2Connection] | None = None
        self.failed_at = 0.0
        """The time of the last failure; later for a member that did not respond at all."""

    def try_unary(self, method: str, request: bytes, on_response: OnResponse) -> GrpcCall | None:
        """Send a unary call at once. Return None if there is no connection."""
        connection = self._connection
        if connection is None or not connection.usable:
            return None
        try:
            call = connection.unary(method, request, on_response)
        except GrpcError:
            return None
        connection.flush()
        return call

    async def unary(self, method: str, request: bytes, timeout_seconds: float) -> bytes:
        """Make a unary call. Raises GrpcError."""
        connection = self._connection
        if connection is None or not connection.usable:
            connection = await self._connect()
        response: asyncio.Future[bytes] = self._loop.create_future()
        call = connection.unary(method, request, partial(resolve, response))
        timer = self._loop.call_later(timeout_seconds, call.expire, timeout_seconds)
        try:
            return await response
        finally:
            timer.cancel()
            if not call.ended:
                call.cancel()

    async def open(self, method: str) -> GrpcCall:
        """Start a streaming call. Raises GrpcError."""
        connection = self._connection
        if connection is None or not connection.usable:
            connection = await self._connect()
        return connection.call(method)

    async def _connect(self) -> Http2Connection:
        """Connect. Concurrent callers share one attempt."""
        if self._connecting is None or self._connecting.done():
            self._connecting = self._loop.create_task(self._open_connection())
        return await asyncio.shield(self._connecting)

    async def _open_connection(self) -> Http2Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                self._connection = await Http2Connection.open(self._host, self._port, self._tls)
                return self._connection
        except TimeoutError:
            raise GrpcError(DEADLINE_EXCEEDED, "connecting timed out", sent=False) from None
        except (OSError, ssl.SSLError) as error:
            raise GrpcError(UNAVAILABLE, f"cannot connect: {error}", sent=False) from None

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()
