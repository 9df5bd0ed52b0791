"""Drops what was kept long enough, a little with every round."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from weft.linkindex.cells import Cells
from weft.model.versions import BASES
from weft.store.api import Reader


class Oldest(NamedTuple):
    """The oldest thing that is kept of a base."""

    recorded: int
    drops: Cells
    """What drops it, with everything that was recorded together with it."""


class Expiry:
    """Remembers when the oldest thing of each base was recorded: most rounds then have nothing to read."""

    def __init__(self, reader: Reader, find_oldest: Callable[[Reader, int], Oldest | None]) -> None:
        self._reader, self._find_oldest = reader, find_oldest
        self._oldest: dict[int, int] = {}

    def cells(self, bases: Iterable[int], seq: int, before: int, now: int) -> Cells:
        """What drops the oldest thing of each of `bases`, and of one base more, if it was recorded before `before`.

        A round names the bases that it records in, so it drops as much as it records at most. The turn of the others
        comes with the seq.
        """
        cells: Cells = {}
        for base in {*bases, seq % BASES}:
            if self._oldest.get(base, 0) < before:
                cells.update(self._drop(base, before, now))
        return cells

    def _drop(self, base: int, before: int, now: int) -> Cells:
        oldest = self._find_oldest(self._reader, base)
        # An empty base gets its first thing now, or later.
        self._oldest[base] = now if oldest is None else oldest.recorded
        if oldest is None or oldest.recorded >= before:
            return {}
        del self._oldest[base]
        return oldest.drops

    def forget(self) -> None:
        """A round was not written."""
        self._oldest.clear()
