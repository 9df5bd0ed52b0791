"""From what a node tells with its heartbeats to samples. Pure, and not surprised by figures of another version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from weft.answers.nodes import WHAT
from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS, Told
from weft.metrics.samples import Kind, Sample
from weft.mgmt.values import NodeType
from weft.roles.histogram import HistogramFacts


def role_samples(node: NodeType, address: str, figures: Mapping[str, Any]) -> Iterator[Sample]:
    """What is missing among the figures is left out."""
    for told in EVERY_ROLE:
        yield from _samples(told, (WHAT.get(node, str(node)), address), figures)
    for told in ROLE_METRICS.get(node, ()):
        yield from _samples(told, (address,), figures)


def _samples(told: Told, node: tuple[str, ...], figures: Mapping[str, Any]) -> Iterator[Sample]:
    found = _figure(figures, told.figure)
    if told.metric.kind is Kind.HISTOGRAM:
        if (histogram := _histogram(found)) is not None:
            yield Sample(told.metric, node, histogram)
    elif len(told.metric.labels) > len(node):
        counts = {**dict.fromkeys(told.metric.known, 0), **found} if isinstance(found, dict) else {}
        for key, one in sorted(counts.items()):
            if (value := _number(one)) is not None:
                yield Sample(told.metric, (*node, str(key)), value * told.scale)
    elif (value := _number(found)) is not None:
        yield Sample(told.metric, node, value * told.scale)


def _figure(figures: Mapping[str, Any], path: str) -> object:
    found: object = figures
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _number(found: object) -> float | None:
    """Of a list or a table, how many there are; of a sentence, whether there is one."""
    if isinstance(found, int | float):
        return found
    if isinstance(found, list | dict):
        return len(found)
    return int(bool(found)) if isinstance(found, str) else None


def _histogram(found: object) -> HistogramFacts | None:
    try:
        facts = msgspec.convert(found, HistogramFacts)
    except msgspec.ValidationError:
        return None
    is_whole = bool(facts.bounds) and len(facts.counts) == len(facts.bounds) + 1
    return facts if is_whole and facts.bounds == sorted(set(facts.bounds)) else None
