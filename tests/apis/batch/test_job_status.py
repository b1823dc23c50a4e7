from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.batch.types import JOB
from polykind.contract import JsonObject
from tests.support.strategies import StrategyRun, merged

JOBS = StrategyRun(JOB)
TEMPLATE: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
PLAIN = JOBS.created({"spec": {"template": TEMPLATE}})
INDEXED = JOBS.created(
    {"spec": {"template": TEMPLATE, "completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}}
)
START, END = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


def conditions(*types: str) -> list[JsonObject]:
    return [{"type": type_, "status": "True"} for type_ in types]


DONE: JsonObject = {
    "conditions": conditions("SuccessCriteriaMet", "Complete"),
    "startTime": START,
    "completionTime": END,
    "succeeded": 1,
}
FAILED: JsonObject = {"conditions": conditions("FailureTarget", "Failed"), "startTime": START, "failed": 1}


def messages(old_status: JsonObject, change: JsonObject, job: JsonObject = PLAIN) -> list[str]:
    return [text.removeprefix("status.") for text in JOBS.status_errors({**job, "status": old_status}, change)]


@pytest.mark.parametrize(
    ("old", "change"),
    [
        ({}, {"active": 2, "ready": 1, "startTime": START}),
        ({"startTime": START}, DONE),
        ({"startTime": START}, FAILED),
        (DONE, {"observedGeneration": None}),
        ({"succeeded": 1, "conditions": conditions("Complete")}, {"terminating": 0}),
    ],
)
def test_valid_transitions(old: JsonObject, change: JsonObject) -> None:
    assert messages(old, change) == []


@pytest.mark.parametrize(
    ("old", "change", "expected"),
    [
        ({}, {"active": -1}, ["active: Invalid value: -1: must be greater than or equal to 0"]),
        ({}, {"ready": 1}, ["ready: Invalid value: 1: cannot set more ready pods than active"]),
        (
            {},
            {"uncountedTerminatedPods": {"succeeded": ["u", ""], "failed": ["u"]}},
            [
                'uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
                'uncountedTerminatedPods.failed[0]: Duplicate value: "u"',
            ],
        ),
        (
            {},
            {"conditions": conditions("Complete"), "startTime": START},
            [
                "completionTime: Required value: completionTime is required for Complete jobs",
                "conditions: Invalid value: cannot set Complete=True condition without the "
                "SuccessCriteriaMet=true condition",
            ],
        ),
        (
            {},
            {"completionTime": END},
            [f'completionTime: Invalid value: "{END}": cannot set completionTime when there is no Complete=True'],
        ),
        (
            {},
            {**DONE, "startTime": END, "completionTime": START},
            [f'completionTime: Invalid value: "{START}": must be equal to or after `startTime`'],
        ),
        (
            {},
            {**FAILED, "conditions": conditions("Failed")},
            ["conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition"],
        ),
        (
            {},
            {**DONE, "startTime": None, "active": 1, "terminating": 1},
            [
                "active: Invalid value: 1: active>0 is invalid for finished job",
                "startTime: Required value: startTime is required for finished job",
                "terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            ],
        ),
        (
            {},
            {**DONE, "uncountedTerminatedPods": {"failed": ["u"]}},
            [
                'uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["u"]}: '
                "must be empty for finished job"
            ],
        ),
        (
            {},
            {"completedIndexes": "0"},
            ['completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed'],
        ),
        (
            {},
            {"failedIndexes": "0"},
            ['failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when backoffLimitPerIndex is null'],
        ),
        (
            {},
            {"conditions": conditions("SuccessCriteriaMet", "FailureTarget")},
            ["conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"],
        ),
        (FAILED, {"failed": 0}, ["failed: Invalid value: 0: cannot decrease the failed counter"]),
        (DONE, {"succeeded": 0}, ["succeeded: Invalid value: 0: cannot decrease the succeeded counter"]),
        (
            FAILED,
            {"conditions": conditions("FailureTarget")},
            ["conditions: Invalid value: cannot disable the terminal Failed=True condition"],
        ),
        (
            DONE,
            {"completionTime": "2024-01-03T00:00:00Z"},
            ['completionTime: Invalid value: "2024-01-03T00:00:00Z": field is immutable'],
        ),
        (
            {"startTime": START},
            {"startTime": END},
            [f'startTime: Invalid value: "{END}": field is immutable for unsuspended job once set'],
        ),
        (
            {"conditions": conditions("SuccessCriteriaMet")},
            {"conditions": None},
            ["conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"],
        ),
    ],
)
def test_invalid_transitions(old: JsonObject, change: JsonObject, expected: list[str]) -> None:
    found = messages(old, change)
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"completedIndexes": "0-2", "failedIndexes": "3"}, []),
        (
            {"completedIndexes": "9"},
            ['completedIndexes: Invalid value: "9": error parsing completedIndexes: too large'],
        ),
        ({"failedIndexes": "x"}, ['failedIndexes: Invalid value: "x": error parsing failedIndexes: cannot convert']),
        (
            {"completedIndexes": "0-2", "failedIndexes": "2"},
            ['failedIndexes: Invalid value: "2": failedIndexes and completedIndexes overlap at index: 2'],
        ),
    ],
)
def test_indexes(change: JsonObject, expected: list[str]) -> None:
    found = messages({}, change, INDEXED)
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


def test_rules_do_not_apply_to_unchanged_fields() -> None:
    broken: JsonObject = {"conditions": conditions("Complete"), "ready": 3, "completedIndexes": "9"}
    assert messages(broken, {"observedGeneration": None}) == []


def test_start_time_can_change_when_a_job_is_resumed() -> None:
    old = {"startTime": START, "conditions": conditions("Suspended")}
    resumed: dict[str, Any] = {"startTime": END, "conditions": [{"type": "Suspended", "status": "False"}]}
    assert messages(old, resumed) == []
    suspended = merged(PLAIN, {"spec": {"suspend": True}})
    assert messages({"startTime": START}, {"startTime": None}, suspended) == []
