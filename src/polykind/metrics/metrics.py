"""The server's metrics. Metrics that kube-apiserver also has get its names, all others the prefix `polykind_`.

Recording must cost almost nothing. Therefore callers look up a series once and keep it, and recording a value only adds
to a number. The series are converted to Prometheus' text format in a thread when a client requests /metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from polykind.metrics.series import MAX_SERIES, Family, Histogram, Number, RequestSeries, histogram_family
from polykind.metrics.storage_metrics import StorageMetrics
from polykind.metrics.usage import UsageRegistry


def _exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(start * factor**i for i in range(count))


# fmt: off
_REQUEST_SECONDS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)
# fmt: on
_ADMISSION_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25)
_WEBHOOK_SERIES = 1_000
"""The number of series of each metric of admission webhooks, whose names clients choose."""
_WEBHOOK_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60)
_REQUEST = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_KIND = ("group", "version", "resource")
_CRD = ("crd", "converter")


class ConversionFailure(Protocol):
    """The properties of a failed conversion that are used as label values."""

    @property
    def kind(self) -> str: ...

    @property
    def cause(self) -> str: ...

    @property
    def timed_out(self) -> bool: ...


class Metrics:
    """All metrics of one server. The methods `counter`, `gauge` and `histogram` declare further metrics."""

    def __init__(self, storage: StorageMetrics | None = None) -> None:
        self.counters: list[Family[Number]] = []
        self.gauges: list[Family[Number]] = []
        self.histograms: list[tuple[Family[Histogram], tuple[float, ...]]] = []
        self._requests: dict[tuple[str, ...], RequestSeries] = {}
        self.usage = UsageRegistry()
        """The clients that have requested each served version."""
        self.before_scrape: list[Callable[[], Awaitable[None] | None]] = []
        """Functions that are called before each scrape. They set gauges whose values are not updated continuously."""
        self._declare_requests()
        self._declare_conversions()
        self._declare_admission()
        self._declare_migrations()
        self._declare_audit()
        self._declare_access()
        self.storage = storage or StorageMetrics()
        self.counters += self.storage.counters
        self.histograms += self.storage.histograms

    def counter(self, name: str, help_text: str, labels: Sequence[str] = (), most: int = MAX_SERIES) -> Family[Number]:
        family = Family(name, help_text, labels, Number, most)
        self.counters.append(family)
        return family

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Family[Number]:
        family = Family(name, help_text, labels, Number)
        self.gauges.append(family)
        return family

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float], most: int = MAX_SERIES
    ) -> Family[Histogram]:
        family, edges = histogram_family(name, help_text, labels, bounds, most)
        self.histograms.append((family, edges))
        return family

    async def render(self) -> bytes:
        """Return the content of /metrics in Prometheus' text format. A thread renders it."""
        for measure in self.before_scrape:
            measured = measure()
            if measured is not None:
                await measured
        return await asyncio.to_thread(_render, self)

    def _declare_requests(self) -> None:
        self.request_total = self.counter(
            "apiserver_request_total",
            "Requests by verb, dry run, group, version, resource, scope, component and HTTP status.",
            ("verb", "dry_run", *_REQUEST[1:], "code"),
        )
        self.request_seconds = self.histogram(
            "apiserver_request_duration_seconds",
            "Response latency in seconds.",
            ("verb", "dry_run", *_REQUEST[1:]),
            _REQUEST_SECONDS,
        )
        self.response_sizes = self.histogram(
            "apiserver_response_sizes", "Response size in bytes.", _REQUEST, _exponential(1000, 10, 7)
        )
        self.longrunning = self.gauge(
            "apiserver_longrunning_requests", "Active watches and other long-running requests.", _REQUEST
        )
        self.inflight = self.gauge(
            "apiserver_current_inflight_requests", "Active requests, read-only and mutating.", ("request_kind",)
        )
        self.watch_events = self.counter("apiserver_watch_events_total", "Events sent to watch clients.", _KIND)
        self.storage_objects = self.gauge("apiserver_storage_objects", "Objects stored.", ("resource",))
        self.resource_objects = self.gauge("apiserver_resource_objects", "Objects stored.", ("group", "resource"))

    def request(
        self,
        verb: str,
        group: str,
        version: str,
        resource: str,
        subresource: str = "",
        scope: str = "",
        dry_run: str = "",
        component: str = "apiserver",
    ) -> RequestSeries:
        """Return the series of one route. `verb` is a label such as LIST, WATCH, POST, APPLY or DELETECOLLECTION."""
        key = (verb, group, version, resource, subresource, scope, dry_run, component)
        series = self._requests.get(key)
        if series is None:
            rest = (group, version, resource, subresource, scope, component)
            series = self._requests[key] = RequestSeries(
                verb,
                self.request_total,
                (verb, dry_run, *rest),
                self.request_seconds.of(verb, dry_run, *rest),
                self.response_sizes.of(verb, *rest),
            )
        return series

    def forget_resource(self, group: str, resource: str) -> None:
        """Drop the series of a resource that is no longer served."""
        for key in [k for k in self._requests if k[3] == resource and k[1] == group]:
            verb, _, version, _, subresource, scope, dry_run, component = key
            rest = (group, version, resource, subresource, scope, component)
            self._requests.pop(key).forget()
            self.request_seconds.drop(verb, dry_run, *rest)
            self.response_sizes.drop(verb, *rest)
            self.longrunning.drop(verb, *rest)
            self.watch_events.drop(group, version, resource)
        self.storage_objects.drop(f"{resource}.{group}" if group else resource)
        self.resource_objects.drop(group, resource)
        for family in (self.stored_objects, self.migration_objects):
            family.drop_all(group, resource)
        self.storage.forget(group, resource)
        self.usage.forget(group, resource)

    def _declare_conversions(self) -> None:
        self.webhook_calls = self.counter(
            "apiserver_conversion_webhook_request_total",
            "Calls to conversion webhooks, by result and failure type.",
            ("result", "failure_type"),
        )
        self.webhook_seconds = self.histogram(
            "apiserver_conversion_webhook_duration_seconds",
            "Duration in seconds of calls to conversion webhooks.",
            ("result", "failure_type"),
            _WEBHOOK_SECONDS,
        )
        self.crd_seconds = self.histogram(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "Duration in seconds of conversions of a CRD's objects.",
            ("crd_name", "from_version", "to_version", "succeeded"),
            _exponential(0.001, 2, 15),
        )
        self.conversion_seconds = self.histogram(
            "polykind_conversion_duration_seconds",
            "Duration in seconds of conversions, by CRD and converter.",
            _CRD,
            _WEBHOOK_SECONDS,
        )
        self.conversion_request_seconds = self.histogram(
            "polykind_conversion_request_duration_seconds",
            "Seconds that a request waited for all its conversions.",
            (),
            _WEBHOOK_SECONDS,
        )
        self.conversion_failures = self.counter(
            "polykind_conversion_failures_total", "Failed conversions by CRD, converter and cause.", (*_CRD, "cause")
        )
        self.conversion_repairs = self.counter(
            "polykind_conversion_repairs_total",
            "Reviews that a webhook answered wrongly, and whose objects smaller reviews converted, by CRD and cause.",
            ("crd", "cause"),
        )
        self.conversion_timeouts = self.counter(
            "polykind_conversion_timeouts_total", "Conversions that timed out, by CRD and converter.", _CRD
        )
        self.conversion_objects = self.counter(
            "polykind_conversion_objects_total", "Objects sent to conversion webhooks, by CRD.", ("crd",)
        )
        self.conversion_shared = self.counter(
            "polykind_conversion_shared_total", "Objects converted by a concurrent request, by CRD.", ("crd",)
        )
        self.conversion_hits = self.counter(
            "polykind_conversion_cache_hits_total", "Objects whose cached conversion was used, by CRD.", ("crd",)
        )
        self.conversion_misses = self.counter(
            "polykind_conversion_cache_misses_total", "Objects without a cached conversion, by CRD.", ("crd",)
        )
        self.conversion_renewals = self.counter(
            "polykind_conversion_cache_renewals_total",
            "Objects converted again in the background before their cached conversion was too old, by CRD and result.",
            ("crd", "result"),
        )
        self.conversion_drops = self.counter(
            "polykind_conversion_cache_drops_total",
            "Times that all cached conversions were dropped, by CRD and reason.",
            ("crd", "reason"),
        )
        self.conversion_fallbacks = self.counter(
            "polykind_conversion_fallback_objects_total",
            "Objects shown as last converted because the converter was down, by CRD and version.",
            ("crd", "version"),
        )

    def _declare_admission(self) -> None:
        self.admission_seconds = self.histogram(
            "apiserver_admission_webhook_admission_duration_seconds",
            "Duration in seconds of calls to admission webhooks, by name, type, operation and rejection.",
            ("name", "type", "operation", "rejected"),
            _ADMISSION_SECONDS,
            _WEBHOOK_SERIES,
        )
        self.admission_step_seconds = self.histogram(
            "apiserver_admission_step_admission_duration_seconds",
            "Duration in seconds of the admission steps, by type (admit or validate), operation and rejection.",
            ("type", "operation", "rejected"),
            _ADMISSION_SECONDS[:6],
        )
        self.admission_requests = self.counter(
            "apiserver_admission_webhook_request_total",
            "Calls to admission webhooks, by name, type, operation, HTTP status and rejection.",
            ("name", "type", "operation", "code", "rejected"),
            _WEBHOOK_SERIES,
        )
        self.admission_rejections = self.counter(
            "apiserver_admission_webhook_rejection_count",
            "Requests rejected because of an admission webhook, by name, type, operation, error type and status.",
            ("name", "type", "operation", "error_type", "rejection_code"),
            _WEBHOOK_SERIES,
        )
        self.admission_ignored = self.counter(
            "apiserver_admission_webhook_fail_open_count",
            "Calls to admission webhooks that failed and were ignored (failurePolicy: Ignore), by name and type.",
            ("name", "type"),
            _WEBHOOK_SERIES,
        )

    def _declare_migrations(self) -> None:
        self.stored_objects = self.gauge(
            "polykind_stored_objects",
            "Objects of the cached resources, by the version they are stored at.",
            ("group", "resource", "version"),
        )
        self.migration_objects = self.counter(
            "polykind_migration_objects_total",
            "Objects visited by storage version migrations: migrated, current, overtaken by another writer, failed.",
            ("group", "resource", "result"),
        )

    def _declare_audit(self) -> None:
        self.rate_limited = self.counter(
            "polykind_rate_limited_requests_total",
            "Requests rejected with 429 because of a user's rate limit, by the limit and the kind of request.",
            ("limit", "kind"),
        )
        self.audit_events = self.counter(
            "apiserver_audit_event_total", "Audit events generated and sent to the audit backends."
        )
        self.audit_errors = self.counter(
            "apiserver_audit_error_total", "Audit events that were lost, by the plugin that lost them.", ("plugin",)
        )
        self.audit_levels = self.counter(
            "apiserver_audit_level_total", "Requests by the audit level of the policy.", ("level",)
        )
        self.audit_rejected = self.counter(
            "apiserver_audit_requests_rejected_total", "Requests rejected because an audit backend failed."
        )

    def _declare_access(self) -> None:
        self.authentication_attempts = self.counter(
            "authentication_attempts", "Authenticated requests, by result: success or error.", ("result",)
        )
        self.authorization_attempts = self.counter(
            "authorization_attempts_total",
            "Authorized requests, by result: allowed or no-opinion.",
            ("result",),
        )

    def webhook_called(
        self, webhook: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool
    ) -> None:
        rejected_label = "true" if rejected else "false"
        self.admission_seconds.of(webhook, kind, operation, rejected_label).observe(seconds)
        self.admission_requests.of(webhook, kind, operation, str(min(code, 600)), rejected_label).add()

    def webhook_rejected(self, webhook: str, kind: str, operation: str, error: str, code: int) -> None:
        self.admission_rejections.of(webhook, kind, operation, error, str(min(code, 600))).add()

    def webhook_failed_open(self, webhook: str, kind: str) -> None:
        self.admission_ignored.of(webhook, kind).add()

    def converter_called(self, crd: str, objects: int, seconds: float, failure: ConversionFailure | None) -> None:
        labels = ("success", "") if failure is None else ("failure", failure.kind)
        self.webhook_calls.of(*labels).add()
        self.webhook_seconds.of(*labels).observe(seconds)
        self.conversion_objects.of(crd).add(objects)

    def objects_converted(
        self,
        crd: str,
        converter: str,
        from_version: str,
        to_version: str,
        seconds: float,
        failure: ConversionFailure | None,
    ) -> None:
        succeeded = "true" if failure is None else "false"
        self.crd_seconds.of(crd, from_version, to_version, succeeded).observe(seconds)
        self.conversion_seconds.of(crd, converter).observe(seconds)
        if failure is not None:
            self.conversion_failures.of(crd, converter, failure.cause).add()
            if failure.timed_out:
                self.conversion_timeouts.of(crd, converter).add()

    def answer_repaired(self, crd: str, failure: ConversionFailure) -> None:
        self.conversion_repairs.of(crd, failure.cause).add()

    def objects_shared(self, crd: str, objects: int) -> None:
        self.conversion_shared.of(crd).add(objects)

    def conversions_renewed(self, crd: str, result: str, objects: int) -> None:
        self.conversion_renewals.of(crd, result).add(objects)

    def conversions_dropped(self, crd: str, reason: str) -> None:
        self.conversion_drops.of(crd, reason).add(1)

    def fallback_used(self, crd: str, version: str, objects: int) -> None:
        self.conversion_fallbacks.of(crd, version).add(objects)

    def forget_crd(self, crd: str) -> None:
        """Drop the series of a CRD that has been deleted."""
        self.crd_seconds.forget("crd_name", crd)
        self.conversion_seconds.forget("crd", crd)
        for family in self.counters:
            if "crd" in family.labels:
                family.forget("crd", crd)


def _render(metrics: Metrics) -> bytes:
    # Import the module in the first scrape, because the Prometheus client takes long to import.
    from polykind.metrics.scrape import render

    return render(metrics)
