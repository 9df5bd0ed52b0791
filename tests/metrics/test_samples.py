"""What is rendered is what Prometheus reads: names, labels, values and buckets survive, whatever they hold."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from weft.metrics.samples import CONTENT_TYPE, Kind, Metric, Sample, metrics_text
from weft.roles.histogram import Histogram

GAUGE = Metric("weft_things", Kind.GAUGE, ("kind",), "Things that there are.")
COUNTER = Metric("weft_events_total", Kind.COUNTER, (), "Things that happened.")
TOOK = Metric("weft_took_seconds", Kind.HISTOGRAM, ("node",), "How long it took.")


def read(*samples: Sample) -> dict[tuple[str, tuple], float]:
    text = metrics_text(samples).decode()
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_a_metric_has_its_help_and_its_type() -> None:
    lines = metrics_text([Sample(COUNTER, (), 3)]).decode().splitlines()
    assert lines == [
        "# HELP weft_events_total Things that happened.",
        "# TYPE weft_events_total counter",
        "weft_events_total 3.0",
    ]
    assert "version=0.0.4" in CONTENT_TYPE


def test_samples_of_a_metric_stand_together_wherever_they_come_from() -> None:
    text = metrics_text([Sample(GAUGE, ("a",), 1), Sample(COUNTER, (), 2), Sample(GAUGE, ("b",), 3)]).decode()
    assert text.count("# TYPE weft_things") == 1
    assert text.index('kind="b"') < text.index("weft_events_total")


@pytest.mark.parametrize("value", ['"', "\\", "a\nb", "its address's rate", "ä{}=,", ""])
def test_a_label_may_hold_anything(value: str) -> None:
    assert read(Sample(GAUGE, (value,), 1)) == {("weft_things", (("kind", value),)): 1}


def test_a_histogram_has_cumulative_buckets_a_count_and_a_sum() -> None:
    took = Histogram((0.1, 1.0))
    took.add_milliseconds([50, 100, 101, 1000, 5000])
    found = read(Sample(TOOK, ("n",), took.facts()))
    buckets = {labels[0][1]: value for (name, labels), value in found.items() if name == "weft_took_seconds_bucket"}
    assert buckets == {"0.1": 2, "1.0": 4, "+Inf": 5}
    assert found["weft_took_seconds_count", (("node", "n"),)] == 5
    assert found["weft_took_seconds_sum", (("node", "n"),)] == pytest.approx(6.251)


def test_nothing_measured_is_an_empty_text() -> None:
    assert metrics_text([]) == b""
