from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from polykind.contract import Store
from tests.store.behaviour import Stores


@pytest.fixture
async def store(stores: Stores) -> AsyncIterator[Store]:
    """An open, empty store."""
    opened = await stores.open()
    yield opened
    await opened.close()
