"""The source of randomness for generators: a sequence of small integers, the choices. The choice 0 is the simplest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class GenerationError(Exception):
    """No valid value was found. `path` is the field, and `message` says why the last attempt was invalid."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path

    def below(self, name: str) -> GenerationError:
        """Return the same error with `name` prepended to its path."""
        return GenerationError(self.message, f"{name}.{self.path}" if self.path else name)


class Choices(Protocol):
    """A source of random choices. Zero is the simplest choice, so a failing object is simplified by smaller choices."""

    def up_to(self, maximum: int) -> int:
        """Return an integer from 0 to `maximum`."""

    def part(self, make: Callable[[], T]) -> T:
        """Return the result of `make`. The choices in `make` form a unit that shrinking can simplify as a whole."""


class RandomChoices:
    """Choices from a random number generator, without shrinking."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def up_to(self, maximum: int) -> int:
        return self._random.randint(0, maximum)

    def part(self, make: Callable[[], T]) -> T:
        return make()


class RecordedChoices:
    """Forwards the choices of another source and records them."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.recorded: list[int] = []

    def up_to(self, maximum: int) -> int:
        self.recorded.append(self._choices.up_to(maximum))
        return self.recorded[-1]

    def part(self, make: Callable[[], T]) -> T:
        return self._choices.part(make)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """Return one of the options. Put the simplest option first, because failing examples are shrunk towards it."""
    return options[choices.up_to(len(options) - 1)] if len(options) > 1 else options[0]


def chance(choices: Choices, percent: float) -> bool:
    """Return True with a probability of `percent` percent. False is the simpler choice."""
    if percent <= 0:
        return False
    return percent >= 100 or choices.up_to(99) >= 100 - percent


def between(choices: Choices, minimum: int, maximum: int) -> int:
    return minimum + choices.up_to(maximum - minimum) if maximum > minimum else minimum
