"""The fields of HorizontalPodAutoscalers at v1."""

from __future__ import annotations

from polykind.apis.autoscaling.types import AUTOSCALING_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT64, STRING, TIME

_struct = AUTOSCALING_V1.struct


_CROSS_VERSION_OBJECT_REFERENCE = _struct(
    "CrossVersionObjectReference",
    "A reference to an object by its kind and name.",
    Field("kind", 1, STRING, "The kind of the object.", omitempty=False),
    Field("name", 2, STRING, "The name of the object.", omitempty=False),
    Field("apiVersion", 3, STRING, "The apiVersion of the object."),
    atomic=True,
)

_HORIZONTAL_POD_AUTOSCALER_SPEC = _struct(
    "HorizontalPodAutoscalerSpec",
    "The desired state of an autoscaler.",
    Field("scaleTargetRef", 1, _CROSS_VERSION_OBJECT_REFERENCE, "The object to scale.", omitempty=False),
    Field("minReplicas", 2, INT32, "The least number of pods.", pointer=True),
    Field("maxReplicas", 3, INT32, "The greatest number of pods.", omitempty=False),
    Field(
        "targetCPUUtilizationPercentage",
        4,
        INT32,
        "The target for the CPU usage, in percent of the requests.",
        pointer=True,
    ),
)

_HORIZONTAL_POD_AUTOSCALER_STATUS = _struct(
    "HorizontalPodAutoscalerStatus",
    "The observed state of an autoscaler.",
    Field("observedGeneration", 1, INT64, pointer=True),
    Field("lastScaleTime", 2, TIME, pointer=True),
    Field("currentReplicas", 3, INT32, omitempty=False),
    Field("desiredReplicas", 4, INT32, omitempty=False),
    Field("currentCPUUtilizationPercentage", 5, INT32, pointer=True),
)

HORIZONTAL_POD_AUTOSCALER_FIELDS = (
    Field("spec", 2, _HORIZONTAL_POD_AUTOSCALER_SPEC, "The desired state.", required=True),
    Field("status", 3, _HORIZONTAL_POD_AUTOSCALER_STATUS, "The observed state."),
)
