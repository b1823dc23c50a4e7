"""The protocols between packages: Store, ValueTransformer, Leadership, Converter, Clock and IdSource."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

JsonObject = dict[str, Any]
InterruptCheck = Callable[[int], None]
"""A function that is called during a CEL evaluation and may raise an exception to end it.

Its argument is the cost of the next operation if that is known, otherwise 0.
"""


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


DAMAGED_VALUE = b"\0damaged"
"""The value that a store returns for a key whose bytes do not match their checksum. The server never sends it."""


ENCRYPTED_PREFIX = b"k8s:enc:"
"""The first bytes of every encrypted value. Neither JSON nor Kubernetes' protobuf starts with them."""

_UNREADABLE_PREFIX = b"\0unreadable:"


def unreadable_value(reason: str) -> bytes:
    """Return the value that a store returns for a key that it cannot decrypt. The server never sends it."""
    return _UNREADABLE_PREFIX + reason.encode(errors="replace")


def unreadable_reason(value: bytes) -> str:
    """Return the reason why a store could not decrypt a value. Return "" if it could."""
    return value[len(_UNREADABLE_PREFIX) :].decode() if value.startswith(_UNREADABLE_PREFIX) else ""


class KeyValue(NamedTuple):
    """A key with its value. `revision` is the store revision at which the key was last written."""

    key: str
    value: bytes
    revision: int


class StoreEvent(NamedTuple):
    """One write that the store delivers to a watch. `value` is None for a deletion."""

    key: str
    value: bytes | None
    revision: int


class HistoryEvent(NamedTuple):
    """One past write, and the state of the key before it.

    A watch with a selector needs the previous state to tell ADDED, MODIFIED and DELETED apart.
    """

    key: str
    value: bytes | None
    revision: int
    previous: KeyValue | None


class Page(msgspec.Struct, frozen=True):
    """One page of a range read: the `items` at the store revision `revision`, sorted by key.

    `remaining` is the number of keys after this page.
    """

    items: list[KeyValue]
    revision: int
    remaining: int


class ScanPage(NamedTuple):
    """A part of a scan: the `items` at the store revision `revision`, sorted by key. `last` is true if no key follows.

    Each page of a scan may have another revision.
    """

    items: list[KeyValue]
    revision: int
    last: bool


class StoreError(Exception):
    """Base class of all store errors."""


class RevisionConflictError(StoreError):
    """A conditional write failed, because the key's revision is not the expected one.

    `current` is the key's state, or None if the key does not exist.
    """

    def __init__(self, key: str, current: KeyValue | None) -> None:
        super().__init__(f"{key} is at revision {current.revision if current else 0}")
        self.key = key
        self.current = current


class CompactedError(StoreError):
    """The requested revision has been compacted. `oldest` is the oldest revision that can be read."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} has been compacted, the oldest is {oldest}")
        self.requested = requested
        self.oldest = oldest


class FutureRevisionError(StoreError):
    """The requested revision has not been written yet. `current` is the newest revision."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"revision {requested} is in the future, the newest is {current}")
        self.requested = requested
        self.current = current


class RequestSizeError(StoreError):
    """The object is larger than the store accepts. The message is the one that kube-apiserver sends to the client."""


class UnreadableValueError(StoreError):
    """A stored value cannot be decrypted: it was changed, moved to another key, or its key is not configured."""


class UnavailableError(StoreError):
    """The store is closed, cannot be reached or cannot write."""


class UnknownOutcomeError(UnavailableError):
    """A write was sent but no response arrived, so the write may or may not have been committed."""


class WatchListener(Protocol):
    """The receiver of a store watch. The store calls it on the event loop once per revision, in order."""

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        """Handle the next events. With this call, all events up to `revision` are delivered.

        If the list is empty, there are no more events up to `revision`.
        """

    def on_lost(self, error: StoreError) -> None:
        """Handle the end of the watch. The listener may have missed events, so it must read all keys again.

        The watch ends if the next revision was compacted or if the store closes.
        """


class WatchHandle(Protocol):
    """A running store watch."""

    def close(self) -> None: ...


class RevisionRead(Protocol):
    """A read of the store's newest revision that has been sent to the store. `result` waits for the response."""

    async def result(self) -> int:
        """Return the newest revision as of some moment after the read was sent."""


class Store(Protocol):
    """A revisioned key-value store with etcd's semantics: one revision counter, incremented by each write.

    When a write returns, it is durable and every watch listener has received it.
    """

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    @property
    def problem(self) -> str:
        """The reason why reads or writes are likely to fail now, or "" if the store is healthy."""

    @property
    def oldest_revision(self) -> int:
        """The oldest revision that can be read, as last known to the store. No network round trip is needed."""

    def start_revision_read(self) -> Awaitable[RevisionRead] | None:
        """Send a read of the newest revision, so that the caller can do other work until the result arrives.

        Return None if the store knows its newest revision without a network round trip.
        """

    async def revision(self, read: RevisionRead | None = None) -> int:
        """Return a revision that was the newest one at some moment during this call.

        If `read` is given, the moment may be earlier, but not before `read` was sent.
        """

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        """Return the key's state now (`at` is 0) or at a past revision. Return None if the key is absent."""

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        """Return the keys that start with `prefix` and sort after `after`, now (`at` is 0) or at a past revision.

        If `limit` is not 0, return at most `limit` keys.
        """

    async def scan(self, prefix: str, *, after: str = "") -> ScanPage:
        """Return the next keys that start with `prefix` and sort after `after`, as they are now.

        The store chooses the size of the page. In contrast to `range`, it does not count the keys that follow.
        """

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        """Write the key if its revision is `expect` (0: absent, None: any) and return the new revision.

        Raise RevisionConflictError if the key has another revision.
        """

    @property
    def can_put_twice(self) -> bool:
        """True if the store has `put_twice`. etcd allows only one write of a key in a transaction."""

    async def put_twice(self, key: str, first: bytes, second: bytes, *, expect: int | None) -> int:
        """Write two values of a key in one transaction, at two revisions. Return the first revision.

        The conditions and errors are those of `put`.
        """

    async def delete(self, key: str, *, expect: int | None) -> int:
        """Delete the key if its revision is `expect` (None: any) and return the revision of the deletion.

        Raise RevisionConflictError if the key has another revision or is absent.
        """

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        """Deliver every write to keys that start with `prefix` to `listener`, if its revision is above `after`.

        Raise CompactedError if writes above `after` have been compacted.
        """

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        """Return the writes to keys that start with `prefix`, oldest first.

        Their revisions are above `after` and at most `until`.

        Raise CompactedError if some of these writes have been compacted.
        """

    async def compact(self, revision: int) -> None:
        """Discard the history below `revision`. Reads and watches at older revisions then raise CompactedError."""


class ValueTransformer(Protocol):
    """Converts values between their form in memory and their form in the store, such as encrypted."""

    def to_storage(self, key: str, value: bytes) -> bytes:
        """Return the bytes to store. Return `value` itself if it is stored as it is."""

    def from_storage(self, key: str, value: bytes) -> tuple[bytes, bool]:
        """Return the value of stored bytes, and True if they are stale: a write would store them in another form.

        Return `value` itself if it is stored as it is. Raise UnreadableValueError if the bytes cannot be converted.
        """


class StaleValues(Protocol):
    """Finds values that must be written again although they have not changed, such as after a change of keys."""

    async def is_stale(self, key: str) -> bool: ...

    async def find_stale(self, keys: Sequence[str]) -> set[str]: ...


class Leadership(Protocol):
    """Leader election between the server processes that share one store.

    Two processes may both act as the leader for a moment, so leaders must write with compare-and-swap.
    """

    @property
    def leading(self) -> bool: ...

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        """Call `on_change` on the event loop: with True when this process becomes the leader, with False when it stops.

        The current state is not reported.
        """

    async def start(self) -> None: ...

    async def close(self) -> None:
        """Give up leadership, so that another process can become the leader at once."""


class Converter(Protocol):
    """Converts objects of one custom resource between its versions."""

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """Return the objects, converted to apiVersion `to`, in the same order. Do not change the input.

        Raise APIError if an object cannot be converted.
        """


class Clock(Protocol):
    """A source of the current time. Tests pass one that they control."""

    def now(self) -> datetime:
        """Return the current time in UTC."""

    def monotonic(self) -> float: ...


class IdSource(Protocol):
    """A source of random uids and name suffixes. Tests pass one with predictable results."""

    def uid(self) -> str: ...

    def suffix(self) -> str:
        """Return the five random characters that the server appends to a generateName."""
