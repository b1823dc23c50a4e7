"""Columns of `kubectl get` for HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polykind.apis.autoscaling import types
from polykind.apis.autoscaling.conversion import to_v2
from polykind.apis.machinery.columns import AGE, first_items, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject

_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""The field of a metric that describes its source, by the type of the metric."""


def metrics_text(specs: list[JsonObject] | None, statuses: list[JsonObject] | None) -> str:
    """Return a cell with the current and target values of the metrics of a HorizontalPodAutoscaler at v2."""
    if not specs:
        return "<none>"
    current = statuses or []
    texts = [_metric(spec, current[at] if at < len(current) else {}) for at, spec in enumerate(specs)]
    return first_items(texts, 2, ", ")


def _metric(spec: JsonObject, status: JsonObject) -> str:
    source = _SOURCES.get(spec.get("type", ""))
    if source is None:
        return "<unknown type>"
    described = spec.get(source) or {}
    target = described.get("target") or {}
    observed = status.get(source)
    current = (observed or {}).get("current") or {}
    average = "averageValue" in target
    if source in ("resource", "containerResource"):
        name = described.get("name", "")
        if average:
            return f"{name}: {_value(observed, current, 'averageValue')}/{target['averageValue']}"
        return f"{name}: {_percent(current, '<unknown>')}/{_percent(target, '<auto>')}"
    if source == "pods":
        return f"{_value(observed, current, 'averageValue')}/{target.get('averageValue', '0')}"
    if average:
        return f"{current.get('averageValue', '<unknown>')}/{target['averageValue']} (avg)"
    return f"{_value(observed, current, 'value')}/{target.get('value', '0')}"


def _value(observed: JsonObject | None, current: JsonObject, name: str) -> str:
    return str(current.get(name, "<nil>")) if observed is not None else "<unknown>"


def _percent(value: JsonObject, missing: str) -> str:
    return f"{value['averageUtilization']}%" if "averageUtilization" in value else missing


def _reference(obj: JsonObject) -> str:
    target = obj["spec"].get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _columns(targets: Callable[[JsonObject], str]) -> tuple[Column, ...]:
    return (
        Column("Reference", "string", "The scaled object", _reference),
        Column("Targets", "string", "The current and the target values of the metrics", targets),
        Column(
            "MinPods", "string", "The least number of pods", lambda obj: str(obj["spec"].get("minReplicas", "<unset>"))
        ),
        Column("MaxPods", "string", "The greatest number of pods", value_at("spec", "maxReplicas", default=0)),
        Column("Replicas", "string", "The number of pods", value_at("status", "currentReplicas", default=0)),
        AGE,
    )


def _targets(obj: JsonObject) -> str:
    return metrics_text(obj["spec"].get("metrics"), obj["status"].get("currentMetrics"))


HORIZONTAL_POD_AUTOSCALER = _columns(_targets)
HORIZONTAL_POD_AUTOSCALER_V1 = _columns(lambda obj: _targets(to_v2(obj)))
"""The columns of objects at v1. They are computed from the object at v2, because v1 has most metrics in annotations."""

COLUMNS: Mapping[Kind, Columns] = {
    types.HORIZONTAL_POD_AUTOSCALER_V1: HORIZONTAL_POD_AUTOSCALER_V1,
    types.HORIZONTAL_POD_AUTOSCALER_V2: HORIZONTAL_POD_AUTOSCALER,
}
