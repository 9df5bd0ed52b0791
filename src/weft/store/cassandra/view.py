"""Reading a cluster: every scan is a merge of the partitions that its cells may lie in."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Final, Self

from weft.store.api import Cell, Column, Walked
from weft.store.cassandra.cell_session import CellSession, Request, Row
from weft.store.cassandra.columns import (
    PAGE_CUR,
    column_name,
    meets,
    row_range,
    split_column,
    stored_in,
)
from weft.store.cassandra.packing import unpacked
from weft.store.cassandra.placement import Partition, Placement, keeps_with_time
from weft.store.cassandra.rank_reading import RankReader
from weft.store.cassandra.schema import Keyspace
from weft.store.cassandra.statements import Statement
from weft.store.cassandra.walking import PAGE, Walk
from weft.store.encoding import after, cell_key
from weft.store.tables import Table

SEQ_COLUMN: Final = Column(b"seq")
"""Written when all other cells of a batch are in; its own seq is the highest that is complete."""
_END: Final = b"\xff" * 9
"""Above every row and every column: tables begin with a smaller byte, and no family begins with nine of these."""
_AT_ONCE: Final = 100
"""Cells that one request asks for by name."""


class CassandraView:
    """A Reader. Nothing holds still: a batch that is being written may be seen in part."""

    _shows_doubles = False
    """Whether a name that is in two bands of a ranking is shown twice."""

    def __init__(self, session: CellSession, keyspace: Keyspace) -> None:
        self._session, self.keyspace, self._placement = session, keyspace, Placement(keyspace.shards)
        self._ranks = RankReader(session, self._placement, shows_doubles=self._shows_doubles)
        self._seen_seq: int | None = None

    @property
    def id(self) -> str:
        return self.keyspace.id

    @property
    def last_seq(self) -> int:
        if self._seen_seq is None:
            self._seen_seq = self.complete_to()
        return self._seen_seq

    def complete_to(self) -> int:
        """The seq up to which every batch is in whole, at this moment."""
        cell = self.get(Table.META, [SEQ_COLUMN])[0]
        return 0 if cell is None else cell.seq

    # Cells by name

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        places: defaultdict[tuple[Statement, Partition], set[tuple[bytes, bytes]]] = defaultdict(set)
        keys = [self._place(table, Column(*column)) for column in columns]
        ranked = [number for number, key in enumerate(keys) if key is None]
        for key in keys:
            if key is not None:
                places[key[0], key[1]].add(key[2])
        found = self._looked_up(places)
        cells = [self._cell(column, key and found.get(key[2])) for column, key in zip(columns, keys, strict=True)]
        for number in ranked:
            cells[number] = self._ranks.get(table, Column(*columns[number]))
        return cells

    def _place(self, table: Table, column: Column) -> tuple[Statement, Partition, tuple[bytes, bytes]] | None:
        """Which statement finds it, in which partition, under which row and column; None: it is of a ranking."""
        if self._placement.of_ranked(table, *column) is not None:
            return None
        table = stored_in(table, column)
        row, name = table.byte + column.row, column_name(column.family, column.qualifier)
        statement = Statement.GET_HISTORY if keeps_with_time(table) else Statement.GET_CELLS
        return statement, self._placement.of_cell(table, *column), (row, name)

    def _looked_up(self, places: dict[tuple[Statement, Partition], set[tuple[bytes, bytes]]]) -> dict[Any, Row]:
        requests = [
            Request(statement, (*partition, some))
            for (statement, partition), names in places.items()
            for some in _parts(sorted(names), _AT_ONCE)
        ]
        return {(row[0], row[1]): row for rows in self._session.read(requests) for row in rows}

    def _cell(self, column: Column, found: Row | None) -> Cell | None:
        return None if found is None else Cell(*column, found[3], unpacked(found[2]))

    # Cells of a row

    def scan(
        self,
        table: Table,
        row: bytes,
        family: bytes | None = None,
        *,
        prefix: bytes = b"",
        start: bytes | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Cell]:
        if family is None and (prefix or start is not None):
            raise ValueError("prefix and start choose qualifiers of one family: name the family")
        if limit == 0:
            return iter(())
        if table is Table.QUERY and row[:2] == b"d:" and family in (None, b"rank"):
            cells = self._scan_domain(row, family, prefix, start, reverse=reverse)
        elif self._placement.of_ranked(table, row, b"", b"") is not None:
            cells = self._scan_ranked_row(table, row, family, prefix)
        else:
            cells = self._scan_cells(table, row, family, prefix, start, limit, reverse=reverse)
        return islice(cells, limit)

    def _scan_cells(
        self,
        table: Table,
        row: bytes,
        family: bytes | None,
        prefix: bytes,
        start: bytes | None,
        limit: int | None,
        *,
        reverse: bool,
    ) -> Iterator[Cell]:
        first, end = _column_range(family, prefix, start, reverse=reverse)
        streams = list[Iterator[Cell]]()
        partitions = self._placement.of_family(table, row, family)
        page = _page_size(limit, len(partitions))
        statement = _row_scan(table, reverse=reverse)
        for place in partitions:
            request = Request(statement, (*place, table.byte + row, first, end), page)
            streams.append(self._cells(self._session.pages(request)))
        if table is Table.QUERY and row[:2] == b"p:" and family in (None, b"page"):
            streams.append(self._shared_cur(row, first, end))
        return _merged(streams, reverse=reverse)

    def _shared_cur(self, row: bytes, first: bytes, end: bytes) -> Iterator[Cell]:
        """What a page says is stored once, with the state of the link index."""
        if first <= column_name(*PAGE_CUR) < end:
            cell = self.get(Table.QUERY, [Column(row, *PAGE_CUR)])[0]
            if cell is not None:
                yield cell

    def _scan_domain(
        self, row: bytes, family: bytes | None, prefix: bytes, start: bytes | None, *, reverse: bool
    ) -> Iterator[Cell]:
        cells = self._scan_cells(Table.QUERY, row, None, b"", None, None, reverse=reverse) if family is None else ()
        ranks = self._ranks.of_domain(row, start, reverse=reverse)
        if prefix:
            ranks = (cell for cell in ranks if cell.qualifier.startswith(prefix))
        return _merged([iter(cells), ranks], reverse=reverse)

    def _scan_ranked_row(self, table: Table, row: bytes, family: bytes | None, prefix: bytes) -> Iterator[Cell]:
        cell = self._ranks.get(table, Column(row)) if not family and not prefix else None
        return iter(() if cell is None else (cell,))

    # Many rows

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        streams = [self._rows_of_cells(table, prefix, start), *self._rows_of_rankings(table, prefix, start)]
        return (row for row, _ in groupby(heapq.merge(*streams)))

    def _rows_of_cells(self, table: Table, prefix: bytes, start: bytes | None) -> Iterator[bytes]:
        first, end = row_range(table, prefix, start)
        streams = list[Iterator[bytes]]()
        for partition in self._placement.of_rows(table, prefix):
            statement = Statement.ROWS_OF_HISTORY if keeps_with_time(table) else Statement.ROWS_OF_CELLS
            pages = self._session.pages(Request(statement, (*partition, first, end), PAGE))
            streams.append(row[0][1:] for page in pages for row in page)
        return heapq.merge(*streams)

    def _rows_of_rankings(self, table: Table, prefix: bytes, start: bytes | None) -> Iterator[Iterator[bytes]]:
        for kind in (b"p:", b"r:", b"t:"):
            ranking = self._placement.global_ranking(table, kind)
            if ranking is not None and meets(prefix, kind):
                yield (cell.row for cell in self._ranks.over_everything(kind, ranking, prefix, start, reverse=False))
        if table is Table.QUERY and meets(prefix, b"d:"):
            yield iter(self._ranks.domains(prefix, start))

    def column(
        self, table: Table, prefix: bytes, family: bytes, qualifier: bytes, *, start: bytes | None = None
    ) -> Iterator[Cell]:
        partitions = self._placement.of_column(table, prefix, family)
        if partitions is None:
            found = self.scan_rows(table, prefix, start=start)
        else:
            found = self._walk_partitions(table, partitions, prefix, start)
        return (cell for cell in found if (cell.family, cell.qualifier) == (family, qualifier))

    def _walk_partitions(
        self, table: Table, partitions: Sequence[Partition], prefix: bytes, start: bytes | None
    ) -> Iterator[Cell]:
        bounds = row_range(table, prefix, start)
        requests = (Request(Statement.WALK_CELLS, (*place, *bounds), PAGE) for place in partitions)
        return _merged([self._cells(self._session.pages(request)) for request in requests], reverse=False)

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        streams = [self._walk_cells(table, prefix, start, reverse=reverse)]
        for kind in (b"p:", b"r:", b"t:"):
            ranking = self._placement.global_ranking(table, kind)
            if ranking is not None and meets(prefix, kind):
                streams.append(self._ranks.over_everything(kind, ranking, prefix, start, reverse=reverse))
        if table is Table.QUERY and meets(prefix, b"d:"):
            streams.append(self._ranks.of_all_domains(prefix, start, reverse=reverse))
        if table is Table.QUERY and meets(prefix, b"p:"):
            streams.append(self._walk_curs(prefix, start, reverse=reverse))
        return _merged(streams, reverse=reverse)

    def _walk_cells(self, table: Table, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        first, end = row_range(table, prefix, start, reverse=reverse)
        statement = Statement.WALK_CELLS_BACKWARDS if reverse else Statement.WALK_CELLS
        if keeps_with_time(table):
            statement = Statement.WALK_HISTORY_BACKWARDS if reverse else Statement.WALK_HISTORY
        streams = [
            self._cells(self._session.pages(Request(statement, (*partition, first, end), PAGE)))
            for partition in self._placement.of_rows(table, prefix)
        ]
        return _merged(streams, reverse=reverse)

    def _walk_curs(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        narrowed = prefix if len(prefix) > 2 else b"p:"
        found = self._walk_cells(Table.FLUO, narrowed, start, reverse=reverse)
        return (cell for cell in found if (cell.family, cell.qualifier) == PAGE_CUR)

    def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
        return Walk(self._session, self._placement).blocks(table, prefix, start)

    def encoded_rows(self, table: Table, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        for row, family, qualifier, _, value in self.scan_rows(table, prefix):
            yield cell_key(table.byte, row, family, qualifier), value

    def refresh(self) -> None:
        """Every answer is of its own moment; only `last_seq` holds still in between, also if the cluster is away."""
        self._seen_seq = self.complete_to()

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _cells(self, pages: Iterable[list[Row]]) -> Iterator[Cell]:
        for page in pages:
            for row, name, value, seq in page:
                yield Cell(row[1:], *split_column(name), seq, unpacked(value))


def _row_scan(table: Table, *, reverse: bool) -> Statement:
    if keeps_with_time(table):
        return Statement.SCAN_HISTORY_BACKWARDS if reverse else Statement.SCAN_HISTORY
    return Statement.SCAN_CELLS_BACKWARDS if reverse else Statement.SCAN_CELLS


def _column_range(family: bytes | None, prefix: bytes, start: bytes | None, *, reverse: bool) -> tuple[bytes, bytes]:
    """First column, and the first one after the last, whatever the direction."""
    if family is None:
        return b"", _END
    whole = column_name(family, b"")
    first, end = whole + prefix, after(whole + prefix)
    if start is None:
        return first, end
    return (first, min(end, whole + start + b"\x00")) if reverse else (max(first, whole + start), end)


def _page_size(limit: int | None, partitions: int) -> int:
    return PAGE if limit is None else min(PAGE, limit, limit // partitions * 2 + 16)


def _by_column(cell: Cell) -> tuple[bytes, bytes, bytes]:
    return cell[:3]


def _merged(streams: Sequence[Iterator[Cell]], *, reverse: bool) -> Iterator[Cell]:
    return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_by_column, reverse=reverse)


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]
