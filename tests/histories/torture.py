"""`make torture`: many kills, many faults and long histories in all environments. Prints a table.

python -m tests.histories.torture [--kills 1000] [--faults 200] [--minutes 20] [--seed 0]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from tests.histories import faults
from tests.histories.checker import Result
from tests.histories.scenarios import (
    Opened,
    Scenario,
    altered_sqlite,
    any_of,
    forgetful_sqlite,
    long_sqlite,
    may_mount,
    one_member,
    run,
    run_converted,
    run_encrypted,
    run_for,
    run_set_back,
    sqlite,
    sqlite_on_a_small_disk,
    three_members,
    three_members_altered,
    three_members_in_a_network,
    three_members_three_replicas,
    with_changing_storage,
)
from tests.support.network import may_create_namespaces

MOST_REPORTED = 10
MANY_WATCHES = 80
"""More watches than the server writes to in one iteration of its event loop."""
Running = Callable[[int, Path, int], Awaitable[Result]]
"""Runs a scenario a number of times in a folder, with a seed."""


class Row(NamedTuple):
    """A row of the table: a scenario and how often it runs, compared with the others."""

    environment: str
    name: str
    run: Running
    share: float = 1.0
    impossible: str = ""
    """Why the scenario cannot run here, or "" if it can."""


def _row(
    environment: str, name: str, opened: Opened, fault: faults.Fault, share: float = 1.0, why: str = "", crowd: int = 0
) -> Row:
    scenario = Scenario(environment, name, opened, fault, {"crowd": crowd} if crowd else {})
    return Row(environment, name, lambda times, folder, seed: run(scenario, times, folder, seed), share, why)


def kill_rows() -> list[Row]:
    return [
        _row("SQLite", "kill server", sqlite, faults.kill, 7),
        _row("SQLite", "kill, compacting", forgetful_sqlite, faults.kill, 1),
        _row("3 etcd, 2 replicas", "kill replica", three_members, faults.kill, 1),
        _row("3 etcd, 3 replicas", "kill member", three_members_three_replicas, faults.kill_member, 1),
    ]


def fault_rows() -> list[Row]:
    moved = with_changing_storage
    no_mount = "" if may_mount() else "only root can mount a small file system"
    no_network = "" if may_create_namespaces() else "only root can create network namespaces"
    three, each = "3 etcd, 2 replicas", "3 etcd, 3 replicas"
    return [
        _row("SQLite", "pause", sqlite, faults.pause),
        _row("SQLite", "many watches", sqlite, faults.pause, crowd=MANY_WATCHES),
        _row("SQLite", "long lists, kill", long_sqlite, faults.kill),
        _row("SQLite", "clock jump", altered_sqlite, faults.clock_jump),
        _row("SQLite", "write limit", sqlite, faults.full_disk),
        _row("SQLite", "full disk", sqlite_on_a_small_disk, faults.filled_disk, why=no_mount),
        _row("SQLite", "failed sync", altered_sqlite, faults.failed_sync),
        _row("SQLite", "missing file", sqlite, faults.missing_file),
        _row("SQLite", "flipped bits", sqlite, faults.flipped_bits),
        _row("SQLite", "truncation", sqlite, faults.truncation),
        _row("SQLite", "storage version", moved(sqlite), faults.storage_version),
        _row("SQLite", "migration, kill", moved(sqlite), faults.interrupted_migration),
        Row("SQLite", "key rotation", lambda times, folder, seed: run_encrypted("SQLite", times, folder, seed)),
        Row("SQLite", "converter", lambda times, folder, seed: run_converted("SQLite", times, folder, seed)),
        _row(three, "pause replica", three_members, faults.pause),
        _row(three, "clock jump", three_members_altered, faults.clock_jump),
        _row(three, "storage version", moved(three_members), faults.storage_version),
        _row(three, "migration, kill", moved(three_members), faults.interrupted_migration),
        Row(three, "key rotation", lambda times, folder, seed: run_encrypted("etcd", times, folder, seed)),
        Row(three, "converter", lambda times, folder, seed: run_converted("etcd", times, folder, seed)),
        _row(each, "pause member", three_members_three_replicas, faults.pause_member),
        _row(each, "leader change", three_members_three_replicas, faults.change_leader),
        _row(each, "partition", three_members_three_replicas, faults.partition),
        _row(each, "peer partition", three_members_in_a_network, faults.peer_partition, why=no_network),
        _row(each, "delays", three_members_three_replicas, faults.delays),
        _row(each, "compaction", three_members_three_replicas, faults.compaction),
        _row("1 etcd, 2 replicas", "restart member", one_member, faults.restart_member),
        Row("1 etcd, 1 replica", "set back", run_set_back),
    ]


def history_rows(minutes: float) -> list[Row]:
    """Return the long histories. Each runs once."""
    embedded = any_of(faults.kill, faults.pause, faults.clock_jump, faults.failed_sync, faults.missing_file)
    shared = any_of(
        faults.kill, faults.pause, faults.clock_jump, faults.pause_member, faults.change_leader, faults.partition,
        faults.delays, faults.restart_member, faults.compaction,
    )  # fmt: skip
    half = 30 * minutes
    mixed = [
        Scenario("SQLite", "mixed", altered_sqlite, embedded),
        Scenario("3 etcd, 2 replicas", "mixed", three_members_altered, shared),
    ]

    def running(scenario: Scenario) -> Running:
        return lambda times, folder, seed: run_for(scenario, half, folder, seed)

    return [Row(scenario.environment, scenario.name, running(scenario)) for scenario in mixed]


HEAD = (
    f"{'environment':18} {'fault':16} {'times':>5} {'writes':>7} {'unknown':>7} {'reads':>7} {'lists':>6} "
    f"{'watches':>7} {'events':>8} {'violations':>10} {'seconds':>7}"
)


def line(environment: str, name: str, result: Result) -> str:
    counts = (
        f"{result.times:5} {result.writes:7} {result.unknown:7} {result.reads:7} {result.lists:6} {result.streams:7} "
        f"{result.events:8} {len(result.violations):10} {result.seconds:7.0f}"
    )
    return f"{environment:18} {name:16} {counts}"


async def torture(kills: int, total_faults: int, minutes: float, seed: int) -> Result:
    """Run everything, and print a row for each scenario when it has ended."""
    total = Result()
    print(HEAD, flush=True)
    rows = [*shares(kill_rows(), kills), *shares(fault_rows(), total_faults)]
    rows += [(row, 1) for row in history_rows(minutes) if minutes > 0]
    for row, times in rows:
        if row.impossible:
            print(f"{row.environment:18} {row.name:16} skipped: {row.impossible}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = await attempt(row, times, Path(folder), seed)
        print(line(row.environment, row.name, result), flush=True)
        for text in [*result.violations[:MOST_REPORTED], *result.disagreements[:1]]:
            print(f"    {text}", flush=True)
        total.add(result)
    print(line("all", "", total))
    return total


async def attempt(row: Row, times: int, folder: Path, seed: int) -> Result:
    """Run a scenario. An exception, such as a server that does not start again, counts as a violation."""
    started = time.monotonic()
    try:
        return await row.run(times, folder, seed)
    except Exception as error:
        traceback.print_exc()
        return Result(times=times, seconds=time.monotonic() - started, violations=[f"{type(error).__name__}: {error}"])


def shares(rows: list[Row], total: int) -> list[tuple[Row, int]]:
    """Return the scenarios with the number of times that each runs, at least once if there is anything to run."""
    possible = sum(row.share for row in rows if not row.impossible)
    return [(row, max(round(total * row.share / possible), 1)) for row in rows] if total else []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    result = asyncio.run(torture(args.kills, args.faults, args.minutes, args.seed))
    if result.violations:
        sys.exit(f"{len(result.violations)} violations: the guarantees do not hold")
    print(
        "no acknowledged write was lost, every read and list was right, and no watch had a gap, a repeat or a reorder"
    )


if __name__ == "__main__":
    main()
