"""The contracts between the rooms: what a store, a converter, a clock and a source of chance must do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

JsonObject = dict[str, Any]


class KeyValue(NamedTuple):
    """A key as it stands in the store; `revision` is that of its last write."""

    key: str
    value: bytes
    revision: int


class Event(NamedTuple):
    """One write, as a watch sees it; `value` is None for a deletion."""

    key: str
    value: bytes | None
    revision: int


class Change(NamedTuple):
    """One past write with what it replaced: enough to tell a selection's watcher what came, changed or went."""

    key: str
    value: bytes | None
    revision: int
    previous: KeyValue | None


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a range: `items` in key order, as of `revision`; `remaining` keys follow it."""

    items: list[KeyValue]
    revision: int
    remaining: int


class StoreError(Exception):
    """A store refused or failed."""


class ConflictError(StoreError):
    """A conditional write met another state: `current` is what the key holds now (None: nothing)."""

    def __init__(self, key: str, current: KeyValue | None) -> None:
        super().__init__(f"{key} is at revision {current.revision if current else 0}")
        self.key = key
        self.current = current


class CompactedError(StoreError):
    """The revision asked for is no longer kept; the oldest one that can be read is `oldest`."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} has been compacted, the oldest is {oldest}")
        self.asked = asked
        self.oldest = oldest


class FutureRevisionError(StoreError):
    """The revision asked for has not been written yet; `current` is the newest."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"revision {asked} is in the future, the newest is {current}")
        self.asked = asked
        self.current = current


class UnavailableError(StoreError):
    """The store cannot be reached or is closed."""


class UnknownOutcomeError(UnavailableError):
    """A write was sent and no answer came: it may have been made or not."""


class Listener(Protocol):
    """Who follows a store. Called on the event loop, in revision order, each revision once."""

    def on_events(self, events: Sequence[Event], revision: int) -> None:
        """Everything up to `revision` has been told, this call's events included (none: only progress)."""

    def on_lost(self, error: StoreError) -> None:
        """The watch cannot go on (its next revision was compacted, or the store closed): read anew."""


class Watching(Protocol):
    """A watch that is under way."""

    def close(self) -> None: ...


class Asked(Protocol):
    """The question for a store's newest revision, on its way."""

    async def answer(self) -> int:
        """The newest revision there was when it was sent, or a later one."""


class Store(Protocol):
    """A revisioned key-value store with etcd's meaning: one revision counter, each write takes the next.

    A write is durable when its call returns, and by then every listener has been told of it.
    """

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    @property
    def healthy(self) -> bool:
        """Whether reads and writes can be expected to succeed now."""

    def ask(self) -> Awaitable[Asked] | None:
        """The question for the newest revision, once it is sent, for who has other things to do until it is answered.

        None if nobody need be asked.
        """

    async def revision(self, asked: Asked | None = None) -> int:
        """The newest revision, as of some moment during this call, or since `ask` was called."""

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        """The key now, or at a past revision."""

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        """Keys that begin with `prefix` and sort after `after`, at most `limit` (0: all), now or at a revision."""

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        """Write if the key's revision is `expect` (0: absent; None: whatever); the new revision. Raises Conflict."""

    async def delete(self, key: str, *, expect: int | None) -> int:
        """Remove the key if its revision is `expect` (None: whatever); the deletion's revision.

        Raises Conflict, also if the key is absent.
        """

    def watch(self, prefix: str, after: int, listener: Listener) -> Watching:
        """Tell `listener` of every write under `prefix` with a revision above `after`. Raises Compacted."""

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """The writes under `prefix` with revisions in (after, until], oldest first. Raises Compacted."""

    async def compact(self, revision: int) -> None:
        """Forget what only reads at revisions below `revision` need."""


class Leadership(Protocol):
    """Of all replicas on one store, whether this one does the work that only one may do.

    What a leader does must be safe (compare-and-swap) should another lead already.
    """

    @property
    def leading(self) -> bool: ...

    def follow(self, on_change: Callable[[bool], None]) -> None:
        """Have `on_change` called, on the event loop, whenever leadership comes or goes; not for what it is now."""

    async def start(self) -> None: ...

    async def close(self) -> None:
        """Step down, so that another can lead at once."""


class Converter(Protocol):
    """Turns objects of one kind into another version of it."""

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """The objects at apiVersion `to`, in order. The input must not be changed. Raises an errors.APIError."""


class Clock(Protocol):
    """What time it is; handed in, so that tests can turn it."""

    def now(self) -> datetime:
        """Now, in UTC."""

    def monotonic(self) -> float: ...


class IdSource(Protocol):
    """Where random names come from; handed in, so that tests can repeat."""

    def uid(self) -> str: ...

    def suffix(self) -> str:
        """The five characters that follow a generateName."""
