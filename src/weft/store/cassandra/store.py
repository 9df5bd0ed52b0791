"""The cluster as a store: batches in any order of seq, each cell under the timestamp of its batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, Self

from weft import failpoints
from weft.clock import Clock, MonotonicClock
from weft.errors import BatchRefused, StoreUnwritable
from weft.store.api import Batch, Capability, CopiedCell
from weft.store.cassandra.cell_session import CellSession, Request
from weft.store.cassandra.permission import Permission
from weft.store.cassandra.schema import Keyspace
from weft.store.cassandra.statements import ANY_ROW
from weft.store.cassandra.view import SEQ_COLUMN, CassandraView
from weft.store.cassandra.writing import copy_groups, write_groups
from weft.store.encoding import cell_key
from weft.store.tables import Table

_SEQ_KEY = cell_key(Table.META.byte, *SEQ_COLUMN)


class CassandraStore(CassandraView):
    """Cells alone: whoever owns the index writes through `RegisteredStore`, so that no batch is ever left in part."""

    capabilities = Capability.ANY_ORDER | Capability.EXPIRES
    # An owner reads between its batches, and checks read while writing is held: then a double is a fault to be seen.
    _shows_doubles = True

    def __init__(self, session: CellSession, keyspace: Keyspace, lifetime: int, clock: Clock | None = None) -> None:
        """`lifetime` is how many seconds history is kept for."""
        super().__init__(session, keyspace)
        self._lifetime, self._clock = lifetime, clock or MonotonicClock()
        self._highest = self.complete_to()

    @property
    def last_seq(self) -> int:
        return self._highest

    def write(self, batch: Batch, seq: int) -> None:
        self._apply(self._groups(batch, seq), seq, self._while_awake())

    def is_empty(self) -> bool:
        return not any(self._session.read([Request(statement, ()) for statement in ANY_ROW]))

    def copy_in(self, cells: Mapping[bytes, CopiedCell]) -> None:
        notes = {key: cell for key, cell in cells.items() if key[:1] == Table.META.byte}
        others = {key: cell for key, cell in cells.items() if key not in notes}
        may_send = self._while_awake()
        for some in (others, notes):
            self._session.write(_passing(copy_groups(some, self._placement, self._lifetime)), may_send)

    def _while_awake(self) -> Permission:
        def refuse() -> None:
            raise StoreUnwritable(
                self._session.name, "this process was stopped for too long while it wrote; begin again"
            )

        return Permission(refuse, self._clock, self._clock.now())

    def _groups(self, batch: Batch, seq: int) -> list[list[Request]]:
        """What writes the batch. Raises BatchRefused before anything has happened."""
        if seq < 1:
            raise BatchRefused(self._session.name, f"seq {seq} is not a sequence number; they count from 1")
        if batch.row_ranges:
            raise BatchRefused(self._session.name, "row ranges cannot be deleted in a cluster")
        return list(write_groups(batch.cells, seq, self._placement, self._lifetime))

    def _apply(self, groups: Iterable[list[Request]], seq: int, may_send: Callable[[], None]) -> None:
        self._session.write(_passing(groups), may_send)
        # Alone and last: who sees it may rely on all the rest.
        self._session.write(write_groups({_SEQ_KEY: b""}, seq, self._placement, self._lifetime), may_send)
        self._highest = max(self._highest, seq)

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


def _passing(groups: Iterable[list[Request]]) -> Iterator[list[Request]]:
    for group in groups:
        failpoints.point("store.apply")
        yield group
