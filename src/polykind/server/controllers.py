"""The controllers of a server: the background work that keeps stored objects and the registry up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from polykind.apis.core.types import SERVICE
from polykind.apis.storagemigration.types import GROUP as MIGRATION_GROUP
from polykind.contract import Leadership
from polykind.controllers.admission_informers import AdmissionInformers
from polykind.controllers.bootstrap_objects import BootstrapObjects
from polykind.controllers.crd_controller import CRDController
from polykind.controllers.crd_converters import BuildConverter
from polykind.controllers.event_expiry import EventExpiry
from polykind.controllers.flow_schema_status import FlowSchemaStatus
from polykind.controllers.garbage_collector import GarbageCollector
from polykind.controllers.namespace_controller import NamespaceController
from polykind.controllers.quota_informer import QuotaControllerStarter
from polykind.controllers.service_repair import AddressRepair
from polykind.controllers.stored_version_report import StoredVersionReport
from polykind.discovery.builtins import builtins
from polykind.migration.controller import MigrationController
from polykind.operations.backend import Backend
from polykind.resources.builtin import find_builtin
from polykind.resources.conversion_cache import ConversionCaches
from polykind.server.endpoints import Check
from polykind.server.runtime_config import RuntimeConfig
from polykind.server.settings import Settings
from polykind.store.sqlite import SingleReplicaLeadership
from polykind.strategies.apiextensions.strategy import CRDResource
from polykind.strategies.core.namespace_strategy import NamespaceResource
from polykind.webhook.target import Resolver

if TYPE_CHECKING:
    from polykind.auth.rbac.rbac_authorizer import RBACAuthorizer


class _Component(Protocol):
    """A part of the server that runs until it is closed."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Controllers:
    """The controllers of one server. `on_stop` registers functions that the server calls when it stops, last first."""

    def __init__(
        self,
        settings: Settings,
        backend: Backend,
        leadership: Leadership,
        admission: AdmissionInformers,
        resolver: Resolver,
        runtime_config: RuntimeConfig,
        build_converter: BuildConverter,
        now: Callable[[], str],
        on_stop: Callable[[Callable[[], Awaitable[None]]], object],
    ) -> None:
        self._settings = settings
        self._backend = backend
        self._leadership = leadership
        self._now = now
        self._on_stop = on_stop
        self._admission = admission
        self._resolver = resolver
        self._stored_versions = StoredVersionReport(backend)
        registry = backend.registry
        crd_resource = self._crd_resource()
        registry.put(crd_resource)
        self._migration_resource = find_builtin(registry, MIGRATION_GROUP, "storageversionmigrations")
        self.namespaces = NamespaceController(
            backend,
            find_builtin(registry, "", "namespaces", NamespaceResource),
            now,
            leadership,
            finalizes=settings.namespace_controller,
        )
        self.crds = CRDController(
            backend,
            crd_resource,
            builtins(runtime_config.serves),
            build_converter,
            ConversionCaches(
                settings.conversion_cache_ttl if settings.conversion_cache else 0.0,
                backend.clock.monotonic,
                backend.metrics,
            ),
            settings.conversion_fallback,
            now,
            leadership,
        )
        self.migrations = MigrationController(backend, self._migration_resource, crd_resource, leadership)
        sole_writer = isinstance(leadership, SingleReplicaLeadership)
        self.garbage_collector = GarbageCollector(backend, leadership, sole_writer=sole_writer)
        self._quotas = QuotaControllerStarter(
            backend, leadership, admission.quotas, sole_writer=sole_writer, quiet_seconds=settings.request_timeout
        )
        self._bootstrap_objects = BootstrapObjects(backend, now, leadership)
        self._flow_schemas = FlowSchemaStatus(backend, now)
        self._event_expiry = EventExpiry(backend, leadership, settings.event_ttl)
        self._address_repair = AddressRepair(backend, now, leadership)

    def _crd_resource(self) -> CRDResource:
        settings = self._settings
        return CRDResource(
            self._backend.cache,
            self._now,
            settings.serve_v1beta1,
            reconcile=lambda name: self.crds.reconcile_now(name),
            first_status=lambda crd, value: self.crds.first_status(crd, value),
            report_blocked=self._stored_versions.start,
            webhooks=settings.gate("CustomResourceWebhookConversion"),
            defaulting=settings.gate("CustomResourceDefaulting"),
            webhook_warning=self._resolver.warning,
        )

    async def start(
        self, rbac: RBACAuthorizer | None, *, creates_accounts: bool, authority: Callable[[], bytes]
    ) -> dict[str, Check]:
        """Start all controllers and return their health checks.

        `rbac` is the authorizer whose roles an informer reads. `creates_accounts` is true if every namespace gets a
        service account and a ConfigMap with the certificate that `authority` returns.
        """
        cache, settings = self._backend.cache, self._settings
        self._on_stop(self._stored_versions.close)
        await asyncio.gather(
            self._run(self.namespaces),
            self._run(self._bootstrap_objects),
            cache.load(cache.resource_at(SERVICE.storage_prefix)),
            cache.load(self._migration_resource.cache),
            self._run(self.crds),
            self._run(self._admission),
        )
        await self._run(self._flow_schemas)
        await self._run(self.migrations)
        checks = {} if rbac is None else await self._start_rbac(rbac)
        if creates_accounts:
            await self._start_accounts(authority().decode())
        await self._run(self._event_expiry)
        await self._run(self._address_repair)
        if settings.quota_controller:
            await self._run(self._quotas)
        if settings.garbage_collector:
            await self._run(self.garbage_collector)
        await self._run(self._leadership)
        return checks

    async def _start_rbac(self, rbac: RBACAuthorizer) -> dict[str, Check]:
        from polykind.controllers.rbac_bootstrap import RBACBootstrap
        from polykind.controllers.rbac_informer import RBACInformer

        backend = self._backend
        bootstrap = RBACBootstrap(backend, self._now, self._leadership)
        await self._run(RBACInformer(backend.cache, rbac, backend.registry))
        await self._run(bootstrap)
        if self._settings.clusterrole_aggregation:
            from polykind.controllers.clusterrole_aggregation import ClusterRoleAggregationController

            await self._run(ClusterRoleAggregationController(backend, self._leadership))
        return {"poststarthook/rbac/bootstrap-roles": bootstrap.check}

    async def _start_accounts(self, authority: str) -> None:
        from polykind.controllers.default_accounts import DefaultAccountsController

        await self._run(DefaultAccountsController(self._backend, self._leadership, authority))

    async def _run(self, component: _Component) -> None:
        """Start a component. The server closes it when it stops, the one that was started last first."""
        self._on_stop(component.close)
        await component.start()
