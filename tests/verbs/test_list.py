"""Lists: consistent pages, expired tokens, and fairness on the event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from polykind.cache.resource_cache import ResourceCache
from polykind.contract import RevisionRead
from polykind.http.messages import Request
from polykind.operations.responses import BodyStream, Response
from polykind.store.sqlite import SqliteStore
from polykind.verbs import list as list_verb
from polykind.verbs import respond
from polykind.verbs import watch as watch_verb
from tests.conversion.hook import Hook, failing
from tests.support.client import Reply
from tests.support.live import DEFINITIONS, Live, live
from tests.support.loop_time import worst_lag
from tests.support.waiting import eventually_async
from tests.support.widgets import ALL, GROUP, MERGE, NAME, WIDGETS, definition, namespace, widget


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


def names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def next_page(running: Live, page: dict[str, Any], path: str = WIDGETS, limit: int = 3) -> Any:
    return await running.ask("GET", f"{path}?limit={limit}&continue={quote(page['metadata']['continue'])}")


async def fill(running: Live, count: int, path: str = WIDGETS, **more: Any) -> None:
    """Create many objects over a few parallel connections."""
    numbers = iter(range(count))

    async def worker() -> None:
        async with running.another() as client:
            for number in numbers:
                reply = await client.call("POST", path, widget(f"w{number:06}", **more))
                assert reply.status == 201, reply.body

    await asyncio.gather(*(worker() for _ in range(16)))


@pytest.mark.parametrize(
    ("path", "selector", "count"),
    [
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "metadata.namespace=", 1),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "metadata.namespace!=default", 1),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "metadata.namespace=default", 0),
        ("/api/v1/services", "spec.type=ExternalName", 0),
    ],
)
async def test_selectable_fields_of_builtin_kinds(running: Live, path: str, selector: str, count: int) -> None:
    assert len(names(await running.ask("GET", f"{path}?fieldSelector={quote(selector)}"))) == count


async def test_new_selectable_fields_apply_to_existing_objects(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", size=5))
    assert names(await running.ask("GET", f"{WIDGETS}?fieldSelector=metadata.name%21%3Dx")) == ["w"]
    changed = await running.ask("GET", f"{DEFINITIONS}/{NAME}")
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "unlike v2"
    changed["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.size"}]
    await running.ask("PUT", f"{DEFINITIONS}/{NAME}", changed)
    assert names(await running.ask("GET", f"{WIDGETS}?fieldSelector=spec.size%3D5")) == ["w"]


@pytest.mark.parametrize("version", ["5", "00", "abc"])
async def test_continue_with_resource_version_is_rejected(running: Live, version: str) -> None:
    await fill(running, 2)
    page = await running.ask("GET", f"{WIDGETS}?limit=1")
    token = quote(page["metadata"]["continue"])
    reply = await running.client.call("GET", f"{WIDGETS}?continue={token}&resourceVersion={version}")
    assert reply.json()["message"] == "specifying resource version is not allowed when using continue"


@pytest.mark.parametrize(
    ("method", "query", "key"), [("GET", "", ""), ("GET", "?watch=1", ""), ("DELETE", "", ""), ("GET", "/w", "/w")]
)
async def test_dot_namespaces_are_invalid_keys(running: Live, method: str, query: str, key: str) -> None:
    reply = await running.client.call(method, f"/apis/{GROUP}/v1/namespaces/%2e%2e/widgets{query}")
    assert reply.json()["message"] == f'invalid key: "/{GROUP}/widgets/..{key}"'


async def test_pages_are_consistent_while_objects_are_written(running: Live) -> None:
    await fill(running, 10)
    first = await running.ask("GET", f"{WIDGETS}?limit=3")
    assert (names(first), first["metadata"]["remainingItemCount"]) == (["w000000", "w000001", "w000002"], 7)
    await running.ask("DELETE", f"{WIDGETS}/w000003")
    await running.ask("POST", WIDGETS, widget("w0000035"))
    await running.ask("PATCH", f"{WIDGETS}/w000004", {"spec": {"size": 9}}, kind=MERGE)
    pages = [first]
    while pages[-1]["metadata"].get("continue"):
        pages.append(await next_page(running, pages[-1]))
    assert [n for page in pages for n in names(page)] == [f"w{i:06}" for i in range(10)]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [7, 4, 1, None]
    assert pages[1]["items"][1]["spec"] == {"size": 1}
    now = await running.ask("GET", WIDGETS)
    assert "w000003" not in names(now)
    assert "w0000035" in names(now)


async def test_pages_across_namespaces_whose_names_are_prefixes(running: Live) -> None:
    spaces = ["a", "a-b", "a0", "ab"]
    for space in spaces:
        await running.ask("POST", "/api/v1/namespaces", namespace(space))
        for name in ("x", "x-y", "x.y"):
            await running.ask("POST", f"/apis/test.example.com/v1/namespaces/{space}/widgets", widget(name))
    whole = await running.ask("GET", ALL)
    keys = [f"{i['metadata']['namespace']}/{i['metadata']['name']}" for i in whole["items"]]
    assert keys == sorted(keys)
    for change in (False, True):
        page, received = await running.ask("GET", f"{ALL}?limit=2"), []
        if change:
            await running.ask("POST", WIDGETS, widget("new"))
        while True:
            received += [f"{i['metadata']['namespace']}/{i['metadata']['name']}" for i in page["items"]]
            if not page["metadata"].get("continue"):
                break
            page = await next_page(running, page, ALL, 2)
        assert received == keys


async def test_deletecollection_returns_all_objects_in_order(running: Live) -> None:
    await fill(running, 200)
    await running.ask("PATCH", f"{WIDGETS}/w000007", {"metadata": {"finalizers": ["example.com/x"]}}, kind=MERGE)
    start = (await running.ask("GET", WIDGETS))["metadata"]["resourceVersion"]
    deleted = await running.ask("DELETE", WIDGETS)
    assert names(deleted) == [f"w{i:06}" for i in range(200)]
    assert names(await running.ask("GET", WIDGETS)) == ["w000007"]
    path = f"{WIDGETS}?watch=1&resourceVersion={start}&timeoutSeconds=1"
    received = [(e["type"], e["object"]["metadata"]["name"]) async for e in running.watch(path)]
    assert received == [("MODIFIED" if i == 7 else "DELETED", f"w{i:06}") for i in range(200)]


async def test_deletecollection_ignores_objects_that_are_already_gone(running: Live) -> None:
    await fill(running, 2)
    then = (await running.ask("GET", WIDGETS))["metadata"]["resourceVersion"]
    await running.ask("DELETE", f"{WIDGETS}/w000000")
    gone = await running.ask("DELETE", f"{WIDGETS}?resourceVersion={then}&resourceVersionMatch=Exact&dryRun=All")
    assert names(gone) == ["w000000", "w000001"]


async def test_exact_future_revision_is_rejected_at_once(running: Live) -> None:
    for requested in ("resourceVersionMatch=Exact", "limit=1"):
        rejected = await running.ask("GET", f"{WIDGETS}?resourceVersion=99999999&{requested}", expect=504)
        assert "retryAfterSeconds" not in rejected["details"]


async def test_selected_page_continues_if_the_range_has_more_objects(running: Live) -> None:
    await fill(running, 3)
    across = await running.ask("GET", f"{ALL}?fieldSelector=metadata.name%3Dw000001&limit=1")
    assert (names(across), bool(across["metadata"]["continue"])) == (["w000001"], True)
    single = await running.ask("GET", f"{WIDGETS}?fieldSelector=metadata.name%3Dw000001&limit=1&resourceVersion=1")
    assert (names(single), single["metadata"]["continue"]) == (["w000001"], "")


async def test_expired_token_can_be_continued_inconsistently(running: Live) -> None:
    await fill(running, 6)
    first = await running.ask("GET", f"{WIDGETS}?limit=2")
    await running.ask("DELETE", f"{WIDGETS}/w000002")
    newest = await running.server.store.revision()
    await running.server.store.compact(newest)
    token = quote(first["metadata"]["continue"])
    gone = await running.ask("GET", f"{WIDGETS}?limit=2&continue={token}", expect=410)
    assert (gone["reason"], gone["code"]) == ("Expired", 410)
    assert gone["message"].startswith("The provided continue parameter is too old to display a consistent list result.")
    rest = await next_page(running, gone)
    assert names(rest) == ["w000003", "w000004", "w000005"]
    assert int(rest["metadata"]["resourceVersion"]) >= newest


async def test_list_at_a_compacted_revision_is_expired(running: Live) -> None:
    old = (await running.ask("POST", WIDGETS, widget("w")))["metadata"]["resourceVersion"]
    await running.ask("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, kind=MERGE)
    await running.server.store.compact(await running.server.store.revision())
    gone = await running.ask("GET", f"{WIDGETS}?resourceVersion={old}&resourceVersionMatch=Exact", expect=410)
    assert gone["reason"] == "Expired"


async def test_list_at_a_past_revision(running: Live) -> None:
    created = await running.ask("POST", WIDGETS, widget("w", size=1))
    await running.ask("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, kind=MERGE)
    await running.ask("DELETE", f"{WIDGETS}/w")
    then = created["metadata"]["resourceVersion"]
    past = await running.ask("GET", f"{WIDGETS}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert [item["spec"] for item in past["items"]] == [{"size": 1}]
    assert past["metadata"]["resourceVersion"] == then


async def test_lists_and_watches_survive_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as before:
        await before.define(definition())
        await fill(before, 20)
        start = (await before.ask("GET", WIDGETS))["metadata"]["resourceVersion"]
        await before.ask("PATCH", f"{WIDGETS}/w000003", {"spec": {"size": 2}}, kind=MERGE)
        await before.ask("DELETE", f"{WIDGETS}/w000004")
        listed = await before.ask("GET", WIDGETS)
        definitions = await before.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    async with live(tmp_path) as after:
        again = await after.ask("GET", WIDGETS)
        assert again["items"] == listed["items"]
        assert (await after.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"))["items"] == (
            definitions["items"]
        )
        path = f"{WIDGETS}?watch=1&resourceVersion={start}&timeoutSeconds=1"
        received = [(e["type"], e["object"]["metadata"]["name"]) async for e in after.watch(path)]
        assert received == [("MODIFIED", "w000003"), ("DELETED", "w000004")]


# ---------------------------------------------------------------------- event loop


FORMS = {
    "json": "application/json",
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "metadata": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "yaml": "application/yaml",
    "pretty": "application/json;pretty=1",
}


async def accepted(running: Live, path: str, accept: str) -> Reply:
    """Send a GET to the application itself, so that only the server is measured."""
    where, _, query = path.partition("?")
    headers = {b"accept": accept.encode(), b"authorization": f"Bearer {running.server.token}".encode()}
    answer = await running.server.http.app(Request("GET", where, query, headers, b""))
    if isinstance(answer, BodyStream):
        received = ReceivedBody()
        answer.start(received)
        await received.complete.wait()
        return Reply(answer.status, {}, received.body)
    assert isinstance(answer, Response)
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return Reply(answer.status, {}, body)


class ReceivedBody:
    """A client that receives the chunks of a streamed body."""

    def __init__(self) -> None:
        self.body = b""
        self.complete = asyncio.Event()

    def send(self, chunk: bytes) -> None:
        raise AssertionError("a body is sent in parts that are not framed")

    def send_part(self, data: bytes) -> None:
        self.body += data

    async def drained(self) -> None:
        await asyncio.sleep(0)

    def finish(self) -> None:
        self.complete.set()

    def abort(self) -> None:
        raise AssertionError("the body was not complete")


def shape(form: str, body: bytes) -> list[Any]:
    value = yaml.load(body, Loader=yaml.CSafeLoader) if form == "yaml" else json.loads(body)
    members: list[Any] = value["rows" if form == "table" else "items"]
    return members


@pytest.mark.parametrize("form", FORMS)
async def test_long_list_does_not_block_the_event_loop(tmp_path: Path, form: str) -> None:
    count = 2000
    async with live(tmp_path) as running:
        await running.define(definition())
        await fill(running, count, note="x" * 300)
        short = await accepted(running, f"{WIDGETS}?limit=1", FORMS[form])
        requested = asyncio.create_task(accepted(running, WIDGETS, FORMS[form]))
        lag = await worst_lag(requested)
        members = shape(form, requested.result().body)
        assert len(members) == count
        if form != "table":
            assert members[:1] == shape(form, short.body)
    assert lag < 0.02


STREAMED_FORMS = {
    **{form: {b"accept": FORMS[form].encode()} for form in ("table", "metadata", "yaml", "pretty")},
    "protobuf": {b"accept": b"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
    "gzip": {b"accept-encoding": b"gzip"},
}


async def test_parts_of_streamed_lists_take_turns(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(running, 300, note="x" * 300)
    monkeypatch.setattr(respond, "STREAM_ABOVE_BYTES", 0)
    monkeypatch.setattr(respond, "PROTOBUF_STREAM_ABOVE_BYTES", 0)
    turns = running.server.cache.workers.turns.queue
    for form, headers in STREAMED_FORMS.items():
        headers[b"authorization"] = f"Bearer {running.server.token}".encode()
        answer = await running.server.http.app(Request("GET", WIDGETS, "", headers, b""))
        assert isinstance(answer, BodyStream)
        received = ReceivedBody()
        await turns.acquire("another user")
        answer.start(received)
        await eventually_async(lambda: turns.waiting, pause=0.001)
        assert not received.complete.is_set(), form
        turns.release()
        await asyncio.wait_for(received.complete.wait(), 30)


@pytest.mark.parametrize(
    "query", ["", "?labelSelector=app%21%3Dx", "?watch=1&timeoutSeconds=1&labelSelector=app%21%3Dx"]
)
async def test_selections_take_turns(running: Live, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    await fill(running, 30)
    monkeypatch.setattr(list_verb, "_SLICE", 10)
    monkeypatch.setattr(watch_verb, "_SLICE", 10)
    turns = running.server.cache.workers.turns.queue
    await turns.acquire("another user")
    requested = asyncio.create_task(running.client.call("GET", WIDGETS + query))
    await eventually_async(lambda: turns.waiting, pause=0.001)
    turns.release()
    assert (await requested).body.count(b'"kind":"Widget"') == 30


@pytest.mark.parametrize("form", FORMS)
async def test_empty_list_in_every_format(running: Live, form: str) -> None:
    assert not shape(form, (await accepted(running, WIDGETS, FORMS[form])).body)


async def test_patch_of_a_collection_checks_the_content_type_before_the_name(running: Live) -> None:
    await running.ask("PATCH", WIDGETS, {}, expect=415)
    rejected = await running.ask("PATCH", WIDGETS, {}, kind=MERGE, expect=400)
    assert rejected["message"] == "name must be provided"


async def test_missing_subresource_is_not_found_for_every_method(running: Live) -> None:
    for method in ("GET", "OPTIONS", "TRACE", "BREW"):
        await running.ask(method, f"{WIDGETS}/a/nope", expect=404)


class Remote(SqliteStore):
    """A store with remote revision reads; a test can make something happen before a read completes."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.meanwhile: Callable[[], Awaitable[object]] = self.nothing

    async def nothing(self) -> None:
        return

    def start_revision_read(self) -> Awaitable[RevisionRead]:  # type: ignore[override]
        async def sent() -> RevisionRead:
            return self

        return sent()

    async def result(self) -> int:
        # Only once, because the injected action reads revisions as well.
        meanwhile, self.meanwhile = self.meanwhile, self.nothing
        await meanwhile()
        return await super().revision()

    async def revision(self, read: RevisionRead | None = None) -> int:
        return await (super().revision() if read is None else self.result())


@pytest.mark.parametrize("query", ["", "?limit=2", "?labelSelector=app%21%3Dx"])
async def test_list_includes_writes_before_the_revision_read_completes(tmp_path: Path, query: str) -> None:
    store = Remote(tmp_path)
    async with live(tmp_path, store=store) as running, running.another() as other:
        await running.define(definition())
        await running.ask("POST", WIDGETS, widget("b"))
        store.meanwhile = lambda: other.call("POST", WIDGETS, widget("a"))
        listed = await running.ask("GET", WIDGETS + query)
        assert names(listed) == ["a", "b"]
        assert listed["metadata"]["resourceVersion"] == listed["items"][0]["metadata"]["resourceVersion"]
        store.meanwhile = lambda: other.call("DELETE", f"{WIDGETS}/a")
        assert names(await running.ask("GET", WIDGETS + query)) == ["b"]


async def test_page_collected_early_has_the_read_revision(tmp_path: Path) -> None:
    store = Remote(tmp_path)
    async with live(tmp_path, store=store) as running, running.another() as other:
        await running.define(definition())
        for name in "abc":
            await running.ask("POST", WIDGETS, widget(name))
        store.meanwhile = lambda: other.call("POST", "/api/v1/namespaces", namespace("elsewhere"))
        listed = await running.ask("GET", f"{WIDGETS}?limit=2")
        created = await running.ask("GET", "/api/v1/namespaces/elsewhere")
        assert names(listed) == ["a", "b"]
        assert listed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        assert names(await next_page(running, listed, limit=2)) == ["c"]


async def test_objects_behind_a_selected_page_are_not_converted(tmp_path: Path) -> None:
    async with Hook(behaviour=failing({"c"})) as hook, live(tmp_path) as running:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.webhook_config()}
        await running.define(crd)
        for name in "abc":
            await running.ask("POST", WIDGETS, widget(name, meta={"labels": {"l": "1"}}))
        page = await running.ask("GET", f"{WIDGETS.replace('/v1/', '/v2/')}?limit=2&labelSelector=l%3D1")
        assert names(page) == ["a", "b"]


def is_uniform(cache: ResourceCache) -> bool:
    """True if the cache knows that every object is its own representation at v1."""
    return cache.uniform == ("v1", cache.schema_generation)


async def test_list_of_uniform_objects_follows_every_change(running: Live) -> None:
    cache = running.server.cache.resource(GROUP, "widgets")
    for name in ("a", "b"):
        await running.ask("POST", WIDGETS, widget(name))
    assert names(await running.ask("GET", ALL)) == ["a", "b"]
    assert is_uniform(cache)
    await running.ask("POST", WIDGETS, widget("c"))
    await running.ask("DELETE", f"{WIDGETS}/a")
    assert is_uniform(cache)
    assert names(await running.ask("GET", ALL)) == names(await running.ask("GET", WIDGETS)) == ["b", "c"]
    # At another version, each object has another representation.
    assert {i["apiVersion"] for i in (await running.ask("GET", ALL.replace("v1", "v2")))["items"]} == {f"{GROUP}/v2"}
    # Another program stores an object that lacks a default.
    stored = await running.server.store.get(f"{cache.prefix}default/b")
    assert stored is not None
    await running.server.store.put(stored.key, stored.value.replace(b'"size":1', b'"more":1'), expect=None)
    assert not is_uniform(cache)
    assert [item["spec"] for item in (await running.ask("GET", ALL))["items"]] == [{"size": 1}, {"size": 1}]
    assert not is_uniform(cache)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/api/v1/namespaces/%2e%2e/configmaps/a", "/configmaps/../a"),
        ("/api/v1/namespaces/%2e/services", "/services/specs/."),
        ("/apis/networking.k8s.io/v1/namespaces/%2e%2e/ingresses/a", "/ingress/../a"),
        ("/apis/events.k8s.io/v1/namespaces/%2e%2e/events", "/events/.."),
    ],
)
async def test_namespace_outside_the_prefix_of_a_builtin_resource(tmp_path: Path, path: str, key: str) -> None:
    async with live(tmp_path) as running:
        assert (await running.ask("GET", path, expect=500))["message"] == f'invalid key: "{key}"'
