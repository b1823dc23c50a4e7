"""Deadlines of CEL evaluations: short on the event loop, longer in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Final, TypeVar

from polykind.contract import InterruptCheck
from polykind.loop_calls import in_worker, worker_loop

ON_LOOP_SECONDS: Final = 0.01
"""The longest time that an evaluation may block the event loop."""
TOTAL_SECONDS: Final = 30.0
"""The longest time that an evaluation may take in a thread."""
_ON_LOOP_CALL_LIMIT: Final = 20_000
"""The highest estimated cost of a CEL function call on the event loop, because such a call cannot be interrupted."""
INTERRUPTED: Final = "operation interrupted"

_executor = ThreadPoolExecutor(max_workers=2, thread_name_prefix="expressions")

T = TypeVar("T")


class EvaluationInterruptedError(Exception):
    """A CEL evaluation that exceeded its deadline. Operators such as || do not absorb this error."""


def on_loop_check() -> InterruptCheck:
    """Return a check that raises EvaluationInterruptedError when an evaluation has held the event loop too long."""
    return _deadline_check(ON_LOOP_SECONDS, _ON_LOOP_CALL_LIMIT)


async def run_with_deadline(evaluate: Callable[[InterruptCheck], T]) -> T:
    """Run an evaluation on the event loop. If it takes too long there, run it again from the start in a thread.

    In a worker thread, run it there.

    kube-apiserver's cost budget limits cost but not time. `evaluate` must call the interrupt check that it receives.
    Raise EvaluationInterruptedError when the deadline of the thread is exceeded.
    """
    if worker_loop() is not None:
        return evaluate(_thread_check())
    try:
        return evaluate(on_loop_check())
    except EvaluationInterruptedError:
        loop = asyncio.get_running_loop()

    def evaluate_in_thread() -> T:
        with in_worker(loop):
            return evaluate(_thread_check())

    return await loop.run_in_executor(_executor, evaluate_in_thread)


def run_on_event_loop(coroutine: Coroutine[object, None, T]) -> T:
    """Return the result of a coroutine that runs on the event loop, whose data only the loop's thread may read.

    An evaluation on the event loop itself cannot wait. If the coroutine waits there, for example for an authorization
    webhook, raise EvaluationInterruptedError, so that the evaluation runs again in a thread. Raise the same error if
    the coroutine does not end in time.
    """
    loop = worker_loop()
    if loop is None:
        return _run_without_waiting(coroutine)
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(TOTAL_SECONDS)
    except TimeoutError:
        raise EvaluationInterruptedError(INTERRUPTED) from None


def _run_without_waiting(coroutine: Coroutine[object, None, T]) -> T:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise EvaluationInterruptedError(INTERRUPTED)


def _thread_check() -> InterruptCheck:
    # Import CEL only here, because every server imports this module and few servers need CEL.
    from polykind.cel.activation import PER_CALL_LIMIT

    return _deadline_check(TOTAL_SECONDS, PER_CALL_LIMIT)


def _deadline_check(seconds: float, call_limit: int) -> InterruptCheck:
    deadline = monotonic() + seconds

    def check(cost: int) -> None:
        if cost > call_limit or monotonic() > deadline:
            raise EvaluationInterruptedError(INTERRUPTED)

    return check
