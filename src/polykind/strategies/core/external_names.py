"""The host names of Services of type ExternalName, through which webhooks can be reached."""

from __future__ import annotations

from polykind.cache.resource_cache import ResourceCache


def find_external_name(services: ResourceCache, namespace: str, name: str) -> str | None:
    """Return the host name of a Service of type ExternalName. Return None if no such Service exists."""
    cached = services.get(f"{namespace}/{name}")
    spec = cached.decode().get("spec") if cached is not None else None
    return spec.get("externalName") if isinstance(spec, dict) and spec.get("type") == "ExternalName" else None
