"""A clock for tests whose results show the time."""

from __future__ import annotations

from datetime import UTC, datetime

from polykind.clock import SystemClock


class StoppedClock(SystemClock):
    """A clock that always shows the time of its creation. Intervals are measured with the system's clock."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        return self._now
