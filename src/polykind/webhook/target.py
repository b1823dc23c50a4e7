"""The address of a webhook, as kube-apiserver reads it from the clientConfig, and the endpoint to connect to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol
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


class Services(Protocol):
    """The stored Services."""

    def external_name(self, namespace: str, name: str) -> str | None:
        """Return the externalName of a Service, or None if it is of another type or does not exist."""

    def routing_error(self, namespace: str, name: str, port: int) -> str:
        """Return kube-apiserver's message if it could not route to a port of a Service, else ""."""


class Resolver:
    """Finds the host and port to connect to for a Service.

    It is the endpoint in a --resolve flag, else the externalName of a Service of type ExternalName, else the Service's
    DNS name in the cluster.
    """

    def __init__(
        self,
        overrides: Mapping[str, Endpoint] | None = None,
        services: Services | None = None,
        *,
        in_cluster: bool = False,
    ) -> None:
        """`in_cluster` is true if this process runs in a pod, whose DNS knows the Services of the cluster."""
        self._overrides = dict(overrides or {})
        self._services = services
        self._in_cluster = in_cluster

    def endpoint(self, namespace: str, name: str, port: int) -> Endpoint:
        return self._known_endpoint(namespace, name, port) or Endpoint(f"{name}.{namespace}.svc", port)

    def _known_endpoint(self, namespace: str, name: str, port: int) -> Endpoint | None:
        override = self._overrides.get(f"{namespace}/{name}")
        if override:
            return override
        external = self._services.external_name(namespace, name) if self._services else None
        return Endpoint(external.rstrip("."), port) if external else None

    def routing_error(self, namespace: str, name: str, port: int) -> str:
        """Return kube-apiserver's message for a Service whose DNS name is unknown, or "" if the Service is fine."""
        if self._services is None or self._known_endpoint(namespace, name, port):
            return ""
        return self._services.routing_error(namespace, name, port)

    def hint(self, namespace: str, name: str, port: int) -> str:
        """Return what to do about a Service that only the DNS of a cluster can find, or "" if its address is known."""
        if self._known_endpoint(namespace, name, port):
            return ""
        return f"this server has no network of Services, use {resolve_flag(namespace, name)}"

    def warning(self, config: JsonObject) -> str:
        """Return the warning for a client that writes a clientConfig with a Service that cannot be reached, or ""."""
        service = config.get("service")
        if self._in_cluster or not isinstance(service, dict):
            return ""
        namespace, name = string_or_empty(service.get("namespace")), string_or_empty(service.get("name"))
        service_port = _port(service.get("port"))
        hint = self.hint(namespace, name, service_port)
        if not hint:
            return ""
        problem = self.routing_error(namespace, name, service_port)
        return f"the webhook cannot be called: {f'{problem}; ' if problem else ''}{hint}"


def resolve_flag(namespace: str, name: str, address: str = "HOST:PORT") -> str:
    """Return the flag that tells where a Service is."""
    return f"--resolve {namespace}/{name}={address}"


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

    @property
    def authority(self) -> str:
        """The host and port that the clientConfig names."""
        return str(Endpoint(self.server_name, self.port))

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
