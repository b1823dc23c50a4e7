"""Long evaluations: beside the loop, and not for ever."""

from __future__ import annotations

import asyncio
import threading

import pytest

from polykind.admission import patience
from polykind.admission.conditions import Conditions, MatchFailure
from polykind.admission.patience import Interrupted, at_home, patiently
from polykind.cel.activation import InterruptCheck
from polykind.contract import JsonObject

SLOW = [{"name": "slow", "expression": "object.items.all(x, x in object.items)"}]


def items(count: int) -> JsonObject:
    return {"object": {"items": list(range(count))}}


async def test_what_is_done_at_once_is_done_here() -> None:
    here = threading.get_ident()
    assert await patiently(lambda check: threading.get_ident()) == here


async def test_what_takes_longer_begins_again_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AT_ONCE", -1.0)
    threads: list[int] = []

    def evaluate(check: InterruptCheck) -> str:
        threads.append(threading.get_ident())
        check(0)
        return "done"

    assert await patiently(evaluate) == "done"
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [True, False]


async def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AT_ONCE", -1.0)
    monkeypatch.setattr(patience, "IN_ALL", -1.0)
    with pytest.raises(Interrupted):
        await patiently(lambda check: check(0))
    with pytest.raises(MatchFailure, match="operation interrupted"):
        await Conditions(SLOW, "Fail").match(items(100))
    assert not await Conditions(SLOW, "Ignore").match(items(100))


async def test_a_large_step_is_taken_in_a_thread() -> None:
    threads: list[int] = []

    def evaluate(check: InterruptCheck) -> None:
        threads.append(threading.get_ident())
        check(500_000)

    await patiently(evaluate)
    assert len(set(threads)) == 2


async def test_others_get_their_turn_meanwhile() -> None:
    longest = 0.0

    async def others() -> None:
        nonlocal longest
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0)
            longest = max(longest, loop.time() - before)

    beside = asyncio.create_task(others())
    assert await Conditions(SLOW, "Fail").match(items(2000))
    beside.cancel()
    assert longest < 0.5


async def test_what_changes_meanwhile_is_looked_at_where_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AT_ONCE", -1.0)

    def evaluate(check: InterruptCheck) -> tuple[int, int]:
        check(0)
        return threading.get_ident(), at_home(threading.get_ident)

    away, home = await patiently(evaluate)
    assert away != home == threading.get_ident()
    assert at_home(threading.get_ident) == threading.get_ident()


async def test_what_fails_at_home_fails_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AT_ONCE", -1.0)

    def fail() -> None:
        raise LookupError("nothing there")

    def evaluate(check: InterruptCheck) -> None:
        check(0)
        at_home(fail)

    with pytest.raises(LookupError, match="nothing there"):
        await patiently(evaluate)
