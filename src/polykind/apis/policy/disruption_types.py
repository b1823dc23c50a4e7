"""The fields of PodDisruptionBudgets and Evictions."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, INT_OR_STRING, TIME, ListOf, MapOf, String
from polykind.apis.meta.types import CONDITION, DELETE_OPTIONS, LABEL_SELECTOR
from polykind.apis.policy.types import POLICY_V1

_struct = POLICY_V1.struct

_UNHEALTHY_POD_EVICTION_POLICY_TYPE = String("v1.UnhealthyPodEvictionPolicyType", ("AlwaysAllow", "IfHealthyBudget"))

_POD_DISRUPTION_BUDGET_SPEC = _struct(
    "PodDisruptionBudgetSpec",
    "The desired state of a disruption budget.",
    Field("minAvailable", 1, INT_OR_STRING, "The number or share of pods that must stay available.", pointer=True),
    Field("selector", 2, LABEL_SELECTOR, "The labels of the pods.", pointer=True, patch_strategy="replace"),
    Field("maxUnavailable", 3, INT_OR_STRING, "The number or share of pods that may be unavailable.", pointer=True),
    Field("unhealthyPodEvictionPolicy", 4, _UNHEALTHY_POD_EVICTION_POLICY_TYPE, pointer=True),
)

_POD_DISRUPTION_BUDGET_STATUS = _struct(
    "PodDisruptionBudgetStatus",
    "The observed state of a disruption budget.",
    Field("observedGeneration", 1, INT64),
    Field("disruptedPods", 2, MapOf(TIME)),
    Field("disruptionsAllowed", 3, INT32, omitempty=False, required=False),
    Field("currentHealthy", 4, INT32, omitempty=False, required=False),
    Field("desiredHealthy", 5, INT32, omitempty=False, required=False),
    Field("expectedPods", 6, INT32, omitempty=False, required=False),
    Field("conditions", 7, ListOf(CONDITION), keys=("type",), merge_key="type"),
)

POD_DISRUPTION_BUDGET_FIELDS = (
    Field("spec", 2, _POD_DISRUPTION_BUDGET_SPEC, "The desired state."),
    Field("status", 3, _POD_DISRUPTION_BUDGET_STATUS, "The observed state."),
)

EVICTION_FIELDS = (Field("deleteOptions", 2, DELETE_OPTIONS, pointer=True),)
