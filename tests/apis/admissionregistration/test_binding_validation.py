"""Tests of the validation of policy bindings."""

from __future__ import annotations

import pytest

from polykind.apis.admissionregistration.policy_validation import validate_binding
from polykind.contract import JsonObject
from tests.admission.support import binding

_EXCLUSIVE = "Forbidden: name and selector are mutually exclusive"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"policyName": ""}, ["spec.policyName: Required value"]),
        (
            {"validationActions": []},
            ["spec.validationActions: Required value: at least one validation action is required"],
        ),
        (
            {"validationActions": ["Shout", "Shout"]},
            [
                'spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
                'spec.validationActions[1]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
                'spec.validationActions[1]: Duplicate value: "Shout"',
            ],
        ),
        (
            {"validationActions": ["Deny", "Warn"]},
            [
                'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn '
                "(repeating the same validation failure information in the API response and headers serves no purpose)"
            ],
        ),
        (
            {"paramRef": {}},
            [
                "spec.paramRef: Required value: one of name or selector must be specified",
                "spec.paramRef.parameterNotFoundAction: Required value",
            ],
        ),
        (
            {"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "Shrug"}},
            [
                f"spec.paramRef.name: {_EXCLUSIVE}",
                f"spec.paramRef.selector: {_EXCLUSIVE}",
                'spec.paramRef.parameterNotFoundAction: Unsupported value: "Shrug": supported values: "Deny", "Allow"',
            ],
        ),
        (
            {"paramRef": {"name": "a/b", "parameterNotFoundAction": "Deny"}},
            ["spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'"],
        ),
        (
            {"matchResources": {"matchPolicy": "Rough", "namespaceSelector": {}}},
            [
                'spec.matchResources.matchPolicy: Unsupported value: "Rough": supported values: "Equivalent", "Exact"',
                "spec.matchResources.objectSelector: Required value",
            ],
        ),
    ],
)
def test_binding_errors(spec: JsonObject, expected: list[str]) -> None:
    assert [str(found) for found in validate_binding(binding(**spec))] == expected
