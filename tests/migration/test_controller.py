"""Migrations: every object is rewritten at the storage version, and everyone is told how it went."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject, UnavailableError
from polykind.migration import rewriter
from polykind.store.sqlite import SqliteStore
from tests.support.live import DEFINITIONS, Live, live
from tests.support.migrations import (
    AT_HAND,
    CONVERTER,
    GROUP,
    MIGRATIONS,
    NAME,
    WAITING,
    all_gears,
    ended,
    gear,
    gears,
    migration,
    store_at,
    stored,
    told,
)
from tests.support.widgets import MERGE

DEFINITION = f"{DEFINITIONS}/{NAME}"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        yield running


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """Migrations stop in the middle until this is set."""
    AT_HAND.clear()
    WAITING.clear()
    yield AT_HAND
    AT_HAND.set()


async def halfway(running: Live) -> None:
    """A migration that has begun, and waits for the third of five batches."""
    await grow(running, 300)
    await running.ask("PATCH", all_gears(name="g00150"), {"spec": {"heavy": True}}, kind=MERGE)
    await store_at(running, "v2")
    revision = (await running.ask("GET", all_gears()))["metadata"]["resourceVersion"]
    await running.ask("POST", MIGRATIONS, migration())
    await running.until(f"{all_gears()}?resourceVersion={revision}", lambda _, obj: obj["metadata"]["name"] == "g00127")


async def grow(running: Live, number: int, first: int = 0) -> None:
    for at in range(first, first + number):
        await running.ask("POST", all_gears(), gear(f"g{at:05}", teeth=at))


def versions(found: dict[str, bytes]) -> set[str]:
    return {json.loads(value)["apiVersion"].rpartition("/")[2] for value in found.values()}


async def migrated(running: Live, name: str = "m") -> JsonObject:
    await running.ask("POST", MIGRATIONS, migration(name))
    return await ended(running, name)


async def test_every_object_is_rewritten_at_the_storage_version(running: Live) -> None:
    await grow(running, 200)
    await store_at(running, "v2")
    before = (await running.ask("GET", all_gears()))["items"]
    done = await migrated(running)
    assert told(done, "Succeeded") == ("True", "StorageVersionMigrationSucceeded", "")
    assert told(done, "Running") == ("False", "MigrationCompleted", "Migration completed")
    assert int(done["status"]["resourceVersion"]) >= int(before[-1]["metadata"]["resourceVersion"])
    found = await stored(running)
    assert versions(found) == {"v2"}
    assert json.loads(found["g00007"])["spec"] == {"cogs": 7}
    after = (await running.ask("GET", all_gears()))["items"]
    for old, new in zip(before, after, strict=True):
        assert int(new["metadata"].pop("resourceVersion")) > int(old["metadata"].pop("resourceVersion"))
        assert new == old


async def test_the_definition_tells_of_it_and_forgets_the_old_version(running: Live) -> None:
    await grow(running, 3)
    await store_at(running, "v2")
    assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v1", "v2"]
    seen: list[tuple[str, str, str]] = []

    async def follow() -> None:
        async for event in running.watch(f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name={NAME}"):
            now = told(event["object"], "StorageMigrating")
            if now[0] and now not in seen:
                seen.append(now)
            if now[0] == "False":
                return

    following = asyncio.create_task(follow())
    await migrated(running)
    await asyncio.wait_for(following, 10)
    assert seen == [
        ("True", "MigrationRunning", "Migration m is running"),
        ("False", "MigrationSucceeded", "The migration has succeeded and the stored versions have been updated"),
    ]
    crd = await running.ask("GET", DEFINITION)
    assert crd["status"]["storedVersions"] == ["v2"]
    [entry] = [e for e in crd["metadata"]["managedFields"] if e["manager"] == "migration-runner-controller"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    await store_at(running, "v2", "v2")


async def test_a_watch_sees_each_object_modified_once(running: Live) -> None:
    await grow(running, 150)
    await store_at(running, "v2")
    revision = (await running.ask("GET", all_gears("v2")))["metadata"]["resourceVersion"]
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async for event in running.watch(f"{all_gears('v2')}?watch=1&resourceVersion={revision}"):
            seen.append((event["type"], event["object"]["metadata"]["name"]))
            if event["object"]["metadata"]["name"] == "last":
                return

    following = asyncio.create_task(follow())
    await migrated(running)
    await running.ask("POST", all_gears(), gear("last"))
    await asyncio.wait_for(following, 10)
    assert sorted(seen[:-1]) == [("MODIFIED", f"g{at:05}") for at in range(150)]


async def test_what_is_as_it_would_be_written_is_left_alone(running: Live) -> None:
    await grow(running, 5)
    before = await running.ask("GET", all_gears())
    done = await migrated(running)
    assert told(done, "Succeeded")[0] == "True"
    assert (await running.ask("GET", all_gears()))["items"] == before["items"]


async def test_what_a_new_schema_changes_is_written_down(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(gears(converted=False))
        await grow(running, 2)
        changed = gears(converted=False)["spec"]["versions"]
        properties = changed[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        properties["made"] = {"type": "string", "default": "by hand"}
        await running.ask("PATCH", DEFINITION, {"spec": {"versions": changed}}, kind=MERGE)
        await migrated(running)
        assert json.loads((await stored(running))["g00001"])["spec"] == {"made": "by hand", "teeth": 1}
        revision = (await running.ask("GET", all_gears(name="g00001")))["metadata"]["resourceVersion"]
        await migrated(running, "again")
        assert (await running.ask("GET", all_gears(name="g00001")))["metadata"]["resourceVersion"] == revision


async def test_an_object_that_has_become_invalid_migrates(running: Live) -> None:
    await grow(running, 1)
    stanzas = gears("v2")["spec"]["versions"]
    for stanza in stanzas:
        stanza["schema"]["openAPIV3Schema"]["required"] = ["nothing"]
    await running.ask("PATCH", DEFINITION, {"spec": {"versions": stanzas}}, kind=MERGE)
    assert told(await migrated(running), "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}


async def test_an_object_that_cannot_be_converted_does_not_stop_the_others(running: Live) -> None:
    await grow(running, 100)
    for at in range(12):
        await running.ask("POST", all_gears(), gear(f"s{at:02}", stuck=True))
    await store_at(running, "v2")
    done = await migrated(running)
    status, reason, message = told(done, "Failed")
    assert (status, reason) == ("True", "StorageVersionMigrationFailed")
    assert message.startswith(
        "migration encountered unhandled error: 12 objects could not be migrated: default/s00: conversion webhook for "
    )
    assert "it is stuck" in message
    assert "default/s09" in message
    assert "default/s10" not in message
    assert message.endswith("; and 2 more")
    found = await stored(running)
    assert versions({name: value for name, value in found.items() if name[0] == "g"}) == {"v2"}
    crd = await running.ask("GET", DEFINITION)
    assert told(crd, "StorageMigrating") == ("False", "MigrationFailed", "The migration has failed")
    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    metrics = (await running.client.call("GET", "/metrics")).body.decode()
    counted = f'polykind_migration_objects_total{{group="{GROUP}",resource="gears",result='
    assert f'{counted}"migrated"}} 100.0' in metrics
    assert f'{counted}"failed"}} 12.0' in metrics


async def test_a_converter_that_cannot_be_called_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriter, "RETRY_DELAYS", (0.01, 0.01))
    async with live(tmp_path) as running:
        await running.define(gears())
        for at in range(3):
            await running.ask("POST", all_gears(), gear(f"g{at}"))
        await store_at(running, "v2")
        message = told(await migrated(running), "Failed")[2]
        assert message.startswith(
            "migration encountered unhandled error: 3 objects could not be migrated: default/g0: "
        )
        assert "connection refused" in message
        assert versions(await stored(running)) == {"v1"}


async def test_a_store_that_is_out_of_reach_is_waited_for(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await grow(running, 100)
    await store_at(running, "v2")
    put, refused = running.server.store.put, 0

    async def flaky(key: str, value: bytes, *, expect: int | None) -> int:
        nonlocal refused
        if "/gears/" in key and refused < 70:
            refused += 1
            raise UnavailableError("nobody there")
        return await put(key, value, expect=expect)

    monkeypatch.setattr(running.server.store, "put", flaky)
    assert told(await migrated(running), "Succeeded")[0] == "True"
    assert refused == 70
    assert versions(await stored(running)) == {"v2"}


async def test_objects_of_any_size_are_migrated(running: Live) -> None:
    for at in range(5):
        large = gear(f"l{at}", teeth=at)
        large["metadata"]["annotations"] = {"example.com/pad": "x" * 200_000}
        await running.ask("POST", all_gears(), large)
    await store_at(running, "v2")
    await migrated(running)
    assert versions(await stored(running)) == {"v2"}


async def test_clients_that_write_meanwhile_lose_nothing(running: Live) -> None:
    await grow(running, 600)
    await store_at(running, "v2")
    written: dict[str, int] = {}
    stop = asyncio.Event()

    async def write(offset: int) -> None:
        async with running.another() as client:
            at = offset
            while not stop.is_set():
                name = f"g{at % 600:05}"
                reply = await client.call("PATCH", all_gears(name=name), {"spec": {"teeth": 10000 + at}}, MERGE)
                assert reply.status == 200, reply.body
                written[name] = 10000 + at
                at += 7
            await client.call("DELETE", all_gears(name=f"g{offset:05}"))
            written.pop(f"g{offset:05}", None)

    writers = [asyncio.create_task(write(offset)) for offset in (0, 1)]
    done = await migrated(running)
    stop.set()
    await asyncio.gather(*writers)
    assert told(done, "Succeeded")[0] == "True"
    assert written
    listed = {o["metadata"]["name"]: o["spec"]["teeth"] for o in (await running.ask("GET", all_gears()))["items"]}
    assert len(listed) == 598
    assert listed == {**{name: int(name[1:]) for name in listed}, **written}
    assert versions(await stored(running)) == {"v2"}


async def test_a_definition_that_changes_meanwhile_keeps_its_stored_versions(
    running: Live, held: threading.Event
) -> None:
    await halfway(running)
    await store_at(running, "v1")
    held.set()
    done = await ended(running)
    crd = await running.ask("GET", DEFINITION)
    assert told(done, "Succeeded")[0] == "True"
    assert told(crd, "StorageMigrating") == (
        "False",
        "MigrationSucceeded",
        "The migration has succeeded but the stored versions have not been updated due to a generation mismatch",
    )
    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    assert versions(await stored(running)) == {"v1"}


async def test_a_write_that_began_before_is_not_stored_at_the_old_version(running: Live, held: threading.Event) -> None:
    await store_at(running, "v2")
    async with running.another() as client:
        creating = asyncio.create_task(client.call("POST", all_gears(), gear("late", heavy=True, teeth=3)))
        assert await asyncio.to_thread(WAITING.wait, 10)
        await store_at(running, "v1")
        assert told(await migrated(running), "Succeeded")[0] == "True"
        assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v1"]
        held.set()
        made = await creating
    assert made.status == 201
    assert made.json()["spec"] == {"heavy": True, "teeth": 3}
    assert versions(await stored(running)) == {"v1"}


async def test_a_second_migration_does_not_forget_versions_before_it_is_done(running: Live) -> None:
    await grow(running, 1)
    await store_at(running, "v2")
    await migrated(running)
    await running.ask("POST", all_gears(), gear("stuck", stuck=True), expect=500)
    await running.ask("POST", all_gears("v2"), {**gear("stuck", stuck=True), "apiVersion": f"{GROUP}/v2"})
    await store_at(running, "v1")
    assert told(await migrated(running, "again"), "Failed")[0] == "True"
    assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v2", "v1"]


async def test_one_at_a_time_the_oldest_first(running: Live) -> None:
    await grow(running, 200)
    await store_at(running, "v2")
    order: list[str] = []

    async def follow() -> None:
        async for event in running.watch(f"{MIGRATIONS}?watch=1"):
            name, obj = event["object"]["metadata"]["name"], event["object"]
            for state in ("Running", "Succeeded"):
                if told(obj, state)[0] == "True" and f"{name} {state}" not in order:
                    order.append(f"{name} {state}")
            if order.count("c Succeeded"):
                return

    following = asyncio.create_task(follow())
    for name in "abc":
        await running.ask("POST", MIGRATIONS, migration(name))
    await asyncio.wait_for(following, 15)
    assert order == [f"{name} {state}" for name in "abc" for state in ("Running", "Succeeded")]


async def test_deleting_a_migration_ends_it(running: Live, held: threading.Event) -> None:
    await halfway(running)
    await running.ask("DELETE", f"{MIGRATIONS}/m")
    held.set()
    event = await running.until(
        f"{DEFINITIONS}?fieldSelector=metadata.name={NAME}",
        lambda _, obj: told(obj, "StorageMigrating")[0] == "False",
    )
    assert told(event["object"], "StorageMigrating") == (
        "False",
        "MigrationDeleted",
        "The migration was deleted before it was done",
    )
    assert event["object"]["status"]["storedVersions"] == ["v1", "v2"]
    assert versions(await stored(running)) == {"v1", "v2"}


async def test_a_resource_that_does_not_come_to_be_is_told(running: Live) -> None:
    running.server.migrations.resource_timeout = 0.0
    await running.ask("POST", MIGRATIONS, migration("n", "nothings", "nowhere.example.com"))
    done = await ended(running, "n")
    assert told(done, "Failed") == ("True", "StorageVersionMigrationFailed", "resource does not exist in discovery")
    assert "resourceVersion" not in done["status"]


async def test_a_migration_waits_for_a_resource_that_is_defined_later(tmp_path: Path) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.ask("POST", MIGRATIONS, migration())
        await running.until(MIGRATIONS, lambda _, obj: told(obj, "Running")[0] == "True")
        await running.define(gears())
        assert told(await ended(running), "Succeeded")[0] == "True"


async def test_a_resource_that_vanishes_meanwhile_is_told(running: Live, held: threading.Event) -> None:
    await halfway(running)
    running.server.registry.remove(GROUP, "gears")
    held.set()
    assert told(await ended(running), "Failed")[2] == (
        "migration encountered unhandled error: unable to obtain GVR from discovery"
    )


async def test_a_storage_version_need_not_be_served(running: Live) -> None:
    await grow(running, 3)
    stanzas = gears("v2")["spec"]["versions"]
    stanzas[1]["served"] = False
    await running.ask("PATCH", DEFINITION, {"spec": {"versions": stanzas}}, kind=MERGE)
    assert told(await migrated(running), "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}


async def test_what_has_outlived_its_migration_is_set_right(tmp_path: Path, held: threading.Event) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        await halfway(running)
        asyncio.get_running_loop().call_later(0.1, held.set)
    store = SqliteStore(tmp_path / "data")
    await store.start()
    await store.delete("/registry/storageversionmigrations/m", expect=None)
    await store.close()
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        event = await running.until(DEFINITIONS, lambda _, obj: told(obj, "StorageMigrating")[0] == "False")
        assert told(event["object"], "StorageMigrating")[1] == "MigrationDeleted"


async def test_what_ended_without_being_told_is_set_right(running: Live) -> None:
    """As the reference leaves it for a moment: succeeded, and still said to run."""
    await running.ask("POST", MIGRATIONS, migration())
    done = await ended(running)
    conditions = [{**c, "status": "True"} for c in done["status"]["conditions"]]
    await running.ask("PATCH", f"{MIGRATIONS}/m/status", {"status": {"conditions": conditions}}, kind=MERGE)
    event = await running.until(MIGRATIONS, lambda _, obj: told(obj, "Running")[0] == "False")
    assert told(event["object"], "Succeeded")[0] == "True"


async def test_what_is_not_kept_cannot_be_migrated(running: Live) -> None:
    await running.ask("POST", MIGRATIONS, migration("r", "tokenreviews", "authentication.k8s.io"))
    assert told(await ended(running, "r"), "Failed")[2] == (
        'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: '
        "[update patch list]"
    )


async def test_what_is_built_in_can_be_migrated(running: Live) -> None:
    await running.ask("POST", MIGRATIONS, migration("n", "namespaces", ""))
    assert told(await ended(running, "n"), "Succeeded")[0] == "True"


async def test_a_restart_in_the_middle_goes_on(tmp_path: Path, held: threading.Event) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        await halfway(running)
        asyncio.get_running_loop().call_later(0.1, held.set)
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        done = await ended(running)
        assert told(done, "Succeeded")[0] == "True"
        assert versions(await stored(running)) == {"v2"}
        crd = await running.ask("GET", DEFINITION)
        assert crd["status"]["storedVersions"] == ["v2"]
        counted = (await running.client.call("GET", "/metrics")).body.decode()
    assert f'polykind_stored_objects{{group="{GROUP}",resource="gears",version="v2"}} 300.0' in counted


async def test_who_wants_to_remove_a_version_too_early_is_told_what_is_left(
    running: Live, caplog: pytest.LogCaptureFixture
) -> None:
    await grow(running, 2)
    await store_at(running, "v2")
    body = {"spec": {"versions": gears("v2", "v2")["spec"]["versions"]}}
    with caplog.at_level(logging.WARNING, "polykind.migrations"):
        refused = await running.ask("PATCH", DEFINITION, body, kind=MERGE, expect=422)
        assert 'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions' in refused["message"]
        while not caplog.messages:
            await asyncio.sleep(0.01)
    assert caplog.messages == [
        f"version v1 of {NAME} cannot be removed yet: 2 objects, the first is default/g00000, are still stored at it: "
        f"create a StorageVersionMigration for the resource gears of the group {GROUP}, which rewrites the remaining "
        "objects and then removes v1 from status.storedVersions"
    ]


async def test_thousands_of_objects_take_seconds(running: Live) -> None:
    clients = [running.another() for _ in range(8)]
    for start in range(0, 3000, 8):
        bodies = [gear(f"g{start + at:05}", teeth=at) for at in range(8)]
        await asyncio.gather(*(c.call("POST", all_gears(), b) for c, b in zip(clients, bodies, strict=True)))
    for client in clients:
        client.close()
    await store_at(running, "v2")
    async with asyncio.timeout(20):
        done = await migrated(running)
    assert told(done, "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}
