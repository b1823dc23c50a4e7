"""The fields of PriorityClasses."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, String

_PREEMPTION_POLICY = String("v1.PreemptionPolicy", ("Never", "PreemptLowerPriority"))

PRIORITY_CLASS_FIELDS = (
    Field("value", 2, INT32, omitempty=False, required=False),
    Field("globalDefault", 3, BOOL),
    Field("description", 4, STRING),
    Field("preemptionPolicy", 5, _PREEMPTION_POLICY, pointer=True),
)
