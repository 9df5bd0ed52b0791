"""May this process still send the cells of its batch? It may have been stopped for days since it was told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.clock import Clock

ASK_AGAIN: Final = 600.0
"""Seconds that an answer holds for. Far below gc_grace: once the cluster has forgotten a delete, a put of before that
arrives at last would live again."""


class Permission:
    """Call it before every request; `ask` raises what ends the write."""

    def __init__(self, ask: Callable[[], None], clock: Clock, since: int) -> None:
        """`since`: a moment before it was given. `clock` runs while the machine sleeps."""
        self._ask, self._clock, self._since = ask, clock, since

    def __call__(self) -> None:
        # The process may be stopped while it asks, too: an answer counts from when it was asked for.
        while (now := self._clock.now()) - self._since >= ASK_AGAIN * 1000:
            self._ask()
            self._since = now
