"""The per-request monitor: records metrics, client usage and a debug log line for every request."""

from __future__ import annotations

import logging
import time

from polykind.golang.duration import format_duration
from polykind.http.messages import Request
from polykind.metrics.metrics import Metrics
from polykind.metrics.series import RequestSeries
from polykind.metrics.usage import VersionUsage
from polykind.operations.operation import Operation
from polykind.operations.responses import BodyStream, Response, Stream, body_size
from polykind.resources.registry import Registry
from polykind.resources.resource import APPLY_PATCH

log = logging.getLogger("polykind.requests")

_SUBRESOURCES = frozenset({"", "status", "scale"})
_READS = frozenset({"GET", "HEAD"})
_ENDPOINTS = frozenset({"healthz", "livez", "readyz", "version", "metrics", "openapi", "api", "apis"})


class RequestMonitor:
    """Records the requests of one server. `reading` and `writing` count the active requests, except watches."""

    def __init__(self, metrics: Metrics, registry: Registry) -> None:
        self._metrics = metrics
        self._registry = registry
        self.reading = metrics.inflight.of("readOnly")
        self.writing = metrics.inflight.of("mutating")
        self.allowed = 0
        """The number of requests that an authorizer has allowed."""
        self._forbidden = 0
        self._converting = metrics.conversion_request_seconds.of()
        metrics.before_scrape += (self._measure_access, self._measure_objects, self._measure_conversions)

    def record(self, op: Operation, request: Request, verb: str, response: Response | Stream, started: float) -> None:
        """Record the response to a resource request. A watch is recorded when its stream ends."""
        if verb == "PATCH" and op.media.content_type.startswith(APPLY_PATCH):
            verb = "APPLY"
        is_plain_item = op.name and not op.subresource and not op.parameters
        key = verb if is_plain_item else self._key(op, verb)
        series, usage = op.version.request_series.get(key) or self._series(op, verb)
        if usage is not None:
            usage.record(op.client.name, op.media.agent, started, writes=request.method not in _READS)
        if isinstance(response, Stream):
            self._record_stream(op, request, series, response, started)
        else:
            self._record_response(request, series, response, started)

    def _key(self, op: Operation, verb: str) -> tuple[str, ...]:
        dry_run = "All" if "dryRun=" in op.parameters else ""
        return verb, op.subresource if op.subresource in _SUBRESOURCES else "other", _scope(op), dry_run

    def _series(self, op: Operation, verb: str) -> tuple[RequestSeries, VersionUsage | None]:
        resource, version = op.resource, op.version
        key = _, subresource, scope, dry_run = self._key(op, verb)
        series = self._metrics.request(
            verb, resource.group, version.version, resource.plural, subresource, scope, dry_run
        )
        usage = None
        if not version.is_builtin:
            usage = self._metrics.usage.of(resource.group, version.version, resource.plural)
        version.request_series[key] = series, usage
        if (subresource, scope, dry_run) == ("", "resource", ""):
            version.request_series[verb] = series, usage
        return series, usage

    def record_unauthenticated(self) -> None:
        """Record a request with invalid credentials."""
        self._metrics.authentication_attempts.of("error").add()

    def record_forbidden(self) -> None:
        """Record a request that no authorizer has allowed."""
        self._forbidden += 1
        self._metrics.authorization_attempts.of("no-opinion").set(self._forbidden)

    def record_conversion(self, seconds: float) -> None:
        """Record the seconds that a request waited for conversions, if it needed any."""
        if seconds:
            self._converting.observe(seconds)

    def record_endpoint(self, request: Request, response: Response, started: float) -> None:
        """Record the response of an endpoint that is not a resource, such as /version or /healthz.

        Unknown paths are not recorded, because clients could create any number of series with them.
        """
        root = request.path[1:].partition("/")[0]
        if root in _ENDPOINTS and request.method in ("GET", "HEAD"):
            series = self._metrics.request("GET", "", "", "", subresource=f"/{root}")
            self._record_response(request, series, response, started)

    def _record_response(self, request: Request, series: RequestSeries, response: Response, started: float) -> None:
        seconds = time.perf_counter() - started
        body = response.body
        series.done(response.status, seconds, len(body) if type(body) is bytes else body_size(body))
        if log.isEnabledFor(logging.DEBUG):
            _log(request, series.name, response.status, seconds)

    def _record_stream(
        self, op: Operation, request: Request, series: RequestSeries, stream: Stream, started: float
    ) -> None:
        resource, previous = op.resource, stream.on_end
        active = self._metrics.longrunning.of(
            series.name, resource.group, op.version.version, resource.plural, "", _scope(op), "apiserver"
        )
        long_running = 0 if isinstance(stream, BodyStream) else 1
        active.add(long_running)

        def ended() -> None:
            previous()
            active.add(-long_running)
            seconds = time.perf_counter() - started
            series.done(200, seconds, 0)
            if log.isEnabledFor(logging.DEBUG):
                _log(request, series.name, 200, seconds)

        stream.on_end = ended

    def _measure_access(self) -> None:
        self._metrics.authorization_attempts.of("allowed").set(self.allowed)
        self._metrics.authentication_attempts.of("success").set(self.allowed + self._forbidden)

    def _measure_objects(self) -> None:
        for resource in self._registry.resources():
            if resource.cache.loaded:
                count = len(resource.cache)
                self._metrics.storage_objects.of(resource.qualified).set(count)
                self._metrics.resource_objects.of(resource.group, resource.plural).set(count)
                for version, stored in resource.cache.version_counts.items():
                    self._metrics.stored_objects.of(resource.group, resource.plural, version).set(stored)

    def _measure_conversions(self) -> None:
        for resource in self._registry.resources():
            for version in resource.versions.values():
                if version.converts:
                    self._metrics.conversion_hits.of(resource.qualified).add(version.representer.hits)
                    self._metrics.conversion_misses.of(resource.qualified).add(version.representer.misses)
                    version.representer.hits = version.representer.misses = 0


def _scope(op: Operation) -> str:
    if op.name:
        return "resource"
    return "cluster" if op.namespace is None else "namespace"


def _log(request: Request, verb: str, status: int, seconds: float) -> None:
    user = request.user.name if request.user is not None else "anonymous"
    audit_id = request.audit_id.decode("latin-1")
    # The names of the fields are those of kube-apiserver's JSON log. It has no user.
    fields = {
        "verb": verb,
        "URI": request.target,
        "latency": format_duration(round(seconds * 10**9)),
        "userAgent": request.agent.decode("utf-8", "replace"),
        "audit-ID": audit_id,
        "srcIP": request.peer,
        "user": user,
        "resp": status,
    }
    extra = {"title": "HTTP", "fields": fields}
    log.debug("%s %s %s %d %.6fs %s", audit_id, verb, request.target, status, seconds, user, extra=extra)
