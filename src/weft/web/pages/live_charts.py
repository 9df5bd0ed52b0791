"""Charts of the last minutes as the server draws them; static/crawl.js goes on in the same way as figures arrive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import Final, NamedTuple

from weft.web.recent_figures import SECONDS, CrawlFigures

WIDTH, HEIGHT = 300, 80
"""Of a drawing, in its own units."""
_SHORTEST: Final = 60.0
"""Seconds that a chart shows at least: it is never a single point, and grows to the whole time that is kept."""
_GAP: Final = 10.0
"""Seconds without a look, after which a line is broken: nobody knows how it went."""


class LiveChart(NamedTuple):
    name: str
    """The figure; scripts find the chart by it."""
    title: str
    unit: str
    latest: float | None
    line: str
    area: str
    top: float
    """What the upper edge stands for."""
    seconds: float
    """How long ago the left edge is."""
    points: str
    """`age value` pairs, oldest first, for the script."""


Point = tuple[float, float | None]
"""Seconds ago, and the figure if it was known."""


def live_chart(name: str, title: str, unit: str, figures: Sequence[CrawlFigures], now: float) -> LiveChart:
    points: list[Point] = [(max(0.0, now - each.at), getattr(each, name)) for each in figures]
    seconds = min(SECONDS, max([_SHORTEST, *(age for age, _ in points)]))
    top = round_top(max((value for _, value in points if value is not None), default=0.0))
    runs = [[_place(age, value, seconds, top) for age, value in run] for run in _runs(points)]
    return LiveChart(
        name=name,
        title=title,
        unit=unit,
        latest=points[-1][1] if points else None,
        line="".join(f"M{'L'.join(run)}" for run in runs),
        area="".join(f"M{_x(run[0])} {HEIGHT}L{'L'.join(run)}L{_x(run[-1])} {HEIGHT}Z" for run in runs),
        top=top,
        seconds=seconds,
        points=" ".join(f"{age:.1f},{'' if value is None else round(value, 3)}" for age, value in points),
    )


def round_top(most: float) -> float:
    """1, 2 or 5 times a power of ten, and not below `most`."""
    if most <= 0:
        return 1.0
    power = 10.0 ** floor(log10(most))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= most))


def _runs(points: Iterable[Point]) -> list[list[tuple[float, float]]]:
    """Points that are one line: all known, and none long after the other."""
    runs: list[list[tuple[float, float]]] = [[]]
    for age, value in points:
        if value is None or (runs[-1] and runs[-1][-1][0] - age > _GAP):
            runs.append([])
        if value is not None:
            runs[-1].append((age, value))
    return [run for run in runs if run]


def _place(age: float, value: float, seconds: float, top: float) -> str:
    return f"{WIDTH * (1 - age / seconds):.1f} {HEIGHT * (1 - value / top):.1f}"


def _x(place: str) -> str:
    return place.partition(" ")[0]
