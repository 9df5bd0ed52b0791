"""How many at once, and how soon after each other: rules that need times alone."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from weft.demo.web.judge.limits import Limits
from weft.demo.web.log import RequestLine

Key = tuple[str, int] | str


def host_of(line: RequestLine) -> tuple[str, int]:
    """A host is a name with its port."""
    return line.host, line.port


def ip_of(line: RequestLine) -> str:
    return line.address


class Concurrency:
    """Not more than `limit` requests at once; requests come in the order of their start."""

    def __init__(self, limit: int, tolerance: float, key: Callable[[RequestLine], Key]) -> None:
        self._limit, self._tolerance, self._key = limit, tolerance, key
        self._ends: defaultdict[Key, list[float]] = defaultdict(list)

    def look(self, line: RequestLine) -> str | None:
        ends = self._ends[self._key(line)]
        # One that ends within the tolerance may as well have ended before.
        while ends and ends[0] <= line.start + self._tolerance:
            heappop(ends)
        heappush(ends, line.end)
        return f"{len(ends)} requests at once; expected at most {self._limit}" if len(ends) > self._limit else None


class _Last(NamedTuple):
    start: float
    end: float


class HostGap:
    """From the last start and the last end where one request at a time is allowed, else from the last start."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._gap = limits, 1 / limits.host_per_sec
        self._last: dict[Key, _Last] = {}

    def look(self, line: RequestLine) -> str | None:
        last = self._last.get(host_of(line))
        self._last[host_of(line)] = _Last(line.start, max(line.end, last.end if last else 0.0))
        if last is None:
            return None
        is_single = self._limits.host_concurrent == 1
        if is_single and line.start + self._limits.tolerance < last.end:
            return None  # two at once, which is told by another rule
        before = max(last.start, last.end) if is_single else last.start
        return too_soon(line.start - before, self._gap, self._limits.tolerance)


class IpRate:
    """In no span that holds so many starts may there be one more."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._count = max(1, int(limits.ip_per_sec))
        self._starts: defaultdict[Key, deque[float]] = defaultdict(lambda: deque(maxlen=self._count))

    def look(self, line: RequestLine) -> str | None:
        starts, span = self._starts[ip_of(line)], self._count / self._limits.ip_per_sec
        passed = line.start - starts[0] if len(starts) == self._count else span
        starts.append(line.start)
        if passed + self._limits.tolerance >= span:
            return None
        return f"{self._count + 1} requests within {passed:.3f} s; expected at most {self._count} in {span:g} s"


class RetryAfter:
    """Nobody comes back before the time that was named."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # One request at a time: whoever starts the next has heard the answer.
        self._reaction = 0.0 if limits.host_concurrent == 1 else limits.reaction
        self._told: defaultdict[Key, list[_Last]] = defaultdict(list)

    def look(self, line: RequestLine) -> str | None:
        told = [one for one in self._told[host_of(line)] if one.end > line.start]
        if line.retry_after is not None and line.is_complete:
            self._told[host_of(line)] = [*told, _Last(line.end, line.end + line.retry_after)]
        else:
            self._told[host_of(line)] = told
        early = [one for one in told if one.start + self._reaction <= line.start < one.end - self._limits.tolerance]
        if not early:
            return None
        return f"{early[-1].end - line.start:.3f} s before the end of its Retry-After"


def too_soon(passed: float, expected: float, tolerance: float) -> str | None:
    if passed + tolerance >= expected:
        return None
    return f"{passed:.3f} s after the request before; expected {expected:g} s"
