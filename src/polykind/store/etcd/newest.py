"""The newest revision, asked for once on behalf of all who wait for the asking to begin."""

from __future__ import annotations

import asyncio
from typing import cast

from polykind.contract import StoreError, Unavailable
from polykind.store.etcd import messages
from polykind.store.etcd.client import PATIENCE, Client

AT_ONCE = 2
"""Questions under way at a time."""


class Newest:
    """Linearizable: an answer counts only for those who asked before its question was sent.

    A few questions may be under way at a time, so that who just missed one need not wait for its answer first.
    """

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._request = messages.get_request(key, count_only=True)
        self._waiting: list[asyncio.Future[int]] = []
        self._asking: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._since = 0.0

    def read(self) -> asyncio.Future[int]:
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._waiting:
            self._since = self._loop.time()
            if len(self._asking) < AT_ONCE:
                self._asking.add(self._loop.create_task(self._ask()))
        self._waiting.append(future)
        return future

    async def _ask(self) -> None:
        """Ask for all who wait, and again for those who have come meanwhile."""
        asked: list[asyncio.Future[int]] = []
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                # The time spent waiting for a turn is part of everybody's patience.
                patience = max(PATIENCE - (self._loop.time() - self._since), 0.1)
                try:
                    answer = await self._client.read(messages.RANGE, self._request, patience)
                except StoreError as error:
                    _fail(asked, error)
                    continue
                revision = messages.header_revision(answer)
                for future in asked:
                    if not future.done():
                        future.set_result(revision)
        finally:
            # Here, not when the task is done: who comes between would wait for an asker that has left.
            self._asking.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            _fail(asked, Unavailable("the store was closed"))

    async def close(self) -> None:
        _fail(self._waiting, Unavailable("the store was closed"))
        tasks = list(self._asking)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _fail(futures: list[asyncio.Future[int]], error: StoreError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
