"""How many links may be handed over at a time: fewer while pages are fetched faster than they can be built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_FIRST: Final = 2000
_LEAST: Final = 200
LATE: Final = 2000
"""Milliseconds from fetch to answer, of half of a round's pages, from which on less is asked for."""
BUSY: Final = 1000
"""Milliseconds that a round takes to build when building is what the pages wait for."""


class OutstandingLimit:
    """Shrinks when pages wait for the builder, and grows again when they do not.

    Pages that wait for anything else, such as the others of their chunk, do not count: asking for less would not help.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.links = min(most, _FIRST)

    def after_round(self, took: int, ages: Sequence[int]) -> None:
        """A round took so many milliseconds to build; its pages were so old when they were in the answers."""
        age = sorted(ages)[len(ages) // 2] if ages else 0
        if took > BUSY and age > LATE:
            self.links = max(min(_LEAST, self._most), self.links * 3 // 4)
        else:
            self.links = min(self._most, self.links * 5 // 4 + 1)

    def after_rest(self) -> None:
        """There was nothing to build."""
        self.links = min(self._most, self.links * 11 // 10 + 1)
