"""A host of the synthetic web at work: every path of it has an answer."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Final

from weft.demo.web.answering.hostile import HOSTILE, hostile, reset, slowed
from weft.demo.web.answering.page_answers import PageAnswers
from weft.demo.web.answering.pages import simple_page
from weft.demo.web.answering.responses import STATUS_LINES, DemoRequest, DemoResponse, whole
from weft.demo.web.answering.robots_answers import RobotsAnswers
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import ERRORS, HTML, PageKind
from weft.demo.web.definition.redirects import redirect_of
from weft.demo.web.definition.resources import Resource, find, sitemap_part
from weft.demo.web.definition.robots import RobotsRules, rules_of
from weft.demo.web.definition.sitemaps import sitemap_body
from weft.demo.web.definition.small_pages import calendar_links, deep_links, soft_links
from weft.demo.web.definition.traits import Traits
from weft.demo.web.definition.world import World

_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
_CSS: Final = (("Content-Type", "text/css"),)
_FILES: Final = (PageKind.IMAGE, PageKind.DOCUMENT, PageKind.TEXT)
_REDIRECTS: Final = (PageKind.MOVED, PageKind.MOVED_AWAY, PageKind.CHAIN, PageKind.LOOP)
_FOREVER: Final = math.inf
_MOST_REMEMBERED: Final = 100_000


class GeneratedSite:
    """All answers follow from plan and state, except `recovering` ones: those need to know the first request."""

    def __init__(self, world: World, host: DemoHost) -> None:
        self._world, self._host = world, host
        self._pages, self._robots = PageAnswers(world, host), RobotsAnswers(world, host)
        self._first_asked: OrderedDict[int, float] = OrderedDict()
        self._by_kind: dict[PageKind, Callable[[DemoRequest, Resource], DemoResponse]] = {
            **dict.fromkeys(HTML, self._page),
            **dict.fromkeys(ERRORS, self._error),
            **dict.fromkeys(_FILES, lambda _, found: self._pages.file(found.kind, found.number)),
            **dict.fromkeys(_REDIRECTS, self._redirect),
            **dict.fromkeys(HOSTILE, self._hostile),
            PageKind.SLOW: self._slow,
            PageKind.RECOVERING: self._recovering,
            PageKind.SITEMAP: self._sitemap,
            PageKind.CALENDAR: self._trap,
            PageKind.DEEP: self._trap,
            PageKind.STYLE: lambda _, __: _standing(whole(PageKind.STYLE, 200, _CSS, b"p { margin: 1em }\n")),
            PageKind.UNKNOWN: lambda _, __: self._not_found(PageKind.UNKNOWN, 404),
        }

    @property
    def name(self) -> str:
        return self._host.name

    @property
    def address(self) -> str:
        return self._host.address

    @property
    def rules(self) -> RobotsRules:
        return rules_of(self._host, self._world.state.traits(self._host), self._world.linker)

    def answer(self, request: DemoRequest) -> DemoResponse:
        traits = self._world.state.traits(self._host)
        if traits.is_down:
            return reset()
        response = self._answer(request, traits)
        return _late(response, traits.latency) if traits.latency and response.pieces is None else response

    def _answer(self, request: DemoRequest, traits: Traits) -> DemoResponse:
        if request.is_secure != traits.is_secure:
            return self._other_scheme(request, traits)
        robots = self._robots.answer(request, traits)
        if robots is not None:
            return robots
        if traits.overloaded:
            return busy(PageKind.OVERLOADED, 503, traits.overloaded)
        found = find(self._world.plan.seed, self._host, traits, request.path)
        return self._by_kind[found.kind](request, found)

    def _other_scheme(self, request: DemoRequest, traits: Traits) -> DemoResponse:
        if not traits.is_secure:
            return whole(PageKind.UNKNOWN, 421, _HTML, b"This host has no TLS.")
        return moved(PageKind.TO_SECURE, 301, self._world.linker.origin(self._host) + request.target)

    def _page(self, request: DemoRequest, found: Resource) -> DemoResponse:
        vanished = self._world.state.vanished(self._host, found.number)
        if vanished:
            until = self._world.state.stands_until(self._host, found.number)
            return replace(self._not_found(found.kind, vanished), page=found.number, until=until)
        return self._pages.html(found.kind, found.number, request)

    def _slow(self, request: DemoRequest, found: Resource) -> DemoResponse:
        return slowed(
            PageKind.SLOW, self._pages.html(PageKind.SLOW, found.number, request), self._world.plan.profile.slow_seconds
        )

    def _recovering(self, request: DemoRequest, found: Resource) -> DemoResponse:
        """503 until the time that the first answer named is over."""
        now = time.monotonic()
        first = self._first_asked.setdefault(found.number, now)
        if len(self._first_asked) > _MOST_REMEMBERED:
            self._first_asked.popitem(last=False)
        left = first + self._world.plan.profile.retry_after_seconds - now
        if left <= 0:
            return replace(self._pages.html(PageKind.RECOVERING, found.number, request), until=0.0)
        return busy(PageKind.RECOVERING, 503, left)

    def _error(self, _: DemoRequest, found: Resource) -> DemoResponse:
        status, seconds = ERRORS[found.kind], self._world.plan.profile.retry_after_seconds
        if found.kind is PageKind.MISSING:
            return self._not_found(PageKind.MISSING, 404)
        if found.kind in (PageKind.LIMITED, PageKind.UNAVAILABLE):
            return busy(found.kind, status, seconds, as_date=found.kind is PageKind.UNAVAILABLE)
        return _standing(whole(found.kind, status, _HTML, simple_page(f"Error {status}", "This is not here for you.")))

    def _not_found(self, kind: PageKind, status: int) -> DemoResponse:
        """404 or 410; on some hosts a page that says so with 200."""
        if status == 404 and self._world.state.traits(self._host).is_soft_404:
            links = soft_links(self._world.linker.origin(self._host))
            return _standing(whole(kind, 200, _HTML, simple_page("Not found", "There is no such page here.", links)))
        return _standing(whole(kind, status, _HTML, simple_page(f"Error {status}", "There is no such page.")))

    def _redirect(self, _: DemoRequest, found: Resource) -> DemoResponse:
        world = self._world
        to = redirect_of(world.plan, world.hosts, world.linker, self._host, found.number, found.hop)
        return self._not_found(PageKind.UNKNOWN, 404) if to is None else moved(found.kind, to.status, to.location)

    def _hostile(self, request: DemoRequest, found: Resource) -> DemoResponse:
        return hostile(found.kind, self._pages.page(found.number, request.target))

    def _sitemap(self, request: DemoRequest, _: Resource) -> DemoResponse:
        part = sitemap_part(request.path)
        body = sitemap_body(self._world.linker, self._host, part)
        media = "application/xml" if part is None else "application/gzip"
        return _standing(whole(PageKind.SITEMAP, 200, [("Content-Type", media)], body))

    def _trap(self, request: DemoRequest, found: Resource) -> DemoResponse:
        origin = self._world.linker.origin(self._host)
        make = calendar_links if found.kind is PageKind.CALENDAR else deep_links
        page = simple_page(f"{found.kind} {request.path}", f"Here is {request.path}.", make(origin, request.path))
        return _standing(whole(found.kind, 200, _HTML, page))


def _standing(response: DemoResponse) -> DemoResponse:
    return replace(response, until=_FOREVER)


def moved(kind: PageKind, status: int, location: str) -> DemoResponse:
    return _standing(whole(kind, status, [*_HTML, ("Location", location)], simple_page("Moved", "It is elsewhere.")))


def busy(kind: PageKind, status: int, seconds: float, *, as_date: bool = False) -> DemoResponse:
    """Come back in `seconds`, told in whole seconds or as a date."""
    now = time.time()
    later = math.ceil(now + seconds) if as_date else now + math.ceil(seconds)
    told = formatdate(later, usegmt=True) if as_date else str(math.ceil(seconds))
    answer = whole(kind, status, [*_HTML, ("Retry-After", told)], simple_page("Busy", "Come back later."))
    return replace(answer, retry_after=later - now)


def _late(response: DemoResponse, seconds: float) -> DemoResponse:
    data = STATUS_LINES[response.status] + response.rest
    return replace(response, pieces=lambda: iter([(seconds, data)]), until=0.0)
