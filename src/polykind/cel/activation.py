"""What an evaluation works on: one list with its cost so far, self, oldSelf, the variables, and how far it may go.

Its last item is what may be spent before the one before it is asked whether to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel.evaluation_errors import CostExceededError

PER_CALL_LIMIT = 1_000_000
"""What one evaluation may cost."""
COST, SELF, OLD_SELF, FIRST_FREE_SLOT = 0, 1, 2, 3
_GRANT = 50
"""What is spent between two questions: costs say little about how long something takes."""

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Any]
InterruptCheck: TypeAlias = Callable[[int], None]
"""Raises what ends an evaluation, in view of what is about to be spent at one go."""


def interrupt_slots(check: InterruptCheck | None) -> tuple[InterruptCheck | None, int]:
    """How a frame ends; without a check nothing but the limit ends an evaluation."""
    return check, PER_CALL_LIMIT if check is None else 0


def check_cost_limit(frame: Frame) -> None:
    """More has been spent than could be without a question. Raises CostExceeded, or what the check raises."""
    if frame[0] > PER_CALL_LIMIT:
        raise CostExceededError
    frame[-2](0)
    frame[-1] = min(frame[0] + _GRANT, PER_CALL_LIMIT)


def reserve_cost(frame: Frame, cost: int) -> None:
    """Something is about to be spent at one go. Raises as `overdrawn` does."""
    if frame[0] + cost > PER_CALL_LIMIT:
        frame[0] += cost
        raise CostExceededError
    if frame[-2] is not None:
        frame[-2](cost)


class Interpretable(NamedTuple):
    """A compiled expression; `cost` is what it costs whatever happens, added by whoever runs it."""

    run: Closure
    cost: int
