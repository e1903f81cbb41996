"""Counted things in the text format of Prometheus, written by its own library."""

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
    """A registry that shows what ``read`` returns, each time that it is asked."""
    registry = CollectorRegistry()
    registry.register(_Reader(read))
    return registry


def page(found: Counts) -> bytes:
    """The page that Prometheus reads."""
    return generate_latest(registry_of(lambda: found))


class _Reader(Collector):
    def __init__(self, read: Callable[[], Counts]) -> None:
        self._read = read

    def describe(self) -> list[Metric]:
        """Says nothing, so that nothing is read before somebody asks."""
        return []

    def collect(self) -> Iterator[Metric]:
        """In the order of the catalogue; what nobody has counted is left out."""
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
