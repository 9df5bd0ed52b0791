"""What one request says about itself: who asks, for what, and whether it was asked before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from xxhash import xxh3_64_intdigest

from weft.demo.web.answering.responses import DemoSite
from weft.demo.web.definition.world import World
from weft.demo.web.judge.limits import Limits
from weft.demo.web.judge.robots_memory import is_robots
from weft.demo.web.log import RequestLine

_TRY_AGAIN: Final = (0, 429)


class Cookies:
    def look(self, line: RequestLine) -> str | None:
        return "sent a cookie; expected none" if line.has_cookie else None


class UserAgent:
    def __init__(self, limits: Limits) -> None:
        self._expected = limits.user_agent

    def look(self, line: RequestLine) -> str | None:
        if line.agent and self._expected in (None, line.agent):
            return None
        return f"User-Agent is {line.agent!r}; expected {self._expected or 'one'!r}"


class RateScope:
    """Only hosts that were asked for; robots.txt may lead elsewhere."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def look(self, line: RequestLine) -> str | None:
        if is_robots(line) or self._limits.is_in_scope(line.host):
            return None
        return f"{line.host or 'no host'} is out of scope"


class RightAddress:
    """A host is asked at its own address."""

    def __init__(self, world: World, extra: Mapping[str, DemoSite]) -> None:
        self._world, self._extra = world, extra

    def look(self, line: RequestLine) -> str | None:
        host = self._world.hosts.named(line.host) or self._extra.get(line.host)
        if host is None:
            return f"{line.host or 'nothing'!r} is no host of this web"
        return None if line.address == host.address else f"asked at {line.address}; expected {host.address}"


class Refetch:
    """A page that was answered is not asked for again; what failed may be."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._answered: dict[int, float] = {}

    def look(self, line: RequestLine) -> str | None:
        if is_robots(line):
            return None
        key = xxh3_64_intdigest(f"{line.host}:{line.port}{line.target}".encode())
        before = self._answered.get(key)
        if line.is_complete and line.status not in _TRY_AGAIN and line.status < 500:
            self._answered[key] = line.end
        if before is None or line.start - before >= self._limits.refetch_after - self._limits.tolerance:
            return None
        return f"answered {line.start - before:.3f} s before"
