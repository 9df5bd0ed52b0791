"""Every cell of a table, partition after partition: who needs no order should not pay for a merge of them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from weft.store.api import Cell
from weft.store.cassandra.cluster_session import ClusterSession, Request, Row
from weft.store.cassandra.columns import PAGE_CUR, meets, of_tables, row_range, split_column
from weft.store.cassandra.packing import unpacked
from weft.store.cassandra.placement import Placement
from weft.store.cassandra.statements import Statement
from weft.store.encoding import descending
from weft.store.tables import Table

PAGE: Final = 2_000
"""Rows that one answer of the cluster holds."""
_AHEAD: Final = 32
"""Partitions that are asked for before they are wanted; most are small, so it is the asking that takes time."""


class Walk:
    def __init__(self, session: ClusterSession, placement: Placement) -> None:
        self._session, self._placement = session, placement

    def cells(self, table: Table, prefix: bytes) -> Iterator[Cell]:
        yield from self._plain(table, prefix)
        if table is Table.LINKS and meets(prefix, b"n:"):
            yield from self._near(prefix)
        for kind in (b"p:", b"r:", b"t:"):
            if meets(prefix, kind):
                yield from self._global_ranking(table, kind, prefix)
        if table is Table.QUERY and meets(prefix, b"d:"):
            yield from self._domain_rankings(prefix)
        if table is Table.QUERY and meets(prefix, b"p:"):
            pages = self._plain(Table.FLUO, prefix if len(prefix) > 2 else b"p:")
            yield from (cell for cell in pages if cell[1:3] == PAGE_CUR)

    def _plain(self, table: Table, prefix: bytes) -> Iterator[Cell]:
        first, end = row_range(table, prefix, None)
        requests = (
            Request(statement, (*partition, first, end), PAGE)
            for partition in self._placement.of_rows(table, prefix)
            for statement in of_tables(table, Statement.WALK_CELLS, Statement.WALK_HISTORY)
        )
        for row, name, value, seq in self._rows(requests):
            yield Cell(row[1:], *split_column(name), seq, unpacked(value))

    def _near(self, prefix: bytes) -> Iterator[Cell]:
        begin = Table.LINKS.byte + prefix
        for row, name, value, seq in self._rows([Request(Statement.WALK_NEAR, (), PAGE)]):
            if row.startswith(begin):
                yield Cell(row[1:], *split_column(name), seq, unpacked(value))

    def _global_ranking(self, table: Table, kind: bytes, prefix: bytes) -> Iterator[Cell]:
        ranking = self._placement.global_ranking(table, kind)
        if ranking is None:
            return
        requests = (Request(Statement.SCAN_RANKS, (ranking.list, *place), PAGE) for place in ranking.partitions)
        for _, name, count, value, seq in self._rows(requests):
            row = kind + descending(count) + name
            if row.startswith(prefix):
                yield Cell(row, b"", b"", seq, rank_value(count, value))

    def _domain_rankings(self, prefix: bytes) -> Iterator[Cell]:
        """In one go: a domain's ranking lies in as many partitions as there are shards, and most domains are small."""
        for row, name, count, value, seq in self._rows([Request(Statement.WALK_RANKS, (), PAGE)]):
            if row[:2] == b"d:" and row.startswith(prefix):
                yield Cell(row, b"rank", descending(count) + name, seq, rank_value(count, value))

    def _rows(self, requests: Iterable[Request]) -> Iterator[Row]:
        """Of one request after the other, the next of them asked for already."""
        remaining = (self._session.pages(request) for request in requests)
        asked = deque(islice(remaining, _AHEAD))
        while asked:
            for page in asked.popleft():
                yield from page
            asked.extend(islice(remaining, 1))


def rank_value(count: int, value: bytes | None) -> bytes:
    """The value of a cell of a ranking; None: the digits of the count."""
    return b"%d" % count if value is None else value
