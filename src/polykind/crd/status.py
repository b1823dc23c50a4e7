"""What becomes of a definition's status: names, establishment, schema, approval, deletion."""

from __future__ import annotations

from collections.abc import Iterable
from types import EllipsisType

from polykind.contract import JsonObject
from polykind.crd import conditions
from polykind.crd.approval import approval_condition
from polykind.crd.conditions import NON_STRUCTURAL, TERMINATING, condition, equivalent, find_condition
from polykind.crd.naming import AcceptedNames, accept_names
from polykind.crd.structural import structural_violations, unsupported_reason
from polykind.errors import aggregate_message, invalid

_TERMINATING = {
    "InstanceDeletionPending": (
        "True",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    ),
    "InstanceDeletionInProgress": ("True", "CustomResource deletion is in progress"),
    "InstanceDeletionFailed": ("True", ""),
    "InstanceDeletionCheck": ("True", ""),
    "InstanceDeletionCompleted": ("False", "removed all instances"),
    "NeverEstablished": ("False", "resource was never established"),
    "OverlappingBuiltInResource": ("False", "instances overlap with built-in resources in storage"),
}


def reconcile(
    crd: JsonObject,
    others: Iterable[JsonObject] | AcceptedNames,
    now: str,
    *,
    flaw: JsonObject | EllipsisType | None = ...,
) -> JsonObject:
    """The status a definition comes to rest at; the same conditions keep their times.

    `flaw` is the definition's nonstructural_condition, if it is known: it need not be made anew while the spec stays.
    """
    status = accept_names(crd, others, now)
    if flaw is ...:
        flaw = nonstructural_condition(crd)
    if flaw is None:
        if find_condition(status, NON_STRUCTURAL) is not None:
            status = conditions.remove_condition(status, NON_STRUCTURAL)
    elif not equivalent(flaw, find_condition(status, NON_STRUCTURAL)):
        status = conditions.set_condition(status, flaw, now)
    approval = approval_condition(crd)
    if approval is not None and not equivalent(approval, find_condition(status, approval["type"])):
        status = conditions.set_condition(status, approval, now)
    return status


def nonstructural_condition(crd: JsonObject) -> JsonObject | None:
    """What keeps the schemas of a definition from being structural; None if nothing does."""
    spec = crd["spec"]
    errors = []
    if spec.get("preserveUnknownFields"):
        errors.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for index, version in enumerate(spec["versions"] or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        why = unsupported_reason(schema)
        if why is not None:
            message = f"failed to check validation schema for version {version['name']}: {why}"
            return condition(NON_STRUCTURAL, "Unknown", "StructuralError", message)
        errors += structural_violations(schema, f"spec.versions[{index}].schema.openAPIV3Schema")
    return condition(NON_STRUCTURAL, "True", "Violations", aggregate_message(errors)) if errors else None


def terminating_condition(reason: str, message: str = "") -> JsonObject:
    """A step of a definition's deletion; failures bring their own message."""
    status, usual = _TERMINATING[reason]
    return condition(TERMINATING, status, reason, message or usual)
