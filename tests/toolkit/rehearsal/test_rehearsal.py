from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from polykind.convert import Conversions, drop, first, move, only
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.rehearsal.rehearsal import Options, Rehearsal, Stage, StageResult
from polykind.toolkit.rehearsal.rehearsal_client import RehearsalClient
from tests.declare.test_conversions import KIND
from tests.toolkit.crds import GROUP, crd_manifest

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


def texts(outcome: StageResult) -> list[str]:
    return [finding.text for finding in outcome.problems]


async def walked(
    folder: Path, stages: Sequence[Stage], *, migrate: bool = True, back: bool = True
) -> list[StageResult]:
    settings = Settings(data_dir=folder, secure_port=0, converter=("rehearsed:conversions",))
    async with Server(settings) as server:
        rehearsal = Rehearsal(RehearsalClient(server), stages, [OBJECT], Options(migrate=migrate))
        return [outcome async for outcome in rehearsal.run(back=back)]


async def test_lossless_conversions_pass_forwards_and_backwards(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    there = [ONE, TWO, THREE, TWO._replace(), BETWEEN, ONE._replace()]
    outcomes = await walked(tmp_path, there, back=False)
    assert [(o.stage.name, texts(o), o.migrated) for o in outcomes] == [(s.name, [], True) for s in there]
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
    migration, created, clients = texts(outcomes[1])
    assert created.startswith("one-with-all-of-v1 at v1 after a client at v1 created it: spec.host was removed")
    assert migration == 'one at v1 after the migration: spec.host was removed, it was "a"'
    assert clients.startswith("one-with-all-of-v2 at v2 after a client at v1 edited it and undid the edit (PUT)")
    assert "spec.hosts was removed" in clients


async def test_acknowledged_losses_are_not_findings(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", drop("v1", "spec.host", why="nobody calls it"))
    settings = Settings(data_dir=tmp_path, secure_port=0, converter=("rehearsed:conversions",))
    async with Server(settings) as server:
        steps = converters.steps.values()
        without_host = release("two", "v1", "v2", storage="v2", new={"properties": {"port": {"type": "integer"}}})
        rehearsal = Rehearsal(RehearsalClient(server), [ONE, without_host], [OBJECT], steps=steps)
        _, outcome = [outcome async for outcome in rehearsal.run(back=False)]
    assert outcome.ok
    assert [f.text for f in outcome.findings if f.phase == "migration"] == [
        'one at v1 after the migration: spec.host was removed, it was "a"; acknowledged: nobody calls it'
    ]


async def test_removing_a_stored_version_is_stuck(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    *_, last = await walked(tmp_path, [ONE, TWO])
    assert last.stuck
    assert last.back
    (finding,) = last.findings
    assert "v2 was previously a storage version" in finding.text
    assert finding.advice == "add a release in between that still declares v2 but stores v1"


async def test_without_migration_it_is_stuck_earlier(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    outcomes = await walked(tmp_path, [ONE, TWO, THREE], migrate=False)
    assert [(o.stage.name, o.stuck) for o in outcomes] == [("one", False), ("two", False), ("three", True)]
    assert outcomes[2].findings[0].advice.endswith(", and migrate the stored objects")


async def test_unconvertible_object_is_named(tmp_path: Path, converters: Conversions) -> None:
    def fails(obj: dict[str, Any]) -> None:
        raise ValueError("no hosts today")

    converters.add("v1", "v2", fails)
    outcomes = await walked(tmp_path, [ONE, TWO], back=False)
    cannot, migration = texts(outcomes[1])
    assert cannot.startswith("one at v2 cannot be read: conversion webhook for stable.example.com/v1, Kind=CronTab")
    assert "no hosts today" in cannot
    assert migration.startswith("the migration to v2 failed: ")
    assert not outcomes[1].migrated


async def test_objects_that_a_new_schema_rejects_are_reported(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"), move("spec.port", "spec.target"))
    strict = release("strict", "v1", "v2", storage="v2", new={**NEW, "required": ["target"]})
    outcomes = await walked(tmp_path, [ONE, strict], back=False)
    assert texts(outcomes[1])[:2] == [
        "one at v2 would be rejected as a new object: spec.target: Required value",
        "one at v1 after the migration: spec.port was removed, it was 1",
    ]


async def test_object_that_the_first_release_rejects_is_reported(tmp_path: Path, converters: Conversions) -> None:
    bad = {**OBJECT, "spec": {"port": "many"}}
    async with Server(Settings(data_dir=tmp_path, secure_port=0)) as server:
        rehearsal = Rehearsal(RehearsalClient(server), [ONE], [bad])
        (outcome,) = [outcome async for outcome in rehearsal.run(back=True)]
    assert outcome.objects == 0
    assert texts(outcome)[0].startswith("one cannot be created: ")
    assert "spec.port: Invalid value" in texts(outcome)[0]


EXTRA = {"properties": {**NEW["properties"], "extra": {"type": "string"}, "retries": {"type": "integer"}}}
WITH_EXTRA = release("extra", "v1", "v2", storage="v2", new=EXTRA)


async def test_field_that_old_clients_drop_is_found(tmp_path: Path, converters: Conversions) -> None:
    """The conversion down drops a new field, and no old object has it, so only a write by an old client shows it."""

    def down(obj: dict[str, Any]) -> None:
        spec = obj["spec"]
        spec.pop("extra", None)
        obj["spec"] = {**{k: v for k, v in spec.items() if k != "hosts"}, "host": (spec.get("hosts") or [""])[0]}

    def up(obj: dict[str, Any]) -> None:
        spec = obj["spec"]
        obj["spec"] = {**{k: v for k, v in spec.items() if k != "host"}, "hosts": [spec["host"]]}

    converters.add("v1", "v2", up)
    converters.add("v2", "v1", down)
    outcomes = await walked(tmp_path, [ONE, WITH_EXTRA], back=False)
    assert outcomes[0].ok
    lost = next(f for f in outcomes[1].problems if f.field == "spec.extra")
    assert (lost.phase, lost.client, lost.version, lost.object) == (
        "clients",
        "v1 (PUT)",
        "v2",
        "team/one-with-all-of-v2",
    )
    assert isinstance(lost.before, str)
    assert "spec.extra was removed, it was" in lost.text
    assert lost.advice.startswith("the conversion from v2 to v1 drops the field")


async def test_stash_keeps_what_old_clients_do_not_know(tmp_path: Path, converters: Conversions) -> None:
    converters.between(
        "v1", "v2", first("spec.host", "spec.hosts"), only("v2", "spec.extra"), only("v2", "spec.retries")
    )
    outcomes = await walked(tmp_path, [ONE, WITH_EXTRA], back=False)
    assert texts(outcomes[1]) == []
    assert [phase.name for phase in outcomes[1].phases] == ["crd", "read", "migration", "clients"]


async def test_edit_that_another_client_undoes_is_found(tmp_path: Path, converters: Conversions) -> None:
    """The conversion up restores a remembered value, so that an edit by an old client gets lost."""
    remembered: dict[str, Any] = {}

    def up(obj: dict[str, Any]) -> None:
        spec = obj["spec"]
        spec["hosts"] = [spec.pop("host")]
        spec["port"] = remembered.setdefault("port", spec.get("port"))

    def down(obj: dict[str, Any]) -> None:
        spec = obj["spec"]
        spec["host"] = (spec.pop("hosts", None) or [""])[0]

    converters.add("v1", "v2", up)
    converters.add("v2", "v1", down)
    outcomes = await walked(tmp_path, [ONE, TWO], back=False)
    found = [f for f in outcomes[1].problems if f.field == "spec.port" and f.client.startswith("v1")]
    assert found
    assert found[0].text.startswith("one at v1 after a client at v1 wrote it (")


async def test_client_that_cannot_write_back_is_found(tmp_path: Path, converters: Conversions) -> None:
    def fails(obj: dict[str, Any]) -> None:
        raise ValueError("one way only")

    converters.add("v2", "v1", lambda obj: obj["spec"].update(host=obj["spec"].pop("hosts", [""])[0]))
    converters.add("v1", "v2", fails)
    stages = [release("new", "v2", storage="v2"), TWO]
    sample = {**OBJECT, "apiVersion": f"{GROUP}/v2", "spec": {"hosts": ["a"], "port": 1}}
    settings = Settings(data_dir=tmp_path, secure_port=0, converter=("rehearsed:conversions",))
    async with Server(settings) as server:
        rehearsal = Rehearsal(RehearsalClient(server), stages, [sample])
        outcomes = [outcome async for outcome in rehearsal.run(back=False)]
    assert any("a client at v1 (PUT) cannot write it back: " in text for text in texts(outcomes[1]))


async def test_field_managers_of_removed_versions_are_a_warning(tmp_path: Path, converters: Conversions) -> None:
    converters.between("v1", "v2", first("spec.host", "spec.hosts"))
    outcomes = await walked(tmp_path, [ONE, TWO, THREE], back=False)
    (warning,) = [f for f in outcomes[2].findings if f.level == "warning"]
    assert "server-side apply fails on them" in warning.text
    assert "polykind migrate crontabs.stable.example.com" in warning.advice
    assert outcomes[2].ok


async def test_field_that_a_new_client_cannot_store_is_found(tmp_path: Path, converters: Conversions) -> None:
    converters.add("v1", "v2", lambda obj: obj["spec"].update(hosts=[obj["spec"].pop("host", "")]))
    converters.add("v2", "v1", _without_extra)
    stage = release("extra", "v1", "v2", storage="v1", new=EXTRA)
    outcomes = await walked(tmp_path, [ONE, stage], back=False)
    lost = next(f for f in outcomes[1].problems if f.field == "spec.extra")
    assert (lost.client, lost.version) == ("v2 (POST)", "v2")
    assert lost.text.startswith("one-with-all-of-v2 at v2 after a client at v2 created it: spec.extra was removed")


def _without_extra(obj: dict[str, Any]) -> None:
    spec = obj["spec"]
    spec["host"] = (spec.pop("hosts", None) or [""])[0]
    spec.pop("extra", None)
