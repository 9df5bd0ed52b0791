"""Nodes that hold records, as the builder sees them: which of them cannot be asked now, and what that leaves unread."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from weft.index.reading_lanes import AskedFetch


class UnreachableFetch(NamedTuple):
    """A fetch that was not read, because the node with its record cannot be asked."""

    asked: AskedFetch
    node: str


class AwayNode(NamedTuple):
    """A node that cannot be asked."""

    seconds: float
    """Since when."""
    reason: str


class RecordNodes(Protocol):
    """What becomes of nodes and of fetches whose records lie there."""

    def take_unreachable(self) -> list[UnreachableFetch]:
        """Fetches that were given and cannot be read now; they count as never given."""
        ...

    def take_reachable(self) -> list[str]:
        """Nodes that can be asked, since the last call, for the first time or again."""
        ...

    def away(self) -> dict[str, AwayNode]:
        """Nodes that cannot be asked now."""
        ...


class NoOtherNodes:
    """All records lie here."""

    def take_unreachable(self) -> list[UnreachableFetch]:
        return []

    def take_reachable(self) -> list[str]:
        return []

    def away(self) -> dict[str, AwayNode]:
        return {}
