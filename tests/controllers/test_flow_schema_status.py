"""The condition Dangling of FlowSchemas."""

from __future__ import annotations

from pathlib import Path

from polykind.contract import CompactedError, JsonObject
from tests.support.live import Live, live

FLOWCONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1"
LEVEL = {
    "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
    "kind": "PriorityLevelConfiguration",
    "metadata": {"name": "mine"},
    "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
}
SCHEMA = {
    "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
    "kind": "FlowSchema",
    "metadata": {"name": "mine"},
    "spec": {"priorityLevelConfiguration": {"name": "mine"}},
}


async def dangling(running: Live, status: str) -> JsonObject:
    """Wait until the condition has a status and return it."""

    def has_status(_: str, schema: JsonObject) -> bool:
        return any(one["status"] == status for one in schema["status"].get("conditions", ()))

    event = await running.until(f"{FLOWCONTROL}/flowschemas?fieldSelector=metadata.name%3Dmine", has_status)
    condition: JsonObject = event["object"]["status"]["conditions"][0]
    return condition


async def test_condition_follows_the_priority_level(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.ask("POST", f"{FLOWCONTROL}/flowschemas", SCHEMA)
        missing = await dangling(running, "True")
        assert missing["reason"] == "NotFound"
        assert missing["message"].endswith('named "mine" but there is no such object')
        await running.ask("POST", f"{FLOWCONTROL}/prioritylevelconfigurations", LEVEL)
        assert (await dangling(running, "False"))["reason"] == "Found"
        await running.ask("DELETE", f"{FLOWCONTROL}/prioritylevelconfigurations/mine")
        assert (await dangling(running, "True"))["reason"] == "NotFound"


async def test_condition_follows_a_priority_level_whose_deletion_the_watch_missed(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.ask("POST", f"{FLOWCONTROL}/prioritylevelconfigurations", LEVEL)
        await running.ask("POST", f"{FLOWCONTROL}/flowschemas", SCHEMA)
        await dangling(running, "False")
        cache, store = running.server.cache, running.server.store
        assert cache._watch is not None
        cache._watch.close()
        stored = await store.get("/registry/prioritylevelconfigurations/mine")
        assert stored is not None
        await store.delete(stored.key, expect=stored.revision)
        cache.on_lost(CompactedError(1, 2))
        await dangling(running, "True")
