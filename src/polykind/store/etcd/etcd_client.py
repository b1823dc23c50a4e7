"""The client of an etcd cluster: sends calls to one member and fails over to another."""

from __future__ import annotations

import asyncio
import logging
import time

from polykind.contract import StoreError, UnavailableError, UnknownOutcomeError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.grpc_call import DEADLINE_EXCEEDED, UNAVAILABLE, GrpcError
from polykind.store.etcd.member import EtcdAccess, Member

log = logging.getLogger("polykind.etcd")

ATTEMPT_SECONDS = 1.5
"""Seconds until a read is retried on another member."""
TIMEOUT_SECONDS = 5.0
"""Seconds until a call fails."""
UNRESPONSIVE_SECONDS = 5.0
"""Seconds for which a member that did not respond at all is the last choice."""

# Errors that etcd returns before it processes a request, so that even a write may be retried.
_NOT_PROCESSED = ("etcdserver: no leader", "etcdserver: too many requests")


class EtcdError(StoreError):
    """An error returned by etcd, with etcd's message."""


class EtcdClient:
    """The cluster. Reads fail over to the next member. A write with an unknown outcome raises UnknownOutcomeError."""

    def __init__(self, access: EtcdAccess) -> None:
        self._members = [Member(url, access) for url in access.servers]
        self.member = self._members[0]
        """The member that receives the calls."""

    async def close(self) -> None:
        await asyncio.gather(*(member.close() for member in self._members))

    def avoid(self, member: Member, *, unresponsive: bool = False) -> None:
        """Record a member's failure, and switch to the member whose last failure is the oldest."""
        member.failed_at = time.monotonic() + (UNRESPONSIVE_SECONDS if unresponsive else 0)
        if member is self.member and len(self._members) > 1:
            self.member = min(self._members, key=lambda candidate: candidate.failed_at)
            if self.member is not member:
                log.info("etcd client: switching to %s", self.member.url)

    async def read(self, method: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
        """Make a call that may be repeated."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            member = self.member
            try:
                return await member.unary(method, request, max(min(ATTEMPT_SECONDS, deadline - time.monotonic()), 0.05))
            except GrpcError as error:
                self._check_retry(member, error, deadline)
            await asyncio.sleep(0.05)

    async def write(self, method: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
        """Make a call at most once. Raises UnknownOutcomeError if it may have been processed without a response."""
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
        """Return if the call may be retried, else raise a StoreError."""
        if not _is_transient(error):
            raise EtcdError(error.details)
        self.avoid(member, unresponsive=error.status == DEADLINE_EXCEEDED)
        if unknown_outcome:
            raise UnknownOutcomeError(
                f"etcd at {member.url} did not respond, the write may or may not have been committed: {error}"
            )
        if deadline - time.monotonic() < 0.1:
            raise UnavailableError(f"etcd at {member.url} does not respond: {error}")

    async def versions(self) -> list[str]:
        """Return the members' etcd versions, "" for each member that does not respond."""
        return list(await asyncio.gather(*(self._version(member) for member in self._members)))

    async def _version(self, member: Member) -> str:
        try:
            return rpc_messages.parse_status(await member.unary(rpc_messages.STATUS, b"", ATTEMPT_SECONDS))
        except GrpcError:
            return ""


def _is_transient(error: GrpcError) -> bool:
    """True if the call may succeed later or on another member."""
    return error.status in (UNAVAILABLE, DEADLINE_EXCEEDED) or error.details.startswith(_NOT_PROCESSED)
