"""One short hash for all that the link index says."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct
from typing import Final

from weft.linkindex import keys
from weft.linkindex.derived import DERIVED, PAGES
from weft.store.api import Cell, Reader
from weft.store.tables import Table

_HEAD: Final = Struct("<cQQQQ")
"""Table, and the length of row, family, qualifier and value: no byte can pass from one to the next."""


def digest(reader: Reader) -> str:
    """The same for two stores with the same pages and derived cells, however and in whatever order they came about.

    Seqs, versions, times, texts, changes and markers are left aside.
    """
    state = blake2b(digest_size=16)
    for table, cell in _hashed_cells(reader):
        row, family, qualifier, _, value = cell
        head = _HEAD.pack(table.byte, len(row), len(family), len(qualifier), len(value))
        state.update(b"".join((head, row, family, qualifier, value)))
    return state.hexdigest()


def _hashed_cells(reader: Reader) -> Iterator[tuple[Table, Cell]]:
    for cell in reader.scan_rows(Table.FLUO, PAGES):
        if cell.family == keys.PAGE and cell.qualifier == keys.CUR:
            yield Table.FLUO, cell
    for table, prefix in DERIVED:
        for cell in reader.scan_rows(table, prefix):
            yield table, cell
