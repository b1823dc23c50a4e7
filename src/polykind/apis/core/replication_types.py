"""The fields of ReplicationControllers."""

from __future__ import annotations

from polykind.apis.core.pod_types import POD_TEMPLATE_SPEC
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, STRING, STRING_MAP, TIME, ListOf, String

_struct = CORE_V1.struct


_REPLICATION_CONTROLLER_SPEC = _struct(
    "ReplicationControllerSpec",
    "",
    Field("replicas", 1, INT32, pointer=True, default=1),
    Field("minReadySeconds", 4, INT32, default=0),
    Field("selector", 2, STRING_MAP, map_type="atomic"),
    Field("template", 3, POD_TEMPLATE_SPEC, pointer=True),
)

_REPLICATION_CONTROLLER_CONDITION = _struct(
    "ReplicationControllerCondition",
    "",
    Field("type", 1, String("v1.ReplicationControllerConditionType"), omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "The observed state.", omitempty=False),
    Field("lastTransitionTime", 3, TIME),
    Field("reason", 4, STRING),
    Field("message", 5, STRING),
)

_REPLICATION_CONTROLLER_STATUS = _struct(
    "ReplicationControllerStatus",
    "",
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
