"""The behaviour of every Store. A module per implementation runs it with a `stores` fixture that opens empty stores."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import pytest

from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    KeyValue,
    RevisionConflictError,
    ScanPage,
    Store,
    StoreError,
    StoreEvent,
    UnavailableError,
)


class Stores(Protocol):
    """Opens stores on the same storage, which is empty at first. `reopen` closes the open store first."""

    async def open(self) -> Store: ...

    async def reopen(self) -> Store: ...


class Recorder:
    """A listener that records events and lets tests wait for a revision."""

    def __init__(self) -> None:
        self.events: list[StoreEvent] = []
        self.progress: list[int] = []
        self.lost: list[StoreError] = []
        self._change = asyncio.Event()

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        assert not self.progress or revision >= self.progress[-1]
        assert all(event.revision <= revision for event in events)
        self.events.extend(events)
        self.progress.append(revision)
        self._change.set()

    def on_lost(self, error: StoreError) -> None:
        self.lost.append(error)
        self._change.set()

    async def until(self, revision: int) -> None:
        async with asyncio.timeout(20):
            while not self.progress or self.progress[-1] < revision:
                self._change.clear()
                await self._change.wait()

    async def until_lost(self) -> None:
        async with asyncio.timeout(20):
            while not self.lost:
                self._change.clear()
                await self._change.wait()

    @property
    def revisions(self) -> list[int]:
        return [event.revision for event in self.events]


async def conflict(writing: Awaitable[int]) -> KeyValue | None:
    """Await a write that must conflict, and return the key's current state from the error."""
    with pytest.raises(RevisionConflictError) as caught:
        await writing
    return caught.value.current


async def keys(store: Store, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> list[str]:
    return [item.key for item in (await store.range(prefix, after=after, limit=limit, at=at)).items]


class TestWrites:
    async def test_each_write_increments_the_revision(self, store: Store) -> None:
        before = await store.revision()
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/b", b"2", expect=0)
        third = await store.delete("/r/a", expect=first)
        assert [first, second, third] == [before + 1, before + 2, before + 3]
        assert await store.revision() == third

    async def test_put_expecting_absence_conflicts_with_existing_key(self, store: Store) -> None:
        revision = await store.put("/r/a", b"1", expect=0)
        assert await conflict(store.put("/r/a", b"2", expect=0)) == KeyValue("/r/a", b"1", revision)
        assert await store.get("/r/a") == KeyValue("/r/a", b"1", revision)

    async def test_put_expecting_revision_requires_it(self, store: Store) -> None:
        first = await store.put("/r/a", b"1", expect=None)
        second = await store.put("/r/a", b"2", expect=first)
        assert await conflict(store.put("/r/a", b"3", expect=first)) == KeyValue("/r/a", b"2", second)
        assert await conflict(store.put("/r/a", b"3", expect=second + 100)) == KeyValue("/r/a", b"2", second)
        assert await conflict(store.put("/r/absent", b"3", expect=first)) is None

    async def test_unconditional_put_always_writes(self, store: Store) -> None:
        await store.put("/r/a", b"1", expect=None)
        revision = await store.put("/r/a", b"2", expect=None)
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", revision)

    async def test_delete_requires_revision_and_existing_key(self, store: Store) -> None:
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        assert await conflict(store.delete("/r/a", expect=first)) == KeyValue("/r/a", b"2", second)
        assert await conflict(store.delete("/r/a", expect=0)) == KeyValue("/r/a", b"2", second)
        assert await store.delete("/r/a", expect=second) == second + 1
        assert await store.get("/r/a") is None
        assert await conflict(store.delete("/r/a", expect=None)) is None
        assert await conflict(store.delete("/r/a", expect=second)) is None
        assert await conflict(store.delete("/r/a", expect=0)) is None

    async def test_deleted_key_can_be_created_again(self, store: Store) -> None:
        await store.put("/r/a", b"1", expect=0)
        await store.delete("/r/a", expect=None)
        revision = await store.put("/r/a", b"2", expect=0)
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", revision)

    async def test_conflicting_write_takes_no_revision(self, store: Store) -> None:
        before = await store.put("/r/a", b"1", expect=0)
        await conflict(store.put("/r/a", b"2", expect=0))
        await conflict(store.delete("/r/b", expect=None))
        assert await store.put("/r/b", b"1", expect=0) == before + 1

    async def test_one_of_concurrent_creates_succeeds(self, store: Store) -> None:
        answers = await asyncio.gather(
            *(store.put("/r/a", b"%d" % n, expect=0) for n in range(40)), return_exceptions=True
        )
        won = [(n, answer) for n, answer in enumerate(answers) if isinstance(answer, int)]
        assert len(won) == 1
        held = KeyValue("/r/a", b"%d" % won[0][0], won[0][1])
        assert await store.get("/r/a") == held
        assert [answer.current for answer in answers if isinstance(answer, RevisionConflictError)] == [held] * 39

    async def test_concurrent_increments_are_not_lost(self, store: Store) -> None:
        async def count() -> None:
            done = 0
            while done < 10:
                now = await store.get("/r/counter")
                try:
                    value = b"%d" % (int(now.value if now else b"0") + 1)
                    await store.put("/r/counter", value, expect=now.revision if now else 0)
                    done += 1
                except RevisionConflictError:
                    pass

        await asyncio.gather(*(count() for _ in range(5)))
        now = await store.get("/r/counter")
        assert now is not None
        assert now.value == b"50"

    @pytest.mark.parametrize("value", [b"", b"\x00", b"\xff\x00\xfe", bytes(1_500_000)], ids=len)
    async def test_arbitrary_bytes_are_stored(self, store: Store, value: bytes) -> None:
        revision = await store.put("/r/a", value, expect=0)
        held = KeyValue("/r/a", value, revision)
        assert await store.get("/r/a") == held
        assert (await store.range("/r/")).items == [held]
        assert await conflict(store.put("/r/a", b"x", expect=0)) == held

    async def test_cancelled_write_does_not_affect_the_next(self, store: Store) -> None:
        writing = asyncio.ensure_future(store.put("/r/a", b"1", expect=None))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        revision = await store.put("/r/b", b"2", expect=0)
        assert await store.get("/r/b") == KeyValue("/r/b", b"2", revision)


class TestReads:
    async def test_absent_key_is_none(self, store: Store) -> None:
        assert await store.get("/r/a") is None
        page = await store.range("/r/")
        assert (page.items, page.remaining, page.revision) == ([], 0, await store.revision())

    async def test_get_at_past_revision(self, store: Store) -> None:
        start = await store.put("/r/other", b"", expect=0)
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        deleted = await store.delete("/r/a", expect=second)
        again = await store.put("/r/a", b"3", expect=0)
        assert await store.get("/r/a", at=start) is None
        assert await store.get("/r/a", at=first) == KeyValue("/r/a", b"1", first)
        assert await store.get("/r/a", at=second) == KeyValue("/r/a", b"2", second)
        assert await store.get("/r/a", at=deleted) is None
        assert await store.get("/r/a", at=again) == KeyValue("/r/a", b"3", again)

    async def test_read_at_future_revision_fails(self, store: Store) -> None:
        newest = await store.put("/r/a", b"1", expect=0)
        with pytest.raises(FutureRevisionError) as caught:
            await store.get("/r/a", at=newest + 1)
        assert caught.value.current == newest
        with pytest.raises(FutureRevisionError):
            await store.range("/r/", at=newest + 1000)

    async def test_range_is_in_key_order_with_store_revision(self, store: Store) -> None:
        for name in ("c", "a", "b"):
            await store.put(f"/r/{name}", name.encode(), expect=0)
        last = await store.put("/other/x", b"", expect=0)
        page = await store.range("/r/")
        assert [(item.key, item.value) for item in page.items] == [("/r/a", b"a"), ("/r/b", b"b"), ("/r/c", b"c")]
        assert (page.revision, page.remaining) == (last, 0)

    async def test_pages_are_consecutive(self, store: Store) -> None:
        names = [f"/r/{n:02}" for n in range(10)]
        for name in names:
            revision = await store.put(name, b"", expect=0)
        first = await store.range("/r/", limit=4, at=revision)
        second = await store.range("/r/", after=first.items[-1].key, limit=4, at=revision)
        third = await store.range("/r/", after=second.items[-1].key, limit=4, at=revision)
        assert [item.key for page in (first, second, third) for item in page.items] == names
        assert [page.remaining for page in (first, second, third)] == [6, 2, 0]
        assert (await store.range("/r/", limit=10)).remaining == 0
        assert (await store.range("/r/", limit=1000)).remaining == 0

    async def test_scan_returns_all_keys_in_pages(self, store: Store) -> None:
        written = [KeyValue(name, b"v", await store.put(name, b"v", expect=0)) for name in ("/r/a", "/r/b", "/r/c")]
        await store.put("/r/d", b"", expect=0)
        newest = await store.delete("/r/d", expect=None)
        await store.put("/s/a", b"", expect=0)
        assert (await store.scan("/q/")).items == []
        pages: list[ScanPage] = []
        after = ""
        while not pages or not pages[-1].last:
            pages.append(await store.scan("/r/", after=after))
            after = pages[-1].items[-1].key
        assert [item for page in pages for item in page.items] == written
        assert pages[0].revision >= newest
        assert [item.key for item in (await store.scan("/r/", after="/r/a")).items] == ["/r/b", "/r/c"]

    async def test_remaining_excludes_deleted_and_other_keys(self, store: Store) -> None:
        for name in ("/r/a", "/r/b", "/r/c", "/r/d", "/s/a"):
            await store.put(name, b"", expect=0)
        before = await store.revision()
        await store.delete("/r/c", expect=None)
        assert (await store.range("/r/", limit=1)).remaining == 2
        assert (await store.range("/r/", limit=1, at=before)).remaining == 3

    async def test_page_can_start_after_deleted_key(self, store: Store) -> None:
        for name in ("/r/a", "/r/b", "/r/c"):
            await store.put(name, b"", expect=0)
        await store.delete("/r/b", expect=None)
        assert await keys(store, "/r/", after="/r/b") == ["/r/c"]
        assert await keys(store, "/r/", after="/r/c") == []
        assert await keys(store, "/r/", after="/r/b0") == ["/r/c"]

    async def test_prefix_with_slash_excludes_longer_names(self, store: Store) -> None:
        for name in (
            "/registry/a/b",
            "/registry/a/b/",
            "/registry/a/b/x",
            "/registry/a/b0",
            "/registry/a/bc",
            "/registry/a",
        ):
            await store.put(name, b"", expect=0)
        assert await keys(store, "/registry/a/b/") == ["/registry/a/b/", "/registry/a/b/x"]
        assert await keys(store, "/registry/a/") == [
            "/registry/a/b",
            "/registry/a/b/",
            "/registry/a/b/x",
            "/registry/a/b0",
            "/registry/a/bc",
        ]

    async def test_keys_sort_by_utf8_bytes(self, store: Store) -> None:
        names = [
            "/r/B",
            "/r/a",
            "/r/a-b",
            "/r/a.b",
            "/r/a/b",
            "/r/ab",
            "/r/é",
            "/r/\ud7ff",
            "/r/\ue000",
            "/r/🦆",
            "/r/\U0010ffff",
        ]
        for name in reversed(names):
            await store.put(name, name.encode(), expect=0)
        assert await keys(store, "/r/") == sorted(names, key=str.encode) == names
        assert await keys(store, "/r/", after="/r/é", limit=2) == ["/r/\ud7ff", "/r/\ue000"]
        assert await keys(store, "/r/\U0010ffff") == ["/r/\U0010ffff"]
        assert await keys(store, "/r/\ud7ff") == ["/r/\ud7ff"]

    async def test_range_at_past_revision(self, store: Store) -> None:
        a1 = await store.put("/r/a", b"a1", expect=0)
        b1 = await store.put("/r/b", b"b1", expect=0)
        a2 = await store.put("/r/a", b"a2", expect=a1)
        deleted = await store.delete("/r/b", expect=b1)
        c1 = await store.put("/r/c", b"c1", expect=0)
        expected = {
            a1: [("/r/a", a1)],
            b1: [("/r/a", a1), ("/r/b", b1)],
            a2: [("/r/a", a2), ("/r/b", b1)],
            deleted: [("/r/a", a2)],
            c1: [("/r/a", a2), ("/r/c", c1)],
        }
        for at, items in expected.items():
            page = await store.range("/r/", at=at)
            assert page.revision == at
            assert [(item.key, item.revision) for item in page.items] == items

    async def test_page_is_a_snapshot_during_writes(self, store: Store) -> None:
        names = [f"/r/{n}" for n in range(8)]
        for name in names:
            await store.put(name, b"0", expect=0)
        stop = False

        async def write() -> None:
            # Written in the same order each round, so that in any snapshot the values never increase along the keys.
            for step in range(1, 1000):
                for name in names:
                    await store.put(name, b"%d" % step, expect=None)
                if stop:
                    return

        writing = asyncio.create_task(write())
        for _ in range(30):
            page = await store.range("/r/")
            steps = [int(item.value) for item in page.items]
            assert steps == sorted(steps, reverse=True)
            assert steps[0] - steps[-1] <= 1
            assert max(item.revision for item in page.items) == page.revision
        stop = True
        await writing


class TestWatches:
    async def test_listener_receives_event_before_the_write_returns(self, store: Store) -> None:
        listener = Recorder()
        watch = store.watch("/r/", await store.revision(), listener)
        first = await store.put("/r/a", b"1", expect=0)
        assert listener.events == [StoreEvent("/r/a", b"1", first)]
        second = await store.delete("/r/a", expect=first)
        assert listener.events[1:] == [StoreEvent("/r/a", None, second)]
        assert listener.progress[-1] == second
        watch.close()

    async def test_writes_under_other_prefixes_give_progress_only(self, store: Store) -> None:
        listener = Recorder()
        watch = store.watch("/r/", await store.revision(), listener)
        await store.put("/rr/a", b"1", expect=0)
        last = await store.put("/r", b"1", expect=0)
        await listener.until(last)
        assert listener.events == []
        watch.close()

    async def test_past_events_precede_live_events(self, store: Store) -> None:
        start = await store.revision()
        past = [await store.put(f"/r/{n}", b"%d" % n, expect=0) for n in range(5)]
        await store.put("/s/0", b"", expect=0)
        listener = Recorder()
        watch = store.watch("/r/", past[1], listener)
        deleted = await store.delete("/r/0", expect=None)
        await listener.until(deleted)
        assert listener.revisions == [*past[2:], deleted]
        everything = Recorder()
        other = store.watch("/", start, everything)
        await everything.until(deleted)
        assert everything.revisions == list(range(start + 1, deleted + 1))
        watch.close()
        other.close()

    async def test_no_event_is_lost_or_repeated_between_replay_and_live(self, store: Store) -> None:
        start = await store.revision()
        listeners: list[tuple[int, Recorder]] = []

        async def write(writer: int) -> None:
            for step in range(60):
                revision = await store.put(f"/r/{writer}", b"%d" % step, expect=None)
                if step % 20 == writer:
                    for after in (start, revision - 3, revision):
                        listener = Recorder()
                        listeners.append((max(after, start), listener))
                        store.watch("/r/", max(after, start), listener)

        await asyncio.gather(*(write(writer) for writer in range(8)))
        newest = await store.revision()
        assert newest == start + 480
        assert len(listeners) == 72
        for after, listener in listeners:
            await listener.until(newest)
            assert listener.revisions == list(range(after + 1, newest + 1))

    async def test_watch_from_future_revision_skips_earlier_events(self, store: Store) -> None:
        revision = await store.revision()
        listener = Recorder()
        watch = store.watch("/r/", revision + 2, listener)
        written = [await store.put("/r/a", b"", expect=None) for _ in range(4)]
        await listener.until(written[-1])
        assert listener.revisions == written[2:]
        watch.close()

    async def test_closed_watch_receives_nothing(self, store: Store) -> None:
        live, replaying = Recorder(), Recorder()
        first = await store.put("/r/a", b"", expect=None)
        one, two = store.watch("/r/", first, live), store.watch("/r/", first - 1, replaying)
        one.close()
        two.close()
        one.close()
        await store.put("/r/a", b"", expect=None)
        assert live.events == replaying.events == []
        assert live.lost == replaying.lost == []

    async def test_listener_may_close_watches_during_delivery(self, store: Store) -> None:
        class Closer(Recorder):
            def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
                super().on_events(events, revision)
                for watch in watches:
                    watch.close()

        first, second = Closer(), Recorder()
        after = await store.revision()
        watches = [store.watch("/r/", after, first), store.watch("/r/", after, second)]
        await store.put("/r/a", b"", expect=None)
        await store.put("/r/a", b"", expect=None)
        assert len(first.events) == 1
        assert second.events == []

    async def test_watch_opened_by_listener_misses_nothing(self, store: Store) -> None:
        inner = Recorder()

        class Opener(Recorder):
            def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
                super().on_events(events, revision)
                if len(self.progress) == 1:
                    store.watch("/r/", after, inner)

        after = await store.revision()
        store.watch("/r/", after, Opener())
        await asyncio.gather(*(store.put(f"/r/{n}", b"", expect=None) for n in range(20)))
        await inner.until(after + 20)
        assert inner.revisions == list(range(after + 1, after + 21))

    async def test_failing_listener_does_not_affect_others(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Failing(Recorder):
            def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
                raise ValueError("the listener broke")

        after = await store.revision()
        good = Recorder()
        store.watch("/r/", after, Failing())
        store.watch("/r/", after, good)
        revision = await store.put("/r/a", b"", expect=0)
        assert good.revisions == [revision]
        assert "the listener broke" in caplog.text


class TestHistory:
    async def test_history_contains_previous_values(self, store: Store) -> None:
        start = await store.revision()
        a1 = await store.put("/r/a", b"1", expect=0)
        b1 = await store.put("/s/b", b"1", expect=0)
        a2 = await store.put("/r/a", b"2", expect=a1)
        deleted = await store.delete("/r/a", expect=a2)
        a3 = await store.put("/r/a", b"3", expect=0)
        assert [tuple(change) for change in await store.history("/r/", start, a3)] == [
            ("/r/a", b"1", a1, None),
            ("/r/a", b"2", a2, KeyValue("/r/a", b"1", a1)),
            ("/r/a", None, deleted, KeyValue("/r/a", b"2", a2)),
            ("/r/a", b"3", a3, None),
        ]
        assert [change.revision for change in await store.history("/", a1, deleted)] == [b1, a2, deleted]
        assert await store.history("/r/", a3, a3) == []


class TestCompaction:
    async def test_revisions_below_compaction_are_unreadable(self, store: Store) -> None:
        a1 = await store.put("/r/a", b"a1", expect=0)
        b1 = await store.put("/r/b", b"b1", expect=0)
        c1 = await store.put("/r/c", b"c1", expect=0)
        a2 = await store.put("/r/a", b"a2", expect=a1)
        deleted = await store.delete("/r/b", expect=b1)
        a3 = await store.put("/r/a", b"a3", expect=a2)
        await store.compact(deleted)
        for at in (a1, b1, c1, a2):
            with pytest.raises(CompactedError) as caught:
                await store.range("/r/", at=at)
            assert (caught.value.requested, caught.value.oldest) == (at, deleted)
            with pytest.raises(CompactedError):
                await store.get("/r/c", at=at)
        assert (await store.range("/r/", at=deleted)).items == [
            KeyValue("/r/a", b"a2", a2),
            KeyValue("/r/c", b"c1", c1),
        ]
        assert (await store.range("/r/", at=a3)).items == [KeyValue("/r/a", b"a3", a3), KeyValue("/r/c", b"c1", c1)]
        assert await store.get("/r/c") == KeyValue("/r/c", b"c1", c1)
        changes = await store.history("/r/", deleted, a3)
        assert [tuple(change) for change in changes] == [("/r/a", b"a3", a3, KeyValue("/r/a", b"a2", a2))]
        with pytest.raises(CompactedError):
            await store.history("/r/", a1, a3)

    async def test_watch_from_compacted_revision_fails(self, store: Store) -> None:
        written = [await store.put("/r/a", b"%d" % n, expect=None) for n in range(6)]
        await store.compact(written[3])
        with pytest.raises(CompactedError):
            store.watch("/r/", written[1], Recorder())
        listener = Recorder()
        watch = store.watch("/r/", written[3], listener)
        await listener.until(written[-1])
        assert listener.revisions == written[4:]
        watch.close()

    async def test_revisions_continue_after_deleting_and_compacting_everything(self, stores: Stores) -> None:
        store = await stores.open()
        await store.put("/r/a", b"", expect=0)
        deleted = await store.delete("/r/a", expect=None)
        await store.compact(deleted)
        store = await stores.reopen()
        assert await store.revision() == deleted
        assert await store.put("/r/a", b"", expect=0) == deleted + 1
        assert await store.get("/r/a", at=deleted) is None
        await store.close()

    async def test_compacting_future_revision_fails(self, store: Store) -> None:
        with pytest.raises(FutureRevisionError):
            await store.compact(await store.revision() + 1)

    async def test_compaction_is_idempotent(self, store: Store) -> None:
        written = [await store.put("/r/a", b"%d" % n, expect=None) for n in range(4)]
        await store.compact(written[2])
        await store.compact(written[2])
        await store.compact(written[0])
        held = await store.get("/r/a", at=written[2])
        assert held == KeyValue("/r/a", b"2", written[2])

    async def test_writes_and_watches_continue_during_compaction(self, store: Store) -> None:
        listener = Recorder()
        start = await store.revision()
        store.watch("/r/", start, listener)
        for _ in range(5):
            await asyncio.gather(*(store.put(f"/r/{n % 7}", b"", expect=None) for n in range(40)))
            newest = await store.revision()
            await asyncio.gather(
                store.compact(newest - 5), *(store.put(f"/r/{n % 7}", b"", expect=None) for n in range(40))
            )
        assert listener.revisions == list(range(start + 1, start + 401))
        assert len((await store.range("/r/")).items) == 7


class TestLifetime:
    async def test_reopened_store_has_all_data(self, stores: Stores) -> None:
        store = await stores.open()
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        store = await stores.reopen()
        assert await store.revision() == second
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", second)
        assert await store.get("/r/a", at=first) == KeyValue("/r/a", b"1", first)
        assert await store.put("/r/a", b"3", expect=second) == second + 1
        await store.close()

    async def test_close_finishes_pending_writes(self, stores: Stores) -> None:
        store = await stores.open()
        writes = [asyncio.ensure_future(store.put(f"/r/{n:03}", b"", expect=0)) for n in range(100)]
        await asyncio.sleep(0)
        await store.close()
        revisions = await asyncio.gather(*writes)
        store = await stores.open()
        assert [item.revision for item in (await store.range("/r/")).items] == revisions
        await store.close()

    async def test_closed_store_raises_unavailable_and_ends_watches(self, stores: Stores) -> None:
        store = await stores.open()
        await store.put("/r/a", b"", expect=0)
        live, replaying = Recorder(), Recorder()
        store.watch("/r/", await store.revision(), live)
        store.watch("/r/", await store.revision() - 1, replaying)
        await store.close()
        await store.close()
        assert [type(error) for error in live.lost + replaying.lost] == [UnavailableError, UnavailableError]
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.get("/r/a"),
            lambda: store.range("/r/"),
            lambda: store.put("/r/a", b"", expect=None),
            lambda: store.delete("/r/a", expect=None),
            lambda: store.compact(1),
            lambda: store.history("/r/", 0, 1),
        ]
        for call in calls:
            with pytest.raises(UnavailableError):
                await call()
        with pytest.raises(UnavailableError):
            store.watch("/r/", 0, Recorder())
