"""The stored Services through which webhooks are reached."""

from __future__ import annotations

from polykind.cache.resource_cache import ResourceCache
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

_EXTERNAL = "ExternalName"


class WebhookServices:
    """Looks up Services for the resolver of webhook addresses."""

    def __init__(self, services: ResourceCache) -> None:
        self._services = services

    def external_name(self, namespace: str, name: str) -> str | None:
        """Return the host name of a Service of type ExternalName. Return None if no such Service exists."""
        spec = self._spec(namespace, name) or {}
        return spec.get("externalName") if spec.get("type") == _EXTERNAL else None

    def routing_error(self, namespace: str, name: str, port: int) -> str:
        """Return kube-apiserver's message if it could not route to a port of a Service, else ""."""
        spec = self._spec(namespace, name)
        if spec is None:
            return f"service {go_quote(name)} not found"
        if spec.get("type") != _EXTERNAL and spec.get("clusterIP") == "None":
            return 'cannot route to service with ClusterIP "None"'
        if spec.get("type") != _EXTERNAL and port not in [entry.get("port") for entry in spec.get("ports") or ()]:
            return f"no service port {port} found for service {go_quote(name)}"
        return ""

    def _spec(self, namespace: str, name: str) -> JsonObject | None:
        """Return the spec of a Service, or None if the Service does not exist."""
        cached = self._services.get(f"{namespace}/{name}")
        if cached is None:
            return None
        spec = cached.decode().get("spec")
        return spec if isinstance(spec, dict) else {}
