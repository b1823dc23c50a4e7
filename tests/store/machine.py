"""A state machine that compares a store with a simple model: a list of writes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    RevisionConflictError,
    Store,
    StoreEvent,
)
from tests.store.behaviour import Recorder

KEYS = ["/r/a", "/r/a/b", "/r/b", "/r/é", "/s/a"]
PREFIXES = ["/", "/r/", "/r/a", "/s/", "/t/"]

keys = st.sampled_from(KEYS)
prefixes = st.sampled_from(PREFIXES)
values = st.binary(max_size=3)
back = st.integers(0, 12)


class Model:
    """All writes since `base`, the revision of the empty store."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.events: list[StoreEvent] = []
        self.floor = 0

    @property
    def newest(self) -> int:
        return self.base + len(self.events)

    def state(self, at: int) -> dict[str, KeyValue]:
        found: dict[str, KeyValue] = {}
        for key, value, revision in self.events[: at - self.base]:
            if value is None:
                del found[key]
            else:
                found[key] = KeyValue(key, value, revision)
        return dict(sorted(found.items(), key=lambda item: item[0].encode()))

    def write(self, key: str, value: bytes | None, expect: int | None) -> int | None:
        """Return the write's revision, or None if it must conflict."""
        held = self.state(self.newest).get(key)
        if expect not in (None, held.revision if held else 0) or (value is None and held is None):
            return None
        self.events.append(StoreEvent(key, value, self.newest + 1))
        return self.newest

    def changes(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        return [
            HistoryEvent(*event, self.state(event.revision - 1).get(event.key))
            for event in self.events
            if event.key.startswith(prefix) and after < event.revision <= until
        ]


class StoreMachine(RuleBasedStateMachine):
    """Subclasses open an empty store and reopen it."""

    store: Store

    async def open(self) -> Store:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.store = self.runner.run(self.open())
        self.model = Model(self.runner.run(self.store.revision()))
        self.watches: list[tuple[str, int, Recorder]] = []

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.store.close())
            self.runner.close()

    def expected(self, key: str, expectation: str) -> int | None:
        held = self.model.state(self.model.newest).get(key)
        now = held.revision if held else 0
        return {"any": None, "absent": 0, "current": now, "stale": max(now - 1, 1)}[expectation]

    @rule(
        writes=st.lists(
            st.tuples(keys, st.none() | values, st.sampled_from(["any", "any", "absent", "current", "stale"])),
            min_size=1,
            max_size=6,
        )
    )
    def write_concurrently(self, writes: Sequence[tuple[str, bytes | None, str]]) -> None:
        planned = [(key, value, self.expected(key, expectation)) for key, value, expectation in writes]

        async def write() -> list[int | BaseException]:
            return await asyncio.gather(
                *(
                    self.store.delete(key, expect=expect)
                    if value is None
                    else self.store.put(key, value, expect=expect)
                    for key, value, expect in planned
                ),
                return_exceptions=True,
            )

        answers = self.runner.run(write())
        # A distributed store may order concurrent writes in any way. Their revisions show the order.
        order = sorted(range(len(planned)), key=lambda n: answer if isinstance(answer := answers[n], int) else 1 << 60)
        for number in order:
            key, value, expect = planned[number]
            answer = answers[number]
            if isinstance(answer, int):
                assert self.model.write(key, value, expect) == answer
            else:
                assert isinstance(answer, RevisionConflictError)
                assert answer.key == key
        for number in order:
            answer = answers[number]
            if isinstance(answer, RevisionConflictError) and len(planned) == 1:
                assert answer.current == self.model.state(self.model.newest).get(answer.key)
                assert self.model.write(*planned[number]) is None

    @rule(prefix=prefixes, past=back, after=st.sampled_from(["", *KEYS, "/r/a0"]), limit=st.integers(0, 4))
    def read_range(self, prefix: str, past: int, after: str, limit: int) -> None:
        at = max(self.model.newest - past, self.model.base)
        requested = 0 if past == 0 else at
        if requested and at < self.model.floor:
            with pytest.raises(CompactedError):
                self.runner.run(self.store.range(prefix, after=after, limit=limit, at=requested))
            return
        page = self.runner.run(self.store.range(prefix, after=after, limit=limit, at=requested))
        found = [
            item
            for key, item in self.model.state(at).items()
            if key.startswith(prefix) and (not after or key.encode() > after.encode())
        ]
        assert page.items == (found[:limit] if limit else found)
        assert page.remaining == (max(len(found) - limit, 0) if limit else 0)
        assert page.revision == at

    @rule(key=keys, past=back)
    def read_key(self, key: str, past: int) -> None:
        at = max(self.model.newest - past, self.model.base)
        if at < self.model.floor:
            with pytest.raises(CompactedError):
                self.runner.run(self.store.get(key, at=at))
        else:
            assert self.runner.run(self.store.get(key, at=at)) == self.model.state(at).get(key)

    @rule(key=keys)
    def read_future_revision(self, key: str) -> None:
        with pytest.raises(FutureRevisionError):
            self.runner.run(self.store.get(key, at=self.model.newest + 1))

    @rule(prefix=prefixes, past=back, length=st.integers(0, 12))
    def read_history(self, prefix: str, past: int, length: int) -> None:
        after = max(self.model.newest - past, self.model.base, self.model.floor)
        until = min(after + length, self.model.newest)
        assert self.runner.run(self.store.history(prefix, after, until)) == self.model.changes(prefix, after, until)

    @rule(prefix=prefixes, past=back)
    def watch(self, prefix: str, past: int) -> None:
        after = max(self.model.newest - past, self.model.base, self.model.floor)
        recorder = Recorder()

        async def begin() -> None:
            self.store.watch(prefix, after, recorder)
            # The replay must start before a compaction deletes its events.
            if after < self.model.newest:
                await recorder.until(self.model.newest)

        self.runner.run(begin())
        self.watches.append((prefix, after, recorder))

    @rule(past=back)
    def compact(self, past: int) -> None:
        revision = max(self.model.newest - past, 1)
        self.runner.run(self.store.compact(revision))
        if revision > self.model.base:
            self.model.floor = max(self.model.floor, revision)

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.store.close())
        assert all(recorder.lost for _, _, recorder in self.watches)
        self.watches.clear()
        self.store = self.runner.run(self.open())

    @invariant()
    def revisions_agree(self) -> None:
        if hasattr(self, "runner"):
            assert self.runner.run(self.store.revision()) == self.model.newest

    @invariant()
    def watches_saw_everything_once(self) -> None:
        for prefix, after, recorder in getattr(self, "watches", []):
            if after < self.model.newest:
                self.runner.run(recorder.until(self.model.newest))
            assert recorder.events == [
                event for event in self.model.events if event.key.startswith(prefix) and event.revision > after
            ]
