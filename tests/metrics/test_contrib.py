"""The dashboard and the alerts ask for metrics and labels that exist, and say what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from support.contrib_files import DASHBOARD, RULES, Asked, all_asked, metric_of, panels, rules
from weft.metrics.home_catalogue import HOME_METRICS
from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS
from weft.metrics.samples import Kind

ROLES = (EVERY_ROLE, *ROLE_METRICS.values())
CATALOGUE = {metric.name: metric for metric in (*HOME_METRICS, *(told.metric for some in ROLES for told in some))}


def series_of(asked: Asked) -> dict[str, set[str]]:
    """The series that it names, with their labels; a histogram has none of its own name."""
    found = {}
    for name in asked.names:
        metric = CATALOGUE.get(name) or CATALOGUE[metric_of(name)]
        is_part = name != metric.name
        assert is_part == (metric.kind is Kind.HISTOGRAM), name
        found[name] = {*metric.labels, *({"le"} if name.endswith("_bucket") else ())}
    return found


@pytest.mark.parametrize("asked", all_asked(), ids=lambda asked: f"{asked.where}: {asked.expression[:60]}")
def test_every_metric_and_label_exists(asked: Asked) -> None:
    assert asked.names, asked.expression
    series = series_of(asked)
    assert asked.labels <= set.union(*series.values()), asked
    assert [one for one in asked.selected if one[1] not in series[one[0]]] == []


def test_counters_are_asked_for_by_their_rate() -> None:
    for asked in all_asked():
        for name in asked.names:
            if name.endswith(("_total", "_bucket")):
                assert re.search(rf"(rate|increase)\({name}(\{{[^}}]*\}})?\[", asked.expression), asked


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert rule["annotations"].keys() == {"summary", "do"}, rule["alert"]
        assert all(text.endswith((".", "`.")) for text in rule["annotations"].values()), rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]


def test_every_panel_says_what_it_shows_and_none_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    assert max(x for x, _ in taken) < 24


def test_the_dashboard_has_a_row_for_each_question() -> None:
    board = json.loads(DASHBOARD.read_text())
    titles = [panel["title"] for panel in board["panels"] if panel["type"] == "row"]
    assert titles == [
        *("Overview", "Crawl", "Politeness and queues", "Freshness", "Search", "Web app", "Errors", "Resources"),
    ]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("work", [("check", RULES.name), ("test", "weft.rules.test.yml")], ids=lambda work: work[0])
def test_promtool_finds_no_fault(work: tuple[str, str]) -> None:
    command = ["promtool", work[0], "rules", work[1]]
    done = subprocess.run(command, cwd=RULES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
