"""The condition Dangling of FlowSchemas, which tells clients if the referenced priority level is missing."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.flowcontrol.bootstrap import dangling_condition
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.contract import JsonObject
from polykind.controllers.workqueue import WorkQueue
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions
from polykind.verbs.apply import AppliedConfiguration, apply_change
from polykind.verbs.update import change_object
from polykind.verbs.write import APPLY

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
        self._queue: WorkQueue[str] = WorkQueue(self._set_condition, workers=1)

    def start(self) -> None:
        self._queue.open()
        for objects in (self._schemas, self._levels):
            objects.observers.append(_Changes(objects, self._on_changes))

    async def close(self) -> None:
        await self._queue.close()

    def _on_changes(self, objects: ResourceCache, changes: list[ObjectChange]) -> None:
        if objects is self._schemas:
            names = [change.new.name for change in changes if change.new is not None]
        elif any(change.old is None or change.new is None for change in changes):
            names = [cached.name for cached in self._schemas.snapshot(None)]
        else:
            return
        for name in names:
            self._queue.add(name)

    async def _set_condition(self, name: str) -> None:
        cached = self._schemas.get(name)
        resource = self._backend.registry.resource(_GROUP, "flowschemas")
        if cached is None or resource is None:
            return
        await self._backend.cache.load(self._levels)
        obj = cached.decode()
        level = ((obj.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
        wanted = dangling_condition(level, self._now(), exists=self._levels.get(level) is not None)
        if _has_condition(obj, wanted):
            return
        applied: JsonObject = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "FlowSchema",
            "metadata": {"name": name},
            "status": {"conditions": [wanted]},
        }
        op = Operation.by_server(self._backend, "patch", resource.storage_version(), name, subresource="status")
        options = PatchOptions(field_manager=_MANAGER, force=True)
        await change_object(op, apply_change(op, AppliedConfiguration(applied, []), options), options, APPLY)


class _Changes:
    """A cache observer that calls `on_changes` with the cache of a resource and the changes."""

    def __init__(self, objects: ResourceCache, on_changes: Callable[[ResourceCache, list[ObjectChange]], None]) -> None:
        self._objects = objects
        self._on_changes = on_changes

    def on_changes(self, changes: list[ObjectChange]) -> None:
        self._on_changes(self._objects, changes)

    def on_reset(self) -> None:
        return


def _has_condition(obj: JsonObject, wanted: JsonObject) -> bool:
    """True if an object has a condition with the type, status, reason and message of `wanted`."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    found: JsonObject = next((one for one in conditions if one.get("type") == wanted["type"]), {})
    return all(found.get(name) == wanted[name] for name in ("status", "reason", "message"))
