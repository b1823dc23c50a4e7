"""The scale subresource of built-in workloads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
TEMPLATE = {
    "metadata": {"labels": {"app": "a", "tier": "b"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}]
    },
}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    selector = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b"]}]}
    spec = {"replicas": 2, "selector": selector, "template": TEMPLATE}
    async with live(tmp_path) as started:
        await started.ask("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
        labels = {"tier": "b", "app": "a"}
        await started.ask("POST", CONTROLLERS, {"metadata": {"name": "a"}, "spec": {**spec, "selector": labels}})
        yield started


def scale(replicas: int, **meta: str) -> JsonObject:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a", **meta},
        "spec": {"replicas": replicas},
    }


@pytest.mark.parametrize(("path", "selector"), [(DEPLOYMENTS, "app=a,tier in (b)"), (CONTROLLERS, "app=a,tier=b")])
async def test_scale_shows_replicas_and_selector(running: Live, path: str, selector: str) -> None:
    got = await running.ask("GET", f"{path}/a/scale")
    assert (got["kind"], got["spec"], got["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 0, "selector": selector},
    )


async def test_update_changes_the_replicas_only(running: Live) -> None:
    revision = (await running.ask("GET", f"{DEPLOYMENTS}/a/scale"))["metadata"]["resourceVersion"]
    sent = {**scale(5, resourceVersion=revision), "status": {"replicas": 9, "selector": "x"}}
    assert (await running.ask("PUT", f"{DEPLOYMENTS}/a/scale", sent))["spec"] == {"replicas": 5}
    assert (await running.ask("GET", f"{DEPLOYMENTS}/a"))["spec"]["replicas"] == 5
    await running.ask("PUT", f"{DEPLOYMENTS}/a/scale", sent, expect=409)
    await running.ask("PATCH", f"{DEPLOYMENTS}/a/scale?dryRun=All", {"spec": {"replicas": 7}}, kind=MERGE)
    assert (await running.ask("GET", f"{DEPLOYMENTS}/a/scale"))["spec"] == {"replicas": 5}


async def test_invalid_scale_is_an_error_of_the_scale(running: Live) -> None:
    status = await running.ask("PATCH", f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": -1}}, kind=MERGE, expect=422)
    assert (status["details"]["group"], status["details"]["kind"]) == ("autoscaling", "Scale")
    wrong = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    status = await running.ask("PUT", f"{DEPLOYMENTS}/a/scale", wrong, expect=400)
    assert status["message"].endswith("converting (v1.Deployment) to (autoscaling.Scale): unknown conversion")


async def test_managers_of_the_replicas_are_those_of_the_scale(running: Live) -> None:
    path = f"{DEPLOYMENTS}/a/scale?fieldManager=hpa"
    await running.ask("PATCH", path, scale(4), kind=APPLY, expect=409)
    await running.ask("PATCH", f"{path}&force=true", scale(4), kind=APPLY)
    entries = (await running.ask("GET", f"{DEPLOYMENTS}/a"))["metadata"]["managedFields"]
    [own] = [entry for entry in entries if entry["manager"] == "hpa"]
    assert (own["subresource"], own["apiVersion"], own["fieldsV1"]) == (
        "scale",
        "apps/v1",
        {"f:spec": {"f:replicas": {}}},
    )
    assert all("f:replicas" not in entry["fieldsV1"].get("f:spec", {}) for entry in entries if entry is not own)


@pytest.mark.parametrize(("path", "group"), [(DEPLOYMENTS, ".apps"), (CONTROLLERS, "")])
async def test_patch_with_the_uid_of_another_object_conflicts(running: Live, path: str, group: str) -> None:
    patch: JsonObject = {"metadata": {"uid": "other"}, "spec": {"replicas": 7}}
    refused = await running.ask("PATCH", f"{path}/a/scale", patch, kind=MERGE, expect=409)
    plural, uid = path.rpartition("/")[2], (await running.ask("GET", f"{path}/a"))["metadata"]["uid"]
    assert refused["message"] == (
        f'Operation cannot be fulfilled on {plural}/scale{group} "a": Precondition failed: '
        f"UID in precondition: other, UID in object meta: {uid}"
    )
    operations = [{"op": "replace", "path": "/metadata/uid", "value": "other"}]
    await running.ask("PATCH", f"{path}/a/scale", operations, kind="application/json-patch+json", expect=409)
    patch["metadata"] = {"uid": uid}
    assert (await running.ask("PATCH", f"{path}/a/scale", patch, kind=MERGE))["spec"] == {"replicas": 7}


@pytest.mark.parametrize("path", [DEPLOYMENTS, CONTROLLERS])
async def test_patch_with_an_old_resource_version_conflicts(running: Live, path: str) -> None:
    old = (await running.ask("GET", f"{path}/a"))["metadata"]["resourceVersion"]
    await running.ask("PATCH", f"{path}/a/scale", {"spec": {"replicas": 3}}, kind=MERGE)
    patch = {"metadata": {"resourceVersion": old}, "spec": {"replicas": 7}}
    await running.ask("PATCH", f"{path}/a/scale", patch, kind=MERGE, expect=409)
    assert (await running.ask("GET", f"{path}/a"))["spec"]["replicas"] == 3
