"""Leadership by a lease of etcd's: the leader's key is bound to it and goes when the leader dies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from polykind.contract import StoreError, StoreEvent, UnavailableError
from polykind.store.etcd import messages
from polykind.store.etcd.lease import Lease
from polykind.store.etcd.store import EtcdStore

log = logging.getLogger("polykind.leader")

SECONDS = 4
"""How long a leader that shows no life stays one."""
RENEW = 1.0
MARGIN = 0.5
"""A leader that could not renew stops this long before another may begin."""


class EtcdLeadership:
    """Campaigns as long as it runs. While it leads it also compacts every `compaction` seconds (0: never)."""

    def __init__(self, store: EtcdStore, prefix: str, identity: str, compaction: float = 0.0) -> None:
        self._store = store
        # No group and no resource can have this name.
        self._key = f"{prefix}/_polykind/leader"
        self._identity = identity
        self._compaction = compaction
        self._leading = False
        self._followers: list[Callable[[bool], None]] = []
        self._campaign: asyncio.Task[None] | None = None
        self._compacting: asyncio.Task[None] | None = None
        self._vacant = asyncio.Event()

    @property
    def leading(self) -> bool:
        return self._leading

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        self._followers.append(on_change)

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
                await self._run_for_office()
            except StoreError as error:
                log.warning("leadership: %s", error)
                await asyncio.sleep(RENEW)

    async def _run_for_office(self) -> None:
        """One term: wait until the office is vacant, take it, keep it as long as the lease is renewed."""
        watching = self._store.watch(self._key, await self._store.revision(), self)
        lease: Lease | None = None
        try:
            while await self._store.get(self._key) is not None:
                await self._vacancy()
            lease = await Lease.grant(self._store.client, SECONDS)
            request = messages.put_request(self._key.encode(), self._identity.encode(), 0, lease.number)
            answer = messages.txn_answer(await self._store.client.write(messages.TXN, request))
            if answer.succeeded:
                await self._hold(lease)
        finally:
            watching.close()
            self._change(False)
            if lease is not None:
                await lease.revoke()

    async def _vacancy(self) -> None:
        self._vacant.clear()
        try:
            async with asyncio.timeout(SECONDS / 2):
                await self._vacant.wait()
        except TimeoutError:
            # Looked at now and then all the same: the word of it may have been lost.
            return

    async def _hold(self, lease: Lease) -> None:
        self._change(True)
        while True:
            await asyncio.sleep(RENEW)
            patience = lease.until - MARGIN - time.monotonic()
            if patience <= 0:
                raise UnavailableError("the lease could not be renewed in time, another may lead")
            try:
                if not await lease.renew(min(patience, RENEW)):
                    raise UnavailableError("the lease has ended, another may lead")
            except UnavailableError as error:
                if time.monotonic() >= lease.until - MARGIN:
                    raise
                log.info("leadership: %s", error)

    def _change(self, leading: bool) -> None:
        if leading == self._leading:
            return
        self._leading = leading
        log.info("%s %s", self._identity, "leads" if leading else "leads no more")
        if self._compacting is not None:
            self._compacting.cancel()
            self._compacting = None
        if leading and self._compaction:
            self._compacting = asyncio.create_task(self._compact())
        for on_change in self._followers:
            try:
                on_change(leading)
            except Exception:
                log.exception("a change of leadership was not taken well")

    async def _compact(self) -> None:
        """Forget what is older than the interval, at least."""
        before = 0
        while True:
            try:
                newest = await self._store.revision()
                if before:
                    await self._store.compact(before)
                before = newest
            except StoreError as error:
                log.warning("etcd was not compacted: %s", error)
            await asyncio.sleep(self._compaction)

    # The store's listener

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        if any(event.value is None for event in events):
            self._vacant.set()

    def on_lost(self, error: StoreError) -> None:
        self._vacant.set()
