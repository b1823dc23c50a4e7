"""The informer of ResourceQuotas, and the writer of their usage."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.controllers.server_requests import server_context
from polykind.http.options import UpdateOptions
from polykind.verbs.context import Backend
from polykind.verbs.update import change_object
from polykind.verbs.write import PUT, Write

if TYPE_CHECKING:
    from polykind.admission.plugins.resource_quota import ResourceQuotas


class QuotaInformer:
    """The member of the admission chain for quotas. It is active while there is a ResourceQuota in any namespace."""

    def __init__(self, cache: WatchCache, services: PluginServices, refresh: Callable[[], None]) -> None:
        self.active = False
        self._objects = cache.resource_at("resourcequotas")
        self._services = services
        self._refresh = refresh
        self._informer = Informer(cache, self._objects, self._update, lambda _: self._update())

    @cached_property
    def _quotas(self) -> ResourceQuotas:
        from polykind.admission.plugins.resource_quota import ResourceQuotas

        return ResourceQuotas(self._services)

    async def admit(self, attributes: Attributes) -> None:
        if not self._objects.loaded or self._objects.count(attributes.namespace):
            await self._quotas.admit(attributes)

    async def start(self) -> None:
        await self._informer.start()

    async def close(self) -> None:
        await self._informer.close()

    def _update(self) -> None:
        self.active = len(self._objects) > 0
        self._refresh()


class ServerStatusWriter:
    """Writes the status of objects on behalf of the server, without admission and authorization."""

    def __init__(self, backend: Callable[[], Backend]) -> None:
        self._backend = backend

    async def update_status(self, group: str, plural: str, obj: JsonObject) -> None:
        """Replace an object's status. Raise ConflictError if the object has changed since it was read."""
        backend, meta = self._backend(), obj["metadata"]
        resource = backend.registry.resource(group, plural)
        if resource is None:
            raise AssertionError("the object is of a served kind")
        ctx = server_context(
            backend, resource, "PUT", meta["name"], namespace=meta.get("namespace"), subresource="status"
        )

        async def replace(_old: JsonObject, _write: Write) -> JsonObject:
            return obj

        await change_object(ctx, replace, UpdateOptions(), PUT)
