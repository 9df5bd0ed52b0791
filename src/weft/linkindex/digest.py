"""One short hash for all that the link index says."""

from __future__ import annotations

from collections.abc import Sequence
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
DIGESTED: Final = tuple(dict.fromkeys(table for table, _ in DERIVED))
"""Tables that hold what the digest is of."""


class CellSum:
    """A hash of cells that come in any order; their seqs are left aside."""

    def __init__(self) -> None:
        self._total = self._cells = 0

    def add(self, table: Table, cells: Sequence[Cell]) -> None:
        pack, total = _HEAD.pack, 0
        for row, family, qualifier, _, value in cells:
            head = pack(table.byte, len(row), len(family), len(qualifier), len(value))
            whole = b"".join((head, row, family, qualifier, value))
            total += int.from_bytes(blake2b(whole, digest_size=_BYTES).digest())
        self._total += total
        self._cells += len(cells)

    def hexdigest(self) -> str:
        summed = (self._total % (1 << 8 * _BYTES)).to_bytes(_BYTES)
        return blake2b(summed + self._cells.to_bytes(8), digest_size=16).hexdigest()


def digest(reader: Reader) -> str:
    """The same for two stores with the same pages and derived cells, however and in whatever order they came about.

    Seqs, versions, times, texts, changes and markers are left aside.
    """
    found = CellSum()
    # A table at a time, not a prefix: in a cluster it is the number of partitions asked that takes time.
    for table in DIGESTED:
        for walked in reader.walk(table):
            found.add(table, digested(table, walked.cells))
    return found.hexdigest()


def digested(table: Table, cells: Sequence[Cell]) -> list[Cell]:
    """Those of them that the digest is of."""
    rows = tuple(prefix for derived, prefix in DERIVED if derived is table)
    return [cell for cell in cells if cell.row.startswith(rows) or _is_page(table, cell)]


def _is_page(table: Table, cell: Cell) -> bool:
    return table is Table.FLUO and cell.row.startswith(PAGES) and cell[1:3] == (keys.PAGE, keys.CUR)
