"""The real clock and real chance, for when nobody hands in others."""

from __future__ import annotations

import os
import secrets
import time
from datetime import UTC, datetime

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemIdSource:
    """The machine's randomness, drawn in larger lots: each draw lets go of the interpreter's lock."""

    def __init__(self) -> None:
        self._lot: list[str] = []

    def uid(self) -> str:
        """A random uid of version 4."""
        if not self._lot:
            drawn = os.urandom(4096).hex()
            self._lot = [drawn[at : at + 32] for at in range(0, len(drawn), 32)]
        text = self._lot.pop()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:]}"

    def suffix(self) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(5))
