"""StorageVersionMigrations as a resource: storage, status updates and tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

ALL = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
DEPRECATED = (
    b'299 - "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.38+, unavailable in v1.41+"'
)


def migration(name: str = "m", resource: str = "widgets", group: str = "example.com", **more: Any) -> JsonObject:
    return {
        "apiVersion": "storagemigration.k8s.io/v1beta1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": group, "resource": resource}},
        **more,
    }


def condition(type_: str, status: str = "True") -> JsonObject:
    return {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": ""}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


async def test_new_migration_has_no_status_and_no_generation(running: Live) -> None:
    reply = await running.client.call("POST", f"{ALL}?dryRun=All", migration(status={"resourceVersion": "7"}))
    assert reply.status == 201
    made = reply.json()
    assert made["status"] == {}
    assert "generation" not in made["metadata"]
    assert reply.headers[b"warning"] == DEPRECATED


async def test_storage_key_is_that_of_kubernetes(running: Live) -> None:
    await running.ask("POST", ALL, migration())
    [found] = (await running.server.store.range("/registry/storageversionmigrations/")).items
    assert found.key == "/registry/storageversionmigrations/m"


async def test_spec_is_immutable(running: Live) -> None:
    await running.ask("POST", ALL, migration())
    refused = await running.ask(
        "PATCH", f"{ALL}/m", {"spec": {"resource": {"resource": "gadgets"}}}, kind=MERGE, expect=422
    )
    assert refused["message"] == (
        'StorageVersionMigration.storagemigration.k8s.io "m" is invalid: spec: Invalid value: '
        '{"Resource":{"group":"example.com","resource":"gadgets"}}: field is immutable'
    )


async def test_finalizers_must_be_qualified(running: Live) -> None:
    body = migration()
    body["metadata"]["finalizers"] = ["mine"]
    refused = await running.ask("POST", ALL, body, expect=422)
    assert "metadata.finalizers[0]" in refused["message"]


async def test_status_is_written_through_its_subresource(running: Live) -> None:
    await running.ask("POST", ALL, migration(group="", resource="nothings"))
    kept = {"resourceVersion": "5", "conditions": [condition("Custom")]}
    unmoved = await running.ask("PATCH", f"{ALL}/m", {"status": {"resourceVersion": "77"}}, kind=MERGE)
    assert unmoved["status"].get("resourceVersion") != "77"
    stated = await running.ask(
        "PATCH",
        f"{ALL}/m/status",
        {"metadata": {"labels": {"a": "b"}}, "spec": {"resource": {"resource": "x"}}, "status": kept},
        kind=STRATEGIC,
    )
    assert stated["spec"]["resource"]["resource"] == "nothings"
    assert "labels" not in stated["metadata"]
    assert condition("Custom") in stated["status"]["conditions"]
    without = {"status": {"conditions": [{"$patch": "delete", "type": "Custom"}]}}
    left = await running.ask("PATCH", f"{ALL}/m/status", without, kind=STRATEGIC)
    assert condition("Custom") not in left["status"].get("conditions", [])


async def test_list_is_rejected_as_a_migration(running: Live) -> None:
    refused = await running.ask("POST", ALL, {**migration(), "kind": "StorageVersionMigrationList"}, expect=400)
    assert refused["message"] == (
        'StorageVersionMigrationList in version "v1beta1" cannot be handled as a StorageVersionMigration: '
        "converting (v1beta1.StorageVersionMigrationList) to (storagemigration.StorageVersionMigration): "
        "unknown conversion"
    )


async def test_unknown_paths_cause_no_deprecation_warning(running: Live) -> None:
    reply = await running.client.call("PUT", ALL, {})
    assert reply.status == 405
    assert b"warning" not in reply.headers


async def test_other_versions_are_not_found(running: Live) -> None:
    refused = await running.ask("GET", "/apis/storagemigration.k8s.io/v1alpha1", expect=404)
    assert refused["message"] == "the server could not find the requested resource"


V1 = ALL.replace("v1beta1", "v1")


async def test_both_versions_serve_the_same_objects(running: Live) -> None:
    reply = await running.client.call("POST", V1, {**migration(), "apiVersion": "storagemigration.k8s.io/v1"})
    made = reply.json()
    assert (reply.status, made["apiVersion"]) == (201, "storagemigration.k8s.io/v1")
    assert b"warning" not in reply.headers
    [stored] = (await running.server.store.range("/registry/storageversionmigrations/")).items
    assert b'"storagemigration.k8s.io/v1beta1"' in stored.value
    beta = await running.ask("GET", f"{ALL}/m")
    assert (beta["apiVersion"], beta["metadata"]["uid"]) == ("storagemigration.k8s.io/v1beta1", made["metadata"]["uid"])


async def test_migration_of_v1_runs(running: Live) -> None:
    await running.ask(
        "POST", V1, {**migration(resource="configmaps", group=""), "apiVersion": "storagemigration.k8s.io/v1"}
    )
    done = await running.until(
        f"{V1}?fieldSelector=metadata.name=m",
        lambda _, obj: any(
            c["type"] == "Succeeded" and c["status"] == "True" for c in obj.get("status", {}).get("conditions") or ()
        ),
    )
    assert done["object"]["apiVersion"] == "storagemigration.k8s.io/v1"


async def test_v1_is_the_preferred_version(running: Live) -> None:
    group = await running.ask("GET", "/apis/storagemigration.k8s.io")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
