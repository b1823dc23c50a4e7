"""Watch channels: what watchers are told, in which order, and when they are told no more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind import errors
from polykind.cache import watch
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.store.sqlite import SqliteStore
from tests.cache.build import PREFIX, Client, Following, Selecting, Viewer, Whole, added, opened, put, turns

Opened = tuple[SqliteStore, WatchCache, ResourceCache]


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Opened]:
    async with opened(tmp_path) as (store, root, cache):
        await root.wait_until_fresh(cache)
        yield store, root, cache


async def test_what_comes_changes_and_goes(parts: Opened) -> None:
    store, _, cache = parts
    client = Following(cache, Viewer()).client()
    one = await put(store, "a/x")
    two = await put(store, "a/x", n=1)
    three = await store.delete(f"{PREFIX}a/x", expect=two)
    await turns()
    assert client.told == [f"ADDED a/x@{one}", f"MODIFIED a/x@{two}", f"DELETED a/x@{three}"]
    assert client.events[-1]["object"]["n"] == 1


async def test_a_selection_is_entered_and_left(parts: Opened) -> None:
    store, _, cache = parts
    client = Following(cache, Viewer(), Selecting(labels={"app": "web"})).client()
    web, db = {"app": "web"}, {"app": "db"}
    await put(store, "a/x", labels=db)
    entered = await put(store, "a/x", labels=web)
    stayed = await put(store, "a/x", labels=web, n=1)
    left = await put(store, "a/x", labels=db, n=2)
    await put(store, "a/x", labels=db, n=3)
    back = await put(store, "a/x", labels=web, n=4)
    gone = await store.delete(f"{PREFIX}a/x", expect=None)
    born = await put(store, "a/x", labels=web)
    await turns()
    assert client.told == [
        f"ADDED a/x@{entered}",
        f"MODIFIED a/x@{stayed}",
        f"DELETED a/x@{left}",
        f"ADDED a/x@{back}",
        f"DELETED a/x@{gone}",
        f"ADDED a/x@{born}",
    ]
    # Who leaves a selection is shown as it was when it still belonged there.
    assert client.events[2]["object"]["n"] == 1
    assert client.events[2]["object"]["metadata"]["labels"] == web


@pytest.mark.parametrize(
    ("selection", "told"),
    [(Selecting(namespace="a"), ["a/x", "a/y"]), (Selecting(name="x"), ["a/x", "b/x"]), (Selecting("b", "x"), ["b/x"])],
)
async def test_only_what_lies_there_is_told(parts: Opened, selection: Selecting, told: list[str]) -> None:
    store, _, cache = parts
    client = Following(cache, Viewer(), selection).client()
    for key in ("a/x", "a/y", "b/x", "b/y"):
        await put(store, key)
    await turns()
    assert [line.split()[1].split("@")[0] for line in client.told] == told


async def test_an_event_is_written_once_for_all_who_ask_the_same(parts: Opened) -> None:
    store, _, cache = parts
    projection = Whole()
    following = Following(cache, Viewer(), projection=projection)
    other = Following(cache, Viewer(), Selecting(namespace="a"), projection)
    clients = [following.client() for _ in range(5)] + [other.client()]
    await turns()
    await put(store, "a/x")
    assert projection.encoded == 1
    assert len({id(c.frames[-1]) for c in clients}) == 1
    assert (following.sent, other.sent) == (5, 1)


async def test_projections_that_cannot_be_shared_are_not(parts: Opened) -> None:
    store, _, cache = parts
    projections = [Whole(), Whole()]
    for projection in projections:
        projection.key = None
        Following(cache, Viewer(), projection=projection).client()
    await turns()
    await put(store, "a/x")
    assert [p.encoded for p in projections] == [1, 1]


# ---------------------------------------------------------------------- beginnings


async def test_first_events_come_before_what_happens_meanwhile(parts: Opened) -> None:
    store, _, cache = parts
    following = Following(cache, Viewer())
    watcher, client = following.joined(cache.revision, first=[added("a/x", 1), added("a/y", 2)])
    late = await put(store, "a/z")
    watcher.begin(client)
    later = await put(store, "a/z", n=1)
    await turns()
    assert client.told == ["ADDED a/x@1", "ADDED a/y@2", f"ADDED a/z@{late}", f"MODIFIED a/z@{later}"]


async def test_nothing_is_told_that_the_client_has_seen(parts: Opened) -> None:
    store, _, cache = parts
    following = Following(cache, Viewer(slow=True))
    viewer = following.channel.viewer
    assert isinstance(viewer, Viewer)
    early = following.client()
    await turns()
    seen = await put(store, "a/x")
    late = following.client(after=seen)
    unseen = await put(store, "a/y")
    viewer.go.set()
    await turns()
    assert early.told == [f"ADDED a/x@{seen}", f"ADDED a/y@{unseen}"]
    assert late.told == [f"ADDED a/y@{unseen}"]


async def test_many_first_events_wait_for_a_slow_reader(parts: Opened) -> None:
    store, _, cache = parts
    client = Client()
    client.reads.clear()
    following = Following(cache, Viewer())
    watcher, _ = following.joined(0, first=[added(f"a/{i}", 1) for i in range(5000)])
    watcher.begin(client)
    late = await put(store, "a/late")
    await turns()
    assert 0 < len(client.events) < 5000
    client.reads.set()
    await turns(100)
    assert len(client.events) == 5001
    assert client.told[-1] == f"ADDED a/late@{late}"


async def test_who_takes_its_first_events_too_slowly_is_cut_off(
    parts: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "polykind.watch")
    monkeypatch.setattr(watch, "_WAITING", 2000)
    store, _, cache = parts
    following = Following(cache, Viewer())
    keen = following.client()
    watcher, client = following.joined(0, first=[added(f"a/{i}", 1) for i in range(5000)])
    client.reads.clear()
    watcher.begin(client)
    for i in range(20):
        await put(store, "a/x", n=i)
    await turns()
    assert client.over == "aborted"
    assert (len(keen.events), keen.over) == (20, "")
    assert following.channel.watchers == {keen.watcher}
    assert "a watcher was cut off: it left more than 2000 bytes waiting behind its first events" in caplog.text


async def test_a_watch_that_ends_before_it_begins_still_tells_why(parts: Opened) -> None:
    _, _, cache = parts
    following = Following(cache, Viewer())
    watcher, client = following.joined(0, first=[added("a/x", 1)])
    following.channel.fail(errors.InternalError("broken"))
    watcher.begin(client)
    await turns()
    assert client.told == ["ADDED a/x@1", "ERROR 500"]
    assert client.over == "finished"


async def test_first_events_that_cannot_be_made_cut_the_watch_off(
    parts: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    _, _, cache = parts
    following = Following(cache, Viewer())
    watcher, client = following.joined(0)
    watcher.first = (bytes(1 // 0) for _ in range(1))
    watcher.begin(client)
    await turns()
    assert client.over == "aborted"
    assert "a watch could not begin and is cut off" in caplog.text


# ---------------------------------------------------------------------- conversions that take their time


async def test_events_keep_their_order_behind_a_slow_conversion(parts: Opened) -> None:
    store, _, cache = parts
    viewer = Viewer(slow=True)
    client = Following(cache, viewer).client()
    await turns()
    first = await put(store, "a/x")
    await turns()
    rest = [await put(store, f"a/{i}") for i in range(5)]
    await turns()
    assert client.told == []
    viewer.go.set()
    await turns()
    assert [int(line.split("@")[1]) for line in client.told] == [first, *rest]
    assert viewer.batches == [[f"a/x@{first}"], [f"a/{i}@{r}" for i, r in enumerate(rest)]]
    assert (await put(store, "a/y")) > 0
    await turns()
    assert len(client.events) == 7


async def test_what_was_before_is_converted_only_where_it_matters(parts: Opened) -> None:
    store, _, cache = parts
    one = await put(store, "a/x", labels={"app": "web"})
    everything, some = Viewer(slow=True), Viewer(slow=True)
    elsewhere = Viewer(slow=True)
    for viewer, selection in (
        (everything, Selecting()),
        (some, Selecting(labels={"app": "web"})),
        (elsewhere, Selecting("b")),
    ):
        viewer.go.set()
        Following(cache, viewer, selection).client()
    await turns()
    two = await put(store, "a/x", labels={"app": "db"})
    await turns()
    await store.delete(f"{PREFIX}a/x", expect=two)
    await turns()
    assert everything.batches == [[f"a/x@{two}"], [f"a/x@{two}"]]
    assert some.batches == [[f"a/x@{one}", f"a/x@{two}"], [f"a/x@{two}"]]
    assert elsewhere.batches == []


async def test_bookmarks_do_not_run_ahead_of_events_that_wait(parts: Opened) -> None:
    store, _, cache = parts
    viewer = Viewer(slow=True)
    following = Following(cache, viewer)
    following.client()
    await turns()
    waiting = await put(store, "a/x")
    await put(store, "a/y")
    assert following.channel.seen == waiting - 1
    viewer.go.set()
    await turns()
    assert following.channel.seen == cache.revision


@pytest.mark.parametrize(
    ("error", "told"),
    [(errors.UnknownReasonError("converter down"), "converter down"), (KeyError("bug"), "the watch failed")],
)
async def test_a_conversion_that_fails_ends_the_watch_with_an_error(
    parts: Opened, caplog: pytest.LogCaptureFixture, error: Exception, told: str
) -> None:
    store, _, cache = parts
    viewer = Viewer(slow=True)
    viewer.error = error
    following = Following(cache, viewer)
    emptied: list[bool] = []
    following.channel.empty = lambda: emptied.append(True)
    clients = [following.client(), following.client()]
    await turns()
    await put(store, "a/x")
    viewer.go.set()
    await turns()
    for client in clients:
        assert client.told == ["ERROR 500"]
        assert told in client.events[0]["object"]["message"]
        assert client.over == "finished"
    assert emptied == [True]
    assert cache.observers == []
    await put(store, "a/y")
    await turns()
    assert [len(c.events) for c in clients] == [1, 1]


async def test_a_projection_that_refuses_ends_the_watch_with_an_error(parts: Opened) -> None:
    class Refusing(Whole):
        def encode(self, data: bytes) -> bytes:
            raise errors.InternalError("cannot be shown")

    store, _, cache = parts
    client = Following(cache, Viewer(), projection=Refusing()).client()
    await turns()
    await put(store, "a/x")
    await turns()
    assert (client.told, client.over) == (["ERROR 500"], "finished")


# ---------------------------------------------------------------------- time, and ends


async def test_bookmarks_come_at_their_interval_and_tell_of_other_resources_too(parts: Opened) -> None:
    store, _, cache = parts
    following = Following(cache, Viewer())
    client, plain = following.client(bookmarks=True, interval=0.01), following.client()
    elsewhere = await store.put("/registry/other.com/bars/a/x", b"{}", expect=None)
    async with asyncio.timeout(5):
        while len(client.events) < 3:
            await asyncio.sleep(0.005)
    assert set(client.told) == {f"BOOKMARK {elsewhere}"}
    assert plain.events == []
    client.finish()


async def test_a_watch_ends_when_its_time_is_up_with_a_bookmark_before(
    parts: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LAST", 0.02)
    _, _, cache = parts
    following = Following(cache, Viewer())
    clients = [
        following.client(timeout=0.04, bookmarks=True),
        following.client(timeout=0.01, bookmarks=True),
        following.client(timeout=0.04),
    ]
    async with asyncio.timeout(5):
        while not all(c.over for c in clients):
            await asyncio.sleep(0.005)
    assert [c.over for c in clients] == ["finished"] * 3
    assert [c.told for c in clients] == [[f"BOOKMARK {cache.revision}"], [], []]
    assert following.channel.watchers == set()


async def test_a_reset_ends_every_watch_cleanly(parts: Opened) -> None:
    _, _, cache = parts
    following = Following(cache, Viewer())
    clients = [following.client(), following.client()]
    await turns()
    cache.reset()
    assert [c.over for c in clients] == ["finished", "finished"]
    assert cache.observers == []


async def test_a_channel_is_given_up_with_its_last_watcher(parts: Opened) -> None:
    store, _, cache = parts
    following = Following(cache, Viewer())
    emptied: list[bool] = []
    following.channel.empty = lambda: emptied.append(True)
    first, second = following.client(), following.client()
    await turns()
    first.abort()
    await put(store, "a/x")
    assert (emptied, len(second.events)) == ([], 1)
    second.abort()
    assert (emptied, cache.observers) == ([True], [])


async def test_a_watch_that_ends_while_it_begins_sends_what_is_due_first(parts: Opened) -> None:
    store, _, cache = parts
    following = Following(cache, Viewer())
    watcher, client = following.joined(0, first=[added(f"a/{i}", 1) for i in range(3000)])
    client.reads.clear()
    watcher.begin(client)
    await turns()
    late = await put(store, "a/late")
    following.channel.end()
    assert client.over == ""
    client.reads.set()
    await turns(50)
    assert (len(client.events), client.told[-1], client.over) == (3001, f"ADDED a/late@{late}", "finished")
