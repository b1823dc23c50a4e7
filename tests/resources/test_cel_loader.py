"""Which schemas have rules that objects are held to."""

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


def test_the_rules_of_a_schema() -> None:
    rules = rules_of(_RULED)
    assert rules is not None
    broken, _ = rules.validate({"spec": {"replicas": 7}}, None)
    assert [str(error) for error in broken] == ["spec: Invalid value: too many"]


@pytest.mark.parametrize("openapi", [None, {}, {"type": "object", "properties": {"spec": {"type": "object"}}}])
def test_most_schemas_have_none(openapi: JsonObject | None) -> None:
    assert rules_of(openapi) is None


@pytest.mark.parametrize("legacy", [{"$ref": "#/definitions/a"}, {"definitions": {"a": {}}}, {"items": [{}]}])
def test_the_rules_of_a_schema_that_is_not_structural_are_not_run(legacy: JsonObject) -> None:
    """Such a schema can only be in the store since old times; the reference passes its rules over."""
    assert rules_of(_RULED | legacy) is None
    assert rules_of({"type": "object", "properties": {"spec": _RULED | legacy}}) is None
