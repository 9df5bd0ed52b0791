"""How an index server is doing: what it tells with its heartbeats and writes into its status file."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from weft.roles.histogram import ANSWERING, FRESHNESS, Histogram, HistogramFacts

_WINDOW: Final = 300_000
"""Milliseconds that freshness is taken over."""
_MOST: Final = 20_000


class Freshness(msgspec.Struct, frozen=True):
    """Seconds from the index to search, lately."""

    p50: float | None = None
    p99: float | None = None


class ServerFigures(msgspec.Struct, frozen=True, kw_only=True):
    row: int
    count: int
    """Shards of the whole row."""
    shards: list[int] = []
    """Those that are this server's and answer, also if nothing can be written to them now."""
    documents: int = 0
    """In its shards."""
    content: int = 0
    """Every change of content up to this seq is found."""
    references: int = 0
    """The same for references."""
    lag: int = 0
    """Seqs that the index has and search has not, of content."""
    lag_ms: int | None = None
    """How long ago search had everything; None: not since this process started."""
    pending: int = 0
    """Documents that wait to be written because others link to them."""
    freshness: Freshness = Freshness()
    fresh: HistogramFacts = HistogramFacts([], [0], 0.0)
    """The same since the process started."""
    building: bool = False
    """Whether shards are being built anew."""
    build: int = 0
    """Documents written by the build that is under way."""
    built: int = 0
    """Shards that were built anew, since the process started."""
    written: int = 0
    """Documents written since then."""
    problem: str = ""
    """Why nothing can be written now."""


class FreshnessWindow:
    def __init__(self) -> None:
        self._found: deque[tuple[int, int]] = deque(maxlen=_MOST)
        """(moment, milliseconds)"""
        self._all = Histogram(FRESHNESS)

    def add(self, found: Sequence[int], now: int) -> None:
        self._found.extend((now, one) for one in found)
        self._all.add_milliseconds(found)

    def ever(self) -> HistogramFacts:
        return self._all.facts()

    def lately(self, now: int) -> Freshness:
        while self._found and now - self._found[0][0] > _WINDOW:
            self._found.popleft()
        ordered = sorted(milliseconds for _, milliseconds in self._found)
        return Freshness(_seconds(ordered, 0.5), _seconds(ordered, 0.99))


class QuestionTally:
    """Counts the questions that a server was asked since it started."""

    def __init__(self) -> None:
        self._ends = {"answered": 0, "refused": 0, "late": 0, "failed": 0}
        self._seconds = Histogram(ANSWERING)

    def add(self, end: str, seconds: float | None = None) -> None:
        """`seconds` are those until an answer."""
        self._ends[end] += 1
        if seconds is not None:
            self._seconds.add(seconds)

    def facts(self) -> dict[str, Any]:
        return {"questions": dict(self._ends), "question_seconds": msgspec.to_builtins(self._seconds.facts())}


def _seconds(ordered: Sequence[int], share: float) -> float | None:
    return ordered[int(len(ordered) * share)] / 1000 if ordered else None
