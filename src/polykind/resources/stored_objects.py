"""Reads of stored objects of built-in kinds, for admission plugins."""

from __future__ import annotations

import asyncio

from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.loop_calls import on_loop
from polykind.resources.builtin import BuiltinResource
from polykind.resources.registry import Registry

_BATCH = 100
"""The number of objects that are decoded before other requests can run."""


class StoredObjects:
    """Reads objects from the watch cache. A resource is loaded into the cache at its first use."""

    def __init__(self, cache: WatchCache, registry: Registry) -> None:
        self._cache = cache
        self._registry = registry

    async def get(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        """Return an object as clients see it. Return None if it does not exist or its kind is not served."""
        return await on_loop(self._get(group, plural, namespace, name))

    async def _list(self, group: str, plural: str, namespace: str | None) -> list[JsonObject]:
        resource = await self._resource(group, plural)
        if resource is None:
            return []
        objects = []
        for number, cached in enumerate(resource.cache.snapshot(namespace), 1):
            objects.append(resource.shown(cached))
            if number % _BATCH == 0:
                await asyncio.sleep(0)
        return objects

    async def list(self, group: str, plural: str, namespace: str | None = None) -> list[JsonObject]:
        """Return all objects of a namespace (None: all namespaces). Return an empty list if the kind is not served."""
        return await on_loop(self._list(group, plural, namespace))

    async def _get(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        resource = await self._resource(group, plural)
        cached = resource.cache.get(resource.key(namespace, name)) if resource is not None else None
        return resource.shown(cached) if resource is not None and cached is not None else None

    def resource_of_kind(self, group: str, version: str, kind: str) -> tuple[str, bool] | None:
        """Return the plural of a kind, and True if its objects have a namespace.

        Return None if the kind is not served.
        """
        resource = self._registry.resource_of_kind(group, kind)
        if resource is None or version not in resource.versions:
            return None
        return resource.plural, resource.namespaced

    async def _resource(self, group: str, plural: str) -> BuiltinResource | None:
        resource = self._registry.resource(group, plural)
        if not isinstance(resource, BuiltinResource):
            return None
        await self._cache.load(resource.cache)
        return resource
