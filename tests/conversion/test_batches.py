from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.conversion.batches import Batches, EncodedObject, LocatedError
from polykind.conversion.conversion_errors import CALL, AttemptError


def _encode(obj: JsonObject) -> bytes:
    return json.dumps(obj).encode()


class FakeBatchConverter:
    """Doubles `n` of each object. Fails on bad numbers and on batches above a size."""

    def __init__(self, bad: frozenset[int] = frozenset(), max_batch: int = 10**9, divisible: bool = True) -> None:
        self.bad = bad
        self.most = max_batch
        self.divisible = divisible
        self.sizes: list[int] = []
        self.running = self.peak = 0

    async def __call__(self, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        self.sizes.append(len(batch))
        self.running += 1
        self.peak = max(self.peak, self.running)
        for _ in range(10):
            await asyncio.sleep(0)
        self.running -= 1
        if len(batch) > self.most or any(item.obj["n"] in self.bad for item in batch):
            raise AttemptError("no", CALL, "Answer", divisible=self.divisible)
        return [{"n": 2 * item.obj["n"]} for item in batch]


def _objects(count: int) -> list[JsonObject]:
    return [{"n": n} for n in range(count)]


@given(st.integers(1, 60), st.frozensets(st.integers(0, 80), max_size=4), st.integers(1, 20), st.integers(1, 20))
def test_objects_are_converted_in_order_or_the_first_failing_one_is_reported(
    count: int, bad: frozenset[int], batch: int, max_batch: int
) -> None:
    async def run() -> None:
        batches = Batches(FakeBatchConverter(bad, max_batch), _encode, max_objects=batch)
        faulty = sorted(n for n in bad if n < count)
        for _ in range(2):
            if faulty:
                with pytest.raises(LocatedError) as caught:
                    await batches.convert(_objects(count), "v1")
                assert caught.value.obj == {"n": faulty[0]}
            else:
                assert await batches.convert(_objects(count), "v1") == [{"n": 2 * n} for n in range(count)]

    asyncio.run(run())


async def test_batches_are_bounded_by_count_and_bytes() -> None:
    attempts = FakeBatchConverter()
    await Batches(attempts, _encode, max_objects=10).convert(_objects(35), "v1")
    assert attempts.sizes == [10, 10, 10, 5]
    attempts.sizes.clear()
    await Batches(attempts, lambda _: b"x" * 400, max_bytes=1000).convert(_objects(5), "v1")
    assert attempts.sizes == [2, 2, 1]


async def test_concurrent_batches_are_limited() -> None:
    attempts = FakeBatchConverter()
    await Batches(attempts, _encode, max_objects=1, concurrency=3).convert(_objects(20), "v1")
    assert attempts.peak == 3


async def test_indivisible_failure_is_reported_for_the_first_object() -> None:
    attempts = FakeBatchConverter(frozenset({7}), divisible=False)
    with pytest.raises(LocatedError) as caught:
        await Batches(attempts, _encode).convert(_objects(10), "v1")
    assert caught.value.obj == {"n": 0}
    assert attempts.sizes == [10]


async def test_batch_limit_shrinks_on_failure_and_grows_again() -> None:
    attempts = FakeBatchConverter(max_batch=4)
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


async def test_failure_stops_further_batches() -> None:
    attempts = FakeBatchConverter(frozenset({0}))
    with pytest.raises(LocatedError):
        await Batches(attempts, _encode, max_objects=1, concurrency=2).convert(_objects(100), "v1")
    assert len(attempts.sizes) < 6


async def test_cancellation_reaches_every_batch() -> None:
    ended = 0
    started = asyncio.Event()

    async def hang(batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
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
