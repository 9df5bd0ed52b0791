"""Whether the store holds exactly the cells that its pages call for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from weft.linkindex.batch import expected_cells
from weft.linkindex.derived import Pair, Progress, held_cells
from weft.linkindex.external_sort import MEMORY
from weft.store.api import Reader
from weft.store.encoding import split_key
from weft.store.tables import Table, readable, readable_qualifier, readable_row

EXAMPLES: Final = 20
_BLOCK: Final = 1000
_LONGEST_VALUE: Final = 120

_key_of = itemgetter(0)


class CellDifference(NamedTuple):
    """A cell that is not as it should be; None where there is none, or should be none."""

    key: bytes
    held: bytes | None
    expected: bytes | None

    def __str__(self) -> str:
        if self.held is None:
            return f"{readable_key(self.key)} is missing, expected {_readable_value(self.expected)}"
        if self.expected is None:
            return f"{readable_key(self.key)} is there with {_readable_value(self.held)}, expected nothing"
        return f"{readable_key(self.key)} is {_readable_value(self.held)}, expected {_readable_value(self.expected)}"


@dataclass(frozen=True, slots=True)
class Verification:
    """How many cells were compared, how many of them were missing, too many or different, and the first of those."""

    cells: int
    differences: int
    examples: tuple[str, ...]


class Comparison:
    """The differences between what a store holds and what its pages call for, in key order; see `expected_cells`."""

    def __init__(
        self, reader: Reader, count: str, directory: Path, progress: Progress | None = None, memory: int = MEMORY
    ) -> None:
        self.cells = 0
        """How many were compared so far, on either side."""
        self._progress = progress
        self._expected = expected_cells(reader, count, directory, memory=memory, progress=progress)
        self._held = held_cells(reader)

    def __iter__(self) -> Iterator[CellDifference]:
        return differences(self._expected, self._held, self._count)

    def _count(self, cells: int) -> None:
        self.cells += cells
        if self._progress:
            self._progress("cells", self.cells)


def verify(
    reader: Reader, count: str, directory: Path, progress: Progress | None = None, *, memory: int = MEMORY
) -> Verification:
    """Recompute every derived cell from the pages and compare it with the one that the store holds.

    `reader` must hold still; `directory` takes what does not fit in about twice `memory` bytes.
    """
    comparison = Comparison(reader, count, directory, progress, memory)
    number = 0
    examples: list[str] = []
    for number, difference in enumerate(comparison, 1):
        if number <= EXAMPLES:
            examples.append(str(difference))
    return Verification(comparison.cells, number, tuple(examples))


def differences(
    expected: Iterator[Pair], held: Iterator[Pair], compared: Callable[[int], None]
) -> Iterator[CellDifference]:
    """Where two sides, each in ascending order of keys, do not agree; `compared` is told how many cells were done.

    Both are taken in blocks of one size, and equal blocks are found equal at the speed of C. After a difference the
    blocks are out of step; what is left of them is filled up again, and that brings them back into step.
    """
    wanted: list[Pair] = []
    found: list[Pair] = []
    while True:
        wanted += islice(expected, _BLOCK - len(wanted))
        found += islice(held, _BLOCK - len(found))
        if wanted == found:
            if not wanted:
                return
            compared(len(wanted))
            wanted, found = [], []
            continue
        # Beyond the smaller of the last keys, a side that is not read yet may still have something to say.
        bound = min(side[-1][0] for side in (wanted, found) if side)
        should, does = _take(wanted, bound), _take(found, bound)
        every = should.keys() | does.keys()
        compared(len(every))
        for key in sorted(key for key in every if should.get(key) != does.get(key)):
            yield CellDifference(key, held=does.get(key), expected=should.get(key))


def _take(side: list[Pair], bound: bytes) -> dict[bytes, bytes]:
    """Remove what is not above `bound` and return it."""
    cut = bisect_right(side, bound, key=_key_of)
    taken = dict(side[:cut])
    del side[:cut]
    return taken


def readable_key(key: bytes) -> str:
    """Table, row and column as `weft scan` prints them."""
    byte, row, family, qualifier = split_key(key)
    table = Table(byte)
    place = f"{table.label} {readable_row(table, row)}"
    if not qualifier:
        return f"{place} {readable(family)}" if family else place
    return f"{place} {readable(family)}:{readable_qualifier(table, family, qualifier)}"


def _readable_value(value: bytes | None) -> str:
    text = readable(value or b"")
    if not text:
        return "empty"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(value or b''):,} bytes)"
