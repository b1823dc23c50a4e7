"""Leader election by an etcd lease: etcd deletes the leader's key when the leader no longer renews its lease."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from polykind.contract import StoreError, StoreEvent, UnavailableError
from polykind.grpc.grpc_call import DEADLINE_EXCEEDED, GrpcError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import EtcdClient
from polykind.store.etcd.store import EtcdStore

log = logging.getLogger("polykind.leader")

LEASE_SECONDS = 4
"""Seconds after which a leader that does not renew its lease is replaced."""
RENEW_SECONDS = 1.0
MARGIN_SECONDS = 0.5
"""A leader that cannot renew its lease resigns this long before the lease expires."""


class Lease:
    """A lease that etcd has granted. It is valid at least until `until` on this machine's monotonic clock."""

    def __init__(self, client: EtcdClient, lease_id: int, seconds: int, until: float) -> None:
        self._client = client
        self.lease_id = lease_id
        self.seconds = seconds
        self.until = until

    @classmethod
    async def grant(cls, client: EtcdClient, seconds: int) -> Lease:
        # The call can be repeated safely: if etcd grants two leases, the unused one expires.
        requested = time.monotonic()
        response = await client.read(rpc_messages.LEASE_GRANT, rpc_messages.number_request(seconds))
        lease_id, granted = rpc_messages.parse_lease(response)
        return cls(client, lease_id, granted, requested + granted)

    async def renew(self, timeout_seconds: float) -> bool:
        """Renew the lease. Return False if it has expired. Raise UnavailableError if etcd does not respond."""
        requested, member = time.monotonic(), self._client.member
        try:
            # LeaseKeepAlive is a streaming call; with one message in each direction it works as a unary call.
            request = rpc_messages.number_request(self.lease_id)
            response = await member.unary(rpc_messages.LEASE_KEEP_ALIVE, request, timeout_seconds)
        except GrpcError as error:
            self._client.avoid(member, unresponsive=error.status == DEADLINE_EXCEEDED)
            raise UnavailableError(f"etcd at {member.url} did not renew the lease: {error}") from None
        _, remaining = rpc_messages.parse_lease(response)
        if remaining:
            self.until = requested + remaining
        return remaining > 0

    async def revoke(self) -> None:
        try:
            await self._client.read(rpc_messages.LEASE_REVOKE, rpc_messages.number_request(self.lease_id), 1.0)
        except StoreError:
            # The revocation of the lease failed, but the lease expires by itself.
            return


class EtcdLeadership:
    """Takes part in the election while it runs. The leader compacts etcd every `compaction_seconds` (0: never)."""

    def __init__(self, store: EtcdStore, prefix: str, identity: str, compaction_seconds: float = 0.0) -> None:
        self._store = store
        # This key cannot collide with objects: no API group and no resource can have a name with an underscore.
        self._key = f"{prefix}/_polykind/leader"
        self._identity = identity
        self._compaction_seconds = compaction_seconds
        self._leading = False
        self._subscribers: list[Callable[[bool], None]] = []
        self._campaign: asyncio.Task[None] | None = None
        self._compacting: asyncio.Task[None] | None = None
        self._vacant = asyncio.Event()

    @property
    def leading(self) -> bool:
        return self._leading

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        self._subscribers.append(on_change)

    async def start(self) -> None:
        self._campaign = asyncio.create_task(self._run())

    async def close(self) -> None:
        tasks = [task for task in (self._campaign, self._compacting) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._run_term()
            except StoreError as error:
                log.warning("leader election: campaign failed: %s, retrying in %.0f s", error, RENEW_SECONDS)
                await asyncio.sleep(RENEW_SECONDS)

    async def _run_term(self) -> None:
        """Wait until there is no leader, become the leader, and lead as long as the lease is renewed."""
        watch = self._store.watch(self._key, await self._store.revision(), self)
        lease: Lease | None = None
        try:
            while await self._store.get(self._key) is not None:
                await self._wait_for_vacancy()
            lease = await Lease.grant(self._store.client, LEASE_SECONDS)
            request = rpc_messages.put_request(self._key.encode(), self._identity.encode(), 0, lease.lease_id)
            response = rpc_messages.parse_txn(await self._store.client.write(rpc_messages.TXN, request))
            if response.succeeded:
                await self._lead(lease)
        finally:
            watch.close()
            self._set_leading(False)
            if lease is not None:
                await lease.revoke()

    async def _wait_for_vacancy(self) -> None:
        self._vacant.clear()
        try:
            async with asyncio.timeout(LEASE_SECONDS / 2):
                await self._vacant.wait()
        except TimeoutError:
            # The watch may have missed the deletion, so return to check the key.
            return

    async def _lead(self, lease: Lease) -> None:
        self._set_leading(True)
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            remaining = lease.until - MARGIN_SECONDS - time.monotonic()
            if remaining <= 0:
                raise UnavailableError("the lease could not be renewed in time, another replica may lead")
            try:
                if not await lease.renew(min(remaining, RENEW_SECONDS)):
                    raise UnavailableError("the lease has expired, another replica may lead")
            except UnavailableError as error:
                if time.monotonic() >= lease.until - MARGIN_SECONDS:
                    raise
                log.info("leader election: %s, retrying", error)

    def _set_leading(self, leading: bool) -> None:
        if leading == self._leading:
            return
        self._leading = leading
        log.info("leader election: %s %s", self._identity, "is the leader" if leading else "is no longer the leader")
        if self._compacting is not None:
            self._compacting.cancel()
            self._compacting = None
        if leading and self._compaction_seconds:
            self._compacting = asyncio.create_task(self._compact())
        for on_change in self._subscribers:
            try:
                on_change(leading)
            except Exception:
                log.exception(
                    "leader election: a subscriber failed on a change of leadership, continuing with the next"
                )

    async def _compact(self) -> None:
        """Compact etcd's history periodically. Keep at least the history of the last interval."""
        previous = 0
        while True:
            try:
                newest = await self._store.revision()
                if previous:
                    await self._store.compact(previous)
                previous = newest
            except StoreError as error:
                log.warning("etcd store: compaction failed, retrying in %.0f s: %s", self._compaction_seconds, error)
            await asyncio.sleep(self._compaction_seconds)

    # WatchListener

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        if any(event.value is None for event in events):
            self._vacant.set()

    def on_lost(self, error: StoreError) -> None:
        self._vacant.set()
