"""Conditions, order and failures of storage version migrations."""

from __future__ import annotations

from polykind.apis.meta.validation import MAX_MESSAGE
from polykind.apis.storagemigration import state
from polykind.apis.storagemigration.state import Failures, GroupResource, is_unfinished, next_migration, target
from polykind.contract import JsonObject

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def condition(type_: str, status: str, reason: str, message: str, time: str = NOW) -> JsonObject:
    return {"type": type_, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}


RUNNING_CONDITION = condition("Running", "True", "MigrationRunning", "The migration is running")
COMPLETED_CONDITION = condition("Running", "False", "MigrationCompleted", "Migration completed", LATER)


def test_begun_records_the_revision() -> None:
    assert state.begun({}, NOW) == {"conditions": [RUNNING_CONDITION]}
    assert state.begun({}, NOW, 5) == {"conditions": [RUNNING_CONDITION], "resourceVersion": "5"}


def test_begun_keeps_the_status_of_a_running_migration() -> None:
    begun = state.begun({}, NOW, 5)
    assert state.begun(begun, LATER, 9) == begun


def test_succeeded_sets_running_to_false() -> None:
    status = state.succeeded(state.begun({}, NOW), LATER)
    success = condition("Succeeded", "True", "StorageVersionMigrationSucceeded", "", LATER)
    assert status == {"conditions": [COMPLETED_CONDITION, success]}
    assert state.is_finished(status)


def test_failed_has_the_message() -> None:
    status = state.failed(state.begun({}, NOW), "so it goes", LATER)
    assert status["conditions"][1] == condition("Failed", "True", "StorageVersionMigrationFailed", "so it goes", LATER)
    assert state.is_finished(status)


def test_completed_does_not_change_a_migration_that_never_ran() -> None:
    assert state.completed({}, NOW) == {}


def test_other_conditions_keep_their_position() -> None:
    other = condition("Watched", "True", "R", "")
    assert state.begun({"conditions": [other]}, NOW) == {"conditions": [other, RUNNING_CONDITION]}


def test_same_generation_compares_with_the_condition() -> None:
    crd: JsonObject = {"metadata": {"generation": 3}, "status": {}}
    assert not state.same_generation(crd)
    crd["status"] = {"conditions": [state.running_condition("m", 3, NOW)]}
    assert state.same_generation(crd)
    crd["metadata"]["generation"] = 4
    assert not state.same_generation(crd)


# ---------------------------------------------------------------------- order


def migration(name: str, minute: int = 0, status: JsonObject | None = None) -> JsonObject:
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:{minute:02}:00Z"},
        "spec": {"resource": {"group": "example.com", "resource": "widgets"}},
        "status": status or {},
    }


RUNNING = state.begun({}, NOW)
FINISHED = state.succeeded(RUNNING, NOW)
FINISHED_BUT_RUNNING = {"conditions": [*RUNNING["conditions"], *FINISHED["conditions"][1:]]}
"""The status of a migration whose controller stopped before it set Running to False."""


def test_oldest_migration_comes_first_then_the_smallest_name() -> None:
    found = next_migration([migration("c", 1), migration("b"), migration("a", 2), migration("aa")])
    assert found == migration("aa")


def test_running_migration_comes_before_pending_ones() -> None:
    found = next_migration([migration("a"), migration("b", 1, RUNNING)])
    assert found == migration("b", 1, RUNNING)


def test_finished_migration_with_running_condition_comes_first() -> None:
    found = next_migration([migration("a", 0, RUNNING), migration("b", 1, FINISHED_BUT_RUNNING)])
    assert found == migration("b", 1, FINISHED_BUT_RUNNING)


def test_finished_migration_is_not_repeated() -> None:
    assert not is_unfinished(migration("a", 0, FINISHED))
    assert next_migration([migration("a", 0, FINISHED)]) is None


def test_group_resource_is_printed_like_a_crd_name() -> None:
    assert str(target(migration("a"))) == "widgets.example.com"
    assert str(GroupResource("", "namespaces")) == "namespaces"


# ---------------------------------------------------------------------- failures


def test_failure_message_names_objects_and_reasons() -> None:
    failures = Failures()
    failures.add("default/a", "stuck")
    assert failures.message() == (
        "migration encountered unhandled error: 1 object could not be migrated: default/a: stuck"
    )
    failures.add("default/b", "gone")
    assert failures.message() == (
        "migration encountered unhandled error: 2 objects could not be migrated: default/a: stuck; default/b: gone"
    )


def test_failure_message_names_ten_objects_and_fits_into_a_condition() -> None:
    failures = Failures()
    for number in range(1000):
        failures.add(f"{'n' * 63}/{number:0253}", "\U0001f9f1" * 20000)
    message = failures.message()
    assert message.startswith("migration encountered unhandled error: 1000 objects could not be migrated: ")
    assert message.endswith("; and 990 more")
    assert len(message.encode()) < MAX_MESSAGE


def test_lone_surrogates_are_replaced() -> None:
    failures = Failures()
    failures.add("default/a", "\ud800")
    assert failures.message().endswith(": default/a: ?")
