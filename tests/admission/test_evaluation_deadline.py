"""Deadlines of CEL evaluations."""

from __future__ import annotations

import asyncio
import threading

import pytest

from polykind.admission import evaluation_deadline
from polykind.admission.evaluation_deadline import EvaluationInterruptedError, run_on_event_loop, run_with_deadline
from polykind.admission.match_conditions import MatchConditionError, MatchConditions
from polykind.contract import InterruptCheck, JsonObject

SLOW = [{"name": "slow", "expression": "object.items.all(x, x in object.items)"}]


def items(count: int) -> JsonObject:
    return {"object": {"items": list(range(count))}}


async def test_fast_evaluation_runs_on_the_event_loop() -> None:
    here = threading.get_ident()
    assert await run_with_deadline(lambda check: threading.get_ident()) == here


async def test_slow_evaluation_restarts_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_deadline, "ON_LOOP_SECONDS", -1.0)
    threads: list[int] = []

    def evaluate(check: InterruptCheck) -> str:
        threads.append(threading.get_ident())
        check(0)
        return "done"

    assert await run_with_deadline(evaluate) == "done"
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [True, False]


async def test_deadline_in_the_thread_is_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_deadline, "ON_LOOP_SECONDS", -1.0)
    monkeypatch.setattr(evaluation_deadline, "TOTAL_SECONDS", -1.0)
    with pytest.raises(EvaluationInterruptedError):
        await run_with_deadline(lambda check: check(0))
    with pytest.raises(MatchConditionError, match="operation interrupted"):
        await MatchConditions(SLOW, "Fail").match(items(100))
    assert not await MatchConditions(SLOW, "Ignore").match(items(100))


async def test_expensive_call_runs_in_a_thread() -> None:
    threads: list[int] = []

    def evaluate(check: InterruptCheck) -> None:
        threads.append(threading.get_ident())
        check(500_000)

    await run_with_deadline(evaluate)
    assert len(set(threads)) == 2


async def test_event_loop_is_not_blocked() -> None:
    longest = 0.0

    async def other_task() -> None:
        nonlocal longest
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0)
            longest = max(longest, loop.time() - before)

    beside = asyncio.create_task(other_task())
    assert await MatchConditions(SLOW, "Fail").match(items(2000))
    beside.cancel()
    assert longest < 0.5


async def test_coroutine_runs_on_the_thread_of_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_deadline, "ON_LOOP_SECONDS", -1.0)

    async def thread() -> int:
        return threading.get_ident()

    def evaluate(check: InterruptCheck) -> tuple[int, int]:
        check(0)
        return threading.get_ident(), run_on_event_loop(thread())

    away, home = await run_with_deadline(evaluate)
    assert away != home == threading.get_ident()
    assert run_on_event_loop(thread()) == threading.get_ident()


async def test_coroutine_that_waits_moves_the_evaluation_to_a_thread() -> None:
    runs = []

    async def wait() -> str:
        await asyncio.sleep(0)
        return "allowed"

    def evaluate(check: InterruptCheck) -> str:
        runs.append(threading.get_ident())
        return run_on_event_loop(wait())

    assert await run_with_deadline(evaluate) == "allowed"
    assert runs[0] == threading.get_ident() != runs[1]


async def test_error_on_the_event_loop_is_raised_in_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_deadline, "ON_LOOP_SECONDS", -1.0)

    async def fail() -> None:
        raise LookupError("nothing there")

    def evaluate(check: InterruptCheck) -> None:
        check(0)
        run_on_event_loop(fail())

    with pytest.raises(LookupError, match="nothing there"):
        await run_with_deadline(evaluate)
