"""How many fetches a builder takes in hand: about what it loads in a moment, so that none waits there for long."""

from __future__ import annotations

from typing import Final

LEAST: Final = 100
MOST: Final = 1000
_MOMENT: Final = 500
"""Milliseconds."""


class ReadAhead:
    """Follows the pace of rounds that come one after the other."""

    def __init__(self) -> None:
        self.links = LEAST
        self._rate = 0.0
        """Fetches a millisecond."""
        self._last = 0

    def after_round(self, results: int, now: int) -> None:
        """A round of so many was loaded, and more are in hand or were until now."""
        if self._last and now > self._last:
            rate = results / (now - self._last)
            self._rate = (3 * self._rate + rate) / 4 if self._rate else rate
            self.links = min(MOST, max(LEAST, int(self._rate * _MOMENT)))
        self._last = now

    def rest(self) -> None:
        """There is nothing to load: the time until the next round tells nothing."""
        self._last = 0
