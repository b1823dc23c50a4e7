"""Limits on frames that cost the server time but are no requests, such as PING, SETTINGS and RST_STREAM."""

from __future__ import annotations

from collections.abc import Callable

from polykind.http2.frames import ENHANCE_YOUR_CALM, ConnectionFailure


class FrameAllowance:
    """The number of frames of one kind that a client may still send. It grows with time up to `burst`."""

    __slots__ = ("_burst", "_clock", "_left", "_name", "_rate", "_refilled_at")

    def __init__(self, name: str, burst: int, per_second: float, clock: Callable[[], float]) -> None:
        self._name = name
        self._burst = float(burst)
        self._rate = per_second
        self._clock = clock
        self._left = self._burst
        self._refilled_at = clock()

    def charge(self) -> None:
        """Count one frame. Raise ConnectionFailure if the client has sent too many."""
        self._left -= 1
        if self._left < 0:
            self._refill()

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._refilled_at) * self._rate)
        self._refilled_at = now
        if self._left < 0:
            raise ConnectionFailure(ENHANCE_YOUR_CALM, f"too many {self._name}")
