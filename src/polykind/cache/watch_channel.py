"""Watch channels: the watches of one resource that share version, selector, format and framing.

Each event is filtered and converted once per channel, and encoded once per version and format. Every further watcher
costs only one write to its connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar

from polykind import errors
from polykind.cache.broadcast import Broadcast, EncodedEvent
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.value_index import IndexQuery
from polykind.cache.watcher import Watcher
from polykind.http.framing import HTTP_CHUNKS, Framing
from polykind.workers import INLINE_BYTES

T = TypeVar("T")

log = logging.getLogger("polykind.watch")

_CONVERSION_BATCH = 200
"""The number of events whose objects are converted together."""


class NotReadyError(Exception):
    """An event needs a conversion or a worker thread."""


class VersionView(Protocol):
    """Returns cached objects at one version."""

    version: str

    def ready(self, cached: CachedObject, /) -> Representation | None:
        """Return the representation, or None if it needs a conversion."""

    def view_many(self, objects: Sequence[CachedObject], /) -> Awaitable[list[Representation]]:
        """Return the representations, and convert objects if necessary."""

    def restamp(self, representation: Representation, revision: int, /) -> bytes:
        """Return the representation's bytes with another resourceVersion."""


class Projection(Protocol):
    """The format of events: JSON or protobuf, with full objects, Tables or metadata only."""

    key: Hashable | None
    """Projections with equal keys encode events to equal bytes. None if watchers cannot share the projection."""
    decodes: bool
    """True if `encode` decodes the object, which takes long if the object is large."""
    member_bytes: int
    """The work for an event in addition to its object, as the number of bytes that take as long to encode."""
    unsupported: bool
    """True if this format cannot encode events. Then the stream ends at its first event."""

    def encode(self, data: bytes) -> bytes: ...

    def bookmark(self, revision: int, initial_end: bool) -> bytes: ...

    def event(self, kind: str, data: bytes) -> bytes:
        """Return an event with an encoded object."""

    def error(self, error: errors.APIError) -> bytes:
        """Return an ERROR event."""


class Selection(Protocol):
    """The namespace, name and selectors of a watch."""

    key: Hashable
    namespace: str | None
    name: str | None
    everything: bool
    """True if there is neither a label selector nor a field selector."""
    expensive: bool
    """True if `matches` takes long, because the selectors are long."""

    def matches(self, representation: Representation, /) -> bool: ...


class WatchChannel:
    """All watchers of a resource with the same version, selection, format and framing."""

    def __init__(
        self,
        cache: ResourceCache,
        view: VersionView,
        selection: Selection,
        projection: Projection,
        on_sent: Callable[[int], None],
        on_empty: Callable[[], object] = lambda: None,
        framing: Framing = HTTP_CHUNKS,
        query: IndexQuery | None = None,
    ) -> None:
        """`on_sent` is called with the number of sent events, `on_empty` when the last watcher has left.

        `query` describes a value that all selected objects have, or is None if there is no such value.
        """
        self._cache = cache
        self.view = view
        self.selection = selection
        self.projection = projection
        self.framing = framing
        self.watchers: set[Watcher] = set()
        self._broadcast = Broadcast(self.watchers)
        self._on_sent = on_sent
        self._on_empty = on_empty
        self._backlog: deque[ObjectChange] = deque()
        self._converted: dict[CachedObject, Representation] = {}
        """Converted representations for the events of the backlog, kept until these are encoded."""
        self._paused = False
        self._task: asyncio.Task[None] | None = None
        if query is None:
            cache.observers.append(self)
        else:
            cache.dispatch.add(self, query)

    @property
    def delivered_revision(self) -> int:
        """The revision up to which all events have been sent to the watchers."""
        if first_unsent := self._broadcast.first_unsent:
            return first_unsent - 1
        return self._backlog[0].revision - 1 if self._backlog else self._cache.observed_revision

    def join(self, watcher: Watcher) -> None:
        self.watchers.add(watcher)

    def leave(self, watcher: Watcher) -> None:
        if watcher not in self.watchers:
            return
        self.watchers.discard(watcher)
        if not self.watchers:
            self.close()
            self._on_empty()

    def close(self) -> None:
        self._cache.dispatch.remove(self)
        if self in self._cache.observers:
            self._cache.observers.remove(self)
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def finish(self) -> None:
        """End every watch normally, so that the clients list and watch again."""
        self._broadcast.flush()
        for watcher in list(self.watchers):
            watcher.finish()

    def on_reset(self) -> None:
        self.finish()

    def pause(self) -> None:
        """Pause delivery: keep further changes in the backlog."""
        self._paused = True

    def resume(self) -> None:
        """Deliver the changes that were kept during a pause, and continue to deliver."""
        paused, self._paused = self._paused, False
        if paused and self._backlog:
            self._task = asyncio.get_running_loop().create_task(self._process_backlog())

    def on_changes(self, changes: list[ObjectChange]) -> None:
        if self._task is not None or self._paused:
            self._backlog.extend(changes)
            return
        ready: list[EncodedEvent] = []
        done = 0
        try:
            for change in changes:
                if self._needs_conversion(change) or self.needs_worker(change):
                    raise NotReadyError
                data = self._encode_change(change)
                if data is not None:
                    ready.append((change.revision, data))
                done += 1
        except NotReadyError:
            self._send(ready)
            self._backlog.extend(changes[done:])
            self._task = asyncio.get_running_loop().create_task(self._process_backlog())
            return
        except errors.APIError as error:
            self._send(ready)
            self.fail(error)
            return
        self._send(ready)

    def _send(self, ready: list[EncodedEvent]) -> None:
        if not ready:
            return
        if self.projection.unsupported:
            self.finish()
            return
        self._on_sent(len(ready) * len(self.watchers))
        self._broadcast.send(ready)

    def _in_scope(self, cached: CachedObject) -> bool:
        """True if the object's namespace and name match the selection."""
        selection = self.selection
        return (selection.namespace is None or cached.namespace == selection.namespace) and (
            selection.name is None or cached.name == selection.name
        )

    def states_to_represent(self, change: ObjectChange) -> list[CachedObject]:
        """Return the states of the object that the event needs. Only a watch with a selector needs the old state."""
        old, new = change.old, change.new
        if not self._in_scope(change.cached):
            return []
        if old is None or (new is not None and self.selection.everything):
            return [new] if new is not None else []
        return [old] if new is None else [old, new]

    def _needs_conversion(self, change: ObjectChange) -> bool:
        return any(self.view.ready(cached) is None for cached in self.states_to_represent(change))

    def needs_worker(self, change: ObjectChange) -> bool:
        """True if the event takes long to encode or to match."""
        if self.selection.expensive:
            return self._in_scope(change.cached)
        if not self.projection.decodes and self.selection.everything:
            return False
        limit = INLINE_BYTES - self.projection.member_bytes
        return any(len(cached.raw) > limit for cached in self.states_to_represent(change))

    async def compute(self, call: Callable[[], T]) -> T:
        """Run a computation on a large event in a worker thread."""
        return await self._cache.workers.run("", call)

    async def take_turn(self, user: str) -> None:
        """Wait until the next slice of a user's initial events may be encoded and sent."""
        await self._cache.workers.turns.take(user)

    async def _process_backlog(self) -> None:
        try:
            while self._backlog:
                batch = list(islice(self._backlog, _CONVERSION_BATCH))
                states = list(dict.fromkeys(s for change in batch for s in self.states_to_represent(change)))
                self._converted = dict(zip(states, await self.view.view_many(states), strict=True))
                for change in batch:
                    encode = partial(self._encode_change, change)
                    data = await self.compute(encode) if self.needs_worker(change) else encode()
                    if data is not None:
                        self._send([(change.revision, data)])
                    change.frames = None
                    self._backlog.popleft()
                self._converted = {}
            self._task = None
        except errors.APIError as error:
            self.fail(error)
        except Exception:
            log.exception("watch: cannot deliver events of %s, ending its watches", self._cache.prefix)
            self.fail(errors.InternalError("the watch failed; the server's log says why"))

    def fail(self, error: errors.APIError) -> None:
        """Send the error to all watchers and end their streams."""
        self._broadcast.flush()
        data = self.framing.frame([self.projection.error(error)])
        for watcher in list(self.watchers):
            watcher.deliver(data)
            watcher.finish()

    # ------------------------------------------------------------------ encoding

    def _encode_change(self, change: ObjectChange) -> bytes | None:
        """Return the encoded and framed event, or None if the change does not affect the selected objects."""
        event = self.event(change)
        if event is None:
            return None
        if self.projection.key is None:
            return self.framing.frame([self._encode_event(event)])
        if change.frames is None:
            change.frames = {}
        frames, key = change.frames, (self.view.version, self.projection.key, event[0])
        # Watches with another framing take the event from the HTTP chunk, so that each event is encoded once.
        data = frames.get((key, self.framing))
        if data is None:
            chunk = frames.get((key, HTTP_CHUNKS))
            if chunk is None:
                chunk = frames[key, HTTP_CHUNKS] = HTTP_CHUNKS.frame([self._encode_event(event)])
            data = frames[key, self.framing] = self.framing.from_chunk(chunk)
        return data

    def _encode_event(self, event: tuple[str, Representation, int]) -> bytes:
        kind, representation, revision = event
        return self.projection.event(kind, self.encode_object(representation, revision))

    def encode_object(self, representation: Representation, revision: int) -> bytes:
        """Encode an object. If `revision` is not 0, replace its resourceVersion."""
        data = self.view.restamp(representation, revision) if revision else representation.data
        return self.projection.encode(data)

    def event(
        self, change: ObjectChange, converted: dict[CachedObject, Representation] | None = None
    ) -> tuple[str, Representation, int] | None:
        """Return the event's type, the representation to send, and the resourceVersion to set (0: keep its own).

        If an object no longer matches the selection, the event is DELETED with its last matching state. Return None if
        the change does not affect the selected objects.
        """
        converted = self._converted if converted is None else converted
        if not self._in_scope(change.cached):
            return None
        old, new = change.old, change.new
        new_state = self._represent(new, converted) if new is not None else None
        matched = old is not None and (
            self.selection.everything or self.selection.matches(self._represent(old, converted))
        )
        if new_state is not None and (self.selection.everything or self.selection.matches(new_state)):
            return ("MODIFIED" if matched else "ADDED", new_state, 0)
        if matched and old is not None:
            return ("DELETED", self._represent(old, converted), change.revision)
        return None

    def _represent(self, cached: CachedObject, converted: dict[CachedObject, Representation]) -> Representation:
        representation = converted.get(cached) or self.view.ready(cached)
        if representation is None:
            # It was ready a moment ago, and has become too old.
            raise NotReadyError
        return representation
