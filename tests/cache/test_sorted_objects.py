"""The objects of a resource: order, pages that a load adds, and views that later changes do not affect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polykind.cache import sorted_objects
from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.cache.sorted_objects import ObjectsView, SortedBlocks, SortedObjects
from tests.cache.test_resource_cache import TRICKY, value


def built(key: str, revision: int = 1) -> CachedObject:
    return CachedObject(b"{}", None, key=key, revision=revision, version="v1", normalized=True)


def keys(objects: Sequence[CachedObject]) -> list[str]:
    return [cached.key for cached in objects]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_objects, "MAX_BLOCK", 3)


names = st.text("abc", min_size=1, max_size=3)
operations = st.lists(st.tuples(st.sampled_from(["put", "remove", "extend", "view"]), names), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations, names, st.integers(0, 5))
def test_blocks_equal_a_sorted_dict(operations: list[tuple[str, str]], after: str, limit: int) -> None:
    blocks, model = SortedBlocks(), dict[str, CachedObject]()
    views: list[tuple[ObjectsView, list[CachedObject]]] = []
    for revision, (operation, key) in enumerate(operations):
        cached = built(key, revision)
        if operation == "put":
            blocks.put(cached)
            model[key] = cached
        elif operation == "remove" and key in model:
            blocks.remove(model.pop(key))
        elif operation == "extend":
            added = [built(f"{max(model, default='')}{end}") for end in ("a", "b", "c", "d", "e")[: len(key) + 2]]
            blocks.extend(added)
            model |= {cached.key: cached for cached in added}
        elif operation == "view":
            views.append((ObjectsView(blocks.view()), [model[key] for key in sorted(model)]))
    expected = [model[key] for key in sorted(model)]
    later = [cached for cached in expected if cached.key > after]
    assert blocks.after("", 0) == expected
    assert len(blocks) == len(expected)
    assert blocks.after(after, limit) == (later[:limit] if limit else later)
    assert blocks.count_after(after) == len(later)
    assert not expected or blocks.last_key == expected[-1].key
    assert all(len(block) <= 3 for block in blocks.view())
    for view, then in views:
        assert list(view) == then


@pytest.mark.parametrize("part", [slice(0, 2), slice(2, 7), slice(3, None), slice(8, 20), slice(-2, None), slice(5, 2)])
def test_part_of_a_view(part: slice) -> None:
    blocks = SortedBlocks()
    blocks.extend([built(key) for key in "abcdefgh"])
    view = ObjectsView(blocks.view())
    assert keys(view[part]) == list("abcdefgh"[part])
    assert keys(view[::-1]) == list("hgfedcba")
    assert (view[0].key, view[3].key, view[-1].key, len(view)) == ("a", "d", "h", 8)
    with pytest.raises(IndexError):
        view[8]


def test_empty_view() -> None:
    view = ObjectsView([])
    assert (len(view), list(view), view[0:5]) == (0, [], [])


@given(
    st.lists(st.tuples(st.sampled_from(TRICKY), st.integers(1, 9))),
    st.lists(st.tuples(st.sampled_from(TRICKY), st.integers(1, 9)), unique_by=lambda write: write[0]),
    st.integers(1, 5),
)
def test_sorted_objects_are_added_like_single_ones(
    before: list[tuple[str, int]], added: list[tuple[str, int]], size: int
) -> None:
    page = [parsed(key, revision) for key, revision in sorted(added)]
    expected, actual = (SortedObjects(parsed(key, revision) for key, revision in before) for _ in range(2))
    for cached in page:
        current = expected.get(cached.key)
        if current is None or current.revision < cached.revision:
            expected.put(cached)
    for start in range(0, len(page), size):
        actual.put_sorted(page[start : start + size])
    assert contents(actual) == contents(expected)


def parsed(key: str, revision: int) -> CachedObject:
    return parse_stored(key, value(key, revision).replace(b"com/v1", b"com/v%d" % (revision % 2)), revision, False)


def contents(objects: SortedObjects) -> object:
    return (
        [(namespace, objects.count(namespace), objects.data_size(namespace)) for namespace in (None, "a", "a-b", "b")],
        [(cached.key, cached.revision) for cached in objects.snapshot(None)],
        [(cached.key, cached.revision) for cached in objects.snapshot("a")],
        {version: count for version, count in objects.version_counts.items() if count},
        objects.last_change,
    )


def test_view_has_all_namespaces_in_key_order() -> None:
    objects = SortedObjects(parsed(key, 1) for key in reversed(TRICKY))
    view = objects.view(None)
    in_namespace = objects.view("a")
    objects.put(parsed("a/new", 2))
    objects.remove(parsed("a/x", 1))
    assert [cached.key for cached in view] == TRICKY
    assert [cached.key for cached in in_namespace] == [key for key in TRICKY if key.startswith("a/")]
    assert [cached.key for cached in view[3:5]] == TRICKY[3:5]
    assert list(objects.view("nowhere")) == []
