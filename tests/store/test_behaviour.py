"""The SQLite store passes the behaviour tests of all stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from polykind.contract import Store
from polykind.store.sqlite import SqliteStore
from tests.store.behaviour import (
    Stores,
    TestCompaction,
    TestHistory,
    TestLifetime,
    TestReads,
    TestWatches,
    TestWrites,
)

__all__ = ["TestCompaction", "TestHistory", "TestLifetime", "TestReads", "TestWatches", "TestWrites"]


class SqliteStores:
    """SQLite stores on one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._store: Store | None = None

    async def open(self) -> Store:
        self._store = SqliteStore(self._directory)
        await self._store.start()
        return self._store

    async def reopen(self) -> Store:
        assert self._store is not None
        await self._store.close()
        return await self.open()


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return SqliteStores(tmp_path)
