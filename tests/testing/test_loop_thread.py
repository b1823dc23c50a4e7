"""The event loop thread: results, timeouts and cleanup."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from polykind.testing.loop_thread import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    thread = LoopThread(timeout=0.2)
    yield thread
    thread.close()


async def name() -> str:
    return threading.current_thread().name


def test_run_waits_for_the_result(loop: LoopThread) -> None:
    assert loop.run(name()) == "polykind-testing"


def test_run_raises_the_exception(loop: LoopThread) -> None:
    async def fail() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        loop.run(fail())


def test_run_times_out(loop: LoopThread) -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError, match=r"hang did not finish within 0\.2 s"):
        loop.run(hang())
    assert ended.wait(10)


def test_run_from_its_own_thread_raises(loop: LoopThread) -> None:
    async def inner() -> None:
        loop.run(name())

    with pytest.raises(RuntimeError, match="called from the server's own thread"):
        loop.run(inner())


def test_close_cancels_pending_work() -> None:
    before = set(threading.enumerate())
    loop = LoopThread()
    ended = threading.Event()

    async def leave() -> None:
        async def linger() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        left.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)

    left: list[asyncio.Task[None]] = []
    loop.run(leave())
    loop.close()
    assert ended.is_set()
    assert set(threading.enumerate()) <= before
