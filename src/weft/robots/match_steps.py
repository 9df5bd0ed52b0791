"""How much work one decision may take: robots.txt is written by strangers, and the URL server waits for the answer."""

from __future__ import annotations

from typing import Final

MOST_STEPS: Final = 2_000
"""Each takes well under a microsecond. Large files of real sites need a few dozen of them."""


class TooManySteps(Exception):  # noqa: N818 - a bound, not a fault
    """A decision needs more work than any honest file asks for."""


class MatchSteps:
    """Counts down; raises TooManySteps below zero."""

    __slots__ = ("left",)

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooManySteps

    def split(self, pattern: bytes) -> None:
        """A pattern is taken to pieces."""
        self.spend(1 + (len(pattern) >> 5))

    def find(self, piece: bytes, target: bytes) -> None:
        """A piece is looked for. At worst each byte of one is compared with each byte of the other."""
        self.spend(1 + (len(piece) * len(target) >> 12))
