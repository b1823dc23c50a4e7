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
    "The desired state of a namespace.",
    Field(
        "finalizers",
        1,
        ListOf(String("v1.FinalizerName")),
        "Finalizers that must be removed before the namespace is removed.",
    ),
)

_NAMESPACE_CONDITION = _struct(
    "NamespaceCondition",
    "One aspect of the state of a namespace.",
    Field("type", 1, String("v1.NamespaceConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

_NAMESPACE_STATUS = _struct(
    "NamespaceStatus",
    "The observed state of a namespace.",
    Field("phase", 1, _NAMESPACE_PHASE, "The phase of the namespace's life."),
    Field(
        "conditions", 2, ListOf(_NAMESPACE_CONDITION), "The progress of the deletion.", keys=("type",), merge_key="type"
    ),
)

NAMESPACE_FIELDS = (
    Field("spec", 2, _NAMESPACE_SPEC, "The desired state."),
    Field("status", 3, _NAMESPACE_STATUS, "The observed state."),
)

_COMPONENT_CONDITION = _struct(
    "ComponentCondition",
    "One aspect of the health of a component.",
    Field("type", 1, String("v1.ComponentConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("message", 3, STRING, "A readable explanation."),
    Field("error", 4, STRING),
)

COMPONENT_STATUS_FIELDS = (Field("conditions", 2, ListOf(_COMPONENT_CONDITION), keys=("type",), merge_key="type"),)
