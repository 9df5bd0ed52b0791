"""Drops what was kept long enough, or what there is too much of, a little with every round."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from weft.linkindex.cells import Cells
from weft.model.versions import BASES
from weft.store.api import Reader

_MOST_CELLS: Final = 20_000
"""That one round drops for their size, more or less."""


class Oldest(NamedTuple):
    """The oldest thing that is kept of a base."""

    recorded: int
    drops: Cells
    """What drops it, with everything that was recorded together with it."""
    size: int = 0
    """Bytes that go with it, where they are counted."""


class Dropped(NamedTuple):
    cells: Cells
    size: int


class Expiry:
    """Remembers when the oldest thing of each base was recorded: most rounds then have nothing to read."""

    def __init__(self, reader: Reader, oldest_first: Callable[[Reader, int], Iterator[Oldest]]) -> None:
        self._reader, self._oldest_first = reader, oldest_first
        self._oldest: dict[int, int] = {}

    def drop_old(self, bases: Iterable[int], seq: int, before: int, now: int) -> Dropped:
        """Drop the oldest thing of each of `bases`, and of one base more, if it was recorded before `before`.

        A round names the bases that it records in, so it drops as much as it records at most. The turn of the others
        comes with the seq.
        """
        cells: Cells = {}
        size = 0
        for base in {*bases, seq % BASES}:
            if self._oldest.get(base, 0) >= before:
                continue
            oldest = next(self._oldest_first(self._reader, base), None)
            # An empty base gets its first thing now, or later.
            self._oldest[base] = now if oldest is None else oldest.recorded
            if oldest is not None and oldest.recorded < before:
                del self._oldest[base]
                cells.update(oldest.drops)
                size += oldest.size
        return Dropped(cells, size)

    def drop_most(self, size: int) -> Dropped:
        """Drop the oldest things of all bases until so many bytes go, or as many cells as one round may drop."""
        cells: Cells = {}
        freed = 0
        bases = [self._oldest_first(self._reader, base) for base in range(BASES)]
        for oldest in heapq.merge(*bases, key=lambda one: one.recorded):
            if freed >= size or len(cells) >= _MOST_CELLS:
                break
            cells.update(oldest.drops)
            freed += oldest.size
        self._oldest.clear()
        return Dropped(cells, freed)

    def forget(self) -> None:
        """A round was not written."""
        self._oldest.clear()
