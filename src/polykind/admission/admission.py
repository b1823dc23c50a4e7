"""The steps of admission, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from polykind.admission.attributes import Attributes


class Step(Protocol):
    """One kind of those who are asked."""

    @property
    def active(self) -> bool:
        """Whether there is anybody to ask."""

    async def admit(self, asked: Attributes) -> None:
        """Ask them. Raises APIError to refuse; a mutating step may replace the object."""


class Admission:
    """All who are asked before a write: those who may change it, then those who may only refuse.

    `mutates` and `validates` tell whether anybody is to be asked: every write looks there, so `refresh` keeps them.
    """

    __slots__ = ("_mutating", "_validating", "mutates", "validates")

    def __init__(self, mutating: Sequence[Step] = (), validating: Sequence[Step] = ()) -> None:
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)
        self.refresh()

    def refresh(self) -> None:
        """Somebody has come or gone."""
        self.mutates = any(step.active for step in self._mutating)
        self.validates = any(step.active for step in self._validating)

    async def mutate(self, asked: Attributes) -> None:
        await self._round(asked)
        if asked.again.needed:
            asked.again.second = True
            await self._round(asked)

    async def _round(self, asked: Attributes) -> None:
        for step in self._mutating:
            if step.active:
                await step.admit(asked)

    async def validate(self, asked: Attributes) -> None:
        for step in self._validating:
            if step.active:
                await step.admit(asked)
