"""Worker threads: fairness between users, cancellation, coroutines and deep recursion."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from polykind.errors import TooManyRequestsError
from polykind.loop_calls import on_loop
from polykind.workers import FairQueue, LoopTurns, Workers, _Interpreter


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


async def test_one_slice_in_each_iteration_of_the_event_loop() -> None:
    turns, iteration, slices = LoopTurns(), 0, []

    async def respond(user: str) -> None:
        for _ in range(3):
            await turns.take(user)
            slices.append((iteration, user))

    responses = asyncio.gather(respond("flooder"), respond("flooder"), respond("victim"))
    while not responses.done():
        await asyncio.sleep(0)
        iteration += 1
    iterations, users = zip(*slices, strict=True)
    assert len(set(iterations)) == len(slices) == 9
    assert "".join(user[0] for user in users) == "ffvfvfvff"


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
    # Other tests of this process may still run computations.
    monkeypatch.setattr("polykind.workers._interpreter", _Interpreter())
    before = sys.getswitchinterval(), sys.getrecursionlimit()
    assert await Workers().run("a", sys.getswitchinterval) < before[0]
    await asyncio.sleep(0)
    assert (sys.getswitchinterval(), sys.getrecursionlimit()) == before


class _Tree:
    """An object that a weak reference can refer to."""


async def _fail(workers: Workers, seen: list[weakref.ref[_Tree]]) -> None:
    """Run a computation that holds a large object and fails."""

    def compute() -> None:
        tree = _Tree()
        seen.append(weakref.ref(tree))
        raise KeyError(seen)

    with pytest.raises(KeyError):
        await workers.run("a", compute)


async def _fail_on_the_loop(workers: Workers, seen: list[weakref.ref[_Tree]]) -> None:
    """Run a coroutine that holds a large object and that fails in a call on the event loop."""

    async def fail() -> None:
        raise KeyError

    async def compute() -> None:
        tree = _Tree()
        seen.append(weakref.ref(tree))
        await on_loop(fail())

    with pytest.raises(KeyError):
        await workers.run_coroutine("a", compute())


@pytest.mark.parametrize("fail", [_fail, _fail_on_the_loop])
async def test_objects_of_a_failed_computation_are_freed_without_the_garbage_collector(
    fail: Callable[[Workers, list[weakref.ref[_Tree]]], Awaitable[None]],
) -> None:
    workers, seen = Workers(), list[weakref.ref[_Tree]]()
    gc.disable()
    try:
        await fail(workers, seen)
        for _ in range(100):
            if seen[0]() is None:
                break
            await asyncio.sleep(0.01)  # The worker thread may still be about to release the computation.
        assert seen[0]() is None
    finally:
        gc.enable()


async def test_coroutine_returns_to_the_event_loop_for_its_tasks() -> None:
    names: list[str] = []

    async def add_one(value: int) -> int:
        await asyncio.sleep(0)
        names.append(threading.current_thread().name)
        if value < 0:
            raise ValueError("negative")
        return value + 1

    async def compute() -> Any:
        names.append(threading.current_thread().name)
        value = await on_loop(add_one(1))
        names.append(threading.current_thread().name)
        with pytest.raises(ValueError, match="negative"):
            await on_loop(add_one(-1))
        return value

    assert await Workers().run_coroutine("a", compute()) == 2
    assert names == ["computation", "MainThread", "computation", "MainThread"]


async def test_deep_recursion_is_possible() -> None:
    def depth(levels: int) -> int:
        return 1 + depth(levels - 1) if levels else 0

    assert await Workers().run("a", lambda: depth(50_000)) == 50_000


async def test_close_ends_idle_threads() -> None:
    workers = Workers()
    thread = await workers.run("jane", threading.current_thread)
    workers.close()
    thread.join(4)
    assert not thread.is_alive()
