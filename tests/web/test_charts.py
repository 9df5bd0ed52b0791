"""Numbers as shapes."""

from __future__ import annotations

import re

import pytest

from weft.web.charts import bars, line_chart, moment_label, neighbour_graph, round_ticks, shortened, thickness

DAY = 86_400.0


def test_ticks_are_round_and_reach_the_largest_value() -> None:
    assert round_ticks(0) == [0, 1]
    assert round_ticks(3) == [0, 1, 2, 3]
    assert round_ticks(5) == [0, 2, 4, 6]
    assert round_ticks(179) == [0, 50, 100, 150, 200]
    assert round_ticks(1_000_000) == [0, 500_000, 1_000_000]


@pytest.mark.parametrize("most", [1, 4, 5, 9, 10, 11, 99, 101, 2_500, 123_456_789])
def test_a_few_ticks_are_enough(most: int) -> None:
    ticks = round_ticks(most)
    assert ticks[0] == 0
    assert ticks[-2] < most <= ticks[-1]
    assert len(ticks) <= 6


def test_a_count_stays_until_the_next_point() -> None:
    chart = line_chart([(0.0, 2.0), (5 * DAY, 4.0)], 10 * DAY)
    assert chart is not None
    middle = (chart.left + chart.right) / 2
    heights = {tick.label: tick.at for tick in chart.up}
    assert chart.line == f"M{chart.left} {heights['2']:.1f}H{middle:.1f}V{heights['4']:.1f}H{chart.right}"
    assert chart.area == f"{chart.line}V{chart.bottom}H{chart.left}Z"
    assert [tick.label for tick in chart.across] == ["1970-01-01", "1970-01-06", "1970-01-11"]


def test_more_is_higher_and_everything_is_inside() -> None:
    chart = line_chart([(float(n), float(n * n % 17)) for n in range(50)], 60.0)
    assert chart is not None
    xs = [float(x) for x in re.findall(r"[MH]([\d.]+)", chart.line)]
    ys = [float(y) for y in re.findall(r"V([\d.]+)", chart.line)]
    assert xs == sorted(xs)
    assert chart.left <= xs[0]
    assert xs[-1] <= chart.right <= chart.width
    assert all(0 <= y <= chart.bottom for y in ys)
    assert [tick.at for tick in chart.up] == sorted((tick.at for tick in chart.up), reverse=True)


def test_a_count_that_is_always_zero_is_a_line_at_the_bottom() -> None:
    chart = line_chart([(0.0, 0.0)], 1.0)
    assert chart is not None
    assert chart.line == f"M{chart.left} {chart.bottom}H{chart.right}"


def test_without_time_there_is_no_chart() -> None:
    assert line_chart([], 1.0) is None
    assert line_chart([(5.0, 1.0)], 5.0) is None


def test_moments_are_as_exact_as_the_chart_is_short() -> None:
    assert moment_label(0.0, 600) == "00:00"
    assert moment_label(0.0, 2 * DAY) == "Jan 01 00:00"
    assert moment_label(0.0, 30 * DAY) == "1970-01-01"


def test_bars_are_shares_of_the_largest() -> None:
    assert [(bar.name, bar.amount, bar.percent) for bar in bars([("page", 40), ("gone", 10), ("file", 0)])] == [
        ("page", 40, 100.0),
        ("gone", 10, 25.0),
        ("file", 0, 0.0),
    ]
    assert bars([]) == []
    assert bars([("page", 0)])[0].percent == 0


def test_referring_domains_are_left_and_referred_ones_right() -> None:
    graph = neighbour_graph([("a.com", 100), ("b.com", 1)], [("c.com", 25)])
    assert graph is not None
    assert [strand.name for strand in graph.left] == ["a.com", "b.com"]
    assert all(strand.x < graph.middle[0] for strand in graph.left)
    assert all(strand.x > graph.middle[0] for strand in graph.right)
    assert graph.left[0].y < graph.middle[1] < graph.left[1].y
    assert graph.right[0].y == graph.middle[1]
    assert graph.left[0].thickness > graph.right[0].thickness > graph.left[1].thickness
    assert all(0 < strand.y < graph.height for strand in graph.left + graph.right)


def test_a_domain_without_neighbours_has_no_graph() -> None:
    assert neighbour_graph([], []) is None
    graph = neighbour_graph([], [("a.com", 3)])
    assert graph is not None
    assert graph.left == []


def test_a_hundred_times_as_many_links_are_no_hundred_times_as_thick() -> None:
    assert thickness(100, 100) == 9.0
    assert 1.0 < thickness(1, 100) < 2.0
    assert thickness(0, 0) == 1.0


def test_where_every_domain_has_one_link_all_lines_are_thin() -> None:
    graph = neighbour_graph([("a.com", 1), ("b.com", 1)], [])
    assert graph is not None
    assert all(strand.thickness < 3 for strand in graph.left)


def test_a_long_name_keeps_both_ends() -> None:
    assert shortened("a.example", 20) == "a.example"
    short = shortened("a-very-long-name-that-goes-on.example.co.uk", 20)
    assert len(short) == 20
    assert short.startswith("a-very")
    assert short.endswith("e.co.uk")
