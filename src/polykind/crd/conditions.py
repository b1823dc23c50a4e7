"""Conditions in the status of a CRD, as apiextensions' helper functions find, set and remove them."""

from __future__ import annotations

from polykind.contract import JsonObject

ESTABLISHED = "Established"
NAMES_ACCEPTED = "NamesAccepted"
NON_STRUCTURAL = "NonStructuralSchema"
TERMINATING = "Terminating"
API_APPROVED = "KubernetesAPIApprovalPolicyConformant"


def condition(type_: str, status: str, reason: str, message: str) -> JsonObject:
    """Return a new condition without a time. `set_condition` adds the time."""
    return {"type": type_, "status": status, "lastTransitionTime": None, "reason": reason, "message": message}


def find_condition(status: JsonObject, type_: str) -> JsonObject | None:
    """Return the condition of the given type. Return None if the CRD has no such condition."""
    for item in status.get("conditions") or ():
        if item["type"] == type_:
            match: JsonObject = item
            return match
    return None


def is_true(crd: JsonObject, type_: str) -> bool:
    """True if a CRD has the condition of the given type with status True."""
    match = find_condition(crd.get("status") or {}, type_)
    return match is not None and match["status"] == "True"


def equivalent(left: JsonObject | None, right: JsonObject | None) -> bool:
    """True if two conditions are equal apart from their times."""
    if left is None or right is None:
        return left is right
    return all(left.get(key) == right.get(key) for key in ("type", "status", "reason", "message"))


def set_condition(status: JsonObject, new: JsonObject, now: str) -> JsonObject:
    """Return the status with a condition added or replaced. The time changes only if the condition's status changes."""
    conditions = list(status.get("conditions") or ())
    for position, old in enumerate(conditions):
        if old["type"] == new["type"]:
            status_changed = old["status"] != new["status"] or not old.get("lastTransitionTime")
            when = now if status_changed else old["lastTransitionTime"]
            observed = {k: v for k, v in old.items() if k == "observedGeneration"}
            conditions[position] = {**_with_time(new, when), **observed}
            break
    else:
        conditions.append(_with_time(new, now))
    return {**status, "conditions": conditions}


def remove_condition(status: JsonObject, type_: str) -> JsonObject:
    """Return the status without the condition of the given type."""
    return {**status, "conditions": [item for item in status.get("conditions") or () if item["type"] != type_]}


def _with_time(new: JsonObject, when: str) -> JsonObject:
    return {**new, "lastTransitionTime": when}
