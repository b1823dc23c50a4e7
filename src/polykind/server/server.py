"""The API server as an object, for `async with Server(settings) as server`. A process can have several servers."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.admission.plugins.plugin_table import PluginEntry, enabled_plugins, ineffective_choices
from polykind.apis.core.types import SERVICE
from polykind.apis.groups import all_kinds
from polykind.auth.token_review import token_finder
from polykind.cache.watch_cache import WatchCache
from polykind.clock import SystemClock, SystemIdSource
from polykind.contract import Clock, IdSource, JsonObject, Leadership, Store
from polykind.controllers.admission_informers import AdmissionInformers
from polykind.controllers.crd_controller import CRDController
from polykind.controllers.kubernetes_service import KubernetesService
from polykind.controllers.quota_informer import ServerStatusWriter
from polykind.controllers.service_repair import repair_allocations
from polykind.conversion.converter_factory import build_converter
from polykind.conversion.converter_health import Health
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.http.listener import Http2Options, HttpServer, Limits
from polykind.metrics.metrics import Metrics
from polykind.metrics.storage_metrics import StorageMetrics
from polykind.operations.backend import Backend
from polykind.operations.operation import timestamp
from polykind.resources.builtin import BuiltinResource, declare_builtins
from polykind.resources.registry import Registry
from polykind.resources.stored_objects import StoredObjects
from polykind.server.admission_settings import read_admission_settings
from polykind.server.audit_settings import build_auditor, read_audit_policy
from polykind.server.controllers import Controllers
from polykind.server.converter_files import ConverterFiles
from polykind.server.debugging_pages import DebuggingPages
from polykind.server.dispatcher import Dispatcher
from polykind.server.endpoints import Check, Endpoints
from polykind.server.file_watcher import FileWatcher
from polykind.server.filters import Filter, FilterOptions, add_filters
from polykind.server.identity import Identity
from polykind.server.network_identity import ALL_ADDRESSES, advertised_host, format_host
from polykind.server.request_monitor import RequestMonitor
from polykind.server.runtime_config import RuntimeConfig
from polykind.server.server_metrics import ServerMetrics
from polykind.server.settings import Settings, SettingsError
from polykind.server.storage_layout import move_services
from polykind.server.store_restore import StoreRestore
from polykind.server.version_report import VersionReporter
from polykind.store.sqlite import SingleReplicaLeadership, SqliteStore
from polykind.strategies.authorization.strategy import reviews
from polykind.strategies.core.webhook_services import WebhookServices
from polykind.webhook.target import Resolver, parse_resolve

if TYPE_CHECKING:
    from polykind.audit.audit_policy import AuditPolicy
    from polykind.console.console_pages import ConsolePages
    from polykind.http.connection import App
    from polykind.server.encryption_settings import Encryption
    from polykind.server.rate_limits import RateLimits
    from polykind.webhook.credentials import WebhookCredentials

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
        self._converters = ConverterFiles(self.settings.converter)
        self._conversion_credentials = _read_credentials(self.settings.conversion_webhook_config_file)
        self.clock = clock or SystemClock()
        self.ids = ids or SystemIdSource()
        storage_metrics = StorageMetrics()
        self.metrics = Metrics(storage_metrics)
        self.store, self.leadership = (
            (store, SingleReplicaLeadership())
            if store is not None
            else _open_store(self.settings, storage_metrics.committed)
        )
        self._unencrypted_store = self.store
        self.encryption: Encryption | None = None
        self.port = 0
        self.token = ""
        """The bearer token of the admin user."""
        self._shutting_down = False
        self._grace_seconds = 10.0
        """Seconds that active requests may take to finish when the server stops."""
        self._exit_stack = AsyncExitStack()
        """Stops the started components in reverse order."""

    @property
    def url(self) -> str:
        """The address that kubeconfigs name."""
        host = advertised_host(self.settings.bind_address, self.settings.advertise_address)
        return f"https://{format_host(host)}:{self.port}"

    @property
    def crds(self) -> CRDController:
        return self.controllers.crds

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

    def begin_shutdown(self, grace_seconds: float) -> None:
        """Make /readyz fail from now on, while the server still serves. `stop` gives requests this time to finish."""
        self._shutting_down = True
        self._grace_seconds = grace_seconds

    async def stop(self) -> None:
        """Stop the server: close watches, finish pending requests, close the store."""
        await self._exit_stack.aclose()

    async def _start(self) -> None:
        settings, on_stop = self.settings, self._exit_stack.push_async_callback
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.metrics = Metrics(self.metrics.storage)
        identity = self._identity = Identity(settings, self.clock, self._find_stored)
        self.token = identity.token
        identity.start()
        on_stop(identity.close)
        audit_policy = read_audit_policy(settings)
        await self._start_store()
        plugins = self._build_backend()
        self.controllers = Controllers(
            settings,
            self.backend,
            self.leadership,
            self.admission,
            self._resolver,
            self.runtime_config,
            self._build_converter,
            self._now,
            on_stop,
        )
        for review in reviews(token_finder(identity.tokens, identity.authenticators), identity.authorizers.authorizer):
            self.registry.add_review(review)
        controller_checks = await self.controllers.start(
            identity.authorizers.rbac,
            creates_accounts=any(plugin.name == "ServiceAccount" for plugin in plugins),
            authority=identity.tls.authority,
        )
        if isinstance(self.leadership, SingleReplicaLeadership):
            await repair_allocations(self.backend, self._now())
        monitor = RequestMonitor(self.metrics, self.registry)
        dispatcher = Dispatcher(self.backend, self._endpoints(self._checks() | controller_checks), monitor)
        app = add_filters(
            dispatcher,
            FilterOptions(
                identity.authentication,
                identity.authorizers.authorizer,
                monitor,
                dispatcher.endpoint,
                self._tracing(),
                self._audit(audit_policy),
                self._load_console if settings.console else None,
                self._read_rate_limits(),
            ),
        )
        ServerMetrics(
            self.metrics,
            self._unencrypted_store,
            self.leadership,
            self.registry,
            lambda: self.http,
            lambda: [self.cache.workers.queue, self.cache.workers.turns.queue],
        )
        self.unserved = dispatcher.unserved
        await self._start_http(app)
        self._watch_files()

    async def _start_store(self) -> None:
        """Open the store, encrypted if the flags say so, and the watch cache that mirrors it."""
        prefix = self.settings.etcd_prefix.rstrip("/") + "/"
        self._encrypt_store()
        await self.store.start()
        self._exit_stack.push_async_callback(self.store.close)
        await move_services(self.store, prefix)
        self.cache = WatchCache(self.store, prefix)
        await self.cache.start()
        self._exit_stack.push_async_callback(self.cache.close)

    def _build_backend(self) -> tuple[PluginEntry, ...]:
        """Build what the verbs need: the registry of resources, admission and the backend. Return the plugins."""
        settings, identity = self.settings, self._identity
        self.registry = Registry()
        declare_builtins(self.registry, self.cache, all_kinds(), self.runtime_config.serves)
        services = self.cache.resource_at(SERVICE.storage_prefix)
        self._resolver = Resolver(
            parse_resolve(settings.resolve),
            WebhookServices(services),
            in_cluster="KUBERNETES_SERVICE_HOST" in os.environ,
        )
        plugins = self._enabled_plugins()
        admission = read_admission_settings(settings.admission_control_config_file, plugins)
        self.admission = AdmissionInformers(
            self.cache,
            self.registry,
            self.metrics,
            self._resolver,
            plugins,
            self._plugin_services(admission.plugins),
            admission.credentials,
        )
        self.backend = Backend(
            self.store,
            self.cache,
            self.registry,
            self.clock,
            self.ids,
            self.metrics,
            admission=self.admission.admission,
            authorizer=identity.authorizers.authorizer,
            service_network=settings.service_network,
            service_account_tokens=identity.service_account_tokens,
            allows_privileged=settings.allow_privileged,
            unsafe_deletion=settings.gate("AllowUnsafeMalformedObjectDeletion"),
            compresses_watch_lists=settings.gate("WatchListCompression"),
            stale_values=self.encryption.store if self.encryption is not None else None,
        )
        return plugins

    def _endpoints(self, checks: dict[str, Check]) -> Endpoints:
        settings = self.settings
        return Endpoints(
            self.metrics,
            self.crds.discovery,
            checks,
            VersionReporter(self.registry, self.cache, self.metrics, self.clock),
            StoreRestore(
                self.store,
                self.cache.prefix,
                settings.data_dir,
                self.encryption.decrypted if self.encryption is not None else None,
            ),
            lambda: self.url.removeprefix("https://"),
            self._identity.service_account_tokens,
            DebuggingPages(self.clock, settings.flags),
            self.registry.builtin_versions,
            self.cache.load_notes,
            {"shutdown": lambda: "process is shutting down" if self._shutting_down else ""},
        )

    async def _start_http(self, app: App) -> None:
        """Listen for requests, and publish the address in the Service `kubernetes` and in the kubeconfig."""
        settings, on_stop = self.settings, self._exit_stack.push_async_callback
        self.http = HttpServer(
            app,
            Limits(request_seconds=settings.request_timeout),
            Http2Options(settings.http2_max_streams_per_connection or 100, settings.goaway_chance),
            self.cache.workers.turns,
        )
        on_stop(lambda: self.http.stop(self._grace_seconds))
        self.port = await self.http.start(
            settings.bind_address,
            settings.secure_port,
            self._identity.tls.context,
            share_port=settings.permit_port_sharing,
        )
        kubernetes_service = KubernetesService(self.backend, self._now, self._advertised_address())
        on_stop(kubernetes_service.close)
        await kubernetes_service.start(self.port)
        self._write_kubeconfig()

    def _watch_files(self) -> None:
        """Read certificates, tokens, keys and converters again when their files change."""
        on_stop, identity = self._exit_stack.push_async_callback, self._identity
        files = FileWatcher(identity.files(), self._reload_identity)
        files.start()
        on_stop(files.close)
        self._converters.start(self.crds.rebuild_converters)
        on_stop(self._converters.close)
        identity.tls.start(self._write_kubeconfig)
        on_stop(identity.tls.close)
        config = self.settings.encryption_provider_config
        if self.encryption is not None and config and self.settings.encryption_provider_config_automatic_reload:
            keys = FileWatcher([config], self.encryption.reload)
            keys.start()
            on_stop(keys.close)

    def _read_rate_limits(self) -> RateLimits | None:
        """Return the limits of --rate-limit-config-file, and read the file again when it changes."""
        path = self.settings.rate_limit_config_file
        if path is None:
            return None
        from polykind.server.rate_limits import RateLimits

        limits = RateLimits(path, self.clock.monotonic, self.metrics)
        file = FileWatcher([path], limits.reload)
        file.start()
        self._exit_stack.push_async_callback(file.close)
        return limits

    def _load_console(self) -> ConsolePages:
        """Return the console. It is imported at the first request of a browser, because most servers have none."""
        from polykind.console.console_pages import ConsolePages

        return ConsolePages(self._identity.console_issuers)

    def _encrypt_store(self) -> None:
        """Encrypt the store as --encryption-provider-config declares. Raise SettingsError if the file is invalid."""
        config = self.settings.encryption_provider_config
        if config is None:
            return
        from polykind.server.encryption_settings import Encryption

        prefix = self.settings.etcd_prefix.rstrip("/") + "/"
        self.encryption = Encryption(config, prefix, self._unencrypted_store, self.metrics)
        self.store = self.encryption.store

    def _audit(self, policy: AuditPolicy | None) -> Filter | None:
        """Return the filter that audits requests, or None without a policy."""
        if policy is None:
            return None
        auditor = build_auditor(self.settings, policy, self.clock, self.metrics)
        self._exit_stack.push_async_callback(auditor.close)
        return auditor.audit

    def _tracing(self) -> Filter | None:
        """Return the filter that traces requests, or None without --tracing-config-file."""
        if self.settings.tracing_config_file is None:
            return None
        from polykind.server.tracing import build_tracer

        tracer = build_tracer(self.settings.tracing_config_file, self.metrics)
        self._exit_stack.push_async_callback(tracer.close)
        return tracer.trace

    def _enabled_plugins(self) -> tuple[PluginEntry, ...]:
        enable, disable = self.settings.enable_admission_plugins, self.settings.disable_admission_plugins
        for sentence in ineffective_choices(enable, disable):
            log.warning("server: admission plugin %s", sentence)
        return enabled_plugins(enable, disable)

    def _plugin_services(self, configurations: Mapping[str, JsonObject]) -> PluginServices:
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
            configurations,
        )

    def _advertised_address(self) -> str:
        """Return the address for the endpoints of the Service `kubernetes`.

        Return "" if no flag names an address and the server listens on all addresses.
        """
        bound = self.settings.bind_address
        return self.settings.advertise_address or (bound if bound not in ALL_ADDRESSES else "")

    def _now(self) -> str:
        return timestamp(int(self.clock.now().timestamp()))

    def _build_converter(self, crd: JsonObject, on_health: Callable[[Health], None]) -> MonitoredConverter:
        return build_converter(
            crd,
            resolver=self._resolver,
            clock=self.clock,
            libraries=self._converters.libraries,
            feature_gates=self.settings.feature_gates,
            credentials=self._conversion_credentials,
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
        """Read certificates, tokens, the registry of users and converters again, and write the kubeconfig."""
        self._reload_identity()
        self._converters.reload()

    def _reload_identity(self) -> None:
        self._identity.reload()
        self.token = self._identity.token
        self._write_kubeconfig()

    def _write_kubeconfig(self) -> None:
        self._identity.write_kubeconfig(self.kubeconfig, self.url)


def _open_store(settings: Settings, on_commit: Callable[[float, int], None]) -> tuple[Store, Leadership]:
    """Return the store that the flags select, and the leader election among the replicas that share it."""
    if not settings.etcd_servers:
        return SqliteStore(
            settings.data_dir, durable=not settings.ephemeral, on_commit=on_commit
        ), SingleReplicaLeadership()
    from polykind.store.etcd import EtcdAccess, EtcdLeadership, EtcdStore

    access = EtcdAccess(settings.etcd_servers, settings.etcd_cafile, settings.etcd_certfile, settings.etcd_keyfile)
    prefix = settings.etcd_prefix.rstrip("/")
    store = EtcdStore(access, prefix + "/")
    identity = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    return store, EtcdLeadership(store, prefix, identity, settings.etcd_compaction_interval)


def _read_credentials(kubeconfig: Path | None) -> WebhookCredentials | None:
    """Return the credentials for conversion webhooks. Raise SettingsError if the file is invalid."""
    if kubeconfig is None:
        return None
    from polykind.webhook.credentials import read_credentials

    try:
        return read_credentials(kubeconfig)
    except ValueError as error:
        raise SettingsError(f"--conversion-webhook-config-file: {error}") from None
