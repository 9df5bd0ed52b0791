"""How far a crawl is: read from the control plane and from what the roles tell, summed over restarts."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from weft.answers.disk import Disk, look_at_disk
from weft.answers.search_servers import STATUS as SEARCH_STATUS
from weft.clock import Clock, MonotonicClock
from weft.config.sections import DispatcherSettings
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import Counts, Node, NodeState, RestingHosts
from weft.roles.status_file import last_status, read_status

_UNDER_WAY: Final = ("crawling", "crawled", "building", "waiting")
_LATELY: Final = 10.0
_NOTICED: Final = 2000
"""Milliseconds that a host must rest before people are told."""
_LISTED: Final = 3
_SUMMED: Final = ("pages", "links", "discovered", "results")


@dataclass
class CrawlProgress:
    """What is known of a running crawl."""

    mgmt: OperatorCalls
    home: Path
    archive: Path
    least_free: int
    own_nodes: frozenset[str] = frozenset()
    """Addresses of the nodes of this run."""
    patience: float = field(default_factory=lambda: DispatcherSettings().retry_patience)
    """Seconds: a crawl does not wait for hosts that rest for longer."""
    began: float = field(default_factory=time.monotonic)
    counts: Counts | None = None
    index: dict[str, Any] = field(default_factory=dict)
    urlserver: dict[str, Any] = field(default_factory=dict)
    disk: Disk = field(init=False)
    was_full: bool = False
    """Whether the disk was full at any look: what could not be written makes room again, and fails again."""
    resting: RestingHosts = field(default_factory=lambda: RestingHosts(0, []))
    """Hosts that asked for patience or failed."""
    is_asked_to_stop: bool = False
    """Whether somebody asked a node of this run to drain: the run ends as a whole."""
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=60))
    """Pages a second at each look."""
    _done: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By process: what each index process did."""
    _before: dict[str, Any] | None = None
    """What an index process told before this crawl began."""
    is_over: bool = False
    """Whether nothing waits, nothing is under way, and nothing follows from what was fetched."""
    clock: Clock = field(default_factory=MonotonicClock)
    """The one by which the index process says since when it is idle."""
    _quiet_since: int | None = None
    """Nothing waited and nothing was under way at this moment, and the index process has had nothing to do since."""
    _samples: deque[tuple[float, int, int]] = field(default_factory=deque)
    """(moment, pages, results)"""

    def __post_init__(self) -> None:
        self._before = last_status(self.home, "index")
        self.disk = look_at_disk(self.archive, self.least_free)

    def look(self) -> None:
        told = read_status(self.home, "index") or {}
        # After what the index process told: what it has handed out by then is counted.
        self.counts, nodes = self.mgmt.counts(), self.mgmt.nodes()
        self._look_for_the_end(told)
        self.is_asked_to_stop |= any(self._is_own(node) and node.asked is NodeState.DRAINING for node in nodes)
        self.disk = look_at_disk(self.archive, self.least_free)
        self.was_full |= self.disk.is_full
        self.urlserver = read_status(self.home, "urlserver") or {}
        facts = last_status(self.home, "index")
        if facts is not None and facts != self._before:
            self.index = facts
            if not self.stands_by:
                self._done[facts["pid"]] = facts
        now = time.monotonic()
        self.resting = self.mgmt.resting_hosts(_NOTICED, _LISTED)
        self._samples.append((now, self.total("pages"), self.total("results")))
        while now - self._samples[0][0] > _LATELY:
            self._samples.popleft()
        self.rates.append(self.rate)

    def _is_own(self, node: Node) -> bool:
        """Not the one of an earlier run at the same address."""
        return node.address in self.own_nodes and node.seen < self.seconds * 1000

    def _look_for_the_end(self, told: dict[str, Any]) -> None:
        idle = told.get("idle")
        if not idle or told.get("retrying") or not self._has_nothing():
            self._quiet_since, self.is_over = None, False
            return
        if self._quiet_since is None or self._quiet_since < idle["since"]:
            self._quiet_since = self.clock.now()
        self.is_over = self._quiet_since < idle["looked"]

    @property
    def is_quiet(self) -> bool:
        """Whether the crawl is over unless something follows from what was fetched last."""
        return self._quiet_since is not None

    def _has_nothing(self) -> bool:
        """Whether nothing waits in the control plane and nothing is under way."""
        if self.counts is None or any(self.counts.chunks.get(task, 0) for task in _UNDER_WAY):
            return False
        return not self.waiting or self.waiting == self.left_behind().links

    def left_behind(self) -> RestingHosts:
        """Hosts that this crawl does not wait for, and how many links wait for them."""
        return self.mgmt.resting_hosts(int(self.patience * 1000))

    @property
    def stands_by(self) -> bool:
        """Whether another process builds the index, in a cluster: it has the figures of pages and links found."""
        return bool(self.index.get("stands_by"))

    @property
    def retrying(self) -> int:
        """Pages that were refused for haste and are fetched again in this crawl."""
        return int(self.index.get("retrying") or 0)

    @property
    def waiting(self) -> int:
        """Links that are to be fetched now."""
        links = self.counts.links if self.counts else {}
        return links.get("pending", 0) + links.get("crawling", 0)

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

    def search_waits(self) -> int:
        """Documents that the index server of this run had still to write when it told so last."""
        return int((last_status(self.home, SEARCH_STATUS) or {}).get("pending") or 0)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def rate(self) -> float:
        """Pages a second, lately."""
        return self._lately(1)

    @property
    def result_rate(self) -> float:
        """Links a second that got an outcome, lately."""
        return self._lately(2)

    def _lately(self, column: int) -> float:
        if not self._samples:
            return 0.0
        first, last = self._samples[0], self._samples[-1]
        return (last[column] - first[column]) / (last[0] - first[0]) if last[0] > first[0] else 0.0
