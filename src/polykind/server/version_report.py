"""What there is of each version of a definition: objects stored at it, managers at it, clients that ask for it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from time import perf_counter

import msgspec

from polykind.cache.cached_object import CachedObject
from polykind.cache.watch_cache import WatchCache
from polykind.contract import Clock, JsonObject
from polykind.metrics.metrics import Metrics
from polykind.metrics.usage import VersionUsage
from polykind.migration.removal import Found, hindrances
from polykind.resources.custom import CustomResource
from polykind.resources.registry import Registry

_SLICE = 200
"""Objects that are looked at before others get their turn."""


class _Manager(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815


class _Meta(msgspec.Struct):
    managedFields: list[_Manager] | None = None  # noqa: N815


class _Managed(msgspec.Struct):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Managed).decode


class Inventory:
    """Takes stock of definitions, for who asks. What clients asked for is known since this server started."""

    def __init__(self, registry: Registry, cache: WatchCache, metrics: Metrics, clock: Clock) -> None:
        self._registry = registry
        self._cache = cache
        self._metrics = metrics
        self._clock = clock
        self._since = _stamp(clock.now())

    async def of(self, name: str) -> JsonObject | None:
        """A definition's versions; None if it is not served. Raises StoreError."""
        plural, _, group = name.partition(".")
        kind = self._registry.kind(group, plural)
        if not isinstance(kind, CustomResource):
            return None
        await self._cache.wait_until_fresh(kind.cache)
        stored, managed = await _counted(kind)
        listed = (kind.crd.get("status") or {}).get("storedVersions") or []
        versions = []
        for stanza in kind.crd["spec"]["versions"]:
            version = stanza["name"]
            at, by = stored.get(version, Found()), managed.get(version, Found())
            clients = _clients(self._metrics.uses.of(group, version, plural), self._clock)
            in_the_way = hindrances(
                name,
                version,
                storage=kind.storage,
                listed=version in listed,
                stored=at,
                managed=by,
                clients=len(clients) if stanza.get("served") else 0,
            )
            versions.append(
                {
                    "name": version,
                    "served": bool(stanza.get("served")),
                    "storage": version == kind.storage,
                    "deprecated": bool(stanza.get("deprecated")),
                    "storedObjects": at.number,
                    "managedObjects": by.number,
                    "clients": clients,
                    "hindrances": in_the_way,
                }
            )
        return {"definition": name, "since": self._since, "versions": versions}


async def _counted(kind: CustomResource) -> tuple[dict[str, Found], dict[str, Found]]:
    """By version, what is stored at it, and what has managers at it."""
    stored: dict[str, Found] = {}
    managed: dict[str, Found] = {}
    after = ""
    while entries := kind.cache.snapshot(None, after, _SLICE):
        for entry in entries:
            _add(stored, entry.version, entry.key)
            for version in _managers(entry, f"{kind.group}/"):
                _add(managed, version, entry.key)
        after = entries[-1].key
        await asyncio.sleep(0)
    return stored, managed


def _add(found: dict[str, Found], version: str, key: str) -> None:
    before = found.get(version)
    found[version] = Found(1, key) if before is None else Found(before.number + 1, before.first)


def _managers(entry: CachedObject, prefix: str) -> set[str]:
    try:
        managers = _decode(entry.raw).metadata.managedFields
    except msgspec.MsgspecError:
        # Others have stored it; who manages such is nobody's affair.
        return set()
    return {m.apiVersion.removeprefix(prefix) for m in managers or () if m.apiVersion.startswith(prefix)}


def _clients(uses: VersionUsage, clock: Clock) -> list[JsonObject]:
    now, counted = clock.now(), perf_counter()
    return [
        {
            "user": use.user,
            "agent": use.agent,
            "reads": use.reads,
            "writes": use.writes,
            "last": _stamp(now - timedelta(seconds=counted - use.last)),
        }
        for use in uses
    ]


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
