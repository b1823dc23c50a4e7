"""The server as an object: `async with Server(settings) as server`, any number of times in one process."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from polykind.apis.apiextensions.strategy import CRDResource
from polykind.apis.authorization.strategy import reviews
from polykind.apis.core.namespaces import NamespaceResource
from polykind.apis.core.services import ServiceResource
from polykind.apis.rbac.strategy import rbac_kinds
from polykind.apis.storagemigration.strategy import MigrationResource
from polykind.auth.authentication import Authentication
from polykind.auth.authorizer_union import build_authorizer
from polykind.auth.tokens import TokenFileError, Tokens
from polykind.auth.user import ADMIN_GROUP, User
from polykind.cache.watch_cache import WatchCache
from polykind.clock import SystemClock, SystemIdSource
from polykind.contract import Clock, IdSource, JsonObject, Leadership, Store
from polykind.controllers.admission import AdmissionController
from polykind.controllers.crd_converters import CRDConverters
from polykind.controllers.crds import CRDController
from polykind.controllers.garbage_collector import GarbageCollector
from polykind.controllers.namespaces import NamespaceController
from polykind.conversion.factory import build
from polykind.conversion.health import Health
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.discovery import builtins
from polykind.http.listener import HttpServer, Limits
from polykind.metrics.metrics import Metrics
from polykind.metrics.requests import Monitor
from polykind.migration.controller import MigrationController
from polykind.pki import certificates
from polykind.pki.kubeconfig import write_kubeconfig
from polykind.pki.private_files import write_private
from polykind.resources.registry import Registry
from polykind.server.endpoints import Check, Documents
from polykind.server.router import Router
from polykind.server.settings import Settings, SettingsError
from polykind.server.version_report import Inventory
from polykind.store.alone import Alone
from polykind.store.sqlite import SqliteStore
from polykind.verbs.context import Backend
from polykind.webhook.resolver import Resolver, parse_resolve

if TYPE_CHECKING:
    from polykind.toolkit.declare.library import Library

log = logging.getLogger("polykind")


class Server:
    """One API server: its store, its cache, its controllers and its socket."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        chance: IdSource | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.settings.check()
        self._libraries = [_library(spec) for spec in self.settings.converter]
        self.clock = clock or SystemClock()
        self.chance = chance or SystemIdSource()
        self.store, self.leadership = (store, Alone()) if store is not None else _choose(self.settings)
        self.port = 0
        self.token = ""
        """The admin's token."""
        self._ca: Path | None = None
        self._begun = AsyncExitStack()
        """What is to be closed, in the reverse order of its beginning."""

    @property
    def url(self) -> str:
        host = self.settings.bind_address
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"https://{host}:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.settings.data_dir / "admin.kubeconfig"

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Begin to serve; what fails leaves nothing behind."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End watches, finish what is under way, lose nothing."""
        await self._begun.aclose()

    async def _start(self) -> None:
        settings, begun = self.settings, self._begun.push_async_callback
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        tls = self._tls()
        tokens = self._tokens()
        authentication = Authentication(tokens, anonymous="AlwaysAllow" not in settings.authorization_mode)
        authorizer, rbac = build_authorizer(settings.authorization_mode)
        await self.store.start()
        begun(self.store.close)
        self.metrics = Metrics()
        self.cache = WatchCache(self.store, settings.etcd_prefix.rstrip("/") + "/")
        await self.cache.start()
        begun(self.cache.close)
        self.registry = Registry()
        self.api = Backend(
            self.store, self.cache, self.registry, self.clock, self.chance, self.metrics, authorizer=authorizer
        )
        namespaces = NamespaceResource(self.cache)
        definitions = CRDResource(
            self.cache,
            self._stamp,
            settings.serve_v1beta1,
            webhooks=settings.gate("CustomResourceWebhookConversion"),
            defaulting=settings.gate("CustomResourceDefaulting"),
        )
        services = ServiceResource(self.cache)
        self.registry.put(namespaces)
        self.registry.put(services)
        self.registry.put(definitions)
        migrations = MigrationResource(self.cache)
        self.registry.put(migrations)
        roles = rbac_kinds(self.cache)
        for kind in roles:
            self.registry.put(kind)
        for review in reviews(tokens, authorizer):
            self.registry.answer(review)
        self._namespaces = NamespaceController(self.api, namespaces, self._stamp, self.leadership)
        self._resolver = Resolver(parse_resolve(settings.resolve), services.external_name)
        self.admission = AdmissionController(self.api, self._resolver)
        self.converters = CRDConverters(self._converter, self.clock)
        self.definitions = CRDController(
            self.api,
            definitions,
            builtins(v1beta1=settings.serve_v1beta1),
            self.converters,
            settings.conversion_cache,
            self._stamp,
            self.leadership,
        )
        self.migrations = MigrationController(self.api, migrations, definitions, self.leadership)
        self.garbage = GarbageCollector(self.api, self.leadership, alone=isinstance(self.leadership, Alone))
        for controller in (
            self._namespaces,
            self.converters,
            self.definitions,
            self.admission,
            self.migrations,
            self.garbage,
            self.leadership,
        ):
            begun(controller.close)
        await asyncio.gather(
            self._namespaces.start(),
            self.cache.load(services.cache),
            self.cache.load(migrations.cache),
            self.definitions.start(),
            self.admission.start(),
        )
        await self.migrations.start()
        checks = self._checks()
        if rbac is not None:
            from polykind.controllers.clusterrole_aggregation import ClusterRoleAggregation
            from polykind.controllers.rbac import RBACController
            from polykind.controllers.rbac_bootstrap import RBACBootstrap

            bootstrap = RBACBootstrap(self.api, self.leadership)
            checks["poststarthook/rbac/bootstrap-roles"] = bootstrap.check
            for follower in (
                RBACController(self.api, rbac, roles),
                bootstrap,
                ClusterRoleAggregation(self.api, self.leadership),
            ):
                begun(follower.close)
                await follower.start()
        if settings.garbage_collector:
            self.garbage.start()
        await self.leadership.start()
        inventory = Inventory(self.registry, self.cache, self.metrics, self.clock)
        documents = Documents(self.metrics, self.definitions.discovery, checks, inventory)
        router = Router(self.api, authentication, documents, Monitor(self.metrics, self.registry))
        self.http = HttpServer(router, Limits(request=settings.request_timeout))
        begun(self.http.stop)
        self.port = await self.http.start(settings.bind_address, settings.secure_port, tls)
        documents.address = self.url.removeprefix("https://")
        self._write_kubeconfig()

    def _stamp(self) -> str:
        return self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _converter(self, crd: JsonObject, on_health: Callable[[Health], None]) -> MonitoredConverter:
        return build(
            crd,
            resolver=self._resolver,
            clock=self.clock,
            libraries=self._libraries,
            feature_gates=self.settings.feature_gates,
            observer=self.metrics,
            on_health=on_health,
        )

    def _checks(self) -> dict[str, Check]:
        return {
            "ping": lambda: "",
            "store": lambda: "" if self.cache.ready and self.store.healthy else "the store is out of reach",
            "poststarthook/crd-informer-synced": lambda: "",
        }

    # ------------------------------------------------------------------ files of the first start

    def _tls(self) -> ssl.SSLContext:
        settings = self.settings
        if settings.tls_cert_file and settings.tls_private_key_file:
            certificate, key = settings.tls_cert_file, settings.tls_private_key_file
        else:
            folder = settings.cert_dir or settings.data_dir / "pki"
            names = list(dict.fromkeys(["127.0.0.1", "::1", "localhost", "kubernetes.default.svc"]))
            if settings.bind_address not in ("0.0.0.0", "::", *names):  # noqa: S104
                names.append(settings.bind_address)
            certificate, key, self._ca = certificates.ensure(folder, names, self.clock.now())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:
            raise SettingsError(f"the certificate {certificate} and the key {key} cannot be used: {error}") from None
        context.set_alpn_protocols(["http/1.1"])
        if settings.client_ca_file:
            try:
                context.load_verify_locations(settings.client_ca_file)
            except OSError as error:
                raise SettingsError(f"--client-ca-file {settings.client_ca_file}: {error}") from None
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _tokens(self) -> Tokens:
        """The admin's token, made on the first start, and those of the token file."""
        path = self.settings.data_dir / "admin.token"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32).encode())
        self.token = path.read_text().strip()
        tokens = Tokens()
        tokens.add(self.token, User("admin", "admin", (ADMIN_GROUP,)))
        if self.settings.token_auth_file:
            try:
                tokens.load(self.settings.token_auth_file)
            except (OSError, TokenFileError) as error:
                raise SettingsError(f"--token-auth-file: {error}") from None
        return tokens

    def _write_kubeconfig(self) -> None:
        trusted = self._ca or self.settings.tls_cert_file
        authority = trusted.read_bytes() if trusted is not None else None
        write_kubeconfig(self.kubeconfig, self.url, authority, "admin", {"token": self.token})


def _choose(settings: Settings) -> tuple[Store, Leadership]:
    """The store that the flags name, and who of those that share it does what only one may do."""
    if not settings.etcd_servers:
        return SqliteStore(settings.data_dir), Alone()
    from polykind.store.etcd import Access, EtcdLeadership, EtcdStore

    access = Access(settings.etcd_servers, settings.etcd_cafile, settings.etcd_certfile, settings.etcd_keyfile)
    prefix = settings.etcd_prefix.rstrip("/")
    store = EtcdStore(access, prefix + "/")
    identity = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return store, EtcdLeadership(store, prefix, identity, settings.etcd_compaction_interval)


def _library(spec: str) -> Library:
    from polykind.toolkit.declare.loading import load

    try:
        return load(spec)
    except ValueError as error:
        raise SettingsError(str(error)) from None
