"""The PriorityClasses that a server creates when it starts."""

from __future__ import annotations

from polykind.apis.scheduling.validation import SYSTEM_PRIORITY_CLASSES
from polykind.contract import JsonObject

_CRITICAL = "Used for system critical pods that must"
_DESCRIPTIONS = {
    "system-node-critical": f"{_CRITICAL} not be moved from their current node.",
    "system-cluster-critical": f"{_CRITICAL} run in the cluster, but can be moved to another node if necessary.",
}


def priority_classes() -> list[JsonObject]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "generation": 1},
            "value": value,
            "description": _DESCRIPTIONS[name],
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in SYSTEM_PRIORITY_CLASSES.items()
    ]
