"""PriorityClasses on a running server."""

from __future__ import annotations

from pathlib import Path

from tests.support.live import live

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


async def test_system_classes_cannot_be_deleted(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        error = await running.ask("DELETE", f"{CLASSES}/system-node-critical", expect=403)
    assert error["message"] == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


async def test_system_classes_are_deleted_with_the_collection(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        deleted = await running.ask("DELETE", CLASSES)
        assert "system-node-critical" in {item["metadata"]["name"] for item in deleted["items"]}
        assert (await running.ask("GET", CLASSES))["items"] == []


async def test_updates_do_not_change_the_generation(tmp_path: Path) -> None:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 5}
    async with live(tmp_path) as running:
        created = await running.ask("POST", CLASSES, body)
        assert (created["metadata"]["generation"], created["preemptionPolicy"]) == (1, "PreemptLowerPriority")
        patch = {"description": "text"}
        updated = await running.ask("PATCH", f"{CLASSES}/a", patch, kind="application/merge-patch+json")
        assert (updated["metadata"]["generation"], updated["description"]) == (1, "text")
