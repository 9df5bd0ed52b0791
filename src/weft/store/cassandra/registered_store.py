"""The store as the owner of a cluster's index writes it: a batch is registered before the first of its cells is sent.

Whoever takes over writes the last registered batch again, with its own seq, before anything else; so a batch that was
begun is whole before anybody reads to decide. A process that was replaced without knowing it cannot register, and can
only repeat what is registered: writing the same cells under the same seq changes nothing.

Rows that follow from others are neither registered nor sent, but remembered: a new owner makes them again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from weft import failpoints
from weft.errors import BatchRefused
from weft.store.api import Batch, Capability, Cell, Column, Reader
from weft.store.cassandra.placement import REMEMBERED, is_remembered
from weft.store.cassandra.registry import Registry, decode_batch, encode_batch
from weft.store.cassandra.remembered_rows import RememberedRows
from weft.store.cassandra.store import CassandraStore
from weft.store.tables import Table

Remembered = Callable[[Reader], Iterable[tuple[bytes, bytes | None]]]
"""Makes the rows that are remembered, as encoded cells, from all that is stored."""
_KEY = Table.LINKS.byte + REMEMBERED


class RegisteredStore(CassandraStore):
    capabilities = Capability.EXPIRES

    def own(self, registry: Registry, remembered: Remembered) -> RegisteredStore:
        """Take the index over. Afterwards all that was ever begun is in."""
        self._registry = registry
        taken = registry.take()
        self._epoch = taken.epoch
        if taken.seq:
            super().write(decode_batch(taken.batch, self._session.address), taken.seq)
        self._highest = taken.seq
        self._memory = RememberedRows()
        self._memory.apply(remembered(self), taken.seq)
        return self

    def write(self, batch: Batch, seq: int) -> None:
        self._check(batch, seq)
        before = self.last_seq
        if seq <= before:
            raise BatchRefused(self._session.name, f"seq {seq} is not above {before}, the last one written here")
        sent = Batch({key: value for key, value in batch.cells.items() if not key.startswith(_KEY)})
        failpoints.point("store.register.before")
        self._registry.register(self._epoch, before, seq, encode_batch(sent))
        failpoints.point("store.register.after")
        super().write(sent, seq)
        self._memory.apply(((key, value) for key, value in batch.cells.items() if key.startswith(_KEY)), seq)
        failpoints.point("store.acknowledged")

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        sent = [column for column in columns if not is_remembered(table, column[0])]
        found = iter(super().get(table, sent))
        return [
            self._memory.get(Column(*column)) if is_remembered(table, column[0]) else next(found) for column in columns
        ]

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
        if not is_remembered(table, row):
            return super().scan(table, row, family, prefix=prefix, start=start, limit=limit, reverse=reverse)
        return islice(self._memory.scan(row, family, prefix, start, reverse=reverse), limit)

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        if table is not Table.LINKS:
            return super().rows(table, prefix, start=start)
        return heapq.merge(super().rows(table, prefix, start=start), self._memory.rows(prefix, start))

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        sent = super().scan_rows(table, prefix, start=start, reverse=reverse)
        if table is not Table.LINKS:
            return sent
        kept = self._memory.scan_rows(prefix, start, reverse=reverse)
        return heapq.merge(sent, kept, key=lambda cell: cell[:3], reverse=reverse)
