"""Resolution of webhook services to endpoints, without a cluster network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Endpoint(NamedTuple):
    """A host (name, or IP address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


ExternalName = Callable[[str, str], str | None]
"""Returns the externalName of the Service with a namespace and name, None if it is no ExternalName Service."""


class Resolver:
    """Resolves a service by --resolve, else by a Service of type ExternalName, else to its cluster-internal name."""

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
    """Parse --resolve namespace/service=host:port flags. Raise ValueError for an invalid one."""
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
