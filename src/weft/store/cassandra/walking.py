"""Every cell of a table, partition after partition: who needs no order should not pay for a merge of them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import Final, NamedTuple

from weft.store.api import Cell, Walked
from weft.store.cassandra.cell_session import CellSession, Request, Row
from weft.store.cassandra.columns import PAGE_CUR, column_name, meets, row_range, split_column
from weft.store.cassandra.packing import unpacked
from weft.store.cassandra.placement import Placement, keeps_with_time
from weft.store.cassandra.statements import Statement
from weft.store.encoding import descending
from weft.store.tables import Table

PAGE: Final = 2_000
"""Rows that one answer of the cluster holds."""
_AHEAD: Final = 32
"""Parts that are asked for before they are wanted; most are small, so it is the asking that takes time."""
_RING: Final = [(1 << 58) * number for number in range(-32, 32)] + [(1 << 63) - 1]
"""Where 64 pieces of the ring begin and end. No key has the lowest token."""
_CUR: Final = column_name(*PAGE_CUR)


class _Part(NamedTuple):
    request: Request
    cell: Callable[[Row], Cell | None]
    """None: a row of something else."""


class Walk:
    """The parts of a walk are the same ones in the same order every time: a position is the number of one."""

    def __init__(self, session: CellSession, placement: Placement) -> None:
        self._session, self._placement = session, placement

    def blocks(self, table: Table, prefix: bytes, start: bytes) -> Iterator[Walked]:
        number = int(start or b"0")
        parts = islice(self._parts(table, prefix), number, None)
        remaining = ((part.cell, self._session.pages(part.request)) for part in parts)
        asked = deque(islice(remaining, _AHEAD))
        while asked:
            cell, pages = asked.popleft()
            for page in pages:
                cells = [found for found in map(cell, page) if found is not None and found.row.startswith(prefix)]
                yield Walked(cells, b"%d" % number)
            number += 1
            asked.extend(islice(remaining, 1))

    def _parts(self, table: Table, prefix: bytes) -> Iterator[_Part]:
        yield from self._plain(table, prefix, _cell)
        for kind in (b"p:", b"r:", b"t:"):
            if meets(prefix, kind):
                yield from self._ranking(table, kind)
        if table is Table.QUERY and meets(prefix, b"d:"):
            # Nobody knows the domains here, and their rankings share partitions.
            yield from (_Part(Request(Statement.WALK_RANKS, piece, PAGE), _domain_rank) for piece in pairwise(_RING))
        if table is Table.QUERY and meets(prefix, b"p:"):
            yield from self._plain(Table.FLUO, prefix if len(prefix) > 2 else b"p:", _cur)

    def _plain(self, table: Table, prefix: bytes, cell: Callable[[Row], Cell | None]) -> Iterator[_Part]:
        first, end = row_range(table, prefix, None)
        statement = Statement.WALK_HISTORY if keeps_with_time(table) else Statement.WALK_CELLS
        for partition in self._placement.of_rows(table, prefix):
            yield _Part(Request(statement, (*partition, first, end), PAGE), cell)

    def _ranking(self, table: Table, kind: bytes) -> Iterator[_Part]:
        ranking = self._placement.global_ranking(table, kind)
        if ranking is not None:
            for place in (*ranking.head, *ranking.partitions):
                yield _Part(
                    Request(Statement.SCAN_RANKS, (*place, ranking.list, ranking.domain), PAGE), partial(_rank, kind)
                )


def _cell(found: Row) -> Cell:
    row, name, value, seq = found
    return Cell(row[1:], *split_column(name), seq, unpacked(value))


def _cur(found: Row) -> Cell | None:
    return _cell(found) if found[1] == _CUR else None


def _rank(kind: bytes, found: Row) -> Cell:
    _, name, count, value, seq = found
    return Cell(kind + descending(count) + name, b"", b"", seq, rank_value(count, value))


def _domain_rank(found: Row) -> Cell | None:
    row, name, count, value, seq = found
    if row[:2] != b"d:":
        return None
    return Cell(row, b"rank", descending(count) + name, seq, rank_value(count, value))


def rank_value(count: int, value: bytes | None) -> bytes:
    """The value of a cell of a ranking; None: the digits of the count."""
    return b"%d" % count if value is None else value
