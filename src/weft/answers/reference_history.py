"""How many references a page had over time, counted back from now through its history."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from weft.answers.objects import Baseline, moment
from weft.answers.view import View
from weft.linkindex.changes import LINK_BLOCK, MIXED_BLOCK, HistoryBaseline, RecordedChange, baseline, read_target_block
from weft.model.url import PageUrl, Uri
from weft.store.tables import Table

MOST_CHANGES: Final = 20_000
"""Changes that are read, the newest ones, with the rest of the batch that reaches this number: about 3 µs each."""


class HistoryPoint(NamedTuple):
    at: str
    references: int
    """From then on."""


class HistorySeries(msgspec.Struct, frozen=True, kw_only=True):
    """References to a page over time, by the times at which the pages that make them were fetched."""

    seq: int
    uri: str
    url: str
    references: int
    """Now. The last point has as many."""
    before: int
    """Before the first change that is known: from a bulk import, or from a time of which no history is kept."""
    points: list[HistoryPoint]
    """Oldest first. Empty: nothing is known to have changed."""
    complete: bool
    """False: there are older changes, which are in `before`, or some were not recorded."""
    baseline: Baseline | None
    counting: str


class _Step(NamedTuple):
    at: int
    change: int
    """In the number of references."""


class _Point(NamedTuple):
    at: int
    references: int


def reference_history(view: View, page: PageUrl, references: int, url: str, most_points: int) -> HistorySeries:
    began = baseline(view.reader)
    steps, is_complete = _steps(view, page.uri)
    before = references - sum(step.change for step in steps)
    if before < 0:
        # History was off for a time, or the index counts other references now: some that came are gone unnoticed.
        before, is_complete = 0, False
    points = _points(steps, references)
    if is_complete and began is not None:
        points = _with_beginning(points, began, before)
    return HistorySeries(
        seq=view.seq,
        uri=page.uri,
        url=url,
        references=references,
        before=before,
        points=[HistoryPoint(moment(point.at), point.references) for point in _thinned(points, most_points)],
        complete=is_complete,
        baseline=began and Baseline(moment(began.at), began.references, began.pages),
        counting=view.counting,
    )


def _steps(view: View, uri: Uri) -> tuple[list[_Step], bool]:
    """What changed the number of references, in order of time, and whether that is all that is kept."""
    target, found, is_complete = uri.encode(), list[RecordedChange](), True
    row = b"u:" + target
    # Mixed blocks are all older: they are what was written before links had blocks of their own.
    for cell in chain.from_iterable(
        view.reader.scan(Table.CHANGES, row, family) for family in (LINK_BLOCK, MIXED_BLOCK)
    ):
        if len(found) >= MOST_CHANGES:
            is_complete = False
            break
        found += read_target_block(target, cell.value).changes
    counted = sorted((change for change in found if change.step in (1, -1)), key=attrgetter("at"))
    return [
        _Step(at, sum(change.step for change in group)) for at, group in groupby(counted, key=attrgetter("at"))
    ], is_complete


def _points(steps: Sequence[_Step], references: int) -> list[_Point]:
    """Counted back from how many there are now."""
    points: list[_Point] = []
    for step in reversed(steps):
        points.append(_Point(step.at, max(0, references)))
        references -= step.change
    return points[::-1]


def _with_beginning(points: list[_Point], began: HistoryBaseline, before: int) -> list[_Point]:
    """With what a bulk import brought, if nothing is known of an earlier time."""
    if not before or (points and points[0].at <= began.at):
        return points
    return [_Point(began.at, before), *points]


def _thinned(points: list[_Point], most: int) -> list[_Point]:
    """At most so many, evenly over time: of each stretch the last one, and the very first."""
    if len(points) <= most:
        return points
    first, last = points[0], points[-1]
    length = last.at - first.at
    stretches = most - 1
    kept: dict[int, _Point] = {}
    for point in points[1:]:
        kept[min((point.at - first.at) * stretches // length, stretches - 1)] = point
    return [first, *kept.values()]
