"""The default objects that every server creates: priority classes, flow schemas and priority levels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from polykind.apply import field_manager
from polykind.cache.cached_object import Encoded
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource

log = logging.getLogger("polykind.bootstrap")

_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"
_PRODUCER = "api-priority-and-fairness-config-producer-v1"
_ALL = "default objects"
_CONSUMER = "api-priority-and-fairness-config-consumer-v1"


class BootstrapObjects:
    """Creates the missing default objects if this replica is the leader.

    If no object is missing, a start of the server only lists the keys of the objects.
    """

    def __init__(self, backend: Backend, now: Callable[[], str], leadership: Leadership) -> None:
        self._backend = backend
        self._now = now
        self._controller: Controller[str] = Controller(leadership, self._create_missing, keys=lambda: (_ALL,))
        self.close = self._controller.close

    async def start(self) -> None:
        """If this replica is the leader, return after the first attempt, so that the server starts with the objects."""
        await self._controller.start()
        await self._controller.attempt(_ALL)

    async def _create_missing(self, _: str) -> None:
        await asyncio.gather(
            self._ensure("scheduling.k8s.io", "priorityclasses", self._priority_classes),
            self._ensure(_FLOWCONTROL, "prioritylevelconfigurations", self._priority_levels),
            self._ensure(_FLOWCONTROL, "flowschemas", self._flow_schemas),
        )

    async def _ensure(self, group: str, plural: str, objects: Callable[[], list[JsonObject]]) -> None:
        """Create the missing default objects of a resource."""
        prefix = self._backend.cache.resource_at(plural).prefix
        page = await self._backend.store.range(prefix)
        stored = {item.key.removeprefix(prefix) for item in page.items}
        missing = [obj for obj in objects() if obj["metadata"]["name"] not in stored]
        # Import the kind only if an object is missing. A flag may have disabled the kind, so the resource can be None.
        resource = self._backend.registry.resource(group, plural) if missing else None
        if resource is not None:
            manager = _PRODUCER if group == _FLOWCONTROL else "kube-apiserver"
            await create_all(self._backend, resource, missing, manager=manager, now=self._now())

    @staticmethod
    def _priority_classes() -> list[JsonObject]:
        from polykind.apis.scheduling.bootstrap import priority_classes

        return priority_classes()

    @staticmethod
    def _priority_levels() -> list[JsonObject]:
        from polykind.apis.flowcontrol.bootstrap import priority_levels

        return priority_levels()

    def _flow_schemas(self) -> list[JsonObject]:
        from polykind.apis.flowcontrol.bootstrap import flow_schemas

        return flow_schemas(self._now())


async def create_all(
    backend: Backend, resource: Resource, objects: Sequence[JsonObject], *, manager: str, now: str
) -> None:
    """Store new objects without validation, concurrently, so that they share few transactions of the store.

    Objects that exist already are kept.
    """
    await asyncio.gather(*(_create(backend, resource, obj, manager, now) for obj in objects))


async def _create(backend: Backend, resource: Resource, obj: JsonObject, manager: str, now: str) -> None:
    version, meta = resource.storage_version(), obj["metadata"]
    meta |= {"uid": backend.ids.uid(), "creationTimestamp": now}
    meta["managedFields"] = await field_manager.update(
        None,
        {name: value for name, value in obj.items() if name != "status"},
        manager=manager,
        api_version=version.api_version,
        subresource="",
        now=now,
        models=resource.models,
        convert=version.representer.convert,
    )
    if (obj.get("status") or {}).get("conditions"):
        meta["managedFields"].insert(0, _status_entry(version.api_version, now))
    key, cache = resource.key(meta.get("namespace", ""), meta["name"]), resource.cache
    encoded = Encoded(version.codec.decode(obj, report_unknown=False).obj)
    # The object has its defaults, so the watch cache need not decode it again.
    added = await ObjectClient(backend).add_cached(
        cache, key, encoded.stored(), generation=version.schema_generation, build=encoded.cached_object
    )
    if not added:
        log.debug("bootstrap: another replica created %s %s, keeping that object", obj["kind"], meta["name"])


def _status_entry(api_version: str, now: str) -> JsonObject:
    """Return the managedFields entry of the controller that sets the condition of a FlowSchema."""
    condition: JsonObject = {
        ".": {},
        **{f"f:{n}": {} for n in ("lastTransitionTime", "message", "reason", "status", "type")},
    }
    return {
        "manager": _CONSUMER,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"Dangling"}': condition}}},
        "subresource": "status",
    }
