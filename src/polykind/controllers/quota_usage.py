"""The usage of quotas by stored objects: the total of a namespace, and the decreases by deletions and updates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from polykind import errors
from polykind.admission.plugins.quota_evaluators import Evaluator, evaluator_for, in_scopes, quota_scopes, size_names
from polykind.admission.plugins.resource_lists import ResourceList, add, mask, subtract
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject
from polykind.quantity import BINARY_SI, Quantity
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import Resource

_BATCH = 100
"""The number of objects that are decoded before other requests can run."""

OnChange = Callable[["ResourceUsage", ObjectChange], None]


class ResourceUsage:
    """The usage of one resource in all namespaces with quotas. Observes the resource's cache.

    Custom objects are counted without decoding them. The totals of their bytes are kept up to date.
    """

    def __init__(self, resource: Resource, on_change: OnChange, on_reset: Callable[[], None]) -> None:
        self.resource = resource
        self.cache = resource.cache
        self._on_change = on_change
        self._on_reset = on_reset
        self._bytes: dict[str, int] = {}
        self._size_names = set() if resource.is_builtin else size_names(resource.group, resource.plural)
        self._evaluator = evaluator_for(resource.group, resource.plural) or Evaluator(frozenset())
        self.cache.observers.append(self)

    def close(self) -> None:
        if self in self.cache.observers:
            self.cache.observers.remove(self)

    def on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            namespace = change.cached.namespace
            if namespace in self._bytes:
                self._bytes[namespace] += _size(change.new) - _size(change.old)
            self._on_change(self, change)

    def on_reset(self) -> None:
        self._bytes.clear()
        self._on_reset()

    def names(self, hard: set[str]) -> set[str]:
        """Return the names in a quota's spec.hard that limit this resource."""
        return self._evaluator.matching(hard) | (hard & self._size_names)

    @property
    def decodes(self) -> bool:
        """True if the usage depends on the content of the objects."""
        return type(self._evaluator) is not Evaluator

    def count(self, quota: JsonObject, names: set[str]) -> ResourceList:
        """Return the usage of the resources `names` by all objects in a quota's namespace, without decoding them."""
        if quota_scopes(quota):
            return {}
        namespace = quota["metadata"]["namespace"]
        used = {name: Quantity.of(self.cache.count(namespace)) for name in names - self._size_names}
        for name in names & self._size_names:
            if namespace not in self._bytes:
                self._bytes[namespace] = sum(map(_size, self.cache.snapshot(namespace)))
            used[name] = Quantity.of(self._bytes[namespace], BINARY_SI)
        return used

    async def evaluate(
        self, objects: list[CachedObject], quota: JsonObject, names: set[str], now: datetime
    ) -> ResourceList:
        """Return the usage of the resources `names` by some objects in a quota's scopes."""
        used: ResourceList = {}
        for number, cached in enumerate(objects, 1):
            used = add(used, self._usage(cached, quota, names, now))
            if number % _BATCH == 0:
                await asyncio.sleep(0)
        return used

    def decrease(self, change: ObjectChange, quota: JsonObject, names: set[str], now: datetime) -> ResourceList:
        """Return by how much a change lowers the usage of the resources `names`."""
        if self.decodes:
            new = self._usage(change.new, quota, names, now)
            return subtract(self._usage(change.old, quota, names, now), new)
        if quota_scopes(quota):
            return {}
        shrunk = max(0, _size(change.old) - _size(change.new))
        decrease = dict.fromkeys(names & self._size_names, Quantity.of(shrunk, BINARY_SI))
        return (
            decrease if change.new is not None else decrease | dict.fromkeys(names - self._size_names, Quantity.of(1))
        )

    def _usage(self, cached: CachedObject | None, quota: JsonObject, names: set[str], now: datetime) -> ResourceList:
        if cached is None or not isinstance(self.resource, BuiltinResource):
            return {}
        try:
            obj = self.resource.shown(cached)
        except errors.APIError:
            # A damaged object counts nothing. Reads of it report the problem.
            return {}
        return mask(self._evaluator.usage(obj, now), names) if in_scopes(quota, obj, self._evaluator) else {}


def _size(cached: CachedObject | None) -> int:
    return cached.stored_size if cached is not None else 0
