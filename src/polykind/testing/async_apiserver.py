"""The methods of an ApiServer for async tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.testing.checkpoint import Checkpoint
from polykind.testing.exceptions import raise_at_awaiter
from polykind.testing.sources import Source
from polykind.testing.waiting import Predicate

if TYPE_CHECKING:
    from polykind.testing.apiserver import ApiServer
    from polykind.testing.simulation.simulation import Simulation


class AsyncApiServer:
    """Runs the methods of an ApiServer in threads, so that they do not block the event loop of the test.

    A condition function that a test passes to `wait_for` also runs in the thread. If the test cancels `wait_for`, the
    thread continues until the timeout of the wait.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    @raise_at_awaiter
    async def apply(self, *sources: Source) -> list[JsonObject]:
        return await asyncio.to_thread(self._server.apply, *sources)

    @raise_at_awaiter
    async def get(self, obj: Mapping[str, Any], *, version: str | None = None) -> JsonObject:
        return await asyncio.to_thread(self._server.get, obj, version=version)

    @raise_at_awaiter
    async def wait_for(
        self,
        obj: Mapping[str, Any],
        condition: str | Predicate,
        *,
        timeout: float = 10.0,  # noqa: ASYNC109
    ) -> JsonObject:
        return await asyncio.to_thread(self._server.wait_for, obj, condition, timeout=timeout)

    @raise_at_awaiter
    async def checkpoint(self) -> Checkpoint:
        return await asyncio.to_thread(self._server.checkpoint)

    @raise_at_awaiter
    async def rollback(self, to: Checkpoint | None = None) -> None:
        await asyncio.to_thread(self._server.rollback, to)

    @raise_at_awaiter
    async def kubeconfig_for(self, user: str, groups: Iterable[str] = ()) -> Path:
        return await asyncio.to_thread(self._server.kubeconfig_for, user, groups)

    @raise_at_awaiter
    async def simulate(self, *kinds: str, delays: Mapping[str, float] | None = None) -> Simulation:
        return await asyncio.to_thread(self._server.simulate, *kinds, delays=delays)
