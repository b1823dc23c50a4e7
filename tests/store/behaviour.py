"""What every Store must do; a module per implementation runs it with a `stores` fixture that opens empty stores."""

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
    Store,
    StoreError,
    StoreEvent,
    UnavailableError,
)


class Stores(Protocol):
    """Opens stores on one place of storage, empty at first; `reopen` closes the one that is open."""

    async def open(self) -> Store: ...

    async def reopen(self) -> Store: ...


class Recorder:
    """A listener that keeps what it is told and lets tests wait for a revision."""

    def __init__(self) -> None:
        self.events: list[StoreEvent] = []
        self.told: list[int] = []
        self.lost: list[StoreError] = []
        self._change = asyncio.Event()

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        assert not self.told or revision >= self.told[-1]
        assert all(event.revision <= revision for event in events)
        self.events.extend(events)
        self.told.append(revision)
        self._change.set()

    def on_lost(self, error: StoreError) -> None:
        self.lost.append(error)
        self._change.set()

    async def until(self, revision: int) -> None:
        async with asyncio.timeout(20):
            while not self.told or self.told[-1] < revision:
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


async def refused(writing: Awaitable[int]) -> KeyValue | None:
    """What the conflict says the key holds."""
    with pytest.raises(RevisionConflictError) as caught:
        await writing
    return caught.value.current


async def keys(store: Store, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> list[str]:
    return [item.key for item in (await store.range(prefix, after=after, limit=limit, at=at)).items]


class TestWriting:
    async def test_each_write_takes_the_next_revision(self, store: Store) -> None:
        before = await store.revision()
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/b", b"2", expect=0)
        third = await store.delete("/r/a", expect=first)
        assert [first, second, third] == [before + 1, before + 2, before + 3]
        assert await store.revision() == third

    async def test_a_put_that_expects_absence_refuses_a_present_key(self, store: Store) -> None:
        revision = await store.put("/r/a", b"1", expect=0)
        assert await refused(store.put("/r/a", b"2", expect=0)) == KeyValue("/r/a", b"1", revision)
        assert await store.get("/r/a") == KeyValue("/r/a", b"1", revision)

    async def test_a_put_that_expects_a_revision_needs_exactly_that(self, store: Store) -> None:
        first = await store.put("/r/a", b"1", expect=None)
        second = await store.put("/r/a", b"2", expect=first)
        assert await refused(store.put("/r/a", b"3", expect=first)) == KeyValue("/r/a", b"2", second)
        assert await refused(store.put("/r/a", b"3", expect=second + 100)) == KeyValue("/r/a", b"2", second)
        assert await refused(store.put("/r/absent", b"3", expect=first)) is None

    async def test_a_put_without_expectation_always_writes(self, store: Store) -> None:
        await store.put("/r/a", b"1", expect=None)
        revision = await store.put("/r/a", b"2", expect=None)
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", revision)

    async def test_a_delete_needs_its_revision_and_a_present_key(self, store: Store) -> None:
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        assert await refused(store.delete("/r/a", expect=first)) == KeyValue("/r/a", b"2", second)
        assert await refused(store.delete("/r/a", expect=0)) == KeyValue("/r/a", b"2", second)
        assert await store.delete("/r/a", expect=second) == second + 1
        assert await store.get("/r/a") is None
        assert await refused(store.delete("/r/a", expect=None)) is None
        assert await refused(store.delete("/r/a", expect=second)) is None
        assert await refused(store.delete("/r/a", expect=0)) is None

    async def test_a_deleted_key_can_be_created_again(self, store: Store) -> None:
        await store.put("/r/a", b"1", expect=0)
        await store.delete("/r/a", expect=None)
        revision = await store.put("/r/a", b"2", expect=0)
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", revision)

    async def test_a_refused_write_takes_no_revision(self, store: Store) -> None:
        before = await store.put("/r/a", b"1", expect=0)
        await refused(store.put("/r/a", b"2", expect=0))
        await refused(store.delete("/r/b", expect=None))
        assert await store.put("/r/b", b"1", expect=0) == before + 1

    async def test_of_concurrent_creations_one_wins(self, store: Store) -> None:
        answers = await asyncio.gather(
            *(store.put("/r/a", b"%d" % n, expect=0) for n in range(40)), return_exceptions=True
        )
        won = [(n, answer) for n, answer in enumerate(answers) if isinstance(answer, int)]
        assert len(won) == 1
        held = KeyValue("/r/a", b"%d" % won[0][0], won[0][1])
        assert await store.get("/r/a") == held
        assert [answer.current for answer in answers if isinstance(answer, RevisionConflictError)] == [held] * 39

    async def test_concurrent_counters_lose_no_step(self, store: Store) -> None:
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
    async def test_any_bytes_come_back(self, store: Store, value: bytes) -> None:
        revision = await store.put("/r/a", value, expect=0)
        held = KeyValue("/r/a", value, revision)
        assert await store.get("/r/a") == held
        assert (await store.range("/r/")).items == [held]
        assert await refused(store.put("/r/a", b"x", expect=0)) == held

    async def test_an_abandoned_write_does_not_hurt_the_next(self, store: Store) -> None:
        writing = asyncio.ensure_future(store.put("/r/a", b"1", expect=None))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        revision = await store.put("/r/b", b"2", expect=0)
        assert await store.get("/r/b") == KeyValue("/r/b", b"2", revision)


class TestReading:
    async def test_an_absent_key_is_none(self, store: Store) -> None:
        assert await store.get("/r/a") is None
        page = await store.range("/r/")
        assert (page.items, page.remaining, page.revision) == ([], 0, await store.revision())

    async def test_a_key_at_a_past_revision(self, store: Store) -> None:
        start = await store.put("/r/other", b"", expect=0)
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        gone = await store.delete("/r/a", expect=second)
        again = await store.put("/r/a", b"3", expect=0)
        assert await store.get("/r/a", at=start) is None
        assert await store.get("/r/a", at=first) == KeyValue("/r/a", b"1", first)
        assert await store.get("/r/a", at=second) == KeyValue("/r/a", b"2", second)
        assert await store.get("/r/a", at=gone) is None
        assert await store.get("/r/a", at=again) == KeyValue("/r/a", b"3", again)

    async def test_the_future_cannot_be_read(self, store: Store) -> None:
        newest = await store.put("/r/a", b"1", expect=0)
        with pytest.raises(FutureRevisionError) as caught:
            await store.get("/r/a", at=newest + 1)
        assert caught.value.current == newest
        with pytest.raises(FutureRevisionError):
            await store.range("/r/", at=newest + 1000)

    async def test_a_range_comes_in_key_order_with_the_revision_of_the_store(self, store: Store) -> None:
        for name in ("c", "a", "b"):
            await store.put(f"/r/{name}", name.encode(), expect=0)
        last = await store.put("/other/x", b"", expect=0)
        page = await store.range("/r/")
        assert [(item.key, item.value) for item in page.items] == [("/r/a", b"a"), ("/r/b", b"b"), ("/r/c", b"c")]
        assert (page.revision, page.remaining) == (last, 0)

    async def test_pages_follow_each_other(self, store: Store) -> None:
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

    async def test_remaining_does_not_count_what_was_deleted_or_lies_outside(self, store: Store) -> None:
        for name in ("/r/a", "/r/b", "/r/c", "/r/d", "/s/a"):
            await store.put(name, b"", expect=0)
        before = await store.revision()
        await store.delete("/r/c", expect=None)
        assert (await store.range("/r/", limit=1)).remaining == 2
        assert (await store.range("/r/", limit=1, at=before)).remaining == 3

    async def test_a_page_may_begin_after_a_key_that_is_gone(self, store: Store) -> None:
        for name in ("/r/a", "/r/b", "/r/c"):
            await store.put(name, b"", expect=0)
        await store.delete("/r/b", expect=None)
        assert await keys(store, "/r/", after="/r/b") == ["/r/c"]
        assert await keys(store, "/r/", after="/r/c") == []
        assert await keys(store, "/r/", after="/r/b0") == ["/r/c"]

    async def test_a_key_that_extends_another_is_not_under_it(self, store: Store) -> None:
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

    async def test_keys_sort_by_their_bytes(self, store: Store) -> None:
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

    async def test_a_range_at_a_past_revision_is_exact(self, store: Store) -> None:
        a1 = await store.put("/r/a", b"a1", expect=0)
        b1 = await store.put("/r/b", b"b1", expect=0)
        a2 = await store.put("/r/a", b"a2", expect=a1)
        gone = await store.delete("/r/b", expect=b1)
        c1 = await store.put("/r/c", b"c1", expect=0)
        expected = {
            a1: [("/r/a", a1)],
            b1: [("/r/a", a1), ("/r/b", b1)],
            a2: [("/r/a", a2), ("/r/b", b1)],
            gone: [("/r/a", a2)],
            c1: [("/r/a", a2), ("/r/c", c1)],
        }
        for at, items in expected.items():
            page = await store.range("/r/", at=at)
            assert page.revision == at
            assert [(item.key, item.revision) for item in page.items] == items

    async def test_a_page_is_one_snapshot_while_others_write(self, store: Store) -> None:
        names = [f"/r/{n}" for n in range(8)]
        for name in names:
            await store.put(name, b"0", expect=0)
        stop = False

        async def write() -> None:
            # Always in the same order, so that in any snapshot the values never increase along the keys.
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


class TestWatching:
    async def test_a_listener_is_told_before_the_write_returns(self, store: Store) -> None:
        listener = Recorder()
        watching = store.watch("/r/", await store.revision(), listener)
        first = await store.put("/r/a", b"1", expect=0)
        assert listener.events == [StoreEvent("/r/a", b"1", first)]
        second = await store.delete("/r/a", expect=first)
        assert listener.events[1:] == [StoreEvent("/r/a", None, second)]
        assert listener.told[-1] == second
        watching.close()

    async def test_other_prefixes_bring_progress_only(self, store: Store) -> None:
        listener = Recorder()
        watching = store.watch("/r/", await store.revision(), listener)
        await store.put("/rr/a", b"1", expect=0)
        last = await store.put("/r", b"1", expect=0)
        await listener.until(last)
        assert listener.events == []
        watching.close()

    async def test_the_past_is_replayed_before_the_present(self, store: Store) -> None:
        start = await store.revision()
        past = [await store.put(f"/r/{n}", b"%d" % n, expect=0) for n in range(5)]
        await store.put("/s/0", b"", expect=0)
        listener = Recorder()
        watching = store.watch("/r/", past[1], listener)
        gone = await store.delete("/r/0", expect=None)
        await listener.until(gone)
        assert listener.revisions == [*past[2:], gone]
        everything = Recorder()
        other = store.watch("/", start, everything)
        await everything.until(gone)
        assert everything.revisions == list(range(start + 1, gone + 1))
        watching.close()
        other.close()

    async def test_nothing_is_lost_or_doubled_between_past_and_present(self, store: Store) -> None:
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

    async def test_a_watch_from_the_future_waits_for_it(self, store: Store) -> None:
        revision = await store.revision()
        listener = Recorder()
        watching = store.watch("/r/", revision + 2, listener)
        written = [await store.put("/r/a", b"", expect=None) for _ in range(4)]
        await listener.until(written[-1])
        assert listener.revisions == written[2:]
        watching.close()

    async def test_a_closed_watch_is_told_nothing_more(self, store: Store) -> None:
        live, replaying = Recorder(), Recorder()
        first = await store.put("/r/a", b"", expect=None)
        one, two = store.watch("/r/", first, live), store.watch("/r/", first - 1, replaying)
        one.close()
        two.close()
        one.close()
        await store.put("/r/a", b"", expect=None)
        assert live.events == replaying.events == []
        assert live.lost == replaying.lost == []

    async def test_a_listener_may_close_its_watch_and_others_as_it_is_told(self, store: Store) -> None:
        class Closer(Recorder):
            def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
                super().on_events(events, revision)
                for watching in watchings:
                    watching.close()

        first, second = Closer(), Recorder()
        after = await store.revision()
        watchings = [store.watch("/r/", after, first), store.watch("/r/", after, second)]
        await store.put("/r/a", b"", expect=None)
        await store.put("/r/a", b"", expect=None)
        assert len(first.events) == 1
        assert second.events == []

    async def test_a_watch_opened_by_a_listener_misses_nothing(self, store: Store) -> None:
        inner = Recorder()

        class Opener(Recorder):
            def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
                super().on_events(events, revision)
                if len(self.told) == 1:
                    store.watch("/r/", after, inner)

        after = await store.revision()
        store.watch("/r/", after, Opener())
        await asyncio.gather(*(store.put(f"/r/{n}", b"", expect=None) for n in range(20)))
        await inner.until(after + 20)
        assert inner.revisions == list(range(after + 1, after + 21))

    async def test_a_failing_listener_does_not_hurt_others(
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
    async def test_changes_carry_what_they_replaced(self, store: Store) -> None:
        start = await store.revision()
        a1 = await store.put("/r/a", b"1", expect=0)
        b1 = await store.put("/s/b", b"1", expect=0)
        a2 = await store.put("/r/a", b"2", expect=a1)
        gone = await store.delete("/r/a", expect=a2)
        a3 = await store.put("/r/a", b"3", expect=0)
        assert [tuple(change) for change in await store.history("/r/", start, a3)] == [
            ("/r/a", b"1", a1, None),
            ("/r/a", b"2", a2, KeyValue("/r/a", b"1", a1)),
            ("/r/a", None, gone, KeyValue("/r/a", b"2", a2)),
            ("/r/a", b"3", a3, None),
        ]
        assert [change.revision for change in await store.history("/", a1, gone)] == [b1, a2, gone]
        assert await store.history("/r/", a3, a3) == []


class TestCompaction:
    async def test_below_it_nothing_can_be_read_and_from_it_on_everything(self, store: Store) -> None:
        a1 = await store.put("/r/a", b"a1", expect=0)
        b1 = await store.put("/r/b", b"b1", expect=0)
        c1 = await store.put("/r/c", b"c1", expect=0)
        a2 = await store.put("/r/a", b"a2", expect=a1)
        gone = await store.delete("/r/b", expect=b1)
        a3 = await store.put("/r/a", b"a3", expect=a2)
        await store.compact(gone)
        for at in (a1, b1, c1, a2):
            with pytest.raises(CompactedError) as caught:
                await store.range("/r/", at=at)
            assert (caught.value.requested, caught.value.oldest) == (at, gone)
            with pytest.raises(CompactedError):
                await store.get("/r/c", at=at)
        assert (await store.range("/r/", at=gone)).items == [KeyValue("/r/a", b"a2", a2), KeyValue("/r/c", b"c1", c1)]
        assert (await store.range("/r/", at=a3)).items == [KeyValue("/r/a", b"a3", a3), KeyValue("/r/c", b"c1", c1)]
        assert await store.get("/r/c") == KeyValue("/r/c", b"c1", c1)
        changes = await store.history("/r/", gone, a3)
        assert [tuple(change) for change in changes] == [("/r/a", b"a3", a3, KeyValue("/r/a", b"a2", a2))]
        with pytest.raises(CompactedError):
            await store.history("/r/", a1, a3)

    async def test_a_watch_from_before_is_refused_and_one_from_it_is_not(self, store: Store) -> None:
        written = [await store.put("/r/a", b"%d" % n, expect=None) for n in range(6)]
        await store.compact(written[3])
        with pytest.raises(CompactedError):
            store.watch("/r/", written[1], Recorder())
        listener = Recorder()
        watching = store.watch("/r/", written[3], listener)
        await listener.until(written[-1])
        assert listener.revisions == written[4:]
        watching.close()

    async def test_revisions_go_on_after_everything_was_deleted_and_compacted(self, stores: Stores) -> None:
        store = await stores.open()
        await store.put("/r/a", b"", expect=0)
        gone = await store.delete("/r/a", expect=None)
        await store.compact(gone)
        store = await stores.reopen()
        assert await store.revision() == gone
        assert await store.put("/r/a", b"", expect=0) == gone + 1
        assert await store.get("/r/a", at=gone) is None
        await store.close()

    async def test_the_future_cannot_be_compacted(self, store: Store) -> None:
        with pytest.raises(FutureRevisionError):
            await store.compact(await store.revision() + 1)

    async def test_compacting_what_is_compacted_changes_nothing(self, store: Store) -> None:
        written = [await store.put("/r/a", b"%d" % n, expect=None) for n in range(4)]
        await store.compact(written[2])
        await store.compact(written[2])
        await store.compact(written[0])
        held = await store.get("/r/a", at=written[2])
        assert held == KeyValue("/r/a", b"2", written[2])

    async def test_writers_and_live_watches_go_on_meanwhile(self, store: Store) -> None:
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
    async def test_a_reopened_store_has_everything(self, stores: Stores) -> None:
        store = await stores.open()
        first = await store.put("/r/a", b"1", expect=0)
        second = await store.put("/r/a", b"2", expect=first)
        store = await stores.reopen()
        assert await store.revision() == second
        assert await store.get("/r/a") == KeyValue("/r/a", b"2", second)
        assert await store.get("/r/a", at=first) == KeyValue("/r/a", b"1", first)
        assert await store.put("/r/a", b"3", expect=second) == second + 1
        await store.close()

    async def test_close_lets_waiting_writes_finish(self, stores: Stores) -> None:
        store = await stores.open()
        writes = [asyncio.ensure_future(store.put(f"/r/{n:03}", b"", expect=0)) for n in range(100)]
        await asyncio.sleep(0)
        await store.close()
        revisions = await asyncio.gather(*writes)
        store = await stores.open()
        assert [item.revision for item in (await store.range("/r/")).items] == revisions
        await store.close()

    async def test_a_closed_store_refuses_by_name_and_says_so_to_its_listeners(self, stores: Stores) -> None:
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
