"""Which migration of a resource comes next."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.migration import state
from polykind.migration.order import GroupResource, following, resource_of, unfinished

NOW = "2026-01-01T00:00:00Z"


def migration(name: str, minute: int = 0, status: JsonObject | None = None) -> JsonObject:
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:{minute:02}:00Z"},
        "spec": {"resource": {"group": "example.com", "resource": "widgets"}},
        "status": status or {},
    }


RUNNING = state.begun({}, NOW)
OVER = state.succeeded(RUNNING, NOW)
LEFT = {"conditions": [*RUNNING["conditions"], *OVER["conditions"][1:]]}
"""Of one that is over and still said to run."""


def test_the_oldest_comes_first_and_names_decide_among_equals() -> None:
    found = following([migration("c", 1), migration("b"), migration("a", 2), migration("aa")])
    assert found == migration("aa")


def test_what_runs_comes_before_what_waits() -> None:
    found = following([migration("a"), migration("b", 1, RUNNING)])
    assert found == migration("b", 1, RUNNING)


def test_what_is_over_but_said_to_run_comes_before_all() -> None:
    found = following([migration("a", 0, RUNNING), migration("b", 1, LEFT)])
    assert found == migration("b", 1, LEFT)


def test_what_is_over_is_not_done_again() -> None:
    assert not unfinished(migration("a", 0, OVER))
    assert following([migration("a", 0, OVER)]) is None


def test_resources_are_named_as_their_definitions_are() -> None:
    assert str(resource_of(migration("a"))) == "widgets.example.com"
    assert str(GroupResource("", "namespaces")) == "namespaces"
