"""Where a webhook's service lives, where there is no cluster network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Endpoint(NamedTuple):
    """A host, by name or by IP address without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


ExternalName = Callable[[str, str], str | None]
"""Given namespace and name, the externalName of a Service of that type; None if there is no such Service."""


class Resolver:
    """Finds a service: first as told by --resolve, then by a Service of type ExternalName, else by its cluster name."""

    def __init__(self, told: Mapping[str, Endpoint] | None = None, external_name: ExternalName | None = None) -> None:
        self._told = dict(told or {})
        self._external_name = external_name

    def endpoint(self, namespace: str, name: str, port: int) -> Endpoint:
        told = self._told.get(f"{namespace}/{name}")
        if told:
            return told
        external = self._external_name(namespace, name) if self._external_name else None
        if external:
            return Endpoint(external.rstrip("."), port)
        return Endpoint(f"{name}.{namespace}.svc", port)


def parse_resolve(values: Iterable[str]) -> dict[str, Endpoint]:
    """The map that --resolve namespace/service=host:port flags describe. Raises ValueError, saying which is wrong."""
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
