"""Events in both of their groups, with a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.live import Live, live

CORE = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


async def test_one_event_is_served_in_two_groups(running: Live) -> None:
    involved = {"kind": "Event", "namespace": "default", "name": "x", "apiVersion": "v1"}
    await running.ask("POST", CORE, {"metadata": {"name": "e"}, "involvedObject": involved, "message": "m", "count": 2})
    (old,) = (await running.ask("GET", CORE))["items"]
    (new,) = (await running.ask("GET", EVENTS))["items"]
    assert (old["message"], old["count"], old["involvedObject"]) == ("m", 2, involved)
    assert (new["note"], new["deprecatedCount"], new["regarding"]) == ("m", 2, involved)
    assert not {"kind", "apiVersion"} & {*old, *new}
    assert (await running.ask("GET", f"{EVENTS}/e"))["apiVersion"] == "events.k8s.io/v1"


async def test_only_the_new_group_validates_strictly(running: Live) -> None:
    event = {"metadata": {"name": "e"}, "regarding": {"namespace": "default"}, "type": "Odd"}
    refused = await running.ask("POST", EVENTS, event, expect=422)
    assert refused["message"].startswith('Event "e" is invalid: [eventTime: Required value, type: Invalid value: ""')
    assert "group" not in refused["details"]
    await running.ask("POST", CORE, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})


async def test_errors_name_the_internal_type_of_both_groups(running: Live) -> None:
    for path in (CORE, EVENTS):
        refused = await running.ask("POST", path, {"apiVersion": "v1", "kind": "Pod"}, expect=400)
        assert refused["message"].endswith("converting (v1.Pod) to (core.Event): unknown conversion")


@pytest.mark.parametrize("path", [CORE, EVENTS])
async def test_resource_version_of_a_get_is_compared_with_the_store(running: Live, path: str) -> None:
    await running.ask("POST", CORE, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    await running.ask("GET", f"{path}/e?resourceVersion=1")
    rejected = await running.ask("GET", f"{path}/e?resourceVersion=bad", expect=400)
    assert rejected["message"].startswith('invalid resource version: resourceVersion: Invalid value: "bad": strconv.')
    too_large = await running.ask("GET", f"{path}/e?resourceVersion=99999999", expect=504)
    assert "retryAfterSeconds" not in too_large["details"]
