"""Validation of Leases."""

from __future__ import annotations

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError

_STRATEGIES = ("OldestEmulationVersion",)


def validate_lease_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the duration, the number of transitions and the election strategy of a Lease."""
    found: list[FieldError] = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        found.append(errors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        found.append(errors.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    strategy = spec.get("strategy")
    if strategy is not None:
        # As in kube-apiserver, the path repeats the name of the field.
        at = "spec.strategy.strategy"
        if "/" in strategy:
            found += errors.all_invalid(at, strategy, names.qualified_name(strategy))
        elif strategy not in _STRATEGIES:
            found.append(errors.not_supported(at, strategy, _STRATEGIES))
    if spec.get("preferredHolder") and not strategy:
        reason = "may only be specified if `strategy` is defined"
        found.append(errors.forbidden("spec.preferredHolder", reason))
    return found
