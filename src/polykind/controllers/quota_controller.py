"""The quota controller: keeps the status of ResourceQuotas true, as kube-controller-manager does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
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
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.informer import Informer
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.quota_usage import ResourceUsage
from polykind.operations.backend import Backend
from polykind.quantity import Quantity
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import Resource

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
        self._ledger = ledger
        self._quiet_seconds = 0.0 if sole_writer else quiet_seconds
        self._quotas = quotas
        self._client = ObjectClient(backend, manager="kube-apiserver")
        self._controller: Controller[str] = Controller(
            leadership, self._reconcile, keys=self._keys, begin=self._begin, end=self._end
        )
        self._controller.inform(Informer(backend.cache, quotas.cache, self._controller.add_all, self._on_quota_changes))
        self._usages: dict[tuple[str, str], ResourceUsage] = {}
        self._hard: dict[str, set[str]] = {}
        """The names in spec.hard of each quota that was counted, by the quota's key."""
        self._freed: dict[str, ResourceList] = {}
        """The usage that deletions have freed since the quota's last update, by the quota's key."""
        self._changed_at: dict[str, float] = {}
        """The time of the last change of each quota."""
        self._first_revision: int | None = None
        """Deletions up to this revision may have been counted by the previous leader. None until it is known."""
        self._grown: set[str] = set()
        """The namespaces whose quotas have to be counted again soon."""
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        await self._controller.start()
        self._ledger.recount = self._enqueue_namespace
        self._backend.registry.observers.append(self._on_resource)
        self._backend.registry.removal_observers.append(self._forget_resource)

    async def close(self) -> None:
        if self._on_resource in self._backend.registry.observers:
            self._backend.registry.observers.remove(self._on_resource)
            self._backend.registry.removal_observers.remove(self._forget_resource)
        await self._controller.close()

    def _begin(self) -> None:
        self._first_revision = None

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for usage in self._usages.values():
            usage.close()
        self._usages, self._hard, self._freed, self._changed_at = {}, {}, {}, {}

    # ------------------------------------------------------------------ what to count again

    def _keys(self) -> Iterable[str]:
        return [cached.key for cached in self._quotas.cache.unordered()]

    def _enqueue_namespace(self, namespace: str) -> None:
        """Count the quotas of a namespace again, soon."""
        if self._controller.running:
            self._grown.add(namespace)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_RECOUNT_DELAY, self._enqueue_grown)

    def _enqueue_grown(self) -> None:
        self._timer = None
        grown, self._grown = self._grown, set()
        for namespace in grown:
            for cached in self._quotas.cache.snapshot(namespace):
                self._controller.add(cached.key)

    def _on_quota_changes(self, changes: list[ObjectChange]) -> None:
        if not self._controller.running:
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
                self._controller.add(key)

    def _on_resource(self, resource: Resource) -> None:
        """Count quotas again that limit a resource that is served from now on."""
        if resource.namespaced:
            self._controller.add_all()

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
            if freed and self._first_revision is not None and change.revision > self._first_revision:
                self._freed[cached.key] = add(self._freed.get(cached.key, {}), freed)
                self._controller.add(cached.key)
        self._enqueue_namespace(namespace)

    # ------------------------------------------------------------------ counting

    async def _reconcile(self, key: str) -> float | None:
        if self._first_revision is None:
            self._first_revision = await self._backend.store.revision()
        cached = self._quotas.cache.get(key)
        quota = self._read(cached) if cached is not None else None
        if quota is None:
            return None
        await asyncio.sleep(0)  # A quota may have so many names that each of these steps takes milliseconds.
        usages = await self._observe(set(_limits(quota)))
        await asyncio.sleep(0)
        namespace = quota["metadata"]["namespace"]
        async with self._ledger.lock(namespace):
            cached = await self._client.read(self._quotas, key)
            quota = self._read(cached) if cached is not None else None
            return await self._count(key, quota, usages) if quota is not None else None

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
                usage = self._usages[key] = ResourceUsage(resource, self._on_object_change, self._controller.add_all)
            await self._backend.cache.load(resource.cache)
            usages.append(usage)
        return usages

    async def _count(self, key: str, quota: JsonObject, usages: list[ResourceUsage]) -> float:
        """Write the limits and the usage into a quota's status, if they differ.

        Return the number of seconds until the quota has to be counted again.
        """
        hard = _limits(quota)
        self._hard[key] = set(hard)
        freed = self._freed.get(key, {})
        counted = await self._count_objects(quota, usages)
        status = quota.get("status") or {}
        before = mask(parse_resources(status.get("used")), hard)
        used, wait = counted, self._seconds_until_quiet(key)
        if wait > 0:
            used = largest(counted, mask(subtract(before, freed), set(status.get("hard") or ())))
        is_exact = used == counted
        used = {**before, **used}
        if used != before or (status.get("hard") or {}) != hard or "used" not in status:
            changed = {**quota, "status": {"hard": hard, "used": to_json(used)}}
            await self._client.replace(self._quotas.storage_version(), changed, subresource="status")
        rest = subtract(self._freed.pop(key, {}), freed)
        if any(quantity.sign for quantity in rest.values()):
            self._freed[key] = rest
            self._controller.add(key)
        return _RESYNC_SECONDS if is_exact else wait

    async def _count_objects(self, quota: JsonObject, usages: list[ResourceUsage]) -> ResourceList:
        """Return the usage by the stored objects and by the open charges of this process."""
        hard, namespace = _limits(quota), quota["metadata"]["namespace"]
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
                decoded.append((usage, names, usage.cache.snapshot(namespace)))
            else:
                stored = add(dict.fromkeys(names, Quantity.of(0)) | stored, usage.count(quota, names))
        charged = self._ledger.open_amounts(namespace, quota["metadata"]["name"])
        await asyncio.sleep(0)
        now = self._backend.clock.now()
        for usage, names, objects in decoded:
            stored = add(stored, await usage.evaluate(objects, quota, names, now))
        return mask(add(stored, mask(charged, stored)), hard)

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
