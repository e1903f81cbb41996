"""Writes counts in Prometheus's text format, with the Prometheus client library."""

from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pgsched.domain.histogram import BUCKETS
from pgsched.metrics import catalogue
from pgsched.metrics.counts import Counts

CONTENT_TYPE = "text/plain; version=0.0.4"
_BOUNDS = [*map(str, BUCKETS), "+Inf"]


def registry_of(read: Callable[[], Counts]) -> CollectorRegistry:
    """Returns a registry that calls ``read`` at each scrape and exposes the counts that it returns."""
    registry = CollectorRegistry()
    registry.register(_Reader(read))
    return registry


def page(found: Counts) -> bytes:
    """Returns the page that Prometheus scrapes."""
    return generate_latest(registry_of(lambda: found))


class _Reader(Collector):
    def __init__(self, read: Callable[[], Counts]) -> None:
        self._read = read

    def describe(self) -> list[Metric]:
        """Returns no metrics, so that registering does not call ``read``."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics that have samples, in the order of the catalogue."""
        found = self._read()
        for name, metric in catalogue.ALL.items():
            family = _family(name, metric, found)
            if family.samples:
                yield family


def _family(name: str, metric: catalogue.Metric, found: Counts) -> Metric:
    if metric.kind == "histogram":
        spread = HistogramMetricFamily(name, metric.text, labels=metric.labels)
        for labels, value in found.histograms.get(name, {}).items():
            counts = zip(_BOUNDS, map(float, accumulate(value.counts)), strict=True)
            spread.add_metric(labels, list(counts), value.total)
        return spread
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    plain = kind(name, metric.text, labels=metric.labels)
    for labels, number in found.values.get(name, {}).items():
        plain.add_metric(labels, number)
    return plain
