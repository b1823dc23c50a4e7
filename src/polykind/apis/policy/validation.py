"""Validation of PodDisruptionBudgets."""

from __future__ import annotations

from polykind import errors
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.field_validation import (
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative_fields,
)
from polykind.apis.meta.validation import validate_conditions
from polykind.apis.policy.types import POLICY_V1
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors.selector_objects import validate_label_selector

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTERS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def validate_disruption_budget_spec(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a PodDisruptionBudget. `old` is the stored spec of an update, None for a create."""
    found = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(errors.invalid("spec", show_internal(POLICY_V1.struct("PodDisruptionBudgetSpec"), spec), text))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            found += validate_int_or_percent(spec[name], f"spec.{name}")
            found += validate_at_most_100_percent(spec[name], f"spec.{name}")
    lenient = old is not None and bool(validate_label_selector(old.get("selector"), ""))
    found += validate_label_selector(spec.get("selector"), "spec.selector", lenient=lenient)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        found.append(errors.not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return found


def validate_disruption_budget_status(status: JsonObject) -> list[FieldError]:
    """Validate the status of a PodDisruptionBudget."""
    found = validate_conditions(status.get("conditions") or (), "status.conditions")
    return found + validate_nonnegative_fields(status, _COUNTERS, "status")
