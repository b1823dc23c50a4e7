"""The newest revision, asked for once on behalf of all who wait for the asking to begin."""

from __future__ import annotations

import asyncio

from polykind.contract import StoreError, Unavailable
from polykind.store.etcd import messages
from polykind.store.etcd.client import PATIENCE, Client


class Newest:
    """Linearizable: an answer counts only for those who asked before its question was sent."""

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._request = messages.get_request(key, count_only=True)
        self._waiting: list[asyncio.Future[int]] = []
        self._asking: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._since = 0.0

    def read(self) -> asyncio.Future[int]:
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._waiting:
            self._since = self._loop.time()
        self._waiting.append(future)
        if self._asking is None:
            self._asking = self._loop.create_task(self._ask())
        return future

    async def _ask(self) -> None:
        asked: list[asyncio.Future[int]] = []
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                # The time spent waiting for the call before is part of everybody's patience.
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
            self._asking = None
            _fail(asked + self._waiting, Unavailable("the store was closed"))
            self._waiting = []

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)


def _fail(futures: list[asyncio.Future[int]], error: StoreError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
