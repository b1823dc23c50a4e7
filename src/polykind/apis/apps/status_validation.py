"""Validation of the counters in the status of the kinds of the group apps."""

from __future__ import annotations

from collections.abc import Sequence

from polykind import errors
from polykind.apis.meta.field_validation import validate_nonnegative_fields
from polykind.contract import JsonObject
from polykind.errors import FieldError


def validate_deployment_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the status of a Deployment."""
    found = validate_nonnegative_fields(new, _DEPLOYMENT_COUNTERS, "status")
    found += _validate_limits(new, ("updatedReplicas", "readyReplicas", "availableReplicas"), "readyReplicas")
    return found + _validate_collisions(new, old)


def validate_replica_set_status(new: JsonObject) -> list[FieldError]:
    """Validate the status of a ReplicaSet."""
    found = validate_nonnegative_fields(new, _REPLICA_SET_COUNTERS, "status")
    return found + _validate_limits(
        new, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), "readyReplicas"
    )


def validate_stateful_set_status(new: JsonObject) -> list[FieldError]:
    """Validate the counters in the status of a StatefulSet."""
    found = validate_nonnegative_fields(new, _STATEFUL_SET_COUNTERS, "status")
    limited = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    return found + _validate_limits(new, limited, "status.readyReplicas")


def validate_stateful_set_collisions(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that the collision count of a StatefulSet does not decrease."""
    return _validate_collisions(new, old)


def validate_daemon_set_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the status of a DaemonSet."""
    return validate_nonnegative_fields(new, _DAEMON_SET_COUNTERS, "status") + _validate_collisions(new, old)


_DEPLOYMENT_COUNTERS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)
_REPLICA_SET_COUNTERS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)
_STATEFUL_SET_COUNTERS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
_DAEMON_SET_COUNTERS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _validate_limits(status: JsonObject, limited: Sequence[str], ready_name: str) -> list[FieldError]:
    """Validate that no counter exceeds the number of replicas, and that at most the ready replicas are available."""
    replicas = status.get("replicas", 0)
    found = [
        errors.invalid(f"status.{name}", status.get(name, 0), "cannot be greater than status.replicas")
        for name in limited
        if status.get(name, 0) > replicas
    ]
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        text = f"cannot be greater than {ready_name}"
        found.append(errors.invalid("status.availableReplicas", available, text))
    return found


def _validate_collisions(new: JsonObject, old: JsonObject) -> list[FieldError]:
    count, before = new.get("collisionCount"), old.get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [errors.invalid("status.collisionCount", count or 0, "cannot be decremented")]
