"""The fetches that wait for one node's records, and how the node is doing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import RecordConnection
from weft.archive.record_reader import Packed
from weft.index.reading_lanes import AskedFetch

LARGE: Final = 256 << 10
"""Bytes of a record that is not asked for together with others."""
_MOST_AHEAD: Final = 32
"""Requests that are sent before the first of them is answered."""
_TOO_SLOW: Final = 15.0
"""Seconds after which other fetches do not wait for it: one large record may be on its way for minutes."""
AHEAD_BYTES: Final = 512 << 10
"""Bytes of records that are asked for before the first of them has come, but for the last."""
_STALLED: Final = 2.0
"""Seconds without an answer after which nobody counts on this node."""


@dataclass(slots=True)
class WantedRecord:
    """A fetch whose record is asked for: first its own, then the one that it may repeat."""

    asked: AskedFetch
    epoch: int
    position: RecordPosition
    member: Packed | None = None
    """Its own record, if it is the other one that is asked for now."""

    @property
    def is_large(self) -> bool:
        return self.position.length > LARGE


class NodeLine:
    """What one node is to be asked for. Changed under the lock of `RecordFetching`."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.first: deque[WantedRecord] = deque()
        """Records that others in memory wait for, and those that were asked for on a broken connection."""
        self.small: deque[WantedRecord] = deque()
        self.large: deque[WantedRecord] = deque()
        self.in_flight: deque[WantedRecord] = deque()
        """Asked for, in this order, and not answered."""
        self.connection: RecordConnection | None = None
        self.has_thread = self.was_connected = False
        self.away_since: float | None = None
        self.reason = ""
        self.wanted_at = self._moved_at = time.monotonic()

    def add(self, wanted: WantedRecord) -> None:
        (self.large if wanted.is_large else self.small).append(wanted)

    @property
    def waiting(self) -> int:
        return len(self.first) + len(self.small) + len(self.large)

    @property
    def coming(self) -> int:
        """Fetches that will be there soon: none unless the node is connected and answers."""
        if self.connection is None or self._is_stalled:
            return 0
        return self.waiting + len(self.in_flight)

    @property
    def _is_stalled(self) -> bool:
        return bool(self.in_flight) and time.monotonic() - self._moved_at > _STALLED

    @property
    def is_too_slow(self) -> bool:
        """Whether it has been dialled, or has owed an answer, for so long that what waits for it should not."""
        return (self.connection is None or bool(self.in_flight)) and time.monotonic() - self._moved_at > _TOO_SLOW

    @property
    def has_room(self) -> bool:
        """Whether another request may be sent ahead."""
        size = sum(wanted.position.length for wanted in self.in_flight)
        return len(self.in_flight) < _MOST_AHEAD and size < AHEAD_BYTES and not self._has_large

    @property
    def _has_large(self) -> bool:
        return any(wanted.is_large for wanted in self.in_flight)

    def queues(self) -> Iterator[deque[WantedRecord]]:
        """Those that have something, the most urgent first."""
        return (queue for queue in (self.first, self.large, self.small) if queue)

    def sent(self, wanted: WantedRecord) -> None:
        if not self.in_flight:
            self.moved()
        self.in_flight.append(wanted)

    def moved(self) -> None:
        """The node answered, or was asked after a rest."""
        self._moved_at = time.monotonic()

    def put_back(self) -> None:
        """Ask again, on another connection, for what was not answered."""
        self.moved()
        self.first.extendleft(reversed(self.in_flight))
        self.in_flight.clear()

    def take_waiting(self) -> list[WantedRecord]:
        """All but what is in flight."""
        return _emptied(self.first, self.large, self.small)

    def take_all(self) -> list[WantedRecord]:
        return [*_emptied(self.in_flight), *self.take_waiting()]


def _emptied(*queues: deque[WantedRecord]) -> list[WantedRecord]:
    wanted = [each for queue in queues for each in queue]
    for queue in queues:
        queue.clear()
    return wanted
