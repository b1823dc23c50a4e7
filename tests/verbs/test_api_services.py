"""APIServices are listed for every API version that the server serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import GROUP, definition

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as started:
        yield started


async def names(running: Live) -> set[str]:
    return {item["metadata"]["name"] for item in (await running.ask("GET", PATH))["items"]}


async def test_builtin_versions_have_api_services(running: Live) -> None:
    found = await names(running)
    assert {"v1.", "v1.apps", "v2.autoscaling"} <= found
    assert "v1.apiregistration.k8s.io" not in found
    core = await running.ask("GET", f"{PATH}/v1.")
    assert core["spec"] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    assert core["status"]["conditions"][0]["reason"] == "Local"
    assert core["metadata"]["managedFields"][0]["manager"] == "kube-apiserver"


async def test_deleted_builtin_api_service_stays_deleted(running: Live) -> None:
    await running.ask("DELETE", f"{PATH}/v1.apps")
    assert "v1.apps" not in await names(running)


async def test_api_services_of_crds_follow_their_versions(running: Live) -> None:
    await running.define(definition())
    assert f"v1.{GROUP}" in await names(running)
    await running.ask("DELETE", f"{PATH}/v1.{GROUP}")
    assert f"v1.{GROUP}" in await names(running)
    await running.ask("DELETE", f"{DEFINITIONS}/widgets.{GROUP}")
    await running.gone(DEFINITIONS, f"widgets.{GROUP}")
    assert f"v1.{GROUP}" not in await names(running)


async def test_aggregated_api_service_has_a_warning(running: Live) -> None:
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    spec |= {"service": {"namespace": "default", "name": "b"}, "insecureSkipTLSVerify": True}
    reply = await running.client.call("POST", PATH, {"metadata": {"name": "v1.a.example.com"}, "spec": spec})
    assert reply.status == 201
    assert "aggregation is not supported: requests for a.example.com/v1" in str(reply.headers)
