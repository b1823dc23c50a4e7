"""Prometheus metrics of a host."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)


class HostMetrics:
    """Reviews by result: `converted`, `failed` (a conversion failed) or `refused` (not a ConversionReview)."""

    def __init__(self) -> None:
        self.reviews = {"converted": 0, "failed": 0, "refused": 0}
        self.objects = 0
        """The number of converted objects."""
        self.seconds = 0.0
        self._buckets = [0] * (len(_BUCKETS) + 1)

    def add(self, result: str, seconds: float, objects: int = 0) -> None:
        self.reviews[result] += 1
        self.objects += objects
        self.seconds += seconds
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        reviews = CounterMetricFamily(
            "polykind_host_reviews", "ConversionReviews by how they ended.", labels=["result"]
        )
        for result, number in self.reviews.items():
            reviews.add_metric([result], number)
        yield reviews
        yield CounterMetricFamily("polykind_host_converted_objects", "Objects converted.", value=self.objects)
        bounds = [*map(str, _BUCKETS), "+Inf"]
        buckets = [(bound, float(count)) for bound, count in zip(bounds, accumulate(self._buckets), strict=True)]
        yield HistogramMetricFamily(
            "polykind_host_review_seconds", "How long reviews took.", buckets=buckets, sum_value=self.seconds
        )
