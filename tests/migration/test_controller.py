"""The migration controller on a running server."""

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
    condition_of,
    ended,
    gear,
    gears,
    migration,
    store_at,
    stored,
)
from tests.support.waiting import eventually_async
from tests.support.widgets import MERGE

DEFINITION = f"{DEFINITIONS}/{NAME}"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        yield running


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """An event that migrations wait for halfway."""
    AT_HAND.clear()
    WAITING.clear()
    yield AT_HAND
    AT_HAND.set()


async def run_halfway(running: Live) -> None:
    """Start a migration and wait until it blocks at the third of five batches."""
    await create_gears(running, 300)
    await running.ask("PATCH", all_gears(name="g00150"), {"spec": {"heavy": True}}, kind=MERGE)
    await store_at(running, "v2")
    revision = (await running.ask("GET", all_gears()))["metadata"]["resourceVersion"]
    await running.ask("POST", MIGRATIONS, migration())
    await running.until(f"{all_gears()}?resourceVersion={revision}", lambda _, obj: obj["metadata"]["name"] == "g00127")


async def create_gears(running: Live, number: int, first: int = 0) -> None:
    for at in range(first, first + number):
        await running.ask("POST", all_gears(), gear(f"g{at:05}", teeth=at))


def versions(objects: dict[str, bytes]) -> set[str]:
    return {json.loads(value)["apiVersion"].rpartition("/")[2] for value in objects.values()}


async def migrate(running: Live, name: str = "m") -> JsonObject:
    await running.ask("POST", MIGRATIONS, migration(name))
    return await ended(running, name)


async def test_all_objects_are_rewritten_at_the_storage_version(running: Live) -> None:
    await create_gears(running, 200)
    await store_at(running, "v2")
    before = (await running.ask("GET", all_gears()))["items"]
    done = await migrate(running)
    assert condition_of(done, "Succeeded") == ("True", "StorageVersionMigrationSucceeded", "")
    assert condition_of(done, "Running") == ("False", "MigrationCompleted", "Migration completed")
    assert int(done["status"]["resourceVersion"]) >= int(before[-1]["metadata"]["resourceVersion"])
    objects = await stored(running)
    assert versions(objects) == {"v2"}
    assert json.loads(objects["g00007"])["spec"] == {"cogs": 7}
    after = (await running.ask("GET", all_gears()))["items"]
    for old, new in zip(before, after, strict=True):
        assert int(new["metadata"].pop("resourceVersion")) > int(old["metadata"].pop("resourceVersion"))
        assert new == old


async def test_crd_has_the_condition_and_drops_the_old_stored_version(running: Live) -> None:
    await create_gears(running, 3)
    await store_at(running, "v2")
    assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v1", "v2"]
    events: list[tuple[str, str, str]] = []

    async def record() -> None:
        async for event in running.watch(f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name={NAME}"):
            condition = condition_of(event["object"], "StorageMigrating")
            if condition[0] and condition not in events:
                events.append(condition)
            if condition[0] == "False":
                return

    recorder = asyncio.create_task(record())
    await migrate(running)
    await asyncio.wait_for(recorder, 10)
    assert events == [
        ("True", "MigrationRunning", "Migration m is running"),
        ("False", "MigrationSucceeded", "The migration has succeeded and the stored versions have been updated"),
    ]
    crd = await running.ask("GET", DEFINITION)
    assert crd["status"]["storedVersions"] == ["v2"]
    [entry] = [e for e in crd["metadata"]["managedFields"] if e["manager"] == "migration-runner-controller"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    await store_at(running, "v2", "v2")


async def test_watch_reports_each_object_modified_once(running: Live) -> None:
    await create_gears(running, 150)
    await store_at(running, "v2")
    revision = (await running.ask("GET", all_gears("v2")))["metadata"]["resourceVersion"]
    events: list[tuple[str, str]] = []

    async def record() -> None:
        async for event in running.watch(f"{all_gears('v2')}?watch=1&resourceVersion={revision}"):
            events.append((event["type"], event["object"]["metadata"]["name"]))
            if event["object"]["metadata"]["name"] == "last":
                return

    recorder = asyncio.create_task(record())
    await migrate(running)
    await running.ask("POST", all_gears(), gear("last"))
    await asyncio.wait_for(recorder, 10)
    assert sorted(events[:-1]) == [("MODIFIED", f"g{at:05}") for at in range(150)]


async def test_current_objects_are_not_rewritten(running: Live) -> None:
    await create_gears(running, 5)
    before = await running.ask("GET", all_gears())
    done = await migrate(running)
    assert condition_of(done, "Succeeded")[0] == "True"
    assert (await running.ask("GET", all_gears()))["items"] == before["items"]


async def test_defaults_of_a_new_schema_are_stored(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(gears(converted=False))
        await create_gears(running, 2)
        changed = gears(converted=False)["spec"]["versions"]
        properties = changed[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        properties["made"] = {"type": "string", "default": "by hand"}
        await running.ask("PATCH", DEFINITION, {"spec": {"versions": changed}}, kind=MERGE)
        await migrate(running)
        assert json.loads((await stored(running))["g00001"])["spec"] == {"made": "by hand", "teeth": 1}
        revision = (await running.ask("GET", all_gears(name="g00001")))["metadata"]["resourceVersion"]
        await migrate(running, "again")
        assert (await running.ask("GET", all_gears(name="g00001")))["metadata"]["resourceVersion"] == revision


async def test_object_that_became_invalid_is_migrated(running: Live) -> None:
    await create_gears(running, 1)
    stanzas = gears("v2")["spec"]["versions"]
    for stanza in stanzas:
        stanza["schema"]["openAPIV3Schema"]["required"] = ["nothing"]
    await running.ask("PATCH", DEFINITION, {"spec": {"versions": stanzas}}, kind=MERGE)
    assert condition_of(await migrate(running), "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}


async def test_unconvertible_object_does_not_stop_the_others(running: Live) -> None:
    await create_gears(running, 100)
    for at in range(12):
        await running.ask("POST", all_gears(), gear(f"s{at:02}", stuck=True))
    await store_at(running, "v2")
    done = await migrate(running)
    status, reason, message = condition_of(done, "Failed")
    assert (status, reason) == ("True", "StorageVersionMigrationFailed")
    assert message.startswith(
        "migration encountered unhandled error: 12 objects could not be migrated: default/s00: conversion webhook for "
    )
    assert "it is stuck" in message
    assert "default/s09" in message
    assert "default/s10" not in message
    assert message.endswith("; and 2 more")
    objects = await stored(running)
    assert versions({name: value for name, value in objects.items() if name[0] == "g"}) == {"v2"}
    crd = await running.ask("GET", DEFINITION)
    assert condition_of(crd, "StorageMigrating") == ("False", "MigrationFailed", "The migration has failed")
    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    metrics = (await running.client.call("GET", "/metrics")).body.decode()
    counted = f'polykind_migration_objects_total{{group="{GROUP}",resource="gears",result='
    assert f'{counted}"migrated"}} 100.0' in metrics
    assert f'{counted}"failed"}} 12.0' in metrics


async def test_migration_retries_while_the_converter_cannot_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriter, "RETRY_DELAYS", (0.01, 0.01))
    async with live(tmp_path) as running:
        await running.define(gears())
        for at in range(3):
            await running.ask("POST", all_gears(), gear(f"g{at}"))
        await store_at(running, "v2")
        message = condition_of(await migrate(running), "Failed")[2]
        assert message.startswith(
            "migration encountered unhandled error: 3 objects could not be migrated: default/g0: "
        )
        assert "connection refused" in message
        assert versions(await stored(running)) == {"v1"}


async def test_migration_retries_while_the_store_is_unreachable(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await create_gears(running, 100)
    await store_at(running, "v2")
    put, failures = running.server.store.put, 0

    async def flaky(key: str, value: bytes, *, expect: int | None) -> int:
        nonlocal failures
        if "/gears/" in key and failures < 70:
            failures += 1
            raise UnavailableError("nobody there")
        return await put(key, value, expect=expect)

    monkeypatch.setattr(running.server.store, "put", flaky)
    assert condition_of(await migrate(running), "Succeeded")[0] == "True"
    assert failures == 70
    assert versions(await stored(running)) == {"v2"}


async def test_large_objects_are_migrated(running: Live) -> None:
    for at in range(5):
        large = gear(f"l{at}", teeth=at)
        large["metadata"]["annotations"] = {"example.com/pad": "x" * 200_000}
        await running.ask("POST", all_gears(), large)
    await store_at(running, "v2")
    await migrate(running)
    assert versions(await stored(running)) == {"v2"}


async def test_concurrent_writes_are_not_lost(running: Live) -> None:
    await create_gears(running, 600)
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
    done = await migrate(running)
    stop.set()
    await asyncio.gather(*writers)
    assert condition_of(done, "Succeeded")[0] == "True"
    assert written
    listed = {o["metadata"]["name"]: o["spec"]["teeth"] for o in (await running.ask("GET", all_gears()))["items"]}
    assert len(listed) == 598
    assert listed == {**{name: int(name[1:]) for name in listed}, **written}
    assert versions(await stored(running)) == {"v2"}


async def test_crd_that_changes_during_the_migration_keeps_its_stored_versions(
    running: Live, gate: threading.Event
) -> None:
    await run_halfway(running)
    await store_at(running, "v1")
    gate.set()
    done = await ended(running)
    crd = await running.ask("GET", DEFINITION)
    assert condition_of(done, "Succeeded")[0] == "True"
    assert condition_of(crd, "StorageMigrating") == (
        "False",
        "MigrationSucceeded",
        "The migration has succeeded but the stored versions have not been updated due to a generation mismatch",
    )
    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    assert versions(await stored(running)) == {"v1"}


async def test_write_that_started_before_is_not_stored_at_the_old_version(running: Live, gate: threading.Event) -> None:
    await store_at(running, "v2")
    async with running.another() as client:
        creating = asyncio.create_task(client.call("POST", all_gears(), gear("late", heavy=True, teeth=3)))
        assert await asyncio.to_thread(WAITING.wait, 10)
        await store_at(running, "v1")
        assert condition_of(await migrate(running), "Succeeded")[0] == "True"
        assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v1"]
        gate.set()
        created = await creating
    assert created.status == 201
    assert created.json()["spec"] == {"heavy": True, "teeth": 3}
    assert versions(await stored(running)) == {"v1"}


async def test_failed_second_migration_keeps_the_stored_versions(running: Live) -> None:
    await create_gears(running, 1)
    await store_at(running, "v2")
    await migrate(running)
    await running.ask("POST", all_gears(), gear("stuck", stuck=True), expect=500)
    await running.ask("POST", all_gears("v2"), {**gear("stuck", stuck=True), "apiVersion": f"{GROUP}/v2"})
    await store_at(running, "v1")
    assert condition_of(await migrate(running, "again"), "Failed")[0] == "True"
    assert (await running.ask("GET", DEFINITION))["status"]["storedVersions"] == ["v2", "v1"]


async def test_migrations_of_a_resource_run_one_by_one_oldest_first(running: Live) -> None:
    await create_gears(running, 200)
    await store_at(running, "v2")
    order: list[str] = []

    async def record() -> None:
        async for event in running.watch(f"{MIGRATIONS}?watch=1"):
            name, obj = event["object"]["metadata"]["name"], event["object"]
            for state in ("Running", "Succeeded"):
                if condition_of(obj, state)[0] == "True" and f"{name} {state}" not in order:
                    order.append(f"{name} {state}")
            if order.count("c Succeeded"):
                return

    recorder = asyncio.create_task(record())
    for name in "abc":
        await running.ask("POST", MIGRATIONS, migration(name))
    await asyncio.wait_for(recorder, 15)
    assert order == [f"{name} {state}" for name in "abc" for state in ("Running", "Succeeded")]


async def test_deleting_a_migration_stops_it(running: Live, gate: threading.Event) -> None:
    await run_halfway(running)
    await running.ask("DELETE", f"{MIGRATIONS}/m")
    gate.set()
    event = await running.until(
        f"{DEFINITIONS}?fieldSelector=metadata.name={NAME}",
        lambda _, obj: condition_of(obj, "StorageMigrating")[0] == "False",
    )
    assert condition_of(event["object"], "StorageMigrating") == (
        "False",
        "MigrationDeleted",
        "The migration was deleted before it was done",
    )
    assert event["object"]["status"]["storedVersions"] == ["v1", "v2"]
    assert versions(await stored(running)) == {"v1", "v2"}


async def test_migration_of_an_unknown_resource_fails_after_a_timeout(running: Live) -> None:
    running.server.controllers.migrations.resource_timeout = 0.0
    await running.ask("POST", MIGRATIONS, migration("n", "nothings", "nowhere.example.com"))
    done = await ended(running, "n")
    assert condition_of(done, "Failed") == (
        "True",
        "StorageVersionMigrationFailed",
        "resource does not exist in discovery",
    )
    assert "resourceVersion" not in done["status"]


async def test_migration_waits_for_a_resource_that_is_created_later(tmp_path: Path) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.ask("POST", MIGRATIONS, migration())
        await running.until(MIGRATIONS, lambda _, obj: condition_of(obj, "Running")[0] == "True")
        await running.define(gears())
        assert condition_of(await ended(running), "Succeeded")[0] == "True"


async def test_migration_fails_if_its_resource_is_deleted(running: Live, gate: threading.Event) -> None:
    await run_halfway(running)
    running.server.registry.remove(GROUP, "gears")
    gate.set()
    assert condition_of(await ended(running), "Failed")[2] == (
        "migration encountered unhandled error: unable to obtain GVR from discovery"
    )


async def test_storage_version_does_not_have_to_be_served(running: Live) -> None:
    await create_gears(running, 3)
    stanzas = gears("v2")["spec"]["versions"]
    stanzas[1]["served"] = False
    await running.ask("PATCH", DEFINITION, {"spec": {"versions": stanzas}}, kind=MERGE)
    assert condition_of(await migrate(running), "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}


async def test_condition_of_a_deleted_migration_is_corrected_at_start(tmp_path: Path, gate: threading.Event) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        await run_halfway(running)
        asyncio.get_running_loop().call_later(0.1, gate.set)
    store = SqliteStore(tmp_path / "data")
    await store.start()
    await store.delete("/registry/storageversionmigrations/m", expect=None)
    await store.close()
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        event = await running.until(DEFINITIONS, lambda _, obj: condition_of(obj, "StorageMigrating")[0] == "False")
        assert condition_of(event["object"], "StorageMigrating")[1] == "MigrationDeleted"


async def test_finished_migration_with_running_condition_is_corrected(running: Live) -> None:
    """A controller may stop after it set Succeeded and before it set Running to False."""
    await running.ask("POST", MIGRATIONS, migration())
    done = await ended(running)
    conditions = [{**c, "status": "True"} for c in done["status"]["conditions"]]
    await running.ask("PATCH", f"{MIGRATIONS}/m/status", {"status": {"conditions": conditions}}, kind=MERGE)
    event = await running.until(MIGRATIONS, lambda _, obj: condition_of(obj, "Running")[0] == "False")
    assert condition_of(event["object"], "Succeeded")[0] == "True"


async def test_reviews_cannot_be_migrated(running: Live) -> None:
    await running.ask("POST", MIGRATIONS, migration("r", "tokenreviews", "authentication.k8s.io"))
    assert condition_of(await ended(running, "r"), "Failed")[2] == (
        'resource "authentication.k8s.io/v1, Resource=tokenreviews" does not support discovery operations: '
        "[update patch list]"
    )


async def test_builtin_resources_can_be_migrated(running: Live) -> None:
    await running.ask("POST", MIGRATIONS, migration("n", "namespaces", ""))
    assert condition_of(await ended(running, "n"), "Succeeded")[0] == "True"


async def test_migration_continues_after_a_restart(tmp_path: Path, gate: threading.Event) -> None:
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        await running.define(gears())
        await run_halfway(running)
        asyncio.get_running_loop().call_later(0.1, gate.set)
    async with live(tmp_path, converter=(CONVERTER,)) as running:
        done = await ended(running)
        assert condition_of(done, "Succeeded")[0] == "True"
        assert versions(await stored(running)) == {"v2"}
        crd = await running.ask("GET", DEFINITION)
        assert crd["status"]["storedVersions"] == ["v2"]
        counted = (await running.client.call("GET", "/metrics")).body.decode()
    assert f'polykind_stored_objects{{group="{GROUP}",resource="gears",version="v2"}} 300.0' in counted


async def test_rejected_removal_of_a_version_is_explained_in_the_log(
    running: Live, caplog: pytest.LogCaptureFixture
) -> None:
    await create_gears(running, 2)
    await store_at(running, "v2")
    body = {"spec": {"versions": gears("v2", "v2")["spec"]["versions"]}}
    with caplog.at_level(logging.WARNING, "polykind.migrations"):
        failures = await running.ask("PATCH", DEFINITION, body, kind=MERGE, expect=422)
        assert 'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions' in failures["message"]
        await eventually_async(lambda: caplog.messages)
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
        done = await migrate(running)
    assert condition_of(done, "Succeeded")[0] == "True"
    assert versions(await stored(running)) == {"v2"}
