from __future__ import annotations

import json
from typing import Any

import pytest

from polykind.apis.autoscaling.conversion import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    fill_current_metrics,
    to_v1,
    to_v2,
)
from polykind.apis.autoscaling.defaults import cpu_metric, default_autoscaler_v2
from polykind.contract import JsonObject

REFERENCE = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
SELECTOR = {"matchLabels": {"a": "b"}}


def autoscaler(*metrics: JsonObject, behavior: JsonObject | None = None, **status: Any) -> JsonObject:
    spec: JsonObject = {"scaleTargetRef": REFERENCE, "minReplicas": 1, "maxReplicas": 3, "metrics": list(metrics)}
    if behavior is not None:
        spec["behavior"] = behavior
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    return {"metadata": {"name": "a", "annotations": {"own": "x"}}, "spec": spec, "status": status}


def target(type_: str, **fields: Any) -> JsonObject:
    return {"type": type_, **fields}


METRIC_SOURCES: list[JsonObject] = [
    {"type": "Resource", "resource": {"name": "memory", "target": target("AverageValue", averageValue="1Gi")}},
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "c",
            "target": target("Utilization", averageUtilization=50),
        },
    },
    {
        "type": "Pods",
        "pods": {"metric": {"name": "hits", "selector": SELECTOR}, "target": target("AverageValue", averageValue="5")},
    },
    {
        "type": "Object",
        "object": {"describedObject": REFERENCE, "metric": {"name": "m"}, "target": target("Value", value="10k")},
    },
    {
        "type": "Object",
        "object": {
            "describedObject": REFERENCE,
            "metric": {"name": "m"},
            "target": target("AverageValue", averageValue="2"),
        },
    },
    {"type": "External", "external": {"metric": {"name": "q"}, "target": target("Value", value="30")}},
    {"type": "External", "external": {"metric": {"name": "q"}, "target": target("AverageValue", averageValue="3")}},
]


@pytest.mark.parametrize("metric", METRIC_SOURCES)
def test_metrics_survive_the_round_trip(metric: JsonObject) -> None:
    original = autoscaler(metric)
    converted = to_v1(original)
    assert "metrics" not in converted["spec"]
    assert METRICS in converted["metadata"]["annotations"]
    assert to_v2(converted) == original


@pytest.mark.parametrize(
    "status",
    [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "1", "averageUtilization": 7}}},
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "c", "current": {"averageValue": "1"}},
        },
        {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "5"}}},
        {
            "type": "Object",
            "object": {"describedObject": REFERENCE, "metric": {"name": "m"}, "current": {"value": "1"}},
        },
        {
            "type": "External",
            "external": {"metric": {"name": "m"}, "current": {"value": "1", "averageValue": "2"}},
        },
    ],
)
def test_status_survives_the_round_trip(status: JsonObject) -> None:
    conditions = [
        {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "r"}
    ]
    original = autoscaler(cpu_metric(50), currentMetrics=[status], conditions=conditions)
    converted = to_v1(original)
    assert {CURRENT_METRICS, CONDITIONS} <= converted["metadata"]["annotations"].keys()
    assert to_v2(converted) == original


def test_cpu_target_has_a_field_in_v1() -> None:
    converted = to_v1(autoscaler(cpu_metric(50)))
    assert converted["spec"]["targetCPUUtilizationPercentage"] == 50
    assert converted["metadata"]["annotations"] == {"own": "x"}


def test_other_metrics_come_before_the_cpu_target() -> None:
    converted = to_v1(autoscaler(cpu_metric(50), METRIC_SOURCES[0]))
    assert converted["spec"]["targetCPUUtilizationPercentage"] == 50
    assert json.loads(converted["metadata"]["annotations"][METRICS]) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}
    ]
    assert to_v2(converted)["spec"]["metrics"] == [METRIC_SOURCES[0], cpu_metric(50)]


def test_behavior_has_the_names_of_internal_fields() -> None:
    original = autoscaler(cpu_metric(50), behavior={"scaleDown": {"stabilizationWindowSeconds": 60}})
    default_autoscaler_v2(original)
    converted = to_v1(original)
    assert converted["metadata"]["annotations"][BEHAVIOR] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":'
        '[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],'
        '"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":'
        '[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}'
    )
    assert to_v2(converted) == original


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"type":1}]', '[{"pods":{"targetAverageValue":"x"}}]'])
def test_malformed_annotations_are_ignored(text: str) -> None:
    converted = to_v1(autoscaler(cpu_metric(50)))
    converted["metadata"]["annotations"].update({METRICS: text, BEHAVIOR: text})
    assert to_v2(converted) == autoscaler(cpu_metric(50))


def test_without_metrics_the_default_is_a_cpu_target() -> None:
    converted = to_v1(autoscaler(cpu_metric(50)))
    del converted["spec"]["targetCPUUtilizationPercentage"]
    assert to_v2(converted)["spec"]["metrics"] == [cpu_metric(80)]


def test_current_cpu_utilization() -> None:
    converted = to_v1(autoscaler(cpu_metric(50)))
    converted["status"]["currentCPUUtilizationPercentage"] = 33
    assert to_v2(converted)["status"]["currentMetrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 33}}}
    ]


def test_clients_see_zero_for_quantities_that_v1_cannot_leave_out() -> None:
    idle = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
    original = autoscaler(cpu_metric(50), currentMetrics=[idle])
    converted = to_v1(original)
    assert to_v2(converted) == original
    annotations = converted["metadata"]["annotations"]
    fill_current_metrics(annotations)
    assert json.loads(annotations[CURRENT_METRICS]) == [
        {"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 7, "currentAverageValue": "0"}}
    ]
