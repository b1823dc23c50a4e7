"""The types of the JSON in annotations of HorizontalPodAutoscalers at v1, which hold the fields that only v2 has."""

from __future__ import annotations

from polykind.apis.autoscaling.types import AUTOSCALING_V1
from polykind.apis.machinery.structs import Field, Struct


def _list_of(name: str) -> Struct:
    """Return a struct with a field `items` for the list that an annotation holds."""
    return Struct(f"v1.{name}List", (Field("items", 0, AUTOSCALING_V1.types.type(f"[]{name}")),))


METRIC_SPECS = _list_of("MetricSpec")
METRIC_STATUSES = _list_of("MetricStatus")
CONDITIONS = _list_of("HorizontalPodAutoscalerCondition")
BEHAVIOR = AUTOSCALING_V1.struct("HorizontalPodAutoscalerBehavior")
