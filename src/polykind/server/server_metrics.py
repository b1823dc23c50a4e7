"""The metrics that are measured when /metrics is requested: build, leader, store, watch cache, queues, event loop."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from polykind import __version__
from polykind.contract import Leadership, Store, StoreError
from polykind.http.listener import HttpServer
from polykind.metrics.metrics import Metrics
from polykind.resources.registry import Registry
from polykind.server.kubernetes_version import GIT_VERSION, KUBERNETES_MINOR
from polykind.store.sqlite import SqliteStore
from polykind.workers import FairQueue

_BUILD = (
    "major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"
)  # fmt: skip
_LEVEL = ("global-default", "global-default")
"""The priority level and the flow schema of all requests that wait: the server has one queue, fair between users."""


@runtime_checkable
class _SizedStore(Protocol):
    """A store that knows the size of its database file."""

    async def size_bytes(self) -> int: ...


class ServerMetrics:
    """Sets the gauges of a server before each scrape. `queues` returns the queues in which requests wait."""

    def __init__(
        self,
        metrics: Metrics,
        store: Store,
        leadership: Leadership,
        registry: Registry,
        http: Callable[[], HttpServer],
        queues: Callable[[], list[FairQueue]],
    ) -> None:
        self._metrics = metrics
        self._store = store
        self._leadership = leadership
        self._registry = registry
        self._http = http
        self._queues = queues
        self._declare_build()
        self._leader = metrics.gauge(
            "leader_election_master_status",
            "1 if this server is the leader, which runs the controllers; otherwise 0.",
            ("name",),
        ).of("polykind")
        self._storage_size = metrics.gauge(
            "apiserver_storage_size_bytes", "Size of the store's database file in bytes.", ("storage_cluster_id",)
        ).of("sqlite-0" if isinstance(store, SqliteStore) else "etcd-0")
        self._wal_size = metrics.gauge(
            "polykind_sqlite_wal_size_bytes", "Size of the write-ahead log of the SQLite store in bytes."
        )
        self._revision = metrics.gauge("polykind_store_revision", "Newest revision that this server has observed.")
        kind = ("group", "resource")
        self._cache_events = metrics.counter(
            "apiserver_watch_cache_events_received_total", "Events that the watch cache has received.", kind
        )
        self._cache_loads = metrics.counter(
            "apiserver_watch_cache_initializations_total", "Times that the watch cache was loaded.", kind
        )
        self._cache_revision = metrics.gauge(
            "apiserver_watch_cache_resource_version", "Newest resourceVersion in the watch cache.", kind
        )
        self._rejected = metrics.counter(
            "apiserver_flowcontrol_rejected_requests_total",
            "Requests rejected because too many requests of the same user wait.",
            ("priority_level", "flow_schema", "reason"),
        ).of(*_LEVEL, "queue-full")
        self._waiting = metrics.gauge(
            "apiserver_flowcontrol_current_inqueue_requests",
            "Requests that wait for their turn.",
            ("priority_level", "flow_schema"),
        ).of(*_LEVEL)
        self._connections = metrics.gauge("polykind_http_connections", "Open connections of clients.").of()
        self._lag = metrics.gauge(
            "polykind_event_loop_lag_seconds", "Longest delay of the event loop since the last scrape, in seconds."
        ).of()
        metrics.before_scrape += (self._measure, self._measure_caches, self._measure_size)

    def _declare_build(self) -> None:
        machine = f"{platform.system().lower()}/{platform.machine()}"
        values = "1", KUBERNETES_MINOR, GIT_VERSION, "", "clean", "1970-01-01T00:00:00Z", "", "", machine
        self._metrics.gauge("kubernetes_build_info", "A constant 1, with the version of the API in labels.", _BUILD).of(
            *values
        ).set(1)
        self._metrics.gauge(
            "polykind_build_info",
            "A constant 1, with the versions of Polykind and Python.",
            ("version", "python"),
        ).of(__version__, platform.python_version()).set(1)

    def _measure(self) -> None:
        http, queues = self._http(), self._queues()
        self._leader.set(1 if self._leadership.leading else 0)
        self._rejected.set(sum(queue.rejected for queue in queues))
        self._waiting.set(sum(queue.waiting for queue in queues))
        self._connections.set(len(http.connections))
        self._lag.set(http.take_loop_lag())
        if isinstance(self._store, SqliteStore):
            stats = self._store.stats()
            self._wal_size.of().set(stats.wal_bytes)

    def _measure_caches(self) -> None:
        for family in (self._cache_events, self._cache_loads, self._cache_revision):
            # Drop the series of resources that are no longer served.
            family.drop_all()
        newest = 0
        for resource in self._registry.resources():
            cache, labels = resource.cache, (resource.group, resource.plural)
            if cache.initializations:
                self._cache_events.of(*labels).set(cache.events_received)
                self._cache_loads.of(*labels).set(cache.initializations)
                self._cache_revision.of(*labels).set(cache.revision)
                newest = max(newest, cache.observed_revision)
        self._revision.of().set(newest)

    async def _measure_size(self) -> None:
        """Set the size of the store. Keep the last value if etcd does not respond."""
        if not isinstance(self._store, _SizedStore):
            return
        try:
            self._storage_size.set(await self._store.size_bytes())
        except StoreError:
            return
