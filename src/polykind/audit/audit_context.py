"""The audit events of one request, from authentication to the end of the response."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from polykind.addresses import IPAddress, parse_ip
from polykind.audit.audit_policy import LEVEL_NAMES, METADATA, NONE, REQUEST, REQUEST_RESPONSE, AuditConfig
from polykind.auth.authorizer import Access, Decision
from polykind.auth.request_authorization import request_access
from polykind.auth.user import User
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.golang.duration import format_duration
from polykind.http.messages import Request
from polykind.names import qualified_name
from polykind.operations.notes import Notes
from polykind.operations.responses import JSON, Response, Stream
from polykind.workers import INLINE_BYTES

if TYPE_CHECKING:
    from polykind.audit.auditor import Auditor
    from polykind.resources.resource import ServedVersion

_MAX_USER_AGENT = 1024
_LONG_RUNNING_VERBS = ("watch", "proxy")
_LONG_RUNNING_SUBRESOURCES = ("attach", "exec", "proxy", "log", "portforward")
_DISCOVERY = ("api", "apis")
_NOBODY = User("")
_SLOW_SECONDS = 0.5
"""The events of requests that take longer say how long their layers took."""


class AuditContext(Notes):
    """Collects the fields of a request's audit events, and emits an event at each stage."""

    __slots__ = (
        "_access",
        "_annotations",
        "_auditor",
        "_authenticated",
        "_begun",
        "_config",
        "_constraint",
        "_impersonated",
        "_latencies",
        "_received",
        "_reference",
        "_request",
        "_request_object",
        "_response_object",
        "_status",
        "_user",
    )

    def __init__(self, auditor: Auditor, request: Request) -> None:
        super().__init__()
        self._auditor = auditor
        self._request = request
        self._received = self._begun = auditor.now()
        self._config = AuditConfig(NONE)
        self._access = Access(_NOBODY, "")
        self._user: User | None = None
        self._authenticated = False
        self._reference: JsonObject | None = None
        self._impersonated: User | None = None
        self._constraint = ""
        self._annotations: dict[str, str] = {}
        self._latencies: dict[str, float] = {}
        self._request_object = b""
        self._response_object = b""
        self._status: JsonObject = {}

    audited = True

    @property
    def records_responses(self) -> bool:
        return self._config.level >= REQUEST_RESPONSE

    # ------------------------------------------------------------------ the request

    async def begin(self, user: User, path: str, parts: Sequence[str]) -> bool:
        self._authenticated = True
        self._evaluate(user, path, parts)
        if self._config.level == NONE:
            return True
        self._begun = self._auditor.now()
        self.track_latency("authentication", (self._begun - self._received).total_seconds())
        return await self._auditor.stored_strictly(self._emit("RequestReceived"))

    def reject(self, path: str, parts: Sequence[str]) -> None:
        self._evaluate(None, path, parts)

    def _evaluate(self, user: User | None, path: str, parts: Sequence[str]) -> None:
        request = self._request
        access = self._access = request_access(user or _NOBODY, request.method, path, parts, request.parameters)
        self._user = user
        self._config = self._auditor.config(access, user)
        if self._config.level == NONE:
            request.notes = Notes()
            request.notes.warnings = self.warnings
        elif access.path is None:
            self._reference = {
                "resource": access.resource,
                "namespace": access.namespace,
                "name": access.name,
                "uid": "",
                "apiGroup": access.group,
                "apiVersion": access.version,
                "resourceVersion": "",
                "subresource": access.subresource,
            }

    def impersonate(self, user: User, constraint: str) -> None:
        self._impersonated, self._constraint = user, constraint

    def decide(self, decision: Decision) -> None:
        self.track_latency("authorization", (self._auditor.now() - self._begun).total_seconds())
        if not decision.allowed and decision.error:
            self.annotate("authorization.k8s.io/reason", "internal error")
            return
        self.annotate("authorization.k8s.io/decision", "allow" if decision.allowed else "forbid")
        self.annotate("authorization.k8s.io/reason", decision.reason)

    def annotate(self, key: str, value: str) -> None:
        self._annotations.setdefault(key, value)

    def annotate_admission(self, key: str, value: str) -> None:
        if key.count("/") == 1 and not qualified_name(key):
            self.annotate(key, value)

    def annotate_request_level(self, key: str, value: str) -> None:
        if self._config.level >= REQUEST:
            self.annotate_admission(key, value)

    def track_latency(self, layer: str, seconds: float) -> None:
        """Add the time that a layer took. Validating webhooks run concurrently, so that the longest call counts."""
        before = self._latencies.get(layer, 0.0)
        self._latencies[layer] = max(before, seconds) if layer == "validating-webhook" else before + seconds

    def _annotate_latencies(self) -> None:
        """Annotate a slow request with the time that its layers took, as kube-apiserver does."""
        total = (self._auditor.now() - self._received).total_seconds()
        if total > _SLOW_SECONDS:
            for layer, seconds in {**self._latencies, "total": total}.items():
                self.annotate(f"apiserver.latency.k8s.io/{layer}", format_duration(int(seconds * 1e9)))

    def record_object(self, version: ServedVersion | None, obj: JsonObject) -> None:
        if self._request_object:
            return
        meta, reference = obj.get("metadata") or {}, self._reference
        if reference is not None:
            for field in ("namespace", "name", "uid", "resourceVersion"):
                reference[field] = reference[field] or meta.get(field) or ""
        if self._config.level >= REQUEST:
            if self._config.omits_managed_fields and "managedFields" in meta:
                obj = {**obj, "metadata": {key: value for key, value in meta.items() if key != "managedFields"}}
            if version is not None and not version.is_builtin:
                self._request_object = json_codec.encode(obj)
            else:
                ordered = obj if version is None else version.codec.ordered(obj)
                self._request_object = json_codec.encode_ordered(ordered)

    def record_options(self, options: JsonObject) -> None:
        if self._config.level >= REQUEST:
            # kube-apiserver records the options in their internal version.
            internal = {**options, "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal"}
            self._request_object = json_codec.encode_ordered(internal)

    def record_patch(self) -> None:
        if self._config.level >= REQUEST:
            try:
                self._request_object = json_codec.encode_ordered(yaml_codec.decode(self._request.body))
            except ValueError:
                # The verb responds with an error about the malformed patch.
                self._request_object = b""

    # ------------------------------------------------------------------ the response

    def record_response(self, encoded: bytes) -> None:
        if self._config.level >= REQUEST_RESPONSE:
            self._response_object = encoded.rstrip()

    def record_status(self, status: JsonObject) -> None:
        fields = ("status", "message", "reason", "details", "code")
        self._status = {field: status[field] for field in fields if field in status}
        if self._config.level >= REQUEST_RESPONSE:
            self._response_object = json_codec.encode_ordered(status)

    async def respond(self, response: Response | Stream) -> None:
        """Emit the events of a response, and wait until backends in a blocking mode have stored them."""
        if self._config.level == NONE:
            return
        self._status["code"] = response.status
        if self._config.level >= REQUEST_RESPONSE and isinstance(response, Response):
            large = not isinstance(response.body, bytes) or len(response.body) > INLINE_BYTES
            if large:
                await asyncio.to_thread(self._record_body, response)
            else:
                self._record_body(response)
        waiting = []
        if self._is_long_running or not self._authenticated:
            waiting = self._emit("ResponseStarted")
        if isinstance(response, Stream):
            self._complete_at_end(response)
        elif self._authenticated:
            waiting = self._emit("ResponseComplete")
        await self._auditor.stored(waiting)

    def fail(self, code: int, reason: str, message: str, stage: str = "ResponseComplete") -> None:
        """Emit the last event of a request without a response: it was cancelled, or the server failed on it."""
        if self._config.level != NONE:
            self._status = {"status": "Failure", "message": message, "reason": reason, "code": code}
            self._emit(stage)

    def _complete_at_end(self, stream: Stream) -> None:
        end_stream = stream.on_end

        def on_end() -> None:
            end_stream()
            self._emit("ResponseComplete")

        stream.on_end = on_end

    @property
    def _is_long_running(self) -> bool:
        access = self._access
        if access.path is not None:
            return access.path.startswith("/debug/pprof/")
        return access.verb in _LONG_RUNNING_VERBS or access.subresource in _LONG_RUNNING_SUBRESOURCES

    def _record_body(self, response: Response) -> None:
        """Record the object in a response. Like kube-apiserver, ignore the content of other endpoints."""
        encoded = self._response_object
        if not encoded and (self._access.path is None or self._access.path.strip("/").split("/")[0] in _DISCOVERY):
            encoded = _json_body(response)
        if encoded and self._config.omits_managed_fields:
            encoded = json_codec.encode_ordered(_without_managed_fields(json_codec.decode(encoded)))
        self._response_object = encoded

    # ------------------------------------------------------------------ events

    def _emit(self, stage: str) -> list[asyncio.Future[bool]]:
        if stage == "ResponseComplete":
            self._annotate_latencies()
        if stage in self._config.omitted_stages:
            return []
        return self._auditor.put(self._encode(stage), self._config.level)

    def _users(self) -> dict[str, Any]:
        """Return the fields of the event for the user and the user that it impersonates."""
        fields: dict[str, Any] = {"user": self._user.info() if self._user is not None else {}}
        if self._impersonated is not None:
            fields["impersonatedUser"] = self._impersonated.info()
            if self._constraint:
                fields["authenticationMetadata"] = {"impersonationConstraint": self._constraint}
        return fields

    def _encode(self, stage: str) -> bytes:
        """Return the event in JSON, with the fields in kube-apiserver's order."""
        request, received = self._request, _timestamp(self._received)
        agent = request.header(b"user-agent")
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": LEVEL_NAMES[self._config.level],
            "auditID": request.audit_id.decode("latin-1"),
            "stage": stage,
            "requestURI": request.target,
            "verb": self._access.verb,
            **self._users(),
        }
        if addresses := source_addresses(request):
            event["sourceIPs"] = addresses
        if agent:
            event["userAgent"] = agent if len(agent) <= _MAX_USER_AGENT else agent[:_MAX_USER_AGENT] + "...TRUNCATED"
        if self._reference is not None:
            event["objectRef"] = {field: value for field, value in self._reference.items() if value}
        if self._status:
            event["responseStatus"] = {"metadata": {}, **self._status}
        parts = [json_codec.encode_ordered(event)[:-1]]
        if self._config.level >= REQUEST:
            if self._request_object:
                parts += (b',"requestObject":', self._request_object)
            if self._response_object:
                parts += (b',"responseObject":', self._response_object)
        last: dict[str, Any] = {
            "requestReceivedTimestamp": received,
            "stageTimestamp": received if stage == "RequestReceived" else _timestamp(self._auditor.now()),
        }
        if self._annotations and self._config.level >= METADATA:
            last["annotations"] = {key: self._annotations[key] for key in sorted(self._annotations)}
        parts += (b",", json_codec.encode_ordered(last)[1:], b"\n")
        return b"".join(parts)


def source_addresses(request: Request) -> list[str]:
    """Return the addresses that a request comes from: X-Forwarded-For, X-Real-Ip, and the connection's peer.

    Clients can set all but the last address to any value.
    """
    forwarded = [parse_ip(part.strip()) for part in request.header(b"x-forwarded-for").split(",")]
    addresses: list[IPAddress] = [address for address in forwarded if address is not None]
    real = parse_ip(request.header(b"x-real-ip"))
    if real is not None and real not in addresses:
        addresses.append(real)
    peer = parse_ip(request.peer)
    if peer is not None and (not addresses or addresses[-1] != peer):
        addresses.append(peer)
    return list(map(str, addresses))


def _timestamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _json_body(response: Response) -> bytes:
    """Return the body of a response as one line of JSON, or b"" if the body is not JSON or YAML."""
    if not isinstance(response.body, bytes):
        body = b"".join(response.body)
    else:
        body = response.body
    if (b"Content-Encoding", b"gzip") in response.headers:
        body = gzip.decompress(body)
    if response.content_type == b"application/yaml":
        return json_codec.encode_ordered(yaml_codec.decode(body))
    if not response.content_type.startswith(JSON):
        return b""
    body = body.strip()
    # JSON texts contain no raw newlines, so only indented JSON has them.
    return json_codec.encode_ordered(json_codec.decode(body)) if b"\n" in body else body


def _without_managed_fields(obj: Any) -> Any:
    """Return an object, a list of objects or a Table without managedFields."""
    if not isinstance(obj, dict):
        return obj
    objects = [obj, *(obj.get("items") or ()), *(row.get("object") for row in obj.get("rows") or ())]
    for one in objects:
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"].pop("managedFields", None)
    return obj
