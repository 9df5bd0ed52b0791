"""docs/metrics.md lists every metric with its type, its labels and its meaning, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from weft.metrics.home_catalogue import HOME_METRICS
from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS
from weft.metrics.samples import Metric

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(weft_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", re.MULTILINE)
ALL = [*HOME_METRICS, *(told.metric for some in (EVERY_ROLE, *ROLE_METRICS.values()) for told in some)]


def row_of(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    return metric.name, str(metric.kind), labels, metric.meaning


def test_the_tables_are_the_catalogue() -> None:
    assert ROW.findall(PAGE) == [row_of(metric) for metric in ALL]
