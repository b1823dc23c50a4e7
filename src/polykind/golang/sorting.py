"""Sorting of long lists in steps, so that other threads can run in between."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Final

_STEP: Final = 8192


def sorted_strings(values: Iterable[str]) -> list[str]:
    """Return the strings, sorted. Sort a long list in steps, because a long call of sort() blocks all other threads."""
    items = list(values)
    if len(items) <= _STEP:
        items.sort()
        return items
    return list(heapq.merge(*(sorted(items[start : start + _STEP]) for start in range(0, len(items), _STEP))))
