"""Dispatch of changes to the watches that they may concern."""

from __future__ import annotations

import asyncio
from pathlib import Path

from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.value_index import UNKNOWN, IndexQuery, Unknown
from polykind.contract import StoreEvent
from tests.cache.helpers import PREFIX, value
from tests.support.live import DEADLINE_SECONDS, Live, live
from tests.support.waiting import eventually_async
from tests.support.widgets import ALL, MERGE, WIDGETS, definition, widget


class Recorder:
    """An observer that records the keys of the changes that it gets."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.resets = 0

    def on_changes(self, changes: list[ObjectChange]) -> None:
        self.keys += [change.cached.key for change in changes]

    def on_reset(self) -> None:
        self.resets += 1


class Colors:
    """Reads the label `color` and counts the reads."""

    def __init__(self) -> None:
        self.reads = 0

    def value_of(self, cached: CachedObject) -> str | Unknown | None:
        self.reads += 1
        color = (cached.labels or {}).get("color")
        return UNKNOWN if color == "unknown" else color

    def query(self, *values: str | None) -> IndexQuery:
        return IndexQuery("color", self.value_of, lambda value: value in values, values)


def written(key: str, revision: int, color: str) -> StoreEvent:
    return StoreEvent(PREFIX + key, value(key, labels={"color": color}), revision)


def test_changes_reach_only_the_observers_of_their_old_or_new_value() -> None:
    cache, colors = ResourceCache(PREFIX), Colors()
    cache.load([], 1)
    red, both, blue = Recorder(), Recorder(), Recorder()
    cache.dispatch.add(red, colors.query("red"))
    cache.dispatch.add(both, colors.query("red", "blue"))
    cache.dispatch.add(blue, colors.query("blue"))
    cache.apply_events([written("a/1", 2, "red"), written("a/2", 3, "blue"), written("a/3", 4, "green")], 4)
    cache.apply_events([written("a/1", 5, "blue")], 5)
    cache.apply_events([StoreEvent(f"{PREFIX}a/2", None, 6)], 6)
    assert red.keys == ["a/1", "a/1"]
    assert both.keys == ["a/1", "a/2", "a/1", "a/2"]
    assert blue.keys == ["a/2", "a/1", "a/2"]
    cache.apply_events([written("a/4", 7, "unknown")], 7)
    assert [observer.keys[-1] for observer in (red, both, blue)] == ["a/4"] * 3
    cache.reset()
    assert [observer.resets for observer in (red, both, blue)] == [1, 1, 1]


def label_query(label: str, *values: str | None) -> tuple[IndexQuery, list[str]]:
    """Return a query for a label, and the keys of the objects whose labels it has read."""
    reads: list[str] = []

    def value_of(cached: CachedObject) -> str | None:
        reads.append(cached.key)
        return (cached.labels or {}).get(label)

    return IndexQuery(("label", label), value_of, lambda value: value in values, values, label), reads


def test_change_costs_nothing_for_watches_of_labels_that_the_object_does_not_have() -> None:
    cache = ResourceCache(PREFIX)
    cache.load([], 1)
    color, other, without = Recorder(), Recorder(), Recorder()
    (color_query, _), (other_query, reads) = label_query("color", "red"), label_query("size", "7")
    cache.dispatch.add(color, color_query)
    cache.dispatch.add(other, other_query)
    cache.apply_events([written("a/1", 2, "red"), written("a/1", 3, "blue")], 3)
    assert (color.keys, other.keys, reads) == (["a/1", "a/1"], [], [])
    cache.dispatch.add(without, label_query("size", None)[0])
    cache.apply_events([written("a/2", 4, "red")], 4)
    assert (other.keys, without.keys) == ([], ["a/2"])
    cache.dispatch.remove(without)
    cache.dispatch.add(other, other_query)
    cache.apply_events([StoreEvent(f"{PREFIX}a/3", value("a/3", labels={"size": "7"}), 5)], 5)
    cache.dispatch.remove(other)
    cache.dispatch.remove(color)
    cache.apply_events([written("a/4", 6, "red")], 6)
    assert (color.keys, other.keys, without.keys) == (["a/1", "a/1", "a/2"], ["a/3"], ["a/2"])


def test_cost_of_a_change_does_not_depend_on_the_number_of_watches() -> None:
    cache, colors = ResourceCache(PREFIX), Colors()
    cache.load([], 1)
    observers = [Recorder() for _ in range(1000)]
    for number, observer in enumerate(observers):
        cache.dispatch.add(observer, colors.query(f"c{number}"))
    cache.apply_events([written("a/1", 2, "c7")], 2)
    assert colors.reads == 1
    assert [observer for observer in observers if observer.keys] == [observers[7]]
    for observer in observers:
        cache.dispatch.remove(observer)
        cache.dispatch.remove(observer)
    assert not cache.dispatch.queries
    assert not cache.dispatch._groups


async def events(running: Live, path: str, count: int) -> list[str]:
    seen: list[str] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        async for event in running.watch(f"{path}&watch=1&allowWatchBookmarks=false"):
            seen.append(f"{event['type']} {event['object']['metadata']['name']}")
            if len(seen) == count:
                return seen
    raise AssertionError(f"the watch ended after {seen}")


async def test_watches_with_selectors_see_objects_enter_and_leave(tmp_path: Path) -> None:
    crd = definition()
    for version in crd["spec"]["versions"]:
        version["selectableFields"] = [{"jsonPath": ".spec.note"}]
    async with live(tmp_path) as running:
        await running.define(crd)
        start = (await running.ask("GET", ALL))["metadata"]["resourceVersion"]
        selections = {
            f"{ALL}?labelSelector=color%3Dred": ["ADDED x", "MODIFIED x", "DELETED x", "ADDED last"],
            f"{ALL}?labelSelector=color+in+(red,blue),!gone": ["ADDED x", "MODIFIED x", "MODIFIED x", "DELETED x"],
            f"{ALL}?labelSelector=color%21%3Dred": ["ADDED y", "ADDED x"],
            f"{ALL}?fieldSelector=spec.note%3Dn": ["ADDED x", "DELETED x", "ADDED last"],
            f"{ALL}?fieldSelector=metadata.name%3Dlast": ["ADDED last"],
            f"{WIDGETS}?fieldSelector=metadata.name%3Dy": ["ADDED y"],
            f"{WIDGETS}?": ["ADDED x", "ADDED y", "MODIFIED x", "MODIFIED x", "DELETED x", "ADDED last"],
        }
        watching = [
            asyncio.create_task(events(running, f"{path}&resourceVersion={start}", len(expected)))
            for path, expected in selections.items()
        ]
        cache = running.server.cache.resource("test.example.com", "widgets")
        await eventually_async(lambda: len(cache.dispatch.queries) >= len(selections) - 1)
        await running.ask("POST", WIDGETS, widget("x", meta={"labels": {"color": "red"}}, note="n"))
        await running.ask("POST", WIDGETS, widget("y"))
        await running.ask("PATCH", f"{WIDGETS}/x", {"spec": {"note": "m"}}, kind=MERGE)
        await running.ask("PATCH", f"{WIDGETS}/x", {"metadata": {"labels": {"color": "blue"}}}, kind=MERGE)
        await running.ask("DELETE", f"{WIDGETS}/x")
        await running.ask("POST", WIDGETS, widget("last", meta={"labels": {"color": "red"}}, note="n"))
        assert await asyncio.gather(*watching) == list(selections.values())
