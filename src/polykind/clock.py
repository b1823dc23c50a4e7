"""The real clock and real chance, for when nobody hands in others."""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import UTC, datetime

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemChance:
    """The machine's randomness."""

    def uid(self) -> str:
        return str(uuid.uuid4())

    def suffix(self) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(5))
