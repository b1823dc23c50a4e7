from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.conversion.batches import Batches, EncodedObject, LocatedConversionError
from polykind.conversion.conversion_errors import CALL, ConversionAttemptError


def _encode(obj: JsonObject) -> bytes:
    return json.dumps(obj).encode()


class Attempts:
    """Converts by doubling `n`; fails on bad numbers and on batches above a size."""

    def __init__(self, bad: frozenset[int] = frozenset(), most: int = 10**9, divisible: bool = True) -> None:
        self.bad = bad
        self.most = most
        self.divisible = divisible
        self.sizes: list[int] = []
        self.running = self.peak = 0

    async def __call__(self, part: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        self.sizes.append(len(part))
        self.running += 1
        self.peak = max(self.peak, self.running)
        for _ in range(10):
            await asyncio.sleep(0)
        self.running -= 1
        if len(part) > self.most or any(item.obj["n"] in self.bad for item in part):
            raise ConversionAttemptError("no", CALL, "Answer", divisible=self.divisible)
        return [{"n": 2 * item.obj["n"]} for item in part]


def _objects(count: int) -> list[JsonObject]:
    return [{"n": n} for n in range(count)]


@given(st.integers(1, 60), st.frozensets(st.integers(0, 80), max_size=4), st.integers(1, 20), st.integers(1, 20))
def test_all_are_converted_in_order_or_the_first_at_fault_is_told(
    count: int, bad: frozenset[int], batch: int, most: int
) -> None:
    async def run() -> None:
        batches = Batches(Attempts(bad, most), _encode, max_objects=batch)
        faulty = sorted(n for n in bad if n < count)
        for _ in range(2):
            if faulty:
                with pytest.raises(LocatedConversionError) as caught:
                    await batches.convert(_objects(count), "v1")
                assert caught.value.obj == {"n": faulty[0]}
            else:
                assert await batches.convert(_objects(count), "v1") == [{"n": 2 * n} for n in range(count)]

    asyncio.run(run())


async def test_batches_are_bounded_by_count_and_bytes() -> None:
    attempts = Attempts()
    await Batches(attempts, _encode, max_objects=10).convert(_objects(35), "v1")
    assert attempts.sizes == [10, 10, 10, 5]
    attempts.sizes.clear()
    await Batches(attempts, lambda _: b"x" * 400, max_bytes=1000).convert(_objects(5), "v1")
    assert attempts.sizes == [2, 2, 1]


async def test_few_batches_are_under_way_at_once() -> None:
    attempts = Attempts()
    await Batches(attempts, _encode, max_objects=1, concurrency=3).convert(_objects(20), "v1")
    assert attempts.peak == 3


async def test_what_cannot_be_divided_is_told_of_the_first_object() -> None:
    attempts = Attempts(frozenset({7}), divisible=False)
    with pytest.raises(LocatedConversionError) as caught:
        await Batches(attempts, _encode).convert(_objects(10), "v1")
    assert caught.value.obj == {"n": 0}
    assert attempts.sizes == [10]


async def test_a_size_that_works_is_learnt_and_larger_ones_are_tried_again_later() -> None:
    attempts = Attempts(most=4)
    batches = Batches(attempts, _encode, max_objects=16)
    await batches.convert(_objects(16), "v1")
    attempts.sizes.clear()
    await batches.convert(_objects(16), "v1")
    assert attempts.sizes == [4, 4, 4, 4]
    attempts.most = 100
    for _ in range(200):
        await batches.convert(_objects(16), "v1")
    attempts.sizes.clear()
    await batches.convert(_objects(16), "v1")
    assert attempts.sizes == [16]


async def test_a_failure_starts_no_further_batches() -> None:
    attempts = Attempts(frozenset({0}))
    with pytest.raises(LocatedConversionError):
        await Batches(attempts, _encode, max_objects=1, concurrency=2).convert(_objects(100), "v1")
    assert len(attempts.sizes) < 6


async def test_cancellation_reaches_every_batch() -> None:
    ended = 0
    started = asyncio.Event()

    async def hang(part: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        nonlocal ended
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended += 1
        return []

    task = asyncio.create_task(Batches(hang, _encode, max_objects=1, concurrency=3).convert(_objects(3), "v1"))
    await started.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == 3
