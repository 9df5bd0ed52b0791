"""Metrics, and what was measured: values that are rendered for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from math import isinf
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from weft.roles.histogram import HistogramFacts

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""Of what metrics_text() returns; every Prometheus reads it."""

_Family = GaugeMetricFamily | CounterMetricFamily | HistogramMetricFamily


class Kind(StrEnum):
    GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"


class Metric(NamedTuple):
    name: str
    """In base units; that of a counter ends in `_total`."""
    kind: Kind
    labels: tuple[str, ...]
    meaning: str
    """One sentence."""
    known: tuple[str, ...] = ()
    """Values of the last label that are told from the beginning, as 0: no rate shows what comes out of nothing, and a
    panel without a series looks broken."""


class Sample(NamedTuple):
    metric: Metric
    labels: tuple[str, ...]
    """One value for each label of the metric."""
    value: float | HistogramFacts


def metrics_text(samples: Iterable[Sample]) -> bytes:
    """The text that Prometheus scrapes; metrics come in the order in which they are first met."""
    families: dict[str, _Family] = {}
    for sample in samples:
        family = families.setdefault(sample.metric.name, _family(sample.metric))
        if isinstance(family, HistogramMetricFamily):
            if isinstance(sample.value, HistogramFacts):
                family.add_metric(sample.labels, _buckets(sample.value), sample.value.sum)
        elif not isinstance(sample.value, HistogramFacts):
            family.add_metric(sample.labels, sample.value)
    registry = CollectorRegistry()
    registry.register(_Families(families.values()))
    return generate_latest(registry)


class _Families(Collector):
    """The library asks a collector for what it renders."""

    def __init__(self, families: Iterable[_Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[_Family]:
        return self._families


def _family(metric: Metric) -> _Family:
    if metric.kind is Kind.COUNTER:
        return CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    if metric.kind is Kind.HISTOGRAM:
        return HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    return GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)


def _buckets(facts: HistogramFacts) -> list[tuple[str, float]]:
    """As the format wants them: each counts all that is not above its bound."""
    found, total = list[tuple[str, float]](), 0
    for bound, count in zip([*facts.bounds, float("inf")], facts.counts, strict=True):
        total += count
        found.append(("+Inf" if isinf(bound) else repr(bound), total))
    return found
