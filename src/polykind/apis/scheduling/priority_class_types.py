"""The fields of PriorityClasses."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, String

PREEMPTION_POLICY = String("v1.PreemptionPolicy", ("Never", "PreemptLowerPriority"))

PRIORITY_CLASS_FIELDS = (
    Field("value", 2, INT32, "The priority.", omitempty=False, required=False),
    Field("globalDefault", 3, BOOL, "True if pods without a class get this one."),
    Field("description", 4, STRING, "The purpose of the class."),
    Field(
        "preemptionPolicy", 5, PREEMPTION_POLICY, "Never, or PreemptLowerPriority to evict other pods.", pointer=True
    ),
)
