"""Defaults of PersistentVolumes."""

from __future__ import annotations

from polykind.apis.core.resource_defaults import round_quantities
from polykind.apis.core.volume_defaults import default_volume_source
from polykind.contract import JsonObject

_NOT_SOURCES = ("claimRef", "nodeAffinity")


def default_persistent_volume(obj: JsonObject) -> None:
    """Set the defaults of a PersistentVolume, in place."""
    default_persistent_volume_spec(obj["spec"])
    status = obj.setdefault("status", {})
    status["phase"] = status.get("phase") or "Pending"


def default_persistent_volume_spec(spec: JsonObject) -> None:
    """Set the defaults of the spec of a PersistentVolume, in place."""
    round_quantities(spec.get("capacity"))
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    for name, value in spec.items():
        if isinstance(value, dict) and name not in _NOT_SOURCES:
            default_volume_source(name, value)
