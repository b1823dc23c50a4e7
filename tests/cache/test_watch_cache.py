"""The watch cache over a real store: loading, waiting, past changes, and a lost watch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from polykind import errors
from polykind.cache import resource_cache
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.contract import CompactedError, ScanPage, StoreEvent
from polykind.store.sqlite import SqliteStore
from polykind.store.sqlite import store as sqlite_store
from tests.cache.helpers import PREFIX, opened, put, value
from tests.support.waiting import eventually_async

Opened = tuple[SqliteStore, WatchCache, ResourceCache]


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Opened]:
    async with opened(tmp_path) as parts:
        yield parts


def state(cache: ResourceCache) -> dict[str, int]:
    return {e.key: e.revision for e in cache.snapshot(None)}


async def test_resource_is_loaded_on_first_use_and_then_watched(parts: Opened) -> None:
    store, root, cache = parts
    first = await put(store, "a/x")
    assert not cache.loaded
    await root.wait_until_fresh(cache)
    assert state(cache) == {"a/x": first}
    second = await put(store, "a/y")
    assert state(cache) == {"a/x": first, "a/y": second}
    await store.delete(f"{PREFIX}a/x", expect=first)
    assert state(cache) == {"a/y": second}


async def test_events_go_to_their_own_resource(parts: Opened) -> None:
    store, root, cache = parts
    core, similar = root.resource("", "namespaces"), root.resource("example.com", "foosballs")
    for other in (cache, core, similar):
        await root.wait_until_fresh(other)
    await store.put("/registry/namespaces/default", value("default"), expect=None)
    await store.put("/registry/example.com/foosballs/a/x", value("a/x"), expect=None)
    await store.put("/registry/other.com/foos/a/x", value("a/x"), expect=None)
    await put(store, "a/y")
    assert (list(state(core)), list(state(similar)), list(state(cache))) == (["default"], ["a/x"], ["a/y"])


class BlockedScan:
    """Blocks a store's scans of the resource, before or after they read, until `go` is set."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, *, early: bool) -> None:
        self.go, self.reads = asyncio.Event(), 0
        read = store.scan

        async def held(prefix: str, *, after: str = "") -> ScanPage:
            if prefix != PREFIX:
                return await read(prefix, after=after)
            self.reads += 1
            if early:
                page = await read(prefix, after=after)
                await self.go.wait()
                return page
            await self.go.wait()
            return await read(prefix, after=after)

        monkeypatch.setattr(store, "scan", held)


@pytest.mark.parametrize("early", [True, False], ids=["read before the writes", "read after the writes"])
async def test_writes_during_a_load_are_applied_once(
    parts: Opened, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    store, root, cache = parts
    kept, dropped = await put(store, "a/kept"), await put(store, "a/dropped")
    gate = BlockedScan(store, monkeypatch, early=early)
    loads = [asyncio.create_task(root.load(cache)) for _ in range(3)]
    while not gate.reads:
        await asyncio.sleep(0)
    changed = await put(store, "a/kept", n=1)
    await store.delete(f"{PREFIX}a/dropped", expect=dropped)
    new = await put(store, "a/new")
    gate.go.set()
    await asyncio.gather(*loads)
    assert gate.reads == 1
    assert kept < changed
    assert state(cache) == {"a/kept": changed, "a/new": new}
    again = await put(store, "a/again")
    assert state(cache)["a/again"] == again
    assert cache.revision == again


async def test_load_in_pages_while_keys_are_written(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    monkeypatch.setattr(sqlite_store, "SCAN_KEYS", 3)
    random, expected = Random(7), {}
    for i in range(40):
        expected[f"a/{i:02}"] = await put(store, f"a/{i:02}")
    loading = asyncio.create_task(root.load(cache))
    for _ in range(100):
        if loading.done():
            break
        key = f"a/{random.randrange(50):02}"
        if key in expected and random.random() < 0.4:
            await store.delete(PREFIX + key, expect=expected.pop(key))
        else:
            expected[key] = await put(store, key)
        assert len(root.load_notes()) <= 1
    await loading
    assert root.load_notes() == []
    assert state(cache) == expected
    assert cache.version_counts == {"v1": len(expected)}
    assert cache.revision == await store.revision()


async def test_long_load_yields_to_event_loop(parts: Opened) -> None:
    store, root, cache = parts
    await asyncio.gather(*(put(store, f"a/{i}") for i in range(3000)))
    longest, done = 0.0, False

    async def others() -> None:
        nonlocal longest
        while not done:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    waiting = asyncio.create_task(others())
    begin = time.thread_time()
    await root.wait_until_fresh(cache)
    whole, done = time.thread_time() - begin, True
    await waiting
    assert len(cache) == 3000
    assert longest < max(whole / 2, 0.02)


async def test_resource_removed_and_served_again_during_load(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    await put(store, "a/x")
    gate = BlockedScan(store, monkeypatch, early=True)
    first = asyncio.create_task(root.load(cache))
    while not gate.reads:
        await asyncio.sleep(0)
    root.remove(cache)
    anew = root.resource("example.com", "foos")
    assert anew is not cache
    second = asyncio.create_task(root.load(anew))
    while gate.reads < 2:
        await asyncio.sleep(0)
    late = await put(store, "a/late")
    gate.go.set()
    await asyncio.gather(first, second)
    assert anew.loaded
    assert state(anew)["a/late"] == late


async def test_removed_resource_is_read_from_the_store(parts: Opened) -> None:
    """A request that began before its CRD was deleted and created again sees the objects of the new CRD."""
    store, root, cache = parts
    await put(store, "a/x")
    await root.wait_until_fresh(cache)
    root.remove(cache)
    for _ in range(2):
        revision = await put(store, "a/x")
        await root.wait_until_fresh(cache)
        assert state(cache) == {"a/x": revision}
    await root.reload(cache, 0.0)


async def test_failed_load_can_be_retried(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    await put(store, "a/x")

    async def broken(prefix: str, *, after: str = "") -> ScanPage:
        raise CompactedError(1, 2)

    with monkeypatch.context() as broken_store:
        broken_store.setattr(store, "scan", broken)
        with pytest.raises(CompactedError):
            await root.load(cache)
    await root.load(cache)
    assert list(state(cache)) == ["a/x"]


async def test_cancelled_caller_does_not_cancel_shared_load(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    gate = BlockedScan(store, monkeypatch, early=True)
    loads = [asyncio.create_task(root.load(cache)) for _ in range(2)]
    while not gate.reads:
        await asyncio.sleep(0)
    loads[0].cancel()
    gate.go.set()
    await loads[1]
    assert cache.loaded


# ---------------------------------------------------------------------- waiting for a revision


async def test_wait_for_revision(parts: Opened) -> None:
    store, root, _ = parts
    waiting = asyncio.create_task(root.wait_for_revision(root.revision + 2))
    await put(store, "a/x")
    await asyncio.sleep(0)
    assert not waiting.done()
    await put(store, "a/y")
    await waiting


async def test_wait_for_revision_times_out_with_too_large_resource_version(parts: Opened) -> None:
    _, root, _ = parts
    requested = root.revision + 5
    with pytest.raises(errors.RequestTimeoutError) as caught:
        await root.wait_for_revision(requested, timeout_seconds=0.01)
    assert caught.value.message == f"Timeout: Too large resource version: {requested}, current: {root.revision}"
    assert caught.value.details == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    assert root._waiters == []


# ---------------------------------------------------------------------- past changes


def revisions(changes: list[ObjectChange]) -> list[int]:
    return [o.revision for o in changes]


async def test_changes_since_combines_store_and_window(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "WINDOW_EVENTS", 5)
    store, root, cache = parts
    await root.wait_until_fresh(cache)
    written = [await put(store, "a/x", n=i) for i in range(20)]
    assert cache.window_start == written[-6]
    for index, revision in enumerate(written):
        assert revisions(await root.changes_since(cache, revision)) == written[index + 1 :]
    whole = await root.changes_since(cache, written[0])
    assert [o.old.revision for o in whole if o.old] == written[:-1]


async def test_changes_before_the_load_come_from_the_store(parts: Opened) -> None:
    store, root, cache = parts
    first, second = await put(store, "a/x"), await put(store, "a/y")
    await store.delete(f"{PREFIX}a/x", expect=first)
    await root.wait_until_fresh(cache)
    assert revisions(await root.changes_since(cache, first)) == [second, second + 1]


async def test_changes_since_includes_changes_during_the_read(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "WINDOW_EVENTS", 3)
    store, root, cache = parts
    await root.wait_until_fresh(cache)
    written = [await put(store, "a/x", n=i) for i in range(10)]
    history, busy = store.history, [True]

    async def interrupted(prefix: str, after: int, until: int) -> object:
        found = await history(prefix, after, until)
        if busy.pop():
            busy.append(False)
            written.extend([await put(store, "a/x", n=100 + i) for i in range(6)])
        return found

    monkeypatch.setattr(store, "history", interrupted)
    assert revisions(await root.changes_since(cache, written[0])) == written[1:]


async def test_changes_since_compacted_revision_expires(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_cache, "WINDOW_EVENTS", 2)
    store, root, cache = parts
    await root.wait_until_fresh(cache)
    written = [await put(store, "a/x", n=i) for i in range(10)]
    await store.compact(written[5])
    with pytest.raises(errors.ExpiredError) as caught:
        await root.changes_since(cache, written[0])
    assert caught.value.message == f"too old resource version: {written[0]} ({written[5]})"
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


# ---------------------------------------------------------------------- failures


class CountingObserver:
    def __init__(self) -> None:
        self.count = 0

    def on_changes(self, changes: list[ObjectChange]) -> None: ...

    def on_reset(self) -> None:
        self.count += 1


async def test_lost_watch_restarts_and_reloads(parts: Opened, caplog: pytest.LogCaptureFixture) -> None:
    store, root, cache = parts
    await root.wait_until_fresh(cache)
    resets = CountingObserver()
    cache.observers.append(resets)
    assert root._watch is not None
    root._watch.close()
    missed = await put(store, "a/missed")
    waiting = asyncio.create_task(root.wait_for_revision(missed))
    await asyncio.sleep(0)
    root.on_lost(CompactedError(1, 2))
    assert (root.ready, cache.loaded, resets.count) == (False, False, 1)
    await root.wait_until_fresh(cache)
    await waiting
    assert root.ready
    assert state(cache) == {"a/missed": missed}
    later = await put(store, "a/later")
    assert state(cache)["a/later"] == later
    assert (
        "lost the watch on the store, loading every resource again: revision 1 has been compacted, the oldest is 2"
        in caplog.text
    )


async def test_revisions_that_the_store_has_lost_are_expired(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    backup = await put(store, "a/x")
    lost = await put(store, "a/y")
    assert await root.changes_since(cache, lost + 1) == []

    async def revision(_: object = None) -> int:
        return backup

    with monkeypatch.context() as patched:
        patched.setattr(store, "revision", revision)
        root.on_lost(CompactedError(lost, backup))
        assert root._restarting is not None
        await root._restarting
    with pytest.raises(errors.ExpiredError, match=f"too old resource version: {lost} "):
        await root.changes_since(cache, lost)
    assert await root.changes_since(cache, lost + 1) == []


async def test_load_is_repeated_if_watch_is_lost_meanwhile(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root, cache = parts
    await put(store, "a/x")
    gate = BlockedScan(store, monkeypatch, early=True)
    loading = asyncio.create_task(root.load(cache))
    while not gate.reads:
        await asyncio.sleep(0)
    assert root._watch is not None
    root._watch.close()
    await put(store, "a/between")
    root.on_lost(CompactedError(1, 2))
    gate.go.set()
    await loading
    assert gate.reads == 2
    assert list(state(cache)) == ["a/between", "a/x"]


async def test_resource_is_reset_if_an_event_cannot_be_applied(
    parts: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store, root, cache = parts
    await root.wait_until_fresh(cache)
    resets = CountingObserver()
    cache.observers.append(resets)

    def broken(events: list[StoreEvent], revision: int) -> None:
        raise KeyError("broken")

    with monkeypatch.context() as failing:
        failing.setattr(cache, "apply_events", broken)
        await put(store, "a/x")
    assert resets.count == 1
    await root.wait_until_fresh(cache)
    assert list(state(cache)) == ["a/x"]
    assert f"cannot apply an event to {PREFIX}, loading it again" in caplog.text


async def test_values_that_are_not_objects_do_not_break_the_resource(parts: Opened) -> None:
    store, root, cache = parts
    await store.put(f"{PREFIX}a/odd", b"\x00 nonsense", expect=None)
    await root.wait_until_fresh(cache)
    await store.put(f"{PREFIX}a/odder", b"[1, 2]", expect=None)
    await put(store, "a/x")
    assert list(state(cache)) == ["a/odd", "a/odder", "a/x"]


async def test_watch_restarts_when_store_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("polykind.cache.watch_cache._RETRY_SECONDS", 0.001)
    async with opened(tmp_path) as (store, root, cache):
        await root.wait_until_fresh(cache)
        await store.close()
        await asyncio.sleep(0.01)
        await store.start()
        written = await put(store, "a/x")
        await eventually_async(lambda: root.ready)
        await root.wait_until_fresh(cache)
        assert state(cache) == {"a/x": written}
    assert "cannot watch the store, retrying in" in caplog.text
