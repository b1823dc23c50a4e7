"""The budget of a proof run: a number of objects for each pair of versions, or a time for the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ATTEMPTS_PER_OBJECT = 5
"""The maximum number of generated objects per requested valid object. It limits a run in which few are valid."""
_TESTING, _SHRINKING = 0.8, 0.2
"""The parts of the time that are spent on new objects, and on simplifying the failing objects."""
_MIN_SHRINKING_SECONDS = 0.3


class Budget:
    """Decides how long the pairs of a run are tested, and how long failing objects are simplified.

    With a number of `examples`, the result of a run does not depend on time. With `seconds`, each pair gets an equal
    part of the time that is left.
    """

    def __init__(self, pairs: int, examples: int, seconds: float | None, clock: Callable[[], float]) -> None:
        self._pairs_left = pairs
        self._examples = examples
        self._seconds = seconds
        self._clock = clock
        self._testing_left = (seconds or 0) * _TESTING
        self._shrinking_left = (seconds or 0) * _SHRINKING
        self._started = self._share = 0.0
        self.used = 0.0
        """The used part of the current pair's budget, from 0 to 1."""

    @contextmanager
    def pair(self) -> Iterator[None]:
        """Measure the time that the next pair uses."""
        self._started, self.used = self._clock(), 0.0
        self._share = self._testing_left / max(1, self._pairs_left)
        self._pairs_left -= 1
        yield
        self._testing_left = max(0.0, self._testing_left - (self._clock() - self._started))

    def allows(self, generated: int, valid: int) -> bool:
        """True if another object may be generated, after `generated` objects, of which `valid` were valid."""
        if self._seconds is not None:
            self.used = min(1.0, (self._clock() - self._started) / self._share) if self._share else 1.0
        else:
            self.used = min(1.0, max(valid / self._examples, generated / (_ATTEMPTS_PER_OBJECT * self._examples)))
        return self.used < 1

    @contextmanager
    def shrinking(self) -> Iterator[Callable[[], bool]]:
        """Yield a function that returns True as long as the next failing object may be simplified."""
        started = self._clock()
        limit = max(_MIN_SHRINKING_SECONDS, self._shrinking_left / 2)
        yield lambda: self._seconds is None or self._clock() - started < limit
        self._shrinking_left = max(0.0, self._shrinking_left - (self._clock() - started))
