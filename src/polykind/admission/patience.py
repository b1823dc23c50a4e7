"""Evaluations that take long go on beside the loop; and none goes on for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Final, TypeVar

from polykind.cel.activation import PER_CALL_LIMIT, InterruptCheck

AT_ONCE: Final = 0.01
"""Seconds that an evaluation may keep everybody else waiting."""
IN_ALL: Final = 30.0
"""Seconds that it may take."""
_LARGEST_STEP: Final = 20_000
"""What may be spent at one go, where everybody else waits."""
INTERRUPTED: Final = "operation interrupted"

_beside = ThreadPoolExecutor(max_workers=2, thread_name_prefix="expressions")

T = TypeVar("T")


class _Away(threading.local):
    """The loop beside which a thread evaluates something; None in the loop itself."""

    loop: asyncio.AbstractEventLoop | None = None


_away = _Away()


class Interrupted(Exception):
    """An evaluation whose time is over; nothing in it absorbs this."""


async def patiently(evaluate: Callable[[InterruptCheck], T]) -> T:
    """What an evaluation gives that asks a check whether to go on: at once, or else from its beginning in a thread.

    The costs that bound evaluations are the reference's, and what costs one may take long. Raises Interrupted.
    """
    try:
        return evaluate(_until(AT_ONCE, _LARGEST_STEP))
    except Interrupted:
        loop = asyncio.get_running_loop()

    def evaluated() -> T:
        _away.loop = loop
        try:
            return evaluate(_until(IN_ALL, PER_CALL_LIMIT))
        finally:
            _away.loop = None

    return await loop.run_in_executor(_beside, evaluated)


def at_home(call: Callable[[], T]) -> T:
    """What a call gives that is made where everything else happens: what it looks at may be changing. May interrupt."""
    loop = _away.loop
    if loop is None:
        return call()

    async def called() -> T:
        return call()

    try:
        return asyncio.run_coroutine_threadsafe(called(), loop).result(IN_ALL)
    except TimeoutError:
        raise Interrupted(INTERRUPTED) from None


def _until(seconds: float, largest: int) -> InterruptCheck:
    end = monotonic() + seconds

    def check(step: int) -> None:
        if step > largest or monotonic() > end:
            raise Interrupted(INTERRUPTED)

    return check
