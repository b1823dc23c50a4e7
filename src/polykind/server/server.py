"""The API server as an object, for `async with Server(settings) as server`. A process can have several servers."""

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
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.admission.plugins.plugin_table import PluginEntry, enabled_plugins, ineffective_choices
from polykind.apis.apiextensions.strategy import CRDResource
from polykind.apis.authorization.strategy import reviews
from polykind.apis.core.external_names import find_external_name
from polykind.apis.core.namespace_strategy import NamespaceResource
from polykind.apis.core.types import SERVICE
from polykind.apis.groups import all_kinds
from polykind.apis.storagemigration.types import GROUP as MIGRATION_GROUP
from polykind.auth.authentication import Authentication
from polykind.auth.client_certificates import ClientCertificates
from polykind.auth.key_files import TokenKeyError
from polykind.auth.service_account_tokens import ServiceAccountTokens
from polykind.auth.token_authenticators import TokenAuthenticators
from polykind.auth.token_review import token_finder
from polykind.auth.tokens import TokenFileError, Tokens
from polykind.auth.user import ADMIN_GROUP, User
from polykind.cache.watch_cache import WatchCache
from polykind.clock import SystemClock, SystemIdSource
from polykind.contract import Clock, IdSource, JsonObject, Leadership, Store
from polykind.controllers.admission_informers import AdmissionInformers
from polykind.controllers.bootstrap_objects import BootstrapObjects
from polykind.controllers.crd_controller import CRDController
from polykind.controllers.event_expiry import EventExpiry
from polykind.controllers.flow_schema_status import FlowSchemaStatus
from polykind.controllers.garbage_collector import GarbageCollector
from polykind.controllers.kubernetes_service import KubernetesService
from polykind.controllers.namespace_controller import NamespaceController
from polykind.controllers.quota_informer import ServerStatusWriter
from polykind.controllers.service_repair import release_leaked
from polykind.controllers.stored_version_report import StoredVersionReport
from polykind.conversion.converter_factory import build_converter
from polykind.conversion.converter_health import Health
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.discovery.builtins import builtins
from polykind.http.client_handshake import accept_client_certificates
from polykind.http.listener import HttpServer, Limits
from polykind.metrics.metrics import Metrics
from polykind.metrics.requests import RequestMonitor
from polykind.migration.controller import MigrationController
from polykind.pki.private_files import write_kubeconfig, write_private
from polykind.pki.user_registry import RegistryError, UserRegistry
from polykind.resources.builtin import BuiltinResource, declare_builtins, find_builtin
from polykind.resources.registry import Registry
from polykind.resources.stored_objects import StoredObjects
from polykind.server.audit_settings import build_auditor, read_audit_policy
from polykind.server.authentication_settings import (
    build_authenticators,
    build_token_webhook,
    read_authentication_config,
)
from polykind.server.authorization_settings import Authorizers
from polykind.server.debugging_pages import DebuggingPages
from polykind.server.endpoints import Check, Endpoints
from polykind.server.file_watcher import FileWatcher
from polykind.server.network_identity import ALL_ADDRESSES, advertised_host, format_host
from polykind.server.router import Router
from polykind.server.runtime_config import RuntimeConfig
from polykind.server.serving_tls import ServingTls
from polykind.server.settings import Settings, SettingsError
from polykind.server.storage_layout import move_services
from polykind.server.store_restore import StoreRestore
from polykind.server.version_report import VersionReporter
from polykind.store.sqlite import SingleReplicaLeadership, SqliteStore
from polykind.verbs.context import Backend
from polykind.webhook.target import Resolver, parse_resolve

if TYPE_CHECKING:
    from polykind.audit.audit_policy import AuditPolicy
    from polykind.http.connection import App
    from polykind.server.encryption_settings import Encryption
    from polykind.toolkit.declare.library import Library

log = logging.getLogger("polykind")


class Server:
    """One API server: its store, its watch cache, its controllers and its socket."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.settings.check()
        self.runtime_config = RuntimeConfig(
            self.settings.runtime_config, all_kinds(), serve_v1beta1=self.settings.serve_v1beta1
        )
        self._libraries = [_load_library(spec) for spec in self.settings.converter]
        self.clock = clock or SystemClock()
        self.ids = ids or SystemIdSource()
        self.store, self.leadership = (
            (store, SingleReplicaLeadership()) if store is not None else _open_store(self.settings)
        )
        self._unencrypted_store = self.store
        self.encryption: Encryption | None = None
        self.port = 0
        self.token = ""
        """The bearer token of the admin user."""
        self._exit_stack = AsyncExitStack()
        """Stops the started components in reverse order."""

    @property
    def url(self) -> str:
        """The address that kubeconfigs name."""
        host = advertised_host(self.settings.bind_address, self.settings.advertise_address)
        return f"https://{format_host(host)}:{self.port}"

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
        """Start the server. If this fails, stop the components that have been started."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server: close watches, finish pending requests, close the store."""
        await self._exit_stack.aclose()

    async def _start(self) -> None:
        settings, on_stop = self.settings, self._exit_stack.push_async_callback
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._tls = ServingTls(settings, self.clock)
        self._certificates = self._client_certificates()
        self._request_certificates()
        tokens = self._tokens()
        service_account_tokens = self._service_account_tokens()
        authentication_config = self._authentication_config = read_authentication_config(settings)
        authenticators = self._authenticators = TokenAuthenticators(
            service_account_tokens,
            build_authenticators(settings, authentication_config, self.clock),
            build_token_webhook(settings, self.clock),
        )
        authenticators.start()
        on_stop(authenticators.close)
        authorizers = Authorizers(settings, self.clock)
        on_stop(authorizers.close)
        anonymous = authentication_config.get("anonymous") or {"enabled": settings.anonymous_auth}
        authentication = self._authentication = Authentication(
            tokens,
            anonymous=anonymous["enabled"] and "AlwaysAllow" not in authorizers.modes,
            anonymous_paths=[condition["path"] for condition in anonymous.get("conditions") or ()],
            authenticators=authenticators,
            certificates=self._certificates,
        )
        audit_policy = read_audit_policy(settings)
        authorizer, rbac = authorizers.authorizer, authorizers.rbac
        if authorizer.allows_everything:
            log.warning("server: --authorization-mode=AlwaysAllow: every user with valid credentials may do everything")
        self.metrics = Metrics()
        self._encrypt_store()
        await self.store.start()
        on_stop(self.store.close)
        await move_services(self.store, settings.etcd_prefix.rstrip("/") + "/")
        self.cache = WatchCache(self.store, settings.etcd_prefix.rstrip("/") + "/")
        await self.cache.start()
        on_stop(self.cache.close)
        self.registry = Registry()
        declare_builtins(self.registry, self.cache, all_kinds(), self.runtime_config.serves)
        services = self.cache.resource_at(SERVICE.storage_prefix)
        self._resolver = Resolver(parse_resolve(settings.resolve), partial(find_external_name, services))
        plugins = self._enabled_plugins()
        self.admission = AdmissionInformers(
            self.cache, self.registry, self.metrics, self._resolver, plugins, self._plugin_services()
        )
        self.backend = Backend(
            self.store,
            self.cache,
            self.registry,
            self.clock,
            self.ids,
            self.metrics,
            admission=self.admission.admission,
            authorizer=authorizer,
            service_network=settings.service_network,
            service_account_tokens=service_account_tokens,
            unsafe_deletion=settings.gate("AllowUnsafeMalformedObjectDeletion"),
            compresses_watch_lists=settings.gate("WatchListCompression"),
            stale_values=self.encryption.store if self.encryption is not None else None,
        )
        stored_versions = StoredVersionReport(self.backend)
        on_stop(stored_versions.close)
        namespaces = find_builtin(self.registry, "", "namespaces", NamespaceResource)
        crds = CRDResource(
            self.cache,
            self._now,
            settings.serve_v1beta1,
            reconcile=lambda name: self.crds.reconcile_now(name),
            report_blocked=stored_versions.start,
            webhooks=settings.gate("CustomResourceWebhookConversion"),
            defaulting=settings.gate("CustomResourceDefaulting"),
        )
        self.registry.put(crds)
        migrations = find_builtin(self.registry, MIGRATION_GROUP, "storageversionmigrations")
        for review in reviews(token_finder(tokens, authenticators), authorizer):
            self.registry.add_review(review)
        self.namespaces = NamespaceController(
            self.backend, namespaces, self._now, self.leadership, finalizes=settings.namespace_controller
        )
        self.crds = CRDController(
            self.backend,
            crds,
            builtins(self.runtime_config.serves),
            self._build_converter,
            settings.conversion_cache,
            settings.conversion_fallback,
            self._now,
            self.leadership,
        )
        self.migrations = MigrationController(self.backend, migrations, crds, self.leadership)
        self.garbage_collector = GarbageCollector(
            self.backend, self.leadership, sole_writer=isinstance(self.leadership, SingleReplicaLeadership)
        )
        bootstrap_objects = BootstrapObjects(self.backend, self._now, self.leadership)
        flow_schemas = FlowSchemaStatus(self.backend, self._now)
        for controller in (
            bootstrap_objects,
            flow_schemas,
            self.namespaces,
            self.crds,
            self.admission,
            self.migrations,
            self.garbage_collector,
            self.leadership,
        ):
            on_stop(controller.close)
        await asyncio.gather(
            self.namespaces.start(),
            bootstrap_objects.start(),
            self.cache.load(services),
            self.cache.load(migrations.cache),
            self.crds.start(),
            self.admission.start(),
        )
        flow_schemas.start()
        await self.migrations.start()
        checks = self._checks()
        if rbac is not None:
            from polykind.controllers.rbac_bootstrap import RBACBootstrap
            from polykind.controllers.rbac_informer import RBACInformer

            bootstrap = RBACBootstrap(self.backend, self._now, self.leadership)
            checks["poststarthook/rbac/bootstrap-roles"] = bootstrap.check
            for component in (RBACInformer(self.cache, rbac, self.registry), bootstrap):
                on_stop(component.close)
                await component.start()
            if settings.clusterrole_aggregation:
                from polykind.controllers.clusterrole_aggregation import ClusterRoleAggregationController

                aggregation = ClusterRoleAggregationController(self.backend, self.leadership)
                on_stop(aggregation.close)
                await aggregation.start()
        if any(plugin.name == "ServiceAccount" for plugin in plugins):
            from polykind.controllers.default_accounts import DefaultAccountsController

            accounts = DefaultAccountsController(self.backend, self.leadership, self._tls.authority().decode())
            on_stop(accounts.close)
            await accounts.start()
        event_expiry = EventExpiry(self.backend, self.leadership, settings.event_ttl)
        on_stop(event_expiry.close)
        event_expiry.start()
        if settings.garbage_collector:
            self.garbage_collector.start()
        await self.leadership.start()
        versions = VersionReporter(self.registry, self.cache, self.metrics, self.clock)
        endpoints = Endpoints(
            self.metrics,
            self.crds.discovery,
            checks,
            versions,
            StoreRestore(
                self.store,
                self.cache.prefix,
                settings.data_dir,
                self.encryption.decrypted if self.encryption is not None else None,
            ),
            lambda: self.url.removeprefix("https://"),
            service_account_tokens,
            DebuggingPages(self.clock, settings.flags),
            self.registry.builtin_versions,
            self.cache.load_notes,
        )
        if isinstance(self.leadership, SingleReplicaLeadership):
            await release_leaked(self.backend)
        router = Router(self.backend, authentication, endpoints, RequestMonitor(self.metrics, self.registry))
        self.unserved = router.unserved
        self.http = HttpServer(self._audited(router, audit_policy), Limits(request_seconds=settings.request_timeout))
        on_stop(self.http.stop)
        self.port = await self.http.start(
            settings.bind_address, settings.secure_port, self._tls.context, share_port=settings.permit_port_sharing
        )
        kubernetes_service = KubernetesService(self.backend, self._now, self._advertised_address())
        on_stop(kubernetes_service.close)
        await kubernetes_service.start(self.port)
        self._write_kubeconfig()
        files = FileWatcher(self._reloaded_files(), self.reload)
        files.start()
        on_stop(files.close)
        self._tls.start(self._write_kubeconfig)
        on_stop(self._tls.close)
        config = settings.encryption_provider_config
        if self.encryption is not None and config and settings.encryption_provider_config_automatic_reload:
            keys = FileWatcher([config], self.encryption.reload)
            keys.start()
            on_stop(keys.close)

    def _encrypt_store(self) -> None:
        """Encrypt the store as --encryption-provider-config declares. Raise SettingsError if the file is invalid."""
        config = self.settings.encryption_provider_config
        if config is None:
            return
        from polykind.server.encryption_settings import Encryption

        prefix = self.settings.etcd_prefix.rstrip("/") + "/"
        self.encryption = Encryption(config, prefix, self._unencrypted_store, self.metrics)
        self.store = self.encryption.store

    def _audited(self, router: Router, policy: AuditPolicy | None) -> App:
        """Return the application that serves requests: the router, or the auditor that calls it."""
        if policy is None:
            return router
        auditor = build_auditor(self.settings, policy, router, self.clock, self.metrics)
        self._exit_stack.push_async_callback(auditor.close)
        return auditor

    def _enabled_plugins(self) -> tuple[PluginEntry, ...]:
        enable, disable = self.settings.enable_admission_plugins, self.settings.disable_admission_plugins
        for sentence in ineffective_choices(enable, disable):
            log.warning("server: admission plugin %s", sentence)
        return enabled_plugins(enable, disable)

    def _plugin_services(self) -> PluginServices:
        settings = self.settings
        return PluginServices(
            StoredObjects(self.cache, self.registry),
            ServerStatusWriter(lambda: self.backend),
            self.clock,
            self.ids,
            {
                "default-not-ready-toleration-seconds": settings.default_not_ready_toleration_seconds,
                "default-unreachable-toleration-seconds": settings.default_unreachable_toleration_seconds,
            },
        )

    def _advertised_address(self) -> str:
        """Return the address for the endpoints of the Service `kubernetes`.

        Return "" if no flag names an address and the server listens on all addresses.
        """
        bound = self.settings.bind_address
        return self.settings.advertise_address or (bound if bound not in ALL_ADDRESSES else "")

    def _now(self) -> str:
        return self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _build_converter(self, crd: JsonObject, on_health: Callable[[Health], None]) -> MonitoredConverter:
        return build_converter(
            crd,
            resolver=self._resolver,
            clock=self.clock,
            libraries=self._libraries,
            feature_gates=self.settings.feature_gates,
            observer=self.metrics,
            on_health=on_health,
        )

    def _checks(self) -> dict[str, Check]:
        encryption = self.encryption
        return {
            **({"encryption-provider-config": encryption.check} if encryption is not None else {}),
            "ping": lambda: "",
            "store": lambda: self.store.problem or ("" if self.cache.ready else "the watch on the store is lost"),
            "file-descriptors": lambda: self.http.descriptor_problem,
            "poststarthook/crd-informer-synced": lambda: "",
        }

    # ------------------------------------------------------------------ certificates, tokens and the kubeconfig

    def _client_certificates(self) -> ClientCertificates:
        settings = self.settings
        self._user_registry = UserRegistry(settings.data_dir / "pki")
        try:
            return ClientCertificates(settings.client_ca_file, self._user_registry, self.clock.now)
        except RegistryError as error:
            raise SettingsError(str(error)) from None
        except (OSError, ValueError) as error:
            raise SettingsError(f"--client-ca-file {settings.client_ca_file}: {error}") from None

    def _request_certificates(self) -> None:
        """Request certificates from new clients once there is a CA for them. Without one, handshakes are cheaper."""
        if self._certificates.is_used and self._tls.context.verify_mode is ssl.CERT_NONE:
            accept_client_certificates(self._tls.context)

    def _tokens(self) -> Tokens:
        """Return the admin's token and the tokens of --token-auth-file. The first start creates the admin's token."""
        path = self.settings.data_dir / "admin.token"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32).encode(), durable=not self.settings.ephemeral)
        self.token = path.read_text().strip()
        tokens = Tokens()
        tokens.add(self.token, User("admin", "admin", (ADMIN_GROUP,)))
        if self.settings.token_auth_file:
            try:
                tokens.load(self.settings.token_auth_file)
            except (OSError, TokenFileError) as error:
                raise SettingsError(f"--token-auth-file: {error}") from None
        return tokens

    def _service_account_tokens(self) -> ServiceAccountTokens:
        tokens = ServiceAccountTokens(self.settings.token_settings, self.clock, self._find_stored)
        try:
            tokens.check_keys()
        except TokenKeyError as error:
            raise SettingsError(f"cannot load the keys of service account tokens: {error}") from None
        return tokens

    async def _find_stored(self, plural: str, namespace: str, name: str) -> JsonObject | None:
        """Return a stored object of the core group. Return None if it does not exist."""
        resource = self.registry.resource("", plural)
        if not isinstance(resource, BuiltinResource):
            return None
        await self.cache.load(resource.cache)
        key = resource.key(namespace, name)
        if resource.cache.get(key) is None:
            # Another replica may have created the object a moment ago.
            await self.cache.wait_until_fresh(resource.cache)
        cached = resource.cache.get(key)
        return resource.shown(cached) if cached is not None else None

    def reload(self) -> None:
        """Read the files of the serving certificate, the client CAs, the registry of users and the tokens again.

        If one of them is invalid, log an error and continue with its previous content. The others still count, so
        that a broken file does not delay a revocation.
        """
        failed = False
        for name, step in (
            ("the serving certificate", self._tls.reload),
            ("the client CAs and the registry of users", self._reload_client_certificates),
            ("the tokens", lambda: self._authentication.replace_tokens(self._tokens())),
            ("the authentication configuration", self._reload_issuers),
        ):
            try:
                step()
            except (OSError, ValueError) as error:
                failed = True
                log.error("server: cannot reload %s, keeping the previous content: %s", name, error)
        if not failed:
            log.info("server: reloaded certificates and tokens")

    def _reload_client_certificates(self) -> None:
        self._certificates.reload()
        self._request_certificates()

    def _reload_issuers(self) -> None:
        """Read --authentication-config again. Like kube-apiserver, reject a change of its anonymous settings."""
        config = read_authentication_config(self.settings)
        if config == self._authentication_config:
            return
        if config.get("anonymous") != self._authentication_config.get("anonymous"):
            problem = "anonymous: Forbidden: changed from initial configuration file"
            raise SettingsError(f"--authentication-config: {problem}")
        self._authentication_config = config
        self._authenticators.replace_issuers(build_authenticators(self.settings, config, self.clock))

    def _reloaded_files(self) -> list[Path]:
        """Return the files that `reload` reads."""
        settings = self.settings
        optional = (settings.client_ca_file, settings.token_auth_file, settings.authentication_config)
        users = (self._user_registry.authority, self._user_registry.file)
        given = (file for file in (*optional, settings.oidc_ca_file) if file is not None)
        return [self._tls.certificate, self._tls.key, *users, *given]

    def _write_kubeconfig(self) -> None:
        write_kubeconfig(self.kubeconfig, self.url, self._tls.authority(), "admin", {"token": self.token})


def _open_store(settings: Settings) -> tuple[Store, Leadership]:
    """Return the store that the flags select, and the leader election among the replicas that share it."""
    if not settings.etcd_servers:
        return SqliteStore(settings.data_dir, durable=not settings.ephemeral), SingleReplicaLeadership()
    from polykind.store.etcd import EtcdAccess, EtcdLeadership, EtcdStore

    access = EtcdAccess(settings.etcd_servers, settings.etcd_cafile, settings.etcd_certfile, settings.etcd_keyfile)
    prefix = settings.etcd_prefix.rstrip("/")
    store = EtcdStore(access, prefix + "/")
    identity = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return store, EtcdLeadership(store, prefix, identity, settings.etcd_compaction_interval)


def _load_library(spec: str) -> Library:
    from polykind.toolkit.declare.loading import load_converter

    try:
        return load_converter(spec)
    except ValueError as error:
        raise SettingsError(str(error)) from None
