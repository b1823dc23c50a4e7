"""HorizontalPodAutoscalers on a server, read and written at v1 and v2."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

V1, V2 = (f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers" for version in ("v1", "v2"))
MERGE = "application/merge-patch+json"
REFERENCE = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
PODS: JsonObject = {
    "type": "Pods",
    "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}},
}
BOTH: JsonObject = {
    "type": "Object",
    "object": {
        "describedObject": REFERENCE,
        "metric": {"name": "m"},
        "target": {"type": "Value", "value": "1", "averageValue": "1"},
    },
}
USAGE: JsonObject = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


async def create(running: Live, *metrics: JsonObject) -> None:
    spec = {"scaleTargetRef": REFERENCE, "maxReplicas": 3, "metrics": list(metrics)}
    await running.ask("POST", V2, {"metadata": {"name": "a"}, "spec": spec})


async def test_update_at_v1_keeps_the_status(running: Live) -> None:
    await create(running, PODS)
    await running.ask("PATCH", f"{V2}/a/status", {"status": {"currentMetrics": [USAGE]}}, kind=MERGE)
    changed = await running.ask("PATCH", f"{V1}/a", {"spec": {"maxReplicas": 9}}, kind=MERGE)
    assert changed["spec"]["maxReplicas"] == 9
    read = await running.ask("GET", f"{V2}/a")
    assert read["status"]["currentMetrics"] == [USAGE]
    assert read["spec"]["metrics"] == [PODS]


async def test_status_update_at_v1_keeps_the_spec(running: Live) -> None:
    await create(running, BOTH)
    await running.ask("PATCH", f"{V1}/a/status", {"status": {"currentReplicas": 2}}, kind=MERGE)
    read = await running.ask("GET", f"{V2}/a")
    assert read["spec"]["metrics"] == [BOTH]
    assert read["status"]["currentReplicas"] == 2


async def test_behavior_in_an_annotation_gets_the_defaults_of_v2(running: Live) -> None:
    await create(running, PODS)
    behavior = '{"ScaleUp":{"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":1}]}}'
    annotations = {"autoscaling.alpha.kubernetes.io/behavior": behavior}
    await running.ask("PATCH", f"{V1}/a", {"metadata": {"annotations": annotations}}, kind=MERGE)
    read = (await running.ask("GET", f"{V2}/a"))["spec"]["behavior"]
    assert read["scaleUp"]["selectPolicy"] == "Min"
    assert read["scaleDown"]["policies"] == [{"type": "Percent", "value": 100, "periodSeconds": 15}]


async def test_fields_that_a_conversion_sets_have_a_manager(running: Live) -> None:
    spec = {"scaleTargetRef": REFERENCE, "maxReplicas": 3}
    created = await running.ask("POST", V1, {"metadata": {"name": "a"}, "spec": spec})
    assert created["spec"]["targetCPUUtilizationPercentage"] == 80
    (entry,) = created["metadata"]["managedFields"]
    assert "f:targetCPUUtilizationPercentage" in entry["fieldsV1"]["f:spec"]


async def test_usage_that_is_written_at_v1_has_no_value_at_v2(running: Live) -> None:
    await create(running, PODS)
    status = {"status": {"currentCPUUtilizationPercentage": 7}}
    changed = await running.ask("PATCH", f"{V1}/a/status", status, kind=MERGE)
    annotation = changed["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/current-metrics"]
    assert '"currentAverageValue":"0"' in annotation
    assert (await running.ask("GET", f"{V2}/a"))["status"]["currentMetrics"] == [USAGE]


async def test_create_at_v1_drops_the_status(running: Live) -> None:
    status = {"currentCPUUtilizationPercentage": 5}
    scaler = {"metadata": {"name": "a"}, "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 3}, "status": status}
    created = await running.ask("POST", V1, scaler)
    assert created["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
