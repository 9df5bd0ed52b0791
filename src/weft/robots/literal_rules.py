"""Rules without a star: all that a target begins with are found by one bisection, however many there are."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping

from weft.robots.packed_bytes import PackedBytes


class LiteralRules:
    """Patterns in byte order.

    All patterns that a target begins with are the last one that is not greater than the target, and those that this
    one begins with itself, as far as they fit. The strongest of such a row is noted when it is built.
    """

    __slots__ = ("_parents", "_patterns", "_strongest")

    def __init__(self, rank_of: Mapping[bytes, int]) -> None:
        """Pattern -> rank; rank 0 is the strongest."""
        patterns = sorted(rank_of)
        self._patterns = PackedBytes(patterns)
        self._parents = _parents(patterns)
        self._strongest = array("I")
        for pattern, parent in zip(patterns, self._parents, strict=True):
            rank = rank_of[pattern]
            self._strongest.append(rank if parent < 0 else min(rank, self._strongest[parent]))

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self._patterns.size + 2 * self._parents.itemsize * len(self._parents)

    def strongest(self, target: bytes, otherwise: int) -> int:
        """The rank of the strongest rule that a target, with its END, begins with; `otherwise` if there is none."""
        position = bisect_right(self._patterns, target) - 1
        # Patterns inside each other grow by a byte each: the file's size bounds this to a thousand.
        while position >= 0 and not target.startswith(self._patterns[position]):
            position = self._parents[position]
        return self._strongest[position] if position >= 0 else otherwise


def _parents(patterns: list[bytes]) -> array[int]:
    """For each of the sorted patterns the position of the longest other one that it begins with; -1: none."""
    parents, opened = array("i"), list[int]()
    for position, pattern in enumerate(patterns):
        while opened and not pattern.startswith(patterns[opened[-1]]):
            opened.pop()
        parents.append(opened[-1] if opened else -1)
        opened.append(position)
    return parents
