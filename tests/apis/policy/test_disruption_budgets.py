from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.apis.policy.types import POD_DISRUPTION_BUDGET
from polykind.apis.policy.validation import validate_disruption_budget_spec, validate_disruption_budget_status
from polykind.contract import JsonObject
from polykind.strategies.policy.strategy import PodDisruptionBudgetStrategy
from tests.support.live import Live, live

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
RESERVED = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 0}, []),
        ({"maxUnavailable": "100%"}, []),
        (
            {"minAvailable": 1, "maxUnavailable": "5%"},
            [
                'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%",'
                '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
            ],
        ),
        ({"minAvailable": "101%"}, ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%']),
        (
            {"unhealthyPodEvictionPolicy": "Never"},
            [
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": '
                'supported values: "AlwaysAllow", "IfHealthyBudget"'
            ],
        ),
    ],
)
def test_spec(spec: JsonObject, expected: list[str]) -> None:
    assert [str(error) for error in validate_disruption_budget_spec(spec, None)] == expected


def test_label_values_that_were_invalid_before_may_stay() -> None:
    spec = {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid!"]}]}}
    assert validate_disruption_budget_spec(spec, None)
    assert not validate_disruption_budget_spec(spec, spec)


def test_status() -> None:
    assert [e.field for e in validate_disruption_budget_status({"expectedPods": -1, "currentHealthy": -1})] == [
        "status.currentHealthy",
        "status.expectedPods",
    ]


@pytest.mark.parametrize(
    ("expressions", "kept"),
    [
        ([{"key": RESERVED, "operator": "Exists"}], [{"key": RESERVED, "operator": "Exists"}]),
        ([{"key": RESERVED, "operator": "DoesNotExist"}], None),
        (
            [{"key": RESERVED, "operator": "Exists"}, {"key": "a", "operator": "Exists"}],
            [{"key": "a", "operator": "Exists"}],
        ),
    ],
)
def test_reserved_label(expressions: list[JsonObject], kept: Any) -> None:
    budget: JsonObject = {"metadata": {}, "spec": {"selector": {"matchExpressions": expressions}}}
    PodDisruptionBudgetStrategy(POD_DISRUPTION_BUDGET).default(budget)
    assert budget["spec"]["selector"].get("matchExpressions") == kept


async def test_generation_and_names(running: Live) -> None:
    budget: JsonObject = {"metadata": {"name": "a b"}, "spec": {"minAvailable": 1}}
    created = await running.ask("POST", BUDGETS, budget)
    assert created["metadata"]["generation"] == 1
    assert created["status"] == {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}


async def test_apply_without_changes_keeps_the_status(running: Live) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a"},
        "spec": {"minAvailable": 1},
    }
    apply = f"{BUDGETS}/a?fieldManager=m"
    await running.ask("PATCH", apply, budget, kind="application/apply-patch+yaml")
    status = {"status": {"currentHealthy": 3}}
    stored = await running.ask("PATCH", f"{BUDGETS}/a/status", status, kind="application/merge-patch+json")
    assert await running.ask("PATCH", apply, budget, kind="application/apply-patch+yaml") == stored
