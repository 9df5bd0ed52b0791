"""The store as the owner of a cluster's index writes it: a batch is registered before the first of its cells is sent.

Whoever takes over writes the last registered batch again, with its own seq, before anything else; so a batch that was
begun is whole before anybody reads to decide. A process that was replaced without knowing it cannot register, and can
only repeat what is registered: writing the same cells under the same seq changes nothing.

Rows that follow from others are neither registered nor sent, but remembered: a new owner makes them again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from weft import failpoints
from weft.clock import Clock
from weft.errors import BatchRefused, StoreForeign, StoreUnwritable
from weft.store.api import Batch, Capability, Cell, Column, Reader
from weft.store.cassandra.cell_session import CellSession
from weft.store.cassandra.permission import Permission
from weft.store.cassandra.placement import REMEMBERED, is_remembered
from weft.store.cassandra.registry import Registry, Taken, decode_batch, encode_batch
from weft.store.cassandra.remembered_rows import RememberedRows
from weft.store.cassandra.schema import Keyspace
from weft.store.cassandra.store import CassandraStore
from weft.store.tables import Table

Remembered = Callable[[Reader], Iterable[tuple[bytes, bytes | None]]]
"""Makes the rows that are remembered, as encoded cells, from all that is stored."""
_KEY = Table.LINKS.byte + REMEMBERED


class RegisteredStore(CassandraStore):
    capabilities = Capability.EXPIRES

    def __init__(self, session: CellSession, keyspace: Keyspace, lifetime: int, clock: Clock | None = None) -> None:
        super().__init__(session, keyspace, lifetime, clock)
        self._memory = RememberedRows()
        self._is_unfinished = False
        """Whether a batch was given to the registry and is not known to be in whole."""

    def own(self, registry: Registry, remembered: Remembered) -> RegisteredStore:
        """Take the index over. Afterwards all that was ever begun is in."""
        self._registry = registry
        # Asked for before: afterwards another process may take over, and complete batches that this one does not know.
        complete, began = self.complete_to(), self._clock.now()
        taken = registry.take()
        self._refuse_lost_batches(complete, taken)
        self._epoch = taken.epoch
        self._write_again(taken, self._while_owner(began, taken.epoch, taken.seq, taken.seq, taken.batch))
        self._highest, self._is_unfinished = taken.seq, False
        self._memory = RememberedRows()
        self._memory.apply(remembered(self), taken.seq)
        return self

    def _refuse_lost_batches(self, complete: int, last: Taken) -> None:
        """Batches that the registry does not know may be here in part, and their seqs must not be used again."""
        if complete > last.seq:
            raise StoreForeign(
                self._session.name,
                f"it holds batches up to seq {complete}, and the control plane (mgmt.url) knows of {last.seq}: was "
                "that one put back from an older copy? Put back a newer one, or build the index again in a new "
                "keyspace with `weft restore --new-index`",
            )

    def complete(self, last: Taken, is_held: Callable[[], None]) -> None:
        """For whoever holds writing: have the last registered batch in whole, whatever became of its owner.

        `is_held` raises when the hold has ended.
        """
        if self.complete_to() < last.seq:
            self._write_again(last, is_held)
        self._highest = last.seq

    def _write_again(self, last: Taken, may_send: Callable[[], None]) -> None:
        """The same cells under the same seq change nothing where they are in already."""
        if last.seq:
            batch = decode_batch(last.batch, self._session.address)
            self._apply(self._groups(batch, last.seq), last.seq, may_send)

    def _while_owner(self, since: int, epoch: int, before: int, seq: int, batch: bytes) -> Permission:
        """To send a batch that is registered: registering it once more tells whether another process owns the index."""
        return Permission(partial(self._registry.register, epoch, before, seq, batch), self._clock, since)

    def give_up(self) -> None:
        """Let a write that waits for the cluster end with a StoreError: the next owner writes what was registered."""
        self._session.give_up.set()

    @property
    def waits_for(self) -> str:
        """Why the cluster cannot be read or written now, for people; empty: nothing is in the way."""
        return self._session.waits_for

    def write(self, batch: Batch, seq: int) -> None:
        """After any StoreError but BatchRefused the batch may be in, in part or not at all: own it again, or end."""
        before = self.last_seq
        if seq <= before:
            raise BatchRefused(self._session.name, f"seq {seq} is not above {before}, the last one written here")
        if self._is_unfinished:
            # Its seq may be in the store already, in part: no other batch may have it.
            raise StoreUnwritable(self._session.name, "a batch was begun and not finished; take the index over again")
        sent = Batch({key: value for key, value in batch.cells.items() if not key.startswith(_KEY)})
        sent.row_ranges = batch.row_ranges
        groups = self._groups(sent, seq)
        failpoints.point("store.register.before")
        self._is_unfinished = True
        encoded = encode_batch(sent)
        may_send = self._while_owner(self._clock.now(), self._epoch, before, seq, encoded)
        self._registry.register(self._epoch, before, seq, encoded)
        failpoints.point("store.register.after")
        self._apply(groups, seq, may_send)
        self._memory.apply(((key, value) for key, value in batch.cells.items() if key.startswith(_KEY)), seq)
        self._is_unfinished = False
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
