"""Event expiry: deletes Events some time after their last write, as kube-apiserver does with leases in etcd."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

from polykind import errors
from polykind.apis.core.types import EVENT
from polykind.codec import json_codec
from polykind.contract import JsonObject, KeyValue, Leadership, RevisionConflictError, StoreError
from polykind.controllers.leader_job import LeaderTask
from polykind.operations.backend import Backend

log = logging.getLogger("polykind.events")

_MAX_INTERVAL = 60.0
"""The maximum number of seconds between two searches for expired events."""


class EventExpiry:
    """Deletes expired Events on the leader. `ttl` is the lifetime of an Event in seconds; 0 keeps Events forever."""

    def __init__(self, backend: Backend, leadership: Leadership, ttl: float) -> None:
        self._backend = backend
        self._ttl = ttl
        self._task = LeaderTask(leadership, self._run)

    def start(self) -> None:
        if self._ttl > 0:
            self._task.start()

    async def close(self) -> None:
        await self._task.close()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(min(self._ttl / 2, _MAX_INTERVAL))
            try:
                await self.delete_expired()
            except StoreError as error:
                log.warning("event expiry: cannot read or delete events, retrying: %s", error)

    async def delete_expired(self) -> None:
        """Delete all events whose lifetime is over."""
        store, prefix, after = self._backend.store, f"{self._backend.cache.prefix}{EVENT.storage_prefix}/", ""
        deadline = self._backend.clock.now() - timedelta(seconds=self._ttl)
        while True:
            page = await store.scan(prefix, after=after)
            for stored in page.items:
                if _is_older(stored, deadline):
                    await self._delete(stored)
            if page.last:
                return
            after = page.items[-1].key

    async def _delete(self, stored: KeyValue) -> None:
        try:
            await self._backend.store.delete(stored.key, expect=stored.revision)
        except RevisionConflictError:
            log.debug("event expiry: %s was written again, keeping it", stored.key)


def _is_older(stored: KeyValue, deadline: datetime) -> bool:
    """True if the last write of an Event was before the deadline. False if the stored bytes cannot be decoded."""
    try:
        obj: JsonObject = json_codec.decode(stored.value)
        meta = obj["metadata"]
        writes = [entry.get("time") for entry in meta.get("managedFields") or ()]
        last = max(time for time in (meta.get("creationTimestamp"), *writes) if time)
        return datetime.fromisoformat(last) < deadline
    except (KeyError, TypeError, ValueError, AttributeError, errors.BadRequestError):
        return False
