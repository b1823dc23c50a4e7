"""Calls to an etcd cluster: a channel to each member, and the member that answers is asked next."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import grpc.aio

from polykind.contract import StoreError, Unavailable, Uncertain
from polykind.store.etcd import messages

log = logging.getLogger("polykind.etcd")
# It writes a line for every call, which would drown ours.
logging.getLogger("grpc").setLevel(logging.WARNING)

ATTEMPT = 1.5
"""Seconds until a read is tried on another member."""
PATIENCE = 5.0
"""Seconds until a call is given up."""
SILENCE = 5.0
"""Seconds for which a member that did not answer at all is the last to be asked."""

# A member that has lost its leader refuses at once instead of answering from what it knew.
_METADATA = (("hasleader", "true"),)
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # etcd hangs up on clients that ask more often than every five seconds whether it is alive.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
]
_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
# With these words nothing was done, so that even a write may be tried again.
_NOT_DONE = ("failed to connect to all addresses", "etcdserver: no leader", "etcdserver: too many requests")


@dataclass(frozen=True, slots=True)
class Access:
    """Where etcd is and how to prove who we are: the flags --etcd-servers, --etcd-cafile and so on."""

    servers: Sequence[str]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        def read(path: Path | None) -> bytes | None:
            return path.read_bytes() if path else None

        return grpc.ssl_channel_credentials(read(self.ca_file), read(self.key_file), read(self.cert_file))


class Refused(StoreError):
    """etcd's own refusal, with its words."""


class Member:
    """One etcd server."""

    def __init__(self, url: str, access: Access) -> None:
        self.url = url
        parts = urlsplit(url if "//" in url else f"http://{url}")
        host = parts.hostname or ""
        target = f"{f'[{host}]' if ':' in host else host}:{parts.port or 2379}"
        if parts.scheme == "https":
            self._channel = grpc.aio.secure_channel(target, access.credentials(), options=_OPTIONS)
        elif parts.scheme == "http":
            self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        else:
            raise StoreError(f"{url} is not the address of an etcd server: it begins with http:// or https://")
        self._calls: dict[str, Callable[..., Any]] = {}
        self.blame = 0.0
        """When it last failed, or some time later if it did not even refuse."""

    def unary(self, method: str, request: bytes, timeout: float) -> Any:
        call = self._calls.get(method)
        if call is None:
            call = self._calls[method] = self._channel.unary_unary(method)
        return call(request, timeout=timeout, metadata=_METADATA)

    def stream(self, method: str) -> Any:
        return self._channel.stream_stream(method)(metadata=_METADATA)

    async def close(self) -> None:
        await self._channel.close()


class Client:
    """The cluster. Reads go on to the next member when one fails; a write whose fate is unknown is an error."""

    def __init__(self, access: Access) -> None:
        self._members = [Member(url, access) for url in access.servers]
        self.member = self._members[0]
        """The one that is asked."""

    async def close(self) -> None:
        await asyncio.gather(*(member.close() for member in self._members))

    def avoid(self, member: Member, *, silent: bool = False) -> None:
        """It failed, or was silent: ask the one with the least to blame for from now on."""
        member.blame = time.monotonic() + (SILENCE if silent else 0)
        if member is self.member and len(self._members) > 1:
            self.member = min(self._members, key=lambda each: each.blame)
            if self.member is not member:
                log.info("etcd is asked at %s from now on", self.member.url)

    async def read(self, method: str, request: bytes, patience: float = PATIENCE) -> bytes:
        """A call that may be made twice."""
        deadline = time.monotonic() + patience
        while True:
            member = self.member
            left = deadline - time.monotonic()
            try:
                answer: bytes = await member.unary(method, request, max(min(ATTEMPT, left), 0.05))
                return answer
            except grpc.aio.AioRpcError as error:
                if error.code() not in _AGAIN:
                    raise _refused(error) from None
                self.avoid(member, silent=error.code() == grpc.StatusCode.DEADLINE_EXCEEDED)
                if deadline - time.monotonic() < 0.1:
                    raise Unavailable(f"etcd at {member.url} does not answer: {error.details()}") from None
            await asyncio.sleep(0.05)

    async def write(self, method: str, request: bytes, patience: float = PATIENCE) -> bytes:
        """A call that is made once. Raises Uncertain if it may have been done without an answer."""
        deadline = time.monotonic() + patience
        while True:
            member = self.member
            try:
                answer: bytes = await member.unary(method, request, max(deadline - time.monotonic(), 0.05))
                return answer
            except grpc.aio.AioRpcError as error:
                details = error.details() or ""
                if error.code() not in _AGAIN and not details.startswith(_NOT_DONE):
                    raise _refused(error) from None
                self.avoid(member, silent=error.code() == grpc.StatusCode.DEADLINE_EXCEEDED)
                if not details.startswith(_NOT_DONE):
                    why = f"etcd at {member.url} did not answer, the write may have been made or not: {details}"
                    raise Uncertain(why) from None
                if deadline - time.monotonic() < 0.1:
                    raise Unavailable(f"etcd at {member.url} does not answer: {details}") from None
            await asyncio.sleep(0.05)

    async def versions(self) -> list[str]:
        """The versions of the members that answer; an empty text for each that does not."""
        return list(await asyncio.gather(*(self._version(member) for member in self._members)))

    async def _version(self, member: Member) -> str:
        try:
            return messages.status_answer(await member.unary(messages.STATUS, b"", ATTEMPT))
        except grpc.aio.AioRpcError:
            return ""


def _refused(error: grpc.aio.AioRpcError) -> StoreError:
    if error.code() == grpc.StatusCode.CANCELLED:
        return Unavailable("the connection to etcd was closed")
    return Refused(error.details() or error.code().name)
