"""How much work one answer may be. It is counted in cells that are read, so that no question costs more than that."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final, Self

from weft.errors import UsageError, WeftError
from weft.store.api import Cell, Column, Reader, Walked
from weft.store.tables import Table

STEPS: Final = 300_000
"""A step is about 5 µs: a cell that is read and looked at. The largest usual answer, about a page with tens of
thousands of near-duplicates, takes a third of these."""
_STEP_BYTES: Final = 256
"""Bytes of a value that are a step, too: some hold lists, which take time to read."""


class TooMuchWork(UsageError):  # noqa: N818 - an answer, not a fault
    """Whoever asks may ask for less."""

    def __init__(self) -> None:
        super().__init__("this would look at too much of the index; ask for fewer items, or a smaller part of it")


class AnswerLate(WeftError):  # noqa: N818 - an answer, not a fault
    """Nobody waits for this answer any more."""

    def __init__(self) -> None:
        super().__init__("the answer took too long")


class Budget:
    """The work of one answer. One thread spends it; another one may end it at any time, which the next step notices."""

    def __init__(self, steps: int = STEPS) -> None:
        self._steps, self._left, self._is_over = steps, steps, False

    @property
    def is_half_spent(self) -> bool:
        """Time to come to an end, for what can be told in parts."""
        return self._left < self._steps // 2

    def spend(self, steps: int) -> None:
        """Raises TooMuchWork when there are no steps left, and AnswerLate after `end`."""
        if self._is_over:
            raise AnswerLate
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork

    def end(self) -> None:
        self._is_over = True


def unlimited() -> Budget:
    """Of those who ask in a process of their own."""
    return Budget(sys.maxsize)


class BudgetedReader:
    """A view of the store that spends a budget with every cell."""

    def __init__(self, reader: Reader, budget: Budget) -> None:
        self._reader, self._budget = reader, budget

    @property
    def id(self) -> str:
        return self._reader.id

    @property
    def last_seq(self) -> int:
        return self._reader.last_seq

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        self._budget.spend(1 + len(columns))
        found = self._reader.get(table, columns)
        self._budget.spend(sum(len(cell.value) for cell in found if cell) // _STEP_BYTES)
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
        found = self._reader.scan(table, row, family, prefix=prefix, start=start, limit=limit, reverse=reverse)
        return self._counted(found)

    def rows(self, table: Table, prefix: bytes = b"", *, start: bytes | None = None) -> Iterator[bytes]:
        for row in self._reader.rows(table, prefix, start=start):
            self._budget.spend(1)
            yield row

    def column(
        self, table: Table, prefix: bytes, family: bytes, qualifier: bytes, *, start: bytes | None = None
    ) -> Iterator[Cell]:
        return self._counted(self._reader.column(table, prefix, family, qualifier, start=start))

    def scan_rows(
        self, table: Table, prefix: bytes = b"", *, start: bytes | None = None, reverse: bool = False
    ) -> Iterator[Cell]:
        return self._counted(self._reader.scan_rows(table, prefix, start=start, reverse=reverse))

    def walk(self, table: Table, prefix: bytes = b"", *, start: bytes = b"") -> Iterator[Walked]:
        for walked in self._reader.walk(table, prefix, start=start):
            self._budget.spend(len(walked.cells) + sum(len(cell.value) for cell in walked.cells) // _STEP_BYTES)
            yield walked

    def encoded_rows(self, table: Table, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        for key, value in self._reader.encoded_rows(table, prefix):
            self._budget.spend(1 + len(value) // _STEP_BYTES)
            yield key, value

    def refresh(self) -> None:
        self._reader.refresh()

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _counted(self, cells: Iterator[Cell]) -> Iterator[Cell]:
        self._budget.spend(1)
        for cell in cells:
            self._budget.spend(1 + len(cell.value) // _STEP_BYTES)
            yield cell
