"""List then watch: from any start revision, a client's state converges to the store's state."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polykind.cache import resource_cache
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from tests.cache.helpers import PREFIX, Client, FakeSelection, FakeView, SharedWatch, loop_iterations, opened, put

keys = st.sampled_from(["a/x", "a/y", "a-b/x", "b/x"])
labels = st.sampled_from([None, {"app": "web"}, {"app": "db"}])
writes = st.lists(st.tuples(keys, st.none() | labels), min_size=1, max_size=25)
selections = st.sampled_from([(None, None), ("a", None), (None, {"app": "web"}), ("a", {"app": "web"})])
Write = tuple[str, dict[str, str] | None]


async def begin(
    root: WatchCache, cache: ResourceCache, selection: FakeSelection, view: FakeView, revision: int
) -> Client:
    """Start a watch from a revision as the watch verb does."""
    past = await root.changes_since(cache, revision)
    shared = SharedWatch(cache, view, selection)
    channel = shared.channel
    states = [state for change in past for state in channel.states_to_represent(change)]
    watcher, client = shared.joined(max(revision, past[-1].revision if past else 0))
    converted = dict(zip(states, await view.view_many(states), strict=True))
    events = [event for change in past if (event := channel.event(change, converted)) is not None]
    watcher.initial_events = [
        shared.projection.event(kind, channel.encode_object(representation, stamp))
        for kind, representation, stamp in events
    ]
    watcher.start(client)
    return client


def replayed(state: dict[str, str], events: list[dict[str, Any]]) -> dict[str, str]:
    """Apply the events to the state. Each event must be consistent with the state before it."""
    for event in events:
        meta = event["object"]["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        assert (key in state) == (event["type"] != "ADDED"), event
        if event["type"] == "DELETED":
            assert int(meta["resourceVersion"]) > int(state.pop(key))
        else:
            assert int(meta["resourceVersion"]) > int(state.get(key, 0))
            state[key] = meta["resourceVersion"]
    return state


def selected(cache: ResourceCache, selection: FakeSelection) -> dict[str, str]:
    objects = cache.snapshot(selection.namespace)
    return {e.key: str(e.revision) for e in objects if selection.everything or selection.matches(e)}


async def walk(folder: Path, script: list[Write], selecting: tuple[Any, Any], slow: bool) -> None:
    selection = FakeSelection(selecting[0], labels=selecting[1])
    async with opened(folder) as (store, root, cache):
        await root.wait_until_fresh(cache)
        view = FakeView(slow=slow)
        points = [(cache.revision, selected(cache, selection))]
        clients = [await begin(root, cache, selection, view, cache.revision)]
        for number, (key, label) in enumerate(script):
            if label is None:
                if cache.get(key) is not None:
                    await store.delete(PREFIX + key, expect=None)
            else:
                await put(store, key, labels=label, n=number)
            points.append((cache.revision, selected(cache, selection)))
        view.go.set()
        for revision, _ in points:
            clients.append(await begin(root, cache, selection, view, revision))
        points.insert(0, points[0])
        await loop_iterations(20)
        now = selected(cache, selection)
        for (_, listed), client in zip(points, clients, strict=True):
            assert replayed(dict(listed), client.events) == now
            client.abort()


@given(writes, selections, st.booleans(), st.integers(1, 30))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_list_and_watch_from_any_revision_converge(
    script: list[Write], selecting: tuple[Any, Any], slow: bool, window: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(resource_cache, "WINDOW_EVENTS", window)
        asyncio.run(walk(Path(folder), script, selecting, slow))
