"""Counts what an index process did since it started, and how fast it is now."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from weft.index.builder import BuiltRound
from weft.roles.histogram import FRESHNESS, Histogram

_LATELY: Final = 10_000
"""Milliseconds that a rate is taken over."""


@dataclass(slots=True)
class BuildTally:
    chunks: int = 0
    rounds: int = 0
    loading: int = 0
    """Milliseconds that rounds took."""
    results: int = 0
    pages: int = 0
    links: int = 0
    discovered: int = 0
    given: int = 0
    freshness: deque[int] = field(default_factory=lambda: deque(maxlen=10_000))
    fresh: Histogram = field(default_factory=lambda: Histogram(FRESHNESS))
    """The same since the process started."""
    _lately: deque[tuple[int, int]] = field(default_factory=deque)
    """(moment, pages) of the rounds that count for the rate."""

    def add(self, built: BuiltRound, took: int, now: int) -> None:
        self.rounds += 1
        self.loading += took
        self.results += built.results
        self.pages += built.pages
        self.links += built.links
        self.discovered += built.discovered
        self.freshness.extend(built.freshness)
        self.fresh.add_milliseconds(built.freshness)
        self._lately.append((now, built.pages))

    def rate(self, now: int) -> float:
        """Pages a second, lately."""
        while self._lately and now - self._lately[0][0] > _LATELY:
            self._lately.popleft()
        return sum(pages for _, pages in self._lately) / (_LATELY / 1000)

    def facts(self, now: int) -> dict[str, Any]:
        ordered = sorted(self.freshness)
        return {
            "chunks": self.chunks,
            "rounds": self.rounds,
            "loading": self.loading / 1000,
            "results": self.results,
            "pages": self.pages,
            "links": self.links,
            "discovered": self.discovered,
            "given": self.given,
            "rate": self.rate(now),
            "freshness": {"p50": _seconds(ordered, 0.5), "p99": _seconds(ordered, 0.99)},
            "fresh": msgspec.to_builtins(self.fresh.facts()),
        }


def _seconds(ordered: list[int], share: float) -> float | None:
    return ordered[int(len(ordered) * share)] / 1000 if ordered else None
