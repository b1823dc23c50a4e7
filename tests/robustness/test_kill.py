"""kill -9, fifty times: acknowledged writes survive, and resuming watchers miss nothing and see nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robustness.faults import kill
from tests.robustness.storm import Storm
from tests.support.server import ServerProcess

KILLS = 50


@pytest.mark.timeout(240)
async def test_acknowledged_writes_survive_and_watchers_see_each_event_once(tmp_path: Path) -> None:
    storm = Storm(ServerProcess(tmp_path / "data"))
    await storm.run(lambda storm: kill(storm, KILLS))
    assert len(storm.acknowledged) > 2 * KILLS, "hardly anything was written"
