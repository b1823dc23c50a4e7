"""Helpers: a cache over a real store, a view without a server, and sinks that record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.cache.watch_channel import WatchChannel
from polykind.cache.watcher import Watcher
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
    """Open a store, its watch cache, and the cache of one resource, which is not loaded."""
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


class FakeView:
    """Represents objects as they are stored, or after a conversion that ends when the test sets `go`."""

    version = "v1"

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.go = asyncio.Event()
        self.error: Exception | None = None
        self.batches: list[list[str]] = []

    def ready(self, cached: CachedObject) -> Representation | None:
        return None if self.slow else cached

    async def view_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        if not self.slow or not objects:
            return list(objects)
        self.batches.append([f"{e.key}@{e.revision}" for e in objects])
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return [Representation(e.raw, e.labels) for e in objects]

    def restamp(self, representation: Representation, revision: int) -> bytes:
        obj: dict[str, Any] = json_codec.decode(representation.data)
        obj["metadata"]["resourceVersion"] = str(revision)
        return json_codec.encode(obj)


class FullObjects:
    """A projection that sends objects unchanged."""

    key: Hashable | None = "whole"
    decodes = False
    member_bytes = 0
    unsupported = False

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


class FakeSelection:
    """A selection by namespace, name and labels."""

    def __init__(
        self, namespace: str | None = None, name: str | None = None, labels: dict[str, str] | None = None
    ) -> None:
        self.namespace, self.name, self._labels = namespace, name, labels or {}
        self.everything = not labels
        self.expensive = False
        self.key: Hashable = (namespace, name, tuple(self._labels.items()))

    def matches(self, representation: Representation) -> bool:
        return self._labels.items() <= (representation.labels or {}).items()


class Client:
    """A sink that records what it is sent; a test can make it read slowly."""

    def __init__(self) -> None:
        self.data = b""
        self.chunks: list[bytes] = []
        self.ended = ""
        self.reads = asyncio.Event()
        self.reads.set()
        self.watcher: Watcher | None = None

    def send(self, chunk: bytes) -> None:
        self.chunks.append(chunk)
        rest = chunk
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            self.data += rest[:length]
            rest = rest[length + 2 :]

    def send_part(self, data: bytes) -> None:
        raise AssertionError("watches send framed events")

    async def drained(self) -> None:
        await self.reads.wait()
        if self.ended:
            raise ConnectionResetError

    def finish(self) -> None:
        self._end("finished")

    def abort(self) -> None:
        self._end("aborted")
        self.reads.set()

    def _end(self, how: str) -> None:
        if not self.ended:
            self.ended = how
            if self.watcher is not None:
                self.watcher.on_end()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.data.splitlines()]

    @property
    def summaries(self) -> list[str]:
        """Each event as "TYPE key@revision"."""
        return [summary(event) for event in self.events]


def summary(event: dict[str, Any]) -> str:
    if event["type"] == "ERROR":
        return f"ERROR {event['object']['code']}"
    meta = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        return f"BOOKMARK {meta['resourceVersion']}"
    return f"{event['type']} {meta['namespace']}/{meta['name']}@{meta['resourceVersion']}"


class SharedWatch:
    """A watch channel of a resource, and the clients that join it."""

    def __init__(
        self,
        cache: ResourceCache,
        view: FakeView,
        selection: FakeSelection | None = None,
        projection: FullObjects | None = None,
    ) -> None:
        self.cache, self.sent = cache, 0
        self.on_empty: Callable[[], None] = lambda: None
        self.projection = projection or FullObjects()
        self.channel = WatchChannel(
            cache, view, selection or FakeSelection(), self.projection, self._count, self._emptied
        )

    def _count(self, events: int) -> None:
        self.sent += events

    def _emptied(self) -> None:
        self.on_empty()

    def joined(
        self,
        after: int,
        *,
        bookmarks: bool = False,
        timeout: float = 60,
        interval: float = 60,
        first: list[bytes] | None = None,
    ) -> tuple[Watcher, Client]:
        """Add a watcher whose response has not started."""
        watcher, client = Watcher(self.channel, after, bookmarks, timeout, interval), Client()
        client.watcher = watcher
        watcher.initial_events = first or []
        self.channel.join(watcher)
        return watcher, client

    def client(self, after: int = 0, **options: Any) -> Client:
        watcher, client = self.joined(after, **options)
        watcher.start(client)
        return client


def added(key: str, revision: int) -> bytes:
    obj = json.loads(value(key))
    obj["metadata"]["resourceVersion"] = str(revision)
    return FullObjects().event("ADDED", json_codec.encode(obj))


async def loop_iterations(number: int = 10) -> None:
    for _ in range(number):
        await asyncio.sleep(0)
