"""robots.txt as it is answered: plainly, elsewhere, late, too large, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from weft.demo.web.answering.hostile import reset, slowed
from weft.demo.web.answering.responses import DemoRequest, DemoResponse, whole
from weft.demo.web.definition.dice import Dice
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.robots import HUGE_BYTES, PATH, robots_hop, robots_text, rules_of
from weft.demo.web.definition.traits import RobotsKind, Traits
from weft.demo.web.definition.world import World

_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_STATUSES: Final = {RobotsKind.MISSING: 404, RobotsKind.FORBIDDEN: 403, RobotsKind.FAILING: 503}


class RobotsAnswers:
    def __init__(self, world: World, host: DemoHost) -> None:
        self._world, self._host = world, host

    def answer(self, request: DemoRequest, traits: Traits) -> DemoResponse | None:
        """The answer to a request on the way to somebody's robots.txt; None for any other request."""
        path = request.path
        if not path.startswith("/robots"):
            return None
        hop = robots_hop(self._world.plan, self._host, traits, path, self._world.linker)
        if hop is None:
            return None
        if hop.leads_to is not None:
            return whole(PageKind.ROBOTS, 301, [*_TEXT, ("Location", hop.leads_to)], b"elsewhere\n")
        if path == PATH and traits.robots in _STATUSES:
            status = _STATUSES[traits.robots]
            return whole(PageKind.ROBOTS, status, _TEXT, b"Nothing here.\n")
        return self._rules(self._world.hosts.numbered(hop.of))

    def _rules(self, of: DemoHost) -> DemoResponse:
        """The rules of a host, its own or one that lends its rules here."""
        traits, plan = self._world.state.traits(of), self._world.plan
        if traits.robots is RobotsKind.RESET:
            return replace(reset(), kind=PageKind.ROBOTS)
        rules = rules_of(of, traits, self._world.linker)
        size = HUGE_BYTES if traits.robots is RobotsKind.HUGE else 0
        text = robots_text(rules, plan.agent, Dice(plan.seed, "robots", of.number), size)
        answer = whole(PageKind.ROBOTS, 200, _TEXT, text)
        return (
            slowed(PageKind.ROBOTS, answer, plan.profile.slow_seconds) if traits.robots is RobotsKind.SLOW else answer
        )
