"""Validation of FlowSchemas and PriorityLevelConfigurations, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.flowcontrol.bootstrap import flow_schemas, priority_levels
from polykind.apis.flowcontrol.defaults import default_flow_schema, default_priority_level
from polykind.apis.flowcontrol.types import FLOW_SCHEMA
from polykind.apis.flowcontrol.validation import validate_conditions, validate_flow_schema, validate_priority_level
from polykind.contract import JsonObject
from polykind.strategies.flowcontrol.strategy import FlowSchemaStrategy
from tests.support.objects import edited, texts

SCHEMA: JsonObject = {
    "metadata": {"name": "a"},
    "spec": {
        "priorityLevelConfiguration": {"name": "l"},
        "matchingPrecedence": 500,
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": "u"}}],
                "resourceRules": [{"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/healthz", "/a/*"]}],
            }
        ],
    },
}
RULE = "spec.rules[0]"
RESOURCES, PATHS = f"{RULE}.resourceRules[0]", f"{RULE}.nonResourceRules[0].nonResourceURLs"
LEVEL: JsonObject = {
    "metadata": {"name": "a"},
    "spec": {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 1,
            "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
        },
    },
}
QUEUING = "spec.limited.limitResponse.queuing"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.matchingPrecedence", 1, "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may"),
        ("spec.matchingPrecedence", 0, "spec.matchingPrecedence: Invalid value: 0: must be a positive value"),
        ("spec.matchingPrecedence", 10001, "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 1"),
        ("spec.distinguisherMethod", {"type": "X"}, 'spec.distinguisherMethod.type: Unsupported value: {"Type":"X"}: '),
        ("spec.priorityLevelConfiguration", {}, "spec.priorityLevelConfiguration.name: Required value: must reference"),
        (f"{RULE}.subjects", [], f"{RULE}.subjects: Required value: subjects must contain at least one value"),
        (f"{RULE}.subjects[0]", {"kind": "X"}, f'{RULE}.subjects[0].kind: Unsupported value: "X": supported values: "'),
        (f"{RULE}.subjects[0].group", {"name": "g"}, f"{RULE}.subjects[0].group: Forbidden: group is forbidden when s"),
        (f"{RULE}.subjects[0]", {"kind": "Group"}, f"{RULE}.subjects[0].group: Required value: group is required when"),
        (f"{RESOURCES}.verbs", ["fly"], f'{RESOURCES}.verbs: Unsupported value: ["fly"]: supported values: "create", '),
        (f"{RESOURCES}.verbs", ["*", "get"], f'{RESOURCES}.verbs: Invalid value: ["*","get"]: if \'*\' is present, '),
        (f"{RESOURCES}.apiGroups", [], f"{RESOURCES}.apiGroups: Required value: resource rules must supply at least o"),
        (f"{RESOURCES}.namespaces", [], f"{RESOURCES}.namespaces: Required value: resource rules that are not cluster"),
        (f"{RESOURCES}.namespaces", ["A"], f'{RESOURCES}.namespaces[0]: Invalid value: "A": each member of this lis'),
        (PATHS, ["a"], f'{PATHS}[0]: Invalid value: "a": must start with slash'),
        (PATHS, ["/a//b"], f'{PATHS}[0]: Invalid value: "/a//b": must not contain double slash'),
        (PATHS, ["/a*"], f'{PATHS}[0]: Invalid value: "/a*": wildcard can only do suffix matching'),
    ],
)
def test_flow_schemas(path: str, value: Any, message: str) -> None:
    assert validate_flow_schema(SCHEMA) == []
    [found] = texts(validate_flow_schema(edited(SCHEMA, (path, value))))
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.type", "", "spec.type: Required value"),
        ("spec.type", "X", 'spec.type: Unsupported value: "X": supported values: "Exempt", "Limited"'),
        ("spec.limited", None, "spec.limited: Required value: must not be empty when type is Limited"),
        ("spec.exempt", {}, "spec.exempt: Forbidden: must be nil if the type is Limited"),
        ("spec.limited.nominalConcurrencyShares", -1, "spec.limited.nominalConcurrencyShares: Invalid value: -1: must"),
        ("spec.limited.lendablePercent", 101, "spec.limited.lendablePercent: Invalid value: 101: must be between 0 an"),
        ("spec.limited.limitResponse.type", "Reject", f"{QUEUING}: Forbidden: must be nil if limited.limitResponse.ty"),
        (QUEUING, None, f"{QUEUING}: Required value: must not be empty if limited.limitResponse.type is Limited"),
        (f"{QUEUING}.queueLengthLimit", 0, f"{QUEUING}.queueLengthLimit: Invalid value: 0: must be positive"),
        (f"{QUEUING}.handSize", 65, f"{QUEUING}.handSize: Invalid value: 65: should not be greater than queues (64)"),
        (f"{QUEUING}.handSize", 11, f"{QUEUING}.handSize: Invalid value: 11: required entropy bits of deckSize 64 and"),
    ],
)
def test_priority_levels(path: str, value: Any, message: str) -> None:
    assert validate_priority_level(LEVEL) == []
    [found] = texts(validate_priority_level(edited(LEVEL, (path, value))))
    assert found.startswith(message)


def test_mandatory_objects_are_fixed_except_the_shares_of_exempt() -> None:
    for schema in flow_schemas("now"):
        assert validate_flow_schema(schema) == []
    for level in priority_levels():
        assert validate_priority_level(level) == []
    catch_all = edited(SCHEMA, ("metadata.name", "catch-all"))
    assert texts(validate_flow_schema(catch_all))[-1].endswith("spec of 'catch-all' must equal the fixed value")
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5, "lendablePercent": 10}}
    assert validate_priority_level({"metadata": {"name": "exempt"}, "spec": exempt}) == []


def test_defaults() -> None:
    schema: JsonObject = {"spec": {"matchingPrecedence": 0}}
    default_flow_schema(schema)
    assert schema["spec"] == {"matchingPrecedence": 1000}
    level: JsonObject = {"spec": {"limited": {"nominalConcurrencyShares": None, "limitResponse": {"queuing": {}}}}}
    default_priority_level(level)
    queuing = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
    limited = {"nominalConcurrencyShares": 30, "lendablePercent": 0, "limitResponse": {"queuing": queuing}}
    assert level["spec"]["limited"] == limited


def test_conditions_have_unique_types() -> None:
    conditions = [{"type": "A"}, {"type": "A"}, {}]
    assert texts(validate_conditions({"conditions": conditions})) == [
        'status.conditions[1].type: Duplicate value: "A"',
        "status.conditions[2].type: Required value",
    ]


def test_a_status_update_keeps_the_metadata() -> None:
    old: JsonObject = {"metadata": {"name": "a", "labels": {"a": "b"}, "managedFields": [1]}, "spec": {}, "status": {}}
    new: JsonObject = {
        "metadata": {"name": "a", "labels": {}, "managedFields": [2]},
        "spec": {"x": 1},
        "status": {"y": 1},
    }
    assert FlowSchemaStrategy(FLOW_SCHEMA).prepare_status(new, old) == {
        "metadata": {"name": "a", "labels": {"a": "b"}, "managedFields": [2]},
        "spec": {},
        "status": {"y": 1},
    }
