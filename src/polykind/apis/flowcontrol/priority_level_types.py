"""The fields of PriorityLevelConfigurations."""

from __future__ import annotations

from polykind.apis.flowcontrol.types import FLOWCONTROL_V1
from polykind.apis.machinery.structs import Field, Union
from polykind.apis.machinery.value_types import INT32, STRING, TIME, ListOf, String

_struct = FLOWCONTROL_V1.struct


_QUEUING_CONFIGURATION = _struct(
    "QueuingConfiguration",
    "The queues of a priority level.",
    Field("queues", 1, INT32, omitempty=False, required=False),
    Field("handSize", 2, INT32, omitempty=False, required=False),
    Field("queueLengthLimit", 3, INT32, omitempty=False, required=False),
)

_LIMIT_RESPONSE = _struct(
    "LimitResponse",
    "The treatment of requests that cannot be served at once.",
    Field("type", 1, String("v1.LimitResponseType"), omitempty=False),
    Field("queuing", 2, _QUEUING_CONFIGURATION, pointer=True),
    unions=(Union(("queuing",), "type"),),
)

_LIMITED_PRIORITY_LEVEL_CONFIGURATION = _struct(
    "LimitedPriorityLevelConfiguration",
    "The settings of a priority level with limited concurrency.",
    Field("nominalConcurrencyShares", 1, INT32, omitempty=False, pointer=True),
    Field("limitResponse", 2, _LIMIT_RESPONSE),
    Field("lendablePercent", 3, INT32, pointer=True),
    Field("borrowingLimitPercent", 4, INT32, pointer=True),
)

_EXEMPT_PRIORITY_LEVEL_CONFIGURATION = _struct(
    "ExemptPriorityLevelConfiguration",
    "The settings of a priority level without a limit.",
    Field("nominalConcurrencyShares", 1, INT32, pointer=True),
    Field("lendablePercent", 2, INT32, pointer=True),
)

_PRIORITY_LEVEL_CONFIGURATION_SPEC = _struct(
    "PriorityLevelConfigurationSpec",
    "The desired state of a priority level.",
    Field("type", 1, String("v1.PriorityLevelEnablement"), omitempty=False),
    Field("limited", 2, _LIMITED_PRIORITY_LEVEL_CONFIGURATION, pointer=True),
    Field("exempt", 3, _EXEMPT_PRIORITY_LEVEL_CONFIGURATION, pointer=True),
    unions=(Union(("exempt", "limited"), "type"),),
)

_PRIORITY_LEVEL_CONFIGURATION_CONDITION = _struct(
    "PriorityLevelConfigurationCondition",
    "One aspect of the state of a priority level.",
    Field("type", 1, String("v1.PriorityLevelConfigurationConditionType"), "The aspect of the state, in CamelCase."),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown."),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_PRIORITY_LEVEL_CONFIGURATION_STATUS = _struct(
    "PriorityLevelConfigurationStatus",
    "The observed state of a priority level.",
    Field("conditions", 1, ListOf(_PRIORITY_LEVEL_CONFIGURATION_CONDITION), keys=("type",), merge_key="type"),
)

PRIORITY_LEVEL_CONFIGURATION_FIELDS = (
    Field("spec", 2, _PRIORITY_LEVEL_CONFIGURATION_SPEC, "The desired state."),
    Field("status", 3, _PRIORITY_LEVEL_CONFIGURATION_STATUS, "The observed state."),
)
