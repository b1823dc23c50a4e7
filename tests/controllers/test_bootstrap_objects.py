"""Priority classes, flow schemas and priority levels after a start."""

from __future__ import annotations

from pathlib import Path

from tests.support.live import Live, live

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
FLOWCONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1"


async def names(running: Live, path: str) -> set[str]:
    return {item["metadata"]["name"] for item in (await running.ask("GET", path))["items"]}


async def test_default_objects_exist(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        assert await names(running, CLASSES) == {"system-cluster-critical", "system-node-critical"}
        levels = (await running.ask("GET", f"{FLOWCONTROL}/prioritylevelconfigurations"))["items"]
        schemas = (await running.ask("GET", f"{FLOWCONTROL}/flowschemas"))["items"]
        assert (len(levels), len(schemas)) == (8, 11)
        used = {schema["spec"]["priorityLevelConfiguration"]["name"] for schema in schemas}
        assert used == {level["metadata"]["name"] for level in levels}
        managers = [entry["manager"].split("-")[-2] for entry in schemas[0]["metadata"]["managedFields"]]
        assert managers == ["consumer", "producer"]


async def test_next_start_creates_only_missing_objects(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.ask("DELETE", f"{FLOWCONTROL}/flowschemas/probes")
        before = await running.ask("GET", f"{FLOWCONTROL}/flowschemas/exempt")
    async with live(tmp_path) as running:
        assert "probes" in await names(running, f"{FLOWCONTROL}/flowschemas")
        assert await running.ask("GET", f"{FLOWCONTROL}/flowschemas/exempt") == before
