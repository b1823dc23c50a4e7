"""The target of a webhook, as kube-apiserver reads it from the clientConfig."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.webhook.resolver import Endpoint, Resolver

_PATH_SAFE = "/$&+,:;=@~"


class TargetError(ValueError):
    """A clientConfig that names no valid target."""


@dataclass(frozen=True, slots=True)
class Target:
    """The address of a webhook. `url`, without its query, is shown to users. TLS verifies `server_name`."""

    url: str
    server_name: str
    port: int
    service: tuple[str, str] | None = None

    def endpoint(self, resolver: Resolver) -> Endpoint:
        """Return the endpoint to connect to."""
        if self.service is None:
            return Endpoint(self.server_name, self.port)
        return resolver.endpoint(*self.service, self.port)


def build_target(config: JsonObject, webhook: str) -> Target:
    """Return the target that a clientConfig describes. Raise TargetError. `webhook` is the name in error messages."""
    service = config.get("service")
    if isinstance(service, dict):
        namespace, name = string_or_empty(service.get("namespace")), string_or_empty(service.get("name"))
        service_port = _port(service.get("port"))
        service_host = f"{name}.{namespace}.svc"
        path = _path(string_or_empty(service.get("path")))
        return Target(f"https://{service_host}:{service_port}{path}", service_host, service_port, (namespace, name))
    url = string_or_empty(config.get("url"))
    if not url:
        raise TargetError(_error_message(webhook, "webhook configuration must have either service or URL"))
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise TargetError(_error_message(webhook, f"Unparsable URL: parse {go_quote(url)}: {error}")) from None
    if parts.scheme != "https" or not host:
        raise TargetError(
            _error_message(webhook, f"Unparsable URL: parse {go_quote(url)}: not an https URL with a host")
        )
    authority = parts.netloc.rpartition("@")[2]
    return Target(f"https://{authority}{_path(unquote(parts.path))}", host, 443 if port is None else port)


def string_or_empty(value: Any) -> str:
    """Return the value if it is a string, else "". This is how Go's unstructured accessors read a string field."""
    return value if isinstance(value, str) else ""


def _port(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 65536 else 443


def _path(path: str) -> str:
    cleaned = "/" + posixpath.normpath(f"/{path}").lstrip("/")
    return quote(cleaned.encode(errors="surrogatepass"), safe=_PATH_SAFE)


def _error_message(webhook: str, error: str) -> str:
    return f"failed calling webhook {go_quote(webhook)}: {error}"
