"""Built-in resources: lazy building, the rules of plain strategies, effects of writes and grace periods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import TypeTable
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, declare_builtins
from polykind.resources.resource import Finish
from tests.support.live import Live, live

TYPES = """
models com.example.toys

struct Lamp kind | A lamp.
    metadata  1  meta.ObjectMeta
    spec      2  LampSpec
    status    3  LampStatus

struct LampSpec
    colour  1  string
    watts   2  int32

struct LampStatus
    phase  1  string

struct Bulb kind | A bulb.
    metadata  1  meta.ObjectMeta
    spec      2  string
"""
API = GroupVersion("toys.example.com", "v1", TypeTable("v1", lambda: TYPES))
LAMPS, BULBS = ("/apis/toys.example.com/v1/namespaces/default/lamps", "/apis/toys.example.com/v1/bulbs")


class LampResource(BuiltinResource):
    """Records the effects of writes."""

    has_effects = True
    effects: ClassVar[list[str]] = []

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        obj["spec"]["colour"] = "red"
        return self._finish(f"create {obj['metadata']['name']}{' dry' if dry_run else ''}")

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        return self._finish(f"update {old['metadata']['name']}{' dry' if dry_run else ''}")

    async def after_delete(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> None:
        self.effects.append(f"delete {obj['metadata']['name']}{' dry' if dry_run else ''}")

    def _finish(self, effect: str) -> Finish:
        async def finish(stored: bool) -> None:
            self.effects.append(f"{effect}: {'done' if stored else 'undone'}")

        return finish


class LampStrategy(BuiltinStrategy):
    """Lamps stay for 30 seconds unless the delete names another grace period."""

    resource_class = LampResource
    counts_generation = True
    unconditional_update = True
    default_propagation_policy = "Orphan"
    default_policy_warning = "bulbs stay"

    def default(self, obj: JsonObject) -> None:
        obj["spec"].setdefault("watts", 60)

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        return 30 if requested is None else requested


LAMP = Kind(
    API,
    "Lamp",
    namespaced=True,
    subresources=(Subresource("status"), Subresource("fuse", ("create",))),
    strategy="tests.resources.test_builtin:LampStrategy",
)
BULB = Kind(API, "Bulb", verbs=("create", "get", "list"))


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as started:
        declare_builtins(started.server.registry, started.server.cache, [LAMP, BULB])
        LampResource.effects.clear()
        yield started


def lamp(name: str, **meta: object) -> JsonObject:
    return {"metadata": {"name": name, **meta}, "spec": {}, "status": {"phase": "on"}}


async def test_resource_is_built_at_its_first_use(running: Live) -> None:
    registry = running.server.registry
    assert "lamps" in {declared.plural for declared in registry.declared()}
    await running.ask("GET", LAMPS)
    assert "lamps" not in {declared.plural for declared in registry.declared()}
    assert registry.resource_of_kind("toys.example.com", "Lamp") is registry.resource("toys.example.com", "lamps")


async def test_plain_strategy_resets_status_and_counts_generations(running: Live) -> None:
    created = await running.ask("POST", LAMPS, lamp("a"))
    assert (created["status"], created["metadata"]["generation"]) == ({}, 1)
    changed = await running.ask("PUT", f"{LAMPS}/a", {**lamp("a"), "spec": {"watts": 5}})
    assert (changed["status"], changed["metadata"]["generation"]) == ({}, 2)
    switched = await running.ask("PUT", f"{LAMPS}/a/status", {**lamp("a"), "spec": {"watts": 7}})
    assert (switched["status"], switched["spec"]["watts"]) == ({"phase": "on"}, 5)


async def test_apply_without_changes_keeps_the_status(running: Live) -> None:
    await running.ask("POST", LAMPS, lamp("a"))
    await running.ask("PUT", f"{LAMPS}/a/status", lamp("a"))
    applied = {"apiVersion": "toys.example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "spec": {"watts": 60}}
    for _ in range(2):
        shown = await running.ask(
            "PATCH", f"{LAMPS}/a?fieldManager=x&force=true", applied, kind="application/apply-patch+yaml"
        )
        assert shown["status"] == {"phase": "on"}


async def test_declared_verbs_decide_between_404_and_405(running: Live) -> None:
    for method, path, code in (
        ("DELETE", BULBS, 405),
        ("PUT", f"{BULBS}/a", 405),
        ("GET", f"{LAMPS}/a/fuse", 405),
        ("GET", f"{LAMPS}/a/plug", 404),
        ("POST", "/apis/toys.example.com/v1/lamps", 405),
        ("GET", "/apis/toys.example.com/v1/watch/bulbs", 404),
    ):
        await running.ask(method, path, {} if method != "GET" else None, expect=code)


async def test_effects_are_completed_or_undone(running: Live) -> None:
    created = await running.ask("POST", LAMPS, lamp("a"))
    assert created["spec"] == {"colour": "red", "watts": 60}
    await running.ask("POST", LAMPS, lamp("a"), expect=409)
    await running.ask("POST", f"{LAMPS}?dryRun=All", lamp("b"))
    await running.ask("PUT", f"{LAMPS}/a", lamp("a"))
    await running.ask("PUT", f"{LAMPS}/a", lamp("a", labels={"-": "-"}), expect=422)
    await running.ask("DELETE", f"{LAMPS}/a?gracePeriodSeconds=0&propagationPolicy=Background")
    assert LampResource.effects == [
        *("create a: done", "create a: undone", "create b dry: done"),
        *("update a: done", "update a: undone", "delete a"),
    ]


async def test_grace_period_keeps_the_object_and_can_only_become_shorter(running: Live) -> None:
    await running.ask("POST", LAMPS, lamp("a"))
    grace = "propagationPolicy=Background&gracePeriodSeconds"
    first = await running.ask("DELETE", f"{LAMPS}/a?{grace}=20")
    assert (first["metadata"]["deletionGracePeriodSeconds"], first["metadata"]["generation"]) == (20, 2)
    again = await running.ask("DELETE", f"{LAMPS}/a?{grace}=25")
    assert again == first
    shorter = await running.ask("DELETE", f"{LAMPS}/a?{grace}=5")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert shorter["metadata"]["deletionTimestamp"] < first["metadata"]["deletionTimestamp"]
    assert (await running.ask("DELETE", f"{LAMPS}/a?{grace}=0"))["status"] == "Success"
    await running.ask("GET", f"{LAMPS}/a", expect=404)


async def test_default_propagation_policy_orphans(running: Live) -> None:
    await running.ask("POST", LAMPS, lamp("a"))
    deleted = await running.ask("DELETE", f"{LAMPS}/a?gracePeriodSeconds=0")
    assert deleted["metadata"]["finalizers"] == ["orphan"]
