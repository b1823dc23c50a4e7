"""How long work holds the event loop."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable
from typing import Any


async def worst_lag(work: Awaitable[Any]) -> float:
    """Return the longest uninterrupted run of the event loop, in seconds of its own CPU time."""
    worst, done = 0.0, False

    async def tick() -> None:
        nonlocal worst
        while not done:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            worst = max(worst, time.thread_time() - before)

    ticking = asyncio.create_task(tick())
    # A garbage collection would visit the objects of all earlier tests in this process.
    gc.collect()
    gc.disable()
    try:
        await work
    finally:
        gc.enable()
        done = True
        await ticking
    return worst
