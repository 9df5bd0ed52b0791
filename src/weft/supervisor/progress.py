"""How far a crawl is: read from the control plane and from what the roles tell, summed over restarts."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from weft.mgmt.api import Mgmt
from weft.mgmt.values import Counts
from weft.status_file import read_status

_QUIET: Final = 2.5
"""Seconds without any work anywhere, after which a crawl has come to its end."""


@dataclass
class Progress:
    """What is known of a running crawl."""

    mgmt: Mgmt
    home: Path
    began: float = field(default_factory=time.monotonic)
    counts: Counts | None = None
    index: dict[str, Any] = field(default_factory=dict)
    _done: dict[int, dict[str, int]] = field(default_factory=dict)
    """By process: what each index process did."""
    _quiet_since: float | None = None
    _samples: list[tuple[float, int]] = field(default_factory=list)

    def look(self) -> None:
        self.counts = self.mgmt.counts()
        facts = read_status(self.home, "index")
        if facts is not None:
            self.index = facts
            self._done[facts["pid"]] = {
                name: facts.get(name) or 0 for name in ("pages", "links", "discovered", "results")
            }
        now = time.monotonic()
        self._samples = [*(each for each in self._samples if now - each[0] < 10), (now, self.total("pages"))]
        self._quiet_since = (self._quiet_since or now) if self._is_quiet(facts) else None

    def _is_quiet(self, facts: dict[str, Any] | None) -> bool:
        if facts is None or self.counts is None or not facts.get("idle"):
            return False
        links, chunks = self.counts.links, self.counts.chunks
        waiting = [links.get("pending", 0), links.get("crawling", 0)]
        waiting += [chunks.get(task, 0) for task in ("crawling", "crawled", "building")]
        return not any(waiting)

    @property
    def is_over(self) -> bool:
        return self._quiet_since is not None and time.monotonic() - self._quiet_since > _QUIET

    def total(self, name: str) -> int:
        return sum(done[name] for done in self._done.values())

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Pages a second, lately."""
        (first, before), (last, now) = self._samples[0], self._samples[-1]
        return (now - before) / (last - first) if last > first else 0.0

    @property
    def free_bytes(self) -> int:
        return shutil.disk_usage(self.home).free
