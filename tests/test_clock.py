"""The system clock and the system id source."""

from __future__ import annotations

import uuid
from datetime import UTC, timedelta

from polykind.clock import SystemClock, SystemIdSource


def test_clock_is_utc() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert timedelta(0) <= clock.now() - clock.now() + timedelta(seconds=1)
    assert clock.monotonic() <= clock.monotonic()


def test_uids_are_random_uuids() -> None:
    uids = [SystemIdSource().uid() for _ in range(100)]
    assert len(set(uids)) == 100
    assert all(uuid.UUID(u).version == 4 for u in uids)


def test_name_suffix_alphabet() -> None:
    suffixes = [SystemIdSource().suffix() for _ in range(500)]
    assert {len(s) for s in suffixes} == {5}
    assert set("".join(suffixes)) == set("bcdfghjklmnpqrstvwxz2456789")
