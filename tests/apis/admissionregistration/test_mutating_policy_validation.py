"""Tests of the validation of mutating policies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.admissionregistration.policy_validation import validate_mutating_binding, validate_mutating_policy
from polykind.contract import JsonObject

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
MATCH: JsonObject = {"resourceRules": [RULE], "matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {}}
NOTHING = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}


def policy(**spec: Any) -> JsonObject:
    given = {"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": MATCH, "mutations": [NOTHING]}
    return {"metadata": {"name": "p"}, "spec": {k: v for k, v in {**given, **spec}.items() if v is not None}}


def problems(**spec: Any) -> list[str]:
    return [str(problem) for problem in validate_mutating_policy(policy(**spec))]


def of_mutation(**mutation: Any) -> list[str]:
    return [problem.removeprefix("spec.mutations[0].") for problem in problems(mutations=[mutation])]


def test_minimal_policy_is_valid() -> None:
    assert problems() == []


def test_required_fields_are_reported_in_order() -> None:
    assert problems(failurePolicy=None, reinvocationPolicy=None, matchConstraints=None, mutations=None) == [
        "spec.failurePolicy: Required value",
        "spec.matchConstraints: Required value",
        "spec.mutations: Required value: mutations must contain at least one item",
        "spec.reinvocationPolicy: Required value",
    ]


def test_delete_operation_is_not_supported() -> None:
    match = {**MATCH, "resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    supported = 'supported values: "*", "CONNECT", "CREATE", "UPDATE"'
    where = "resourceRules.operations"
    expected = [f'spec.matchConstraints.{where}: Unsupported value: "DELETE": {supported}']
    assert problems(matchConstraints=match) == expected
    found = validate_mutating_binding({"spec": {"policyName": "p", "matchResources": match}})
    assert [str(one) for one in found] == [f'spec.matchResources.{where}: Unsupported value: "DELETE": {supported}']


@pytest.mark.parametrize(
    ("mutation", "expected"),
    [
        ({"patchType": ""}, ["patchType: Required value"]),
        (
            {"patchType": "Foo"},
            ['patchType: Unsupported value: "Foo": supported values: "ApplyConfiguration", "JSONPatch"'],
        ),
        ({"patchType": "JSONPatch"}, ["jsonPatch: Required value: must be specified when patchType is JSONPatch"]),
        (
            {"patchType": "ApplyConfiguration", "jsonPatch": {}},
            [
                "applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
                'jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
            ],
        ),
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": " "}}, ["jsonPatch.expression: Required value"]),
        (
            {"patchType": "JSONPatch", "jsonPatch": {"expression": " [] "}},
            ['jsonPatch.expression: Invalid value: "[]": must evaluate to list(JSONPatch) but got list(dyn)'],
        ),
        (
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object.spec{}"}},
            [
                'applyConfiguration.expression: Invalid value: "Object.spec{}": '
                "must evaluate to Object but got Object.spec"
            ],
        ),
    ],
)
def test_mutation_errors(mutation: JsonObject, expected: list[str]) -> None:
    assert of_mutation(**mutation) == expected


def test_variables_are_declared_even_if_there_are_none() -> None:
    (found,) = of_mutation(patchType="JSONPatch", jsonPatch={"expression": "variables.x"})
    assert "undefined field 'x'" in found


def test_variables_cannot_construct_patches() -> None:
    (found,) = problems(variables=[{"name": "v", "expression": "Object{}"}])
    assert "undeclared reference to 'Object'" in found


def test_unchanged_match_conditions_are_not_validated_again() -> None:
    bad = policy(matchConditions=[{"name": "c", "expression": "1"}])
    assert validate_mutating_policy(bad)
    assert validate_mutating_policy(bad, bad) == []


def test_binding_errors() -> None:
    assert [str(one) for one in validate_mutating_binding({"spec": {}})] == ["spec.policyName: Required value"]
