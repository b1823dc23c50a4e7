"""Evidence that a webhook was replaced: another program may answer now, at the same or at another address.

A webhook does not say that it was restarted. Its connections do: a connection was refused before this one, or the
address or the certificate is one that was not seen before. The replicas of a webhook may have different addresses and
certificates, so those that were seen are remembered.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import Any

_REMEMBERED = 64
"""The number of addresses and of certificates that are remembered."""


class WebhookPresence:
    """The connections to one webhook, and the number of times that it was replaced."""

    def __init__(self) -> None:
        self.replacements = 0
        """The number of times that the webhook was replaced, as far as its connections show."""
        self._refused = False
        self._transports: list[asyncio.BaseTransport] = []
        self._addresses: deque[str] = deque(maxlen=_REMEMBERED)
        self._certificates: deque[bytes] = deque(maxlen=_REMEMBERED)

    @property
    def connected(self) -> bool:
        """True if a connection that has served a call is still open. Then the webhook cannot have been restarted."""
        transports = self._transports
        # Usually the latest connection is open, and every read of a cached conversion asks.
        return bool(transports) and (not transports[-1].is_closing() or not all(t.is_closing() for t in transports))

    def moved(self) -> None:
        """Note that the webhook has other addresses from now on."""
        self.replacements += 1
        self._transports.clear()

    def refused(self) -> None:
        """Note that no connection could be established. If a later one can, the webhook was replaced."""
        self._refused = True

    def answered(self, transport: asyncio.BaseTransport, address: str, tls: ssl.SSLObject | None) -> None:
        """Note the connection on which the webhook has answered a call, the address of its peer, and its TLS."""
        if transport in self._transports:
            return
        self._transports = [known for known in self._transports if not known.is_closing()]
        self._transports.append(transport)
        moved = _is_new(self._addresses, address)
        renewed = _is_new(self._certificates, (tls.getpeercert(True) if tls else None) or b"")
        if self._refused or moved or renewed:
            self.replacements += 1
        self._refused = False


def _is_new(known: deque[Any], value: str | bytes) -> bool:
    """Remember a value. Return True if it was not known, but others were."""
    if value in known:
        return False
    known.append(value)
    return len(known) > 1
