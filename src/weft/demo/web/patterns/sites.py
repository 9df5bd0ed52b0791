"""The patterns as sites of a synthetic web: `WebPlan(extra_sites="weft.demo.web.patterns.sites:make")`."""

from __future__ import annotations

from typing import Final

from weft.demo.web.answering.responses import DemoRequest, DemoResponse, whole
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.robots import PATH, RobotsRules
from weft.demo.web.patterns.catalogue import PATTERNS
from weft.demo.web.patterns.pages import html_of
from weft.demo.web.patterns.pattern import Pattern, split_target

EXTRA_SITES: Final = "weft.demo.web.patterns.sites:make"
_HTML: Final = ("Content-Type", "text/html; charset=utf-8")
_TEXT: Final = ("Content-Type", "text/plain")


class PatternSite:
    """A pattern behind a host name of its own; it counts its visits, and so no answer of it may be remembered."""

    rules = RobotsRules()

    def __init__(self, pattern: Pattern, seed: int, address: str) -> None:
        self._server, self._visits = pattern.server(seed), 0
        self.name, self.address = pattern.host, address

    def answer(self, request: DemoRequest) -> DemoResponse:
        if request.path == PATH:
            return whole(PageKind.ROBOTS, 200, [_TEXT], b"User-agent: *\nAllow: /\n")
        self._visits += 1
        answer = self._server(*split_target(request.target), self._visits)
        if answer.location:
            return whole(PageKind.MOVED, answer.status, [_HTML, ("Location", answer.location)], b"")
        kind = PageKind.PAGE if answer.status == 200 else PageKind.MISSING
        return whole(kind, answer.status, [_HTML], html_of(answer))


def make(plan: WebPlan) -> list[PatternSite]:
    """All patterns, from the plan's seed, on its addresses in turn."""
    return [
        PatternSite(pattern, plan.seed, plan.address(number % plan.addresses))
        for number, pattern in enumerate(PATTERNS)
    ]
