"""Kinds of the autoscaling group: HorizontalPodAutoscaler, and Scale, the kind of scale subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.apis.machinery.columns import AGE_DATE, value_at
from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.codec.table import Column

if TYPE_CHECKING:
    from polykind.apis.machinery.version_conversion import VersionConversion

AUTOSCALING_V1 = GroupVersion(
    "autoscaling", "v1", type_table("autoscaling", "v1"), group_priority=17500, version_priority=15
)
AUTOSCALING_V2 = GroupVersion(
    "autoscaling", "v2", type_table("autoscaling", "v2"), group_priority=17500, version_priority=30
)


def _conversion() -> VersionConversion:
    from polykind.apis.autoscaling.conversion import AUTOSCALER_V1

    return AUTOSCALER_V1


def _columns(kind: Kind) -> Columns:
    from polykind.apis.autoscaling.columns import COLUMNS

    return COLUMNS[kind]


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
    conversion=_conversion,
    columns=_columns,
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
    columns=_columns,
    namespaced=True,
    short_names=("hpa",),
    categories=("all",),
    subresources=(Subresource("status"),),
)

KINDS = (
    HORIZONTAL_POD_AUTOSCALER_V1,
    HORIZONTAL_POD_AUTOSCALER_V2,
)
