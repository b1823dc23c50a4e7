"""Faults of the store: nothing acknowledged is lost, watchers miss nothing, and damaged values are never served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories import faults
from tests.histories.faults import Fault
from tests.histories.scenarios import (
    Scenario,
    altered_sqlite,
    may_mount,
    one_member,
    run,
    run_set_back,
    sqlite,
    sqlite_on_a_small_disk,
)


@pytest.mark.parametrize(
    "fault", [faults.full_disk, faults.missing_file, faults.flipped_bits, faults.truncation], ids=lambda f: f.__name__
)
async def test_disk(tmp_path: Path, fault: Fault) -> None:
    result = await run(Scenario("SQLite", fault.__name__, sqlite, fault), 3, tmp_path)
    assert result.violations == []


@pytest.mark.skipif(not may_mount(), reason="only root can mount a small file system")
async def test_small_disk(tmp_path: Path) -> None:
    result = await run(Scenario("SQLite", "full disk", sqlite_on_a_small_disk, faults.filled_disk), 2, tmp_path)
    assert result.violations == []


async def test_failed_sync(tmp_path: Path) -> None:
    result = await run(Scenario("SQLite", "failed sync", altered_sqlite, faults.failed_sync), 3, tmp_path)
    assert result.violations == []


@pytest.mark.parametrize(
    "fault", [faults.restart_member, faults.pause_member, faults.partition], ids=lambda f: f.__name__
)
async def test_etcd(tmp_path: Path, fault: Fault) -> None:
    result = await run(Scenario("etcd", fault.__name__, one_member, fault), 2, tmp_path)
    assert result.violations == []


async def test_etcd_is_set_back(tmp_path: Path) -> None:
    result = await run_set_back(2, tmp_path)
    assert result.violations == []
