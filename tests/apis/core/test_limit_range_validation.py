"""Validation and defaults of LimitRanges."""

from __future__ import annotations

import pytest

from polykind.apis.core.defaults import default_limit_range
from polykind.apis.core.limit_range_validation import validate_limit_range
from polykind.contract import JsonObject


def errors_of(*limits: JsonObject) -> list[str]:
    return [str(error) for error in validate_limit_range({"spec": {"limits": list(limits)}})]


def cpu(kind: str = "Container", **fields: str) -> JsonObject:
    return {"type": kind, **{field: {"cpu": value} for field, value in fields.items()}}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (cpu(min="1", defaultRequest="1", default="2", max="2", maxLimitRequestRatio="2"), []),
        (cpu(min="2", max="1"), ['min[cpu]: Invalid value: "2": min value 2 is greater than max value 1']),
        (
            cpu(min="2", default="1"),
            ['default[cpu]: Invalid value: "2": min value 2 is greater than default value 1'],
        ),
        (
            cpu(default="2", max="1"),
            ['default[cpu]: Invalid value: "1": default value 2 is greater than max value 1'],
        ),
        (
            cpu(maxLimitRequestRatio="500m"),
            ['maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
        ),
        (
            cpu(min="1", max="2", maxLimitRequestRatio="3"),
            ['maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000'],
        ),
        (cpu("Pod", default="1"), ["default: Forbidden: may not be specified when `type` is 'Pod'"]),
        (cpu("Odd"), ['type: Invalid value: "Odd": must be a standard limit type or fully qualified']),
        (cpu("example.com/odd"), []),
        (
            {"type": "PersistentVolumeClaim"},
            ["limits: Required value: either minimum or maximum storage value is required, but neither was provided"],
        ),
        (
            {"type": "Container", "max": {"storage": "1"}},
            ['max[storage]: Invalid value: "storage": must be a standard resource for containers'],
        ),
        (
            {"type": "Container", "default": {"hugepages-2Mi": "2Mi"}, "defaultRequest": {"hugepages-2Mi": "1Mi"}},
            [
                'defaultRequest[hugepages-2Mi]: Invalid value: "1Mi": '
                "default value 2Mi must equal to defaultRequest value 1Mi in hugepages-2Mi"
            ],
        ),
    ],
)
def test_limits(limit: JsonObject, expected: list[str]) -> None:
    assert errors_of(limit) == [f"spec.limits[0].{text}" for text in expected]


def test_types_are_unique() -> None:
    assert errors_of(cpu("Pod"), cpu("Pod")) == ['spec.limits[1].type: Duplicate value: "Pod"']


def test_containers_get_defaults_from_the_bounds() -> None:
    limit: JsonObject = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}}
    default_limit_range({"spec": {"limits": [limit]}})
    assert (limit["default"], limit["defaultRequest"]) == ({"cpu": "2"}, {"cpu": "2", "memory": "1Mi"})
    pod: JsonObject = {"type": "Pod", "max": {"cpu": "100u"}}
    default_limit_range({"spec": {"limits": [pod]}})
    assert pod == {"type": "Pod", "max": {"cpu": "1m"}}
