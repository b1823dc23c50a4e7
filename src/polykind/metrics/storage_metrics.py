"""Metrics of the store: durations of its requests, and the commits of the SQLite store."""

from __future__ import annotations

from collections.abc import Sequence

from polykind.metrics.series import Family, Histogram, Number, histogram_family

# fmt: off
_REQUEST_SECONDS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)
# fmt: on
_COMMIT_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_BATCH_WRITES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class StorageMetrics:
    """The requests that verbs send to the store. The names are those of kube-apiserver, whose store is etcd."""

    def __init__(self) -> None:
        self.counters: list[Family[Number]] = []
        self.histograms: list[tuple[Family[Histogram], tuple[float, ...]]] = []
        labels = ("operation", "group", "resource")
        self._seconds = self._histogram(
            "etcd_request_duration_seconds",
            "Duration in seconds of requests to the store (etcd or SQLite), by operation and resource.",
            labels,
            _REQUEST_SECONDS,
        )
        self._requests = self._counter(
            "etcd_requests_total", "Requests to the store (etcd or SQLite), by operation and resource.", labels
        )
        self._errors = self._counter(
            "etcd_request_errors_total", "Failed requests to the store, by operation and resource.", labels
        )
        self._commit_seconds = self._histogram(
            "polykind_sqlite_commit_duration_seconds",
            "Duration in seconds of the commits of the SQLite store, including the sync to the disk.",
            (),
            _COMMIT_SECONDS,
        )
        self._batch_writes = self._histogram(
            "polykind_sqlite_batch_writes", "Writes that share one commit of the SQLite store.", (), _BATCH_WRITES
        )

    def _counter(self, name: str, help_text: str, labels: Sequence[str]) -> Family[Number]:
        self.counters.append(Family(name, help_text, labels, Number))
        return self.counters[-1]

    def _histogram(
        self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> Family[Histogram]:
        self.histograms.append(histogram_family(name, help_text, labels, bounds))
        return self.histograms[-1][0]

    def requested(self, operation: str, group: str, resource: str, seconds: float) -> None:
        """Record a request to the store: create, update, delete or list."""
        self._seconds.of(operation, group, resource).observe(seconds)
        self._requests.of(operation, group, resource).add()

    def failed(self, operation: str, group: str, resource: str) -> None:
        self._errors.of(operation, group, resource).add()

    def committed(self, seconds: float, writes: int) -> None:
        """Record a commit. The writer thread of the SQLite store calls this method, and no other thread does."""
        self._commit_seconds.of().observe(seconds)
        self._batch_writes.of().observe(writes)

    def forget(self, group: str, resource: str) -> None:
        """Drop the series of a resource that is no longer served."""
        for operation in ("create", "update", "delete", "list"):
            for family in (self._seconds, self._requests, self._errors):
                family.drop(operation, group, resource)
