"""Where generated values come from: a row of small choices, each of which has a simplest answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class GenerationError(Exception):
    """No good value was found in some tries: at which path, and why the last one was not good."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path

    def below(self, name: str) -> GenerationError:
        """The same, seen from above."""
        return GenerationError(self.message, f"{name}.{self.path}" if self.path else name)


class Choices(Protocol):
    """Chance, as generators see it. Zero is always the simplest answer: failures are shrunk towards it."""

    def up_to(self, maximum: int) -> int:
        """A whole number from 0 to `most`."""

    def part(self, make: Callable[[], T]) -> T:
        """What `make` makes, told as one part of the whole, which may be left out or made simpler as one."""


class RandomChoices:
    """Choices by a generator of random numbers: nothing is shrunk."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def up_to(self, maximum: int) -> int:
        return self._random.randint(0, maximum)

    def part(self, make: Callable[[], T]) -> T:
        return make()


class RecordedChoices:
    """The choices of another, written down."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.recorded: list[int] = []

    def up_to(self, maximum: int) -> int:
        self.recorded.append(self._choices.up_to(maximum))
        return self.recorded[-1]

    def part(self, make: Callable[[], T]) -> T:
        return self._choices.part(make)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """One of some options, of which the first is the simplest."""
    return options[choices.up_to(len(options) - 1)] if len(options) > 1 else options[0]


def chance(choices: Choices, percent: float) -> bool:
    """True in so many cases of a hundred; False is simpler."""
    if percent <= 0:
        return False
    return percent >= 100 or choices.up_to(99) >= 100 - percent


def between(choices: Choices, minimum: int, maximum: int) -> int:
    return minimum + choices.up_to(maximum - minimum) if maximum > minimum else minimum
