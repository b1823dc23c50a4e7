"""Who is told of conversions, to count them."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from polykind.conversion.failure import Failure


class Observer(Protocol):
    """Told of every call and of every conversion. Must return at once."""

    def called(self, crd: str, objects: int, seconds: float, failure: Failure | None) -> None:
        """A converter outside was called with so many objects, for so long."""

    def converted(
        self, crd: str, converter: str, from_version: str, to_version: str, seconds: float, failure: Failure | None
    ) -> None:
        """Objects of one kind were wanted in another version; `failure` is None if they came."""

    def shared(self, crd: str, objects: int) -> None:
        """So many objects were had from another request that was waiting for the same ones."""


class Spent:
    """The time that one request has waited for conversions."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0


_spent: ContextVar[Spent | None] = ContextVar("polykind_conversion_spent", default=None)


T = TypeVar("T")


class Counted(Generic[T]):
    """Awaits a coroutine and sums up what it spends on conversions.

    A request may begin outside of any task and go on in one, so that it runs in two contexts: each is told for as long
    as the coroutine runs in it.
    """

    __slots__ = ("_coroutine", "spent")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.spent = Spent()

    def __await__(self) -> Generator[Any, Any, T]:
        step, value = self._coroutine.send, None
        while True:
            token = _spent.set(self.spent)
            try:
                waiting = step(value)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            finally:
                _spent.reset(token)
            try:
                step, value = self._coroutine.send, (yield waiting)
            except BaseException as error:
                step, value = self._coroutine.throw, error


def spend(seconds: float) -> None:
    spent = _spent.get()
    if spent is not None:
        spent.seconds += seconds
