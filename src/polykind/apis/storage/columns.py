"""Columns of `kubectl get` for the kinds of the storage.k8s.io group."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.machinery.columns import AGE, count, name_with, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.storage import types
from polykind.codec.table import Column
from polykind.contract import JsonObject

_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _default_suffix(obj: JsonObject) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return " (default)" if any(annotations.get(name) == "true" for name in _DEFAULT_ANNOTATIONS) else ""


STORAGE_CLASS = (
    name_with(_default_suffix),
    Column("Provisioner", "string", "The provisioner of the volumes", value_at("provisioner", default="")),
    Column("ReclaimPolicy", "string", "The reclaim policy of the volumes", value_at("reclaimPolicy", default="Delete")),
    Column(
        "VolumeBindingMode",
        "string",
        "The time at which volumes are bound",
        value_at("volumeBindingMode", default="Immediate"),
    ),
    Column(
        "AllowVolumeExpansion",
        "string",
        "True if volumes can grow",
        lambda obj: obj.get("allowVolumeExpansion", False),
    ),
    AGE,
)

VOLUME_ATTRIBUTES_CLASS = (
    Column("DriverName", "string", "The driver of the class", value_at("driverName", default="")),
    AGE,
)

VOLUME_ATTACHMENT = (
    Column("Attacher", "string", "The driver that attaches", value_at("spec", "attacher", default=""), format="name"),
    Column("PV", "string", "The attached volume", value_at("spec", "source", "persistentVolumeName", default="")),
    Column("Node", "string", "The node", value_at("spec", "nodeName", default="")),
    Column("Attached", "boolean", "True if the volume is attached", value_at("status", "attached", default=False)),
    AGE,
)

CSI_NODE = (Column("Drivers", "integer", "The number of drivers on the node", count("spec.drivers")), AGE)


def _token_audiences(obj: JsonObject) -> str:
    requests = obj["spec"].get("tokenRequests")
    return ",".join(request.get("audience", "") for request in requests) if requests is not None else "<unset>"


CSI_DRIVER = (
    Column(
        "AttachRequired", "boolean", "True if volumes must be attached", lambda o: o["spec"].get("attachRequired", True)
    ),
    Column(
        "PodInfoOnMount", "boolean", "True if mounts need pod details", lambda o: o["spec"].get("podInfoOnMount", False)
    ),
    Column(
        "StorageCapacity", "boolean", "True if capacity is tracked", lambda o: o["spec"].get("storageCapacity", False)
    ),
    Column("TokenRequests", "string", "The audiences of the requested tokens", _token_audiences),
    Column(
        "RequiresRepublish",
        "boolean",
        "True if mounts are repeated periodically",
        lambda o: o["spec"].get("requiresRepublish", False),
    ),
    Column(
        "Modes",
        "string",
        "The lifecycle modes of the volumes",
        lambda o: ",".join(o["spec"].get("volumeLifecycleModes") or ()) or "<none>",
    ),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.STORAGE_CLASS: STORAGE_CLASS,
    types.VOLUME_ATTRIBUTES_CLASS: VOLUME_ATTRIBUTES_CLASS,
    types.VOLUME_ATTACHMENT: VOLUME_ATTACHMENT,
    types.CSI_DRIVER: CSI_DRIVER,
    types.CSI_NODE: CSI_NODE,
}
