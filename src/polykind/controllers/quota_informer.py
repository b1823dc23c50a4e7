"""The informer of ResourceQuotas, the start of their controller, and the writer of their usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.admission.plugins.plugin_table import RESOURCE_QUOTAS
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.informer import Informer
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.operations.charges import QuotaCharge

_NAME = "quota controller"

if TYPE_CHECKING:
    from polykind.admission.plugins.resource_quota import ResourceQuotas
    from polykind.controllers.quota_controller import QuotaController


class QuotaInformer:
    """The member of the admission chain for quotas. It knows the namespaces that have quotas."""

    def __init__(self, cache: WatchCache, services: PluginServices) -> None:
        self.quota_namespaces: dict[str, set[str]] = {}
        """The keys of the quotas, by namespace."""
        self.sized_namespaces: dict[str, set[str]] = {}
        """The keys of the quotas that limit stored bytes, by namespace."""
        self.limits_everywhere = bool((services.configurations.get(RESOURCE_QUOTAS) or {}).get("limitedResources"))
        """True if resources are limited in namespaces without a quota, too."""
        self.on_first_quota: Callable[[], None] = lambda: None
        """A function that is called when the first quota exists."""
        self._objects = cache.resource_at("resourcequotas")
        self._services = services
        self._informer: Informer[None] = Informer(cache, self._objects, self._on_list, self._on_changes)

    @cached_property
    def plugin(self) -> ResourceQuotas:
        """The plugin, which is imported on first use."""
        from polykind.admission.plugins.resource_quota import ResourceQuotas

        return ResourceQuotas(self._services)

    async def admit(self, attributes: Attributes) -> None:
        await self.plugin.admit(attributes)

    async def charge_size(
        self, namespace: str, group: str, plural: str, name: str, growth: int, *, dry_run: bool
    ) -> QuotaCharge | None:
        return await self.plugin.charge_size(namespace, group, plural, name, growth, dry_run=dry_run)

    async def start(self) -> None:
        await self._informer.start()

    async def close(self) -> None:
        await self._informer.close()
        if "plugin" in self.__dict__:
            await self.plugin.ledger.close()

    def _on_list(self) -> None:
        for keys in (self.quota_namespaces, self.sized_namespaces):
            keys.clear()
        self._update(self._objects.unordered())

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            cached = change.cached
            for keys in (self.quota_namespaces, self.sized_namespaces):
                keys.get(cached.namespace, set()).discard(cached.key)
                if cached.namespace in keys and not keys[cached.namespace]:
                    del keys[cached.namespace]
        self._update([change.new for change in changes if change.new is not None])

    def _update(self, quotas: Iterable[CachedObject]) -> None:
        had_quotas = bool(self.quota_namespaces)
        for cached in quotas:
            self.quota_namespaces.setdefault(cached.namespace, set()).add(cached.key)
            if b'"polykind.dev/bytes' in cached.raw:
                self.sized_namespaces.setdefault(cached.namespace, set()).add(cached.key)
        if self.quota_namespaces and not had_quotas:
            self.on_first_quota()


class QuotaControllerStarter:
    """Starts the quota controller when the first quota exists. Most servers never need it."""

    def __init__(
        self,
        backend: Backend,
        leadership: Leadership,
        informer: QuotaInformer,
        *,
        sole_writer: bool,
        quiet_seconds: float,
    ) -> None:
        self._informer = informer
        self._build = partial(
            _quota_controller, backend, leadership, informer, sole_writer=sole_writer, quiet_seconds=quiet_seconds
        )
        self._controller: QuotaController | None = None
        self._started = False
        self._starter: Controller[str] = Controller(None, self._start_once, keys=self._keys)

    async def start(self) -> None:
        self._informer.on_first_quota = self._starter.add_all
        await self._starter.start()

    async def close(self) -> None:
        self._informer.on_first_quota = lambda: None
        await self._starter.close()
        if self._controller is not None:
            await self._controller.close()

    def _keys(self) -> Iterable[str]:
        return (_NAME,) if self._informer.quota_namespaces else ()

    async def _start_once(self, _: str) -> None:
        if self._controller is None:
            self._controller = self._build()
        if not self._started:
            await self._controller.start()
            self._started = True


def _quota_controller(
    backend: Backend, leadership: Leadership, informer: QuotaInformer, *, sole_writer: bool, quiet_seconds: float
) -> QuotaController:
    from polykind.controllers.quota_controller import QuotaController

    ledger = informer.plugin.ledger
    return QuotaController(backend, leadership, ledger, sole_writer=sole_writer, quiet_seconds=quiet_seconds)


class ServerStatusWriter:
    """Writes the status of objects on behalf of the server, without admission and authorization."""

    def __init__(self, backend: Callable[[], Backend]) -> None:
        self._backend = backend

    async def update_status(self, group: str, plural: str, obj: JsonObject) -> None:
        """Replace an object's status. Raise ConflictError if the object has changed since it was read."""
        backend = self._backend()
        resource = backend.registry.resource(group, plural)
        if resource is None:
            raise AssertionError("the object is of a served kind")
        client = ObjectClient(backend, manager="kube-apiserver")
        await client.replace(resource.storage_version(), obj, subresource="status")
