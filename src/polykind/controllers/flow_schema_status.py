"""The condition Dangling of FlowSchemas, which tells clients if the referenced priority level is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from polykind.apis.flowcontrol.bootstrap import dangling_condition
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend

_GROUP = "flowcontrol.apiserver.k8s.io"
_MANAGER = "api-priority-and-fairness-config-consumer-v1"


class FlowSchemaStatus:
    """Sets the condition Dangling when a FlowSchema or a priority level changes.

    This class does not load the two resources into the cache, because a client's write loads a resource first. This
    server does not use FlowSchemas to limit requests.
    """

    def __init__(self, backend: Backend, now: Callable[[], str]) -> None:
        self._backend = backend
        self._now = now
        self._schemas = backend.cache.resource_at("flowschemas")
        self._levels = backend.cache.resource_at("prioritylevelconfigurations")
        self._client = ObjectClient(backend, manager=_MANAGER)
        self._controller: Controller[str] = Controller(None, self._set_condition, keys=self._names, workers=1)
        self._controller.observe(self._schemas, _changed_schema)
        self._controller.observe(self._levels, self._on_level)
        self.start, self.close = self._controller.start, self._controller.close

    def _on_level(self, change: ObjectChange) -> Iterable[str]:
        """Return the names of all FlowSchemas if a priority level was created or deleted."""
        if change.old is not None and change.new is not None:
            return ()
        return self._names()

    def _names(self) -> Iterable[str]:
        return [cached.name for cached in self._schemas.snapshot(None)]

    async def _set_condition(self, name: str) -> None:
        resource = self._backend.registry.resource(_GROUP, "flowschemas")
        cached = await self._client.read(resource, name) if resource is not None else None
        if resource is None or cached is None:
            return
        await self._backend.cache.wait_until_fresh(self._levels)
        obj = cached.decode()
        level = ((obj.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
        wanted = dangling_condition(level, self._now(), exists=self._levels.get(level) is not None)
        if _has_condition(obj, wanted):
            return
        status = {"status": {"conditions": [wanted]}}
        await self._client.apply(resource.storage_version(), cached, status, subresource="status")


def _changed_schema(change: ObjectChange) -> Iterable[str]:
    return (change.new.name,) if change.new is not None else ()


def _has_condition(obj: JsonObject, wanted: JsonObject) -> bool:
    """True if an object has a condition with the type, status, reason and message of `wanted`."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    found: JsonObject = next((one for one in conditions if one.get("type") == wanted["type"]), {})
    return all(found.get(name) == wanted[name] for name in ("status", "reason", "message"))
