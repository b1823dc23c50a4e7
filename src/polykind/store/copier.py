"""Copying all keys of one store into another, with verification."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from polykind.contract import (
    DAMAGED_VALUE,
    KeyValue,
    RevisionConflictError,
    Store,
    StoreError,
    unreadable_reason,
)

PAGE = 500
CONCURRENT_WRITES = 64

Progress = Callable[[str, int, int], None]
"""A function that is called with the current stage, the number of finished items and the total number of items."""


class CopyError(StoreError):
    """The copy is not allowed, or the copied data differs from the source. The message says what to do."""


@dataclass(frozen=True, slots=True)
class StoreContents:
    """The number of keys in a store, and a hash of all keys and values, to compare two stores."""

    count: int
    digest: str


class StoreCopy:
    """A copy of all keys from one store to another. An interrupted copy can be repeated, which skips equal keys.

    Every copied key gets a revision above the source's newest revision, and at the end the target is compacted. So a
    client that presents a resourceVersion of the source gets 410 Gone, never wrong data.
    """

    def __init__(self, source: Store, target: Store, prefix: str, name: str, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._prefix = prefix
        self._name = name.encode()
        """The source's name. An interrupted copy is continued only from the same source."""
        self._progress = progress
        self._marker = f"{private_prefix(prefix)}copy"

    async def run(self) -> StoreContents:
        await self._claim()
        newest = await self._source.revision()
        await self._advance(newest)
        await KeyTransfer(self._source, self._target, self._prefix, self._progress, overwrite=False).run(newest)
        expected = await self._contents(self._source, "reading")
        actual = await self._contents(self._target, "comparing")
        if actual != expected:
            raise CopyError(
                f"the copy differs from its source ({actual.count} keys of {expected.count}): "
                "stop every server on either side, then run it again"
            )
        await self._target.delete(self._marker, expect=None)
        await self._target.compact(await self._target.revision())
        return actual

    async def _claim(self) -> None:
        """Mark the target as the destination of this copy. Raise CopyError if the target contains other keys."""
        marker = await self._target.get(self._marker)
        if marker is not None and marker.value != self._name:
            raise CopyError(f"a copy from {marker.value.decode(errors='replace')} into the target was not finished")
        if marker is None:
            if (await self._target.range(self._prefix, limit=1)).items:
                raise CopyError(f"the target holds keys under {self._prefix} already: empty it, or choose another")
            try:
                await self._target.put(self._marker, self._name, expect=0)
            except RevisionConflictError:
                raise CopyError("another copy into the target has just begun") from None

    async def _advance(self, newest: int) -> None:
        """Write to the target until its revision reaches the source's revision `newest`. A write adds one."""
        start = now = await self._target.revision()
        while now < newest:
            writes = min(CONCURRENT_WRITES, newest - now)
            await asyncio.gather(*(self._target.put(self._marker, self._name, expect=None) for _ in range(writes)))
            now = await self._target.revision()
            self._progress("raising revisions", min(now, newest) - start, newest - start)

    async def _contents(self, store: Store, stage: str) -> StoreContents:
        digest, count = hashlib.sha256(), 0
        total = (await store.range(self._prefix, limit=1)).remaining + 1
        async for item in public_keys(store, self._prefix):
            key = item.key.encode(errors="surrogateescape")
            digest.update(b"%d %d\n%b%b" % (len(key), len(item.value), key, item.value))
            count += 1
            if count % PAGE == 0:
                self._progress(stage, count, total)
        self._progress(stage, count, count)
        return StoreContents(count, digest.hexdigest())


class KeyTransfer:
    """Makes the keys of a target store equal to those of a source store, by writing the keys that differ.

    If `overwrite` is true, other programs may write to the target meanwhile. The values of the source replace theirs.
    """

    def __init__(self, source: Store, target: Store, prefix: str, progress: Progress, *, overwrite: bool) -> None:
        self._source = source
        self._target = target
        self._prefix = prefix
        self._progress = progress
        self._overwrite = overwrite

    async def run(self, at: int = 0) -> int:
        """Compare both stores in key order, the source at revision `at` (0: now), and write the differences.

        Return the number of keys in the source.
        """
        total = (await self._source.range(self._prefix, limit=1, at=at)).remaining + 1
        source_keys, target_keys = (
            public_keys(self._source, self._prefix, at),
            public_keys(self._target, self._prefix, damaged=self._overwrite),
        )
        source, target = await anext(source_keys, None), await anext(target_keys, None)
        pending: list[asyncio.Task[None]] = []
        done = 0
        try:
            while source is not None or target is not None:
                if target is not None and (source is None or target.key.encode() < source.key.encode()):
                    pending.append(asyncio.create_task(self._delete(target)))
                    target = await anext(target_keys, None)
                    continue
                if source is None:
                    break
                held = target if target is not None and target.key == source.key else None
                if held is None or held.value != source.value:
                    pending.append(asyncio.create_task(self._put(source, held.revision if held is not None else 0)))
                if held is not None:
                    target = await anext(target_keys, None)
                source = await anext(source_keys, None)
                done += 1
                if len(pending) >= CONCURRENT_WRITES:
                    await asyncio.gather(*pending)
                    pending.clear()
                    self._progress("copying", done, total)
            await asyncio.gather(*pending)
        except BaseException:
            # Wait for the writes that have been sent, because the caller closes the stores.
            await asyncio.gather(*pending, return_exceptions=True)
            raise
        self._progress("copying", done, done)
        return done

    async def _put(self, item: KeyValue, revision: int) -> None:
        await self._target.put(item.key, item.value, expect=None if self._overwrite else revision)

    async def _delete(self, item: KeyValue) -> None:
        try:
            await self._target.delete(item.key, expect=None if self._overwrite else item.revision)
        except RevisionConflictError as error:
            if not self._overwrite or error.current is not None:
                raise


async def public_keys(store: Store, prefix: str, at: int = 0, *, damaged: bool = False) -> AsyncIterator[KeyValue]:
    """Yield the keys and values of a store at one revision, page by page.

    Omit the keys that the replicas use themselves, such as the leader's lease.

    Raise CopyError if a value is damaged or cannot be decrypted, unless `damaged` is true.
    """
    after, private = "", private_prefix(prefix)
    while True:
        page = await store.range(prefix, after=after, limit=PAGE, at=at)
        at = page.revision
        for item in page.items:
            if item.value is DAMAGED_VALUE and not damaged:
                raise CopyError(f"{item.key} is damaged: delete it, or run `polykind store check`")
            if not damaged and (reason := unreadable_reason(item.value)):
                raise CopyError(f"{reason}: add the key that encrypted it to the encryption configuration")
            if not item.key.startswith(private):
                yield item
        if not page.remaining:
            return
        after = page.items[-1].key


def private_prefix(prefix: str) -> str:
    """Return the prefix of the keys that the replicas use themselves, such as the leader's lease."""
    return f"{prefix}_polykind/"
