"""The strategies of PersistentVolumes and PersistentVolumeClaims, with a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MERGE = "application/merge-patch+json"
SPEC: JsonObject = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


async def status_patch(running: Live, **status: str) -> JsonObject:
    patched = await running.ask("PATCH", f"{VOLUMES}/v/status", {"status": status}, kind=MERGE)
    found: JsonObject = patched["status"]
    return found


async def test_change_of_the_phase_sets_its_time(running: Live) -> None:
    made = await running.ask("POST", VOLUMES, {"metadata": {"name": "v"}, "spec": SPEC, "status": {"phase": "Bound"}})
    assert made["status"] == {
        "phase": "Pending",
        "lastPhaseTransitionTime": made["metadata"]["creationTimestamp"],
    }
    stated = "2020-01-01T00:00:00Z"
    assert (await status_patch(running, phase="Bound", lastPhaseTransitionTime=stated))[
        "lastPhaseTransitionTime"
    ] == stated
    assert (await status_patch(running, message="m"))["lastPhaseTransitionTime"] == stated
    assert (await status_patch(running, phase="Released"))["lastPhaseTransitionTime"] > stated


async def test_claim_cannot_set_its_status(running: Live) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "c"}, "spec": spec, "status": {"phase": "Bound"}}
    assert (await running.ask("POST", CLAIMS, claim))["status"] == {"phase": "Pending"}
    refused = await running.ask(
        "PATCH", f"{CLAIMS}/c", {"spec": {"accessModes": ["ReadOnlyMany"]}}, kind=MERGE, expect=422
    )
    assert "spec is immutable after creation" in refused["message"]


async def test_deprecated_volumes_are_warned_about(running: Live) -> None:
    spec = {**SPEC, "persistentVolumeReclaimPolicy": "Recycle"}
    reply = await running.client.call("POST", VOLUMES, {"metadata": {"name": "v"}, "spec": spec})
    assert b"The Recycle reclaim policy is deprecated" in reply.headers[b"warning"]
