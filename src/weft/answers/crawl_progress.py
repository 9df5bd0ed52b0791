"""How far a crawl is: read from the control plane and from what the roles tell, summed over restarts."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from weft.answers.disk import Disk, look_at_disk
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Counts
from weft.roles.status_file import last_status, read_status

_QUIET: Final = 2.5
"""Seconds without any work anywhere, after which a crawl has come to its end."""
_LATELY: Final = 10.0
_SUMMED: Final = ("pages", "links", "discovered", "results")


@dataclass
class CrawlProgress:
    """What is known of a running crawl."""

    mgmt: OperatorCalls
    home: Path
    archive: Path
    least_free: int
    began: float = field(default_factory=time.monotonic)
    counts: Counts | None = None
    index: dict[str, Any] = field(default_factory=dict)
    urlserver: dict[str, Any] = field(default_factory=dict)
    disk: Disk = field(init=False)
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=60))
    """Pages a second at each look."""
    _done: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By process: what each index process did."""
    _before: dict[str, Any] | None = None
    """What an index process told before this crawl began."""
    _quiet_since: float | None = None
    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._before = last_status(self.home, "index")
        self.disk = look_at_disk(self.archive, self.least_free)

    def look(self) -> None:
        self.counts = self.mgmt.counts()
        self.disk = look_at_disk(self.archive, self.least_free)
        self.urlserver = read_status(self.home, "urlserver") or {}
        facts = last_status(self.home, "index")
        if facts is not None and facts != self._before:
            self.index = self._done[facts["pid"]] = facts
        now = time.monotonic()
        self._samples.append((now, self.total("pages")))
        while now - self._samples[0][0] > _LATELY:
            self._samples.popleft()
        self.rates.append(self.rate)
        self._quiet_since = (self._quiet_since or now) if self._is_quiet() else None

    def _is_quiet(self) -> bool:
        facts = read_status(self.home, "index")
        if facts is None or self.counts is None or not facts.get("idle"):
            return False
        return not self.waiting and not any(
            self.counts.chunks.get(task, 0) for task in ("crawling", "crawled", "building")
        )

    @property
    def waiting(self) -> int:
        """Links that are to be fetched now."""
        links = self.counts.links if self.counts else {}
        return links.get("pending", 0) + links.get("crawling", 0)

    @property
    def is_over(self) -> bool:
        return self._quiet_since is not None and time.monotonic() - self._quiet_since > _QUIET

    def total(self, name: str) -> int:
        if name not in _SUMMED:
            raise KeyError(name)
        return sum(done.get(name) or 0 for done in self._done.values())

    def refused(self) -> dict[str, int]:
        """Links that were found and not taken, by the reason."""
        found: dict[str, int] = {}
        for done in self._done.values():
            for reason, number in (done.get("refused") or {}).items():
                found[reason] = found.get(reason, 0) + number
        return found

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Pages a second, lately."""
        if not self._samples:
            return 0.0
        (first, before), (last, now) = self._samples[0], self._samples[-1]
        return (now - before) / (last - first) if last > first else 0.0
