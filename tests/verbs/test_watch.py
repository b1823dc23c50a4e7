"""Watches on a running server with concurrent writes."""

from __future__ import annotations

import asyncio
import json
import random
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from polykind.cache.cached_object import Representation
from polykind.cache.watch_channel import WatchChannel
from polykind.contract import JsonObject
from polykind.http.messages import Request
from polykind.operations.responses import Stream
from tests.support.live import Live, live
from tests.support.waiting import eventually_async
from tests.support.widgets import GROUP, MERGE, WIDGETS, definition, widget


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


def path(version: str, query: str = "") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/default/widgets{query}"


class Mirror:
    """An informer: it lists, watches, and starts again when the watch ends."""

    def __init__(self, running: Live, version: str, selector: str = "") -> None:
        self.running, self.version, self.selector = running, version, selector
        self.objects: dict[str, dict[str, Any]] = {}
        self.seen = 0

    async def follow(self, until: asyncio.Future[int]) -> None:
        more = f"&labelSelector={self.selector}" if self.selector else ""
        async with self.running.another() as client:
            listed = (await client.call("GET", path(self.version, f"?{more}"))).json()
            self.objects = {i["metadata"]["name"]: i for i in listed["items"]}
            self.seen = int(listed["metadata"]["resourceVersion"])
            while not (until.done() and self.seen >= until.result()):
                query = f"?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={self.seen}{more}"
                async for line in client.lines(path(self.version, query)):
                    self.take(json.loads(line))

    def take(self, event: dict[str, Any]) -> None:
        kind, obj = event["type"], event["object"]
        revision, name = int(obj["metadata"]["resourceVersion"]), obj["metadata"].get("name")
        assert revision >= self.seen, event
        self.seen = revision
        if kind == "BOOKMARK":
            return
        assert kind in ("ADDED", "MODIFIED", "DELETED"), event
        assert (name in self.objects) == (kind != "ADDED"), event
        if kind == "DELETED":
            del self.objects[name]
        else:
            self.objects[name] = obj


async def test_list_and_watch_converge_under_concurrent_writes(running: Live) -> None:
    """Informers that start at random times see the final state, at both versions, with and without selector."""
    chance = random.Random(7)
    loop = asyncio.get_running_loop()
    quiet: asyncio.Future[int] = loop.create_future()

    async def writer(number: int) -> None:
        async with running.another() as client:
            for turn in range(60):
                name = f"w{chance.randrange(12)}"
                labels = {"labels": {"odd": str(chance.randrange(2))}}
                choice = chance.randrange(4)
                if choice == 0:
                    await client.call("DELETE", f"{WIDGETS}/{name}")
                elif choice == 1:
                    await client.call("PATCH", f"{WIDGETS}/{name}", {"spec": {"size": turn}, "metadata": labels}, MERGE)
                else:
                    await client.call("POST", WIDGETS, widget(name, meta=labels, size=number))

    mirrors = [Mirror(running, v, s) for v in ("v1", "v2") for s in ("", "odd=1")]
    following: list[asyncio.Task[None]] = []

    async def joiner() -> None:
        for mirror in mirrors:
            following.append(asyncio.create_task(mirror.follow(quiet)))
            await asyncio.sleep(0.03)

    await asyncio.gather(*(writer(n) for n in range(6)), joiner())
    quiet.set_result(await running.server.store.revision())
    async with asyncio.timeout(20):
        await asyncio.gather(*following)
    for mirror in mirrors:
        more = f"?labelSelector={mirror.selector}" if mirror.selector else ""
        now = await running.ask("GET", path(mirror.version, more))
        assert mirror.objects == {i["metadata"]["name"]: i for i in now["items"]}


async def test_many_watchers_receive_the_same_events_in_order(running: Live) -> None:
    start = (await running.ask("GET", WIDGETS))["metadata"]["resourceVersion"]
    query = f"?watch=1&resourceVersion={start}&timeoutSeconds=2"

    async def follow() -> list[bytes]:
        async with running.another() as client:
            return [line async for line in client.lines(path("v1", query))]

    watching = [asyncio.create_task(follow()) for _ in range(40)]
    kind = running.server.registry.resource(GROUP, "widgets")
    assert kind is not None
    await eventually_async(lambda: sum(len(c.watchers) for c in kind.channels.values()) >= 40)
    assert len(kind.channels) == 1
    for number in range(30):
        await running.ask("POST", WIDGETS, widget(f"w{number}"))
    reported = await asyncio.gather(*watching)
    assert [json.loads(line)["object"]["metadata"]["name"] for line in reported[0]] == [f"w{n}" for n in range(30)]
    assert all(lines == reported[0] for lines in reported)
    assert kind.channels == {}


async def test_watch_before_the_window_is_expired(running: Live) -> None:
    start = (await running.ask("POST", WIDGETS, widget("w")))["metadata"]["resourceVersion"]
    for number in range(5):
        await running.ask("PATCH", f"{WIDGETS}/w", {"spec": {"size": number}}, kind=MERGE)
    store, cache = running.server.store, running.server.cache.resource(GROUP, "widgets")
    newest = await store.revision()
    cache.load(cache.parse((await store.range(cache.prefix)).items), newest)
    await store.compact(newest)
    event = await running.ask("GET", f"{WIDGETS}?watch=1&resourceVersion={start}")
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {start} (")


LIST_OF_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("media", ["json", "vnd.kubernetes.protobuf"])
async def test_watch_for_metadata_lists_ends_with_existing_objects(running: Live, media: str) -> None:
    await running.ask("POST", WIDGETS, widget("w"))
    client = running.another()
    client.accept = LIST_OF_METADATA.replace("json", media)
    async with client:
        reply = await client.call("GET", f"{WIDGETS}?watch=1&resourceVersion=0")
        assert (reply.status, reply.body) == (200, b"")


async def test_watch_for_metadata_lists_ends_with_the_first_change(running: Live) -> None:
    client = running.another()
    client.accept = LIST_OF_METADATA
    async with client:
        waiting = asyncio.create_task(client.call("GET", f"{WIDGETS}?watch=1"))
        while not any(k.channels for k in running.server.registry.resources()):
            await asyncio.sleep(0)
        await running.ask("POST", WIDGETS, widget("w"))
        assert (await asyncio.wait_for(waiting, 5)).body == b""


async def test_bookmark_of_a_builtin_kind_has_its_required_fields(running: Live) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    path = f"/api/v1/namespaces/empty/services?{query}&timeoutSeconds=1"
    (bookmark,) = [json.loads(line)["object"] async for line in running.client.lines(path)]
    assert bookmark["metadata"].pop("resourceVersion")
    assert bookmark == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"annotations": {"k8s.io/initial-events-end": "true"}},
        "spec": {},
        "status": {"loadBalancer": {}},
    }


async def test_table_watch_sends_columns_once_and_an_initial_bookmark(running: Live) -> None:
    for name in ("a", "b"):
        await running.ask("POST", WIDGETS, widget(name))
    client = running.another()
    client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with client:
        lines = [json.loads(line) async for line in client.lines(f"{WIDGETS}{query}&timeoutSeconds=1")]
    reported = [(e["type"], bool(e["object"]["columnDefinitions"])) for e in lines]
    assert reported == [("ADDED", True), ("ADDED", False), ("BOOKMARK", False)]
    assert lines[2]["object"]["rows"][0]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_table_columns_are_sent_with_the_first_event_despite_concurrent_changes(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    headers = {
        b"authorization": f"Bearer {running.server.token}".encode(),
        b"accept": b"application/json;as=Table;v=v1;g=meta.k8s.io",
    }
    answer = await running.server.http.app(Request("GET", WIDGETS, "watch=1", headers, b""))
    assert isinstance(answer, Stream)
    # The client has not yet read the initial events.
    await running.ask("POST", WIDGETS, widget("b"))
    sink = Taken()
    answer.start(sink)
    await eventually_async(lambda: len(sink.lines) >= 2)
    answer.on_end()
    reported = [(e["object"]["rows"][0]["cells"][0], bool(e["object"]["columnDefinitions"])) for e in sink.lines]
    assert reported == [("a", True), ("b", False)]


class Taken:
    """A sink that records its frames."""

    def __init__(self) -> None:
        self.lines: list[JsonObject] = []

    def send(self, frame: bytes) -> None:
        body = frame.partition(b"\r\n")[2].removesuffix(b"\r\n")
        self.lines += [json.loads(line) for line in body.splitlines()]

    def send_part(self, data: bytes) -> None:
        raise AssertionError("watches send framed events")

    async def drained(self) -> None:
        await asyncio.sleep(0)

    def finish(self) -> None: ...

    def abort(self) -> None: ...


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("fieldSelector=a%3Db", "field label not supported: a"),
        ("resourceVersion=x", "resourceVersion: Invalid value: "),
        ("limit=1", "only the following media types are accepted: application/json;stream=watch, "),
    ],
)
async def test_watch_validates_options_before_the_media_type(running: Live, query: str, says: str) -> None:
    client = running.another()
    client.accept = "application/yaml"
    async with client:
        reported = yaml.safe_load((await client.call("GET", f"{WIDGETS}?watch=1&{query}")).body)
        assert reported["message"].startswith(says)


async def test_watch_of_one_object_validates_the_field_selector_before_the_name(running: Live) -> None:
    reply = await running.client.call("GET", path("watch", "/w?fieldSelector=a%3Db").replace("/watch/", "/v1/watch/"))
    assert reply.json()["message"] == "field label not supported: a"


async def test_past_events_are_encoded_while_they_are_sent(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    revision = (await running.ask("GET", WIDGETS))["metadata"]["resourceVersion"]
    for name in "abcde":
        await running.ask("POST", WIDGETS, widget(name))
    encoded: list[Representation] = []
    encode = WatchChannel.encode_object

    def count(channel: WatchChannel, representation: Representation, stamp: int) -> bytes:
        encoded.append(representation)
        return encode(channel, representation, stamp)

    monkeypatch.setattr(WatchChannel, "encode_object", count)
    headers = {b"authorization": f"Bearer {running.server.token}".encode()}
    query = f"watch=1&resourceVersion={revision}"
    answer = await running.server.http.app(Request("GET", WIDGETS, query, headers, b""))
    assert isinstance(answer, Stream)
    assert len(encoded) == 1
    sink = Taken()
    answer.start(sink)
    await eventually_async(lambda: len(sink.lines) >= 5)
    answer.on_end()
    assert [event["object"]["metadata"]["name"] for event in sink.lines] == list("abcde")


GZIP = {"accept-encoding": "br, gzip"}
STREAMED_LIST = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"


async def watched(running: Live, query: str, headers: dict[str, str]) -> tuple[str | None, list[JsonObject]]:
    """Return the Content-Encoding and the events of a watch. A widget is created after the initial events."""
    decompressor = zlib.decompressobj(wbits=31)
    text = b""
    headers = {"authorization": f"Bearer {running.server.token}", **headers}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(running.server.url + path("v1", f"?watch=1&{query}"), headers=headers, ssl=False) as response,
    ):
        encoding = response.headers.get("Content-Encoding")
        async for data in response.content.iter_any():
            while data and encoding:
                text += decompressor.decompress(data)
                data = decompressor.unused_data
                if decompressor.eof:
                    decompressor = zlib.decompressobj(wbits=31)
            text += data
            if text.count(b"\n") == 2:
                await running.client.call("POST", WIDGETS, widget("late"))
    return encoding, [json.loads(line) for line in text.splitlines()]


async def test_streamed_list_is_compressed_if_the_gate_is_enabled(tmp_path: Path) -> None:
    async with live(tmp_path, feature_gates={"WatchListCompression": True}) as running:
        await running.define(definition())
        await running.ask("POST", WIDGETS, widget("first", size=1))
        encoding, events = await watched(running, STREAMED_LIST, GZIP)
        assert encoding == "gzip"
        assert [e["type"] for e in events][:3] == ["ADDED", "BOOKMARK", "ADDED"]
        assert [e["object"]["metadata"].get("name") for e in events][:3] == ["first", None, "late"]
        assert (await watched(running, STREAMED_LIST, {"accept-encoding": "identity"}))[0] is None
        assert (await watched(running, "timeoutSeconds=1", GZIP))[0] is None


async def test_streamed_list_is_not_compressed_by_default(running: Live) -> None:
    assert (await watched(running, STREAMED_LIST, GZIP))[0] is None
