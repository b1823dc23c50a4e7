"""The client of an etcd cluster. It sends calls to one member and switches to another if that member fails."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from polykind.coalescer import resolve
from polykind.contract import StoreError, UnavailableError, UnknownOutcomeError
from polykind.grpc.grpc_call import DEADLINE_EXCEEDED, UNAVAILABLE, GrpcCall, GrpcError, OnResponse
from polykind.grpc.grpc_connection import GrpcConnection
from polykind.store.etcd import rpc_messages

CONNECT_SECONDS = 1.5
_METADATA = ((b"hasleader", b"true"),)
"""Makes a member fail if it has no leader and may have stale data."""


@dataclass(frozen=True, slots=True)
class EtcdAccess:
    """etcd's addresses and TLS files: the flags --etcd-servers, --etcd-cafile, --etcd-certfile and --etcd-keyfile."""

    servers: Sequence[str]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """Return the TLS context for https addresses. Raise StoreError if a certificate or key file is unusable."""
        context = ssl.create_default_context()
        try:
            if self.ca_file is not None:
                # Trust only this CA, and not those of the operating system.
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
    """A connection to one member of the etcd cluster."""

    def __init__(self, url: str, access: EtcdAccess) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise StoreError(f"{url} is not an etcd address: it must start with http:// or https://")
        self.url = url
        self._host, self._port = parts.hostname, parts.port or 2379
        self._tls = access.tls() if parts.scheme == "https" else None
        self._loop = asyncio.get_running_loop()
        self._connection: GrpcConnection | None = None
        self._connecting: asyncio.Task[GrpcConnection] | None = None
        self.failed_at = 0.0
        """The time of the last failure. If the member did not respond at all, UNRESPONSIVE_SECONDS later than that."""

    def try_unary(self, method: str, request: bytes, on_response: OnResponse) -> GrpcCall | None:
        """Send a unary call at once. Return None if there is no connection to the member."""
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
        """Make a unary call: one request, one response. Raise GrpcError if the call fails."""
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
        """Start a streaming call. Raise GrpcError if the call cannot be started."""
        connection = self._connection
        if connection is None or not connection.usable:
            connection = await self._connect()
        return connection.call(method)

    async def _connect(self) -> GrpcConnection:
        """Connect to the member. Concurrent callers share one attempt."""
        if self._connecting is None or self._connecting.done():
            self._connecting = self._loop.create_task(self._open_connection())
        return await asyncio.shield(self._connecting)

    async def _open_connection(self) -> GrpcConnection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                self._connection = await GrpcConnection.open(self._host, self._port, self._tls, _METADATA)
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


log = logging.getLogger("polykind.etcd")

ATTEMPT_SECONDS = 1.5
"""Seconds without a response after which a read is repeated on another member."""
_STATUS_SECONDS = 1.5
TIMEOUT_SECONDS = 5.0
"""Seconds without success after which a call fails."""
UNRESPONSIVE_SECONDS = 5.0
"""Seconds for which a member that did not respond is used only if all other members have failed, too."""

# Errors that etcd returns before it processes a request, so that even a write may be retried.
_NOT_PROCESSED = ("etcdserver: no leader", "etcdserver: too many requests")


class EtcdError(StoreError):
    """An error returned by etcd, with etcd's message."""


class EtcdClient:
    """A client for all members of an etcd cluster. It repeats failed reads on the next member.

    A write that etcd may have processed is not repeated. It raises UnknownOutcomeError.
    """

    def __init__(self, access: EtcdAccess) -> None:
        self._members = [Member(url, access) for url in access.servers]
        self.member = self._members[0]
        """The member to which calls are sent."""

    async def close(self) -> None:
        await asyncio.gather(*(member.close() for member in self._members))

    def avoid(self, member: Member, *, unresponsive: bool = False) -> None:
        """Record the failure of a member. If it is the current one, switch to the member that failed longest ago."""
        member.failed_at = time.monotonic() + (UNRESPONSIVE_SECONDS if unresponsive else 0)
        if member is self.member and len(self._members) > 1:
            self.member = min(self._members, key=lambda candidate: candidate.failed_at)
            if self.member is not member:
                log.info("etcd client: switching to %s", self.member.url)

    async def read(self, method: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
        """Make a call that can be repeated safely. Repeat it, if necessary on another member, until the timeout."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            member = self.member
            try:
                return await member.unary(method, request, max(min(ATTEMPT_SECONDS, deadline - time.monotonic()), 0.05))
            except GrpcError as error:
                self._check_retry(member, error, deadline)
            await asyncio.sleep(0.05)

    async def write(self, method: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
        """Make a call that etcd processes at most once. Raise UnknownOutcomeError if etcd may have processed it."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            member = self.member
            try:
                return await member.unary(method, request, max(deadline - time.monotonic(), 0.05))
            except GrpcError as error:
                unknown_outcome = _is_transient(error) and error.sent and not error.details.startswith(_NOT_PROCESSED)
                self._check_retry(member, error, deadline, unknown_outcome=unknown_outcome)
            await asyncio.sleep(0.05)

    def _check_retry(self, member: Member, error: GrpcError, deadline: float, *, unknown_outcome: bool = False) -> None:
        """Return if the call may be repeated, else raise a StoreError. `error` is the error of the last attempt."""
        if not _is_transient(error):
            raise EtcdError(error.details)
        self.avoid(member, unresponsive=error.status == DEADLINE_EXCEEDED)
        if unknown_outcome:
            raise UnknownOutcomeError(
                f"etcd at {member.url} did not respond, the write may or may not have been committed: {error}"
            )
        if deadline - time.monotonic() < 0.1:
            raise UnavailableError(f"etcd at {member.url} does not respond: {error}")

    async def database_size(self) -> int:
        """Return the size of the database file of the current member. Raise UnavailableError if none responds."""
        return rpc_messages.parse_database_size(await self.read(rpc_messages.STATUS, b"", _STATUS_SECONDS))

    async def versions(self) -> list[str]:
        """Return the members' etcd versions, "" for each member that does not respond."""
        return list(await asyncio.gather(*(self._version(member) for member in self._members)))

    async def _version(self, member: Member) -> str:
        try:
            return rpc_messages.parse_status(await member.unary(rpc_messages.STATUS, b"", ATTEMPT_SECONDS))
        except GrpcError:
            return ""


def _is_transient(error: GrpcError) -> bool:
    """True if the same call may succeed later or on another member."""
    return error.status in (UNAVAILABLE, DEADLINE_EXCEEDED) or error.details.startswith(_NOT_PROCESSED)
