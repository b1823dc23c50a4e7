"""A store that encrypts the values of another store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence

from polykind.contract import (
    DAMAGED_VALUE,
    HistoryEvent,
    KeyValue,
    Page,
    RevisionConflictError,
    RevisionRead,
    ScanPage,
    Store,
    StoreError,
    StoreEvent,
    UnavailableError,
    UnreadableValueError,
    ValueTransformer,
    WatchHandle,
    WatchListener,
    unreadable_value,
)

log = logging.getLogger("polykind.encryption")

_PROTOBUF_MAGIC = b"k8s\0"
_CONCURRENT_READS = 64


class EncryptedStore:
    """Encrypts each value before a write to the inner store, and decrypts it after a read.

    A value that cannot be decrypted is replaced by a text that names the key and the reason. The server treats it like
    a damaged value: it never sends it, and clients can delete the object.
    """

    def __init__(self, inner: Store, transformer: ValueTransformer) -> None:
        self._inner = inner
        self.transformer = transformer
        self._watches: dict[_DecryptedWatch, None] = {}
        self._reported: set[str] = set()
        """The keys whose values cannot be decrypted and that have been logged."""

    def replace(self, transformer: ValueTransformer) -> None:
        """Use other keys from now on. If some values were unreadable, the listeners read all values again."""
        self.transformer = transformer
        if self._reported:
            self._reported.clear()
            for watch in tuple(self._watches):
                watch.close()
                watch.on_lost(UnavailableError("the encryption keys have changed"))

    # ------------------------------------------------------------------ stale values

    async def is_stale(self, key: str) -> bool:
        """True if the value of a key is not stored as a write would store it now: by another provider or key."""
        item = await self._inner.get(key)
        if item is None or item.value is DAMAGED_VALUE:
            return False
        try:
            return self.transformer.from_storage(key, item.value)[1]
        except UnreadableValueError:
            return False

    async def find_stale(self, keys: Sequence[str]) -> set[str]:
        """Return the keys whose values are stale."""
        stale: set[str] = set()
        for start in range(0, len(keys), _CONCURRENT_READS):
            part = keys[start : start + _CONCURRENT_READS]
            results = await asyncio.gather(*map(self.is_stale, part))
            stale.update(key for key, result in zip(part, results, strict=True) if result)
        return stale

    # ------------------------------------------------------------------ decryption

    def _decrypt(self, key: str, value: bytes) -> bytes:
        if value is DAMAGED_VALUE:
            return value
        try:
            plain, _ = self.transformer.from_storage(key, value)
        except UnreadableValueError as error:
            if key not in self._reported:
                self._reported.add(key)
                log.error("encryption: cannot decrypt %s, the object will not be served: %s", key, error)
            return unreadable_value(f'unable to transform key "{key}": {error}')
        if plain is not value:
            if plain[:4] == _PROTOBUF_MAGIC:
                from polykind.store.etcd.rpc_messages import decode_stored

                return decode_stored(plain)
            if plain[-2:] == b"}\n":
                return plain[:-1]
        return plain

    def _item(self, item: KeyValue) -> KeyValue:
        return KeyValue(item.key, self._decrypt(item.key, item.value), item.revision)

    def _items(self, items: Iterable[KeyValue]) -> list[KeyValue]:
        decrypt = self._decrypt
        return [KeyValue(key, decrypt(key, value), revision) for key, value, revision in items]

    def decrypt_events(self, events: Sequence[StoreEvent]) -> list[StoreEvent]:
        return [
            event if event.value is None else StoreEvent(event.key, self._decrypt(event.key, event.value), event[2])
            for event in events
        ]

    # ------------------------------------------------------------------ the methods of Store

    async def start(self) -> None:
        await self._inner.start()

    async def close(self) -> None:
        await self._inner.close()

    @property
    def problem(self) -> str:
        return self._inner.problem

    @property
    def oldest_revision(self) -> int:
        return self._inner.oldest_revision

    def start_revision_read(self) -> Awaitable[RevisionRead] | None:
        return self._inner.start_revision_read()

    async def revision(self, read: RevisionRead | None = None) -> int:
        return await self._inner.revision(read)

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        item = await self._inner.get(key, at=at)
        return self._item(item) if item is not None else None

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        page = await self._inner.range(prefix, after=after, limit=limit, at=at)
        return Page(self._items(page.items), page.revision, page.remaining)

    async def scan(self, prefix: str, *, after: str = "") -> ScanPage:
        page = await self._inner.scan(prefix, after=after)
        return ScanPage(self._items(page.items), page.revision, page.last)

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        try:
            return await self._inner.put(key, self._encrypt(key, value), expect=expect)
        except RevisionConflictError as error:
            raise self._conflict(error) from None

    @property
    def can_put_twice(self) -> bool:
        return self._inner.can_put_twice

    async def put_twice(self, key: str, first: bytes, second: bytes, *, expect: int | None) -> int:
        try:
            return await self._inner.put_twice(
                key, self._encrypt(key, first), self._encrypt(key, second), expect=expect
            )
        except RevisionConflictError as error:
            raise self._conflict(error) from None

    def _encrypt(self, key: str, value: bytes) -> bytes:
        # kube-apiserver encrypts JSON with a trailing newline, and would treat a value without one as changed.
        plain = value + b"\n" if value[-1:] == b"}" else value
        sealed = self.transformer.to_storage(key, plain)
        return value if sealed is plain else sealed

    async def delete(self, key: str, *, expect: int | None) -> int:
        try:
            return await self._inner.delete(key, expect=expect)
        except RevisionConflictError as error:
            raise self._conflict(error) from None

    def _conflict(self, error: RevisionConflictError) -> RevisionConflictError:
        return RevisionConflictError(error.key, self._item(error.current) if error.current is not None else None)

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        watch = _DecryptedWatch(self, listener, self._watches)
        watch.handle = self._inner.watch(prefix, after, watch)
        self._watches[watch] = None
        return watch

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        return [
            HistoryEvent(
                event.key,
                self._decrypt(event.key, event.value) if event.value is not None else None,
                event.revision,
                self._item(event.previous) if event.previous is not None else None,
            )
            for event in await self._inner.history(prefix, after, until)
        ]

    async def compact(self, revision: int) -> None:
        await self._inner.compact(revision)


class _DecryptedWatch:
    """A watch of the inner store. It decrypts the events for its listener."""

    handle: WatchHandle | None = None

    def __init__(self, store: EncryptedStore, listener: WatchListener, running: dict[_DecryptedWatch, None]) -> None:
        self._store = store
        self._listener = listener
        self._running = running

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        self._listener.on_events(self._store.decrypt_events(events), revision)

    def on_lost(self, error: StoreError) -> None:
        self._running.pop(self, None)
        self._listener.on_lost(error)

    def close(self) -> None:
        self._running.pop(self, None)
        if self.handle is not None:
            self.handle.close()
