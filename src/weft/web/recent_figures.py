"""What the crawl's figures were in the last minutes, for charts: in memory, taken whenever somebody looks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import msgspec

from weft.answers.nodes import is_up
from weft.answers.status import Status
from weft.mgmt.values import NodeType
from weft.roles.status_file import read_status

SECONDS: Final = 600.0
"""How far back they go."""
_EVERY: Final = 2.0


class CrawlFigures(msgspec.Struct, frozen=True, kw_only=True):
    """None: nobody runs who could tell."""

    at: float
    """Seconds since 1970."""
    rate: float | None = None
    """Pages a second, lately."""
    queued: int | None = None
    """URLs in the queues of URL servers."""
    waiting: int = 0
    """Links that are to be fetched."""
    fresh: float | None = None
    """Seconds from the end of a fetch to the answers: the median."""
    search: float | None = None
    """Seconds from there to search: the median, of the slowest server."""


class RecentFigures:
    """Bounded; any thread may look while one adds."""

    def __init__(self) -> None:
        self._taken: tuple[CrawlFigures, ...] = ()

    @property
    def latest(self) -> CrawlFigures | None:
        return self._taken[-1] if self._taken else None

    def all(self) -> list[CrawlFigures]:
        """Oldest first."""
        return list(self._taken)

    def add(self, figures: CrawlFigures) -> None:
        """Left out if the last ones are hardly older; a clock that was set back begins anew."""
        kept = self._taken if self.latest is None or self.latest.at <= figures.at else ()
        if not kept or figures.at - kept[-1].at >= _EVERY:
            self._taken = (*(each for each in kept if figures.at - each.at <= SECONDS), figures)


def figures_of(status: Status, home: Path) -> CrawlFigures:
    indexes = "index" in status.running
    searches = [each.freshness.p50 for each in status.search if each.freshness.p50 is not None]
    return CrawlFigures(
        at=time.time(),
        rate=status.rate if indexes else None,
        queued=_queued(status, home) if "urlserver" in status.running else None,
        waiting=status.links.get("pending", 0) + status.links.get("crawling", 0),
        fresh=status.freshness.p50 if indexes else None,
        search=max(searches, default=None),
    )


def _queued(status: Status, home: Path) -> int | None:
    """The URL server of this home writes a file every second, which is newer than its heartbeats."""
    here = read_status(home, "urlserver") or {}
    if isinstance(here.get("queued"), int):
        return int(here["queued"])
    told = [node.figures.get("queued") for node in status.nodes if node.type is NodeType.CRAWLER and is_up(node)]
    known = [number for number in told if isinstance(number, int)]
    return sum(known) if known else None
