"""What is said of a migration, step by step."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.migration import state

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def condition(type_: str, status: str, reason: str, message: str, time: str = NOW) -> JsonObject:
    return {"type": type_, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}


RUNS = condition("Running", "True", "MigrationRunning", "The migration is running")
DONE = condition("Running", "False", "MigrationCompleted", "Migration completed", LATER)


def test_one_that_begins_runs_from_a_revision_on() -> None:
    assert state.begun({}, NOW) == {"conditions": [RUNS]}
    assert state.begun({}, NOW, 5) == {"conditions": [RUNS], "resourceVersion": "5"}


def test_one_that_goes_on_keeps_what_was_said() -> None:
    begun = state.begun({}, NOW, 5)
    assert state.begun(begun, LATER, 9) == begun


def test_one_that_succeeds_runs_no_more() -> None:
    ended = state.succeeded(state.begun({}, NOW), LATER)
    fine = condition("Succeeded", "True", "StorageVersionMigrationSucceeded", "", LATER)
    assert ended == {"conditions": [DONE, fine]}
    assert state.ended(ended)


def test_one_that_fails_says_why() -> None:
    ended = state.failed(state.begun({}, NOW), "so it goes", LATER)
    assert ended["conditions"][1] == condition("Failed", "True", "StorageVersionMigrationFailed", "so it goes", LATER)
    assert state.ended(ended)


def test_one_that_never_ran_need_not_stop() -> None:
    assert state.completed({}, NOW) == {}


def test_other_conditions_stay_where_they_are() -> None:
    other = condition("Watched", "True", "R", "")
    assert state.begun({"conditions": [other]}, NOW) == {"conditions": [other, RUNS]}


def test_a_definition_is_as_it_was_while_its_generation_is() -> None:
    crd: JsonObject = {"metadata": {"generation": 3}, "status": {}}
    assert not state.same_generation(crd)
    crd["status"] = {"conditions": [state.running_condition("m", 3, NOW)]}
    assert state.same_generation(crd)
    crd["metadata"]["generation"] = 4
    assert not state.same_generation(crd)
