"""The store's promise: tables of rows, rows of sorted cells, and the higher sequence number wins.

A batch is atomic per row and carries one sequence number (seq). Where two batches write one cell the higher seq stands;
at one seq a delete wins over a put, and the larger of two values. Writing the same batch again changes nothing.
What an engine promises beyond that, it names in `capabilities`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Flag, auto
from pathlib import Path
from typing import NamedTuple, Protocol, Self, runtime_checkable

from weft.store.encoding import END, cell_key, row_key
from weft.store.tables import Table


class Column(NamedTuple):
    """Where a cell is within its table."""

    row: bytes
    family: bytes = b""
    qualifier: bytes = b""


class Cell(NamedTuple):
    """One value of a table and the seq that wrote it."""

    row: bytes
    family: bytes
    qualifier: bytes
    seq: int
    value: bytes


class CopiedCell(NamedTuple):
    """What a cell holds, without its place."""

    seq: int
    value: bytes


class Walked(NamedTuple):
    """Some cells of a walk."""

    cells: Sequence[Cell]
    position: bytes
    """A walk that starts here gives all that come later, and perhaps some of these again."""


class Capability(Flag):
    """What an engine can do beyond the promise."""

    ANY_ORDER = auto()
    """Batches may arrive in any order of seq. Without it each seq must be above the last one."""
    ATOMIC = auto()
    """A batch is atomic across rows and tables, and a snapshot sees whole batches only."""
    DELETE_ROWS = auto()
    """A batch may delete a range of rows at a cost that does not grow with the range."""
    EXPIRES = auto()
    """Table CHANGES drops by itself what was kept long enough: nobody should look for its oldest cells."""


class RowRange(NamedTuple):
    """The rows from `first` up to, not including, `end`; `end` None means to the table's end."""

    table: Table
    first: bytes
    end: bytes | None


class Batch:
    """Puts and deletes that take effect together, under one seq.

    The order of calls does not matter: a delete beats a put of the same cell, and row-range deletes come before
    everything else. Cells added in key order are written fastest.
    """

    __slots__ = ("cells", "row_ranges")

    def __init__(self, encoded: dict[bytes, bytes | None] | None = None) -> None:
        self.cells: dict[bytes, bytes | None] = {} if encoded is None else encoded
        """Encoded key -> value, or None for a delete. Add to it through the methods."""
        self.row_ranges: list[RowRange] = []

    def put(self, table: Table, row: bytes, family: bytes, qualifier: bytes, value: bytes) -> None:
        # cell_key, written out where nothing needs escaping: every cell of every table passes here.
        if 0 in row or 0 in family:
            key = cell_key(table.byte, row, family, qualifier)
        else:
            key = b"".join((table.byte, row, END, family, END, qualifier))
        if self.cells.setdefault(key, value) is not value:
            self._merge(key, value)

    def delete(self, table: Table, row: bytes, family: bytes, qualifier: bytes) -> None:
        self.cells[cell_key(table.byte, row, family, qualifier)] = None

    def add(self, encoded: Mapping[bytes, bytes | None]) -> None:
        """Add many cells whose keys are encoded already (see `weft.store.encoding`); None deletes."""
        if self.cells.keys().isdisjoint(encoded):
            self.cells.update(encoded)
            return
        for key, value in encoded.items():
            self._merge(key, value)

    def delete_rows(self, table: Table, first: bytes, end: bytes | None) -> None:
        """Delete every cell of the rows in [first, end); needs Capability.DELETE_ROWS."""
        self.row_ranges.append(RowRange(table, first, end))

    def _merge(self, key: bytes, value: bytes | None) -> None:
        other = self.cells.setdefault(key, value)
        if value is None or (other is not None and value > other):
            self.cells[key] = value

    def __bool__(self) -> bool:
        return bool(self.cells or self.row_ranges)


class Reader(Protocol):
    """A view of the store that holds still between two calls of `refresh`, where the engine can."""

    @property
    def id(self) -> str:
        """What names this store for good, wherever it is moved or reached from."""
        ...

    @property
    def last_seq(self) -> int:
        """The highest seq that this view has seen; 0 in an empty store."""
        ...

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        """The cells at these columns, in their order; None where there is none."""
        ...

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
        """One row's cells in column order, or of one family those whose qualifier begins with `prefix`.

        `start` is the qualifier to begin at, inclusive, in the scan's direction. `prefix` and `start` need a family.
        """
        ...

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        """The names of the rows that begin with `prefix`, in order from `start` on; a step a row, however wide."""
        ...

    def column(
        self, table: Table, prefix: bytes, family: bytes, qualifier: bytes, *, start: bytes | None = None
    ) -> Iterator[Cell]:
        """This cell of every row that begins with `prefix` and has it, in order of rows, from row `start` on."""
        ...

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        """Every cell of the rows that begin with `prefix`, in order, from row `start` on, in either direction."""
        ...

    def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
        """Every cell of the rows that begin with `prefix`, each once, in whatever order is cheapest, in blocks.

        `start` is the position that came with a block of an earlier walk over the same cells, if they are unchanged.
        """
        ...

    def encoded_rows(self, table: Table, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Like scan_rows, as encoded keys and values: for those who walk over everything."""
        ...

    def refresh(self) -> None:
        """Move the view to what is committed now."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Store(Reader, Protocol):
    """The store as its writer has it: always current."""

    @property
    def capabilities(self) -> Capability: ...

    def write(self, batch: Batch, seq: int) -> None:
        """Apply `batch` durably; once this returns, no crash undoes it.

        After StoreUnwritable the batch may or may not be in; open the store again and ask for `last_seq`.
        """
        ...

    def snapshot(self) -> Reader:
        """A view of this moment that later writes do not change; needs Capability.ATOMIC. Close it."""
        ...

    def flush(self) -> None:
        """Move what is in memory into sorted files (it is durable without that)."""
        ...

    def checkpoint(self, target: Path) -> None:
        """Make a copy of the store at `target`, which must not exist; it appears whole or not at all."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Counts and sizes in bytes, for status pages."""
        ...


@runtime_checkable
class CopyStore(Store, Protocol):
    """A store that takes over the cells of another one."""

    def is_empty(self) -> bool:
        """Whether it holds no cell."""
        ...

    def copy_in(self, cells: Mapping[bytes, CopiedCell]) -> None:
        """Write cells under their own seqs, by encoded keys; durable when this returns. Repeating it is harmless.

        Cells of table META are written last: who finds them may rely on the others. `last_seq` stays as it is.
        """
        ...


@runtime_checkable
class BulkStore(Store, Protocol):
    """A store that also takes more in one step than memory holds."""

    def ingest(self, cells: Iterable[tuple[bytes, bytes | None]], seq: int, directory: Path) -> None:
        """Apply `cells` as one atomic batch of any size; once this returns, no crash undoes it.

        Encoded keys in strictly ascending order, each with its value or None for a delete. Sorted files are made in
        `directory` first, which should be on the store's disk; those that a kill leaves there, the next ingest removes.
        If that fails, the store is as it was and may go on. After StoreUnwritable see `write`.
        """
        ...

    def building(
        self, seq: int, directory: Path, notes: Mapping[bytes, bytes | None]
    ) -> AbstractContextManager[CellParts]:
        """Like `ingest`, for cells that come as several ordered streams at once; they are taken in when the block ends.

        `notes` are the cells of table META; no part may hold any. Leaving by an exception leaves the store as it was.
        """
        ...


class CellPart(Protocol):
    def write(self, cells: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add cells, in strictly ascending order of keys over all calls."""
        ...

    def write_columns(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        """The same for cells in two lists, without an object for each of them."""
        ...


class CellParts(Protocol):
    """The streams of one ingest; the ranges of their keys must not overlap."""

    def part(self) -> CellPart: ...


def range_keys(rows: RowRange) -> tuple[bytes, bytes]:
    """First key of a range of rows, and the first key after it."""
    first = row_key(rows.table.byte, rows.first)
    if rows.end is None:
        return first, bytes([rows.table.byte[0] + 1])
    return first, row_key(rows.table.byte, rows.end)
