"""List, then watch: whatever is written, and wherever a client begins, it ends up with what the store holds."""

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
from tests.cache.build import PREFIX, Client, Following, Selecting, Viewer, opened, put, turns

keys = st.sampled_from(["a/x", "a/y", "a-b/x", "b/x"])
labels = st.sampled_from([None, {"app": "web"}, {"app": "db"}])
writes = st.lists(st.tuples(keys, st.none() | labels), min_size=1, max_size=25)
selections = st.sampled_from([(None, None), ("a", None), (None, {"app": "web"}), ("a", {"app": "web"})])
Write = tuple[str, dict[str, str] | None]


async def begin(root: WatchCache, cache: ResourceCache, selection: Selecting, viewer: Viewer, revision: int) -> Client:
    """A watch from a revision on, as the watch verb begins it."""
    past = await root.changes_since(cache, revision)
    following = Following(cache, viewer, selection)
    channel = following.channel
    entries = [e for o in past for e in channel.needed(o)]
    watcher, client = following.joined(max(revision, past[-1].revision if past else 0))
    made = dict(zip(entries, await viewer.view_many(entries), strict=True))
    events = [channel.event(o, made) for o in past]
    shown = [(k, channel.object_bytes(f, r)) for k, f, r in [e for e in events if e is not None]]
    watcher.first = [following.projection.event(kind, data) for kind, data in shown]
    watcher.begin(client)
    return client


def replayed(state: dict[str, str], events: list[dict[str, Any]]) -> dict[str, str]:
    """The state after the events; each must fit the state it meets."""
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


def selected(cache: ResourceCache, selection: Selecting) -> dict[str, str]:
    entries = cache.snapshot(selection.namespace)
    return {e.key: str(e.revision) for e in entries if selection.everything or selection.matches(e)}


async def walk(folder: Path, script: list[Write], selecting: tuple[Any, Any], slow: bool) -> None:
    selection = Selecting(selecting[0], labels=selecting[1])
    async with opened(folder) as (store, root, cache):
        await root.wait_until_fresh(cache)
        viewer = Viewer(slow=slow)
        points = [(cache.revision, selected(cache, selection))]
        clients = [await begin(root, cache, selection, viewer, cache.revision)]
        for number, (key, label) in enumerate(script):
            if label is None:
                if cache.get(key) is not None:
                    await store.delete(PREFIX + key, expect=None)
            else:
                await put(store, key, labels=label, n=number)
            points.append((cache.revision, selected(cache, selection)))
        viewer.go.set()
        for revision, _ in points:
            clients.append(await begin(root, cache, selection, viewer, revision))
        points.insert(0, points[0])
        await turns(20)
        now = selected(cache, selection)
        for (_, listed), client in zip(points, clients, strict=True):
            assert replayed(dict(listed), client.events) == now
            client.abort()


@given(writes, selections, st.booleans(), st.integers(1, 30))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_list_and_watch_from_any_revision_give_the_present(
    script: list[Write], selecting: tuple[Any, Any], slow: bool, window: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(resource_cache, "WINDOW_EVENTS", window)
        asyncio.run(walk(Path(folder), script, selecting, slow))
