"""Defaults of core kinds, except those of Pods, PersistentVolumes and Services."""

from __future__ import annotations

from polykind.apis.core.resource_defaults import round_quantities, round_resources
from polykind.contract import JsonObject
from polykind.golang.base64 import encode_base64

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has. Its value is the namespace's name."""


def default_namespace(obj: JsonObject) -> None:
    """Set the defaults of a Namespace, in place."""
    meta = obj["metadata"]
    if name := meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: name}
    obj["status"].setdefault("phase", "Active")


def default_config_map(obj: JsonObject) -> None:
    """Replace null by empty bytes in `binaryData`, as Go's encoding of the stored object does."""
    if obj.get("binaryData"):
        obj["binaryData"] = {key: value or "" for key, value in obj["binaryData"].items()}


def default_secret(obj: JsonObject) -> None:
    """Set the default type of a Secret.

    Move `stringData` to `data`, because a Secret is never stored with `stringData`.
    """
    obj["type"] = obj.get("type") or "Opaque"
    if obj.get("data"):
        obj["data"] = {key: value or "" for key, value in obj["data"].items()}
    if texts := obj.pop("stringData", None):
        encoded = {key: encode_base64((text or "").encode()) for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def default_endpoints(obj: JsonObject) -> None:
    """Set the default protocol of the ports of an Endpoints object, in place."""
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"


def default_node(obj: JsonObject) -> None:
    """Set the defaults of a Node: the allocatable resources, and podCIDR or podCIDRs from each other."""
    spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
    cidr, cidrs = spec.get("podCIDR"), spec.get("podCIDRs")
    if cidr and (not cidrs or cidrs[0] != cidr):
        spec["podCIDRs"] = [cidr]
    elif cidrs:
        spec["podCIDR"] = cidrs[0]
    for field in ("capacity", "allocatable"):
        round_quantities(status.get(field))
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


def default_limit_range(obj: JsonObject) -> None:
    """Set the `default` and `defaultRequest` of containers from the `max` and `min` of a LimitRange.

    Round quantities.
    """
    for limit in obj["spec"].get("limits") or ():
        fields = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
        for field in fields:
            round_quantities(limit.get(field))
        if limit.get("type") == "Container":
            limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
            requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
            for field, values in (("default", limits), ("defaultRequest", requests)):
                if values:
                    limit[field] = values


def default_quota(obj: JsonObject) -> None:
    """Round the quantities of a ResourceQuota, in place."""
    status = obj.get("status") or {}
    for resources in (obj["spec"].get("hard"), status.get("hard"), status.get("used")):
        round_quantities(resources)


def default_volume_claim_spec(spec: JsonObject) -> None:
    """Set the defaults of the spec of a PersistentVolumeClaim, in place."""
    round_resources(spec.get("resources"))
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"


def default_volume_claim(obj: JsonObject) -> None:
    """Set the defaults of a PersistentVolumeClaim, in place."""
    default_volume_claim_spec(obj["spec"])
    status = obj.setdefault("status", {})
    for field in ("capacity", "allocatedResources"):
        round_quantities(status.get(field))
    status["phase"] = status.get("phase") or "Pending"
