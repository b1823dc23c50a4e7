"""Observation of conversions: the interface for metrics, and the time that each request waits for conversions."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from polykind.conversion.conversion_errors import AttemptError


class Observer(Protocol):
    """Receives conversion statistics. Its methods must not block."""

    def converter_called(self, crd: str, objects: int, seconds: float, failure: AttemptError | None) -> None:
        """Count a call to a converter with some objects. `failure` is None if the call succeeded."""

    def objects_converted(
        self, crd: str, converter: str, from_version: str, to_version: str, seconds: float, failure: AttemptError | None
    ) -> None:
        """Count a conversion of objects from one version to another. `failure` is None if it succeeded."""

    def answer_repaired(self, crd: str, failure: AttemptError) -> None:
        """Count a review that was answered wrongly, and whose objects were then converted by smaller reviews."""

    def objects_shared(self, crd: str, objects: int) -> None:
        """Count objects for which a request waited for a running conversion instead of starting its own."""


class ConversionTime:
    """The time that one request has waited for conversions."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0


_current_time: ContextVar[ConversionTime | None] = ContextVar("polykind_conversion_time", default=None)


T = TypeVar("T")


class ConversionTimer(Generic[T]):
    """Awaits the coroutine of a request. `time` is the time that the request waits for conversions.

    The server may start a coroutine outside a task and continue it in a task, which has another context. Therefore the
    context variable that points to `time` is set before each step of the coroutine and reset after it.
    """

    __slots__ = ("_coroutine", "time")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.time = ConversionTime()

    def __await__(self) -> Generator[Any, Any, T]:
        step, value = self._coroutine.send, None
        while True:
            token = _current_time.set(self.time)
            try:
                waiting = step(value)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            finally:
                _current_time.reset(token)
            try:
                step, value = self._coroutine.send, (yield waiting)
            except BaseException as error:
                step, value = self._coroutine.throw, error


def add_conversion_time(seconds: float) -> None:
    time = _current_time.get()
    if time is not None:
        time.seconds += seconds
