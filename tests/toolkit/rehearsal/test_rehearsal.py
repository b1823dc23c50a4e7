from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from polykind.convert import Conversions, drop, first, move
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.rehearsal.rehearsal import Rehearsal, RehearsalClient, Stage, StageResult
from tests.toolkit.crds import GROUP, crd_manifest
from tests.toolkit.declare.test_conversions import KIND

OLD = {"properties": {"host": {"type": "string"}, "port": {"type": "integer"}}}
NEW = {"properties": {"hosts": {"type": "array", "items": {"type": "string"}}, "port": {"type": "integer"}}}


def release(name: str, *versions: str, storage: str, new: dict[str, Any] | None = None) -> Stage:
    """Return a release with some versions, one of which is stored."""
    manifest = crd_manifest(OLD, new or NEW)
    for version in manifest["spec"]["versions"]:
        version["storage"] = version["name"] == storage
    manifest["spec"]["versions"] = [v for v in manifest["spec"]["versions"] if v["name"] in versions]
    return Stage(name, CRD(manifest))


ONE = release("one", "v1", storage="v1")
TWO = release("two", "v1", "v2", storage="v2")
BETWEEN = release("between", "v1", "v2", storage="v1")
THREE = release("three", "v2", storage="v2")
OBJECT = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "CronTab",
    "metadata": {"name": "one", "namespace": "team", "uid": "1", "resourceVersion": "7"},
    "spec": {"host": "a", "port": 1},
}


@pytest.fixture
def converters(monkeypatch: pytest.MonkeyPatch) -> Conversions:
    """Make conversions importable as `rehearsed:conversions`."""
    module = ModuleType("rehearsed")
    conversions = Conversions(KIND)
    module.conversions = conversions  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rehearsed", module)
    return conversions


async def walked(
    folder: Path, stages: Sequence[Stage], *, migrate: bool = True, back: bool = True
) -> list[StageResult]:
    settings = Settings(data_dir=folder, secure_port=0, converter=("rehearsed:conversions",))
    async with Server(settings) as server:
        rehearsal = Rehearsal(RehearsalClient(server), stages, [OBJECT], migrate=migrate)
        return [outcome async for outcome in rehearsal.run(back=back)]


async def test_lossless_conversions_pass_forwards_and_backwards(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    there = [ONE, TWO, THREE, TWO._replace(), BETWEEN, ONE._replace()]
    outcomes = await walked(tmp_path, there, back=False)
    assert [(o.stage.name, o.findings, o.migrated) for o in outcomes] == [(s.name, [], True) for s in there]
    assert {o.objects for o in outcomes} == {1}


async def test_rehearsal_goes_back_without_migration(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    outcomes = await walked(tmp_path, [ONE, BETWEEN, TWO])
    assert [(o.stage.name, o.back, o.ok) for o in outcomes] == [
        ("one", False, True),
        ("between", False, True),
        ("two", False, True),
        ("between", True, True),
        ("one", True, True),
    ]


async def test_losses_are_reported_where_they_show(tmp_path: Path, converters: Conversions) -> None:
    converters.add("v1", "v2", lambda obj: obj.update(spec={"port": obj["spec"].get("port")}))
    converters.add("v2", "v1", lambda obj: None)
    outcomes = await walked(tmp_path, [ONE, TWO], back=False)
    assert outcomes[1].findings == ['one at v1 after the migration: spec.host was removed, it was "a"']


async def test_acknowledged_losses_are_not_findings(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", drop("v1", "spec.host", why="nobody calls it"))
    settings = Settings(data_dir=tmp_path, secure_port=0, converter=("rehearsed:conversions",))
    async with Server(settings) as server:
        steps = converters.steps.values()
        rehearsal = Rehearsal(RehearsalClient(server), [ONE, TWO], [OBJECT], migrate=True, steps=steps)
        _, outcome = [outcome async for outcome in rehearsal.run(back=False)]
    assert outcome.ok
    assert outcome.acknowledged == [
        'one at v1 after the migration: spec.host was removed, it was "a"; acknowledged: nobody calls it'
    ]


async def test_removing_a_stored_version_is_stuck(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    *_, last = await walked(tmp_path, [ONE, TWO])
    assert last.stuck
    assert last.back
    assert "v2 was previously a storage version" in last.findings[0]
    assert last.findings[1] == ("add a release in between that still declares v2 but stores v1")


async def test_without_migration_it_is_stuck_earlier(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    outcomes = await walked(tmp_path, [ONE, TWO, THREE], migrate=False)
    assert [(o.stage.name, o.stuck) for o in outcomes] == [("one", False), ("two", False), ("three", True)]
    assert outcomes[2].findings[1].endswith(", and migrate the stored objects")


async def test_unconvertible_object_is_named(tmp_path: Path, converters: Conversions) -> None:
    def fails(obj: dict[str, Any]) -> None:
        raise ValueError("no hosts today")

    converters.add("v1", "v2", fails)
    outcomes = await walked(tmp_path, [ONE, TWO], back=False)
    cannot, migration = outcomes[1].findings
    assert cannot.startswith("one at v2 cannot be read: conversion webhook for stable.example.com/v1, Kind=CronTab")
    assert "no hosts today" in cannot
    assert migration.startswith("the migration to v2 failed: ")
    assert not outcomes[1].migrated


async def test_objects_that_a_new_schema_rejects_are_reported(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"), move("spec.port", "spec.target"))
    strict = release("strict", "v1", "v2", storage="v2", new={**NEW, "required": ["target"]})
    outcomes = await walked(tmp_path, [ONE, strict], back=False)
    assert outcomes[1].findings == [
        "one at v2 would be rejected as a new object: spec.target: Required value",
        "one at v1 after the migration: spec.port was removed, it was 1",
    ]


async def test_object_that_the_first_release_rejects_is_reported(tmp_path: Path, converters: Conversions) -> None:
    bad = {**OBJECT, "spec": {"port": "many"}}
    async with Server(Settings(data_dir=tmp_path, secure_port=0)) as server:
        rehearsal = Rehearsal(RehearsalClient(server), [ONE], [bad], migrate=True)
        (outcome,) = [outcome async for outcome in rehearsal.run(back=True)]
    assert outcome.objects == 0
    assert outcome.findings[0].startswith("one cannot be created: ")
    assert "spec.port: Invalid value" in outcome.findings[0]
