"""An owner's life: take the index over, apply what is not applied yet, and end, or begin again when it was replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simulation.baton import Stage
from simulation.control_plane import ModelMgmt, Rules, Waiting
from simulation.session import ModelSession
from simulation.tally import Happening, Tally
from simulation.workload import Input, apply_inputs, missing, new_index
from weft.errors import MgmtUnavailable, OwnerReplaced, StoreError
from weft.linkindex.pipeline import LinkIndex
from weft.roles.store_registry import MgmtRegistry
from weft.store.api import Batch, Cell, Column
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.registry import Registry
from weft.store.cassandra.schema import VERSION, Keyspace
from weft.store.cassandra.writing import Lifetimes
from weft.store.tables import Table

SHARDS: Final = 2
KEYSPACE: Final = Keyspace(VERSION, SHARDS, "model")
LIFETIMES: Final = Lifetimes(changes=365 * 86_400, feed=7 * 86_400)


class WrongReadError(Exception):
    """An owner decided by something else than what was registered."""


class WatchedStore(RegisteredStore):
    """Compares all that the owner reads, once it has opened the store, with the batches that were registered."""

    rules: Rules
    is_open = False

    def own(self, registry: Registry) -> RegisteredStore:
        self.is_open = False
        super().own(registry)
        self.is_open = True
        return self

    def write(self, batch: Batch, seq: int) -> None:
        self.is_open = False
        super().write(batch, seq)
        self.is_open = True

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        is_sure = self._is_sure()
        found = super().get(table, columns)
        if is_sure and self._is_sure():
            _compare(found, self.rules.truth.get(table, columns))
        return found

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
        is_sure = self._is_sure()
        how = {"prefix": prefix, "start": start, "limit": limit, "reverse": reverse}
        found = list(super().scan(table, row, family, **how))  # type: ignore[arg-type]
        if is_sure and self._is_sure():
            _compare(found, list(self.rules.truth.scan(table, row, family, **how)))  # type: ignore[arg-type]
        return iter(found)

    def _is_sure(self) -> bool:
        """A process that was replaced may see anything: nothing follows from it."""
        return self.is_open and self.rules.epoch == self._epoch


def _compare(found: Sequence[Cell | None], registered: Sequence[Cell | None]) -> None:
    if _values(found) != _values(registered):
        raise WrongReadError(f"read {found}, registered is {registered}")


def _values(cells: Sequence[Cell | None]) -> list[tuple[bytes, ...] | None]:
    return [None if cell is None else (*cell[:3], cell.value) for cell in cells]


class Owner:
    """One process. `store_class` is the owner's store, for tests that take a rule away."""

    store_class: type[WatchedStore] = WatchedStore
    is_last = False

    def __init__(
        self, stage: Stage, mgmt: ModelMgmt, rules: Rules, session: ModelSession, inputs: Sequence[Input], tally: Tally
    ) -> None:
        self._stage, self._rules, self._inputs, self._tally = stage, rules, inputs, tally
        self.session = session
        self._registry = MgmtRegistry(mgmt, Waiting(stage))
        self._store: WatchedStore | None = None

    @property
    def is_replaced(self) -> bool:
        return self._store is not None and getattr(self._store, "_epoch", 0) != self._rules.epoch

    def live(self) -> None:
        store = self._store = self.store_class(self.session, KEYSPACE, LIFETIMES)
        store.rules = self._rules
        self.session.is_replaced = lambda: self.is_replaced
        index: LinkIndex | None = None
        while True:
            try:
                store.own(self._registry)
                index = index or new_index(store)
                self._work(index, store)
                return
            except (OwnerReplaced, StoreError, MgmtUnavailable):
                # Most processes end here. One that goes on takes the index anew, with the objects that it has.
                if not self.is_last and self._stage.random.random() < 0.5:
                    return
                self._tally[Happening.TAKEN_ANEW] += 1

    def _work(self, index: LinkIndex, store: WatchedStore) -> None:
        while left := missing(store, self._inputs):
            apply_inputs(index, store, left[: self._stage.random.randrange(1, 4)])
            self._tally[Happening.ROUND] += 1
