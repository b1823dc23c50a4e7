"""Conversion of HorizontalPodAutoscalers between v1 and v2. Fields that only v2 has become annotations of v1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polykind import errors
from polykind.apis import machinery
from polykind.apis.autoscaling import annotation_types
from polykind.apis.autoscaling.defaults import DEFAULT_CPU_UTILIZATION, cpu_metric
from polykind.apis.autoscaling.types import AUTOSCALING_V2
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.version_conversion import VersionConversion
from polykind.contract import JsonObject
from polykind.golang.json import encode_json, go_json
from polykind.quantity import parse_quantity

METRICS = "autoscaling.alpha.kubernetes.io/metrics"
CURRENT_METRICS = "autoscaling.alpha.kubernetes.io/current-metrics"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_ANNOTATIONS = (
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
)
_BEHAVIOR_KEYS = {
    name.lower(): name
    for name in (
        *("scaleUp", "scaleDown", "stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"),
        *("type", "value", "periodSeconds"),
    )
}
_SPEC_FIELDS = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS_FIELDS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")

Names = Mapping[str, str]
Paths = Mapping[str, Names]


def to_v1(autoscaler: JsonObject) -> JsonObject:
    """Convert a HorizontalPodAutoscaler from v2 to v1.

    Quantities that are unset in the status stay unset, although v1 requires them. The conversion back to v2 thus
    returns the same status.
    """
    spec, status = autoscaler["spec"], autoscaler.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    converted = _without_annotations(autoscaler)
    converted["spec"] = _pick(spec, _SPEC_FIELDS)
    utilizations = [utilization for utilization in map(_target_utilization, metrics) if utilization is not None]
    if utilizations:
        converted["spec"]["targetCPUUtilizationPercentage"] = utilizations[0]
    converted["status"] = {**_pick(status, _STATUS_FIELDS), **_current_utilization(current)}
    others = [metric for metric in metrics if _target_utilization(metric) is None]
    specs = [_fill_quantities(_metric_to_v1(metric, _SPEC_PATHS), _SPEC_QUANTITIES) for metric in others]
    statuses = [_metric_to_v1(metric, _STATUS_PATHS) for metric in current]
    added = {
        METRICS: _encode_list(specs, annotation_types.METRIC_SPECS),
        CURRENT_METRICS: _encode_list(statuses, annotation_types.METRIC_STATUSES),
        BEHAVIOR: _encode_behavior(spec.get("behavior")),
        CONDITIONS: _encode_list(status.get("conditions") or [], annotation_types.CONDITIONS),
    }
    annotations = {name: text for name, text in added.items() if text is not None}
    if annotations:
        metadata = converted["metadata"]
        metadata["annotations"] = {**metadata.get("annotations", {}), **annotations}
    return converted


def _current_utilization(metrics: Iterable[JsonObject]) -> JsonObject:
    """Return the field of a v1 status for the use of CPU, if it is known."""
    found: JsonObject = {}
    for metric in metrics:
        utilization = ((metric.get("resource") or {}).get("current") or {}).get("averageUtilization")
        if _is_cpu(metric) and utilization is not None:
            found["currentCPUUtilizationPercentage"] = utilization
    return found


def to_v2(autoscaler: JsonObject) -> JsonObject:
    """Convert a HorizontalPodAutoscaler from v1 to v2. Ignore annotations that cannot be decoded."""
    spec, status = autoscaler["spec"], autoscaler.get("status") or {}
    annotations = autoscaler["metadata"].get("annotations") or {}
    converted = _without_annotations(autoscaler)
    converted["spec"] = _pick(spec, _SPEC_FIELDS)
    utilization = spec.get("targetCPUUtilizationPercentage")
    metrics = [] if utilization is None else [cpu_metric(utilization)]
    others = _decode_list(annotations.get(METRICS), annotation_types.METRIC_SPECS)
    metrics = [*(_metric_to_v2(m, _SPEC_PATHS) for m in others or ()), *metrics]
    converted["spec"]["metrics"] = metrics or [cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = _decode_behavior(annotations.get(BEHAVIOR))
    if behavior:
        converted["spec"]["behavior"] = behavior
    converted["status"] = _pick(status, _STATUS_FIELDS)
    current = _decode_list(annotations.get(CURRENT_METRICS), annotation_types.METRIC_STATUSES)
    if current is not None:
        converted["status"]["currentMetrics"] = [_metric_to_v2(m, _STATUS_PATHS) for m in current]
    elif "currentCPUUtilizationPercentage" in status:
        usage = {"averageUtilization": status["currentCPUUtilizationPercentage"]}
        converted["status"]["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": usage}}]
    conditions = _decode_list(annotations.get(CONDITIONS), annotation_types.CONDITIONS)
    if conditions:
        converted["status"]["conditions"] = conditions
    return converted


AUTOSCALER_V1 = VersionConversion(to_v2, to_v1)


def fill_current_metrics(annotations: JsonObject) -> None:
    """Set missing quantities in the annotation with the current metrics to zero, in place. v1 requires them."""
    metrics = _decode_list(annotations.get(CURRENT_METRICS), annotation_types.METRIC_STATUSES)
    filled = [_fill_quantities(metric, _STATUS_QUANTITIES) for metric in metrics or ()]
    text = _encode_list(filled, annotation_types.METRIC_STATUSES)
    if text is not None:
        annotations[CURRENT_METRICS] = text


def _fill_quantities(metric: JsonObject, quantities: Names) -> JsonObject:
    for source, name in quantities.items():
        if source in metric:
            metric[source].setdefault(name, "0")
    return metric


def drop_conversion_annotations(metadata: JsonObject) -> None:
    """Remove the annotations that carry fields of v2, in place."""
    annotations = metadata.get("annotations")
    if not annotations or not any(name in annotations for name in _ANNOTATIONS):
        return
    kept = {name: value for name, value in annotations.items() if name not in _ANNOTATIONS}
    if kept:
        metadata["annotations"] = kept
    else:
        del metadata["annotations"]


def _without_annotations(autoscaler: JsonObject) -> JsonObject:
    converted = {**autoscaler, "metadata": dict(autoscaler["metadata"])}
    drop_conversion_annotations(converted["metadata"])
    return converted


def _pick(source: JsonObject, fields: Iterable[str]) -> JsonObject:
    return {name: source[name] for name in fields if name in source}


def _is_cpu(metric: JsonObject) -> bool:
    return metric.get("type") == "Resource" and (metric.get("resource") or {}).get("name") == "cpu"


def _target_utilization(metric: JsonObject) -> int | None:
    """Return the target CPU utilization of a metric, for which v1 has a field. Return None for any other metric."""
    utilization: int | None = metric["resource"]["target"].get("averageUtilization") if _is_cpu(metric) else None
    return utilization


_METRIC = {"metricName": "metric.name", "selector": "metric.selector"}
_RESOURCE_TARGET = {
    "name": "name",
    "targetAverageUtilization": "target.averageUtilization",
    "targetAverageValue": "target.averageValue",
}
_RESOURCE_STATUS = {
    "name": "name",
    "currentAverageUtilization": "current.averageUtilization",
    "currentAverageValue": "current.averageValue",
}
_SPEC_PATHS = {
    "object": {
        "target": "describedObject",
        **_METRIC,
        "targetValue": "target.value",
        "averageValue": "target.averageValue",
    },
    "pods": {**_METRIC, "targetAverageValue": "target.averageValue"},
    "resource": _RESOURCE_TARGET,
    "containerResource": {**_RESOURCE_TARGET, "container": "container"},
    "external": {
        "metricName": "metric.name",
        "metricSelector": "metric.selector",
        "targetValue": "target.value",
        "targetAverageValue": "target.averageValue",
    },
}
"""The fields of a metric in annotations of v1, each with its path in v2, by the metric's source."""
_STATUS_PATHS = {
    "object": {
        "target": "describedObject",
        **_METRIC,
        "currentValue": "current.value",
        "averageValue": "current.averageValue",
    },
    "pods": {**_METRIC, "currentAverageValue": "current.averageValue"},
    "resource": _RESOURCE_STATUS,
    "containerResource": {**_RESOURCE_STATUS, "container": "container"},
    "external": {
        "metricName": "metric.name",
        "metricSelector": "metric.selector",
        "currentValue": "current.value",
        "currentAverageValue": "current.averageValue",
    },
}
"""The fields of a metric's status in annotations of v1, each with its path in v2, by the metric's source."""


_SPEC_QUANTITIES = {"object": "targetValue", "pods": "targetAverageValue"}
_STATUS_QUANTITIES = {
    "object": "currentValue",
    "pods": "currentAverageValue",
    "resource": "currentAverageValue",
    "containerResource": "currentAverageValue",
    "external": "currentValue",
}
"""The quantity that v1 requires in the status of a metric, by the metric's source."""


def _metric_to_v1(metric: JsonObject, sources: Paths) -> JsonObject:
    converted: JsonObject = {"type": metric.get("type")}
    for name in sources.keys() & metric.keys():
        converted[name] = {}
        for field, path in sources[name].items():
            parent, _, leaf = path.rpartition(".")
            value = (metric[name][parent] if parent else metric[name]).get(leaf)
            if value is not None:
                converted[name][field] = value
    return converted


def _metric_to_v2(metric: JsonObject, sources: Paths) -> JsonObject:
    converted: JsonObject = {"type": metric.get("type")}
    for name in sources.keys() & metric.keys():
        source = converted[name] = {}
        for field, path in sources[name].items():
            parent, _, leaf = path.rpartition(".")
            owner = source.setdefault(parent, {}) if parent else source
            if field in metric[name]:
                owner[leaf] = metric[name][field]
        if "target" in source:
            _set_target_type(name, source["target"])
    return converted


def _set_target_type(source: str, target: JsonObject) -> None:
    """Set the type of a metric's target in v2. v1 has no such field."""
    if source == "object" and "averageValue" in target:
        # v1 requires a value, so in v1 a zero means that the value is not set.
        if parse_quantity(target.get("value", "0")) == parse_quantity("0"):
            target.pop("value", None)
        target["type"] = "AverageValue"
    elif "averageUtilization" in target:
        target["type"] = "Utilization"
    else:
        target["type"] = "Value" if "value" in target else "AverageValue"


def _encode_list(items: list[JsonObject], struct: Struct) -> str | None:
    """Return a list as the JSON of an annotation, with all fields in Go's order. Return None if the list is empty."""
    if not items:
        return None
    ordered, _ = machinery.decode({"items": items}, struct, report=False)
    return encode_json(ordered["items"], sort_keys=False).decode()


def _encode_behavior(behavior: JsonObject | None) -> str | None:
    return (
        None
        if behavior is None
        else go_json(show_internal(AUTOSCALING_V2.struct("HorizontalPodAutoscalerBehavior"), behavior))
    )


def _decode_list(text: str | None, struct: Struct) -> list[JsonObject] | None:
    """Return the list in an annotation. Return None if the annotation is absent or malformed."""
    decoded = _decode_annotation(text, struct, lambda value: {"items": value})
    return None if decoded is None else decoded.get("items") or []


def _decode_behavior(text: str | None) -> JsonObject | None:
    # In this annotation, fields have their Go names, so rename them to the JSON names.
    return _decode_annotation(text, annotation_types.BEHAVIOR, _rename_keys)


def _rename_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_BEHAVIOR_KEYS.get(name.lower(), name): _rename_keys(item) for name, item in value.items()}
    return list(map(_rename_keys, value)) if isinstance(value, list) else value


def _decode_annotation(text: str | None, struct: Struct, prepare: Callable[[Any], Any]) -> JsonObject | None:
    if text is None:
        return None
    try:
        return machinery.decode(prepare(json.loads(text)), struct, report=False)[0]
    except (ValueError, errors.BadRequestError):
        return None
