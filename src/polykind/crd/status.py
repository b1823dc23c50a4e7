"""The status of a CRD: accepted names and the conditions that kube-apiserver's CRD controllers set."""

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
    non_structural: JsonObject | EllipsisType | None = ...,
) -> JsonObject:
    """Return the status that kube-apiserver's CRD controllers would set. Unchanged conditions keep their times.

    `non_structural` is the result of `nonstructural_condition`, which callers can reuse while the spec is unchanged.
    """
    status = accept_names(crd, others, now)
    if non_structural is ...:
        non_structural = nonstructural_condition(crd)
    if non_structural is None:
        if find_condition(status, NON_STRUCTURAL) is not None:
            status = conditions.remove_condition(status, NON_STRUCTURAL)
    elif not equivalent(non_structural, find_condition(status, NON_STRUCTURAL)):
        status = conditions.set_condition(status, non_structural, now)
    approval = approval_condition(crd)
    if approval is not None and not equivalent(approval, find_condition(status, approval["type"])):
        status = conditions.set_condition(status, approval, now)
    return status


def nonstructural_condition(crd: JsonObject) -> JsonObject | None:
    """Return the condition NonStructuralSchema. Return None if all schemas are structural."""
    spec = crd["spec"]
    errors = []
    if spec.get("preserveUnknownFields"):
        errors.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for index, version in enumerate(spec["versions"] or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        message = unsupported_reason(schema)
        if message is not None:
            message = f"failed to check validation schema for version {version['name']}: {message}"
            return condition(NON_STRUCTURAL, "Unknown", "StructuralError", message)
        errors += structural_violations(schema, f"spec.versions[{index}].schema.openAPIV3Schema")
    return condition(NON_STRUCTURAL, "True", "Violations", aggregate_message(errors)) if errors else None


def terminating_condition(reason: str, message: str = "") -> JsonObject:
    """Return the condition Terminating. `reason` is a stage of the deletion, such as InstanceDeletionInProgress.

    `message` replaces the default message of the stage.
    """
    status, default_message = _TERMINATING[reason]
    return condition(TERMINATING, status, reason, message or default_message)
