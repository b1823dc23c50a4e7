"""Validation of the values that a scale subresource reads."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.schema.scale_validation import validate_scale

Json = dict[str, Any]
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({}, []),
        ({"spec": {"replicas": 3}, "status": {"replicas": 0, "selector": "a=b"}}, []),
        ({"spec": {"replicas": -1}}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]),
        (
            {"spec": {"replicas": 2**31}},
            [".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
        ),
        (
            {"spec": {"replicas": "3"}},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: "
                "3 is of the type string, expected int64"
            ],
        ),
        (
            {"spec": [1]},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: [1] is of the type []interface {}, "
                "expected map[string]interface{}"
            ],
        ),
        (
            {"status": {"selector": 5}},
            [
                '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, '
                "expected string"
            ],
        ),
    ],
)
def test_update(obj: Json, expected: list[str]) -> None:
    assert [str(error) for error in validate_scale(obj, SCALE)] == expected


def test_status_update_does_not_validate_spec() -> None:
    assert validate_scale({"spec": {"replicas": -1}}, SCALE, status=True) == []
    assert validate_scale({}, None) == []
