"""Moving house: everything that one store holds, copied into another and compared."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from polykind.contract import KeyValue, RevisionConflictError, Store, StoreError

PAGE = 500
AT_ONCE = 64

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it so far, and how much it will be."""


class CopyError(StoreError):
    """A copy that must not be, or that is not equal; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Contents:
    """How many keys a store holds and a hash over all of them."""

    count: int
    digest: str


class Copy:
    """One source, one target. It can be broken off and begun again: what is equal already is not written again.

    Every revision of the target that a copied key gets lies above the source's newest one, and at the end the target
    forgets what came before: a resourceVersion of the source is answered with 410 Gone, never with a wrong answer.
    """

    def __init__(self, source: Store, target: Store, prefix: str, name: str, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._prefix = prefix
        self._name = name.encode()
        """What the source is called, so that a copy is only ever continued from the same one."""
        self._progress = progress
        # Where replicas keep what is about themselves; none of it moves house.
        self._private = f"{prefix}_polykind/"
        self._marker = f"{self._private}copy"

    async def run(self) -> Contents:
        await self._claim()
        newest = await self._source.revision()
        await self._advance(newest)
        await self._transfer(newest)
        theirs, ours = await self._contents(self._source, "reading"), await self._contents(self._target, "comparing")
        if theirs != ours:
            raise CopyError(
                f"the copy differs from its source ({ours.count} keys of {theirs.count}): "
                "stop every server on either side, then run it again"
            )
        await self._target.delete(self._marker, expect=None)
        await self._target.compact(await self._target.revision())
        return ours

    async def _claim(self) -> None:
        """Mark the target as ours to fill. Raises CopyError if it holds anything else."""
        marked = await self._target.get(self._marker)
        if marked is not None and marked.value != self._name:
            raise CopyError(f"a copy from {marked.value.decode(errors='replace')} into the target was not finished")
        if marked is None:
            if (await self._target.range(self._prefix, limit=1)).items:
                raise CopyError(f"the target holds keys under {self._prefix} already: empty it, or choose another")
            try:
                await self._target.put(self._marker, self._name, expect=0)
            except RevisionConflictError:
                raise CopyError("another copy into the target has just begun") from None

    async def _advance(self, newest: int) -> None:
        """Bring the target's counter of revisions to the source's: a revision is used up by each write."""
        begin = now = await self._target.revision()
        while now < newest:
            writes = min(AT_ONCE, newest - now)
            await asyncio.gather(*(self._target.put(self._marker, self._name, expect=None) for _ in range(writes)))
            now = await self._target.revision()
            self._progress("raising revisions", min(now, newest) - begin, newest - begin)

    async def _transfer(self, at: int) -> None:
        """Walk both stores in the order of their keys, and make the target like the source."""
        total = (await self._source.range(self._prefix, limit=1, at=at)).remaining + 1
        theirs, ours = self._keys(self._source, at), self._keys(self._target, 0)
        source, target = await anext(theirs, None), await anext(ours, None)
        pending: list[asyncio.Task[int]] = []
        done = 0
        while source is not None or target is not None:
            if target is not None and (source is None or target.key.encode() < source.key.encode()):
                # Left over from a copy that was broken off, and since then deleted at the source.
                pending.append(asyncio.create_task(self._target.delete(target.key, expect=target.revision)))
                target = await anext(ours, None)
                continue
            if source is None:
                break
            held = target if target is not None and target.key == source.key else None
            if held is None or held.value != source.value:
                expect = held.revision if held is not None else 0
                pending.append(asyncio.create_task(self._target.put(source.key, source.value, expect=expect)))
            if held is not None:
                target = await anext(ours, None)
            source = await anext(theirs, None)
            done += 1
            if len(pending) >= AT_ONCE:
                await asyncio.gather(*pending)
                pending.clear()
                self._progress("copying", done, total)
        await asyncio.gather(*pending)
        self._progress("copying", done, done)

    async def _keys(self, store: Store, at: int) -> AsyncIterator[KeyValue]:
        """What there is to copy, a page at a time, all of one revision."""
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

    async def _contents(self, store: Store, stage: str) -> Contents:
        digest, count = hashlib.sha256(), 0
        total = (await store.range(self._prefix, limit=1)).remaining + 1
        async for item in self._keys(store, 0):
            key = item.key.encode(errors="surrogateescape")
            digest.update(b"%d %d\n%b%b" % (len(key), len(item.value), key, item.value))
            count += 1
            if count % PAGE == 0:
                self._progress(stage, count, total)
        self._progress(stage, count, count)
        return Contents(count, digest.hexdigest())
