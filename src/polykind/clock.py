"""The system clock and the system's random id source, which the server uses outside of tests."""

from __future__ import annotations

import os
import secrets
import time
from datetime import UTC, datetime

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_VARIANT_DIGITS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemIdSource:
    """Uids and name suffixes from the operating system's random source.

    Random bytes are read in batches, because each call of os.urandom releases the GIL and may then wait for other
    threads.
    """

    def __init__(self) -> None:
        self._hex_uids: list[str] = []

    def uid(self) -> str:
        """Return a random UUID, version 4."""
        if not self._hex_uids:
            digits = os.urandom(4096).hex()
            self._hex_uids = [digits[at : at + 32] for at in range(0, len(digits), 32)]
        text = self._hex_uids.pop()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{_VARIANT_DIGITS[text[16]]}{text[17:20]}-{text[20:]}"

    def suffix(self) -> str:
        return "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(5))
