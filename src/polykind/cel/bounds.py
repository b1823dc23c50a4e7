"""Ranges of sizes and costs, from the least to the most, that stop at the largest number there is."""

from __future__ import annotations

import math
from typing import NamedTuple

LARGEST = 2**64 - 1


class Bounds(NamedTuple):
    low: int
    high: int

    def plus(self, other: Bounds) -> Bounds:
        return Bounds(min(self.low + other.low, LARGEST), min(self.high + other.high, LARGEST))

    def times(self, other: Bounds) -> Bounds:
        return Bounds(min(self.low * other.low, LARGEST), min(self.high * other.high, LARGEST))

    def scaled(self, factor: float) -> Bounds:
        """Rounded up, counted in doubles as the reference counts."""
        return Bounds(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Bounds) -> Bounds:
        return Bounds(min(self.low, other.low), max(self.high, other.high))


def fixed(value: int) -> Bounds:
    return Bounds(value, value)


UNKNOWN = Bounds(0, LARGEST)
NOTHING = Bounds(0, 0)


def _scaled(value: int, factor: float) -> int:
    if value > 0 and factor > 0 and float(value) > 2.0**64 / factor:
        return LARGEST
    product = math.ceil(float(value) * factor)
    return LARGEST if product >= 2**64 else product
