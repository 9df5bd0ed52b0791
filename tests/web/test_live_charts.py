"""Charts of the last minutes, and the figures behind them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from weft.web.pages.live_charts import HEIGHT, WIDTH, live_chart, round_top
from weft.web.recent_figures import SECONDS, CrawlFigures, RecentFigures

NOW = 1_000_000.0


def chart(*points: tuple[float, float | None]) -> str:
    figures = [CrawlFigures(at=NOW - age, rate=value) for age, value in points]
    return live_chart("rate", "Pages", "", figures, NOW).line


def test_the_newest_figure_is_at_the_right_edge_and_the_highest_at_a_round_number() -> None:
    assert chart((30, 5.0), (28, 10.0)) == f"M150.0 {HEIGHT / 2}L160.0 0.0"
    assert chart((0, 0.0)) == f"M{WIDTH}.0 {HEIGHT}.0"


def test_a_chart_grows_from_a_minute_to_the_whole_time_that_is_kept() -> None:
    spans = [live_chart("rate", "", "", [CrawlFigures(at=NOW - age)], NOW).seconds for age in (1, 90, 900)]
    assert spans == [60, 90, SECONDS]


def test_times_in_which_nobody_looked_or_nothing_ran_are_gaps() -> None:
    assert chart((40, 1.0), (38, 1.0), (20, 1.0), (18, 1.0)).count("M") == 2
    assert chart((8, 1.0), (6, None), (4, 1.0)).count("M") == 2
    assert chart((8, None)) == ""


def test_no_figures_are_an_empty_chart() -> None:
    found = live_chart("rate", "Pages", "", [], NOW)
    assert (found.line, found.area, found.latest, found.points) == ("", "", None, "")


@pytest.mark.parametrize(("most", "top"), [(0, 1), (0.3, 0.5), (1, 1), (1.1, 2), (4.2, 5), (6, 10), (4_282, 5_000)])
def test_the_upper_edge_is_a_round_number(most: float, top: float) -> None:
    assert round_top(most) == pytest.approx(top)


def test_figures_are_taken_every_two_seconds_and_kept_for_ten_minutes() -> None:
    recent = RecentFigures()
    for half in range(4000):
        recent.add(CrawlFigures(at=NOW + half / 2))
    taken = [each.at for each in recent.all()]
    assert all(later - earlier == 2.0 for earlier, later in pairwise(taken))
    assert taken[-1] - taken[0] == SECONDS


def test_a_clock_that_was_set_back_begins_anew() -> None:
    recent = RecentFigures()
    for at in (NOW, NOW + 2, NOW - 5000, NOW - 4998):
        recent.add(CrawlFigures(at=at))
    assert [each.at for each in recent.all()] == [NOW - 5000, NOW - 4998]
