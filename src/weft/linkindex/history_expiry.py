"""Drops history that was kept long enough, a little with every round."""

from __future__ import annotations

from collections.abc import Iterable

from weft.linkindex.cells import Cells
from weft.linkindex.changes import oldest_block
from weft.model.versions import BASES
from weft.store.api import Reader


class HistoryExpiry:
    """Remembers when the oldest block of each base was recorded: most rounds then have nothing to read."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._oldest: dict[int, int] = {}

    def cells(self, bases: Iterable[int], seq: int, before: int, now: int) -> Cells:
        """What drops the oldest block of each of `bases`, and of one base more, if it was recorded before `before`.

        A round names the bases that it records in, so it drops as much as it records at most. The turn of the others
        comes with the seq.
        """
        cells: Cells = {}
        for base in {*bases, seq % BASES}:
            if self._oldest.get(base, 0) < before:
                cells.update(self._drop(base, before, now))
        return cells

    def _drop(self, base: int, before: int, now: int) -> Cells:
        oldest = oldest_block(self._reader, base)
        # An empty base gets its first block now, or later.
        self._oldest[base] = now if oldest is None else oldest.recorded
        if oldest is None or oldest.recorded >= before:
            return {}
        del self._oldest[base]
        return dict.fromkeys(oldest.keys)

    def forget(self) -> None:
        """A round was not written."""
        self._oldest.clear()
