"""References of pods to secrets and ConfigMaps."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.contract import JsonObject

_CONTAINER_FIELDS = ("containers", "initContainers", "ephemeralContainers")
_SECRET_FIELDS = frozenset(("secretRef", "secretName", "nodePublishSecretRef"))
"""The fields by which volume sources refer to a secret."""


def container_references(container: JsonObject, kind: str) -> Iterator[tuple[str, str]]:
    """Yield a description of each reference from a container to an object of a kind, and the object's name.

    `kind` is `secret` or `configMap`.
    """
    for env in container.get("env") or ():
        reference = (env.get("valueFrom") or {}).get(f"{kind}KeyRef")
        if reference is not None:
            yield f"envVar {env['name']}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get(f"{kind}Ref") is not None:
            yield "envFrom", source[f"{kind}Ref"].get("name", "")


def references_secrets(spec: JsonObject) -> bool:
    """True if a pod with this spec refers to any secret."""
    if spec.get("imagePullSecrets") or _containers_refer(spec, "secret") or _volumes_have(spec, "secret"):
        return True
    sources = [source for volume in spec.get("volumes") or () for source in volume.values()]
    return any(isinstance(source, dict) and bool(_SECRET_FIELDS & source.keys()) for source in sources)


def references_config_maps(spec: JsonObject) -> bool:
    """True if a pod with this spec refers to any ConfigMap."""
    return _containers_refer(spec, "configMap") or _volumes_have(spec, "configMap")


def _containers_refer(spec: JsonObject, kind: str) -> bool:
    containers = (container for field in _CONTAINER_FIELDS for container in spec.get(field) or ())
    return any(True for container in containers for _ in container_references(container, kind))


def _volumes_have(spec: JsonObject, kind: str) -> bool:
    """True if a volume, or a source of a projected volume, has the type `kind`."""
    for volume in spec.get("volumes") or ():
        sources = (volume, *((volume.get("projected") or {}).get("sources") or ()))
        if any(source.get(kind) is not None for source in sources):
            return True
    return False
