"""The store in dicts: what the promise means, in the plainest words, and the twin that tests run against."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

from weft.errors import BatchRefused
from weft.store.api import Batch, Capability, Cell, Column, CopiedCell, RowRange, Walked
from weft.store.encoding import cell_key, split_key
from weft.store.tables import Table


class _Version(NamedTuple):
    """Compares as the promise says: by seq, then a delete above a put, then the larger value."""

    seq: int
    is_delete: bool
    value: bytes


class _Rows:
    """One table: versions by column, and the columns in order. Deletes stay, so that a late older put loses."""

    def __init__(self) -> None:
        self.versions: dict[Column, _Version] = {}
        self.order: list[Column] = []
        self.deleted: list[tuple[RowRange, int]] = []

    def offer(self, column: Column, version: _Version) -> None:
        known = self.versions.get(column)
        if known is None:
            insort(self.order, column)
        if known is None or version > known:
            self.versions[column] = version

    def cell(self, column: Column) -> Cell | None:
        version = self.versions.get(column)
        if version is None or version.is_delete or self._is_deleted(column.row, version.seq):
            return None
        return Cell(*column, version.seq, version.value)

    def _is_deleted(self, row: bytes, seq: int) -> bool:
        return any(
            seq < range_seq and rows.first <= row and (rows.end is None or row < rows.end)
            for rows, range_seq in self.deleted
        )

    def all(self) -> Iterator[Cell]:
        return (cell for column in self.order if (cell := self.cell(column)) is not None)

    def of_row(self, row: bytes) -> Iterator[Cell]:
        for column in self.order[bisect_left(self.order, Column(row)) :]:
            if column.row != row:
                return
            cell = self.cell(column)
            if cell is not None:
                yield cell


class MemoryStore:
    """Takes batches in any order of seq; every batch is atomic."""

    capabilities = Capability.ANY_ORDER | Capability.ATOMIC | Capability.DELETE_ROWS

    def __init__(self) -> None:
        self._tables: defaultdict[Table, _Rows] = defaultdict(_Rows)
        self._last_seq = 0

    @property
    def id(self) -> str:
        return "memory"

    @property
    def last_seq(self) -> int:
        return self._last_seq

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        return [self._tables[table].cell(Column(*column)) for column in columns]

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
        wanted = [
            cell
            for cell in self._tables[table].of_row(row)
            if (family is None or cell.family == family) and cell.qualifier.startswith(prefix)
        ]
        if start is not None:
            wanted = [c for c in wanted if (c.qualifier <= start if reverse else c.qualifier >= start)]
        return iter((wanted[::-1] if reverse else wanted)[:limit])

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        return iter(dict.fromkeys(cell.row for cell in self.scan_rows(table, prefix, start=start)))

    def column(
        self, table: Table, prefix: bytes, family: bytes, qualifier: bytes, *, start: bytes | None = None
    ) -> Iterator[Cell]:
        found = self.scan_rows(table, prefix, start=start)
        return (cell for cell in found if (cell.family, cell.qualifier) == (family, qualifier))

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        wanted = [cell for cell in self._tables[table].all() if cell.row.startswith(prefix)]
        if start is not None:
            wanted = [cell for cell in wanted if (cell.row <= start if reverse else cell.row >= start)]
        return iter(wanted[::-1] if reverse else wanted)

    def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
        for cell in self.scan_rows(table, prefix):
            key = cell_key(table.byte, *cell[:3])
            if key >= start:
                yield Walked([cell], key + b"\0")

    def encoded_rows(self, table: Table, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        for row, family, qualifier, _, value in self.scan_rows(table, prefix):
            yield cell_key(table.byte, row, family, qualifier), value

    def write(self, batch: Batch, seq: int) -> None:
        if seq < 1:
            raise BatchRefused("memory", f"seq {seq} is not a sequence number; they count from 1")
        for rows in batch.row_ranges:
            self._tables[rows.table].deleted.append((rows, seq))
        for key, value in batch.cells.items():
            table, *column = split_key(key)
            self._tables[Table(table)].offer(Column(*column), _Version(seq, value is None, value or b""))
        self._last_seq = max(self._last_seq, seq)

    def is_empty(self) -> bool:
        return not any(rows.versions for rows in self._tables.values())

    def copy_in(self, cells: Mapping[bytes, CopiedCell]) -> None:
        for key, (seq, value) in cells.items():
            table, *column = split_key(key)
            self._tables[Table(table)].offer(Column(*column), _Version(seq, False, value))

    def snapshot(self) -> MemoryStore:
        view = MemoryStore()
        view._tables, view._last_seq = deepcopy(self._tables), self._last_seq
        return view

    def refresh(self) -> None:
        """Nothing to do: this view is always current."""

    def flush(self) -> None:
        """Nothing to do: there are no files."""

    def checkpoint(self, target: Path) -> None:
        raise BatchRefused("memory", f"a store in memory has no files to copy to {target}")

    def statistics(self) -> Mapping[str, int]:
        cells = sum(1 for rows in self._tables.values() for _ in rows.all())
        return {"last_seq": self._last_seq, "cells": cells}

    def close(self) -> None:
        """Nothing to do: there are no files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class LateMemoryStore(MemoryStore):
    """Delivers the row parts of batches late, twice and out of order, as a cluster may; `settle` delivers the rest."""

    capabilities = Capability.ANY_ORDER

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._under_way: list[tuple[Batch, int]] = []

    def write(self, batch: Batch, seq: int) -> None:
        if batch.row_ranges:
            raise BatchRefused("memory", "row ranges cannot be deleted here: batches come in any order")
        parts = [(part, seq) for part in _by_row(batch)]
        self._under_way += parts + self._random.sample(parts, len(parts) // 2)
        self._deliver(self._random.randrange(len(self._under_way) + 1))

    def settle(self) -> None:
        self._deliver(len(self._under_way))

    def _deliver(self, count: int) -> None:
        self._random.shuffle(self._under_way)
        for part, seq in self._under_way[:count]:
            super().write(part, seq)
        del self._under_way[:count]


def _by_row(batch: Batch) -> list[Batch]:
    parts: defaultdict[tuple[bytes, bytes], Batch] = defaultdict(Batch)
    for key, value in batch.cells.items():
        table, row, _, _ = split_key(key)
        parts[table, row].cells[key] = value
    return list(parts.values())
