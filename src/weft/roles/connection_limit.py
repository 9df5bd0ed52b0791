"""How many may be connected to a port: whoever has not shown that he may be there makes room first."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

log = logging.getLogger(__name__)

_QUIET_SECONDS: Final = 1.0
STRANGER_SECONDS: Final = 10.0
"""How long a greeting, a line or the head of a request may take from its beginning."""


class Patience:
    """Calls `ended` when something that was begun has not come to its end in time. Belongs to the running loop."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended
        self._timer: asyncio.TimerHandle | None = None

    def set(self, is_waiting: bool) -> None:
        """Wait from now on, still, or no longer."""
        if not is_waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif is_waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STRANGER_SECONDS, self._ended)


class Visitor(Protocol):
    """One connection."""

    def turn_away(self, reason: str) -> None:
        """Close at once, and tell the limit that it has gone."""


class ConnectionLimit:
    """Counts the connections of one port. A new one is a stranger until it is trusted.

    One too many costs the oldest stranger: of the same peer if that has too many of them, else of all. So nobody who
    only connects can keep out those who have something to say, and trusted connections are never closed for others.
    """

    def __init__(
        self,
        most: int = 128,
        most_strangers: int = 64,
        most_of_peer: int = 32,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._most_strangers, self._most_of_peer = most, most_strangers, most_of_peer
        self._clock, self._quiet_until, self._unsaid = clock, 0.0, 0
        self._strangers: OrderedDict[Visitor, str] = OrderedDict()
        self._trusted: set[Visitor] = set()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._trusted)

    def arrived(self, visitor: Visitor, peer: str) -> None:
        self._strangers[visitor] = peer
        of_peer = [one for one, name in self._strangers.items() if name == peer]
        if len(of_peer) > self._most_of_peer:
            self._close(of_peer[0], f"more than {self._most_of_peer} connections of this peer have shown nothing")
        elif len(self._strangers) > self._most_strangers or len(self) > self._most:
            self._close(next(iter(self._strangers)), "too many connections")

    def trusted(self, visitor: Visitor) -> None:
        """It has shown what it had to show."""
        if self._strangers.pop(visitor, None) is not None:
            self._trusted.add(visitor)

    def gone(self, visitor: Visitor) -> None:
        self._strangers.pop(visitor, None)
        self._trusted.discard(visitor)

    def tell(self, visitor: Visitor, peer: str, reason: str) -> None:
        """Log why a connection is closed; strangers share one sentence a second, however many they are."""
        if visitor in self._trusted:
            log.warning("connection closed peer=%s reason=%s", peer, reason)
            return
        now = self._clock()
        if now < self._quiet_until:
            self._unsaid += 1
            return
        others = f" (and {self._unsaid} others before)" if self._unsaid else ""
        log.warning("connection closed peer=%s reason=%s%s", peer, reason, others)
        self._quiet_until, self._unsaid = now + _QUIET_SECONDS, 0

    def _close(self, visitor: Visitor, reason: str) -> None:
        self.gone(visitor)
        visitor.turn_away(reason)
