"""Where generated values come from: a row of small choices, each of which has a simplest answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Unlucky(Exception):
    """No good value was found in some tries: at which path, and why the last one was not good."""

    def __init__(self, said: str, path: str = "") -> None:
        super().__init__(f"{path}: {said}" if path else said)
        self.said = said
        self.path = path

    def below(self, name: str) -> Unlucky:
        """The same, seen from above."""
        return Unlucky(self.said, f"{name}.{self.path}" if self.path else name)


class Choices(Protocol):
    """Chance, as generators see it. Zero is always the simplest answer: failures are shrunk towards it."""

    def upto(self, most: int) -> int:
        """A whole number from 0 to `most`."""

    def part(self, make: Callable[[], T]) -> T:
        """What `make` makes, told as one part of the whole, which may be left out or made simpler as one."""


class RandomChoices:
    """Choices by a generator of random numbers: nothing is shrunk."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def upto(self, most: int) -> int:
        return self._random.randint(0, most)

    def part(self, make: Callable[[], T]) -> T:
        return make()


class RecordedChoices:
    """The choices of another, written down."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.made: list[int] = []

    def upto(self, most: int) -> int:
        self.made.append(self._choices.upto(most))
        return self.made[-1]

    def part(self, make: Callable[[], T]) -> T:
        return self._choices.part(make)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """One of some options, of which the first is the simplest."""
    return options[choices.upto(len(options) - 1)] if len(options) > 1 else options[0]


def likely(choices: Choices, percent: float) -> bool:
    """True in so many cases of a hundred; False is simpler."""
    if percent <= 0:
        return False
    return percent >= 100 or choices.upto(99) >= 100 - percent


def between(choices: Choices, least: int, most: int) -> int:
    return least + choices.upto(most - least) if most > least else least
