"""Indexes of labels and fields: they find what a search through all objects finds, while objects change."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from polykind.cache import resource_cache, value_index
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.value_index import UNKNOWN, IndexQuery, Unknown, ValueIndexes
from polykind.contract import StoreEvent
from tests.cache.helpers import PREFIX, value
from tests.support.live import DEFINITIONS, live
from tests.support.widgets import ALL, MERGE, WIDGETS, definition, namespace, widget


@pytest.fixture(autouse=True)
def small_resources_have_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "MIN_OBJECTS", 1)
    monkeypatch.setattr(resource_cache, "_MIN_SELECTIVITY", 1)
    monkeypatch.setattr(value_index, "MIN_OBJECTS", 5)


def color_of(cached: CachedObject) -> str | Unknown | None:
    labels = cached.labels or {}
    return UNKNOWN if "secret" in labels else labels.get("color")


def query(*colors: str | None) -> IndexQuery:
    return IndexQuery("color", color_of, lambda color: color in colors, colors)


def other_than(color: str) -> IndexQuery:
    return IndexQuery("color", color_of, lambda found: found != color, None)


def written(key: str, revision: int, **labels: str) -> StoreEvent:
    return StoreEvent(PREFIX + key, value(key, labels=labels), revision)


def found(cache: ResourceCache, *queries: IndexQuery, namespace: str | None = None, after: str = "") -> list[str]:
    objects = cache.find(list(queries), namespace, after)
    assert objects is not None
    return [cached.key for cached in objects]


async def test_lookup_after_every_kind_of_change() -> None:
    random, cache, revision = Random(1), ResourceCache(PREFIX), 200
    cache.load([], 1)
    cache.apply_events([written(f"z/{i}", 2 + i, color="many") for i in range(150)], revision)
    for step in range(300):
        key, revision = f"{random.choice('abc')}/{random.randrange(12)}", revision + 1
        labels = {"color": random.choice(("red", "green", "blue"))} if random.random() < 0.8 else {}
        if random.random() < 0.1:
            labels["secret"] = "yes"
        gone = random.random() < 0.3
        cache.apply_events([StoreEvent(PREFIX + key, None, revision) if gone else written(key, revision, **labels)], 1)
        if step % 3 == 0:
            await cache.prepare_indexes([query("red")])
        if not cache.indexes:
            continue
        for asked in (query("red"), query("red", "blue"), query(None), other_than("many")):
            expected = [c.key for c in cache.snapshot(None) if asked.accepts((c.labels or {}).get("color"))]
            keys = found(cache, asked)
            assert keys == sorted(keys)
            assert set(expected) <= set(keys)
            await cache.prepare_indexes([asked])
            exact = [c.key for c in cache.snapshot(None) if color_of(c) is UNKNOWN or asked.accepts(_color(c))]
            assert set(exact) <= set(found(cache, asked))


def _color(cached: CachedObject) -> str | None:
    color = color_of(cached)
    return None if isinstance(color, Unknown) else color


async def test_lookup_is_limited_to_namespace_and_later_keys() -> None:
    cache = ResourceCache(PREFIX)
    cache.load([], 1)
    keys = ("a/1", "a/2", "b/1", "b/2", "b/3")
    cache.apply_events([written(key, 2 + i, color="red") for i, key in enumerate(keys)], 7)
    cache.apply_events([written(f"b/0{i}", 10 + i, color="blue") for i in range(9)], 20)
    await cache.prepare_indexes([query("red")])
    assert found(cache, query("red"), after="a/1") == ["a/2", "b/1", "b/2", "b/3"]
    assert found(cache, query("red"), namespace="b", after="b/1") == ["b/2", "b/3"]


async def test_index_is_not_used_while_it_is_built_or_if_it_leaves_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ResourceCache(PREFIX)
    cache.load([], 1)
    cache.apply_events([written(f"a/{i}", 2 + i, color="red") for i in range(9)], 10)
    assert cache.find([query("red")], None, "") is None
    await cache.prepare_indexes([query("red")])
    monkeypatch.setattr(resource_cache, "_MIN_SELECTIVITY", 2)
    assert cache.find([query("red")], None, "") is None
    assert found(cache, query("blue")) == []


async def test_stale_entries_and_unused_indexes_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ResourceCache(PREFIX)
    cache.load([], 1)
    for i in range(200):
        cache.apply_events([written("a/x", 2 + i, color=f"c{i}")], 2 + i)
        await cache.prepare_indexes([query("c1")])
    [index] = cache.indexes.values()
    assert len(index._keys) < 20
    for number in range(value_index.MAX_INDEXES + 3):
        await cache.prepare_indexes([IndexQuery(number, color_of, bool, None)])
    assert len(cache.indexes) == value_index.MAX_INDEXES
    cache.indexes.drop_idle()
    assert cache.indexes
    monkeypatch.setattr(value_index, "IDLE_SECONDS", -1.0)
    cache.indexes.drop_idle()
    assert not cache.indexes


async def test_reload_drops_indexes() -> None:
    cache = ResourceCache(PREFIX)
    cache.load([], 1)
    cache.apply_events([written("a/x", 2, color="red")], 2)
    await cache.prepare_indexes([query("red")])
    cache.load([], 3)
    assert not cache.indexes


def test_no_index_no_answer() -> None:
    assert ValueIndexes().find([query("red")], 100) is None


# ---------------------------------------------------------------------- with a server


def names(listed: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_selections_of_a_server(tmp_path: Path) -> None:
    crd = definition()
    for version in crd["spec"]["versions"]:
        version["selectableFields"] = [{"jsonPath": ".spec.note"}, {"jsonPath": ".spec.size"}]
    async with live(tmp_path) as running:
        await running.define(crd)
        await running.ask("POST", "/api/v1/namespaces", namespace("other"))
        other = WIDGETS.replace("default", "other")
        for i in range(12):
            labels = {"app": f"app{i % 4}", **({"even": "yes"} if i % 2 == 0 else {})}
            meta = {"labels": labels}
            await running.ask("POST", WIDGETS if i % 3 else other, widget(f"w{i:02}", meta=meta, note=f"n{i % 3}"))
        selections = {
            "labelSelector=app%3Dapp1": ["w09", "w01", "w05"],
            "labelSelector=app+in+(app1,app2),even": ["w06", "w02", "w10"],
            "labelSelector=%21even,app%3Dapp3": ["w03", "w07", "w11"],
            "labelSelector=app+notin+(app0,app1,app2)": ["w03", "w07", "w11"],
            "labelSelector=app%3Dnone": [],
            "fieldSelector=spec.note%3Dn1,metadata.namespace%3Ddefault": ["w01", "w04", "w07", "w10"],
            "fieldSelector=spec.note%3Dn2&labelSelector=even": ["w02", "w08"],
            "fieldSelector=spec.size%21%3D1": [],
            "fieldSelector=metadata.name%3Dw09": ["w09"],
        }
        for _ in range(2):
            for selection, expected in selections.items():
                listed = await running.ask("GET", f"{ALL}?{selection}")
                assert sorted(names(listed)) == sorted(expected), selection
                first = await running.ask("GET", f"{ALL}?{selection}&limit=1")
                assert names(first) == names(listed)[:1]
                if expected and "continue" in first["metadata"] and first["metadata"]["continue"]:
                    token = first["metadata"]["continue"]
                    rest = await running.ask("GET", f"{ALL}?{selection}&continue={token}")
                    assert names(rest) == names(listed)[1:]
        assert running.server.cache.resource("test.example.com", "widgets").indexes
        await running.ask("PATCH", f"{WIDGETS}/w01", {"metadata": {"labels": {"app": "app2"}}}, kind=MERGE)
        await running.ask("PATCH", f"{WIDGETS}/w02", {"spec": {"note": "n9", "size": 7}}, kind=MERGE)
        await running.ask("DELETE", f"{WIDGETS}/w05")
        assert names(await running.ask("GET", f"{ALL}?labelSelector=app%3Dapp1")) == ["w09"]
        assert names(await running.ask("GET", f"{WIDGETS}?labelSelector=app%3Dapp2")) == ["w01", "w02", "w10"]
        assert names(await running.ask("GET", f"{ALL}?fieldSelector=spec.note%3Dn9")) == ["w02"]
        assert names(await running.ask("GET", f"{ALL}?fieldSelector=spec.size%21%3D1")) == ["w02"]
        await running.ask("PATCH", f"{DEFINITIONS}/widgets.test.example.com", {"spec": {"names": {}}}, kind=MERGE)


async def test_labels_that_clients_do_not_see_are_not_indexed(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.ask("POST", WIDGETS, widget("fine", meta={"labels": {"a": "b"}}))
        stored = value("default/odd", spec={}).replace(b'"name"', b'"labels":{"a":"b","c":1},"name"')
        stored = stored.replace(b"example.com/v1", b"test.example.com/v1").replace(b'"Foo"', b'"Widget"')
        await running.server.store.put("/registry/test.example.com/widgets/default/odd", stored, expect=0)
        for _ in range(2):
            assert names(await running.ask("GET", f"{WIDGETS}?labelSelector=a%3Db")) == ["fine"]
            assert names(await running.ask("GET", f"{WIDGETS}?labelSelector=%21a")) == ["odd"]
