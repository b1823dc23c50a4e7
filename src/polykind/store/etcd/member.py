"""One etcd server: connected to when it is first asked, and again whenever the connection has gone."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from polykind.contract import StoreError
from polykind.store.etcd.call import DEADLINE_EXCEEDED, UNAVAILABLE, Call, CallError, Then
from polykind.store.etcd.http2 import Connection
from polykind.store.turns import settle

CONNECT_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Access:
    """Where etcd is and how to prove who we are: the flags --etcd-servers, --etcd-cafile and so on."""

    servers: Sequence[str]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """How to speak to an https address. Raises StoreError."""
        context = ssl.create_default_context()
        try:
            if self.ca_file is not None:
                # This CA, and no other.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.load_verify_locations(self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(str(file) for file in (self.ca_file, self.cert_file, self.key_file) if file)
            raise StoreError(f"the certificates for etcd ({files}) cannot be used: {error}") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2"])
        return context


class Member:
    """A channel to one address."""

    def __init__(self, url: str, access: Access) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StoreError(f"{url} is not the address of an etcd server: it begins with http:// or https://")
        self.url = url
        self._host, self._port = parts.hostname, parts.port or 2379
        self._tls = access.tls() if parts.scheme == "https" else None
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self.blame = 0.0
        """When it last failed, or some time later if it did not even refuse."""

    def ask(self, method: str, request: bytes, then: Then) -> Call | None:
        """A question that is sent at once, None if there is no connection; `then` is told the answer or CallError."""
        connection = self._connection
        if connection is None or not connection.usable:
            return None
        try:
            call = connection.ask(method, request, then)
        except CallError:
            return None
        connection.flush()
        return call

    async def unary(self, method: str, request: bytes, patience: float) -> bytes:
        """One question, one answer. Raises CallError."""
        connection = self._connection
        if connection is None or not connection.usable:
            connection = await self._connect()
        answer: asyncio.Future[bytes] = self._loop.create_future()
        call = connection.ask(method, request, partial(settle, answer))
        timer = self._loop.call_later(patience, call.expire, patience)
        try:
            return await answer
        finally:
            timer.cancel()
            if not call.ended:
                call.cancel()

    async def open(self, method: str) -> Call:
        """Begin a call of any number of messages. Raises CallError."""
        connection = self._connection
        if connection is None or not connection.usable:
            connection = await self._connect()
        return connection.call(method)

    async def _connect(self) -> Connection:
        """Connect, once for all who want it."""
        if self._connecting is None or self._connecting.done():
            self._connecting = self._loop.create_task(self._try())
        return await asyncio.shield(self._connecting)

    async def _try(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                self._connection = await Connection.open(self._host, self._port, self._tls)
                return self._connection
        except TimeoutError:
            raise CallError(DEADLINE_EXCEEDED, "no connection could be made in time", sent=False) from None
        except (OSError, ssl.SSLError) as error:
            raise CallError(UNAVAILABLE, f"no connection could be made: {error}", sent=False) from None

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()
