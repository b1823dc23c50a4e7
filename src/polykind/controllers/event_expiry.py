"""Event expiry: deletes Events some time after their last write, as kube-apiserver does with leases in etcd."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from polykind import errors
from polykind.apis.core.types import EVENT
from polykind.codec import json_codec
from polykind.contract import JsonObject, KeyValue, Leadership, RevisionConflictError
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend

log = logging.getLogger("polykind.events")

_MAX_INTERVAL = 60.0
"""The maximum number of seconds between two searches for expired events."""


class EventExpiry:
    """Deletes expired Events on the leader. `ttl` is the lifetime of an Event in seconds; 0 keeps Events forever."""

    def __init__(self, backend: Backend, leadership: Leadership, ttl: float) -> None:
        self._backend = backend
        self._ttl = ttl
        self._client = ObjectClient(backend)
        self._controller: Controller[str] = Controller(leadership, self._reconcile, begin=self._begin)
        self.close = self._controller.close

    async def start(self) -> None:
        if self._ttl > 0:
            await self._controller.start()

    @property
    def _interval(self) -> float:
        return min(self._ttl / 2, _MAX_INTERVAL)

    def _begin(self) -> None:
        self._controller.add_after(EVENT.storage_prefix, self._interval)

    async def _reconcile(self, _: str) -> float:
        await self.delete_expired()
        return self._interval

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
            await self._client.remove_stored(stored)
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
