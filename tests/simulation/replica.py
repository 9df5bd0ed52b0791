"""One replica: rows of cells with timestamps. The higher one stands; a delete wins a tie, else the larger value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

Partition = tuple[str, tuple[Any, ...]]
"""Table, and the values of its partition key."""
Clustering = tuple[Any, ...]


class StoredRow(NamedTuple):
    """Never changed: what is written is merged in."""

    cells: Mapping[str, tuple[int, Any]]
    """Column -> timestamp and value; those that the delete covers are left out."""
    deleted: int = -1
    """Timestamp of the row's delete; -1: none."""
    deleted_at: int = -1
    """The step in which it was asked for: from then on counts gc_grace."""

    def merged(self, other: StoredRow) -> StoredRow:
        if other is self or other == self:
            return self
        deleted, deleted_at = max(self[1:], other[1:])
        cells = dict(self.cells)
        for column, cell in other.cells.items():
            known = cells.get(column)
            if known is None or cell > known:
                cells[column] = cell
        if deleted >= 0:
            cells = {column: cell for column, cell in cells.items() if cell[0] > deleted}
        return StoredRow(cells, deleted, deleted_at)

    def without_old_delete(self, before: int) -> StoredRow:
        return self if self.deleted_at >= before else StoredRow(self.cells)


NOTHING: Final = StoredRow({})


class Mutation(NamedTuple):
    """What a request or a group of them writes in one partition of all tables; a replica takes it in whole."""

    parts: Mapping[Partition, Mapping[Clustering, StoredRow]]


class Replica:
    def __init__(self) -> None:
        self.partitions: dict[Partition, dict[Clustering, StoredRow]] = {}

    def take(self, mutation: Mutation) -> None:
        for partition, part in mutation.parts.items():
            rows = self.partitions.setdefault(partition, {})
            for clustering, written in part.items():
                known = rows.get(clustering)
                rows[clustering] = written if known is None else known.merged(written)

    def rows(self, partition: Partition) -> dict[Clustering, StoredRow]:
        return self.partitions.get(partition, {})

    def purge(self, before: int) -> int:
        """Forget deletes that were asked for before that step; returns how many."""
        purged = 0
        for rows in self.partitions.values():
            for clustering, row in list(rows.items()):
                if 0 <= row.deleted_at < before:
                    purged += 1
                    rows[clustering] = row.without_old_delete(before)
                    if not row.cells:
                        del rows[clustering]
        return purged
