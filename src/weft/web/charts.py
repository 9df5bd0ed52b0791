"""Numbers as shapes: where the lines, ticks and names of a chart go. Templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import floor, log10, sqrt
from typing import Final, NamedTuple

_WIDTH: Final = 400.0
"""Of every drawing, in its own units: a phone shows about as many pixels, so text keeps its size there."""
_DAY: Final = 86_400.0

# Of a line chart: room for the figures on the left and the dates below.
_LINE_HEIGHT: Final = 140.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 6.0, 8.0, 20.0

# Of a graph of neighbours.
_ROW: Final = 22.0
_NAME_ROOM: Final = 128.0
"""On each side, for names."""
_NAME_LENGTH: Final = 20
_THINNEST, _THICKEST = 1.0, 9.0
_MANY: Final = 20
"""Links that make a line as thick as it gets, at least: where each domain has one link, all lines are thin."""
_RADIUS: Final = 11.0


class Tick(NamedTuple):
    at: float
    label: str


class LineChart(NamedTuple):
    width: float
    height: float
    left: float
    right: float
    bottom: float
    line: str
    """A path; it goes on as it is until the next point, as a count does."""
    area: str
    """The path of what is below the line."""
    across: list[Tick]
    """Dates, at x."""
    up: list[Tick]
    """Figures, at y."""


def line_chart(points: Sequence[tuple[float, float]], until: float) -> LineChart | None:
    """Counts (seconds since 1970, figure), oldest first, up to a moment; None if there is no time to show."""
    if not points or until <= points[0][0]:
        return None
    begin, ticks = points[0][0], round_ticks(max(value for _, value in points))
    right, bottom = _WIDTH - _RIGHT, _LINE_HEIGHT - _BOTTOM

    def x(at: float) -> float:
        return _LEFT + (min(at, until) - begin) / (until - begin) * (right - _LEFT)

    def y(value: float) -> float:
        return bottom - value / ticks[-1] * (bottom - _TOP)

    line = f"M{_LEFT:.1f} {y(points[0][1]):.1f}"
    line += "".join(f"H{x(at):.1f}V{y(value):.1f}" for at, value in points[1:])
    line += f"H{right:.1f}"
    return LineChart(
        width=_WIDTH,
        height=_LINE_HEIGHT,
        left=_LEFT,
        right=right,
        bottom=bottom,
        line=line,
        area=f"{line}V{bottom:.1f}H{_LEFT:.1f}Z",
        across=[Tick(x(at), moment_label(at, until - begin)) for at in (begin, (begin + until) / 2, until)],
        up=[Tick(y(value), f"{value:,}") for value in ticks],
    )


def round_ticks(most: float) -> list[int]:
    """0 and a few round numbers; the last is the first of them that is not below `most`."""
    if most <= 4:
        return list(range(max(1, int(-(-most // 1))) + 1))
    step = _round_step(most / 4)
    return list(range(0, int(-(-most // step)) * step + 1, step))


def _round_step(least: float) -> int:
    """1, 2 or 5 times a power of ten."""
    power = 10 ** floor(log10(least))
    return int(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least))


def moment_label(at: float, whole: float) -> str:
    """As exact as a chart over so many seconds needs it."""
    form = "%H:%M" if whole < _DAY else "%b %d %H:%M" if whole < 3 * _DAY else "%Y-%m-%d"
    return datetime.fromtimestamp(at, UTC).strftime(form)


class Bar(NamedTuple):
    name: str
    amount: int
    percent: float
    """Of the largest one."""


def bars(counts: Sequence[tuple[str, int]]) -> list[Bar]:
    largest = max((count for _, count in counts), default=0) or 1
    return [Bar(name, count, round(100 * count / largest, 2)) for name, count in counts]


class Strand(NamedTuple):
    """A domain beside the one in the middle, and the line between them."""

    name: str
    shown: str
    """The name, shortened to the room that it has."""
    links: int
    x: float
    y: float
    line: str
    thickness: float


class NeighbourGraph(NamedTuple):
    width: float
    height: float
    middle: tuple[float, float]
    radius: float
    left: list[Strand]
    right: list[Strand]


def neighbour_graph(referring: Sequence[tuple[str, int]], referred: Sequence[tuple[str, int]]) -> NeighbourGraph | None:
    """One domain in the middle, those that reference it on the left, those that it references on the right."""
    rows = max(len(referring), len(referred))
    if not rows:
        return None
    height = max(rows * _ROW, 4 * _ROW)
    largest = max(_MANY, *(count for _, count in (*referring, *referred)))
    return NeighbourGraph(
        width=_WIDTH,
        height=height,
        middle=(_WIDTH / 2, height / 2),
        radius=_RADIUS,
        left=_strands(referring, height, largest, side=-1),
        right=_strands(referred, height, largest, side=1),
    )


def _strands(neighbours: Sequence[tuple[str, int]], height: float, largest: int, side: int) -> list[Strand]:
    middle, top = height / 2, (height - len(neighbours) * _ROW) / 2
    ends = _WIDTH / 2 + side * (_WIDTH / 2 - _NAME_ROOM)
    begins = _WIDTH / 2 + side * _RADIUS
    bend = (begins + ends) / 2
    found = []
    for number, (name, count) in enumerate(neighbours):
        y = top + (number + 0.5) * _ROW
        line = f"M{begins:.1f} {middle:.1f}C{bend:.1f} {middle:.1f} {bend:.1f} {y:.1f} {ends:.1f} {y:.1f}"
        found.append(
            Strand(name, shortened(name, _NAME_LENGTH), count, ends + side * 4, y, line, thickness(count, largest))
        )
    return found


def thickness(count: int, largest: int) -> float:
    """By the square root: a hundred times as many links are ten times as thick, within bounds."""
    share = sqrt(max(count, 0) / largest) if largest > 0 else 0.0
    return round(_THINNEST + (_THICKEST - _THINNEST) * share, 2)


def shortened(name: str, most: int) -> str:
    """What matters in a domain is at both ends."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"
