from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.batch.job_policies import (
    validate_pod_failure_policy,
    validate_pod_replacement_policy,
    validate_success_policy,
)
from polykind.contract import JsonObject

AT = "spec.podFailurePolicy.rules[0]"
CODES: JsonObject = {"operator": "In", "values": [1]}


def failures(rule: JsonObject, **spec: Any) -> list[str]:
    containers = {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}
    found = validate_pod_failure_policy(
        {"podFailurePolicy": {"rules": [rule]}, "template": {"spec": containers}, **spec}, "spec"
    )
    return [str(error) for error in found]


def codes(**fields: Any) -> JsonObject:
    return {"action": "FailJob", "onExitCodes": {**CODES, **fields}}


@pytest.mark.parametrize(
    "rule",
    [
        codes(),
        codes(containerName="first"),
        codes(operator="NotIn", values=[0, 1]),
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ],
)
def test_valid_failure_rules(rule: JsonObject) -> None:
    assert failures(rule) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            {"onExitCodes": CODES},
            f'{AT}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
        ),
        (
            {"action": "Retry", "onExitCodes": CODES},
            f'{AT}.action: Unsupported value: "Retry": supported values: "Count", "FailIndex", "FailJob", "Ignore"',
        ),
        (
            {"action": "FailIndex", "onExitCodes": CODES},
            f'{AT}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        ),
        (
            {"action": "Ignore"},
            f"{AT}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ),
        (
            {**codes(), "onPodConditions": [{"type": "Ready", "status": "True"}]},
            f"{AT}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
        ),
        (codes(operator=""), f'{AT}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]'),
        (
            codes(containerName="other"),
            f'{AT}.onExitCodes.containerName: Invalid value: "other": '
            "must be one of the container or initContainer names in the pod template",
        ),
        (codes(values=[0]), f"{AT}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"),
        (codes(values=[2, 1]), f"{AT}.onExitCodes.values: Invalid value: [2,1]: must be ordered"),
        (codes(values=[2, 2]), f"{AT}.onExitCodes.values[1]: Duplicate value: 2"),
        (codes(values=None), f"{AT}.onExitCodes.values: Invalid value: null: at least one value is required"),
        (
            codes(values=list(range(1, 300))),
            f"{AT}.onExitCodes.values: Too many: 299: must have at most 255 items",
        ),
        (
            {"action": "Ignore", "onPodConditions": [{"type": "Ready", "status": "Maybe"}]},
            f'{AT}.onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        ),
    ],
)
def test_invalid_failure_rules(rule: JsonObject, expected: str) -> None:
    assert failures(rule) == [expected]


def test_rules_that_fail_an_index_need_a_limit() -> None:
    assert failures({"action": "FailIndex", "onExitCodes": CODES}, backoffLimitPerIndex=1) == []


def successes(*rules: JsonObject) -> list[str]:
    found = validate_success_policy({"completions": 5, "successPolicy": {"rules": list(rules)}}, "spec")
    return [str(error).removeprefix("spec.successPolicy.rules") for error in found]


def test_success_rules() -> None:
    assert successes({"succeededIndexes": "0-3", "succeededCount": 4}) == []
    assert successes() == [": Required value: at least one rules must be specified when the successPolicy is specified"]
    assert successes({}) == [
        "[0]: Required value: at least one of succeededCount or succeededIndexes must be specified"
    ]
    assert successes({"succeededIndexes": "7"}) == [
        '[0].succeededIndexes: Invalid value: "7": error parsing succeededIndexes: too large index: "7"'
    ]
    assert successes({"succeededCount": 6}, {"succeededIndexes": "1", "succeededCount": 2}) == [
        "[0].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)",
        "[1].succeededCount: Invalid value: 2: must be less than or equal to 1 "
        "(the number of indexes in the specified succeededIndexes field)",
    ]
    assert successes({"succeededCount": -1}) == [
        "[0].succeededCount: Invalid value: -1: must be greater than or equal to 0"
    ]


@pytest.mark.parametrize(
    ("spec", "supported"),
    [
        ({"podReplacementPolicy": "Failed", "podFailurePolicy": {}}, None),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, None),
        ({"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {}}, '"Failed"'),
        ({"podReplacementPolicy": "Odd"}, '"Failed", "TerminatingOrFailed"'),
    ],
)
def test_replacement_policy(spec: JsonObject, supported: str | None) -> None:
    found = [error.detail for error in validate_pod_replacement_policy(spec, "spec")]
    assert found == ([] if supported is None else [f"supported values: {supported}"])
