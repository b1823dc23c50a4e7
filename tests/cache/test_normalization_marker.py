"""Normalization markers: a restarted server knows which objects are normalized, and never believes a wrong marker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from polykind import errors
from polykind.cache import normalization_marker, watch_cache
from polykind.cache.cached_object import (
    UNREAD_LABELS,
    CachedObject,
    Encoded,
    IrregularObject,
    parse_normalized,
    parse_stored,
)
from polykind.cache.normalization_marker import NormalizationMarker, StoredObjectParser
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.contract import DAMAGED_VALUE, KeyValue
from polykind.store.sqlite import SqliteStore
from polykind.store.sqlite import store as sqlite_store
from tests.cache.helpers import PREFIX, put, value
from tests.support.live import DEFINITIONS, Live, live
from tests.support.waiting import eventually_async
from tests.support.widgets import MERGE, NAME, WIDGETS, definition, widget

MARKER = "/registry/_polykind/normalized/example.com/foos"
WIDGET_MARKER = "/registry/_polykind/normalized/test.example.com/widgets"


@pytest.fixture(autouse=True)
def few_objects_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalization_marker, "MIN_UNMARKED", 3)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    await store.start()
    yield store
    await store.close()


async def loaded(store: SqliteStore, digests: Mapping[str, str], *normalized: str) -> tuple[WatchCache, ResourceCache]:
    """Start a cache and load the resource. Some of its objects turn out to be normalized."""
    root = WatchCache(store)
    await root.start()
    cache = root.resource("example.com", "foos")
    cache.change_schema(lambda: digests)
    await root.load(cache)
    for key in normalized:
        cached = cache.get(key)
        assert cached is not None
        cached.normalized = True
    return root, cache


def known(cache: ResourceCache) -> list[str]:
    return [c.key for c in cache.snapshot(None) if c.normalized and c.schema_generation == cache.schema_generation]


async def test_restart_knows_normalized_objects(store: SqliteStore) -> None:
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    root, cache = await loaded(store, {"v1": "d1"}, "a/x", "b/z")
    assert cache.unmarked == 3
    await root.close()
    await put(store, "b/z", n=1)
    await put(store, "b/new")
    root, cache = await loaded(store, {"v1": "d1"})
    assert known(cache) == ["a/x"]
    assert cache.unmarked == 3
    await root.close()


@pytest.mark.parametrize("digests", [{"v1": "d2"}, {"v2": "d1"}, {}])
async def test_marker_of_another_schema_is_ignored(store: SqliteStore, digests: dict[str, str]) -> None:
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    root, _ = await loaded(store, {"v1": "d1"}, "a/x", "a/y", "b/z")
    await root.close()
    assert await store.get(MARKER) is not None
    root, cache = await loaded(store, digests)
    assert known(cache) == []
    await root.close()


async def test_only_versions_with_the_same_schema_are_known(store: SqliteStore) -> None:
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    later = json.loads(value("b/later")) | {"apiVersion": "example.com/v2"}
    await store.put(f"{PREFIX}b/later", json.dumps(later, sort_keys=True, separators=(",", ":")).encode(), expect=0)
    root, _ = await loaded(store, {"v1": "d1", "v2": "d2"}, "a/x", "a/y", "b/z", "b/later")
    await root.close()
    root, cache = await loaded(store, {"v1": "changed", "v2": "d2"})
    assert known(cache) == ["b/later"]
    await root.close()


@pytest.mark.parametrize(
    "marker", [b"{", b"[]", b'{"revision":100000,"digests":{"v1":"d1"},"exceptions":[]}'], ids=["cut", "list", "future"]
)
async def test_invalid_marker_is_ignored(store: SqliteStore, marker: bytes) -> None:
    await put(store, "a/x")
    await store.put(MARKER, marker, expect=None)
    root, cache = await loaded(store, {"v1": "d1"})
    assert known(cache) == []
    await root.close()


async def test_no_marker_if_too_few_objects_are_known(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalization_marker, "MAX_EXCEPTIONS", 1)
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    root, cache = await loaded(store, {"v1": "d1"}, "a/x")
    for _ in range(3):
        await root._markers.write_due([cache])
    assert await store.get(MARKER) is None
    for cached in cache.snapshot(None):
        cached.normalized = True
    for _ in range(3):
        await root._markers.write_due([cache])
    assert await store.get(MARKER) is not None
    await root.close()


async def test_few_changes_write_no_marker(store: SqliteStore) -> None:
    root, cache = await loaded(store, {"v1": "d1"})
    await put(store, "a/x")
    await put(store, "a/y")
    await root._markers.write_due([cache])
    assert await store.get(MARKER) is None
    await root.close()


async def test_search_for_owners_starts_behind_the_marker(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    root, cache = await loaded(store, {"v1": "d1"}, "a/x", "a/y", "b/z")
    await root.close()
    root = WatchCache(store)
    await root.start()
    cache = root.resource("example.com", "foos")
    with monkeypatch.context() as no_scans:
        no_scans.delattr(SqliteStore, "scan")
        assert not await root.may_have_owners(cache)
        await put(store, "b/regular")
        assert not await root.may_have_owners(cache)
        await put(store, "b/owned", spec={"ownerReferences": []})
        assert await root.may_have_owners(cache)
    await store.delete(f"{PREFIX}b/owned", expect=None)
    await store.compact(await store.revision())
    assert not await root.may_have_owners(cache)
    await root.close()


async def test_marker_tells_about_owners(store: SqliteStore) -> None:
    for key in ("a/x", "a/y"):
        await put(store, key)
    await put(store, "b/owned", spec={"ownerReferences": []})
    root, cache = await loaded(store, {"v1": "d1"}, "a/x", "a/y", "b/owned")
    await root.close()
    assert root._markers.ownerless_revision(cache) == 0
    root = WatchCache(store)
    await root.start()
    assert await root.may_have_owners(root.resource("example.com", "foos"))
    await root.close()


def metadata(**more: Any) -> bytes:
    meta = {"name": "x", "namespace": "a", "uid": "u-1", **more}
    obj = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": meta, "spec": {"uid": "u-1", "x": {"uid": "u-1"}}}
    return json.dumps(obj, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "stored",
    [
        metadata(),
        metadata(labels={"a": "b", "uid": "u-1"}),
        metadata(annotations={"a": "b", "uid": "u-1"}, labels={"a": "b"}),
        metadata(ownerReferences=[{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u-1"}]),
        metadata(annotations={"a": ',"uid":"u-1"}'}),
        metadata(uid="}"),
        metadata(zone="after uid"),
        metadata(resourceVersion="7"),
        metadata() + b"\n",
        b'{"kind":"Foo","apiVersion":"v1","metadata":{"name":"x","uid":"u-1"}}',
        b'{"apiVersion":"v1","kind":"Foo","metadata":{"uid":"u-1"}}',
        b'{"apiVersion":"v1","kind":"Foo","metadata":7}',
        b'{"apiVersion":"v1","kind":"Foo","metadata":{',
        b"",
    ],
)
def test_fast_parser_equals_the_thorough_one(stored: bytes) -> None:
    assert fields(parse_normalized("a/x", stored, 12)) == fields(parse_stored("a/x", stored, 12, True))


def fields(cached: CachedObject) -> list[Any]:
    return [cached.labels, *(getattr(cached, name) for name in cached.__struct_fields__)]


def parsed(stored: bytes, **marker: Any) -> CachedObject:
    """Load an object as a marker describes it."""
    saved = NormalizationMarker(**{"revision": 20, "digests": {}, "exceptions": [], "irregular": [], **marker})
    parse = StoredObjectParser(ResourceCache("/registry/foos/"), saved, frozenset({"v1"}))
    [cached] = parse([KeyValue("/registry/foos/a/x", stored, 12)])
    return cached


@pytest.mark.parametrize(
    "stored",
    [
        metadata(),
        metadata() + b"\n",
        metadata(labels={"a": "b"}),
        metadata(ownerReferences=[{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u-0"}]),
        metadata(annotations={"uid": "u-1"}),
        metadata(annotations={"a": ',\\"uid\\":\\"u-1\\"}'}),
        metadata(managedFields=[{"fieldsV1": {"f:metadata": {"f:labels": {}}}}]),
    ],
)
def test_regular_object_is_loaded_without_parsing(stored: bytes) -> None:
    thorough = parse_stored("a/x", stored, 12, True)
    thorough.schema_generation = 1
    assert not isinstance(thorough, IrregularObject)
    loaded = parsed(stored)
    assert loaded.label("a") == (thorough.labels or {}).get("a")
    assert loaded.known_labels is UNREAD_LABELS
    labels = loaded.labels
    assert fields(loaded) == fields(thorough)
    assert loaded.labels is labels


@pytest.mark.parametrize(
    "stored",
    [
        metadata(labels={"a": "b", "uid": "u-1"}),
        metadata(annotations={"a": "b", "resourceVersion": "12", "uid": "u-1"}),
        metadata(ownerReferences=[{"kind": "K", "name": "n", "uid": "u-0"}, {"kind": "K", "name": "n", "uid": "u-1"}]),
        metadata(labels={"a": "b", "uid": "x"}, ownerReferences=[{"kind": "K", "name": "n", "uid": "u-0"}]),
        metadata(managedFields=[{"fieldsV1": {"a": {"resourceVersion": "12", "uid": "u-1"}}}]),
        metadata(uid='a"}'),
        metadata(zone="after uid"),
        metadata(resourceVersion="7"),
        metadata(resourceVersion="12"),
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"x"},"spec":{"n":1,"uid":"u-1"},"x":1}',
        b'{"apiVersion":"v1","kind":"Foo","metadata":{"uid":"u-1"}}',
        b'{"apiVersion":"v1","kind":"Foo","metadata":7}',
        DAMAGED_VALUE,
        b"",
    ],
)
def test_other_objects_are_irregular(stored: bytes) -> None:
    assert isinstance(parse_stored("a/x", stored, 12, True), IrregularObject)


@pytest.mark.parametrize(
    "more", [{}, {"ownerReferences": [{"name": "n", "uid": "u-0"}]}, {"labels": {"a": "b", "uid": "u"}}]
)
def test_written_object_is_regular_like_a_read_one(more: dict[str, Any]) -> None:
    encoded = Encoded(json.loads(metadata(**more)))
    written, read = (build("a/x", encoded.stored(), 12, True) for build in (encoded.cached_object, parse_stored))
    assert (type(written), fields(written)) == (type(read), fields(read))


def test_regular_object_at_a_version_with_another_schema_is_not_normalized() -> None:
    loaded = parsed(metadata().replace(b"example.com/v1", b"example.com/v2"))
    assert (loaded.version, loaded.normalized) == ("v2", False)


@pytest.mark.parametrize(
    "marker", [{"revision": 11}, {"exceptions": ["a/x"]}, {"irregular": ["a/x"]}, {"irregular": None}]
)
def test_marker_of_regular_objects_does_not_cover_an_object(marker: dict[str, Any]) -> None:
    stored = metadata(labels={"a": "b", "uid": "u-1"})
    thorough = parse_stored("a/x", stored, 12, "irregular" in marker)
    thorough.schema_generation = 1
    assert fields(parsed(stored, **marker)) == fields(thorough)


def test_damaged_value_of_a_regular_object_is_not_served() -> None:
    loaded = parsed(DAMAGED_VALUE)
    assert not loaded.normalized
    with pytest.raises(errors.InternalError, match="damaged in the store"):
        loaded.decode()


async def test_marker_names_irregular_objects(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("a/x", "a/y"):
        await put(store, key, labels={"a": "b"})
    await put(store, "b/z", labels={"a": "b", "uid": "u"})
    root, _ = await loaded(store, {"v1": "d1"}, "a/x", "a/y", "b/z")
    await root.close()
    root, cache = await loaded(store, {"v1": "d1"})
    assert unread(cache) == ["a/x", "a/y"]
    assert known(cache) == ["a/x", "a/y", "b/z"]
    monkeypatch.setattr(normalization_marker, "MAX_EXCEPTIONS", 0)
    cache.unmarked = 3
    await root.close()
    root, cache = await loaded(store, {"v1": "d1"})
    assert unread(cache) == []
    assert known(cache) == ["a/x", "a/y", "b/z"]
    await root.close()


def unread(cache: ResourceCache) -> list[str]:
    return [cached.key for cached in cache.snapshot(None) if cached.known_labels is UNREAD_LABELS]


# ---------------------------------------------------------------------- with a server


async def fill(running: Live) -> None:
    await running.define(definition())
    for name in ("a", "b", "c", "d"):
        await running.ask("POST", WIDGETS, widget(name, note=name))


async def test_server_restarts_with_known_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "SCAN_KEYS", 2)
    async with live(tmp_path) as running:
        await fill(running)
        before = await running.ask("GET", WIDGETS)
    async with live(tmp_path) as running:
        cache = running.server.cache.resource("test.example.com", "widgets")
        await running.server.cache.load(cache)
        assert len(known(cache)) == 4
        after = await running.ask("GET", WIDGETS)
    assert after["items"] == before["items"]


async def test_server_applies_a_new_default_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await fill(running)
    async with live(tmp_path) as running:
        schema = definition()["spec"]["versions"][0]["schema"]
        schema["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] = {"type": "string", "default": "red"}
        versions = [version | {"schema": schema} for version in definition()["spec"]["versions"]]
        await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}, kind=MERGE)
    async with live(tmp_path) as running:
        listed = await running.ask("GET", WIDGETS)
        assert [item["spec"]["color"] for item in listed["items"]] == ["red"] * 4
        assert await running.server.store.get(WIDGET_MARKER) is not None


async def test_resource_with_marker_is_loaded_after_a_restart(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("a/x", "a/y", "b/z"):
        await put(store, key)
    root, _ = await loaded(store, {"v1": "d1"}, "a/x", "a/y", "b/z")
    await root.close()
    monkeypatch.setattr(watch_cache, "_READ_AHEAD_SECONDS", 0.0)
    root = WatchCache(store)
    await root.start()
    large, other = root.resource("example.com", "foos"), root.resource("example.com", "bars")
    for cache in (large, other):
        cache.change_schema(lambda: {"v1": "d1"})
    await eventually_async(lambda: large.loaded)
    assert known(large) == ["a/x", "a/y", "b/z"]
    assert not other.loaded
    await root.close()
