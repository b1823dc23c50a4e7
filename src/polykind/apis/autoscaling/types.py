"""Kinds of the autoscaling group: HorizontalPodAutoscaler, and Scale, the kind of scale subresources."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE_DATE, value_at
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.codec.table import Column

AUTOSCALING_V1 = GroupVersion(
    "autoscaling", "v1", type_table("autoscaling", "v1"), group_priority=17500, version_priority=15
)
AUTOSCALING_V2 = GroupVersion(
    "autoscaling", "v2", type_table("autoscaling", "v2"), group_priority=17500, version_priority=30
)

SCALE = Kind(
    AUTOSCALING_V1,
    "Scale",
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
