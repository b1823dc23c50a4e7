"""Histories of the embedded store: the server keeps its guarantees, and the checker finds a server that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import faults
from tests.histories.altered_server import BUGS
from tests.histories.checker import Result
from tests.histories.environments import SqliteEnvironment, under_load
from tests.histories.faults import Fault
from tests.histories.scenarios import (
    Opened,
    Scenario,
    altered_sqlite,
    begun,
    forgetful_sqlite,
    run,
    run_converted,
    run_encrypted,
    sqlite,
    with_changing_storage,
)
from tests.histories.torture import MANY_WATCHES

FINDINGS = {
    "lost event": "instead of",
    "repeated event": "after",
    "stale read": "has no moment",
    "double write": "repeats the write of",
}


@pytest.mark.parametrize(
    ("fault", "opened"),
    [
        (faults.kill, forgetful_sqlite),
        (faults.clock_jump, altered_sqlite),
        (faults.interrupted_migration, with_changing_storage(sqlite)),
    ],
    ids=["compaction", "clock", "migration"],
)
async def test_history_with_faults_has_no_violation(fault: Fault, opened: Opened, tmp_path: Path) -> None:
    result = await run(Scenario("SQLite", fault.__name__, opened, fault), 2, tmp_path)
    assert result.violations == []


async def test_history_with_many_watches_has_no_violation(tmp_path: Path) -> None:
    result = await run(Scenario("SQLite", "many watches", sqlite, faults.pause, {"crowd": MANY_WATCHES}), 2, tmp_path)
    assert result.violations == []


async def test_history_with_a_changing_converter_has_no_violation(tmp_path: Path) -> None:
    result = await run_converted("SQLite", 4, tmp_path)
    assert result.violations == []


async def test_history_with_a_rotated_key_has_no_violation(tmp_path: Path) -> None:
    result = await run_encrypted("SQLite", 1, tmp_path)
    assert result.violations == []


async def test_bugs_of_a_server_are_found(tmp_path: Path) -> None:
    assert set(FINDINGS) == set(BUGS)
    env = SqliteEnvironment(tmp_path, altered=True)
    env.server.data_dir.mkdir()
    bug = env.server.data_dir / "bug"
    bug.touch()
    async with begun(env):
        for name in BUGS:
            result = Result()
            async with under_load(env, result, label=name.replace(" ", "-")) as load:
                bug.write_text(name)
                await load.progress(150)
                bug.write_text("")
            assert any(FINDINGS[name] in violation for violation in result.violations), (name, result.violations[:5])
