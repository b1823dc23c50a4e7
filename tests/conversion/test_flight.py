from __future__ import annotations

import asyncio

import pytest

from polykind.conversion.flight import Flight


class Call:
    def __init__(self) -> None:
        self.started = 0
        self.cancelled = False
        self.release = asyncio.Event()

    async def __call__(self) -> int:
        self.started += 1
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return 42


async def _turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_those_who_ask_for_the_same_share_one_call() -> None:
    flight: Flight[int] = Flight()
    call = Call()
    asking = [asyncio.create_task(flight.share("k", call)) for _ in range(5)]
    await _turn()
    assert "k" in flight
    call.release.set()
    assert await asyncio.gather(*asking) == [42] * 5
    assert call.started == 1
    assert "k" not in flight


async def test_other_keys_have_calls_of_their_own() -> None:
    flight: Flight[int] = Flight()
    call = Call()
    call.release.set()
    assert await asyncio.gather(*[flight.share(key, call) for key in ("a", "b")]) == [42, 42]
    assert call.started == 2


async def test_a_call_goes_on_while_anybody_waits() -> None:
    flight: Flight[int] = Flight()
    call = Call()
    first, second = (asyncio.create_task(flight.share("k", call)) for _ in range(2))
    await _turn()
    first.cancel()
    await _turn()
    assert not call.cancelled
    call.release.set()
    assert await second == 42
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_call_is_cancelled_when_nobody_waits_and_the_next_starts_anew() -> None:
    flight: Flight[int] = Flight()
    call = Call()
    asking = [asyncio.create_task(flight.share("k", call)) for _ in range(2)]
    await _turn()
    for task in asking:
        task.cancel()
    await _turn()
    assert call.cancelled
    call.release.set()
    assert await flight.share("k", call) == 42
    assert call.started == 2


async def test_all_are_told_of_a_failure_and_the_next_tries_again() -> None:
    flight: Flight[int] = Flight()
    tries = 0

    async def fail() -> int:
        nonlocal tries
        tries += 1
        raise ValueError("no")

    results = await asyncio.gather(*[flight.share("k", fail) for _ in range(3)], return_exceptions=True)
    assert [str(r) for r in results] == ["no"] * 3
    assert tries == 1
    with pytest.raises(ValueError, match="no"):
        await flight.share("k", fail)
