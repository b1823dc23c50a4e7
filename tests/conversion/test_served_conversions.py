"""Conversions seen by clients: few calls, cached results, shared calls, and isolation of a bad converter."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.conversion import converters
from tests.conversion.hook import GROUP, Behaviour, Call, Hook, Reply, convert_all, converted
from tests.support.client import Client
from tests.support.live import DEADLINE_SECONDS, DEFINITIONS, Live, live
from tests.support.server import ServerProcess

NAME = f"crontabs.{GROUP}"
MERGE = "application/merge-patch+json"


def crontabs(version: str, name: str = "", group: str = GROUP) -> str:
    return f"/apis/{group}/{version}/crontabs" + (f"/{name}" if name else "")


def crontab(name: str, group: str = GROUP, **spec: Any) -> JsonObject:
    return {"apiVersion": f"{group}/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": spec or {"a": 1}}


def crd_with(conversion: JsonObject | None, group: str = GROUP) -> JsonObject:
    """Return a CRD that stores v1 and serves v1 and v2."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crontabs.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")],
            "conversion": conversion or {"strategy": "None"},
        },
    }


def webhook(hook: Hook, **config: Any) -> JsonObject:
    return {"strategy": "Webhook", "webhook": hook.webhook_config(**config)}


@pytest.fixture
async def running(tmp_path: Path, hook: Hook) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        await server.define(crd_with(webhook(hook)))
        yield server


async def wait_until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():
            await asyncio.sleep(0)


async def create_objects(server: Live, count: int) -> None:
    """Create objects at the storage version, from several clients at a time."""

    async def write(first: int) -> None:
        async with server.another() as client:
            for index in range(first, count, 32):
                reply = await client.call("POST", crontabs("v1"), crontab(f"o{index:05}", index=index))
                assert reply.status == 201

    await asyncio.gather(*(write(first) for first in range(32)))


async def test_long_list_takes_few_calls_and_is_then_cached(running: Live, hook: Hook) -> None:
    await create_objects(running, 2000)
    assert not hook.calls
    listed = await running.ask("GET", crontabs("v2"))
    assert [item["spec"]["index"] for item in listed["items"]] == list(range(2000))
    assert {item["apiVersion"] for item in listed["items"]} == {f"{GROUP}/v2"}
    assert len(hook.calls) <= 20
    assert sum(hook.sizes()) == 2000
    hook.calls.clear()
    assert (await running.ask("GET", crontabs("v2")))["items"] == listed["items"]
    await running.ask("GET", crontabs("v2", "o01234"))
    page = await running.ask("GET", crontabs("v2") + "?limit=100")
    assert len(page["items"]) == 100
    assert not hook.calls


async def test_page_converts_only_its_objects(running: Live, hook: Hook) -> None:
    await create_objects(running, 200)
    await running.ask("GET", crontabs("v2") + "?limit=10")
    assert sum(hook.sizes()) == 10


async def test_cached_conversions_are_counted(running: Live) -> None:
    await create_objects(running, 3)
    for _ in range(2):
        await running.ask("GET", crontabs("v2"))
    page = (await running.server.metrics.render()).decode()
    name = f"crontabs.{GROUP}"
    assert f'polykind_conversion_cache_misses_total{{crd="{name}"}} 3.0' in page
    assert f'polykind_conversion_cache_hits_total{{crd="{name}"}} 3.0' in page


async def test_readers_of_one_object_share_one_call(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    released = asyncio.Event()

    async def slow(call: Call) -> Reply:
        await released.wait()
        return convert_all(call)

    hook.behaviour = slow
    clients = [running.another() for _ in range(20)]
    reads = [asyncio.create_task(client.call("GET", crontabs("v2", "one"))) for client in clients]
    under_way = running.server.metrics.inflight.of("readOnly")
    await wait_until(lambda: under_way.value == 20 and hook.calls)
    released.set()
    replies = await asyncio.gather(*reads)
    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
    assert hook.sizes() == [1]
    for client in clients:
        client.close()


async def test_watch_event_is_converted_once_for_all_watchers(running: Live, hook: Hook) -> None:
    started = asyncio.Semaphore(0)

    async def watch_events() -> list[JsonObject]:
        events: list[JsonObject] = []
        async for event in running.watch(
            crontabs("v2") + "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
            "&resourceVersionMatch=NotOlderThan"
        ):
            if event["type"] == "BOOKMARK":
                started.release()
                continue
            events.append(event)
            if len(events) == 3:
                return events
        raise AssertionError("the watch ended")

    watchers = [asyncio.create_task(watch_events()) for _ in range(30)]
    async with asyncio.timeout(DEADLINE_SECONDS):
        for _ in watchers:
            await started.acquire()
        await running.ask("POST", crontabs("v1"), crontab("one"))
        await running.ask("PATCH", crontabs("v1", "one"), {"spec": {"a": 2}}, kind=MERGE)
        await running.ask("DELETE", crontabs("v1", "one"))
        watched = await asyncio.gather(*watchers)
    assert [event["type"] for event in watched[0]] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event["object"]["apiVersion"] for event in watched[0]] == [f"{GROUP}/v2"] * 3
    assert all(events == watched[0] for events in watched)
    assert hook.sizes() == [1, 1]


async def test_changed_object_or_crd_is_converted_again(running: Live, hook: Hook) -> None:
    async def calls() -> int:
        hook.calls.clear()
        await running.ask("GET", crontabs("v2", "one"))
        return len(hook.calls)

    await running.ask("POST", crontabs("v1"), crontab("one"))
    assert await calls() == 1
    assert await calls() == 0
    await running.ask("PATCH", crontabs("v1", "one"), {"spec": {"b": 2}}, kind=MERGE)
    assert await calls() == 1
    assert await calls() == 0
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    assert await calls() == 0
    moved = {"spec": {"conversion": webhook(hook, url=hook.url + "/elsewhere")}}
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", moved, kind=MERGE)
    assert await calls() == 1
    assert hook.calls[0].path.startswith("/convert/elsewhere")
    assert await calls() == 0


async def test_failed_conversion_is_not_cached(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    hook.behaviour = lambda _: Reply(b"", status=503)
    await running.ask("GET", crontabs("v2", "one"), expect=500)
    hook.behaviour = convert_all
    await running.ask("GET", crontabs("v2", "one"))


async def test_in_process_function_converts(tmp_path: Path) -> None:
    # Other tests in this process may have called the same function.
    converters.threads.clear()
    async with live(tmp_path, converter=("tests.conversion.converters:moves",)) as server:
        await server.define(crd_with(None))
        await server.ask("POST", crontabs("v1"), crontab("one", a=1))
        obj = await server.ask("GET", crontabs("v2", "one"))
        assert obj["spec"] == {"moved": {"a": 1}}
        assert obj["metadata"]["labels"] == {"to": "v2"}
        assert "finalizers" not in obj["metadata"]
        await server.ask("POST", crontabs("v2"), {**crontab("two"), "apiVersion": f"{GROUP}/v2"})
        assert (await server.ask("GET", crontabs("v1", "two")))["spec"] == {"moved": {"a": 1}}
    assert converters.threads
    assert all(name.startswith("polykind tests.conversion") for name in converters.threads)


async def test_resolve_flag_locates_the_service(tmp_path: Path) -> None:
    async with Hook("conv.default.svc") as hook:
        async with live(tmp_path, resolve=(f"default/conv=127.0.0.1:{hook.port}",)) as server:
            conversion = webhook(hook)
            client = conversion["webhook"]["clientConfig"]
            del client["url"]
            client["service"] = {"namespace": "default", "name": "conv", "path": "/there"}
            await server.define(crd_with(conversion))
            await server.ask("POST", crontabs("v1"), crontab("one"))
            await server.ask("GET", crontabs("v2", "one"))
        assert [call.path.partition("?")[0] for call in hook.calls] == ["/there"]


async def test_call_is_cancelled_when_all_clients_disconnect(running: Live, hook: Hook) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    hook.behaviour = hang
    client = running.another()
    read = asyncio.create_task(client.call("GET", crontabs("v2", "one")))
    await wait_until(lambda: hook.calls)
    read.cancel()
    await asyncio.gather(read, return_exceptions=True)
    client.close()
    under_way = running.server.metrics.inflight.of("readOnly")
    await wait_until(lambda: under_way.value == 0)
    hook.behaviour = convert_all
    await running.ask("GET", crontabs("v2", "one"))
    assert len(hook.calls) == 2


# ---------------------------------------------------------------------- converters that misbehave


async def hang(_: Call) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError


def lie(call: Call) -> Reply:
    def spoil(obj: JsonObject, _: int) -> None:
        obj["metadata"] = {**obj["metadata"], "name": "another"}

    return Reply(json.dumps(converted(call.review, spoil)).encode())


def die(_: Call) -> Reply:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    return Reply(raw=head + b'{"apiVersion":', then_close=True)


def flood(_: Call) -> Reply:
    return Reply(b'{"much":"' + b"x" * 40_000_000 + b'"}')


@pytest.mark.parametrize("behaviour", [hang, lie, die, flood], ids=lambda b: b.__name__)
async def test_bad_converter_does_not_affect_other_resources(
    server: ServerProcess, hook: Hook, group: str, behaviour: Behaviour
) -> None:
    """Other requests stay fast while many wait for the bad converter. The bound is generous for slow machines."""
    bad, fine = f"bad.{group}", f"fine.{group}"
    async with Client(server.url, server.token) as client:
        await expect(client.call("POST", DEFINITIONS, crd_with(webhook(hook), bad)), 201)
        await expect(client.call("POST", DEFINITIONS, crd_with(None, fine)), 201)
        for one in ("one", "two", "three"):
            await expect(client.call("POST", crontabs("v1", group=bad), crontab(one, bad)), 201)
        await expect(client.call("POST", crontabs("v1", group=fine), crontab("one", fine)), 201)
        hook.behaviour = behaviour
        others = [Client(server.url, server.token) for _ in range(8)]
        paths = [crontabs("v2", one, bad) for one in ("one", "two", "three", "")]
        waiting = [asyncio.create_task(other.call("GET", paths[i % 4])) for i, other in enumerate(others)]
        await wait_until(lambda: hook.calls)
        seconds = []
        for index in range(200):
            began = time.perf_counter()
            if index % 10:
                await expect(client.call("GET", crontabs("v2", "one", fine)), 200)
            else:
                await expect(client.call("POST", crontabs("v2", group=fine), beta(f"o{index}", fine)), 201)
            seconds.append(time.perf_counter() - began)
        seconds.sort()
        assert seconds[len(seconds) // 2] < 0.25, "half of the others' requests were slow"
        assert seconds[-1] < 5.0, "one of the others' requests was held up"
        if behaviour is hang:
            for task in waiting:
                task.cancel()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert behaviour is hang or {getattr(response, "status", 0) for response in answers} == {500}
        for other in others:
            other.close()
        # A request that arrives during a call waits for that call, so the disconnected clients must be noticed first.
        while b'inflight_requests{request_kind="readOnly"} 0.0' not in (await client.call("GET", "/metrics")).body:
            await asyncio.sleep(0)
        hook.behaviour = convert_all
        await expect(client.call("GET", crontabs("v2", "one", bad)), 200)
        for one in (bad, fine):
            await expect(client.call("DELETE", f"{DEFINITIONS}/crontabs.{one}"), 200)


def beta(name: str, group: str) -> JsonObject:
    return {**crontab(name, group), "apiVersion": f"{group}/v2"}


async def expect(response: Awaitable[Any], status: int) -> None:
    reply = await response
    assert reply.status == status, reply.body[:1000]
