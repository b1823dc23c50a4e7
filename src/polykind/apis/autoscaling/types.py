"""Scale, the kind of scale subresources."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE_DATE, value_at
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import INT32, STRING
from polykind.codec.table import Column

AUTOSCALING_V1 = GroupVersion("autoscaling", "v1", "io.k8s.api.autoscaling.v1")

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
        Column("Desired", "integer", "Number of desired replicas", value_at("spec", "replicas")),
        Column("Available", "integer", "Number of actual replicas", value_at("status", "replicas")),
        AGE_DATE,
    ),
)
