"""Defaults of HorizontalPodAutoscalers."""

from __future__ import annotations

from polykind.contract import JsonObject, copy_json

DEFAULT_CPU_UTILIZATION = 80
_PERIOD_SECONDS = 15
_DOUBLE: JsonObject = {"type": "Percent", "value": 100, "periodSeconds": _PERIOD_SECONDS}
_SCALE_UP: JsonObject = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": _PERIOD_SECONDS}, _DOUBLE],
}
_SCALE_DOWN: JsonObject = {"selectPolicy": "Max", "policies": [_DOUBLE]}


def cpu_metric(utilization: int) -> JsonObject:
    """Return the metric that targets an average CPU utilization, as a percentage of the requested CPU."""
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def default_autoscaler_v1(autoscaler: JsonObject) -> None:
    """Set the defaults of a HorizontalPodAutoscaler at v1. The conversion to v2 sets the default metric."""
    autoscaler["spec"].setdefault("minReplicas", 1)


def default_autoscaler_v2(autoscaler: JsonObject) -> None:
    """Set the defaults of a HorizontalPodAutoscaler in version v2."""
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            behavior[name] = {**copy_json(rules), **behavior.get(name, {})}
