"""The fields of Namespaces and ComponentStatuses."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import STRING, TIME, ListOf, String

_struct = CORE_V1.struct

_CONDITION_STATUS = String("v1.ConditionStatus")
_NAMESPACE_PHASE = String("v1.NamespacePhase", ("Active", "Terminating"))

_NAMESPACE_SPEC = _struct(
    "NamespaceSpec",
    "",
    Field("finalizers", 1, ListOf(String("v1.FinalizerName"))),
)

_NAMESPACE_CONDITION = _struct(
    "NamespaceCondition",
    "",
    Field("type", 1, String("v1.NamespaceConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False),
    Field("lastTransitionTime", 4, TIME),
    Field("reason", 5, STRING),
    Field("message", 6, STRING),
)

_NAMESPACE_STATUS = _struct(
    "NamespaceStatus",
    "",
    Field("phase", 1, _NAMESPACE_PHASE),
    Field("conditions", 2, ListOf(_NAMESPACE_CONDITION), keys=("type",), merge_key="type"),
)

NAMESPACE_FIELDS = (
    Field("spec", 2, _NAMESPACE_SPEC, "The desired state."),
    Field("status", 3, _NAMESPACE_STATUS, "The observed state."),
)

_COMPONENT_CONDITION = _struct(
    "ComponentCondition",
    "",
    Field("type", 1, String("v1.ComponentConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False),
    Field("message", 3, STRING),
    Field("error", 4, STRING),
)

COMPONENT_STATUS_FIELDS = (Field("conditions", 2, ListOf(_COMPONENT_CONDITION), keys=("type",), merge_key="type"),)
