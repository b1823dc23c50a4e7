"""The values of metrics: numbers and histograms, their families by label values, and the series of a route."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar


class Number:
    """The value of a counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float = 1.0) -> None:
        self.value += amount

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """The buckets and the sum of a histogram."""

    __slots__ = ("_bounds", "buckets", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self._bounds, value)] += 1
        self.total += value


T = TypeVar("T", Number, Histogram)
MAX_SERIES = 50_000
"""The number of series of a metric, far above that of the served resources."""


class Family(Generic[T]):
    """All series of one metric, by label values. `make` creates the value of a new series.

    `of` returns the series with the given label values. Callers keep the result, so that they look it up only once.
    Of more than `most` series, the oldest are dropped: clients choose the names of webhooks and resources.
    """

    def __init__(
        self, name: str, help_text: str, labels: Sequence[str], make: Callable[[], T], most: int = MAX_SERIES
    ) -> None:
        self._most = most
        self.name = name
        self.help_text = help_text
        self.labels = tuple(labels)
        self._make: Callable[[], T] = make
        self._series: dict[tuple[str, ...], T] = {}

    def of(self, *values: str) -> T:
        series = self._series.get(values)
        if series is None:
            if len(values) != len(self.labels):
                raise ValueError(f"{self.name} has the labels {self.labels}")
            if len(self._series) >= self._most:
                del self._series[next(iter(self._series))]
            series = self._series[values] = self._make()
        return series

    def forget(self, label: str, value: str) -> None:
        """Drop all series whose label `label` has this value, because the object with that name was deleted."""
        at = self.labels.index(label)
        for values in [v for v in self._series if v[at] == value]:
            del self._series[values]

    def drop(self, *values: str) -> None:
        """Drop the series with these label values."""
        self._series.pop(values, None)

    def drop_all(self, *first: str) -> None:
        """Drop all series whose label values start with `first`."""
        for values in [v for v in self._series if v[: len(first)] == first]:
            del self._series[values]

    def items(self) -> list[tuple[tuple[str, ...], T]]:
        return list(self._series.items())


def histogram_family(
    name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float], most: int = MAX_SERIES
) -> tuple[Family[Histogram], tuple[float, ...]]:
    """Return a family of histograms, and their bounds as floats."""
    edges = tuple(float(bound) for bound in bounds)
    return Family(name, help_text, labels, lambda: Histogram(edges), most), edges


class RequestSeries:
    """The request metrics of one route (verb, resource, scope). The caller keeps this object for the route."""

    __slots__ = ("_codes", "_counter", "_labels", "_seconds", "_sizes", "name")

    def __init__(
        self, name: str, counter: Family[Number], labels: tuple[str, ...], seconds: Histogram, sizes: Histogram
    ) -> None:
        self.name = name
        """The value of the verb label."""
        self._counter = counter
        self._labels = labels
        self._seconds = seconds
        self._sizes = sizes
        self._codes: dict[int, Number] = {}

    def done(self, code: int, seconds: float, size: int) -> None:
        """Record a response: its status code, the duration of the request, and the size of its body in bytes."""
        count = self._codes.get(code)
        if count is None:
            count = self._codes[code] = self._counter.of(*self._labels, str(code))
        count.value += 1.0
        self._seconds.observe(seconds)
        self._sizes.observe(size)

    def forget(self) -> None:
        for code in self._codes:
            self._counter.drop(*self._labels, str(code))
