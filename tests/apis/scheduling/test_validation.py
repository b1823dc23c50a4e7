"""Validation of PriorityClasses, with kube-apiserver's messages."""

from __future__ import annotations

import pytest

from polykind.apis.scheduling.validation import validate_priority_class, validate_priority_class_update
from polykind.contract import JsonObject
from tests.support.objects import texts

_RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
)
_TOO_HIGH = "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("a", {"value": 1_000_000_000}, None),
        ("a", {"value": 1_000_000_001}, _TOO_HIGH),
        ("system-node-critical", {"value": 2_000_001_000}, None),
        (
            "system-node-critical",
            {"value": 1},
            f"{_RESERVED}value of system-node-critical PriorityClass must be 2000001000",
        ),
        (
            "system-cluster-critical",
            {"value": 2_000_000_000, "globalDefault": True},
            f"{_RESERVED}globalDefault of system-cluster-critical PriorityClass must be false",
        ),
        ("system-x", {"value": 1}, f"{_RESERVED}system-x is not a known system priority class"),
        ("a", {"preemptionPolicy": ""}, "preemptionPolicy: Required value"),
        (
            "a",
            {"preemptionPolicy": "X"},
            'preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
        ),
    ],
)
def test_priority_classes(name: str, fields: JsonObject, message: str | None) -> None:
    found = texts(validate_priority_class({"metadata": {"name": name}, **fields}))
    assert found == ([message] if message else [])


def test_value_and_preemption_policy_are_immutable() -> None:
    new, old = {"value": 1, "preemptionPolicy": "Never"}, {"value": 2, "preemptionPolicy": "PreemptLowerPriority"}
    assert texts(validate_priority_class_update(new, old)) == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]
