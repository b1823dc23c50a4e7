"""What is told of each request: counts and seconds in the metrics, and a line in the log for who wants it."""

from __future__ import annotations

import logging
import time

from polykind.http.messages import Request, Response, Stream
from polykind.metrics.metrics import Metrics, RequestSeries
from polykind.metrics.usage import VersionUsage
from polykind.resources.registry import Registry
from polykind.resources.resource import APPLY_PATCH
from polykind.verbs.context import RequestContext

log = logging.getLogger("polykind.requests")

_PARTS = frozenset({"", "status", "scale"})
_READS = frozenset({"GET", "HEAD"})
_DOCUMENTS = frozenset({"healthz", "livez", "readyz", "version", "metrics", "openapi", "api", "apis"})


class Monitor:
    """Counts the requests of one server. `reading` and `writing` are those under way, watches apart."""

    def __init__(self, metrics: Metrics, registry: Registry) -> None:
        self._metrics = metrics
        self._registry = registry
        self.reading = metrics.inflight.of("readOnly")
        self.writing = metrics.inflight.of("mutating")
        self._converting = metrics.conversion_request_seconds.of()
        metrics.before_scrape += (self._count_objects, self._count_kept)

    def done(self, call: RequestContext, verb: str, answer: Response | Stream, started: float) -> None:
        """A request to a resource has its answer. A watch is over only when its stream is."""
        request = call.request
        if verb == "PATCH" and request.header(b"content-type").startswith(APPLY_PATCH):
            verb = "APPLY"
        plain = call.name and not call.subresource and not request.query
        series, uses = call.version.request_series.get(verb if plain else self._key(call, verb)) or self._series(
            call, verb
        )
        if uses is not None:
            agent = request.headers.get(b"user-agent", b"")
            uses.note(call.user.name, agent, started, writes=request.method not in _READS)
        if isinstance(answer, Stream):
            self._follow(call, series, answer, started)
        else:
            self._count(request, series, answer, started)

    def _key(self, call: RequestContext, verb: str) -> tuple[str, ...]:
        dry_run = "All" if "dryRun=" in call.request.query else ""
        return verb, call.subresource if call.subresource in _PARTS else "other", _scope(call), dry_run

    def _series(self, call: RequestContext, verb: str) -> tuple[RequestSeries, VersionUsage | None]:
        kind, version = call.resource, call.version
        key = _, part, scope, dry_run = self._key(call, verb)
        series = self._metrics.request(verb, kind.group, version.version, kind.plural, part, scope, dry_run)
        uses = None if version.is_builtin else self._metrics.uses.of(kind.group, version.version, kind.plural)
        found = version.request_series[key] = series, uses
        if (part, scope, dry_run) == ("", "resource", ""):
            version.request_series[verb] = found
        return found

    def converted(self, seconds: float) -> None:
        """A request has waited so long for all its conversions."""
        if seconds:
            self._converting.observe(seconds)

    def document(self, request: Request, answer: Response, started: float) -> None:
        """Something besides resources was asked for. Paths that mean nothing are not counted: they have no end."""
        root = request.path[1:].partition("/")[0]
        if root in _DOCUMENTS and request.method in ("GET", "HEAD"):
            series = self._metrics.request("GET", "", "", "", subresource=f"/{root}")
            self._count(request, series, answer, started)

    def _count(self, request: Request, series: RequestSeries, answer: Response, started: float) -> None:
        seconds, body = time.perf_counter() - started, answer.body
        series.done(answer.status, seconds, len(body) if isinstance(body, bytes) else sum(map(len, body)))
        if log.isEnabledFor(logging.DEBUG):
            _tell(request, series.name, answer.status, seconds)

    def _follow(self, call: RequestContext, series: RequestSeries, stream: Stream, started: float) -> None:
        kind, end = call.resource, stream.on_end
        running = self._metrics.longrunning.of(
            series.name, kind.group, call.version.version, kind.plural, "", _scope(call), "apiserver"
        )
        running.add()

        def ended() -> None:
            end()
            running.add(-1)
            seconds = time.perf_counter() - started
            series.done(200, seconds, 0)
            if log.isEnabledFor(logging.DEBUG):
                _tell(call.request, series.name, 200, seconds)

        stream.on_end = ended

    def _count_objects(self) -> None:
        for kind in self._registry.kinds():
            if kind.cache.loaded:
                count = len(kind.cache)
                self._metrics.storage_objects.of(kind.qualified).set(count)
                self._metrics.resource_objects.of(kind.group, kind.plural).set(count)
                for version, stored in kind.cache.version_counts.items():
                    self._metrics.stored_objects.of(kind.group, kind.plural, version).set(stored)

    def _count_kept(self) -> None:
        for kind in self._registry.kinds():
            for version in kind.versions.values():
                if version.converts:
                    self._metrics.conversion_hits.of(kind.qualified).add(version.representer.hits)
                    self._metrics.conversion_misses.of(kind.qualified).add(version.representer.misses)
                    version.representer.hits = version.representer.misses = 0


def _scope(call: RequestContext) -> str:
    if call.name:
        return "resource"
    return "cluster" if call.namespace is None else "namespace"


def _tell(request: Request, verb: str, status: int, seconds: float) -> None:
    query = f"?{request.query}" if request.query else ""
    user = request.user.name if request.user is not None else "anonymous"
    log.debug("%s %s %s%s %d %.6fs %s", request.audit_id.decode(), verb, request.path, query, status, seconds, user)
