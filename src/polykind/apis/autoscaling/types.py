"""Kinds of the autoscaling group: HorizontalPodAutoscaler, and Scale, the kind of scale subresources."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE_DATE, value_at
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import INT32, STRING
from polykind.codec.table import Column

AUTOSCALING_V1 = GroupVersion(
    "autoscaling", "v1", "io.k8s.api.autoscaling.v1", group_priority=17500, version_priority=15
)
AUTOSCALING_V2 = GroupVersion(
    "autoscaling", "v2", "io.k8s.api.autoscaling.v2", group_priority=17500, version_priority=30
)

SCALE = Kind(
    AUTOSCALING_V1,
    "Scale",
    "The desired and the observed number of replicas of an object.",
    Field(
        "spec",
        2,
        AUTOSCALING_V1.struct(
            "ScaleSpec",
            "The desired state of a scale subresource.",
            Field("replicas", 1, INT32, "The desired number of replicas.", default=0),
        ),
        "The desired state.",
    ),
    Field(
        "status",
        3,
        AUTOSCALING_V1.struct(
            "ScaleStatus",
            "The observed state of a scale subresource.",
            Field("replicas", 1, INT32, "The observed number of replicas.", omitempty=False),
            Field("selector", 2, STRING, "The label selector of the replicas, as a query parameter."),
        ),
        "The observed state.",
    ),
    verbs=(),
    columns=(
        Column("Desired", "integer", "Number of desired replicas", value_at("spec", "replicas", default=0)),
        Column("Available", "integer", "Number of actual replicas", value_at("status", "replicas")),
        AGE_DATE,
    ),
    name_format="",
)

HORIZONTAL_POD_AUTOSCALER_V1 = Kind(
    AUTOSCALING_V1,
    "HorizontalPodAutoscaler",
    "Scales a workload with the CPU usage of its pods.",
    fields_in="polykind.apis.autoscaling.autoscaler_v1_types:HORIZONTAL_POD_AUTOSCALER_FIELDS",
    strategy="polykind.strategies.autoscaling.strategy:HorizontalPodAutoscalerV1Strategy",
    conversion="polykind.apis.autoscaling.conversion:AUTOSCALER_V1",
    columns="polykind.apis.autoscaling.columns:HORIZONTAL_POD_AUTOSCALER_V1",
    namespaced=True,
    stored_version="v2",
    short_names=("hpa",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

HORIZONTAL_POD_AUTOSCALER_V2 = Kind(
    AUTOSCALING_V2,
    "HorizontalPodAutoscaler",
    "Scales a workload with metrics.",
    fields_in="polykind.apis.autoscaling.autoscaler_types:HORIZONTAL_POD_AUTOSCALER_FIELDS",
    strategy="polykind.strategies.autoscaling.strategy:HorizontalPodAutoscalerStrategy",
    columns="polykind.apis.autoscaling.columns:HORIZONTAL_POD_AUTOSCALER",
    namespaced=True,
    short_names=("hpa",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

KINDS = (
    HORIZONTAL_POD_AUTOSCALER_V1,
    HORIZONTAL_POD_AUTOSCALER_V2,
)
