"""A clock for tests whose results show the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from polykind.clock import SystemClock


class MovableClock(SystemClock):
    """A clock on which a test lets time pass: `ahead` is the number of seconds by which it is fast."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class StoppedClock(SystemClock):
    """A clock that always shows the time of its creation. Intervals are measured with the system's clock."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        return self._now
