"""The SQLite store agrees with the model."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings

from polykind.contract import Store
from polykind.store.sqlite import SqliteStore
from tests.store.machine import StoreMachine


class SqliteMachine(StoreMachine):
    """The state machine on a temporary directory."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()

    async def open(self) -> Store:
        store = SqliteStore(Path(self._directory.name))
        await store.start()
        return store

    def teardown(self) -> None:
        super().teardown()
        self._directory.cleanup()


TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, database=None)
