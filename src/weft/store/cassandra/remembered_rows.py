"""Rows that the owner of an index keeps in memory alone, and reads like all others."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from weft.store.api import Cell, Column
from weft.store.encoding import after, split_key


class RememberedRows:
    """Of one table. What is applied later does not show in a scan that has begun."""

    def __init__(self) -> None:
        self._rows: defaultdict[bytes, list[Cell]] = defaultdict(list)
        """The cells of each row, in order."""

    def apply(self, cells: Iterable[tuple[bytes, bytes | None]], seq: int) -> None:
        """Encoded keys with their values; None deletes."""
        for key, value in cells:
            _, row, family, qualifier = split_key(key)
            held = self._rows[row]
            place = bisect_left(held, (row, family, qualifier))
            is_known = place < len(held) and held[place][:3] == (row, family, qualifier)
            held[place : place + is_known] = [] if value is None else [Cell(row, family, qualifier, seq, value)]

    def get(self, column: Column) -> Cell | None:
        held = self._rows.get(column.row, [])
        place = bisect_left(held, column)
        return held[place] if place < len(held) and held[place][:3] == column else None

    def scan(
        self, row: bytes, family: bytes | None, prefix: bytes, start: bytes | None, *, reverse: bool
    ) -> Iterator[Cell]:
        held = self._rows.get(row, [])
        found = held[:] if family is None else held[_range(held, row, family, prefix, start, reverse=reverse)]
        return reversed(found) if reverse else iter(found)

    def rows(self, prefix: bytes, start: bytes | None) -> list[bytes]:
        names = sorted(row for row, held in self._rows.items() if held and row.startswith(prefix))
        return [row for row in names if start is None or row >= start]

    def scan_rows(self, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
        names = self.rows(prefix, None if reverse else start)
        for row in reversed(names) if reverse else names:
            if not reverse or start is None or row <= start:
                yield from self.scan(row, None, b"", None, reverse=reverse)


def _range(held: list[Cell], row: bytes, family: bytes, prefix: bytes, start: bytes | None, *, reverse: bool) -> slice:
    """The part of a row's cells that a scan of one family gives."""
    first = bisect_left(held, (row, family, prefix))
    has_end = bool(prefix.rstrip(b"\xff"))
    end = bisect_left(held, (row, family, after(prefix)) if has_end else (row, family + b"\x00"))
    if start is None:
        return slice(first, end)
    if reverse:
        return slice(first, min(end, bisect_left(held, (row, family, start + b"\x00"))))
    return slice(max(first, bisect_left(held, (row, family, start))), end)
