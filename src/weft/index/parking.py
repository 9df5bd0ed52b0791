"""Fetches whose records cannot be reached now: how long they wait, and what becomes of them then."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final, NamedTuple

from weft.index.open_chunks import LinkTicket, OpenChunks
from weft.index.read_fetch import failed
from weft.index.reading_lanes import ReadyFetch
from weft.index.record_nodes import AwayNode, NoOtherNodes, RecordNodes
from weft.mgmt.values import BuildChunk
from weft.model.fetch_error import FetchError

log = logging.getLogger(__name__)

ARCHIVE_PATIENCE: Final = 3600.0
"""Seconds that records are waited for."""
_SHORTEST_WAIT: Final = 1_000
_LONGEST_WAIT: Final = 300_000
"""Milliseconds until a chunk that waits for a node is tried again. Whoever started since may not know of the node."""


class WaitingChunk(NamedTuple):
    """A chunk that waits for a node."""

    chunk: BuildChunk
    node: str
    wait: int
    """Milliseconds until it is tried again, if the node is not back before."""


class Parking:
    """Parks fetches while their node is away, until `patience` seconds after their chunk first waited."""

    def __init__(self, nodes: RecordNodes | None = None, patience: float = ARCHIVE_PATIENCE) -> None:
        self._nodes, self._patience = nodes or NoOtherNodes(), int(patience * 1000)

    def park(self, chunks: OpenChunks) -> list[ReadyFetch]:
        """Park what cannot be read now; what waited for too long is returned, as failed."""
        given_up: list[ReadyFetch] = []
        lost: Counter[str] = Counter()
        for (ticket, link, _), node in self._nodes.take_unreachable():
            if chunks.waited(ticket.chunk) < self._patience:
                chunks.park(ticket, node)
            else:
                given_up.append(ReadyFetch(ticket, link, failed(link.result, FetchError.ARCHIVE)))
                lost[node] += 1
        for node, count in lost.items():
            log.warning("records could not be reached for too long, fetching again pages=%d node=%s", count, node)
        return given_up

    def unpark(self, chunks: OpenChunks) -> list[LinkTicket]:
        """Links whose nodes are back: they are to be read."""
        return chunks.unpark(self._nodes.away())

    def take(self, chunks: OpenChunks) -> list[WaitingChunk]:
        """The chunks that wait for nothing but nodes; they are not in hand any more."""
        return [WaitingChunk(chunk, node, self._wait(chunk)) for chunk, node in chunks.take_parked()]

    def take_reachable(self) -> list[str]:
        """Nodes that can be asked for records, since the last call, for the first time or again."""
        return self._nodes.take_reachable()

    def away(self) -> dict[str, AwayNode]:
        """Nodes that cannot be asked for records now."""
        return self._nodes.away()

    def _wait(self, chunk: BuildChunk) -> int:
        return min(max(self._patience - chunk.waited, _SHORTEST_WAIT), _LONGEST_WAIT)
