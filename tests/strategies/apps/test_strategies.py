"""Deployments, ReplicaSets, DaemonSets and ControllerRevisions."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.apis.apps.types import CONTROLLER_REVISION, DAEMON_SET, DEPLOYMENT, REPLICA_SET
from polykind.contract import JsonObject
from tests.support.strategies import StrategyRun, merged

SELECTOR = {"matchLabels": {"app": "a"}}
TEMPLATE: JsonObject = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPEC: JsonObject = {"selector": SELECTOR, "template": TEMPLATE}
ROLLBACK = "deprecated.deployment.rollback.to"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS = map(StrategyRun, (DEPLOYMENT, REPLICA_SET, DAEMON_SET))
REVISIONS = StrategyRun(CONTROLLER_REVISION)


def spec(**fields: Any) -> JsonObject:
    return {"spec": merged(SPEC, fields)}


@pytest.mark.parametrize(
    ("kind", "subject"), [(DEPLOYMENTS, "deployment"), (REPLICA_SETS, "deployment"), (DAEMON_SETS, "daemonset")]
)
def test_selector_must_select_the_template(kind: StrategyRun, subject: str) -> None:
    assert kind.create_errors(spec()) == []
    assert kind.create_errors(spec(selector={"matchLabels": {"app": "b"}})) == [
        'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`'
    ]
    assert kind.create_errors(spec(selector={"matchLabels": None})) == [
        f"spec.selector: Invalid value: {{}}: empty selector is invalid for {subject}"
    ]
    assert kind.create_errors(spec(template={"spec": {"restartPolicy": "Never"}})) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]
    (error,) = kind.create_errors(spec(template={"spec": {"activeDeadlineSeconds": 5}}))
    assert error.startswith("spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ")


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICA_SETS])
def test_invalid_selector_hides_errors_of_the_template(kind: StrategyRun) -> None:
    assert kind.create_errors(spec(selector={"matchLabels": {"app": "-"}}, template={"spec": {"containers": []}}))[
        1:
    ] == ['spec.selector: Invalid value: {"matchLabels":{"app":"-"}}: invalid label selector']


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS])
def test_selector_is_immutable(kind: StrategyRun) -> None:
    change = {"spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {"metadata": {"labels": {"x": "y"}}}}}
    assert kind.update_errors(kind.created(spec()), change) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"a","x":"y"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"strategy": {"type": "Recreate"}}, []),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {"strategy": {"type": "Odd"}},
            [
                'spec.strategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: '
                'supported values: "Recreate", "RollingUpdate"'
            ],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "0%", "maxSurge": 0}}},
            ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
        ),
        ({"strategy": {"rollingUpdate": {"maxSurge": "200%"}}}, []),
        (
            {"minReadySeconds": 600},
            ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        ),
        (
            {"revisionHistoryLimit": -1, "replicas": -1},
            [
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
    ],
)
def test_deployment(fields: JsonObject, expected: list[str]) -> None:
    assert DEPLOYMENTS.create_errors(spec(**fields)) == expected


@pytest.mark.parametrize(("text", "stored"), [("5", "5"), ("007", "7"), ("", None)])
def test_rollback_annotation_is_a_number(text: str, stored: str | None) -> None:
    deployment = DEPLOYMENTS.decoded({**spec(), "metadata": {"annotations": {ROLLBACK: text}}})
    assert deployment["metadata"].get("annotations") == (None if stored is None else {ROLLBACK: stored})


def test_invalid_rollback_annotations() -> None:
    with pytest.raises(errors.BadRequestError, match='parsing "x": invalid syntax'):
        DEPLOYMENTS.decoded({**spec(), "metadata": {"annotations": {ROLLBACK: "x"}}})
    assert DEPLOYMENTS.create_errors({**spec(), "metadata": {"annotations": {ROLLBACK: "-1"}}}) == [
        "spec.rollback.version: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_generation_counts_changes_of_the_spec() -> None:
    stored = DEPLOYMENTS.created(spec())
    changes: tuple[tuple[JsonObject, int], ...] = (
        ({}, 1),
        ({"metadata": {"labels": {"a": "b"}}}, 1),
        ({"status": {"replicas": 1}}, 1),
        ({"spec": {"replicas": 3}}, 2),
        ({"metadata": {"annotations": {"a": "b"}}}, 2),
    )
    for change, generation in changes:
        assert DEPLOYMENTS.updated(stored, change)["metadata"]["generation"] == generation
    assert "replicas" not in DEPLOYMENTS.updated(stored, {"status": {"replicas": 1}})["status"]


def test_status_update_of_a_deployment_keeps_spec_and_labels() -> None:
    stored = DEPLOYMENTS.created(spec())
    new = merged(stored, {"spec": {"replicas": 9}, "metadata": {"labels": {"a": "b"}}, "status": {"replicas": 1}})
    prepared = DEPLOYMENTS.strategy.prepare_status(new, stored)
    assert prepared["spec"] == stored["spec"]
    assert "labels" not in prepared["metadata"]
    assert prepared["status"] == {"replicas": 1}


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (DEPLOYMENTS, {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}, []),
        (
            DEPLOYMENTS,
            {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3},
            [
                "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            ],
        ),
        (
            REPLICA_SETS,
            {"replicas": 1, "fullyLabeledReplicas": 2},
            ["status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            DAEMON_SETS,
            {"numberReady": -1},
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_status_counters(kind: StrategyRun, status: JsonObject, expected: list[str]) -> None:
    assert kind.status_errors(kind.created(spec()), status) == expected


@pytest.mark.parametrize("kind", [DEPLOYMENTS, DAEMON_SETS])
def test_collision_count_does_not_decrease(kind: StrategyRun) -> None:
    stored = {**kind.created(spec()), "status": {"collisionCount": 2}}
    assert kind.status_errors(stored, {"collisionCount": 3}) == []
    assert kind.status_errors(stored, {"collisionCount": None}) == [
        "status.collisionCount: Invalid value: 0: cannot be decremented"
    ]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "OnDelete"}, []),
        ({"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}}, []),
        (
            {"rollingUpdate": {"maxSurge": 1}},
            [
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
                "may not be set when maxUnavailable is non-zero"
            ],
        ),
        (
            {"rollingUpdate": {"maxUnavailable": 0}},
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
        ),
        (
            {"rollingUpdate": {"maxUnavailable": "101%"}},
            ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
        ),
        (
            {"type": "Odd"},
            [
                'spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: '
                'supported values: "RollingUpdate", "OnDelete"'
            ],
        ),
    ],
)
def test_update_strategy_of_a_daemon_set(strategy: JsonObject, expected: list[str]) -> None:
    assert DAEMON_SETS.create_errors(spec(updateStrategy=strategy)) == expected


def test_template_generation_counts_changes_of_the_template() -> None:
    stored = DAEMON_SETS.created(spec())
    assert stored["metadata"]["annotations"] == {TEMPLATE_GENERATION: "1"}
    same = DAEMON_SETS.updated(stored, {"metadata": {"annotations": {TEMPLATE_GENERATION: "7"}}})
    assert same["metadata"]["annotations"] == {TEMPLATE_GENERATION: "1"}
    changed = DAEMON_SETS.updated(stored, {"spec": {"template": {"metadata": {"labels": {"x": "y"}}}}})
    assert changed["metadata"]["annotations"] == {TEMPLATE_GENERATION: "2"}
    with pytest.raises(errors.BadRequestError):
        DAEMON_SETS.decoded({**spec(), "metadata": {"annotations": {TEMPLATE_GENERATION: "x"}}})


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICA_SETS])
def test_name_that_is_no_label_causes_a_warning(kind: StrategyRun) -> None:
    (warning,) = kind.strategy.warnings(kind.created({**spec(), "metadata": {"name": "a.b"}}), None)
    assert warning == (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ({"revision": 1, "data": {"a": 1}}, []),
        (
            {"revision": -1},
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Required value: data is mandatory",
            ],
        ),
    ],
)
def test_controller_revision(revision: JsonObject, expected: list[str]) -> None:
    assert REVISIONS.create_errors(revision) == expected


def test_data_of_a_controller_revision_is_immutable() -> None:
    stored = REVISIONS.created({"revision": 1, "data": {"a": 1}})
    assert REVISIONS.update_errors(stored, {"revision": 2}) == []
    assert REVISIONS.update_errors(stored, {"data": {"a": 2}}) == ['data: Invalid value: {"a":2}: field is immutable']


@pytest.mark.parametrize(
    ("kind", "stored", "sent"),
    [
        (DAEMON_SETS, {TEMPLATE_GENERATION: "1"}, {}),
        (DAEMON_SETS, {TEMPLATE_GENERATION: "1"}, {TEMPLATE_GENERATION: "5"}),
        (DEPLOYMENTS, {ROLLBACK: "1"}, {}),
        (DEPLOYMENTS, {}, {ROLLBACK: "1"}),
    ],
)
def test_status_updates_keep_annotations_that_belong_to_the_spec(
    kind: StrategyRun, stored: JsonObject, sent: JsonObject
) -> None:
    old = kind.created({**spec(), "metadata": {"annotations": stored}})
    new = kind.decoded({**spec(), "metadata": {"annotations": {**sent, "own": "x"}}})
    assert kind.strategy.prepare_status(new, old)["metadata"]["annotations"] == {**stored, "own": "x"}
