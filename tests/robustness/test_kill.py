"""kill -9, fifty times: acknowledged writes survive, and resuming watchers miss nothing and see nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories.faults import kill
from tests.histories.scenarios import Scenario, run, sqlite

KILLS = 50


@pytest.mark.timeout(300)
async def test_history_with_kills_has_no_violation(tmp_path: Path) -> None:
    result = await run(Scenario("SQLite", "kill", sqlite, kill), KILLS, tmp_path)
    assert result.violations == []
    assert result.changes > 2 * KILLS, "hardly anything was written"
