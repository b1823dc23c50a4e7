"""Validation of PriorityClasses."""

from __future__ import annotations

from polykind import errors
from polykind.apis.meta.field_validation import validate_immutable
from polykind.contract import JsonObject
from polykind.errors import FieldError

_SYSTEM_PREFIX = "system-"
_HIGHEST_USER_VALUE = 1_000_000_000
SYSTEM_PRIORITY_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
"""The names and values of the PriorityClasses that kube-apiserver itself creates."""
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")


def validate_priority_class(priority_class: JsonObject) -> list[FieldError]:
    """Validate a new PriorityClass. Clients cannot use the names and values of system classes."""
    found: list[FieldError] = []
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    if name.startswith(_SYSTEM_PREFIX):
        reason = _system_class_error(name, value, priority_class.get("globalDefault", False))
        if reason:
            text = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: "
            found.append(errors.forbidden("metadata.name", text + reason))
    elif value > _HIGHEST_USER_VALUE:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_VALUE}"
        found.append(errors.forbidden("value", text))
    policy = priority_class.get("preemptionPolicy")
    if policy == "":
        found.append(errors.required("preemptionPolicy"))
    elif policy is not None and policy not in _PREEMPTION_POLICIES:
        found.append(errors.not_supported("preemptionPolicy", policy, _PREEMPTION_POLICIES))
    return found


def _system_class_error(name: str, value: int, global_default: bool) -> str:
    """Return the reason why a PriorityClass does not match the system class of its name. Return "" if it matches."""
    expected = SYSTEM_PRIORITY_CLASSES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""


def validate_priority_class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the value and the preemption policy of a PriorityClass."""
    found = []
    if new.get("value", 0) != old.get("value", 0):
        found.append(errors.forbidden("value", "may not be changed in an update."))
    return found + validate_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")
