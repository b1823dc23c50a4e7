"""Run the socket tests on both event loops: asyncio's own, and uvloop, which the server uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

_SOCKET_TESTS = ("test_listener.py", "test_protocol_choice.py")


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    own: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    return {**own, "uvloop": uvloop.new_event_loop} if item.path.name in _SOCKET_TESTS else own
