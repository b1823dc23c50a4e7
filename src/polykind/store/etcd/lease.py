"""A lease: keys that are bound to it go when its owner has not shown life for some seconds."""

from __future__ import annotations

import time

from polykind.contract import StoreError, UnavailableError
from polykind.store.etcd import messages
from polykind.store.etcd.call import DEADLINE_EXCEEDED, CallError
from polykind.store.etcd.client import Client


class Lease:
    """`until` is the moment, by our own clock, up to which etcd keeps it for certain."""

    def __init__(self, client: Client, number: int, seconds: int, until: float) -> None:
        self._client = client
        self.number = number
        self.seconds = seconds
        self.until = until

    @classmethod
    async def grant(cls, client: Client, seconds: int) -> Lease:
        # A grant that is made twice leaves a lease behind that nobody uses and that ends by itself.
        asked = time.monotonic()
        answer = await client.read(messages.LEASE_GRANT, messages.lease_request(seconds))
        number, granted = messages.lease_answer(answer)
        return cls(client, number, granted, asked + granted)

    async def renew(self, patience: float) -> bool:
        """Show life: whether the lease goes on. Raises Unavailable."""
        asked, member = time.monotonic(), self._client.member
        try:
            # A stream by its nature; one message each way and its end make a call of it.
            answer = await member.unary(messages.LEASE_KEEP_ALIVE, messages.lease_of(self.number), patience)
        except CallError as error:
            self._client.avoid(member, silent=error.status == DEADLINE_EXCEEDED)
            raise UnavailableError(f"a lease was not renewed by etcd at {member.url}: {error}") from None
        _, left = messages.lease_answer(answer)
        if left:
            self.until = asked + left
        return left > 0

    async def revoke(self) -> None:
        try:
            await self._client.read(messages.LEASE_REVOKE, messages.lease_of(self.number), 1.0)
        except StoreError:
            # It ends by itself, only later.
            return
