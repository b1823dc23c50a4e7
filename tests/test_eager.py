"""Coroutines that run without a task until they wait."""

from __future__ import annotations

import asyncio

import pytest

from polykind import eager


async def test_what_does_not_wait_is_run_at_once() -> None:
    async def answer() -> int:
        return 42

    assert eager.run(answer(), asyncio.get_running_loop()) == 42


async def test_what_raises_before_it_waits_raises_at_once() -> None:
    async def fail() -> int:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        eager.run(fail(), asyncio.get_running_loop())


@pytest.mark.parametrize("steps", [1, 2, 5])
async def test_what_waits_goes_on_in_a_task_from_where_it_stands(steps: int) -> None:
    trace: list[int] = []

    async def walk() -> str:
        for step in range(steps):
            trace.append(step)
            await asyncio.sleep(0)
        return "done"

    task = eager.run(walk(), asyncio.get_running_loop())
    assert trace == [0]
    assert isinstance(task, asyncio.Task)
    assert await task == "done"
    assert trace == list(range(steps))


async def test_a_future_that_is_done_before_the_task_begins() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future + await future

    task = eager.run(wait(), asyncio.get_running_loop())
    future.set_result(4)
    assert isinstance(task, asyncio.Task)
    assert await task == 8


async def test_an_error_of_what_is_waited_for_reaches_the_coroutine() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> str:
        try:
            await future
        except LookupError as error:
            await asyncio.sleep(0)
            return f"caught {error}"
        return "not caught"

    task = eager.run(wait(), asyncio.get_running_loop())
    future.set_exception(LookupError("it"))
    assert isinstance(task, asyncio.Task)
    assert await task == "caught it"


@pytest.mark.parametrize("turns", [0, 1, 2], ids=["before the task begins", "at its first wait", "later"])
async def test_a_cancelled_task_cancels_the_coroutine_and_what_it_waits_for(turns: int) -> None:
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

    task = eager.run(wait(), asyncio.get_running_loop())
    assert isinstance(task, asyncio.Task)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert trace == ["cancelled", "cleaned up"]
    assert future.cancelled()


async def test_what_needs_a_task_gets_one_before_and_after_the_first_wait() -> None:
    async def timed() -> int:
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        return 1

    async def both() -> int:
        before = await eager.in_task(timed())
        return before + await eager.in_task(timed())

    task = eager.run(both(), asyncio.get_running_loop())
    assert isinstance(task, asyncio.Task)
    assert await task == 2
