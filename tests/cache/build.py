"""A cache over a real store, a viewer without a server, and sinks that remember."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch import WatchChannel, Watcher
from polykind.cache.watch_cache import WatchCache
from polykind.codec import json_codec
from polykind.store.sqlite import SqliteStore

PREFIX = "/registry/example.com/foos/"


def value(key: str, **more: Any) -> bytes:
    namespace, _, name = key.rpartition("/")
    labels = more.pop("labels", None)
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    if labels:
        meta["labels"] = labels
    return json_codec.encode({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": meta, **more})


@asynccontextmanager
async def opened(folder: Path, *, keep: int = 10_000) -> AsyncIterator[tuple[SqliteStore, WatchCache, ResourceCache]]:
    """A store, the cache that follows it, and the cache of one resource in it (not loaded)."""
    store = SqliteStore(folder, keep=keep)
    await store.start()
    cache = WatchCache(store)
    try:
        await cache.start()
        yield store, cache, cache.resource("example.com", "foos")
    finally:
        await cache.close()
        await store.close()


async def put(store: SqliteStore, key: str, **more: Any) -> int:
    return await store.put(PREFIX + key, value(key, **more), expect=None)


class Viewer:
    """Shows entries as they are, or after a conversion that ends when the test says so."""

    version = "v1"

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.go = asyncio.Event()
        self.error: Exception | None = None
        self.batches: list[list[str]] = []

    def ready(self, entry: CachedObject) -> Representation | None:
        return None if self.slow else entry

    async def view_many(self, entries: Sequence[CachedObject]) -> list[Representation]:
        if not self.slow or not entries:
            return list(entries)
        self.batches.append([f"{e.key}@{e.revision}" for e in entries])
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return [Representation(e.raw, e.labels) for e in entries]

    def restamp(self, form: Representation, revision: int) -> bytes:
        obj: dict[str, Any] = json_codec.decode(form.data)
        obj["metadata"]["resourceVersion"] = str(revision)
        return json_codec.encode(obj)


class Whole:
    """Objects as they are."""

    key: Hashable | None = "whole"
    mute = False

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, data: bytes) -> bytes:
        self.encoded += 1
        return data

    def bookmark(self, revision: int, initial_end: bool) -> bytes:
        return json_codec.encode({"metadata": {"resourceVersion": str(revision)}, "end": initial_end})

    def event(self, kind: str, data: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), data)

    def error(self, error: errors.APIError) -> bytes:
        return self.event("ERROR", error.encode().rstrip())


class Selecting:
    """By namespace, name and labels."""

    def __init__(
        self, namespace: str | None = None, name: str | None = None, labels: dict[str, str] | None = None
    ) -> None:
        self.namespace, self.name, self._labels = namespace, name, labels or {}
        self.everything = not labels
        self.key: Hashable = (namespace, name, tuple(self._labels.items()))

    def matches(self, form: Representation) -> bool:
        return self._labels.items() <= (form.labels or {}).items()


class Client:
    """A sink that keeps what it is sent; it can be made to read slowly."""

    def __init__(self) -> None:
        self.data = b""
        self.frames: list[bytes] = []
        self.over = ""
        self.reads = asyncio.Event()
        self.reads.set()
        self.watcher: Watcher | None = None

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)
        rest = frame
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            self.data += rest[:length]
            rest = rest[length + 2 :]

    async def drained(self) -> None:
        await self.reads.wait()
        if self.over:
            raise ConnectionResetError

    def finish(self) -> None:
        self._end("finished")

    def abort(self) -> None:
        self._end("aborted")
        self.reads.set()

    def _end(self, how: str) -> None:
        if not self.over:
            self.over = how
            if self.watcher is not None:
                self.watcher.ended()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.data.splitlines()]

    @property
    def told(self) -> list[str]:
        """TYPE key@revision of each event."""
        return [told(event) for event in self.events]


def told(event: dict[str, Any]) -> str:
    if event["type"] == "ERROR":
        return f"ERROR {event['object']['code']}"
    meta = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        return f"BOOKMARK {meta['resourceVersion']}"
    return f"{event['type']} {meta['namespace']}/{meta['name']}@{meta['resourceVersion']}"


class Following:
    """A channel on a resource, and the clients that join it."""

    def __init__(
        self, cache: ResourceCache, viewer: Viewer, selection: Selecting | None = None, projection: Whole | None = None
    ) -> None:
        self.cache, self.sent = cache, 0
        self.projection = projection or Whole()
        self.channel = WatchChannel(cache, viewer, selection or Selecting(), self.projection, self._count)

    def _count(self, events: int) -> None:
        self.sent += events

    def joined(
        self,
        after: int,
        *,
        bookmarks: bool = False,
        timeout: float = 60,
        interval: float = 60,
        first: list[bytes] | None = None,
    ) -> tuple[Watcher, Client]:
        """A watcher that has joined and whose answer has not begun."""
        watcher, client = Watcher(self.channel, after, bookmarks, timeout, interval), Client()
        client.watcher = watcher
        watcher.first = first or []
        self.channel.join(watcher)
        return watcher, client

    def client(self, after: int = 0, **options: Any) -> Client:
        watcher, client = self.joined(after, **options)
        watcher.begin(client)
        return client


def added(key: str, revision: int) -> bytes:
    obj = json.loads(value(key))
    obj["metadata"]["resourceVersion"] = str(revision)
    return Whole().event("ADDED", json_codec.encode(obj))


async def turns(number: int = 10) -> None:
    for _ in range(number):
        await asyncio.sleep(0)
