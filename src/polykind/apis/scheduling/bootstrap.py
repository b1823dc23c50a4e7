"""The PriorityClasses that every server has."""

from __future__ import annotations

from polykind.contract import JsonObject

_CRITICAL = "Used for system critical pods that must"
_CLASSES = (
    ("system-node-critical", 2000001000, f"{_CRITICAL} not be moved from their current node."),
    (
        "system-cluster-critical",
        2000000000,
        f"{_CRITICAL} run in the cluster, but can be moved to another node if necessary.",
    ),
)


def priority_classes() -> list[JsonObject]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "generation": 1},
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value, description in _CLASSES
    ]
