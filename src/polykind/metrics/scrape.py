"""The Prometheus scrape page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from polykind.golang.fmt import go_float
from polykind.metrics.metrics import Metrics


def render(metrics: Metrics) -> bytes:
    """Return all metrics of a server in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collector(metrics))
    ProcessCollector(registry=registry)
    page = generate_latest(registry)
    for family in metrics.counters:
        if not family.name.endswith("_total"):
            # The client library adds _total to every counter's name, but some of kube-apiserver's counters lack it.
            name = family.name.encode()
            page = page.replace(b"# TYPE %b untyped\n" % name, b"# TYPE %b counter\n" % name)
    return page


class _Collector:
    """Converts the metrics to the metric families of the Prometheus client library."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for family in self._metrics.counters:
            family_type = CounterMetricFamily if family.name.endswith("_total") else UnknownMetricFamily
            count = family_type(family.name.removesuffix("_total"), family.help_text, labels=family.labels)
            for values, number in family.items():
                count.add_metric(values, number.value)
            yield count
        for family in self._metrics.gauges:
            gauge = GaugeMetricFamily(family.name, family.help_text, labels=family.labels)
            for values, number in family.items():
                gauge.add_metric(values, number.value)
            yield gauge
        for histogram_family, bounds in self._metrics.histograms:
            histogram = HistogramMetricFamily(
                histogram_family.name, histogram_family.help_text, labels=histogram_family.labels
            )
            for values, series in histogram_family.items():
                histogram.add_metric(values, _cumulative_buckets(bounds, series.buckets), series.total)
            yield histogram


def _cumulative_buckets(bounds: Sequence[float], buckets: Sequence[int]) -> list[tuple[str, float]]:
    samples: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*bounds, float("inf")), list(buckets), strict=True):
        total += count
        samples.append((go_float(bound), total))
    return samples
