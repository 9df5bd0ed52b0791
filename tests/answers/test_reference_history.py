"""How many references a page had over time."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.answers import reference_history
from weft.answers.index import Index
from weft.answers.objects import moment
from weft.answers.reference_history import HistorySeries
from weft.clock import ManualClock
from weft.config.sections import IndexSettings
from weft.errors import NotKnown, UsageError
from weft.linkindex.changes import baseline_cells
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.model.url import UrlRules
from weft.store.api import Batch
from weft.store.memory import MemoryStore

RULES = UrlRules()
DAY = 86_400_000
TARGET = "https://a.com/"


def page(name: str, at: int, *, links: bool) -> LoadedPage:
    found = [RawLink(TARGET, "")] if links else []
    return load_page(RULES, RULES.identify(f"https://{name}.com/"), at, found, Doc())


class World:
    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), ManualClock(10 * DAY)
        self.load("a", 1, links=False)

    def load(self, names: str, at: int, *, links: bool = True, history: bool = True) -> None:
        LinkIndex(self.store, IndexSettings(history=history), self.clock).apply(
            [page(name, at, links=links) for name in names]
        )

    def series(self, points: int = 60) -> HistorySeries:
        return Index(self.store, RULES).reference_history(TARGET, points=points)


def told(series: HistorySeries) -> list[tuple[str, int]]:
    return [(point.at, point.references) for point in series.points]


@given(
    rounds=st.lists(st.tuples(st.text("bcdefgh", min_size=1, max_size=5), st.booleans()), max_size=12),
    points=st.integers(2, 8),
)
def test_the_series_says_what_the_index_said_at_each_time(rounds: list[tuple[str, bool]], points: int) -> None:
    world, now = World(), 0
    expected: list[tuple[str, int]] = []
    for number, (names, links) in enumerate(rounds, start=2):
        world.load("".join(dict.fromkeys(names)), number * DAY, links=links)
        before, now = now, Index(world.store, RULES).page(TARGET).references
        if now != before:
            expected.append((moment(number * DAY), now))
    whole, thin = world.series(1000), world.series(points)
    assert told(whole) == expected
    assert (whole.before, whole.references, whole.complete) == (0, now, True)
    assert len(thin.points) <= points
    assert set(thin.points) <= set(whole.points)
    assert thin.points[:1] == whole.points[:1]
    assert thin.points[-1:] == whole.points[-1:]
    assert [at for at, _ in told(thin)] == sorted(at for at, _ in told(thin))


def test_thinned_points_are_spread_over_the_time() -> None:
    world = World()
    for number in range(100):
        world.load("b", DAY + number * 1000, links=number % 2 == 0)
    world.load("c", 50 * DAY)
    world.load("d", 100 * DAY)
    days = [datetime.fromisoformat(at).timestamp() * 1000 // DAY for at, _ in told(world.series(4))]
    assert days == [1, 1, 50, 100]


def test_it_goes_by_the_time_of_the_fetch_whatever_the_order_of_loading() -> None:
    world = World()
    world.load("c", 3 * DAY)
    world.load("b", 2 * DAY)
    assert told(world.series()) == [(moment(2 * DAY), 1), (moment(3 * DAY), 2)]


def test_what_a_bulk_import_brought_is_there_from_its_time_on() -> None:
    world = World()
    world.load("bcd", 2 * DAY, history=False)
    seq = world.store.last_seq + 1
    world.store.write(Batch(baseline_cells(seq, 5 * DAY, 3, 4)), seq)
    assert told(world.series()) == [(moment(5 * DAY), 3)]
    world.load("e", 6 * DAY)
    world.load("b", 7 * DAY, links=False)
    series = world.series()
    assert told(series) == [(moment(5 * DAY), 3), (moment(6 * DAY), 4), (moment(7 * DAY), 3)]
    assert (series.before, series.complete) == (3, True)
    assert series.baseline is not None


def test_only_the_newest_of_many_changes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_history, "MOST_CHANGES", 2)
    world = World()
    for number, name in enumerate("bcde", start=2):
        world.load(name, number * DAY)
    series = world.series()
    assert told(series) == [(moment(4 * DAY), 3), (moment(5 * DAY), 4)]
    assert (series.before, series.references, series.complete) == (2, 4, False)


def test_where_history_was_off_counts_never_fall_below_nothing() -> None:
    world = World()
    world.load("bc", 2 * DAY)
    world.load("bc", 3 * DAY, links=False, history=False)
    series = world.series()
    assert told(series) == [(moment(2 * DAY), 0)]
    assert (series.before, series.references, series.complete) == (0, 0, False)


def test_too_few_points_and_unknown_pages_are_refused() -> None:
    world = World()
    with pytest.raises(UsageError, match="points 1 is out of range"):
        world.series(1)
    with pytest.raises(NotKnown, match="is not known"):
        Index(world.store, RULES).reference_history("x.com")
