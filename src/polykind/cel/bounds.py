"""Ranges of sizes and costs, from the least to the most, that stop at the largest number there is."""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_UINT64 = 2**64 - 1


class Range(NamedTuple):
    min: int
    max: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.min + other.min, MAX_UINT64), min(self.max + other.max, MAX_UINT64))

    def times(self, other: Range) -> Range:
        return Range(min(self.min * other.min, MAX_UINT64), min(self.max * other.max, MAX_UINT64))

    def scaled(self, factor: float) -> Range:
        """Rounded up, counted in doubles as the reference counts."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


def exactly(value: int) -> Range:
    return Range(value, value)


UNKNOWN = Range(0, MAX_UINT64)
ZERO = Range(0, 0)


def _scaled(value: int, factor: float) -> int:
    if value > 0 and factor > 0 and float(value) > 2.0**64 / factor:
        return MAX_UINT64
    product = math.ceil(float(value) * factor)
    return MAX_UINT64 if product >= 2**64 else product
