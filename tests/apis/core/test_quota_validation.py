"""Validation of ResourceQuotas."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.quota_validation import (
    quota_warnings,
    validate_quota_spec,
    validate_quota_status,
    validate_quota_update,
)
from polykind.contract import JsonObject


def selector(*expressions: JsonObject) -> JsonObject:
    return {"matchExpressions": list(expressions)}


def scope(name: str, operator: str = "Exists", **more: Any) -> JsonObject:
    return {"scopeName": name, "operator": operator, **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hard": {"pods": "1", "requests.cpu": "500m", "count/x.example.com": "1", "hugepages-2Mi": "1Gi"}}, []),
        (
            {"hard": {"nonsense": "1"}},
            [
                'spec.hard[nonsense]: Invalid value: "nonsense": must be a standard resource type or fully qualified',
                'spec.hard[nonsense]: Invalid value: "nonsense": must be a standard resource for quota',
            ],
        ),
        ({"hard": {"pods": "1500m"}}, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
        ({"hard": {"cpu": "-1"}}, ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"scopes": ["Odd"]}, ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (
            {"scopes": ["Terminating", "NotTerminating"]},
            ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
        ),
        ({"scopeSelector": selector(scope("PriorityClass", "In", values=["a"]), scope("BestEffort"))}, []),
        (
            {"scopeSelector": selector(scope("PriorityClass", "In"))},
            [
                "spec.scopeSelector.matchExpressions.values: Required value: "
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            ],
        ),
        (
            {"scopeSelector": selector(scope("Odd", "X"))},
            [
                'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Odd": unsupported scope',
                'spec.scopeSelector.matchExpressions.operator: Invalid value: "X": not a valid selector operator',
            ],
        ),
        (
            {"hard": {"cpu": "1"}, "scopeSelector": selector(scope("BestEffort"))},
            [
                'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort",'
                '"Operator":"Exists","Values":null}]}: unsupported scope applied to resource'
            ],
        ),
    ],
)
def test_specs(spec: JsonObject, expected: list[str]) -> None:
    assert [str(error) for error in validate_quota_spec(spec)] == expected


def test_scopes_are_immutable() -> None:
    old: JsonObject = {"spec": {"scopes": ["Terminating", "BestEffort"]}}
    assert validate_quota_update({"spec": {"scopes": ["BestEffort", "Terminating"]}}, old) == []
    (error,) = validate_quota_update({"spec": {"scopes": ["BestEffort"]}}, old)
    assert str(error) == 'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'


def test_status() -> None:
    quota = {"status": {"hard": {"pods": "1"}, "used": {"pods": "-1"}}}
    assert [error.field for error in validate_quota_status(quota)] == ["status.used[pods]"]


def test_warnings() -> None:
    hard = {"requests.memory": "2Gi", "limits.memory": "1Gi", "cpu": "2", "limits.cpu": "1"}
    assert quota_warnings({"spec": {"hard": hard}}) == [
        "ResourceQuota cpu (2) should be less than limits.cpu (1)",
        "ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)",
    ]
