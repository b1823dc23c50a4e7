from __future__ import annotations

from polykind.crd import conditions
from polykind.crd.conditions import condition
from tests.crd.build import LATER, NOW


def test_transition_time_changes_only_with_status() -> None:
    status = conditions.set_condition({"storedVersions": ["v1"]}, condition("A", "True", "r", "m"), NOW)
    again = conditions.set_condition(status, condition("A", "True", "other", "words"), LATER)
    assert again["conditions"] == [
        {"type": "A", "status": "True", "lastTransitionTime": NOW, "reason": "other", "message": "words"}
    ]
    turned = conditions.set_condition(again, condition("A", "False", "r", "m"), LATER)
    assert turned["conditions"][0]["lastTransitionTime"] == LATER
    assert status["conditions"][0]["reason"] == "r"
    assert turned["storedVersions"] == ["v1"]


def test_condition_without_time_gets_one() -> None:
    status = {"conditions": [condition("A", "True", "", "")]}
    assert (
        conditions.set_condition(status, condition("A", "True", "", ""), LATER)["conditions"][0]["lastTransitionTime"]
        == LATER
    )


def test_observed_generation_is_kept() -> None:
    status = {"conditions": [{**condition("A", "True", "", ""), "observedGeneration": 3}]}
    assert (
        conditions.set_condition(status, condition("A", "False", "r", "m"), NOW)["conditions"][0]["observedGeneration"]
        == 3
    )


def test_find_and_remove() -> None:
    status = conditions.set_condition(
        conditions.set_condition({}, condition("A", "True", "", ""), NOW), condition("B", "False", "", ""), NOW
    )
    assert conditions.is_true({"status": status}, "A")
    assert not conditions.is_true({"status": status}, "B")
    assert not conditions.is_true({"status": {"conditions": None}}, "A")
    assert conditions.find_condition(conditions.remove_condition(status, "A"), "A") is None
    assert conditions.find_condition(conditions.remove_condition(status, "A"), "B") is not None


def test_equivalence_ignores_times() -> None:
    one = condition("A", "True", "r", "m")
    assert conditions.equivalent(one, {**one, "lastTransitionTime": NOW})
    assert not conditions.equivalent(one, None)
    assert conditions.equivalent(None, None)
