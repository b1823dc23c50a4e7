from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.batch.types import JOB
from polykind.contract import JsonObject
from tests.support.strategies import UID, StrategyRun, merged

JOBS = StrategyRun(JOB)
TEMPLATE: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
LABELS = {
    "controller-uid": UID,
    "batch.kubernetes.io/controller-uid": UID,
    "job-name": "a",
    "batch.kubernetes.io/job-name": "a",
}
INDEXED: JsonObject = {"completionMode": "Indexed", "completions": 3}
NOT_NEGATIVE = "must be greater than or equal to 0"


def spec(**fields: Any) -> JsonObject:
    return {"spec": merged({"template": TEMPLATE}, fields)}


def test_selector_and_labels_are_generated() -> None:
    stored = JOBS.created(spec())
    assert stored["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert stored["spec"]["template"]["metadata"]["labels"] == LABELS
    assert stored["metadata"]["labels"] == LABELS


def test_labels_of_the_template_are_the_default_of_the_job() -> None:
    labelled = spec(template={"metadata": {"labels": {"x": "y"}}})
    assert JOBS.created(labelled)["metadata"]["labels"] == {"x": "y", **LABELS}
    own = JOBS.created({**labelled, "metadata": {"labels": {"own": "1"}}})
    assert own["metadata"]["labels"] == {"own": "1"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6}),
        ({"parallelism": 2}, {"completions": None, "parallelism": 2}),
        ({"completions": 2}, {"completions": 2, "parallelism": 1}),
        ({**INDEXED, "backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
    ],
)
def test_defaults(fields: JsonObject, expected: JsonObject) -> None:
    stored = JOBS.created(spec(**fields))["spec"]
    assert {name: stored.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True},
            ["spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"],
        ),
        ({"manualSelector": True}, ["spec.selector: Required value", "spec.template.metadata.labels: Invalid value"]),
        (
            {"template": {"metadata": {"labels": {"job-name": "b"}}}},
            ["spec.template.metadata.labels[job-name]: Invalid value: {"],
        ),
        (
            {"template": {"spec": {"restartPolicy": "Always"}}},
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        ({"parallelism": -1}, [f"spec.parallelism: Invalid value: -1: {NOT_NEGATIVE}"]),
        (
            {"completionMode": "Indexed", "parallelism": 1},
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            {**INDEXED, "parallelism": 100_001},
            [
                "spec.parallelism: Invalid value: 100001: "
                "must be less than or equal to 100000 when completion mode is Indexed"
            ],
        ),
        ({**INDEXED, "maxFailedIndexes": 2}, ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is"]),
        (
            {**INDEXED, "maxFailedIndexes": 4, "backoffLimitPerIndex": 1},
            ["spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions"],
        ),
        (
            {**INDEXED, "completions": 200_000, "parallelism": 20_000, "backoffLimitPerIndex": 1},
            [
                "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
                "spec.parallelism: Invalid value: 20000: must be less than or equal to 10000 when completions are "
                "above 100000 and used with backoff limit per index",
            ],
        ),
        (
            {"backoffLimitPerIndex": 1},
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        (
            {"successPolicy": {"rules": [{"succeededCount": 1}]}},
            [
                'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: '
                "requires indexed completion mode"
            ],
        ),
        (
            {
                "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]},
                "template": {"spec": {"restartPolicy": "OnFailure"}},
            },
            [
                'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
                'only "Never" is supported when podFailurePolicy is specified'
            ],
        ),
        ({"managedBy": "example.com/controller"}, []),
        (
            {"managedBy": "controller"},
            ['spec.managedBy: Invalid value: "controller": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        ({"managedBy": "example.com/" + "x" * 60}, ["spec.managedBy: Too long: may not be more than 63 bytes"]),
        ({"managedBy": "example.com/a b"}, ['spec.managedBy: Invalid value: "a b": Invalid path (regex used for']),
    ],
)
def test_new_job(fields: JsonObject, expected: list[str]) -> None:
    found = JOBS.create_errors(spec(**fields))
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


def test_host_names_of_indexed_pods_are_labels() -> None:
    job = {**spec(**INDEXED), "metadata": {"name": "x" * 62}}
    (error,) = JOBS.create_errors(job)
    assert error.endswith(f": will not able to create pod with invalid DNS label: {'x' * 62}-2")


@pytest.mark.parametrize(
    ("fields", "change", "expected"),
    [
        ({}, {"parallelism": 3, "suspend": True, "backoffLimit": 1, "ttlSecondsAfterFinished": 1}, []),
        ({}, {"completions": 2}, ["spec.completions: Invalid value: 2: field is immutable"]),
        ({}, {"completionMode": "Indexed"}, ['spec.completionMode: Invalid value: "Indexed": field is immutable']),
        ({}, {"managedBy": "a.b/c"}, ['spec.managedBy: Invalid value: "a.b/c": field is immutable']),
        ({}, {"template": {"spec": {"nodeSelector": {"a": "b"}}}}, ['spec.template: Invalid value: {"labels":{']),
        (INDEXED, {"completions": 4, "parallelism": 4}, []),
        (
            INDEXED,
            {"completions": 4},
            ["spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"],
        ),
    ],
)
def test_update(fields: JsonObject, change: JsonObject, expected: list[str]) -> None:
    found = JOBS.update_errors(JOBS.created(spec(**fields)), {"spec": change})
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


SCHEDULING: list[JsonObject] = [
    {"metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}}},
    {"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}]}},
    {"spec": {"affinity": {"nodeAffinity": {}}}},
    {"spec": {"schedulingGates": [{"name": "a.b/c"}]}},
    {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}},
]


@pytest.mark.parametrize("change", SCHEDULING)
def test_template_of_a_suspended_job_can_change(change: JsonObject) -> None:
    stored = JOBS.created(spec(suspend=True))
    assert JOBS.update_errors(stored, {"spec": {"template": change}}) == []
    started = {**stored, "status": {"startTime": "2024-01-01T00:00:00Z"}}
    assert JOBS.update_errors(started, {"spec": {"template": change}})
    marked = merged(started, {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}})
    assert JOBS.update_errors(marked, {"spec": {"template": change}}) == []
    assert JOBS.update_errors(merged(marked, {"status": {"active": 1}}), {"spec": {"template": change}})


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"containers": [{"name": "c", "image": "other"}]}},
        {"spec": {"containers": [{"name": "d", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}},
        {"spec": {"affinity": {"podAffinity": {}}}},
        {"spec": {"hostname": "h"}},
    ],
)
def test_other_fields_of_a_suspended_job_stay(change: JsonObject) -> None:
    (error,) = JOBS.update_errors(JOBS.created(spec(suspend=True)), {"spec": {"template": change}})
    assert error.startswith('spec.template.spec: Invalid value: {"Volumes":null,')
    assert error.endswith(": field is immutable")


def test_node_affinity_can_be_removed() -> None:
    affinity: JsonObject = {"spec": {"affinity": {"nodeAffinity": {}}}}
    stored = JOBS.created(spec(suspend=True, template=affinity))
    assert JOBS.update_errors(stored, {"spec": {"template": {"spec": {"affinity": None}}}}) == []


def test_large_indexed_job_causes_a_warning() -> None:
    stored = JOBS.created(spec(completionMode="Indexed", completions=100_001, parallelism=10_001))
    (warning,) = JOBS.strategy.warnings(stored, None)
    assert warning.startswith("spec: In Indexed Jobs with a number of completions higher than 10^5")
