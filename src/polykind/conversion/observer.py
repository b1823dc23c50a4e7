"""Who is told of conversions, to count them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from polykind.conversion.failure import Failure


class Observer(Protocol):
    """Told of every call and of every conversion. Must return at once."""

    def called(self, crd: str, objects: int, seconds: float, failure: Failure | None) -> None:
        """A converter outside was called with so many objects, for so long."""

    def converted(
        self, crd: str, converter: str, from_version: str, to_version: str, seconds: float, failure: Failure | None
    ) -> None:
        """Objects of one kind were wanted in another version; `failure` is None if they came."""

    def shared(self, crd: str) -> None:
        """A conversion was had from another request that was waiting for the same one."""


class Spent:
    """The time that one request has waited for conversions."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0


_spent: ContextVar[Spent | None] = ContextVar("polykind_conversion_spent", default=None)


@contextmanager
def spending() -> Iterator[Spent]:
    """Sums up what is spent on conversions inside the block, which is one request."""
    spent = Spent()
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


def spend(seconds: float) -> None:
    spent = _spent.get()
    if spent is not None:
        spent.seconds += seconds
