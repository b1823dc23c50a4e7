"""The fields of PriorityLevelConfigurations."""

from __future__ import annotations

from polykind.apis.flowcontrol.types import FLOWCONTROL_V1
from polykind.apis.machinery.structs import Field, Union
from polykind.apis.machinery.value_types import INT32, STRING, TIME, ListOf, String

_struct = FLOWCONTROL_V1.struct


_QUEUING_CONFIGURATION = _struct(
    "QueuingConfiguration",
    "",
    Field("queues", 1, INT32, omitempty=False, required=False),
    Field("handSize", 2, INT32, omitempty=False, required=False),
    Field("queueLengthLimit", 3, INT32, omitempty=False, required=False),
)

_LIMIT_RESPONSE = _struct(
    "LimitResponse",
    "",
    Field("type", 1, String("v1.LimitResponseType"), omitempty=False),
    Field("queuing", 2, _QUEUING_CONFIGURATION, pointer=True),
    unions=(Union(("queuing",), "type"),),
)

_LIMITED_PRIORITY_LEVEL_CONFIGURATION = _struct(
    "LimitedPriorityLevelConfiguration",
    "",
    Field("nominalConcurrencyShares", 1, INT32, omitempty=False, pointer=True),
    Field("limitResponse", 2, _LIMIT_RESPONSE),
    Field("lendablePercent", 3, INT32, pointer=True),
    Field("borrowingLimitPercent", 4, INT32, pointer=True),
)

_EXEMPT_PRIORITY_LEVEL_CONFIGURATION = _struct(
    "ExemptPriorityLevelConfiguration",
    "",
    Field("nominalConcurrencyShares", 1, INT32, pointer=True),
    Field("lendablePercent", 2, INT32, pointer=True),
)

_PRIORITY_LEVEL_CONFIGURATION_SPEC = _struct(
    "PriorityLevelConfigurationSpec",
    "",
    Field("type", 1, String("v1.PriorityLevelEnablement"), omitempty=False),
    Field("limited", 2, _LIMITED_PRIORITY_LEVEL_CONFIGURATION, pointer=True),
    Field("exempt", 3, _EXEMPT_PRIORITY_LEVEL_CONFIGURATION, pointer=True),
    unions=(Union(("exempt", "limited"), "type"),),
)

_PRIORITY_LEVEL_CONFIGURATION_CONDITION = _struct(
    "PriorityLevelConfigurationCondition",
    "",
    Field("type", 1, String("v1.PriorityLevelConfigurationConditionType")),
    Field("status", 2, String("v1.ConditionStatus"), "The observed state."),
    Field("lastTransitionTime", 3, TIME),
    Field("reason", 4, STRING),
    Field("message", 5, STRING),
)

_PRIORITY_LEVEL_CONFIGURATION_STATUS = _struct(
    "PriorityLevelConfigurationStatus",
    "",
    Field("conditions", 1, ListOf(_PRIORITY_LEVEL_CONFIGURATION_CONDITION), keys=("type",), merge_key="type"),
)

PRIORITY_LEVEL_CONFIGURATION_FIELDS = (
    Field("spec", 2, _PRIORITY_LEVEL_CONFIGURATION_SPEC, "The desired state."),
    Field("status", 3, _PRIORITY_LEVEL_CONFIGURATION_STATUS, "The observed state."),
)
