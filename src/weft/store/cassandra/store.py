"""The cluster as a store: batches in any order of seq, each cell under the timestamp of its batch."""

# ruff: noqa: S608 - names of our own tables

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn, Self

from weft import failpoints
from weft.errors import BatchRefused
from weft.store.api import Batch, Capability, CopiedCell
from weft.store.cassandra.cluster_session import ClusterSession, Request
from weft.store.cassandra.schema import TABLES, Keyspace
from weft.store.cassandra.view import SEQ_COLUMN, CassandraView
from weft.store.cassandra.writing import Lifetimes, copy_groups, write_groups
from weft.store.encoding import cell_key
from weft.store.tables import Table

_SEQ_KEY = cell_key(Table.META.byte, *SEQ_COLUMN)


class CassandraStore(CassandraView):
    """Cells alone: whoever owns the index writes through `RegisteredStore`, so that no batch is ever left in part."""

    capabilities = Capability.ANY_ORDER

    def __init__(self, session: ClusterSession, keyspace: Keyspace, lifetimes: Lifetimes) -> None:
        super().__init__(session, keyspace)
        self._lifetimes = lifetimes
        self._highest = self.complete_to()

    @property
    def last_seq(self) -> int:
        return self._highest

    def write(self, batch: Batch, seq: int) -> None:
        self._check(batch, seq)
        self._session.write(_passing(write_groups(batch.cells, seq, self._placement, self._lifetimes)))
        # Alone and last: who sees it may rely on all the rest.
        self._session.write(write_groups({_SEQ_KEY: b""}, seq, self._placement, self._lifetimes))
        self._highest = max(self._highest, seq)

    def is_empty(self) -> bool:
        return not any(self._session.run(f"SELECT * FROM {table} LIMIT 1") for table in self._tables_of_cells())

    def clear(self) -> None:
        """Empty it at once and for good: a delete of each cell would hide what is written later under lower seqs."""
        for table in self._tables_of_cells():
            self._session.run(f"TRUNCATE {table}")
        self._highest = 0

    def _tables_of_cells(self) -> list[str]:
        return [f"{self._session.address.keyspace}.{table}" for table in TABLES if table != "notes"]

    def copy_in(self, cells: Mapping[bytes, CopiedCell]) -> None:
        notes = {key: cell for key, cell in cells.items() if key[:1] == Table.META.byte}
        others = {key: cell for key, cell in cells.items() if key not in notes}
        for some in (others, notes):
            self._session.write(_passing(copy_groups(some, self._placement, self._lifetimes)))

    def _check(self, batch: Batch, seq: int) -> None:
        if seq < 1:
            raise BatchRefused(self._session.name, f"seq {seq} is not a sequence number; they count from 1")
        if batch.row_ranges:
            raise BatchRefused(self._session.name, "row ranges cannot be deleted in a cluster")

    def refresh(self) -> None:
        """Nothing to do: this view is always current."""

    def snapshot(self) -> NoReturn:
        raise BatchRefused(self._session.name, "a cluster has no snapshots; hold its writer still instead")

    def flush(self) -> None:
        """Nothing to do: the cluster looks after its files."""

    def checkpoint(self, target: Path) -> None:
        raise BatchRefused(self._session.name, f"a cluster is not copied to {target}; use its own snapshots")

    def statistics(self) -> Mapping[str, int]:
        return {"last_seq": self.last_seq}

    def __enter__(self) -> Self:
        return self


def _passing(groups: Iterator[list[Request]]) -> Iterator[list[Request]]:
    for group in groups:
        failpoints.point("store.apply")
        yield group
