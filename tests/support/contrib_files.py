"""What the dashboard and the alert rules in contrib/ ask Prometheus for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

CONTRIB = Path(__file__).parents[2] / "contrib"
RULES = CONTRIB / "prometheus" / "weft.rules.yml"
DASHBOARD = CONTRIB / "grafana" / "weft.json"

_METRIC = re.compile(r"\b(weft_\w+)(\{[^}]*\})?")
_SELECTOR = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")
_LEGEND = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")
_PART_OF_HISTOGRAM = re.compile(r"_(?:bucket|sum|count)$")
BY_PROMETHEUS = {"instance", "job"}
"""Labels that Prometheus adds itself."""


class Asked(NamedTuple):
    """One expression."""

    where: str
    expression: str
    text: str
    """In which labels may be shown."""

    @property
    def names(self) -> set[str]:
        return {name for name, _ in _METRIC.findall(self.expression)}

    @property
    def selected(self) -> list[tuple[str, str, str, str]]:
        """Metric, label, operator, value."""
        found = _METRIC.findall(self.expression)
        return [(name, *one) for name, selector in found for one in _SELECTOR.findall(selector)]

    @property
    def labels(self) -> set[str]:
        """That it groups by or shows."""
        grouped = {label.strip() for some in _GROUPING.findall(self.expression) for label in some.split(",")}
        return (grouped | set(_LEGEND.findall(self.text))) - BY_PROMETHEUS


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """Without the titles of rows."""
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def all_asked() -> list[Asked]:
    alerts = [Asked(rule["alert"], rule["expr"], " ".join(rule["annotations"].values())) for rule in rules()]
    shown = [
        Asked(panel["title"], target["expr"], target["legendFormat"])
        for panel in panels()
        for target in panel["targets"]
    ]
    return alerts + shown


def metric_of(name: str) -> str:
    """The metric that a series is of."""
    return _PART_OF_HISTOGRAM.sub("", name)
