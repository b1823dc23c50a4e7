"""Copying all keys of one store into another, with verification."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from polykind.contract import KeyValue, RevisionConflictError, Store, StoreError

PAGE = 500
CONCURRENT_WRITES = 64

Progress = Callable[[str, int, int], None]
"""Receives the current stage, the number of finished items and the total number."""


class CopyError(StoreError):
    """The copy is not allowed, or the copied data differs from the source. The message says what to do."""


@dataclass(frozen=True, slots=True)
class StoreContents:
    """The number of keys of a store and a hash of all keys and values."""

    count: int
    digest: str


class StoreCopy:
    """A copy from one source to one target. An interrupted copy can be repeated; equal keys are not written again.

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
        # Keys of the replicas themselves, such as the leader's lease, are not copied.
        self._private = f"{prefix}_polykind/"
        self._marker = f"{self._private}copy"

    async def run(self) -> StoreContents:
        await self._claim()
        newest = await self._source.revision()
        await self._advance(newest)
        await self._transfer(newest)
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
        """Mark the target as the destination of this copy. Raises CopyError if it holds other keys."""
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
        """Write to the target until its revision reaches the source's. Each write advances the revision by one."""
        start = now = await self._target.revision()
        while now < newest:
            writes = min(CONCURRENT_WRITES, newest - now)
            await asyncio.gather(*(self._target.put(self._marker, self._name, expect=None) for _ in range(writes)))
            now = await self._target.revision()
            self._progress("raising revisions", min(now, newest) - start, newest - start)

    async def _transfer(self, at: int) -> None:
        """Walk both stores in key order and make the target equal to the source."""
        total = (await self._source.range(self._prefix, limit=1, at=at)).remaining + 1
        source_keys, target_keys = self._keys(self._source, at), self._keys(self._target, 0)
        source, target = await anext(source_keys, None), await anext(target_keys, None)
        pending: list[asyncio.Task[int]] = []
        done = 0
        while source is not None or target is not None:
            if target is not None and (source is None or target.key.encode() < source.key.encode()):
                # An interrupted copy left this key, which has since been deleted in the source.
                pending.append(asyncio.create_task(self._target.delete(target.key, expect=target.revision)))
                target = await anext(target_keys, None)
                continue
            if source is None:
                break
            held = target if target is not None and target.key == source.key else None
            if held is None or held.value != source.value:
                expect = held.revision if held is not None else 0
                pending.append(asyncio.create_task(self._target.put(source.key, source.value, expect=expect)))
            if held is not None:
                target = await anext(target_keys, None)
            source = await anext(source_keys, None)
            done += 1
            if len(pending) >= CONCURRENT_WRITES:
                await asyncio.gather(*pending)
                pending.clear()
                self._progress("copying", done, total)
        await asyncio.gather(*pending)
        self._progress("copying", done, done)

    async def _keys(self, store: Store, at: int) -> AsyncIterator[KeyValue]:
        """Yield the keys to copy, read page by page at one revision."""
        after = ""
        while True:
            page = await store.range(self._prefix, after=after, limit=PAGE, at=at)
            at = page.revision
            for item in page.items:
                if not item.key.startswith(self._private):
                    yield item
            if not page.remaining:
                return
            after = page.items[-1].key

    async def _contents(self, store: Store, stage: str) -> StoreContents:
        digest, count = hashlib.sha256(), 0
        total = (await store.range(self._prefix, limit=1)).remaining + 1
        async for item in self._keys(store, 0):
            key = item.key.encode(errors="surrogateescape")
            digest.update(b"%d %d\n%b%b" % (len(key), len(item.value), key, item.value))
            count += 1
            if count % PAGE == 0:
                self._progress(stage, count, total)
        self._progress(stage, count, count)
        return StoreContents(count, digest.hexdigest())
