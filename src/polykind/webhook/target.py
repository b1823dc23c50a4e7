"""The address of a webhook, as kube-apiserver reads it from the clientConfig, and the endpoint to connect to."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import msgspec

from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote


class Endpoint(NamedTuple):
    """A host (name, or IP address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


ExternalName = Callable[[str, str], str | None]
"""A function of namespace and name that returns the externalName of a Service, or None if it is of another type."""


class Resolver:
    """Finds the host and port to connect to for a Service.

    It is the endpoint in a --resolve flag, else the externalName of a Service of type ExternalName, else the Service's
    DNS name in the cluster.
    """

    def __init__(
        self, overrides: Mapping[str, Endpoint] | None = None, external_name: ExternalName | None = None
    ) -> None:
        self._overrides = dict(overrides or {})
        self._external_name = external_name

    def endpoint(self, namespace: str, name: str, port: int) -> Endpoint:
        override = self._overrides.get(f"{namespace}/{name}")
        if override:
            return override
        external = self._external_name(namespace, name) if self._external_name else None
        if external:
            return Endpoint(external.rstrip("."), port)
        return Endpoint(f"{name}.{namespace}.svc", port)


def parse_resolve(values: Iterable[str]) -> dict[str, Endpoint]:
    """Parse the values of --resolve flags, namespace/service=host:port. Raise ValueError if a value is invalid."""
    out = {}
    for value in values:
        service, equals, address = value.partition("=")
        namespace, slash, name = service.partition("/")
        host, colon, port = address.rpartition(":")
        if not (equals and slash and namespace and name and "/" not in name and colon and host):
            raise ValueError(f"--resolve {value}: must be namespace/service=host:port")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"--resolve {value}: {port} is not a port")
        out[service] = Endpoint(host.removeprefix("[").removesuffix("]"), int(port))
    return out


_PATH_SAFE = "/$&+,:;=@~"


class TargetError(ValueError):
    """A clientConfig has neither a valid service nor a valid URL."""


class Target(msgspec.Struct, frozen=True):
    """The address of a webhook. `url` has no query and is also used in messages.

    The webhook's certificate must be valid for `server_name`. `service` is the namespace and name of a Service, or None
    if the clientConfig has a URL.
    """

    url: str
    server_name: str
    port: int
    service: tuple[str, str] | None = None

    def endpoint(self, resolver: Resolver) -> Endpoint:
        """Return the host and port to connect to. `resolver` finds them if the target is a Service."""
        if self.service is None:
            return Endpoint(self.server_name, self.port)
        return resolver.endpoint(*self.service, self.port)


def build_target(config: JsonObject, webhook: str) -> Target:
    """Return the target of a clientConfig. Raise TargetError if the clientConfig is invalid.

    `webhook` is the webhook's name in the error message.
    """
    service = config.get("service")
    if isinstance(service, dict):
        namespace, name = string_or_empty(service.get("namespace")), string_or_empty(service.get("name"))
        service_port = _port(service.get("port"))
        service_host = f"{name}.{namespace}.svc"
        path = _path(string_or_empty(service.get("path")))
        return Target(f"https://{service_host}:{service_port}{path}", service_host, service_port, (namespace, name))
    url = string_or_empty(config.get("url"))
    if not url:
        raise _target_error(webhook, "webhook configuration must have either service or URL")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise _target_error(webhook, f"Unparsable URL: parse {go_quote(url)}: {error}") from None
    if parts.scheme != "https" or not host:
        raise _target_error(webhook, f"Unparsable URL: parse {go_quote(url)}: not an https URL with a host")
    authority = parts.netloc.rpartition("@")[2]
    return Target(f"https://{authority}{_path(unquote(parts.path))}", host, 443 if port is None else port)


def string_or_empty(value: Any) -> str:
    """Return the value if it is a string, else "". kube-apiserver reads string fields of decoded JSON in this way."""
    return value if isinstance(value, str) else ""


def _port(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 65536 else 443


def _path(path: str) -> str:
    cleaned = "/" + posixpath.normpath(f"/{path}").lstrip("/")
    return quote(cleaned.encode(errors="surrogatepass"), safe=_PATH_SAFE)


def _target_error(webhook: str, error: str) -> TargetError:
    return TargetError(f"failed calling webhook {go_quote(webhook)}: {error}")
