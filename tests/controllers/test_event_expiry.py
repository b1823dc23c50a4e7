"""Expiry of Events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from polykind.controllers.event_expiry import EventExpiry
from tests.support.live import Live, live

EVENTS = "/api/v1/namespaces/default/events"


class LaterClock:
    """A clock that is some hours ahead."""

    def __init__(self, hours: float) -> None:
        self._ahead = timedelta(hours=hours)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


@pytest.mark.parametrize(("hours", "left"), [(0.5, 1), (1.5, 0)])
async def test_events_expire_after_their_last_write(running: Live, hours: float, left: int) -> None:
    await running.ask("POST", EVENTS, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    running.server.backend.clock = LaterClock(hours)
    await EventExpiry(running.server.backend, running.server.leadership, 3600.0).delete_expired()
    assert len((await running.ask("GET", EVENTS))["items"]) == left


@pytest.mark.parametrize("value", [b'{"metadata":{"creationTimestamp":"yesterday"}}', b"\0damaged"])
async def test_unreadable_events_are_kept(running: Live, value: bytes) -> None:
    store, key = running.server.store, "/registry/events/default/broken"
    await store.put(key, value, expect=0)
    running.server.backend.clock = LaterClock(1000)
    await EventExpiry(running.server.backend, running.server.leadership, 3600.0).delete_expired()
    assert await store.get(key) is not None
