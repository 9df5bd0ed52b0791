"""What the control plane needs of a database: whole transactions, its clock, and one text of SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

Row = tuple[Any, ...]
T = TypeVar("T")


class Transaction(Protocol):
    """Everything done through it is durable together, or not done."""

    @property
    def now(self) -> int:
        """The database's clock when the transaction began, in milliseconds."""

    @property
    def part(self) -> int:
        """Which part of the tallies this process writes."""

    def rows(self, sql: str, **values: object) -> list[Row]: ...

    def run(self, sql: str, **values: object) -> int:
        """How many rows it changed."""

    def each(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> list[Row]:
        """What a query finds for each row; it calls the `columns` of a row (`a:int b:text`) `given.a`, `given.b`."""

    def change(self, sql: str, columns: str, given: Sequence[Sequence[object]]) -> None:
        """Do an UPDATE for each row, as in `each`; with the word {from} before its WHERE."""

    def columns(self, table: str) -> list[str]:
        """What the columns of a table are called, in their order."""

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], number: str) -> int:
        """Insert rows as they are; returns how many. They may refer to each other in any order.

        `number` is the column that the database numbers new rows by, which go on above these; empty: there is none.
        """

    def serialise(self, what: int) -> None:
        """Wait until no other transaction is between this call, with the same number, and its end."""


class Database(Protocol):
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in one transaction; it may be run again if the database gave up the first one."""

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Do `work`, which changes nothing, on one state of the database."""

    def close(self) -> None: ...
