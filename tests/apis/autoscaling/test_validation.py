from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.autoscaling.defaults import cpu_metric, default_autoscaler_v2
from polykind.apis.autoscaling.validation import validate_autoscaler_spec, validate_autoscaler_status
from polykind.contract import JsonObject

REFERENCE: JsonObject = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
AT = "spec.metrics[0]"


def spec(*metrics: JsonObject, **fields: Any) -> JsonObject:
    return {
        "scaleTargetRef": REFERENCE,
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": list(metrics or [cpu_metric(50)]),
        **fields,
    }


def messages(value: JsonObject, old: JsonObject | None = None) -> list[str]:
    return [str(error) for error in validate_autoscaler_spec(value, old)]


def resource(**target: Any) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", **target}}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        (
            {"minReplicas": 0},
            ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1", "spec.metrics"],
        ),
        ({"maxReplicas": -1, "minReplicas": -2}, ["spec.minReplicas", "spec.maxReplicas: Invalid value: -1: must be"]),
        ({"maxReplicas": 0}, ["spec.maxReplicas: Required value: must be set and greater than 0", "spec.maxReplicas"]),
        ({"minReplicas": 5}, ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"]),
        ({"scaleTargetRef": {**REFERENCE, "kind": ""}}, ["spec.scaleTargetRef.kind: Required value"]),
        ({"scaleTargetRef": {**REFERENCE, "name": "a/b"}}, ["spec.scaleTargetRef.name: Invalid value"]),
        (
            {"scaleTargetRef": {**REFERENCE, "apiVersion": "v1"}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
        ),
        (
            {"scaleTargetRef": {**REFERENCE, "apiVersion": "a/b/c"}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        ({"scaleTargetRef": {"kind": "ReplicationController", "name": "a", "apiVersion": "v1"}}, []),
    ],
)
def test_replicas_and_reference(fields: JsonObject, expected: list[str]) -> None:
    found = messages(spec(**fields))
    assert len(found) == len(expected)
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True))


def test_unchanged_references_and_zero_replicas_stay_valid() -> None:
    old = spec(scaleTargetRef={"kind": "Deployment", "name": "a"}, minReplicas=0)
    external = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}}
    new = {**old, "metrics": [external]}
    assert messages(new, old) == []


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (resource(averageUtilization=1), []),
        (
            {"type": "Resource"},
            [f"{AT}.resource: Required value: must populate information for the given metric source"],
        ),
        (
            resource(averageUtilization=0),
            [f"{AT}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0"],
        ),
        (
            resource(),
            [
                f"{AT}.resource.target.averageUtilization: Required value: "
                "must set either a target raw value or a target utilization"
            ],
        ),
        (
            resource(averageUtilization=1, averageValue="1"),
            [
                f"{AT}.resource.target.averageValue: Forbidden: "
                "may not set both a target raw value and a target utilization"
            ],
        ),
        (
            resource(averageValue="-1"),
            [f'{AT}.resource.target.averageValue: Invalid value: "-1": must be positive'],
        ),
        (
            {"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "Odd"}}},
            [
                f"{AT}.pods.metric.name: Required value: must specify a metric name",
                f'{AT}.pods.target.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue',
                f"{AT}.pods.target.averageValue: Required value: must specify a positive target averageValue",
            ],
        ),
        (
            {**resource(averageUtilization=1), "pods": {}, "type": "Resource"},
            [
                f"{AT}.pods.metric.name: Required value: must specify a metric name",
                f"{AT}.pods.target.type: Required value: must specify a metric target type",
                f'{AT}.pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
                f"{AT}.pods.target.averageValue: Required value: must specify a positive target averageValue",
                f"{AT}.pods: Forbidden: must populate the given metric source only",
            ],
        ),
        (
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "A", "target": {}}},
            [f"{AT}.containerResource.container: Invalid value"] + [f"{AT}.containerResource.target"] * 3,
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "q"},
                    "target": {"type": "Value", "value": "1", "averageValue": "1"},
                },
            },
            [f"{AT}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target"],
        ),
        (
            {
                "type": "Object",
                "object": {"describedObject": {"kind": "a", "name": "b"}, "metric": {"name": "q"}, "target": {}},
            },
            [
                f"{AT}.object.target.type: Required value",
                f"{AT}.object.target.type: Invalid value",
                f"{AT}.object.target.averageValue: Required value: must set either a target value or averageValue",
            ],
        ),
    ],
)
def test_metrics(metric: JsonObject, expected: list[str]) -> None:
    for source in ("pods",):
        if metric.get(source) == {}:
            metric[source] = {"metric": {}, "target": {}}
    found = messages(spec(metric))
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


def test_unknown_type_is_reported_twice() -> None:
    assert [error.split(":")[0] for error in messages(spec({"type": "Odd"}))] == [f"{AT}.type"] * 2


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"stabilizationWindowSeconds": -1}, "stabilizationWindowSeconds: Invalid value: -1: must be greater than or"),
        ({"stabilizationWindowSeconds": 3601}, "stabilizationWindowSeconds: Invalid value: 3601: must be less than or"),
        ({"selectPolicy": "Odd"}, 'selectPolicy: Unsupported value: "Odd": supported values: "Disabled", "Max", "Min"'),
        ({"policies": []}, "policies: Required value: must specify at least one Policy"),
        ({"tolerance": "-1"}, 'tolerance: Invalid value: "-1": must be greater than or equal to 0'),
        (
            {"policies": [{"type": "Odd", "value": 1, "periodSeconds": 1}]},
            'policies[0].type: Unsupported value: "Odd": supported values: "Percent", "Pods"',
        ),
        (
            {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 1}]},
            "policies[0].value: Invalid value: 0: must be greater than zero",
        ),
        (
            {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]},
            "policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        ),
    ],
)
def test_behavior(rules: JsonObject, expected: str) -> None:
    value: JsonObject = {"spec": spec(behavior={"scaleUp": rules})}
    default_autoscaler_v2(value)
    (found,) = messages(value["spec"])
    assert found.startswith(f"spec.behavior.scaleUp.{expected}")


def test_status() -> None:
    assert [e.field for e in validate_autoscaler_status({"currentReplicas": -1, "desiredReplicas": -1})] == [
        "status.currentReplicas",
        "status.desiredReplicas",
    ]
