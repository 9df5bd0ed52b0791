"""One short hash for all that the link index says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Final

from weft.linkindex import keys
from weft.linkindex.derived import DERIVED, PAGES
from weft.store.api import Cell, Reader
from weft.store.tables import Table

_HEAD: Final = Struct("<cQQQQ")
"""Table, and the length of row, family, qualifier and value: no byte can pass from one to the next."""
_BYTES: Final = 32
"""Of the hash of one cell. Hashes are added, so that cells may come in any order: a cluster has no cheap one."""


def digest(reader: Reader) -> str:
    """The same for two stores with the same pages and derived cells, however and in whatever order they came about.

    Seqs, versions, times, texts, changes and markers are left aside.
    """
    total = cells = 0
    pack = _HEAD.pack
    for table, block in _hashed_cells(reader):
        for row, family, qualifier, _, value in block:
            head = pack(table.byte, len(row), len(family), len(qualifier), len(value))
            whole = b"".join((head, row, family, qualifier, value))
            total += int.from_bytes(blake2b(whole, digest_size=_BYTES).digest())
        cells += len(block)
    summed = (total % (1 << 8 * _BYTES)).to_bytes(_BYTES)
    return blake2b(summed + cells.to_bytes(8), digest_size=16).hexdigest()


def _hashed_cells(reader: Reader) -> Iterator[tuple[Table, Sequence[Cell]]]:
    """A table at a time, not a prefix: in a cluster it is the number of partitions asked that takes time."""
    for table in dict.fromkeys(table for table, _ in DERIVED):
        rows = tuple(prefix for derived, prefix in DERIVED if derived is table)
        for walked in reader.walk(table):
            yield table, [cell for cell in walked.cells if cell.row.startswith(rows) or _is_page(table, cell)]


def _is_page(table: Table, cell: Cell) -> bool:
    return table is Table.FLUO and cell.row.startswith(PAGES) and cell[1:3] == (keys.PAGE, keys.CUR)
