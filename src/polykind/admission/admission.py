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
    """All who are asked before a write: those who may change it, then those who may only refuse."""

    __slots__ = ("_mutating", "_validating")

    def __init__(self, mutating: Sequence[Step] = (), validating: Sequence[Step] = ()) -> None:
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)

    @property
    def mutates(self) -> bool:
        return _any_active(self._mutating)

    @property
    def validates(self) -> bool:
        return _any_active(self._validating)

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


def _any_active(steps: tuple[Step, ...]) -> bool:
    # Asked at every write: a generator would cost more than the rest of it.
    for step in steps:  # noqa: SIM110
        if step.active:
            return True
    return False
