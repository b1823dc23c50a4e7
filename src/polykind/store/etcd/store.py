"""The etcd store: reads, conditional writes and watches on an etcd cluster."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    Page,
    RequestSizeError,
    RevisionConflictError,
    RevisionRead,
    ScanPage,
    StoreError,
    UnavailableError,
    WatchHandle,
    WatchListener,
)
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import EtcdAccess, EtcdClient, EtcdError
from polykind.store.etcd.revision_reader import RevisionReader, went_back
from polykind.store.etcd.rpc_messages import prefix_range
from polykind.store.etcd.shared_watch import SharedWatch, Watches
from polykind.store.etcd.watch_stream import read_oldest_revision, read_past_events
from polykind.store.request_size import TOO_LARGE, check_request_size

log = logging.getLogger("polykind.etcd")

PAGE_KEYS = 500
"""The number of keys per range request. Requests for more keys would block etcd and the event loop for too long."""
HEALTH_CHECK_SECONDS = 1.0
UNHEALTHY_SECONDS = 2.5

_COMPACTED_MESSAGE = "etcdserver: mvcc: required revision has been compacted"
_FUTURE_MESSAGE = "etcdserver: mvcc: required revision is a future revision"


class EtcdStore:
    """A Store in an etcd cluster. All its keys start with `prefix`.

    A write returns when it is durable and this store's listeners have received its event. If the watch on etcd is
    broken at that moment, the write still returns after a limited time, because it is committed. Later reads of the
    newest state wait for the watch, or fail.
    """

    def __init__(self, access: EtcdAccess, prefix: str = "") -> None:
        self._access = access
        self._prefix = prefix
        self._running = False
        self._open = False
        self._floor = 0
        self._incarnation: rpc_messages.Incarnation | None = None
        self._last_healthy = 0.0
        self._operations = RunningOperations(self._check_open)

    @property
    def problem(self) -> str:
        if self._open and time.monotonic() - self._last_healthy < UNHEALTHY_SECONDS:
            return ""
        return f"etcd has not responded for {UNHEALTHY_SECONDS:.0f} s" if self._open else "the store is closed"

    @property
    def client(self) -> EtcdClient:
        self._check_open()
        return self._client

    async def start(self) -> None:
        if self._running:
            raise StoreError(f"the store on etcd at {self._addresses} has been started already")
        self._running = True
        self._client = EtcdClient(self._access)
        try:
            progress_requests = bool(self._prefix) and all(
                map(_supports_progress_requests, await self._client.versions())
            )
            self._watched_keys = prefix_range(self._prefix if progress_requests else "")
            self._progress_requests = progress_requests
            self._revisions = RevisionReader(
                self._client, self._prefix.encode() or b"\0", lambda: self._observed, self._on_regression
            )
            newest = await (await self._revisions.start_read()).result()
        except BaseException:
            await self._client.close()
            self._running = False
            raise
        self._watches = Watches(newest, self._read_past_events)
        self._shared_watch = SharedWatch(
            self._client, self._watched_keys, progress_requests, self._watches.publish, self._on_lost
        )
        self._shared_watch.start(newest)
        self._last_healthy = time.monotonic()
        self._open = True
        self._health_check = asyncio.create_task(self._check_health())

    async def close(self) -> None:
        """Wait for running operations and for the events of committed writes, then disconnect."""
        if not self._open:
            return
        self._open = False
        self._health_check.cancel()
        await self._operations.finish()
        await self._revisions.close()
        await self._shared_watch.close()
        self._watches.lose(UnavailableError("the store was closed"))
        await self._client.close()
        self._running = False

    # Reads

    @property
    def oldest_revision(self) -> int:
        return self._floor

    def start_revision_read(self) -> Awaitable[RevisionRead] | None:
        """Send a read of the cluster's newest revision. Return None if the store is closed."""
        return self._revisions.start_read() if self._open else None

    async def revision(self, read: RevisionRead | None = None) -> int:
        """Return the newest revision as of `read`, or of this call. Wait until the listeners have its events."""
        if read is None:
            self._check_open()
            read = await self._revisions.start_read()
        newest = await read.result()
        if self._shared_watch.revision < newest:
            await self._shared_watch.wait_for_revision(newest)
        return newest

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        with self._operations:
            response = await self._range(rpc_messages.get_request(_encode(key), at=at), at)
        return response.items[0] if response.items else None

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        _encode(prefix + after)
        with self._operations:
            items: list[KeyValue] = []
            while True:
                size = min(limit - len(items), PAGE_KEYS) if limit else PAGE_KEYS
                last = items[-1].key if items else after
                response = await self._range(
                    rpc_messages.range_request(prefix_range(prefix, last), limit=size, at=at), at
                )
                at = at or response.revision
                items += response.items
                remaining = response.total - len(response.items)
                if not remaining or (limit and len(items) >= limit):
                    return Page(items, at, remaining)

    async def scan(self, prefix: str, *, after: str = "") -> ScanPage:
        _encode(prefix + after)
        with self._operations:
            response = await self._range(rpc_messages.range_request(prefix_range(prefix, after), limit=PAGE_KEYS), 0)
            return ScanPage(response.items, response.revision, response.total <= len(response.items))

    async def _range(self, request: bytes, at: int) -> rpc_messages.RangeResponse:
        try:
            response = rpc_messages.parse_range(await self._client.read(rpc_messages.RANGE, request))
        except EtcdError as error:
            raise await self._translate(error, at) from None
        # Wait until the listeners have received all events, so that the cache is never older than this response.
        if self._shared_watch.revision < response.revision:
            await self._shared_watch.wait_for_revision(response.revision)
        return response

    async def _translate(self, error: EtcdError, revision: int) -> StoreError:
        if str(error) == _COMPACTED_MESSAGE:
            self._floor = max(self._floor, await read_oldest_revision(self._client, revision))
            return CompactedError(revision, self._floor)
        if str(error) == _FUTURE_MESSAGE:
            return FutureRevisionError(revision, await self.revision())
        return error

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        _encode(prefix)
        with self._operations:
            if after < self._floor:
                raise CompactedError(after, self._floor)
            newest = self._shared_watch.revision if until <= self._shared_watch.revision else await self.revision()
            if until > newest:
                raise FutureRevisionError(until, newest)
            return await self._read_past_events(prefix, after, until)

    async def _read_past_events(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        if after >= until:
            return []
        keys = prefix_range(prefix) if self._progress_requests else self._watched_keys
        try:
            return await read_past_events(
                self._client, keys, prefix, after, until, progress_requests=self._progress_requests
            )
        except CompactedError as error:
            self._floor = max(self._floor, error.oldest)
            raise

    # Writes

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        check_request_size(key, value, expect, message_only=True)
        try:
            return await self._write(key, rpc_messages.put_request(_encode(key), value, expect))
        except EtcdError as error:
            if str(error) == TOO_LARGE:
                raise RequestSizeError(TOO_LARGE) from None
            raise

    can_put_twice = False

    async def put_twice(self, key: str, first: bytes, second: bytes, *, expect: int | None) -> int:
        raise NotImplementedError("etcd cannot write a key twice in one transaction")

    async def delete(self, key: str, *, expect: int | None) -> int:
        if expect == 0:
            # An absent key cannot be deleted, and no existing key has revision 0.
            raise RevisionConflictError(key, await self.get(key))
        return await self._write(key, rpc_messages.delete_request(_encode(key), expect))

    async def _write(self, key: str, request: bytes) -> int:
        with self._operations:
            observed = self._observed
            response = rpc_messages.parse_txn(await self._client.write(rpc_messages.TXN, request))
            if response.revision < observed + response.succeeded:
                self._on_regression(observed, response.revision)
            if self._shared_watch.revision < response.revision:
                try:
                    await self._shared_watch.wait_for_revision(response.revision)
                except UnavailableError as error:
                    log.warning("etcd store: %s; a write returns before the listeners have received it", error)
            if not response.succeeded:
                raise RevisionConflictError(key, response.current)
            return response.revision

    async def size_bytes(self) -> int:
        """Return the size of the database file of an etcd member."""
        return await self._client.database_size()

    async def compact(self, revision: int) -> None:
        with self._operations:
            try:
                await self._client.read(rpc_messages.COMPACT, rpc_messages.number_request(revision))
            except EtcdError as error:
                if str(error) == _COMPACTED_MESSAGE:
                    return
                raise await self._translate(error, revision) from None
            self._floor = max(self._floor, revision)

    # Watches

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        self._check_open()
        _encode(prefix)
        if after < self._floor:
            raise CompactedError(after, self._floor)
        return self._watches.add(prefix, after, listener)

    @property
    def _observed(self) -> int:
        """The newest revision up to which the listeners have received all events."""
        return self._shared_watch.revision if self._open else 0

    def _on_regression(self, observed: int, newest: int) -> None:
        """Continue from etcd's newest revision after etcd has lost revisions.

        Every listener reads all keys again, and older revisions are treated as compacted.
        """
        log.error("etcd store: %s", went_back(observed, newest))
        self._floor = newest
        self._shared_watch.restart(newest)
        self._watches.restart(newest, CompactedError(observed, newest))

    async def _check_incarnation(self) -> None:
        """Detect that etcd was restored from a backup, even if its revision is already higher than before."""
        observed = self._observed
        raw = await self._client.read(rpc_messages.RANGE, rpc_messages.get_request(b"\0", count_only=True))
        found, known = rpc_messages.parse_incarnation(raw), self._incarnation
        self._incarnation = found
        if known is not None and (found.cluster_id != known.cluster_id or found.raft_term < known.raft_term):
            self._on_regression(observed, rpc_messages.parse_revision(raw))

    def _on_lost(self, error: CompactedError) -> None:
        self._floor = max(self._floor, error.oldest)
        self._watches.lose(error)

    async def _check_health(self) -> None:
        """Check periodically that etcd responds and that the watch is not behind."""
        while True:
            started = time.monotonic()
            try:
                await self._check_incarnation()
                await self.revision()
                self._last_healthy = time.monotonic()
            except StoreError as error:
                log.warning("etcd store: health check failed, repeating it: %s", error)
            await asyncio.sleep(max(HEALTH_CHECK_SECONDS - (time.monotonic() - started), 0.1))

    # Lifetime

    def _check_open(self) -> None:
        if not self._open:
            raise UnavailableError(f"the store on etcd at {self._addresses} is closed")

    @property
    def _addresses(self) -> str:
        return ",".join(self._access.servers)


class RunningOperations:
    """Counts running operations, so that closing can wait for them."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._count = 0
        self._idle = asyncio.Event()

    def __enter__(self) -> None:
        self._check()
        self._count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def finish(self) -> None:
        while self._count:
            self._idle.clear()
            await self._idle.wait()


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise StoreError(f"{text!r} is not valid Unicode text") from None


def _supports_progress_requests(version: str) -> bool:
    """True if an etcd of this version reports progress only when the watch has sent all events.

    Older versions may report a revision before they have sent its events.
    """
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        return False
    parts = tuple(map(int, match.groups()))
    return parts >= (3, 5, 13) or (3, 4, 31) <= parts < (3, 5, 0)
