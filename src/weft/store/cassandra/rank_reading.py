"""Reading rankings: a merge of the partitions that a ranking lies in, its head first, sorted inside its bands."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from weft.store.api import Cell, Column
from weft.store.cassandra.bands import SINGLE, RankedCell, band_of, sorted_bands
from weft.store.cassandra.cell_session import CellSession, Request
from weft.store.cassandra.placement import HEAD, Partition, Placement, Rankings
from weft.store.cassandra.statements import Statement
from weft.store.cassandra.walking import PAGE, rank_value
from weft.store.encoding import after, descending, split_descending
from weft.store.tables import Table

_FIRST_RANKS, _FIRST_OF_HEAD = 4, 32
"""Rows of a ranking's first page: a reader asks every partition of it, and mostly for the best few. The head of one is
in one partition, and mostly enough."""
_REMEMBERED: Final = 10_000
"""Names of a ranking that are told from their doubles: more than anybody looks at, and walks hold writing."""

Place = tuple[int, bytes]
"""In a ranking: a count, and a name."""


class RankReader:
    """`shows_doubles`: whether a name that is in two bands of a ranking is shown twice."""

    def __init__(self, session: CellSession, placement: Placement, *, shows_doubles: bool) -> None:
        self._session, self._placement, self._shows_doubles = session, placement, shows_doubles

    def get(self, table: Table, column: Column) -> Cell | None:
        ranked = self._placement.of_ranked(table, *column)
        if ranked is None:
            return None
        band, name = band_of(ranked.counted), ranked.name
        rows = self._session.read([Request(Statement.SCAN_BAND_FROM, (*ranked[:4], band, name), 1)])[0]
        for _, of, count, value, seq in rows[:1]:
            if of == name and count == ranked.counted:
                return Cell(*column, seq, rank_value(count, value))
        return None

    def of_domain(self, row: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        """The ranking in this row, from a qualifier on."""
        begin = None if start is None else _place(start, reverse=reverse)
        for found in self._in_order(self._placement.domain_ranking(row), begin, reverse=reverse):
            qualifier = descending(found.counted) + found.name
            yield Cell(row, b"rank", qualifier, found.seq, rank_value(found.counted, found.value))

    def domains(self, prefix: bytes, start: bytes | None) -> list[bytes]:
        """Rows of domains that have a ranking, also those that have nothing else: whoever checks wants to see them."""
        rows = self._session.read([Request(Statement.RANKED_DOMAINS, (), PAGE)])[0]
        found = {row[0] for row in rows if row[0][:2] == b"d:" and row[0].startswith(prefix)}
        return sorted(row for row in found if start is None or row >= start)

    def of_all_domains(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        for row in sorted(self.domains(prefix, None if reverse else start), reverse=reverse):
            if not reverse or start is None or row <= start:
                yield from self.of_domain(row, None, reverse=reverse)

    def over_everything(
        self, kind: bytes, ranking: Rankings, prefix: bytes, start: bytes | None, *, reverse: bool
    ) -> Iterator[Cell]:
        """The ranking whose rows begin with these two bytes, from a row on."""
        begin = None
        if start is not None and start[:2] == kind and len(start) > 2:
            begin = _place(start[2:], reverse=reverse)
        elif start is not None and (start < kind if reverse else start >= after(kind)):
            return
        for found in self._in_order(ranking, begin, reverse=reverse):
            row = kind + descending(found.counted) + found.name
            if row.startswith(prefix):
                yield Cell(row, b"", b"", found.seq, rank_value(found.counted, found.value))

    def _in_order(self, ranking: Rankings, begin: Place | None, *, reverse: bool) -> Iterator[RankedCell]:
        """While a batch is written a name may be in two bands, its new one and its old one: readers see it once."""
        ranked = chain.from_iterable(
            self._of_partitions(ranking, places, begin_there, reverse=reverse)
            for places, begin_there in _parts(ranking, begin, reverse=reverse)
        )
        return ranked if self._shows_doubles else _once_each(ranked)

    def _of_partitions(
        self, ranking: Rankings, places: Sequence[Partition], begin: Place | None, *, reverse: bool
    ) -> Iterator[RankedCell]:
        first_rows = _FIRST_OF_HEAD if places is ranking.head else _FIRST_RANKS
        streams = [
            self._of_partition((*place, ranking.list, ranking.domain), begin, first_rows, reverse=reverse)
            for place in places
        ]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_by_rank, reverse=reverse)

    def _of_partition(
        self, place: tuple[Any, ...], begin: Place | None, first_rows: int, *, reverse: bool
    ) -> Iterator[RankedCell]:
        first, *more = _requests(place, begin, first_rows, reverse=reverse)
        # Asked for now: the other partitions of the ranking are asked at the same time.
        begun = self._session.pages(first)
        pages = chain(begun, (page for request in more for page in self._session.pages(request)))
        rows = chain.from_iterable(pages)
        cells = ((band, RankedCell(-count, of, seq, value)) for band, of, count, value, seq in rows)
        found = sorted_bands(cells, reverse=reverse)
        if begin is None:
            return found
        limit = RankedCell(-begin[0], begin[1], 0, None)[:2]
        return (cell for cell in found if (cell[:2] <= limit if reverse else cell[:2] >= limit))


def _place(start: bytes, *, reverse: bool) -> Place:
    """One that somebody names by its first bytes."""
    if len(start) < 1 + 0xFF - start[0]:
        raise ValueError("a place in a ranking begins with a whole count")
    return split_descending(start)


def _parts(
    ranking: Rankings, begin: Place | None, *, reverse: bool
) -> Iterator[tuple[Sequence[Partition], Place | None]]:
    """Its head and the rest, in the order of reading, each with where to begin there. Whoever has enough of the first
    does not ask for the second."""
    if not ranking.head:
        yield ranking.partitions, begin
        return
    first, second = (ranking.partitions, ranking.head) if reverse else (ranking.head, ranking.partitions)
    if begin is None or (begin[0] >= HEAD) != reverse:
        yield first, begin
        yield second, None
    else:
        yield second, begin


def _requests(place: tuple[Any, ...], begin: Place | None, first_rows: int, *, reverse: bool) -> list[Request]:
    if begin is None:
        return [Request(Statement.SCAN_RANKS_BACKWARDS if reverse else Statement.SCAN_RANKS, place, first_rows)]
    count, name = begin
    band = band_of(count)
    beyond = Statement.SCAN_RANKS_BACKWARDS_FROM if reverse else Statement.SCAN_RANKS_FROM
    if count >= SINGLE:
        return [Request(beyond, (*place, band), first_rows)]
    inside = Statement.SCAN_BAND_BACKWARDS_FROM if reverse else Statement.SCAN_BAND_FROM
    rest = (
        [] if band == 0 and not reverse else [Request(beyond, (*place, band + 1 if reverse else band - 1), first_rows)]
    )
    return [Request(inside, (*place, band, name), first_rows), *rest]


def _once_each(cells: Iterator[RankedCell]) -> Iterator[RankedCell]:
    recent: dict[bytes, None] = {}
    for cell in cells:
        if cell.name not in recent:
            recent[cell.name] = None
            if len(recent) > _REMEMBERED:
                del recent[next(iter(recent))]
            yield cell


def _by_rank(cell: RankedCell) -> tuple[int, bytes]:
    return cell.falling, cell.name
