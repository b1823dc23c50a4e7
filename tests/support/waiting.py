"""Waiting for a condition, with a deadline. It is the only place of the tests that sleeps."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_SECONDS = 30.0
"""The default deadline, in seconds. It is far above what any condition takes on a busy machine."""
_PAUSE = 0.01


def eventually(condition: Callable[[], T], seconds: float = DEADLINE_SECONDS, pause: float = _PAUSE) -> T:
    """Call `condition` until its result is true. Return the result. Fail if it stays false."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, _failure(condition, seconds)
        time.sleep(pause)
    return result


async def eventually_async(
    condition: Callable[[], T | Awaitable[T]], seconds: float = DEADLINE_SECONDS, pause: float = _PAUSE
) -> T:
    """Call `condition`, or await it, until its result is true. Return the result. Fail if it stays false."""
    deadline = time.monotonic() + seconds
    while True:
        called = condition()
        result: T = await called if inspect.isawaitable(called) else called
        if result:
            return result
        assert time.monotonic() < deadline, _failure(condition, seconds)
        await asyncio.sleep(pause)


def _failure(condition: Callable[[], object], seconds: float) -> str:
    code = getattr(condition, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)
    return f"the condition at {where} was still false after {seconds:.0f} s"
