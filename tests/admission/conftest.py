"""Fixtures of the tests of admission."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.admission.hooks import AdmissionHook


@pytest.fixture
async def hook() -> AsyncIterator[AdmissionHook]:
    async with AdmissionHook() as running:
        yield running
