"""The CEL rules of schemas."""

from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from polykind.resources.cel_loader import rules_of

_RULED: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"replicas": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.replicas < 5", "message": "too many"}],
        }
    },
}


def test_schema_rules_are_compiled() -> None:
    rules = rules_of(_RULED)
    assert rules is not None
    broken, _ = rules.validate({"spec": {"replicas": 7}}, None)
    assert [str(error) for error in broken] == ["spec: Invalid value: too many"]


@pytest.mark.parametrize("openapi", [None, {}, {"type": "object", "properties": {"spec": {"type": "object"}}}])
def test_schema_without_rules_returns_none(openapi: JsonObject | None) -> None:
    assert rules_of(openapi) is None


@pytest.mark.parametrize("legacy", [{"$ref": "#/definitions/a"}, {"definitions": {"a": {}}}, {"items": [{}]}])
def test_rules_of_a_non_structural_schema_are_ignored(legacy: JsonObject) -> None:
    """Only an old CRD can have this schema in the store; kube-apiserver ignores its rules."""
    assert rules_of(_RULED | legacy) is None
    assert rules_of({"type": "object", "properties": {"spec": _RULED | legacy}}) is None
