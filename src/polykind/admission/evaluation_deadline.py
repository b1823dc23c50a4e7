"""Deadlines of CEL evaluations: short on the event loop, longer in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Final, TypeVar

from polykind.contract import InterruptCheck

ON_LOOP_SECONDS: Final = 0.01
"""The longest time that an evaluation may block the event loop."""
TOTAL_SECONDS: Final = 30.0
"""The longest time that an evaluation may take in a thread."""
_ON_LOOP_CALL_LIMIT: Final = 20_000
"""The highest estimated cost of a CEL function call on the event loop, because such a call cannot be interrupted."""
INTERRUPTED: Final = "operation interrupted"

_executor = ThreadPoolExecutor(max_workers=2, thread_name_prefix="expressions")

T = TypeVar("T")


class _ThreadState(threading.local):
    """The event loop on whose behalf this thread evaluates expressions. None in the event loop's own thread."""

    loop: asyncio.AbstractEventLoop | None = None


_thread_state = _ThreadState()


class EvaluationInterruptedError(Exception):
    """A CEL evaluation that exceeded its deadline. Operators such as || do not absorb this error."""


def on_loop_check() -> InterruptCheck:
    """Return a check that raises EvaluationInterruptedError when an evaluation has held the event loop too long."""
    return _deadline_check(ON_LOOP_SECONDS, _ON_LOOP_CALL_LIMIT)


async def run_with_deadline(evaluate: Callable[[InterruptCheck], T]) -> T:
    """Run an evaluation on the event loop. If it takes too long there, run it again from the start in a thread.

    kube-apiserver's cost budget limits cost but not time. `evaluate` must call the interrupt check that it receives.
    Raise EvaluationInterruptedError when the deadline of the thread is exceeded.
    """
    try:
        return evaluate(on_loop_check())
    except EvaluationInterruptedError:
        loop = asyncio.get_running_loop()

    def evaluate_in_thread() -> T:
        # Import CEL only here, because every server imports this module and few servers need CEL.
        from polykind.cel.activation import PER_CALL_LIMIT

        _thread_state.loop = loop
        try:
            return evaluate(_deadline_check(TOTAL_SECONDS, PER_CALL_LIMIT))
        finally:
            _thread_state.loop = None

    return await loop.run_in_executor(_executor, evaluate_in_thread)


def call_on_event_loop(call: Callable[[], T]) -> T:
    """Run `call` on the event loop's thread, because that thread may change the data that `call` reads.

    Raise EvaluationInterruptedError if the event loop does not respond in time.
    """
    loop = _thread_state.loop
    if loop is None:
        return call()

    async def run() -> T:
        return call()

    try:
        return asyncio.run_coroutine_threadsafe(run(), loop).result(TOTAL_SECONDS)
    except TimeoutError:
        raise EvaluationInterruptedError(INTERRUPTED) from None


def _deadline_check(seconds: float, call_limit: int) -> InterruptCheck:
    deadline = monotonic() + seconds

    def check(cost: int) -> None:
        if cost > call_limit or monotonic() > deadline:
            raise EvaluationInterruptedError(INTERRUPTED)

    return check
