"""Defaults of StorageClasses and CSIDrivers."""

from __future__ import annotations

from polykind.contract import JsonObject

_CSI_DRIVER_DEFAULTS = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def default_storage_class(storage_class: JsonObject) -> None:
    """Set the default reclaim policy and volume binding mode of a StorageClass, in place."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(driver: JsonObject) -> None:
    """Set the defaults of the capabilities that the driver does not declare, in place."""
    spec = driver["spec"]
    for field, value in _CSI_DRIVER_DEFAULTS.items():
        spec.setdefault(field, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
