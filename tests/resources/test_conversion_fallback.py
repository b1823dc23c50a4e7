"""Reads, watches and writes while a real conversion webhook is down, on a server with --conversion-fallback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from polykind.cache.cached_object import CachedObject, Representation, parse_stored
from polykind.clock import SystemClock
from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import CALL, AttemptError, ConversionFailedError
from polykind.conversion.last_conversions import LastConversions
from polykind.resources.conversion_fallback import ConversionFallback
from polykind.resources.custom import CustomResource
from tests.conversion.hook import GROUP, Call, Hook, Reply, convert_all, converted
from tests.conversion.test_served_conversions import NAME, crd_with, crontab, crontabs, webhook
from tests.support.client import Reply as ClientReply
from tests.support.live import DEADLINE_SECONDS, DEFINITIONS, Live, live

MERGE = "application/merge-patch+json"


def down(call: Call) -> Reply:
    return Reply(b"no endpoints", status=503)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path, hook: Hook) -> AsyncIterator[Live]:
    async with live(tmp_path, conversion_fallback=True) as server:
        await server.define(crd_with(webhook(hook)))
        yield server


def resource_of(server: Live) -> CustomResource:
    resource = server.server.registry.resource(GROUP, "crontabs")
    assert isinstance(resource, CustomResource)
    return resource


async def change(server: Live, name: str, **spec: Any) -> JsonObject:
    changed: JsonObject = await server.ask("PATCH", crontabs("v1", name), {"spec": spec}, kind=MERGE)
    return changed


def warnings(reply: ClientReply) -> str:
    return reply.headers.get(b"warning", b"").decode()


async def condition(server: Live, status: str) -> JsonObject:
    """Wait until the CRD has the condition ConversionFallback with this status."""

    def wanted(kind: str, crd: JsonObject) -> bool:
        return any(
            c["type"] == "ConversionFallback" and c["status"] == status for c in crd["status"].get("conditions", ())
        )

    event = await server.until(f"{DEFINITIONS}?fieldSelector=metadata.name={NAME}", wanted)
    found: JsonObject = next(c for c in event["object"]["status"]["conditions"] if c["type"] == "ConversionFallback")
    return found


async def test_changed_object_is_shown_as_last_converted_with_a_warning(running: Live, hook: Hook) -> None:
    created = await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    before = await running.ask("GET", crontabs("v2", "one"))
    hook.behaviour = down
    await change(running, "one", a=2)
    reply = await running.client.call("GET", crontabs("v2", "one"))
    shown = json.loads(reply.body)
    assert (reply.status, shown) == (200, before)
    assert shown["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    text = warnings(reply)
    assert "one is shown at v2 as it was converted at" in text
    assert "because the converter fails since" in text
    assert "503 Service Unavailable" in text
    assert "later changes are missing in one" in text
    assert (await condition(running, "True"))["reason"] == "ConverterDown"
    page = (await running.server.metrics.render()).decode()
    assert f'polykind_conversion_fallback_objects_total{{crd="{NAME}",version="v2"}} 1.0' in page


async def test_update_based_on_the_last_conversion_conflicts(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    await running.ask("GET", crontabs("v2", "one"))
    hook.behaviour = down
    await change(running, "one", a=2)
    shown = await running.ask("GET", crontabs("v2", "one"))
    await running.ask("PUT", crontabs("v2", "one"), shown, expect=500)
    hook.behaviour = convert_all
    await running.ask("PUT", crontabs("v2", "one"), shown, expect=409)
    assert (await running.ask("GET", crontabs("v1", "one")))["spec"] == {"a": 2}


async def test_list_mixes_conversions_and_names_the_object_that_was_never_converted(running: Live, hook: Hook) -> None:
    for name in ("one", "two"):
        await running.ask("POST", crontabs("v1"), crontab(name, a=1))
    await running.ask("GET", crontabs("v2"))
    hook.behaviour = down
    await change(running, "two", a=2)
    reply = await running.client.call("GET", crontabs("v2"))
    assert [item["spec"] for item in json.loads(reply.body)["items"]] == [{"a": 1}, {"a": 1}]
    assert "two is shown at v2" in warnings(reply)
    await running.ask("POST", crontabs("v1"), crontab("three"))
    status = await running.ask("GET", crontabs("v2"), expect=500)
    assert status["details"]["name"] == "three"
    assert "for three (uid" in status["message"]


async def test_object_of_the_same_name_is_not_mistaken_for_its_predecessor(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    await running.ask("GET", crontabs("v2", "one"))
    hook.behaviour = down
    await running.ask("DELETE", crontabs("v1", "one"))
    await running.ask("POST", crontabs("v1"), crontab("one", a=2))
    await running.ask("GET", crontabs("v2", "one"), expect=500)


async def test_refusal_of_the_converter_is_not_hidden(running: Live, hook: Hook) -> None:
    def refuse(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"]["result"] = {"status": "Failed", "message": "cannot convert this"}
        return Reply(json.dumps(answer).encode())

    await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    await running.ask("GET", crontabs("v2", "one"))
    hook.behaviour = refuse
    await change(running, "one", a=2)
    assert "cannot convert this" in (await running.ask("GET", crontabs("v2", "one"), expect=500))["message"]


async def test_watches_expire_when_the_converter_is_back(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    await running.ask("GET", crontabs("v2"))
    fallback = resource_of(running).fallback
    assert fallback is not None
    fallback.probe_seconds = 0.01
    hook.behaviour = down
    await change(running, "one", a=2)
    listed = await running.ask("GET", crontabs("v2"))
    assert listed["items"][0]["spec"] == {"a": 1}
    revision = listed["metadata"]["resourceVersion"]
    events = running.watch(f"{crontabs('v2')}?watch=1&resourceVersion={revision}")
    waiting = asyncio.ensure_future(anext(events))
    await condition(running, "True")
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not any(channel.view.version == "v2" for channel in resource_of(running).channels.values()):
            await asyncio.sleep(0)
    hook.behaviour = convert_all
    async with asyncio.timeout(DEADLINE_SECONDS):
        event = await waiting
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert "list again" in event["object"]["message"]
    assert (await condition(running, "False"))["reason"] == "Recovered"
    late = await running.ask("GET", f"{crontabs('v2')}?watch=1&resourceVersion={revision}")
    assert late["object"]["code"] == 410
    listed = await running.ask("GET", crontabs("v2"))
    assert listed["items"][0]["spec"] == {"a": 2}
    revision = listed["metadata"]["resourceVersion"]
    await change(running, "one", a=3)
    async with asyncio.timeout(DEADLINE_SECONDS):
        event = await anext(running.watch(f"{crontabs('v2')}?watch=1&resourceVersion={revision}"))
    assert (event["type"], event["object"]["spec"]) == ("MODIFIED", {"a": 3})


async def test_watch_starts_with_the_last_conversions(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one", a=1))
    await running.ask("GET", crontabs("v2"))
    hook.behaviour = down
    await change(running, "one", a=2)
    async with asyncio.timeout(DEADLINE_SECONDS):
        event = await anext(running.watch(f"{crontabs('v2')}?watch=1"))
    assert (event["type"], event["object"]["spec"]) == ("ADDED", {"a": 1})


async def test_write_that_cannot_convert_managed_fields_fails(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v2"), {**crontab("one", a=1), "apiVersion": f"{GROUP}/v2"})
    before = await running.ask("GET", crontabs("v1", "one"))
    assert [entry["apiVersion"] for entry in before["metadata"]["managedFields"]] == [f"{GROUP}/v2"]
    hook.behaviour = down
    await running.ask("PATCH", crontabs("v1", "one"), {"spec": {"a": 2}}, kind=MERGE, expect=500)
    assert await running.ask("GET", crontabs("v1", "one")) == before


async def test_without_the_flag_an_outage_fails_reads_and_drops_managed_fields(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        await server.define(crd_with(webhook(hook)))
        await server.ask("POST", crontabs("v2"), {**crontab("one", a=1), "apiVersion": f"{GROUP}/v2"})
        hook.behaviour = down
        changed = await change(server, "one", a=2)
        assert "managedFields" not in changed["metadata"]
        reply = await server.client.call("GET", crontabs("v2", "one"))
        assert reply.status == 500
        assert b"warning" not in reply.headers
        await server.ask("DELETE", crontabs("v2", "one"), expect=500)


async def test_tests_of_the_converter_survive_unexpected_errors() -> None:
    """An error of the server itself must not end the tests, because reads would then show old data for ever."""
    results: list[Exception] = [RuntimeError("unexpected")]
    announced: list[tuple[str, str]] = []

    async def view_many(objects: Sequence[CachedObject]) -> list[Representation]:
        if results:
            raise results.pop()
        return list(objects)

    async def announce(condition: JsonObject, recovered: str) -> None:
        announced.append((condition["status"], recovered))
        if not recovered:
            raise RuntimeError("cannot write")

    fallback = ConversionFallback("crd", LastConversions(), SystemClock(), lambda crd, version, objects: None, announce)
    fallback.probe_seconds = 0
    cached = parse_stored("default/one", b"{}", 7, False)
    fallback.remember("v2", cached, Representation(b"{}", None))
    last = fallback.find("v2", cached)
    assert last is not None
    error = ConversionFailedError(AttemptError("down", CALL, "Connection"), {}, "example.com/v2", "https://hook")
    fallback.shown("v2", [(cached, last)], error, {"default/one": cached}.get, view_many)
    assert fallback.outage("v2", cached) is error
    async with asyncio.timeout(DEADLINE_SECONDS):
        while len(announced) < 2:
            await asyncio.sleep(0)
    assert announced == [("True", ""), ("False", "v2")]
    assert fallback.outage("v2", cached) is None
