"""What an evaluation works on: one list with its cost so far, self, oldSelf and the variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

LIMIT = 1_000_000
"""What one evaluation may cost."""
COST, SELF, OLD, SLOTS = 0, 1, 2, 3

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Any]


class Part(NamedTuple):
    """A compiled expression; `cost` is what it costs whatever happens, added by whoever runs it."""

    run: Run
    cost: int
