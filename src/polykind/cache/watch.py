"""Watches: a channel for each question that is asked, shared by all who ask it; a watcher for each client.

An event is judged, converted and encoded once per channel, and its frame once per version, whatever the number
of watchers; to a watcher it costs one write.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from itertools import chain, islice
from typing import Protocol

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.http.messages import Sink, encode_chunk

log = logging.getLogger("polykind.watch")

_CHUNK = 128 * 1024
_WAITING = 8 * 1024 * 1024
"""Bytes that may wait for a client that still takes its first events; then it is cut off."""
_LAST = 2.0
"""Seconds before the end of a watch at which it is told how far it has come."""
_BATCH = 200
"""Events whose objects are converted together."""


class VersionView(Protocol):
    """Shows entries at one version."""

    version: str

    def ready(self, entry: CachedObject) -> Representation | None:
        """The entry's form if it takes no waiting to have it."""

    def view_many(self, entries: Sequence[CachedObject]) -> Awaitable[list[Representation]]:
        """The entries' forms, converted if need be."""

    def restamp(self, form: Representation, revision: int) -> bytes:
        """The form's bytes with another resourceVersion."""


class Projection(Protocol):
    """How an event and its object are written: in which form, whole, as a Table, as metadata only."""

    key: Hashable | None
    """Equal keys write equal bytes; None: no two watchers may share."""
    mute: bool
    """No event can be written so: the first that there would be ends the stream."""

    def encode(self, data: bytes) -> bytes: ...

    def bookmark(self, revision: int, initial_end: bool) -> bytes: ...

    def event(self, kind: str, data: bytes) -> bytes:
        """An event about an object that is written already."""

    def error(self, error: errors.APIError) -> bytes:
        """The event that tells why a watch ends."""


class Selection(Protocol):
    """Which objects a watch asks for."""

    key: Hashable
    namespace: str | None
    name: str | None
    everything: bool
    """Neither labels nor fields are asked for."""

    def matches(self, form: Representation) -> bool: ...


class Watcher:
    """One client's watch. Until it has caught up with the present, what comes in waits."""

    def __init__(self, channel: WatchChannel, after: int, bookmarks: bool, timeout: float, interval: float) -> None:
        self.after = after
        self.first: Iterable[bytes] = ()
        """The events to begin with, encoded."""
        self._channel = channel
        self._sink: Sink | None = None
        self._waiting: list[bytes] | None = []
        self._waiting_size = 0
        self._bookmarks = bookmarks
        self._interval = interval
        self._timers: list[asyncio.TimerHandle] = []
        self._task: asyncio.Task[None] | None = None
        self._timeout = timeout
        self._over = False

    def begin(self, sink: Sink) -> None:
        """The head of the answer is out: send what is due, then go live."""
        self._sink = sink
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._catch_up(sink))
        if self._over:
            return
        self._timers.append(loop.call_later(self._timeout, self.finish))
        if self._bookmarks:
            if self._timeout > _LAST:
                self._timers.append(loop.call_later(self._timeout - _LAST, self._bookmark))
            self._timers.append(loop.call_later(self._interval, self._tick))

    async def _catch_up(self, sink: Sink) -> None:
        try:
            batch: list[bytes] = []
            size = 0
            for data in self.first:
                batch.append(data)
                size += len(data)
                if size > _CHUNK:
                    sink.send(encode_chunk(b"".join(batch)))
                    batch, size = [], 0
                    await sink.drained()
            if batch:
                sink.send(encode_chunk(b"".join(batch)))
            self.first = ()
            while self._waiting:
                waiting, self._waiting, self._waiting_size = self._waiting, [], 0
                for index, data in enumerate(waiting):
                    sink.send(data)
                    if index % 64 == 63:
                        await sink.drained()
            self._waiting = None
            if self._over:
                sink.finish()
        except ConnectionError:
            pass
        except Exception:
            log.exception("a watch could not begin and is cut off")
            sink.abort()

    def silent(self) -> bool:
        """Whether there is nothing to begin with. The first of what there is is encoded by this."""
        events = iter(self.first)
        head = next(events, None)
        self.first = () if head is None else chain((head,), events)
        return head is None

    def deliver(self, data: bytes) -> None:
        """Framed events."""
        if self._waiting is not None:
            self._waiting.append(data)
            self._waiting_size += len(data)
            if self._waiting_size > _WAITING:
                self._cut_off()
        elif self._sink is not None:
            self._sink.send(data)

    def _cut_off(self) -> None:
        log.info("a watcher was cut off: it left more than %d bytes waiting behind its first events", _WAITING)
        self._waiting, self._waiting_size, self.first = [], 0, ()
        if self._sink is not None:
            self._sink.abort()
        self.finish()

    def finish(self) -> None:
        """End the stream cleanly, after what is still due."""
        self._over = True
        self._stop()
        if self._waiting is None and self._sink is not None:
            self._sink.finish()

    def ended(self) -> None:
        """The client is gone or the stream is over."""
        self._over = True
        self._stop()
        if self._task is not None:
            self._task.cancel()

    def _stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = []
        self._channel.leave(self)

    def _bookmark(self) -> None:
        projection = self._channel.projection
        if projection.mute:
            self.finish()
        elif self._waiting is None and not self._over:
            data = projection.bookmark(max(self._channel.seen, self.after), False)
            self.deliver(encode_chunk(projection.event("BOOKMARK", data)))

    def _tick(self) -> None:
        self._bookmark()
        self._timers.append(asyncio.get_running_loop().call_later(self._interval, self._tick))


class WatchChannel:
    """One question asked of a resource at one version, and all who ask it."""

    def __init__(
        self,
        cache: ResourceCache,
        viewer: VersionView,
        selection: Selection,
        projection: Projection,
        on_sent: Callable[[int], None],
    ) -> None:
        self._cache = cache
        self.viewer = viewer
        self.selection = selection
        self.projection = projection
        self.watchers: set[Watcher] = set()
        self.empty: Callable[[], None] | None = None
        """Called when the last watcher has left."""
        self._backlog: deque[ObjectChange] = deque()
        self._made: dict[CachedObject, Representation] = {}
        """Forms that were waited for, while the event that needs them is being made."""
        self._held = False
        self._task: asyncio.Task[None] | None = None
        self._on_sent = on_sent
        cache.observers.append(self)

    @property
    def seen(self) -> int:
        """Everything up to this revision has been delivered."""
        return self._backlog[0].revision - 1 if self._backlog else self._cache.observed_revision

    def join(self, watcher: Watcher) -> None:
        self.watchers.add(watcher)

    def leave(self, watcher: Watcher) -> None:
        if watcher not in self.watchers:
            return
        self.watchers.discard(watcher)
        if not self.watchers:
            self.close()
            if self.empty is not None:
                self.empty()

    def close(self) -> None:
        if self in self._cache.observers:
            self._cache.observers.remove(self)
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def end(self) -> None:
        """End every watch cleanly: clients list and watch again."""
        for watcher in list(self.watchers):
            watcher.finish()

    def on_reset(self) -> None:
        self.end()

    def hold(self) -> None:
        """Let what happens from now on wait."""
        self._held = True

    def release(self) -> None:
        """Tell what has waited since `hold`, and go on."""
        held, self._held = self._held, False
        if held and self._backlog:
            self._task = asyncio.get_running_loop().create_task(self._work_off())

    def on_changes(self, occurrences: list[ObjectChange]) -> None:
        if self._task is not None or self._held:
            self._backlog.extend(occurrences)
            return
        ready: list[tuple[int, bytes]] = []
        try:
            for index, occurrence in enumerate(occurrences):
                if self._waits(occurrence):
                    self._send(ready)
                    self._backlog.extend(occurrences[index:])
                    self._task = asyncio.get_running_loop().create_task(self._work_off())
                    return
                data = self.encode_chunk(occurrence)
                if data is not None:
                    ready.append((occurrence.revision, data))
        except errors.APIError as error:
            self._send(ready)
            self.fail(error)
            return
        self._send(ready)

    def _send(self, ready: list[tuple[int, bytes]]) -> None:
        if not ready:
            return
        if self.projection.mute:
            self.end()
            return
        joined = ready[0][1] if len(ready) == 1 else b"".join([data for _, data in ready])
        newest = ready[0][0]
        for watcher in list(self.watchers):
            if watcher.after < newest:
                watcher.deliver(joined)
            else:
                for revision, data in ready:
                    if revision > watcher.after:
                        watcher.deliver(data)
        self._on_sent(len(ready) * len(self.watchers))

    def concerns(self, entry: CachedObject) -> bool:
        """Whether an object may be selected at all, by where it lies."""
        selection = self.selection
        return (selection.namespace is None or entry.namespace == selection.namespace) and (
            selection.name is None or entry.name == selection.name
        )

    def needed(self, occurrence: ObjectChange) -> list[CachedObject]:
        """The entries whose forms it takes to tell a change: what was there before does not always matter."""
        old, new = occurrence.old, occurrence.new
        if not self.concerns(occurrence.cached):
            return []
        if old is None or (new is not None and self.selection.everything):
            return [new] if new is not None else []
        return [old] if new is None else [old, new]

    def _waits(self, occurrence: ObjectChange) -> bool:
        """Whether a conversion must be waited for."""
        return any(self.viewer.ready(entry) is None for entry in self.needed(occurrence))

    async def _work_off(self) -> None:
        try:
            while self._backlog:
                batch = list(islice(self._backlog, _BATCH))
                entries = list(dict.fromkeys(e for o in batch for e in self.needed(o)))
                self._made = dict(zip(entries, await self.viewer.view_many(entries), strict=True))
                for occurrence in batch:
                    data = self.encode_chunk(occurrence)
                    if data is not None:
                        self._send([(occurrence.revision, data)])
                    occurrence.frames = None
                    self._backlog.popleft()
                self._made = {}
            self._task = None
        except errors.APIError as error:
            self.fail(error)
        except Exception:
            log.exception("a watch failed: its clients are told to begin again")
            self.fail(errors.InternalError("the watch failed; the server's log says why"))

    def fail(self, error: errors.APIError) -> None:
        """Tell the watchers why, and end."""
        data = encode_chunk(self.projection.error(error))
        for watcher in list(self.watchers):
            watcher.deliver(data)
            watcher.finish()

    # ------------------------------------------------------------------ making frames

    def encode_chunk(self, occurrence: ObjectChange) -> bytes | None:
        """The framed event as this channel's watchers see it; None if it is none of theirs."""
        event = self.event(occurrence)
        if event is None:
            return None
        kind, form, revision = event
        key = (self.viewer.version, self.projection.key, kind)
        if self.projection.key is not None:
            data = occurrence.frames.get(key) if occurrence.frames is not None else None
            if data is not None:
                return data
        data = encode_chunk(self.projection.event(kind, self.object_bytes(form, revision)))
        if self.projection.key is not None:
            if occurrence.frames is None:
                occurrence.frames = {}
            occurrence.frames[key] = data
        return data

    def object_bytes(self, form: Representation, revision: int) -> bytes:
        data = self.viewer.restamp(form, revision) if revision else form.data
        return self.projection.encode(data)

    def event(
        self, occurrence: ObjectChange, made: dict[CachedObject, Representation] | None = None
    ) -> tuple[str, Representation, int] | None:
        """ADDED, MODIFIED or DELETED, the form to show, and the resourceVersion to show it with (0: its own)."""
        made = self._made if made is None else made
        if not self.concerns(occurrence.cached):
            return None
        old, new = occurrence.old, occurrence.new
        new_form = self._form(new, made) if new is not None else None
        was = old is not None and (self.selection.everything or self.selection.matches(self._form(old, made)))
        if new_form is not None and (self.selection.everything or self.selection.matches(new_form)):
            return ("MODIFIED" if was else "ADDED", new_form, 0)
        if was and old is not None:
            return ("DELETED", self._form(old, made), occurrence.revision)
        return None

    def _form(self, entry: CachedObject, made: dict[CachedObject, Representation]) -> Representation:
        form = made.get(entry) or self.viewer.ready(entry)
        if form is None:
            raise AssertionError("a form was not made ready")
        return form
