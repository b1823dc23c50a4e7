"""A gate that holds a controller between its read and its write, so that a test can replace the object meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest


class Gate:
    """Holds the first call that matches. Later calls pass."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()
        self._ended = asyncio.Event()
        self.failure: BaseException | None = None
        """The error of the call that was held."""

    async def pass_through(self, call: Callable[[], Awaitable[Any]]) -> Any:
        self._reached.set()
        await self._open.wait()
        try:
            return await call()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._ended.set()

    @property
    def is_taken(self) -> bool:
        return self._reached.is_set()

    async def reached(self) -> None:
        """Wait until a call is held."""
        async with asyncio.timeout(30):
            await self._reached.wait()

    async def open(self) -> None:
        """Let the call go on and wait until it has ended."""
        self._open.set()
        async with asyncio.timeout(30):
            await self._ended.wait()

    def release(self) -> None:
        self._open.set()


@asynccontextmanager
async def held(
    monkeypatch: pytest.MonkeyPatch, target: object, name: str, matches: Callable[..., bool] = lambda *_, **__: True
) -> AsyncIterator[Gate]:
    """Replace the function `name` of a module or a class by one that holds the first call whose arguments match."""
    gate = Gate()
    original = getattr(target, name)

    async def call(*args: Any, **options: Any) -> Any:
        if gate.is_taken or not matches(*args, **options):
            return await original(*args, **options)
        return await gate.pass_through(lambda: original(*args, **options))

    with monkeypatch.context() as patch:
        patch.setattr(target, name, call)
        try:
            yield gate
        finally:
            gate.release()
