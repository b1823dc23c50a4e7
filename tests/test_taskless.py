"""Coroutines that run without a task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from polykind import taskless
from polykind.taskless import Continuation

T = TypeVar("T")


def begin(coroutine: Coroutine[Any, Any, T]) -> tuple[T | Continuation[T], asyncio.Future[Continuation[T]]]:
    """What `run` gives, and a future of what it tells at the end."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[Continuation[T]] = loop.create_future()
    return taskless.run(coroutine, loop, end.set_result), end


async def test_what_does_not_wait_is_run_at_once() -> None:
    async def answer() -> int:
        return 42

    assert begin(answer())[0] == 42


async def test_what_raises_before_it_waits_raises_at_once() -> None:
    async def fail() -> int:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        begin(fail())


@pytest.mark.parametrize("steps", [1, 2, 5])
async def test_what_waits_goes_on_from_where_it_stands(steps: int) -> None:
    trace: list[int] = []

    async def walk() -> str:
        for step in range(steps):
            trace.append(step)
            await asyncio.sleep(0)
        return "done"

    rest, end = begin(walk())
    assert trace == [0]
    assert isinstance(rest, Continuation)
    assert (await end).result() == "done"
    assert trace == list(range(steps))


async def test_a_future_that_is_done_at_once() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future + await future

    rest, end = begin(wait())
    future.set_result(4)
    assert isinstance(rest, Continuation)
    assert (await end).result() == 8


async def test_an_error_of_what_is_waited_for_reaches_the_coroutine() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> str:
        try:
            await future
        except LookupError as error:
            await asyncio.sleep(0)
            return f"caught {error}"
        return "not caught"

    rest, end = begin(wait())
    future.set_exception(LookupError("it"))
    assert isinstance(rest, Continuation)
    assert (await end).result() == "caught it"


@pytest.mark.parametrize("turns", [0, 1, 2], ids=["at once", "a turn later", "later"])
async def test_cancelling_cancels_the_coroutine_and_what_it_waits_for(turns: int) -> None:
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

    rest, end = begin(wait())
    assert isinstance(rest, Continuation)
    for _ in range(turns):
        await asyncio.sleep(0)
    rest.cancel()
    assert (await end).cancelled
    assert trace == ["cancelled", "cleaned up"]
    assert future.cancelled()


async def test_what_needs_a_task_gets_one_before_and_after_the_first_wait() -> None:
    async def timed() -> int:
        async with asyncio.timeout(5):
            await asyncio.sleep(0)
        return 1

    async def both() -> int:
        before = await taskless.in_task(timed())
        return before + await taskless.in_task(timed())

    rest, end = begin(both())
    assert isinstance(rest, Continuation)
    assert (await end).result() == 2


async def test_cancelling_in_the_turn_in_which_it_would_go_on() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> int:
        return await future

    rest, end = begin(wait())
    future.set_result(1)
    assert isinstance(rest, Continuation)
    rest.cancel()
    assert (await end).cancelled


async def test_a_coroutine_that_takes_no_heed_of_being_cancelled_goes_on() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait() -> str:
        try:
            await future
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "not heeded"

    rest, end = begin(wait())
    assert isinstance(rest, Continuation)
    rest.cancel()
    assert (await end).result() == "not heeded"


async def test_an_error_after_a_wait_is_told_at_the_end() -> None:
    async def fail() -> int:
        await asyncio.sleep(0)
        raise LookupError("late")

    _, end = begin(fail())
    with pytest.raises(LookupError, match="late"):
        (await end).result()
