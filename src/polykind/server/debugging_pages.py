"""The debugging pages of Kubernetes components (KEPs 4827 and 4828): /statusz and /flagz."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime

from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.json_indent import indent
from polykind.codec.negotiation import ResponseFormat
from polykind.contract import Clock, JsonObject
from polykind.http.messages import TEXT, Request, warning_headers
from polykind.operations.responses import Header, Response
from polykind.server.kubernetes_version import KUBERNETES_MINOR

DEBUGGING_PAGES = {"/flagz": "Flagz", "/statusz": "Statusz"}
"""The kind of each page, by path."""
_PATHS = ("/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version")
"""The paths that /statusz lists."""
_GROUP, _DEPRECATED_VERSION, _VERSION = "config.k8s.io", "v1alpha1", "v1beta1"
_TRANSFORMS = {
    kind: frozenset((_GROUP, version, kind) for version in (_DEPRECATED_VERSION, _VERSION))
    for kind in DEBUGGING_PAGES.values()
}
_COMPONENT = "apiserver"
_DELIMITERS = (":", ": ", "=", " ")
"""Delimiters of the plain text. Like kube-apiserver, choose one at random, to keep clients from parsing the text."""
_TEXT_HEAD = (
    "\n{} {}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only.\n"
)


class DebuggingPages:
    """The responses of /statusz and /flagz, as plain text or as an object of the group config.k8s.io."""

    def __init__(self, clock: Clock, flags: Callable[[], dict[str, str]]) -> None:
        self._clock = clock
        self._flags = flags
        self._started = clock.now().replace(microsecond=0)

    def respond(self, request: Request, path: str) -> Response:
        """Respond to a request for a page. Raise NotAcceptableError if the client accepts no format of the page."""
        kind = DEBUGGING_PAGES[path]
        accepted = negotiation.negotiate_page(request.header(b"accept"), _TRANSFORMS[kind])
        now = self._clock.now()
        if accepted is not None:
            content = self._flags_object() if kind == "Flagz" else self._status_object(now)
            return _structured(request, kind, accepted, content)
        delimiter = random.choice(_DELIMITERS)  # noqa: S311
        text = self._flags_text(delimiter) if kind == "Flagz" else self._status_text(now, delimiter)
        return Response(200, (_TEXT_HEAD.format(_COMPONENT, path[1:]) + text).encode(), TEXT)

    def _uptime(self, now: datetime) -> int:
        return max(0, int((now - self._started).total_seconds()))

    def _status_object(self, now: datetime) -> JsonObject:
        return {
            "startTime": f"{self._started:%Y-%m-%dT%H:%M:%SZ}",
            "uptimeSeconds": self._uptime(now),
            "goVersion": "",
            "binaryVersion": f"1.{KUBERNETES_MINOR}.0",
            "emulationVersion": f"1.{KUBERNETES_MINOR}",
            "paths": list(_PATHS),
        }

    def _status_text(self, now: datetime, delimiter: str) -> str:
        uptime = self._uptime(now)
        values = {
            "Started": f"{self._started:%a %b} {self._started.day:2d} {self._started:%H:%M:%S UTC %Y}",
            "Up": f"{uptime // 3600} hr {uptime // 60 % 60:02d} min {uptime % 60:02d} sec",
            "Go version": "",
            "Binary version": f"1.{KUBERNETES_MINOR}.0",
            "Emulation version": f"1.{KUBERNETES_MINOR}",
            "Paths": " ".join(_PATHS),
        }
        return "\n" + "".join(f"{name}{delimiter} {value}\n" for name, value in values.items())

    def _flags_object(self) -> JsonObject:
        return {"flags": dict(sorted(self._flags().items()))}

    def _flags_text(self, delimiter: str) -> str:
        return "".join(f"{name}{delimiter}{value}\n" for name, value in sorted(self._flags().items()))


def _structured(request: Request, kind: str, accepted: ResponseFormat, content: JsonObject) -> Response:
    version = accepted.as_version
    page = {"kind": kind, "apiVersion": f"{_GROUP}/{version}", "metadata": {"name": _COMPONENT}, **content}
    content_type = f"{accepted.content_type};g={_GROUP};v={version};as={kind}".encode()
    headers: tuple[Header, ...] = ()
    if version == _DEPRECATED_VERSION:
        request.notes.warn(f"This version of the {kind.lower()} endpoint is deprecated. Please use a newer version.")
        headers = warning_headers(request.notes.warnings)
    if accepted.media == "yaml":
        return Response(200, yaml_codec.encode(page), content_type, headers)
    encoded = json_codec.encode_ordered(page)
    is_pretty = accepted.pretty or negotiation.is_pretty(request.parameters, request.agent)
    return Response(200, indent(encoded) if is_pretty else encoded + b"\n", content_type, headers)
