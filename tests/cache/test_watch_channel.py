"""Watch channels: which events watchers receive, in which order, and how watches end."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind import errors
from polykind.cache import watcher as watcher_module
from polykind.cache.broadcast import WATCHERS_PER_TURN
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.store.sqlite import SqliteStore
from tests.cache.helpers import (
    PREFIX,
    Client,
    FakeSelection,
    FakeView,
    FullObjects,
    SharedWatch,
    added,
    loop_iterations,
    opened,
    put,
)
from tests.support.waiting import eventually_async

Opened = tuple[SqliteStore, WatchCache, ResourceCache]


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Opened]:
    async with opened(tmp_path) as (store, root, cache):
        await root.wait_until_fresh(cache)
        yield store, root, cache


async def test_added_modified_and_deleted_events(parts: Opened) -> None:
    store, _, cache = parts
    client = SharedWatch(cache, FakeView()).client()
    one = await put(store, "a/x")
    two = await put(store, "a/x", n=1)
    three = await store.delete(f"{PREFIX}a/x", expect=two)
    await loop_iterations()
    assert client.summaries == [f"ADDED a/x@{one}", f"MODIFIED a/x@{two}", f"DELETED a/x@{three}"]
    assert client.events[-1]["object"]["n"] == 1


async def test_objects_enter_and_leave_a_selection(parts: Opened) -> None:
    store, _, cache = parts
    client = SharedWatch(cache, FakeView(), FakeSelection(labels={"app": "web"})).client()
    web, db = {"app": "web"}, {"app": "db"}
    await put(store, "a/x", labels=db)
    entered = await put(store, "a/x", labels=web)
    stayed = await put(store, "a/x", labels=web, n=1)
    left = await put(store, "a/x", labels=db, n=2)
    await put(store, "a/x", labels=db, n=3)
    back = await put(store, "a/x", labels=web, n=4)
    gone = await store.delete(f"{PREFIX}a/x", expect=None)
    born = await put(store, "a/x", labels=web)
    await loop_iterations()
    assert client.summaries == [
        f"ADDED a/x@{entered}",
        f"MODIFIED a/x@{stayed}",
        f"DELETED a/x@{left}",
        f"ADDED a/x@{back}",
        f"DELETED a/x@{gone}",
        f"ADDED a/x@{born}",
    ]
    # An object that leaves the selection is sent in its last matching state.
    assert client.events[2]["object"]["n"] == 1
    assert client.events[2]["object"]["metadata"]["labels"] == web


@pytest.mark.parametrize(
    ("selection", "observer"),
    [
        (FakeSelection(namespace="a"), ["a/x", "a/y"]),
        (FakeSelection(name="x"), ["a/x", "b/x"]),
        (FakeSelection("b", "x"), ["b/x"]),
    ],
)
async def test_events_are_limited_to_namespace_and_name(
    parts: Opened, selection: FakeSelection, observer: list[str]
) -> None:
    store, _, cache = parts
    client = SharedWatch(cache, FakeView(), selection).client()
    for key in ("a/x", "a/y", "b/x", "b/y"):
        await put(store, key)
    await loop_iterations()
    assert [line.split()[1].split("@")[0] for line in client.summaries] == observer


async def test_event_is_encoded_once_for_equal_projections(parts: Opened) -> None:
    store, _, cache = parts
    projection = FullObjects()
    shared = SharedWatch(cache, FakeView(), projection=projection)
    other = SharedWatch(cache, FakeView(), FakeSelection(namespace="a"), projection)
    clients = [shared.client() for _ in range(5)] + [other.client()]
    await loop_iterations()
    await put(store, "a/x")
    assert projection.encoded == 1
    assert len({id(c.chunks[-1]) for c in clients}) == 1
    assert (shared.sent, other.sent) == (5, 1)


async def test_projections_without_key_are_not_shared(parts: Opened) -> None:
    store, _, cache = parts
    projections = [FullObjects(), FullObjects()]
    for projection in projections:
        projection.key = None
        SharedWatch(cache, FakeView(), projection=projection).client()
    await loop_iterations()
    await put(store, "a/x")
    assert [p.encoded for p in projections] == [1, 1]


# ---------------------------------------------------------------------- initial events


async def test_initial_events_precede_concurrent_events(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    watcher, client = shared.joined(cache.revision, first=[added("a/x", 1), added("a/y", 2)])
    late = await put(store, "a/z")
    watcher.start(client)
    later = await put(store, "a/z", n=1)
    await loop_iterations()
    assert client.summaries == ["ADDED a/x@1", "ADDED a/y@2", f"ADDED a/z@{late}", f"MODIFIED a/z@{later}"]


async def test_events_up_to_the_clients_revision_are_skipped(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView(slow=True))
    view = shared.channel.view
    assert isinstance(view, FakeView)
    early = shared.client()
    await loop_iterations()
    seen = await put(store, "a/x")
    late = shared.client(after=seen)
    unseen = await put(store, "a/y")
    view.go.set()
    await loop_iterations()
    assert early.summaries == [f"ADDED a/x@{seen}", f"ADDED a/y@{unseen}"]
    assert late.summaries == [f"ADDED a/y@{unseen}"]


async def test_initial_events_wait_for_slow_reader(parts: Opened) -> None:
    store, _, cache = parts
    client = Client()
    client.reads.clear()
    shared = SharedWatch(cache, FakeView())
    watcher, _ = shared.joined(0, first=[added(f"a/{i}", 1) for i in range(5000)])
    watcher.start(client)
    late = await put(store, "a/late")
    await loop_iterations()
    assert 0 < len(client.events) < 5000
    client.reads.set()
    await loop_iterations(100)
    assert len(client.events) == 5001
    assert client.summaries[-1] == f"ADDED a/late@{late}"


async def test_initial_events_take_turns(parts: Opened) -> None:
    _, _, cache = parts
    turns = cache.workers.turns.queue
    await turns.acquire("another user")
    client = SharedWatch(cache, FakeView()).client(first=[added(f"a/{i}", 1) for i in range(5000)])
    await loop_iterations()
    assert 0 < len(client.events) < 5000
    turns.release()
    await loop_iterations(100)
    assert len(client.events) == 5000


async def test_memory_of_an_ended_watch_is_freed_without_the_garbage_collector(parts: Opened) -> None:
    _, _, cache = parts
    watcher, client = SharedWatch(cache, FakeView()).joined(0, first=[added(f"a/{i}", 1) for i in range(5000)])
    client.reads.clear()
    watcher.start(client)
    await loop_iterations()
    gc.disable()
    try:
        client.watcher = None
        watcher.on_end()
        await loop_iterations()
        reference = weakref.ref(watcher)
        del watcher
        assert reference() is None
    finally:
        gc.enable()


async def test_too_slow_reader_of_initial_events_is_disconnected(
    parts: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "polykind.watch")
    monkeypatch.setattr(watcher_module, "_MAX_PENDING_BYTES", 2000)
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    keen = shared.client()
    watcher, client = shared.joined(0, first=[added(f"a/{i}", 1) for i in range(5000)])
    client.reads.clear()
    watcher.start(client)
    for i in range(20):
        await put(store, "a/x", n=i)
    await loop_iterations()
    assert client.ended == "aborted"
    assert (len(keen.events), keen.ended) == (20, "")
    assert shared.channel.watchers == {keen.watcher}
    assert "client reads too slowly: over 2000 bytes wait behind its initial events" in caplog.text


async def test_watch_that_fails_before_its_start_sends_error(parts: Opened) -> None:
    _, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    watcher, client = shared.joined(0, first=[added("a/x", 1)])
    shared.channel.fail(errors.InternalError("broken"))
    watcher.start(client)
    await loop_iterations()
    assert client.summaries == ["ADDED a/x@1", "ERROR 500"]
    assert client.ended == "finished"


async def test_failing_initial_events_abort_the_watch(parts: Opened, caplog: pytest.LogCaptureFixture) -> None:
    _, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    watcher, client = shared.joined(0)
    watcher.initial_events = (bytes(1 // 0) for _ in range(1))
    watcher.start(client)
    await loop_iterations()
    assert client.ended == "aborted"
    assert "cannot encode the initial events, closing the connection" in caplog.text


# ---------------------------------------------------------------------- slow conversions


async def test_events_keep_order_behind_slow_conversion(parts: Opened) -> None:
    store, _, cache = parts
    view = FakeView(slow=True)
    client = SharedWatch(cache, view).client()
    await loop_iterations()
    first = await put(store, "a/x")
    await loop_iterations()
    rest = [await put(store, f"a/{i}") for i in range(5)]
    await loop_iterations()
    assert client.summaries == []
    view.go.set()
    await loop_iterations()
    assert [int(line.split("@")[1]) for line in client.summaries] == [first, *rest]
    assert view.batches == [[f"a/x@{first}"], [f"a/{i}@{r}" for i, r in enumerate(rest)]]
    assert (await put(store, "a/y")) > 0
    await loop_iterations()
    assert len(client.events) == 7


async def test_old_state_is_converted_only_for_selectors(parts: Opened) -> None:
    store, _, cache = parts
    one = await put(store, "a/x", labels={"app": "web"})
    everything, some = FakeView(slow=True), FakeView(slow=True)
    elsewhere = FakeView(slow=True)
    for view, selection in (
        (everything, FakeSelection()),
        (some, FakeSelection(labels={"app": "web"})),
        (elsewhere, FakeSelection("b")),
    ):
        view.go.set()
        SharedWatch(cache, view, selection).client()
    await loop_iterations()
    two = await put(store, "a/x", labels={"app": "db"})
    await loop_iterations()
    await store.delete(f"{PREFIX}a/x", expect=two)
    await loop_iterations()
    assert everything.batches == [[f"a/x@{two}"], [f"a/x@{two}"]]
    assert some.batches == [[f"a/x@{one}", f"a/x@{two}"], [f"a/x@{two}"]]
    assert elsewhere.batches == []


async def test_bookmarks_do_not_overtake_pending_events(parts: Opened) -> None:
    store, _, cache = parts
    view = FakeView(slow=True)
    shared = SharedWatch(cache, view)
    shared.client()
    await loop_iterations()
    waiting = await put(store, "a/x")
    await put(store, "a/y")
    assert shared.channel.delivered_revision == waiting - 1
    view.go.set()
    await loop_iterations()
    assert shared.channel.delivered_revision == cache.revision


@pytest.mark.parametrize(
    ("error", "observer"),
    [(errors.UnknownReasonError("converter down"), "converter down"), (KeyError("bug"), "the watch failed")],
)
async def test_failed_conversion_ends_watch_with_error(
    parts: Opened, caplog: pytest.LogCaptureFixture, error: Exception, observer: str
) -> None:
    store, _, cache = parts
    view = FakeView(slow=True)
    view.error = error
    shared = SharedWatch(cache, view)
    emptied: list[bool] = []
    shared.on_empty = lambda: emptied.append(True)
    clients = [shared.client(), shared.client()]
    await loop_iterations()
    await put(store, "a/x")
    view.go.set()
    await loop_iterations()
    for client in clients:
        assert client.summaries == ["ERROR 500"]
        assert observer in client.events[0]["object"]["message"]
        assert client.ended == "finished"
    assert emptied == [True]
    assert cache.observers == []
    await put(store, "a/y")
    await loop_iterations()
    assert [len(c.events) for c in clients] == [1, 1]


async def test_failed_encoding_ends_watch_with_error(parts: Opened) -> None:
    class FailingProjection(FullObjects):
        def encode(self, data: bytes) -> bytes:
            raise errors.InternalError("cannot be shown")

    store, _, cache = parts
    client = SharedWatch(cache, FakeView(), projection=FailingProjection()).client()
    await loop_iterations()
    await put(store, "a/x")
    await loop_iterations()
    assert (client.summaries, client.ended) == (["ERROR 500"], "finished")


# ---------------------------------------------------------------------- timeouts and ends


async def test_periodic_bookmarks_include_revisions_of_other_resources(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    client, plain = shared.client(bookmarks=True, interval=0.01), shared.client()
    elsewhere = await store.put("/registry/other.com/bars/a/x", b"{}", expect=None)
    await eventually_async(lambda: f"BOOKMARK {elsewhere}" in client.summaries)
    assert all(line.startswith("BOOKMARK ") for line in client.summaries)
    assert plain.events == []
    client.finish()


async def test_bookmarks_do_not_go_back_while_other_watches_still_wait_for_an_event(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    clients = [shared.client(bookmarks=True, interval=0) for _ in range(3 * WATCHERS_PER_TURN)]
    await loop_iterations()
    revision = await put(store, "a/x")
    await loop_iterations()
    for client in clients:
        revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in client.events]
        assert revisions == sorted(revisions)
        assert revisions[-1] == revision
        client.finish()


async def test_watch_sends_bookmark_before_its_timeout(parts: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "_FINAL_BOOKMARK_SECONDS", 0.02)
    _, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    clients = [
        shared.client(timeout=0.04, bookmarks=True),
        shared.client(timeout=0.01, bookmarks=True),
        shared.client(timeout=0.04),
    ]
    await eventually_async(lambda: all(c.ended for c in clients))
    assert [c.ended for c in clients] == ["finished"] * 3
    assert [c.summaries for c in clients] == [[f"BOOKMARK {cache.revision}"], [], []]
    assert shared.channel.watchers == set()


async def test_reset_ends_every_watch_normally(parts: Opened) -> None:
    _, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    clients = [shared.client(), shared.client()]
    await loop_iterations()
    cache.reset()
    assert [c.ended for c in clients] == ["finished", "finished"]
    assert cache.observers == []


async def test_channel_closes_with_its_last_watcher(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    emptied: list[bool] = []
    shared.on_empty = lambda: emptied.append(True)
    first, second = shared.client(), shared.client()
    await loop_iterations()
    first.abort()
    await put(store, "a/x")
    assert (emptied, len(second.events)) == ([], 1)
    second.abort()
    assert (emptied, cache.observers) == ([True], [])


async def test_watch_that_ends_during_initial_events_sends_pending_events(parts: Opened) -> None:
    store, _, cache = parts
    shared = SharedWatch(cache, FakeView())
    watcher, client = shared.joined(0, first=[added(f"a/{i}", 1) for i in range(3000)])
    client.reads.clear()
    watcher.start(client)
    await loop_iterations()
    late = await put(store, "a/late")
    shared.channel.finish()
    assert client.ended == ""
    client.reads.set()
    await loop_iterations(50)
    assert (len(client.events), client.summaries[-1], client.ended) == (3001, f"ADDED a/late@{late}", "finished")
