"""The cache of one resource: order, pages, the window, expected writes."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.cache import resource_cache
from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.cache.resource_cache import ObjectChange, PendingWrite, ResourceCache
from polykind.codec import json_codec
from polykind.contract import HistoryEvent, KeyValue, StoreEvent

PREFIX = "/registry/example.com/foos/"


def value(key: str, n: int = 0) -> bytes:
    namespace, _, name = key.rpartition("/")
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return json_codec.encode({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": meta, "n": n})


def put(key: str, revision: int, n: int = 0) -> StoreEvent:
    return StoreEvent(PREFIX + key, value(key, n), revision)


def deleted(key: str, revision: int) -> StoreEvent:
    return StoreEvent(PREFIX + key, None, revision)


def cache_of(*keys: str, revision: int = 100) -> ResourceCache:
    cache = ResourceCache(PREFIX)
    cache.load(cache.parse([KeyValue(PREFIX + k, value(k), i + 1) for i, k in enumerate(keys)]), revision)
    return cache


def keys(objects: list[CachedObject]) -> list[str]:
    return [e.key for e in objects]


class RecordingObserver:
    """An observer that records changes and resets."""

    def __init__(self) -> None:
        self.changes: list[ObjectChange] = []
        self.resets = 0

    def on_changes(self, changes: list[ObjectChange]) -> None:
        self.changes += changes

    def on_reset(self) -> None:
        self.resets += 1


# A namespace that extends another with a character below "/" sorts before it by key, but after it by name.
TRICKY = ["a-b/x", "a-b/x-y", "a-b/x.y", "a/-", "a/x", "a/x-", "a/x-y", "a/x.y", "a/xy", "a0/x", "ab/x", "b/a"]


def test_objects_are_in_key_order() -> None:
    assert sorted(TRICKY) == TRICKY
    loaded = cache_of(*reversed(TRICKY))
    followed = cache_of()
    followed.apply_events([put(k, 101 + i) for i, k in enumerate(reversed(TRICKY))], 200)
    for cache in (loaded, followed):
        assert keys(cache.snapshot(None)) == TRICKY
        assert keys(cache.snapshot("a")) == [k for k in TRICKY if k.startswith("a/")]
        assert cache.snapshot("nowhere") == []
        assert (cache.count(None), cache.count("a"), cache.count("nowhere")) == (12, 6, 0)


def test_page_starts_after_any_key() -> None:
    cache = cache_of(*TRICKY)
    for after in [*TRICKY, "a/w", "a/x0", "a-", "0/0", "zz/zz", "a-b/zz", "aa/x"]:
        assert keys(cache.snapshot(None, after)) == [k for k in TRICKY if k > after]
    for after in [k for k in TRICKY if k.startswith("a/")] + ["a/w", "a/zz"]:
        assert keys(cache.snapshot("a", after)) == [k for k in TRICKY if k > after and k.startswith("a/")]


def test_cluster_scoped_objects() -> None:
    cache = cache_of("b", "a", "a-b")
    assert keys(cache.snapshot(None)) == ["a", "a-b", "b"]
    assert keys(cache.snapshot(None, "a")) == ["a-b", "b"]
    cache.apply_events([deleted("a", 101), deleted("a-b", 102), deleted("b", 103)], 103)
    assert len(cache) == 0
    assert cache.snapshot(None) == []
    cache.apply_events([put("c", 104)], 104)
    assert keys(cache.snapshot(None)) == ["c"]


names = st.text("ab-.0", min_size=1, max_size=3)
all_keys = st.builds(lambda n, x: f"{n}/{x}", names, names)


@given(st.lists(st.tuples(all_keys, st.booleans()), max_size=30), all_keys)
def test_cache_equals_sorted_dict(writes: list[tuple[str, bool]], after: str) -> None:
    cache, model = cache_of(), dict[str, int]()
    for revision, (key, present) in enumerate(writes, 101):
        cache.apply_events([put(key, revision) if present else deleted(key, revision)], revision)
        if present:
            model[key] = revision
        else:
            model.pop(key, None)
    assert [(e.key, e.revision) for e in cache.snapshot(None)] == sorted(model.items())
    assert keys(cache.snapshot(None, after)) == sorted(k for k in model if k > after)
    for namespace in {k.split("/")[0] for k in model}:
        assert keys(cache.snapshot(namespace)) == sorted(k for k in model if k.startswith(f"{namespace}/"))


def test_version_counts() -> None:
    cache = cache_of("a/x", "a/y")
    assert cache.version_counts == {"v1": 2}
    newer = value("a/x").replace(b"example.com/v1", b"example.com/v2")
    cache.apply_events([StoreEvent(f"{PREFIX}a/x", newer, 101), put("b/z", 102)], 102)
    assert cache.version_counts == {"v1": 2, "v2": 1}
    cache.apply_events([deleted("a/x", 103), put("a/y", 104)], 104)
    assert cache.version_counts == {"v1": 2, "v2": 0}
    cache.load([], 105)
    assert cache.version_counts == {"v1": 0, "v2": 0}


def test_observers_receive_old_and_new_state() -> None:
    cache, observer = cache_of("a/x"), RecordingObserver()
    cache.observers.append(observer)
    cache.apply_events([put("a/x", 101, 5), put("a/y", 102), deleted("a/x", 103), deleted("a/never", 104)], 104)
    seen = [(o.revision, o.old and o.old.revision, o.new and o.new.revision) for o in observer.changes]
    assert seen == [(101, 1, 101), (102, None, 102), (103, 101, None)]
    assert (cache.revision, cache.last_change) == (104, 103)


def test_events_older_than_the_load_are_ignored() -> None:
    """A load may see a newer state than the watch, whose older events then arrive late."""
    cache, observer = cache_of("a/x", revision=110), RecordingObserver()
    cache.observers.append(observer)
    cache.apply_events([put("a/x", 105, 1), deleted("a/x", 107), put("a/y", 111)], 111)
    assert [o.revision for o in observer.changes] == [111]
    assert keys(cache.snapshot(None)) == ["a/x", "a/y"]
    cache.apply_events([], 109)
    assert cache.revision == 111


def test_reset_notifies_observers() -> None:
    cache, observer = cache_of("a/x"), RecordingObserver()
    cache.observers.append(observer)
    cache.reset()
    assert (observer.resets, cache.loaded) == (1, False)


def test_window_is_bounded_by_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "WINDOW_EVENTS", 10)
    cache = cache_of()
    assert cache.window_start == 100
    cache.apply_events([put("a/x", 101 + i, i) for i in range(25)], 125)
    assert cache.window_start == 115
    assert [o.revision for o in cache.changes_after(115)] == list(range(116, 126))
    assert [o.revision for o in cache.changes_after(120)] == list(range(121, 126))


def test_window_is_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "WINDOW_BYTES", 1000)
    cache = cache_of()
    cache.apply_events([put("a/x", 101 + i, i) for i in range(100)], 200)
    kept = cache.changes_after(cache.window_start)
    assert sum(len(o.old.raw) for o in kept if o.old) <= 1000
    assert len(kept) >= 5


def test_window_drops_encoded_frames() -> None:
    class Framing(RecordingObserver):
        def on_changes(self, changes: list[ObjectChange]) -> None:
            super().on_changes(changes)
            for change in changes:
                change.frames = {"v1": b"x" * 1000}

    cache, framing = cache_of(), Framing()
    cache.observers.append(framing)
    cache.apply_events([put("a/x", 101)], 101)
    assert all(not o.frames for o in framing.changes)


def test_load_starts_new_window() -> None:
    cache = cache_of()
    cache.apply_events([put("a/x", 101)], 101)
    cache.load(cache.parse([KeyValue(f"{PREFIX}a/z", value("a/z"), 140)]), 150)
    assert (cache.window_start, cache.revision, cache.last_change) == (150, 150, 140)
    assert cache.changes_after(150) == []
    assert keys(cache.snapshot(None)) == ["a/z"]


def test_only_expected_writes_of_current_generation_are_normalized() -> None:
    cache = cache_of()

    def written(event: StoreEvent) -> bool:
        cache.apply_events([event], event.revision)
        cached = cache.get("a/x")
        assert cached is not None
        return cached.normalized

    def write(number: int, generation: int | None, second: bytes | None = None) -> PendingWrite:
        return cache.writing("a/x", value("a/x", number), parse_stored, generation, second)

    assert not written(put("a/x", 101))
    with write(1, cache.schema_generation):
        assert written(put("a/x", 102, 1))
    assert not written(put("a/x", 103, 1))
    with write(1, cache.schema_generation):
        assert not written(put("a/x", 104, 2))
    with write(3, cache.schema_generation - 1):
        assert not written(put("a/x", 105, 3))
    with write(3, None):
        assert not written(put("a/x", 106, 3))
    with suppress(ConnectionError), write(4, cache.schema_generation):
        raise ConnectionError
    assert not written(put("a/x", 107, 4))
    with write(5, cache.schema_generation, value("a/x", 6)):
        assert written(put("a/x", 108, 5))
        assert written(put("a/x", 109, 6))
    assert not written(put("a/x", 110, 6))


def test_written_object_is_built_once() -> None:
    cache = cache_of()
    with cache.writing("a/x", value("a/x", 1), parse_stored, cache.schema_generation) as before_event:
        pass
    early = before_event.at(101)
    cache.apply_events([put("a/x", 101, 1)], 101)
    assert cache.get("a/x") is early is before_event.at(101)
    with cache.writing("a/x", value("a/x", 2), parse_stored, cache.schema_generation) as after_event:
        cache.apply_events([put("a/x", 102, 2)], 102)
    assert cache.get("a/x") is after_event.at(102)
    cache.apply_events([put("a/x", 103, 3)], 103)
    late = after_event.at(102)
    assert (late.revision, late.normalized) == (102, True)


def test_past_changes_from_history() -> None:
    before = KeyValue(f"{PREFIX}a/x", value("a/x"), 3)
    changes = [
        HistoryEvent(before.key, value("a/x", 1), 5, before),
        HistoryEvent(before.key, None, 6, KeyValue(before.key, value("a/x", 1), 5)),
        HistoryEvent(f"{PREFIX}a/y", value("a/y"), 7, None),
        HistoryEvent(f"{PREFIX}a/z", None, 8, None),
    ]
    found = cache_of().past_changes(changes)
    assert [(o.revision, o.old and o.old.revision, o.new and o.new.revision) for o in found] == [
        (5, 3, 5),
        (6, 5, None),
        (7, None, 7),
    ]


def test_observed_revision_includes_other_resources() -> None:
    newest = 100
    cache = ResourceCache(PREFIX, lambda: newest)
    cache.load([], 100)
    newest = 250
    assert (cache.revision, cache.observed_revision) == (100, 250)


def test_data_size_follows_changes() -> None:
    cache = cache_of("a/x", "a/y", "b/z")

    def sizes() -> list[int]:
        return [cache.data_size(namespace) for namespace in (None, "a", "b", "c")]

    def expected() -> list[int]:
        return [sum(len(cached.data) for cached in cache.snapshot(namespace)) for namespace in (None, "a", "b", "c")]

    assert sizes() == expected()
    assert sizes()[0] > 0
    cache.apply_events([put("a/x", 101, n=10**9), put("c/new", 102), deleted("b/z", 103)], 103)
    assert sizes() == expected()
    cache.apply_events([put("b/z", 104), deleted("a/x", 105), deleted("a/y", 106)], 106)
    assert sizes() == expected()
    assert cache.data_size("a") == 0


def test_objects_are_uniform_from_the_first_normalized_write_on() -> None:
    cache = cache_of()

    def is_uniform() -> bool:
        return cache.uniform == ("v1", cache.schema_generation)

    with cache.writing("a/x", value("a/x"), generation=cache.schema_generation):
        cache.apply_events([put("a/x", 101)], 101)
    assert is_uniform()
    cache.apply_events([put("a/y", 102)], 102)
    assert not is_uniform(), "another program has written an object"
    with cache.writing("a/y", value("a/y", 1), generation=cache.schema_generation):
        cache.apply_events([put("a/y", 103, 1)], 103)
    assert not is_uniform(), "the other objects are not known"
    cache.apply_events([deleted("a/x", 104), deleted("a/y", 105)], 105)
    with cache.writing("a/x", value("a/x"), generation=cache.schema_generation):
        cache.apply_events([put("a/x", 106)], 106)
    assert is_uniform()
