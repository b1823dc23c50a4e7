"""Tests of the validation and the defaults of webhook configurations."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.admissionregistration.defaults import default_mutating_webhooks, default_validating_webhooks
from polykind.apis.admissionregistration.validation import validate_webhooks
from polykind.contract import JsonObject


def webhook(**more: Any) -> JsonObject:
    given: JsonObject = {
        "name": "a.b.c",
        "clientConfig": {"url": "https://h/x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {**given, **more}


def said(*webhooks: JsonObject, old: list[JsonObject] | None = None) -> list[str]:
    return [str(problem) for problem in validate_webhooks(webhooks, old)]


def test_defaults_are_set() -> None:
    rule = {"operations": ["*"]}
    filled = webhook(rules=[rule], clientConfig={"service": {"namespace": "n", "name": "s"}})
    default_mutating_webhooks({"webhooks": [filled]})
    assert {k: v for k, v in filled.items() if k not in ("name", "sideEffects", "admissionReviewVersions")} == {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
        "reinvocationPolicy": "Never",
        "rules": [{"operations": ["*"], "scope": "*"}],
        "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}},
    }
    plain = webhook()
    default_validating_webhooks({"webhooks": [plain]})
    assert "reinvocationPolicy" not in plain


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({}, []),
        ({"name": ""}, ["webhooks[0].name: Required value"]),
        (
            {"name": "a.b"},
            [
                'webhooks[0].name: Invalid value: "a.b": '
                "should be a domain with at least three segments separated by dots"
            ],
        ),
        ({"sideEffects": None}, ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"]),
        (
            {"sideEffects": "Some"},
            ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
        ),
        (
            {"timeoutSeconds": 31},
            ["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
        ),
        (
            {"failurePolicy": "x", "matchPolicy": "y", "reinvocationPolicy": "z"},
            [
                'webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
                'webhooks[0].matchPolicy: Unsupported value: "y": supported values: "Equivalent", "Exact"',
                'webhooks[0].reinvocationPolicy: Unsupported value: "z": supported values: "IfNeeded", "Never"',
            ],
        ),
        (
            {"clientConfig": {}},
            ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            {"admissionReviewVersions": []},
            ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
        ),
        (
            {"admissionReviewVersions": ["v2", "v2"]},
            [
                'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
                'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: '
                "must include at least one of v1, v1beta1",
            ],
        ),
        (
            {
                "rules": [
                    {"operations": ["MAKE"], "apiGroups": ["*", "x"], "apiVersions": [""], "resources": ["a", "*"]}
                ]
            },
            [
                'webhooks[0].rules[0].operations[0]: Unsupported value: "MAKE": '
                'supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
                "webhooks[0].rules[0].apiGroups: Invalid value: "
                '["*","x"]: if \'*\' is present, must not specify other API groups',
                "webhooks[0].rules[0].apiVersions[0]: Required value",
            ],
        ),
        (
            {
                "rules": [
                    {
                        "operations": ["*"],
                        "apiGroups": [""],
                        "apiVersions": ["*"],
                        "resources": ["a/*", "a/b", "*/s", "c/s", "*/*"],
                        "scope": "Wide",
                    }
                ]
            },
            [
                "webhooks[0].rules[0].resources[1]: Invalid value: \"a/b\": if 'a/*' is present, must not specify a/b",
                "webhooks[0].rules[0].resources[3]: Invalid value: \"c/s\": if '*/s' is present, must not specify c/s",
                'webhooks[0].rules[0].resources: Invalid value: ["a/*","a/b","*/s","c/s","*/*"]: '
                "if '*/*' is present, must not specify other resources",
                'webhooks[0].rules[0].scope: Unsupported value: "Wide": supported values: "*", "Cluster", "Namespaced"',
            ],
        ),
    ],
)
def test_webhook_errors(more: JsonObject, wrong: list[str]) -> None:
    assert said(webhook(**more)) == wrong


def test_webhook_names_are_unique() -> None:
    assert said(webhook(), webhook()) == ['webhooks[1].name: Duplicate value: "a.b.c"']


def test_update_accepts_errors_of_the_old_object() -> None:
    old = [webhook(sideEffects="Some", admissionReviewVersions=["v9"]), webhook()]
    assert said(webhook(sideEffects="Unknown", admissionReviewVersions=["v8"]), webhook(), old=old) == []
    assert len(said(webhook(sideEffects="Unknown"), webhook(admissionReviewVersions=["v8"]), old=[webhook()])) == 3


def test_update_accepts_old_label_values_and_match_conditions() -> None:
    bad: JsonObject = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a b"]}]}
    broken = [{"name": "n", "expression": "nonsense +"}]
    old = [webhook(objectSelector=bad, matchConditions=broken)]
    assert said(*old, old=old) == []
    assert len(said(webhook(objectSelector=bad), old=[webhook()])) == 1
    assert len(said(webhook(matchConditions=broken), old=[webhook()])) == 1
