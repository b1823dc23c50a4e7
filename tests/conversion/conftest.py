from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from polykind.conversion.webhook_converter import WebhookConverter
from polykind.webhook.target import Resolver
from tests.conversion.hook import Hook

Make = Callable[..., WebhookConverter]


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as running:
        yield running


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Return a function that builds converters. They are closed after the test."""
    converters: list[WebhookConverter] = []

    def new(config: dict[str, Any], resolver: Resolver | None = None, **more: Any) -> WebhookConverter:
        converters.append(WebhookConverter("crontabs.example.com", config, resolver or Resolver(), **more))
        return converters[-1]

    yield new
    for converter in converters:
        await converter.close()
