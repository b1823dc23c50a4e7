"""Defaults of ResourceClaims, ResourceClaimTemplates and ResourceSlices."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_claim_spec(spec: JsonObject) -> None:
    """Set the allocation modes, counts and toleration operators of the requests in a claim."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        for part in (*([exactly] if exactly is not None else ()), *(request.get("firstAvailable") or ())):
            _default_request(part)


def _default_request(request: JsonObject) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = "ExactCount"
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1
    _default_tolerations(request)


def _default_tolerations(owner: JsonObject) -> None:
    for toleration in owner.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def default_resource_claim(claim: JsonObject) -> None:
    """Set the defaults of a ResourceClaim, in its spec and in the allocation results of its status."""
    default_claim_spec(claim.get("spec") or {})
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        _default_tolerations(result)


def default_resource_claim_template(template: JsonObject) -> None:
    """Set the defaults of the claim in a ResourceClaimTemplate."""
    default_claim_spec((template.get("spec") or {}).get("spec") or {})


def default_resource_slice(resource_slice: JsonObject) -> None:
    """Set the default allocationMultiplier of node resources, in place."""
    for device in resource_slice["spec"].get("devices") or ():
        for mapping in (device.get("nodeAllocatableResourceMappings") or {}).values():
            mapping.setdefault("allocationMultiplier", "1")
