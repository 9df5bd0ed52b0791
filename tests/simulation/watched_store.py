"""The owner's store as it is, which also compares all that an owner reads with what was registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from simulation.control_plane import Rules
from weft.store.api import Batch, Cell, Column
from weft.store.cassandra.registered_store import RegisteredStore, Remembered
from weft.store.cassandra.registry import Registry
from weft.store.cassandra.schema import VERSION, Keyspace
from weft.store.tables import Table

KEYSPACE: Final = Keyspace(VERSION, 2, "model")
"""Two shards: families are spread, and walks over everything stay short."""
LIFETIME: Final = 365 * 86_400


class WrongReadError(Exception):
    """Somebody decided, or answered, by something else than what was registered."""


class WatchedStore(RegisteredStore):
    """Compares all that the owner reads, once it has opened the store, with the batches that were registered."""

    rules: Rules
    is_open = False

    def own(self, registry: Registry, remembered: Remembered) -> RegisteredStore:
        self.is_open = False
        super().own(registry, remembered)
        self.is_open = True
        return self

    def write(self, batch: Batch, seq: int) -> None:
        self.is_open = False
        super().write(batch, seq)
        self.is_open = True

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        is_sure = self.is_sure()
        found = super().get(table, columns)
        if is_sure and self.is_sure():
            compare(found, self.rules.truth.get(table, columns))
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
        is_sure = self.is_sure()
        how = {"prefix": prefix, "start": start, "limit": limit, "reverse": reverse}
        found = list(super().scan(table, row, family, **how))  # type: ignore[arg-type]
        if is_sure and self.is_sure():
            compare(found, list(self.rules.truth.scan(table, row, family, **how)))  # type: ignore[arg-type]
        return iter(found)

    @property
    def is_replaced(self) -> bool:
        return getattr(self, "_epoch", 0) != self.rules.epoch

    def is_sure(self) -> bool:
        """Whether it owns the index and writes nothing now. Any other process may see anything."""
        return self.is_open and not self.is_replaced


def compare(found: Sequence[Cell | None], registered: Sequence[Cell | None]) -> None:
    """Raises WrongReadError with the first cell that is not as it was registered."""
    for one, other in zip_longest(found, registered):
        if (one and (*one[:3], one.value)) != (other and (*other[:3], other.value)):
            raise WrongReadError(f"read {one}, registered is {other}")
