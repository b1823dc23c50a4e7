"""The fields of ReplicationControllers."""

from __future__ import annotations

from polykind.apis.core.pod_types import POD_TEMPLATE_SPEC
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, STRING, STRING_MAP, TIME, ListOf, String

_struct = CORE_V1.struct


_REPLICATION_CONTROLLER_SPEC = _struct(
    "ReplicationControllerSpec",
    "The desired state of a ReplicationController.",
    Field("replicas", 1, INT32, pointer=True, default=1),
    Field("minReadySeconds", 4, INT32, default=0),
    Field("selector", 2, STRING_MAP, map_type="atomic"),
    Field("template", 3, POD_TEMPLATE_SPEC, pointer=True),
)

_REPLICATION_CONTROLLER_CONDITION = _struct(
    "ReplicationControllerCondition",
    "One aspect of the state of a ReplicationController.",
    Field(
        "type",
        1,
        String("v1.ReplicationControllerConditionType"),
        "The aspect of the state, in CamelCase.",
        omitempty=False,
    ),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_REPLICATION_CONTROLLER_STATUS = _struct(
    "ReplicationControllerStatus",
    "The observed state of a ReplicationController.",
    Field("replicas", 1, INT32, omitempty=False),
    Field("fullyLabeledReplicas", 2, INT32),
    Field("readyReplicas", 4, INT32),
    Field("availableReplicas", 5, INT32),
    Field("observedGeneration", 3, INT64),
    Field("conditions", 6, ListOf(_REPLICATION_CONTROLLER_CONDITION), keys=("type",), merge_key="type"),
)

REPLICATION_CONTROLLER_FIELDS = (
    Field("spec", 2, _REPLICATION_CONTROLLER_SPEC, "The desired state."),
    Field("status", 3, _REPLICATION_CONTROLLER_STATUS, "The observed state."),
)
