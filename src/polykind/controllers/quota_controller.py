"""The quota controller: keeps the status of ResourceQuotas true, as kube-controller-manager does."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from polykind import errors
from polykind.admission.plugins.quota_evaluators import limited_resources, limits_size
from polykind.admission.plugins.quota_ledger import QuotaLedger
from polykind.admission.plugins.resource_lists import (
    ResourceList,
    add,
    largest,
    mask,
    parse_resources,
    subtract,
    to_json,
)
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject, Leadership, StoreError
from polykind.controllers.informer import Informer
from polykind.controllers.quota_informer import RETRY_SECONDS, ServerStatusWriter
from polykind.controllers.quota_usage import ResourceUsage
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.quantity import Quantity
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import Resource

log = logging.getLogger("polykind.quotas")

_RESYNC_SECONDS = 300.0
"""Seconds between two counts of every quota, as in kube-controller-manager."""
_RECOUNT_DELAY = 1.0
"""Seconds after which a quota is counted again because objects were added. Admission has already charged most of them.
"""

_KEYS_PER_SLICE = 5000
"""The number of resources that a quota limits to look up before other tasks run. They may not exist."""


class QuotaController:
    """Sets status.hard and status.used of all quotas, on the leader.

    Admission charges a request before its object is stored, so the number of stored objects can be too low. If no other
    process writes to the store, the open charges of this process are added to it. Otherwise, other replicas have open
    charges that this one does not know. Then usage is lowered by what deletions free, and is set to the number of
    stored objects only after `quiet_seconds` without a change of the quota, when no request can still be open.
    """

    def __init__(
        self,
        backend: Backend,
        leadership: Leadership,
        ledger: QuotaLedger,
        *,
        sole_writer: bool,
        quiet_seconds: float,
    ) -> None:
        quotas = backend.registry.resource("", "resourcequotas")
        if not isinstance(quotas, BuiltinResource):
            raise AssertionError("quotas are always served")
        self._backend = backend
        self._leadership = leadership
        self._ledger = ledger
        self._quiet_seconds = 0.0 if sole_writer else quiet_seconds
        self._quotas = quotas
        self._status = ServerStatusWriter(lambda: backend)
        self._queue: WorkQueue[str] = WorkQueue(self._reconcile)
        self._informer: Informer[None] = Informer(
            backend.cache, quotas.cache, self._enqueue_all, self._on_quota_changes
        )
        self._usages: dict[tuple[str, str], ResourceUsage] = {}
        self._hard: dict[str, set[str]] = {}
        """The names in spec.hard of each quota that was counted, by the quota's key."""
        self._freed: dict[str, ResourceList] = {}
        """The usage that deletions have freed since the quota's last update, by the quota's key."""
        self._changed_at: dict[str, float] = {}
        """The time of the last change of each quota."""
        self._first_revision = 0
        """Deletions up to this revision may have been counted by the previous leader."""
        self._grown: set[str] = set()
        """The namespaces whose quotas have to be counted again soon."""
        self._timer: asyncio.TimerHandle | None = None
        self._resync: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._informer.start()
        self._ledger.recount = self._enqueue_namespace
        self._backend.registry.observers.append(self._on_resource)
        self._backend.registry.removal_observers.append(self._forget_resource)
        self._leadership.subscribe(self._on_leadership)
        self._on_leadership(self._leadership.leading)

    async def close(self) -> None:
        self._stop()
        if self._on_resource in self._backend.registry.observers:
            self._backend.registry.observers.remove(self._on_resource)
            self._backend.registry.removal_observers.remove(self._forget_resource)
        await self._informer.close()
        await self._queue.close()
        if self._resync is not None:
            await asyncio.gather(self._resync, return_exceptions=True)

    def _on_leadership(self, leading: bool) -> None:
        self._stop()
        if leading:
            self._resync = asyncio.get_running_loop().create_task(self._run())

    def _stop(self) -> None:
        if self._resync is not None:
            self._resync.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for usage in self._usages.values():
            usage.close()
        self._usages, self._hard, self._freed, self._changed_at = {}, {}, {}, {}
        self._queue.pause()

    async def _run(self) -> None:
        while True:
            try:
                self._first_revision = await self._backend.store.revision()
                break
            except StoreError as error:
                log.warning("quota controller: cannot read the store, retrying in %.0f s: %s", RETRY_SECONDS, error)
                await asyncio.sleep(RETRY_SECONDS)
        self._queue.open()
        while True:
            self._enqueue_all()
            await asyncio.sleep(_RESYNC_SECONDS)

    # ------------------------------------------------------------------ what to count again

    def _enqueue_all(self) -> None:
        if self._leadership.leading:
            for cached in self._quotas.cache.unordered():
                self._queue.add(cached.key)

    def _enqueue_namespace(self, namespace: str) -> None:
        """Count the quotas of a namespace again, soon."""
        if self._leadership.leading:
            self._grown.add(namespace)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_RECOUNT_DELAY, self._enqueue_grown)

    def _enqueue_grown(self) -> None:
        self._timer = None
        grown, self._grown = self._grown, set()
        for namespace in grown:
            for cached in self._quotas.cache.snapshot(namespace):
                self._queue.add(cached.key)

    def _on_quota_changes(self, changes: list[ObjectChange]) -> None:
        if not self._leadership.leading:
            return
        now = asyncio.get_running_loop().time()
        for change in changes:
            key = change.cached.key
            if change.new is None:
                for known in (self._hard, self._freed, self._changed_at):
                    known.pop(key, None)
                continue
            self._changed_at[key] = now
            quota = self._read(change.new)
            if quota is not None and _limits(quota) != ((quota.get("status") or {}).get("hard") or {}):
                self._queue.add(key)

    def _on_resource(self, resource: Resource) -> None:
        """Count quotas again that limit a resource that is served from now on."""
        if resource.namespaced:
            self._enqueue_all()

    def _forget_resource(self, resource: Resource) -> None:
        usage = self._usages.pop((resource.group, resource.plural), None)
        if usage is not None:
            usage.close()

    def _on_object_change(self, usage: ResourceUsage, change: ObjectChange) -> None:
        namespace = change.cached.namespace
        quotas = self._quotas.cache.snapshot(namespace)
        if not quotas:
            return
        if change.old is None:
            self._enqueue_namespace(namespace)
            return
        now = self._backend.clock.now()
        for cached in quotas:
            names = usage.names(self._hard.get(cached.key, set()))
            quota = self._read(cached) if names else None
            if quota is None:
                continue
            freed = {n: q for n, q in usage.decrease(change, quota, names, now).items() if q.sign}
            if freed and change.revision > self._first_revision:
                self._freed[cached.key] = add(self._freed.get(cached.key, {}), freed)
                self._queue.add(cached.key)
        self._enqueue_namespace(namespace)

    # ------------------------------------------------------------------ counting

    async def _reconcile(self, key: str) -> None:
        cached = self._quotas.cache.get(key)
        quota = self._read(cached) if cached is not None else None
        if quota is None:
            return
        await asyncio.sleep(0)  # A quota may have so many names that each of these steps takes milliseconds.
        usages = await self._observe(set(_limits(quota)))
        await asyncio.sleep(0)
        namespace = quota["metadata"]["namespace"]
        async with self._ledger.lock(namespace):
            await self._backend.cache.wait_until_fresh(self._quotas.cache)
            cached = self._quotas.cache.get(key)
            quota = self._read(cached) if cached is not None else None
            if quota is not None:
                await self._count(key, quota, usages)

    async def _observe(self, names: set[str]) -> list[ResourceUsage]:
        """Return the usages of all resources that a quota limits. Load and observe the resources."""
        keys, all_custom = limited_resources(names)
        await asyncio.sleep(0)
        registry = self._backend.registry
        if all_custom:
            keys |= {(one.group, one.plural) for one in registry.resources() if not one.is_builtin}
        usages = []
        for number, key in enumerate(keys):
            if number % _KEYS_PER_SLICE == _KEYS_PER_SLICE - 1:
                await asyncio.sleep(0)
            resource = registry.resource(*key)
            if resource is None or not resource.namespaced:
                continue
            usage = self._usages.get(key)
            if usage is None or usage.cache is not resource.cache:
                if usage is not None:
                    usage.close()
                usage = self._usages[key] = ResourceUsage(resource, self._on_object_change, self._enqueue_all)
            await self._backend.cache.load(resource.cache)
            usages.append(usage)
        return usages

    async def _count(self, key: str, quota: JsonObject, usages: list[ResourceUsage]) -> None:
        """Write the limits and the usage into a quota's status, if they differ."""
        hard = _limits(quota)
        self._hard[key] = set(hard)
        freed = self._freed.get(key, {})
        # These names are known to be unused even if no resource of that name is served, so that the first object of a
        # new CRD is not rejected.
        known = [name for name in hard if name.startswith("count/") or limits_size(name)]
        stored: ResourceList = dict.fromkeys(known, Quantity.of(0))
        decoded = []
        # Up to here, and in this loop, no other task runs: the objects and the open charges are of the same moment.
        for usage in usages:
            names = usage.names(set(hard))
            if usage.decodes:
                stored |= {name: Quantity.of(0) for name in names if name not in stored}
                decoded.append((usage, names, usage.cache.snapshot(quota["metadata"]["namespace"])))
            else:
                stored = add(dict.fromkeys(names, Quantity.of(0)) | stored, usage.count(quota, names))
        charged = self._ledger.open_amounts(quota["metadata"]["namespace"], quota["metadata"]["name"])
        await asyncio.sleep(0)
        now = self._backend.clock.now()
        for usage, names, objects in decoded:
            stored = add(stored, await usage.evaluate(objects, quota, names, now))
        counted = mask(add(stored, mask(charged, stored)), hard)
        status = quota.get("status") or {}
        before = mask(parse_resources(status.get("used")), hard)
        used, wait = counted, self._seconds_until_quiet(key)
        if wait > 0:
            used = largest(counted, mask(subtract(before, freed), set(status.get("hard") or ())))
            if used != counted:
                self._queue.add_after(key, wait)
        used = {**before, **used}
        if used != before or (status.get("hard") or {}) != hard or "used" not in status:
            changed = {**quota, "status": {"hard": hard, "used": to_json(used)}}
            await self._status.update_status("", "resourcequotas", changed)
        rest = subtract(self._freed.pop(key, {}), freed)
        if any(quantity.sign for quantity in rest.values()):
            self._freed[key] = rest
            self._queue.add(key)

    def _seconds_until_quiet(self, key: str) -> float:
        """Return the number of seconds until no other replica can have an open request that the quota includes."""
        if not self._quiet_seconds:
            return 0.0
        now = asyncio.get_running_loop().time()
        return self._changed_at.setdefault(key, now) + self._quiet_seconds - now

    def _read(self, cached: CachedObject) -> JsonObject | None:
        """Decode a quota. Return None if it is damaged. Reads of it report the problem."""
        try:
            return self._quotas.shown(cached)
        except errors.APIError:
            return None


def _limits(quota: JsonObject) -> dict[str, Any]:
    hard: dict[str, Any] = (quota.get("spec") or {}).get("hard") or {}
    return hard
