"""The page that Prometheus scrapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from polykind.golang.fmt import go_float
from polykind.metrics.metrics import Metrics


def page(metrics: Metrics) -> bytes:
    """Every series of a server, in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(metrics))
    return generate_latest(registry)


class _Collector:
    """What was counted, as Prometheus' own families."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for family in self._metrics.counters:
            # The library would have every counter end in _total; a few of the reference's do not.
            kind = CounterMetricFamily if family.name.endswith("_total") else UnknownMetricFamily
            count = kind(family.name.removesuffix("_total"), family.told, labels=family.labels)
            for values, number in family.items():
                count.add_metric(values, number.value)
            yield count
        for family in self._metrics.gauges:
            gauge = GaugeMetricFamily(family.name, family.told, labels=family.labels)
            for values, number in family.items():
                gauge.add_metric(values, number.value)
            yield gauge
        for spread_family, bounds in self._metrics.histograms:
            histogram = HistogramMetricFamily(spread_family.name, spread_family.told, labels=spread_family.labels)
            for values, spread in spread_family.items():
                histogram.add_metric(values, _cumulated(bounds, spread.buckets), spread.total)
            yield histogram


def _cumulated(bounds: Sequence[float], buckets: Sequence[int]) -> list[tuple[str, float]]:
    out: list[tuple[str, float]] = []
    so_far = 0
    for bound, count in zip((*bounds, float("inf")), list(buckets), strict=True):
        so_far += count
        out.append((go_float(bound), so_far))
    return out
