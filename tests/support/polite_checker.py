"""An independent judge of a simulated web: it sees requests and answers as the web's servers would, nothing else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class Rules:
    """What is promised to hosts and addresses, in milliseconds."""

    host_gap: int
    host_concurrent: int
    ip_gap: int
    ip_concurrent: int


class Request(NamedTuple):
    host: str
    ip: str
    origin: str
    is_robots: bool
    is_hop: bool
    """What another host's robots.txt redirects to."""
    is_allowed: bool


@dataclass
class Checker:
    rules: Rules
    violations: list[str] = field(default_factory=list)
    requests: int = 0
    most_on_ip: int = 0
    _active: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _last_start: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: -(10**9)))
    _last_end: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: -(10**9)))
    _delay: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _not_before: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _robots_seen: set[str] = field(default_factory=set)

    def start(self, request: Request, now: int) -> None:
        host, ip = request.host, request.ip
        self.requests += 1
        delay = self._delay[host]
        places, gap = (1 if delay else self.rules.host_concurrent), max(self.rules.host_gap, delay)
        self._expect(self._active[host] < places, f"{host}: {self._active[host] + 1} requests at {now}")
        self._expect(self._active[ip] < self.rules.ip_concurrent, f"{ip}: {self._active[ip] + 1} requests at {now}")
        self._expect(now >= self._last_start[host] + gap, f"{host}: started too early at {now}")
        self._expect(places > 1 or now >= self._last_end[host] + gap, f"{host}: no rest before {now}, {gap=}")
        self._expect(now >= self._last_start[ip] + self.rules.ip_gap, f"{ip}: too often at {now}")
        is_patient = request.is_hop or now >= self._not_before[host]
        self._expect(is_patient, f"{host}: asked at {now} before its Retry-After ended")
        is_known = request.is_robots or request.origin in self._robots_seen
        self._expect(is_known, f"{request.origin}: page before robots.txt at {now}")
        self._expect(request.is_robots or request.is_allowed, f"{request.origin}: disallowed page at {now}")
        self._active[host] += 1
        self._active[ip] += 1
        self.most_on_ip = max(self.most_on_ip, self._active[ip])
        self._last_start[host] = self._last_start[ip] = now

    def end(self, host: str, ip: str, now: int) -> None:
        self._active[host] -= 1
        self._active[ip] -= 1
        self._last_end[host] = now

    def asked_to_wait(self, host: str, until: int) -> None:
        self._not_before[host] = max(self._not_before[host], until)

    def told_robots(self, origin: str, host: str, delay: int) -> None:
        """robots.txt of the origin was answered, and this is the Crawl-delay in it."""
        self._robots_seen.add(origin)
        self._delay[host] = max(self._delay[host], delay)

    def _expect(self, holds: bool, sentence: str) -> None:
        if not holds:
            self.violations.append(sentence)
