"""Worker threads: fairness between users, cancellation, coroutines and deep recursion."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest

from polykind.errors import TooManyRequestsError
from polykind.taskless import in_task
from polykind.verbs.context import is_large
from polykind.workers import FairQueue, Workers, _Interpreter


async def test_users_take_turns() -> None:
    queue, served = FairQueue(seats=1, max_waiting=10), []
    await queue.acquire("holder")

    async def work(user: str, number: int) -> None:
        await queue.acquire(user)
        served.append(f"{user}{number}")
        queue.release()

    flood = [asyncio.create_task(work("flooder", number)) for number in range(3)]
    await asyncio.sleep(0)
    victim = asyncio.create_task(work("victim", 0))
    await asyncio.sleep(0)
    queue.release()
    await asyncio.gather(*flood, victim)
    assert served == ["flooder0", "victim0", "flooder1", "flooder2"]
    assert queue.waiting == 0


async def test_too_many_waiting_requests_of_one_user_are_rejected() -> None:
    queue = FairQueue(seats=1, max_waiting=1)
    await queue.acquire("a")
    waiting = asyncio.create_task(queue.acquire("a"))
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequestsError):
        await queue.acquire("a")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert queue.waiting == 0
    queue.release()
    await queue.acquire("b")


async def test_cancelled_waiter_passes_its_seat_on() -> None:
    queue = FairQueue(seats=1, max_waiting=5)
    await queue.acquire("a")
    waiting = asyncio.create_task(queue.acquire("b"))
    await asyncio.sleep(0)
    queue.release()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(queue.acquire("c"), 5)


async def test_results_and_errors_are_returned() -> None:
    workers = Workers()
    assert await workers.run("a", lambda: threading.current_thread().name) == "computation"
    with pytest.raises(KeyError):
        await workers.run("a", lambda: dict[str, int]()["x"])


async def test_cancelled_request_ends_its_computation() -> None:
    workers, started, ended = Workers(threads=1), threading.Event(), threading.Event()

    def compute() -> None:
        started.set()
        try:
            while True:
                pass
        finally:
            ended.set()

    task = asyncio.create_task(workers.run("a", compute))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await asyncio.to_thread(ended.wait, 10)
    assert await asyncio.wait_for(workers.run("b", lambda: 1), 10) == 1


async def test_interpreter_settings_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other tests of this process may have changed the collector, or may hold large objects.
    monkeypatch.setattr("polykind.workers._interpreter", _Interpreter())
    thresholds, enabled = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(700, 10, 10)
    gc.enable()
    try:
        before = sys.getswitchinterval(), sys.getrecursionlimit(), gc.get_threshold()
        workers = Workers()
        workers.begin_large(young_only=True)
        assert await workers.run("a", gc.get_threshold) != before[2]
        workers.begin_large()
        assert not await workers.run("a", gc.isenabled)
        workers.end_large()
        assert gc.isenabled()
        workers.end_large(young_only=True)
        await asyncio.sleep(0)
        assert (sys.getswitchinterval(), sys.getrecursionlimit(), gc.get_threshold()) == before
    finally:
        gc.set_threshold(*thresholds)
        if not enabled:
            gc.disable()


async def test_coroutine_returns_to_the_event_loop_for_its_tasks() -> None:
    names: list[str] = []

    async def on_loop(value: int) -> int:
        await asyncio.sleep(0)
        names.append(threading.current_thread().name)
        if value < 0:
            raise ValueError("negative")
        return value + 1

    async def compute() -> Any:
        names.append(threading.current_thread().name)
        value = await in_task(on_loop(1))
        names.append(threading.current_thread().name)
        with pytest.raises(ValueError, match="negative"):
            await in_task(on_loop(-1))
        return value

    assert await Workers().run_coroutine("a", compute()) == 2
    assert names == ["computation", "MainThread", "computation", "MainThread"]


async def test_deep_recursion_is_possible() -> None:
    def depth(levels: int) -> int:
        return 1 + depth(levels - 1) if levels else 0

    assert await Workers().run("a", lambda: depth(50_000)) == 50_000


def test_large_inputs() -> None:
    assert not is_large(b"{" * 400)
    assert is_large(b"[" * 501)
    assert is_large(b" " * 20_000)
    assert is_large(b"1," * 1000, steps_per_value=100)
    assert not is_large(b"1," * 1000)


async def test_close_ends_idle_threads() -> None:
    workers = Workers()
    thread = await workers.run("jane", threading.current_thread)
    workers.close()
    thread.join(4)
    assert not thread.is_alive()
