from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from polykind.cache.cached_object import CachedObject, Representation
from polykind.resources.singleflight import Singleflight


class Maker:
    """Converts batches once it is released."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.cancelled = False
        self.error: Exception | None = None
        self.release = asyncio.Event()

    async def __call__(self, entries: Sequence[CachedObject]) -> list[Representation]:
        self.batches.append([cached.key for cached in entries])
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.error:
            raise self.error
        return [Representation(cached.data, None) for cached in entries]


def _cached(name: str, revision: int = 1) -> CachedObject:
    return CachedObject(name.encode(), None, key=name, revision=revision, version="v1", normalized=True)


async def _turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_objects_in_flight_are_shared_and_the_rest_is_one_batch() -> None:
    make, shared = Maker(), list[int]()
    flights = Singleflight(make, shared.append)
    first = asyncio.create_task(flights.convert([_cached("a"), _cached("b")]))
    await _turn()
    second = asyncio.create_task(flights.convert([_cached("c"), _cached("b"), _cached("d")]))
    await _turn()
    make.release.set()
    assert [form.data for form in await first] == [b"a", b"b"]
    assert [form.data for form in await second] == [b"c", b"b", b"d"]
    assert make.batches == [["a", "b"], ["c", "d"]]
    assert shared == [1]


async def test_other_revisions_are_not_shared() -> None:
    make, shared = Maker(), list[int]()
    make.release.set()
    flights = Singleflight(make, shared.append)
    await asyncio.gather(flights.convert([_cached("a", 1)]), flights.convert([_cached("a", 2)]))
    assert make.batches == [["a"], ["a"]]
    assert not shared


async def test_batch_continues_while_it_has_a_waiter() -> None:
    make = Maker()
    flights = Singleflight(make)
    first, second = (asyncio.create_task(flights.convert([_cached("a")])) for _ in range(2))
    await _turn()
    first.cancel()
    await _turn()
    assert not make.cancelled
    make.release.set()
    assert [form.data for form in await second] == [b"a"]
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_batch_without_waiters_is_cancelled_and_restarted() -> None:
    make = Maker()
    flights = Singleflight(make)
    asking = [asyncio.create_task(flights.convert([_cached("a")])) for _ in range(2)]
    await _turn()
    for task in asking:
        task.cancel()
    await _turn()
    assert make.cancelled
    make.release.set()
    assert len(await flights.convert([_cached("a")])) == 1
    assert make.batches == [["a"], ["a"]]


async def test_failure_reaches_all_waiters_and_the_next_call_retries() -> None:
    make = Maker()
    make.error = ValueError("no")
    make.release.set()
    flights = Singleflight(make)
    results = await asyncio.gather(*[flights.convert([_cached("a")]) for _ in range(3)], return_exceptions=True)
    assert [str(result) for result in results] == ["no"] * 3
    assert make.batches == [["a"]]
    with pytest.raises(ValueError, match="no"):
        await flights.convert([_cached("a")])
