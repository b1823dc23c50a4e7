"""Traces of requests (--tracing-config-file): a span per request, with kube-apiserver's names and sampling."""

from __future__ import annotations

import re
import secrets
import socket
import time
from os import getpid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from polykind.auth.user import ADMIN_GROUP
from polykind.http.connection import App
from polykind.http.messages import Request
from polykind.metrics.metrics import Metrics
from polykind.operations.responses import Response, Stream, body_size
from polykind.server.settings import SettingsError
from polykind.server.trace_exporter import Attributes, FinishedSpan, TraceExporter
from polykind.webhook.trace_context import current_span

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_TRUSTED_GROUPS = frozenset((ADMIN_GROUP, "system:monitoring"))
"""Groups whose requests continue the client's trace. The traces of other clients are linked, as in kube-apiserver."""
_DEFAULT_ENDPOINT = "localhost:4317"
_MILLION = 1_000_000
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class RequestSpan:
    """The span of a running request. Its trace is chosen at first use, because that needs the authenticated user."""

    def __init__(self, request: Request, rate: int) -> None:
        self._request = request
        self._rate = rate
        self._chosen = False
        self.span_id = secrets.token_bytes(8)
        self.trace_id = self.parent_id = b""
        self.link: tuple[bytes, bytes] | None = None
        self._sampled = False

    @property
    def sampled(self) -> bool:
        """True if the span is exported: by the client's decision if it is trusted, otherwise by the sampling rate."""
        self._choose()
        return self._sampled

    def traceparent(self) -> str:
        self._choose()
        return f"00-{self.trace_id.hex()}-{self.span_id.hex()}-{int(self._sampled):02x}"

    def _choose(self) -> None:
        if self._chosen:
            return
        self._chosen = True
        parent = _parent(self._request.header(b"traceparent"))
        user = self._request.user
        if parent is not None and user is not None and not _TRUSTED_GROUPS.isdisjoint(user.groups):
            self.trace_id, self.parent_id, self._sampled = parent
            return
        if parent is not None:
            self.link = parent[:2]
        self.trace_id = secrets.token_bytes(16)
        # OpenTelemetry's TraceIDRatioBased: the same trace is sampled by every service with the same rate.
        self._sampled = int.from_bytes(self.trace_id[8:], "big") >> 1 < self._rate * (1 << 63) // _MILLION


class Tracer:
    """Traces requests, and exports the spans of those that are sampled."""

    def __init__(self, exporter: TraceExporter, rate: int) -> None:
        self._exporter = exporter
        self._rate = rate
        self.close = exporter.close

    def trace(self, app: App) -> App:
        """Return the application that calls `app` within a span."""

        async def respond(request: Request) -> Response | Stream:
            span, start = RequestSpan(request, self._rate), time.time_ns()
            token = current_span.set(span)
            try:
                response = await app(request)
            except BaseException:
                self._end(request, span, start, 500, 0)
                raise
            finally:
                current_span.reset(token)
            if isinstance(response, Stream):
                self._end_with(response, request, span, start)
            elif span.sampled:
                body = response.body
                self._end(request, span, start, response.status, len(body) if type(body) is bytes else body_size(body))
            return response

        return respond

    def _end_with(self, stream: Stream, request: Request, span: RequestSpan, start: int) -> None:
        """End the span when a stream ends."""
        status, previous = stream.status, stream.on_end

        def ended() -> None:
            previous()
            self._end(request, span, start, status, 0)

        stream.on_end = ended

    def _end(self, request: Request, span: RequestSpan, start: int, status: int, size: int) -> None:
        if span.sampled:
            finished = FinishedSpan(
                span.trace_id,
                span.span_id,
                span.parent_id,
                span.link,
                span_name(request.method, request.path),
                start,
                time.time_ns(),
                _attributes(request, status, size),
                status >= 500,
            )
            self._exporter.add(finished)


def _parent(header: str) -> tuple[bytes, bytes, bool] | None:
    """Return the trace, the span and the sampling decision of a traceparent header. Return None if it is invalid."""
    found = _TRACEPARENT.fullmatch(header)
    if found is None or header.startswith("ff") or not int(found[1], 16) or not int(found[2], 16):
        return None
    return bytes.fromhex(found[1]), bytes.fromhex(found[2]), bool(int(found[3], 16) & 1)


def span_name(method: str, path: str) -> str:
    """Return kube-apiserver's name: the method, and for resources the path without names."""
    parts = unquote(path).strip("/").split("/")
    prefix = {"api": 2, "apis": 3}.get(parts[0])
    if prefix is None or len(parts) <= prefix:
        return method
    name, rest = "/" + "/".join(parts[:prefix]), parts[prefix:]
    if rest[0] in ("watch", "proxy") and len(rest) > 1:
        rest = rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        name += "/namespaces/{:namespace}"
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name += f"/{rest[0]}"
    if len(rest) > 1:
        name += "/{:name}"
    if len(rest) > 2:
        name += f"/{rest[2]}"
    return f"{method} {name}"


def _attributes(request: Request, status: int, size: int) -> Attributes:
    host, port = _server_address(request.header(b"host"))
    forwarded = request.header(b"x-forwarded-for").partition(",")[0].strip()
    return {
        "server.address": host,
        "http.request.method": request.method,
        "url.scheme": "https",
        # Like the conventions, leave out the default port.
        **({"server.port": port} if port not in (0, 443) else {}),
        "client.address": forwarded or request.peer,
        "url.path": request.path,
        "http.target": request.target,
        "network.peer.address": request.peer,
        "network.protocol.version": request.protocol.removeprefix("HTTP/"),
        "user_agent.original": request.header(b"user-agent"),
        "http.response.status_code": status,
        "http.response.body.size": size,
        "audit-id": request.audit_id.decode("latin-1")[:64],
    }


def _server_address(host: str) -> tuple[str, int]:
    """Return the name and the port in a Host header. Return 0 if it has no port."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or "", parts.port or 0
    except ValueError:
        return "", 0


def build_tracer(path: Path, metrics: Metrics) -> Tracer:
    """Return a tracer as the TracingConfiguration declares. Raise SettingsError if it is invalid."""
    host, port, rate = read_tracing_config(path)
    identity = f"apiserver-{socket.gethostname()}-{getpid()}"
    resource: Attributes = {"service.name": "apiserver", "service.instance.id": identity}
    return Tracer(TraceExporter(host, port, resource, metrics), rate)


def read_tracing_config(path: Path) -> tuple[str, int, int]:
    """Return the host and port of the collector, and the sampling rate per million."""
    from polykind.apis.apiserver.types import TRACING_CONFIGURATION
    from polykind.server.config_file import ConfigFileError, read_config

    try:
        config = read_config(path, TRACING_CONFIGURATION)
    except ConfigFileError as error:
        raise SettingsError(f"failed to read tracing config: {error}") from None
    rate = config.get("samplingRatePerMillion") or 0
    problem = ""
    if rate < 0:
        problem = f"samplingRatePerMillion: Invalid value: {rate}: sampling rate must be positive"
    elif rate > _MILLION:
        text = "sampling rate per million must be less than or equal to one million"
        problem = f"samplingRatePerMillion: Invalid value: {rate}: {text}"
    if problem:
        raise SettingsError(f"failed to validate tracing configuration: {problem}")
    return *_address(config.get("endpoint") or _DEFAULT_ENDPOINT), rate


def _address(endpoint: str) -> tuple[str, int]:
    """Return the host and port of an endpoint such as localhost:4317 or dns:///collector:4317."""
    try:
        parts = urlsplit(endpoint if "//" in endpoint else f"dns://{endpoint}")
        if parts.scheme == "dns" and not parts.netloc:
            parts = urlsplit(f"dns://{parts.path.lstrip('/')}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "dns" or not host:
        raise SettingsError(
            f"failed to validate tracing configuration: endpoint {endpoint} is not supported; use HOST:PORT"
        )
    return host, port or 4317
