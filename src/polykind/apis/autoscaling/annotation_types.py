"""The types of the JSON in annotations of HorizontalPodAutoscalers at v1, which hold the fields that only v2 has."""

from __future__ import annotations

from polykind.apis.autoscaling.types import AUTOSCALING_V1
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import INT32, QUANTITY, STRING, TIME, ListOf, ValueType
from polykind.apis.meta.types import LABEL_SELECTOR


def _struct(name: str, *fields: Field) -> Struct:
    return AUTOSCALING_V1.struct(name, "", *fields)


def _always(name: str, type_: ValueType = STRING) -> Field:
    return Field(name, 0, type_, omitempty=False)


def _optional(name: str, type_: ValueType = STRING) -> Field:
    return Field(name, 0, type_, pointer=True)


_REFERENCE = _struct(
    "CrossVersionObjectReference",
    _always("kind"),
    _always("name"),
    Field("apiVersion", 0, STRING, "The apiVersion of the object."),
)

_METRIC_SPEC = _struct(
    "MetricSpec",
    _always("type"),
    _optional(
        "object",
        _struct(
            "ObjectMetricSource",
            _always("target", _REFERENCE),
            _always("metricName"),
            _optional("targetValue", QUANTITY),
            _optional("selector", LABEL_SELECTOR),
            _optional("averageValue", QUANTITY),
        ),
    ),
    _optional(
        "pods",
        _struct(
            "PodsMetricSource",
            _always("metricName"),
            _optional("targetAverageValue", QUANTITY),
            _optional("selector", LABEL_SELECTOR),
        ),
    ),
    _optional(
        "resource",
        _struct(
            "ResourceMetricSource",
            _always("name"),
            _optional("targetAverageUtilization", INT32),
            _optional("targetAverageValue", QUANTITY),
        ),
    ),
    _optional(
        "containerResource",
        _struct(
            "ContainerResourceMetricSource",
            _always("name"),
            _optional("targetAverageUtilization", INT32),
            _optional("targetAverageValue", QUANTITY),
            _always("container"),
        ),
    ),
    _optional(
        "external",
        _struct(
            "ExternalMetricSource",
            _always("metricName"),
            _optional("metricSelector", LABEL_SELECTOR),
            _optional("targetValue", QUANTITY),
            _optional("targetAverageValue", QUANTITY),
        ),
    ),
)

_METRIC_STATUS = _struct(
    "MetricStatus",
    _always("type"),
    _optional(
        "object",
        _struct(
            "ObjectMetricStatus",
            _always("target", _REFERENCE),
            _always("metricName"),
            _optional("currentValue", QUANTITY),
            _optional("selector", LABEL_SELECTOR),
            _optional("averageValue", QUANTITY),
        ),
    ),
    _optional(
        "pods",
        _struct(
            "PodsMetricStatus",
            _always("metricName"),
            _optional("currentAverageValue", QUANTITY),
            _optional("selector", LABEL_SELECTOR),
        ),
    ),
    _optional(
        "resource",
        _struct(
            "ResourceMetricStatus",
            _always("name"),
            _optional("currentAverageUtilization", INT32),
            _optional("currentAverageValue", QUANTITY),
        ),
    ),
    _optional(
        "containerResource",
        _struct(
            "ContainerResourceMetricStatus",
            _always("name"),
            _optional("currentAverageUtilization", INT32),
            _optional("currentAverageValue", QUANTITY),
            _always("container"),
        ),
    ),
    _optional(
        "external",
        _struct(
            "ExternalMetricStatus",
            _always("metricName"),
            _optional("metricSelector", LABEL_SELECTOR),
            _optional("currentValue", QUANTITY),
            _optional("currentAverageValue", QUANTITY),
        ),
    ),
)

_CONDITION = _struct(
    "HorizontalPodAutoscalerCondition",
    _always("type"),
    _always("status"),
    Field("lastTransitionTime", 0, TIME),
    Field("reason", 0, STRING),
    Field("message", 0, STRING),
)

_RULES = _struct(
    "HPAScalingRules",
    _optional("stabilizationWindowSeconds", INT32),
    _optional("selectPolicy"),
    Field(
        "policies",
        0,
        ListOf(_struct("HPAScalingPolicy", _always("type"), _always("value", INT32), _always("periodSeconds", INT32))),
    ),
    _optional("tolerance", QUANTITY),
)

METRIC_SPECS = _struct("MetricSpecs", Field("items", 0, ListOf(_METRIC_SPEC)))
METRIC_STATUSES = _struct("MetricStatuses", Field("items", 0, ListOf(_METRIC_STATUS)))
CONDITIONS = _struct("Conditions", Field("items", 0, ListOf(_CONDITION)))
"""`METRIC_SPECS`, `METRIC_STATUSES` and `CONDITIONS` have a field `items` for the list that an annotation holds."""
BEHAVIOR = _struct("HorizontalPodAutoscalerBehavior", _optional("scaleUp", _RULES), _optional("scaleDown", _RULES))
