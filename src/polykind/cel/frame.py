"""What an evaluation works on: one list with its cost so far, self, oldSelf, the variables, and how far it may go.

Its last item is what may be spent before the one before it is asked whether to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel.failures import CostExceeded

LIMIT = 1_000_000
"""What one evaluation may cost."""
COST, SELF, OLD, SLOTS = 0, 1, 2, 3
_GRANT = 50
"""What is spent between two questions: costs say little about how long something takes."""

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Any]
Check: TypeAlias = Callable[[int], None]
"""Raises what ends an evaluation, in view of what is about to be spent at one go."""


def tail(check: Check | None) -> tuple[Check | None, int]:
    """How a frame ends; without a check nothing but the limit ends an evaluation."""
    return check, LIMIT if check is None else 0


def overdrawn(frame: Frame) -> None:
    """More has been spent than could be without a question. Raises CostExceeded, or what the check raises."""
    if frame[0] > LIMIT:
        raise CostExceeded
    frame[-2](0)
    frame[-1] = min(frame[0] + _GRANT, LIMIT)


def ahead(frame: Frame, cost: int) -> None:
    """Something is about to be spent at one go. Raises as `overdrawn` does."""
    if frame[0] + cost > LIMIT:
        frame[0] += cost
        raise CostExceeded
    if frame[-2] is not None:
        frame[-2](cost)


class Part(NamedTuple):
    """A compiled expression; `cost` is what it costs whatever happens, added by whoever runs it."""

    run: Run
    cost: int
