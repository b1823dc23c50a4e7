"""The conditions of a definition's status: found, set and removed as the reference's helpers do."""

from __future__ import annotations

from polykind.contract import JsonObject

ESTABLISHED = "Established"
NAMES_ACCEPTED = "NamesAccepted"
NON_STRUCTURAL = "NonStructuralSchema"
TERMINATING = "Terminating"
API_APPROVED = "KubernetesAPIApprovalPolicyConformant"


def condition(type_: str, status: str, reason: str, message: str) -> JsonObject:
    """A condition that has not been set yet, so without a time."""
    return {"type": type_, "status": status, "lastTransitionTime": None, "reason": reason, "message": message}


def find_condition(status: JsonObject, type_: str) -> JsonObject | None:
    for entry in status.get("conditions") or ():
        if entry["type"] == type_:
            found: JsonObject = entry
            return found
    return None


def is_true(crd: JsonObject, type_: str) -> bool:
    """Whether a definition's condition is present and true."""
    found = find_condition(crd.get("status") or {}, type_)
    return found is not None and found["status"] == "True"


def equivalent(left: JsonObject | None, right: JsonObject | None) -> bool:
    """Whether two conditions say the same, whenever they came to say it."""
    if left is None or right is None:
        return left is right
    return all(left.get(key) == right.get(key) for key in ("type", "status", "reason", "message"))


def set_condition(status: JsonObject, new: JsonObject, now: str) -> JsonObject:
    """The status with a condition added or overwritten; its time changes only with its status."""
    entries = list(status.get("conditions") or ())
    for position, old in enumerate(entries):
        if old["type"] == new["type"]:
            moved = old["status"] != new["status"] or not old.get("lastTransitionTime")
            when = now if moved else old["lastTransitionTime"]
            kept = {k: v for k, v in old.items() if k == "observedGeneration"}
            entries[position] = {**_written(new, when), **kept}
            break
    else:
        entries.append(_written(new, now))
    return {**status, "conditions": entries}


def remove_condition(status: JsonObject, type_: str) -> JsonObject:
    """The status without a condition."""
    return {**status, "conditions": [entry for entry in status.get("conditions") or () if entry["type"] != type_]}


def _written(new: JsonObject, when: str) -> JsonObject:
    return {**new, "lastTransitionTime": when}
