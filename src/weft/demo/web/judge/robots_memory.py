"""Which robots.txt a crawler had in its hands, and what it says: taken from the web's definition, never parsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from weft.demo.web.answering.responses import DemoSite
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.robots import PATH, RobotsRules, Verdict, robots_hop, rules_of
from weft.demo.web.definition.world import World
from weft.demo.web.log import RequestLine

MOST_HOPS: Final = 5
ENOUGH_BYTES: Final = 500 << 10
"""A crawler may cut a robots.txt off behind these."""

Place = tuple[str, int, str]
"""Host, port and path."""


class _Fetch(NamedTuple):
    end: float
    verdict: Verdict
    rules: RobotsRules
    leads_to: Place | None


class Standing(NamedTuple):
    """What holds for an origin; `since` is when the oldest request for it was answered."""

    verdict: Verdict
    rules: RobotsRules
    since: float


def is_robots(line: RequestLine) -> bool:
    return line.kind == PageKind.ROBOTS or path_of(line) == PATH


def path_of(line: RequestLine) -> str:
    return line.target.partition("?")[0]


class RobotsMemory:
    """Is told of requests in the order of their start; `world` has the state of that moment."""

    def __init__(self, world: World, extra: Mapping[str, DemoSite], tolerance: float) -> None:
        self._world, self._extra, self._tolerance = world, extra, tolerance
        self._fetches: dict[Place, list[_Fetch]] = {}
        self._asked: tuple[RequestLine, Standing | None] | None = None

    def note(self, line: RequestLine) -> None:
        if not is_robots(line):
            return
        place = (line.host, line.port, path_of(line))
        known = self._fetches.get(place, [])
        # The newest that had ended by now, and those that still run.
        ended = [fetch for fetch in known if fetch.end <= line.start]
        running = [fetch for fetch in known if fetch.end > line.start]
        self._fetches[place] = [*ended[-1:], *running, self._fetch(line)]

    def standing(self, line: RequestLine) -> Standing | None:
        """What a crawler knows of a request's origin when it starts; None while its robots.txt is not answered."""
        # Several rules ask about the same request.
        if self._asked is None or self._asked[0] is not line:
            self._asked = (line, self._find((line.host, line.port, PATH), line.start))
        return self._asked[1]

    def _find(self, place: Place, at: float) -> Standing | None:
        since = at
        for _ in range(MOST_HOPS + 1):
            fetch = self._newest(place, at)
            if fetch is None:
                return None
            since = min(since, fetch.end)
            if fetch.leads_to is None:
                return Standing(fetch.verdict, fetch.rules, since)
            place = fetch.leads_to
        return Standing(Verdict.ALL_OPEN, RobotsRules(), since)

    def _newest(self, place: Place, at: float) -> _Fetch | None:
        ended = [fetch for fetch in self._fetches.get(place, ()) if fetch.end <= at + self._tolerance]
        return max(ended, key=lambda fetch: fetch.end, default=None)

    def _fetch(self, line: RequestLine) -> _Fetch:
        if not (line.is_complete or line.sent >= ENOUGH_BYTES):
            return _Fetch(line.end, Verdict.ALL_CLOSED, RobotsRules(), None)
        if 300 <= line.status < 400:
            return _Fetch(line.end, Verdict.ALL_OPEN, RobotsRules(), self._leads_to(line))
        if 200 <= line.status < 300:
            return _Fetch(line.end, Verdict.RULES, self._rules(line), None)
        is_absent = 400 <= line.status < 500 and line.status != 429
        return _Fetch(line.end, Verdict.ALL_OPEN if is_absent else Verdict.ALL_CLOSED, RobotsRules(), None)

    def _leads_to(self, line: RequestLine) -> Place | None:
        world, host = self._world, self._world.hosts.named(line.host)
        if host is None:
            return None
        if line.kind == PageKind.TO_SECURE:
            return line.host, world.plan.tls_port, path_of(line)
        hop = robots_hop(world.plan, host, world.state.traits(host), path_of(line), world.linker)
        if hop is None or hop.leads_to is None:
            return None
        url = urlsplit(hop.leads_to)
        return url.hostname or "", url.port or (443 if url.scheme == "https" else 80), url.path

    def _rules(self, line: RequestLine) -> RobotsRules:
        world, host = self._world, self._world.hosts.named(line.host)
        if host is None:
            return self._extra[line.host].rules if line.host in self._extra else RobotsRules()
        hop = robots_hop(world.plan, host, world.state.traits(host), path_of(line), world.linker)
        of = world.hosts.numbered(hop.of) if hop else host
        return rules_of(of, world.state.traits(of), world.linker)
