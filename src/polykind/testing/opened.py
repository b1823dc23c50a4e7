"""Results of async methods that a test either awaits or enters with `async with`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Opened(Generic[T]):
    """Something that is opened by `await`, or by `async with`, which also closes it.

    Without `async with`, it stays open until the end of the test.
    """

    def __init__(self, opening: Callable[[], Coroutine[Any, Any, T]], closing: Callable[[T], Awaitable[None]]) -> None:
        self.open = opening
        """Opens it, like `await`."""
        self._closing = closing
        self._values: list[T] = []

    def __await__(self) -> Generator[Any, None, T]:
        return self.open().__await__()

    async def __aenter__(self) -> T:
        self._values.append(await self.open())
        return self._values[-1]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing(self._values.pop())
