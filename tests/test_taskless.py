"""Running coroutines without a task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from polykind import taskless
from polykind.taskless import Continuation

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> tuple[T | Continuation[T], asyncio.Future[Continuation[T]]]:
    """Return the result of `taskless.run`, and a future that `on_done` resolves."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[Continuation[T]] = loop.create_future()
    return taskless.run(coroutine, loop, end.set_result), end


async def test_coroutine_that_does_not_suspend_runs_immediately() -> None:
    async def answer() -> int:
        return 42

    assert run(answer())[0] == 42


async def test_exception_before_suspending_is_raised_immediately() -> None:
    async def fail() -> int:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        run(fail())


@pytest.mark.parametrize("steps", [1, 2, 5])
async def test_suspended_coroutine_resumes(steps: int) -> None:
    trace: list[int] = []

    async def walk() -> str:
        for step in range(steps):
            trace.append(step)
            await asyncio.sleep(0)
        return "done"

    continuation, end = run(walk())
    assert trace == [0]
    assert isinstance(continuation, Continuation)
    assert (await end).result() == "done"
    assert trace == list(range(steps))


async def test_awaiting_a_done_future() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future + await future

    continuation, end = run(wait())
    future.set_result(4)
    assert isinstance(continuation, Continuation)
    assert (await end).result() == 8


async def test_exception_of_awaited_future_reaches_coroutine() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> str:
        try:
            await future
        except LookupError as error:
            await asyncio.sleep(0)
            return f"caught {error}"
        return "not caught"

    continuation, end = run(wait())
    future.set_exception(LookupError("it"))
    assert isinstance(continuation, Continuation)
    assert (await end).result() == "caught it"


@pytest.mark.parametrize("iterations", [0, 1, 2], ids=["at once", "a turn later", "later"])
async def test_cancel_cancels_coroutine_and_awaited_future(iterations: int) -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    trace: list[str] = []

    async def wait() -> int:
        try:
            return await future
        except asyncio.CancelledError:
            trace.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            trace.append("cleaned up")

    continuation, end = run(wait())
    assert isinstance(continuation, Continuation)
    for _ in range(iterations):
        await asyncio.sleep(0)
    continuation.cancel()
    assert (await end).cancelled
    assert trace == ["cancelled", "cleaned up"]
    assert future.cancelled()


async def test_in_task_before_and_after_suspending() -> None:
    async def timed() -> int:
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        return 1

    async def both() -> int:
        before = await taskless.in_task(timed())
        return before + await taskless.in_task(timed())

    continuation, end = run(both())
    assert isinstance(continuation, Continuation)
    assert (await end).result() == 2


async def test_cancel_in_the_iteration_of_resumption() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future

    continuation, end = run(wait())
    future.set_result(1)
    assert isinstance(continuation, Continuation)
    continuation.cancel()
    assert (await end).cancelled


async def test_coroutine_may_suppress_cancellation() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> str:
        try:
            await future
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "not heeded"

    continuation, end = run(wait())
    assert isinstance(continuation, Continuation)
    continuation.cancel()
    assert (await end).result() == "not heeded"


async def test_exception_after_suspending_is_in_result() -> None:
    async def fail() -> int:
        await asyncio.sleep(0)
        raise LookupError("late")

    _, end = run(fail())
    with pytest.raises(LookupError, match="late"):
        (await end).result()
