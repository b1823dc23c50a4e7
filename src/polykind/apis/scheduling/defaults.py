"""Defaults of PriorityClasses."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_priority_class(priority_class: JsonObject) -> None:
    """Set the default preemption policy of a PriorityClass, in place."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")
