"""Calls to an etcd cluster: the member that answered last is asked next."""

from __future__ import annotations

import asyncio
import logging
import time

from polykind.contract import StoreError, UnavailableError, UnknownOutcomeError
from polykind.store.etcd import messages
from polykind.store.etcd.call import DEADLINE_EXCEEDED, UNAVAILABLE, CallError
from polykind.store.etcd.member import Access, Member

log = logging.getLogger("polykind.etcd")

ATTEMPT = 1.5
"""Seconds until a read is tried on another member."""
PATIENCE = 5.0
"""Seconds until a call is given up."""
SILENCE = 5.0
"""Seconds for which a member that did not answer at all is the last to be asked."""

# With these words nothing was done, so that even a write may be tried again.
_NOT_DONE = ("etcdserver: no leader", "etcdserver: too many requests")


class Refused(StoreError):
    """etcd's own refusal, with its words."""


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
            try:
                return await member.unary(method, request, max(min(ATTEMPT, deadline - time.monotonic()), 0.05))
            except CallError as error:
                self._judge(member, error, deadline)
            await asyncio.sleep(0.05)

    async def write(self, method: str, request: bytes, patience: float = PATIENCE) -> bytes:
        """A call that is made once. Raises Uncertain if it may have been done without an answer."""
        deadline = time.monotonic() + patience
        while True:
            member = self.member
            try:
                return await member.unary(method, request, max(deadline - time.monotonic(), 0.05))
            except CallError as error:
                doubtful = _fleeting(error) and error.sent and not error.details.startswith(_NOT_DONE)
                self._judge(member, error, deadline, final=doubtful)
            await asyncio.sleep(0.05)

    def _judge(self, member: Member, error: CallError, deadline: float, *, final: bool = False) -> None:
        """Return if the call may be tried again; else raise what its failure means."""
        if not _fleeting(error):
            raise Refused(error.details)
        self.avoid(member, silent=error.status == DEADLINE_EXCEEDED)
        if final:
            raise UnknownOutcomeError(
                f"etcd at {member.url} did not answer, the write may have been made or not: {error}"
            )
        if deadline - time.monotonic() < 0.1:
            raise UnavailableError(f"etcd at {member.url} does not answer: {error}")

    async def versions(self) -> list[str]:
        """The versions of the members that answer; an empty text for each that does not."""
        return list(await asyncio.gather(*(self._version(member) for member in self._members)))

    async def _version(self, member: Member) -> str:
        try:
            return messages.status_answer(await member.unary(messages.STATUS, b"", ATTEMPT))
        except CallError:
            return ""


def _fleeting(error: CallError) -> bool:
    """Whether the call may go better another time or elsewhere."""
    return error.status in (UNAVAILABLE, DEADLINE_EXCEEDED) or error.details.startswith(_NOT_DONE)
