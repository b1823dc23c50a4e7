"""The real clock and real chance, for when nobody hands in others."""

from __future__ import annotations

import os
import secrets
import time
from datetime import UTC, datetime

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemChance:
    """The machine's randomness, drawn in larger lots: each draw lets go of the interpreter's lock."""

    def __init__(self) -> None:
        self._lot = b""

    def uid(self) -> str:
        """A random uid of version 4."""
        if not self._lot:
            self._lot = os.urandom(4096)
        drawn, self._lot = self._lot[:16], self._lot[16:]
        text = drawn.hex()
        variant = "89ab"[drawn[8] & 3]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"

    def suffix(self) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(5))
