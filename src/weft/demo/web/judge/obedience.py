"""robots.txt first, closed paths never, Crawl-delay always."""

from __future__ import annotations

from weft.demo.web.definition.robots import Verdict
from weft.demo.web.judge.limits import Limits
from weft.demo.web.judge.rates import Key, host_of, too_soon
from weft.demo.web.judge.robots_memory import RobotsMemory, is_robots
from weft.demo.web.log import RequestLine


class RobotsFirst:
    """No page of an origin before its robots.txt was answered."""

    def __init__(self, memory: RobotsMemory) -> None:
        self._memory = memory

    def look(self, line: RequestLine) -> str | None:
        if is_robots(line) or self._memory.standing(line):
            return None
        return "asked for before the robots.txt of its origin was fetched"


class RobotsFresh:
    """No page by a robots.txt that is too old."""

    def __init__(self, memory: RobotsMemory, limits: Limits) -> None:
        self._memory, self._limits = memory, limits

    def look(self, line: RequestLine) -> str | None:
        standing = None if is_robots(line) else self._memory.standing(line)
        age = line.start - standing.since if standing else 0.0
        if age <= self._limits.robots_age + self._limits.tolerance:
            return None
        return f"robots.txt was {age:.3f} s old; expected at most {self._limits.robots_age:g} s"


class Disallowed:
    """No closed path."""

    def __init__(self, memory: RobotsMemory) -> None:
        self._memory = memory

    def look(self, line: RequestLine) -> str | None:
        standing = None if is_robots(line) else self._memory.standing(line)
        if standing is None or standing.verdict is Verdict.ALL_OPEN:
            return None
        if standing.verdict is Verdict.ALL_CLOSED:
            return "its robots.txt failed, which closes the whole host"
        return None if standing.rules.is_open(line.target) else f"closed by robots.txt: {standing.rules.closed}"


class CrawlDelay:
    """One request at a time and so much between them; hosts that ask for too much are left alone."""

    def __init__(self, memory: RobotsMemory, limits: Limits) -> None:
        self._memory, self._limits = memory, limits
        self._last: dict[Key, float] = {}

    def look(self, line: RequestLine) -> str | None:
        last = self._last.get(host_of(line))
        self._last[host_of(line)] = max(line.end, last or 0.0)
        standing = self._memory.standing(line)
        delay = standing.rules.crawl_delay if standing else 0.0
        if not delay or last is None:
            return None
        if delay > self._limits.crawl_delay_max:
            return None if is_robots(line) else f"Crawl-delay {delay:g} s is more than is waited for: skip the host"
        return too_soon(line.start - last, delay, self._limits.tolerance)
