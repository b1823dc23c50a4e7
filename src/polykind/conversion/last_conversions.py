"""The last converted representation of each object, for reads while a converter is down."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import NamedTuple

MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of all representations together. Beyond it, the representations unused for longest are dropped."""
_OVERHEAD = 300
"""The approximate memory of an entry besides its JSON."""


class LastConversion(NamedTuple):
    """The result of the last successful conversion of an object to a version."""

    data: bytes
    """The object's JSON at the version, pruned with the schema of that time."""
    revision: int
    """The revision of the stored object that was converted."""
    at: datetime


class LastConversions:
    """A bounded LRU cache of converted objects, by CRD, version and key. It is not persisted.

    While an object is unchanged, its cached representation is the same bytes object, so it takes memory only once.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[str, str, str], LastConversion] = OrderedDict()
        self.bytes = 0

    def put(self, crd: str, version: str, key: str, conversion: LastConversion) -> None:
        """Remember a conversion in place of an earlier one. Drop old entries if there are too many bytes."""
        self._drop((crd, version, key))
        self._entries[crd, version, key] = conversion
        self.bytes += len(conversion.data) + _OVERHEAD
        while self.bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def get(self, crd: str, version: str, key: str) -> LastConversion | None:
        """Return the last conversion of an object, or None if there is none or it has been dropped."""
        conversion = self._entries.get((crd, version, key))
        if conversion is not None:
            self._entries.move_to_end((crd, version, key))
        return conversion

    def forget_crd(self, crd: str) -> None:
        """Drop the conversions of all objects of a CRD, because the CRD has been deleted."""
        for place in [place for place in self._entries if place[0] == crd]:
            self._drop(place)

    def _drop(self, place: tuple[str, str, str]) -> None:
        dropped = self._entries.pop(place, None)
        if dropped is not None:
            self.bytes -= len(dropped.data) + _OVERHEAD
