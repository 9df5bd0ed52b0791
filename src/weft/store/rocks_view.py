"""Reading RocksDB: the same for the writer and for readers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, cast

from rocksdict import Rdict, RdictIter

from weft.store.api import Cell, Column, Walked
from weft.store.directory import store_id
from weft.store.encoding import after, cell_key, family_key, row_key, rows_key, split_key
from weft.store.rocks_options import translated
from weft.store.tables import Table
from weft.store.values import split_value, value_of

LAST_SEQ = cell_key(Table.META.byte, b"seq", b"", b"")
"""An empty cell whose own seq is the highest in the store: written with every batch."""

_BLOCK: Final = 1000
"""Cells that a walk gives at once."""


class RocksView:
    """A Reader over an open database."""

    def __init__(self, path: Path, database: Rdict) -> None:
        self._path, self._database = path, database

    @property
    def id(self) -> str:
        return store_id(self._path)

    @property
    def last_seq(self) -> int:
        stored = self._look_up([LAST_SEQ])[0]
        return split_value(stored)[0] if stored else 0

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        stored = self._look_up([cell_key(table.byte, *column) for column in columns])
        return [Cell(*c, *split_value(s)) if s is not None else None for c, s in zip(columns, stored, strict=True)]

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
        whole = row_key(table.byte, row) if family is None else family_key(table.byte, row, family)
        begin = None if start is None else whole + start
        return islice((self._backward if reverse else self._forward)(whole + prefix, begin), limit)

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        every, begin = _row_bounds(table, prefix, start)
        end = after(every)
        iterator = self._database.iter()
        iterator.seek(begin)
        while iterator.valid() and (key := iterator.key()) < end:
            row = split_key(key)[1]
            yield row
            iterator.seek(after(row_key(table.byte, row)))
        self._check(iterator.status)

    def column(
        self, table: Table, prefix: bytes, family: bytes, qualifier: bytes, *, start: bytes | None = None
    ) -> Iterator[Cell]:
        for row in self.rows(table, prefix, start=start):
            yield from filter(None, self.get(table, [Column(row, family, qualifier)]))

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        if not reverse:
            return self._forward(*_row_bounds(table, prefix, start))
        return self._backward(
            rows_key(table.byte, prefix), None if start is None else after(row_key(table.byte, start))
        )

    def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
        cells = self._forward(rows_key(table.byte, prefix), start)
        while block := list(islice(cells, _BLOCK)):
            yield Walked(block, cell_key(table.byte, *block[-1][:3]) + b"\0")

    def encoded_rows(self, table: Table, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        begin = rows_key(table.byte, prefix)
        iterator = self._database.iter()
        iterator.seek(begin)
        key, value, advance = iterator.key, iterator.value, iterator.next
        while iterator.valid() and (found := key()).startswith(begin):
            yield found, value_of(value())
            advance()
        self._check(iterator.status)

    def refresh(self) -> None:
        """Nothing to do: the writer sees what it wrote."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _look_up(self, keys: list[bytes]) -> list[bytes | None]:
        # One by one: RocksDB's own way of getting many takes three times as long for what is in memory.
        get = self._database.get
        return cast("list[bytes | None]", self._check(lambda: [get(key) for key in keys]))

    # RdictIter, not `items()`: only the former tells when it stopped because a block is damaged. And no bounds in
    # ReadOptions: rocksdict 0.3.29 frees an upper bound before the iterator that uses it, and takes a lower one for
    # an upper one.

    def _forward(self, prefix: bytes, begin: bytes | None) -> Iterator[Cell]:
        iterator = self._database.iter()
        iterator.seek(prefix if begin is None else max(prefix, begin))
        return self._walk(iterator, iterator.next, prefix)

    def _backward(self, prefix: bytes, begin: bytes | None) -> Iterator[Cell]:
        iterator = self._database.iter()
        end = after(prefix)
        iterator.seek_for_prev(end if begin is None else min(end, begin))
        if iterator.valid() and iterator.key() >= end:
            iterator.prev()
        return self._walk(iterator, iterator.prev, prefix)

    def _walk(self, iterator: RdictIter, advance: Callable[[], None], prefix: bytes) -> Iterator[Cell]:
        while iterator.valid() and (key := iterator.key()).startswith(prefix):
            _, row, family, qualifier = split_key(key)
            yield Cell(row, family, qualifier, *split_value(iterator.value()))
            advance()
        self._check(iterator.status)

    def _check(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            raise translated(self._path, error) from error


def _row_bounds(table: Table, prefix: bytes, start: bytes | None) -> tuple[bytes, bytes]:
    every = rows_key(table.byte, prefix)
    return every, every if start is None else max(every, row_key(table.byte, start))
