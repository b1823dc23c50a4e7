"""The health of components."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.live import Live, live

STATUSES = "/api/v1/componentstatuses"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


async def test_list(running: Live) -> None:
    listed = await running.ask("GET", STATUSES)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["scheduler", "controller-manager", "etcd-0"]
    assert listed["metadata"] == {}
    assert listed["items"][2]["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]


@pytest.mark.parametrize(
    ("query", "count"),
    [("labelSelector=a%3Db", 0), ("labelSelector=!a", 3), ("fieldSelector=metadata.name%3Detcd-0", 1)],
)
async def test_selectors(running: Live, query: str, count: int) -> None:
    assert len((await running.ask("GET", f"{STATUSES}?{query}"))["items"]) == count


async def test_get(running: Live) -> None:
    assert (await running.ask("GET", f"{STATUSES}/etcd-0"))["kind"] == "ComponentStatus"
    missing = await running.ask("GET", f"{STATUSES}/x", expect=404)
    assert missing["message"] == 'componentstatus "x" not found'
