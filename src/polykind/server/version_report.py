"""The version report of a CRD: the stored objects, field managers and clients that use each version."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import perf_counter

import msgspec

from polykind.cache.cached_object import CachedObject
from polykind.cache.watch_cache import WatchCache
from polykind.contract import Clock, JsonObject
from polykind.crd.version_removal import ObjectCount, removal_blockers
from polykind.metrics.metrics import Metrics
from polykind.metrics.usage import VersionUsage
from polykind.resources.custom import CustomResource
from polykind.resources.registry import Registry

_BATCH_SIZE = 200
"""The number of objects to examine before yielding to the event loop."""


class _Manager(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815


class _Meta(msgspec.Struct):
    managedFields: list[_Manager] | None = None  # noqa: N815


class _Managed(msgspec.Struct):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Managed).decode


class VersionReporter:
    """Reports the objects and clients that use each version of a CRD. Clients are counted since the server's start."""

    def __init__(self, registry: Registry, cache: WatchCache, metrics: Metrics, clock: Clock) -> None:
        self._registry = registry
        self._cache = cache
        self._metrics = metrics
        self._clock = clock
        self._since = _stamp(clock.now())

    async def report(self, name: str) -> JsonObject | None:
        """Return the report of a CRD, or None if the CRD is not served. Raise StoreError if the store fails."""
        plural, _, group = name.partition(".")
        resource = self._registry.resource(group, plural)
        if not isinstance(resource, CustomResource):
            return None
        await self._cache.wait_until_fresh(resource.cache)
        stored, managed = await _count(resource)
        listed = (resource.crd.get("status") or {}).get("storedVersions") or []
        versions = []
        for version_entry in resource.crd["spec"]["versions"]:
            version = version_entry["name"]
            stored_at, managed_at = stored.get(version, ObjectCount()), managed.get(version, ObjectCount())
            clients = _client_list(self._metrics.usage.of(group, version, plural), self._clock)
            blockers = removal_blockers(
                name,
                version,
                storage=resource.storage,
                listed=version in listed,
                stored=stored_at,
                managed=managed_at,
                clients=len(clients) if version_entry.get("served") else 0,
            )
            versions.append(
                {
                    "name": version,
                    "served": bool(version_entry.get("served")),
                    "storage": version == resource.storage,
                    "deprecated": bool(version_entry.get("deprecated")),
                    "storedObjects": stored_at.total,
                    "managedObjects": managed_at.total,
                    "clients": clients,
                    "hindrances": blockers,
                }
            )
        return {"definition": name, "since": self._since, "versions": versions}


async def _count(resource: CustomResource) -> tuple[dict[str, ObjectCount], dict[str, ObjectCount]]:
    """Return two counts by version: of stored objects, and of objects with field managers at the version."""
    stored: dict[str, ObjectCount] = {}
    managed: dict[str, ObjectCount] = {}
    after = ""
    while objects := resource.cache.snapshot(None, after, _BATCH_SIZE):
        for cached in objects:
            _add(stored, cached.version, cached.key)
            for version in _manager_versions(cached, f"{resource.group}/"):
                _add(managed, version, cached.key)
        after = objects[-1].key
        await asyncio.sleep(0)
    return stored, managed


def _add(counts: dict[str, ObjectCount], version: str, key: str) -> None:
    count = counts.get(version)
    counts[version] = ObjectCount(1, key) if count is None else ObjectCount(count.total + 1, count.first)


def _manager_versions(cached: CachedObject, prefix: str) -> set[str]:
    """Return the versions in the managedFields of an object."""
    try:
        managers = _decode(cached.raw).metadata.managedFields
    except msgspec.MsgspecError:
        # The metadata is unreadable (written by another program), so report no field managers.
        return set()
    return {m.apiVersion.removeprefix(prefix) for m in managers or () if m.apiVersion.startswith(prefix)}


def _client_list(usage: VersionUsage, clock: Clock) -> list[JsonObject]:
    now, counter = clock.now(), perf_counter()
    return [
        {
            "user": client.user,
            "agent": client.agent,
            "reads": client.reads,
            "writes": client.writes,
            "last": _stamp(now - timedelta(seconds=counter - client.last)),
        }
        for client in usage
    ]


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
