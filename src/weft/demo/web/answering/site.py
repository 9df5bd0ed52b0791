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
from weft.demo.web.answering.responses import STATUS_LINES, Request, Response, whole
from weft.demo.web.answering.robots_answers import RobotsAnswers
from weft.demo.web.definition.hosts import Host
from weft.demo.web.definition.kinds import ERRORS, HTML, Kind
from weft.demo.web.definition.redirects import redirect_of
from weft.demo.web.definition.resources import Resource, find, sitemap_part
from weft.demo.web.definition.robots import RobotsRules, rules_of
from weft.demo.web.definition.sitemaps import sitemap_body
from weft.demo.web.definition.small_pages import calendar_links, deep_links, soft_links
from weft.demo.web.definition.traits import Traits
from weft.demo.web.definition.world import World

_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)
_CSS: Final = (("Content-Type", "text/css"),)
_FILES: Final = (Kind.IMAGE, Kind.DOCUMENT, Kind.TEXT)
_REDIRECTS: Final = (Kind.MOVED, Kind.MOVED_AWAY, Kind.CHAIN, Kind.LOOP)
_FOREVER: Final = math.inf
_MOST_REMEMBERED: Final = 100_000


class GeneratedSite:
    """All answers follow from plan and state, except `recovering` ones: those need to know the first request."""

    def __init__(self, world: World, host: Host) -> None:
        self._world, self._host = world, host
        self._pages, self._robots = PageAnswers(world, host), RobotsAnswers(world, host)
        self._first_asked: OrderedDict[int, float] = OrderedDict()
        self._by_kind: dict[Kind, Callable[[Request, Resource], Response]] = {
            **dict.fromkeys(HTML, self._page),
            **dict.fromkeys(ERRORS, self._error),
            **dict.fromkeys(_FILES, lambda _, found: self._pages.file(found.kind, found.number)),
            **dict.fromkeys(_REDIRECTS, self._redirect),
            **dict.fromkeys(HOSTILE, self._hostile),
            Kind.SLOW: self._slow,
            Kind.RECOVERING: self._recovering,
            Kind.SITEMAP: self._sitemap,
            Kind.CALENDAR: self._trap,
            Kind.DEEP: self._trap,
            Kind.STYLE: lambda _, __: _standing(whole(Kind.STYLE, 200, _CSS, b"p { margin: 1em }\n")),
            Kind.UNKNOWN: lambda _, __: self._not_found(Kind.UNKNOWN, 404),
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

    def answer(self, request: Request) -> Response:
        traits = self._world.state.traits(self._host)
        if traits.is_down:
            return reset()
        response = self._answer(request, traits)
        return _late(response, traits.latency) if traits.latency and response.pieces is None else response

    def _answer(self, request: Request, traits: Traits) -> Response:
        if request.is_secure != traits.is_secure:
            return self._other_scheme(request, traits)
        robots = self._robots.answer(request, traits)
        if robots is not None:
            return robots
        if traits.overloaded:
            return busy(Kind.OVERLOADED, 503, traits.overloaded)
        found = find(self._world.plan.seed, self._host, traits, request.path)
        return self._by_kind[found.kind](request, found)

    def _other_scheme(self, request: Request, traits: Traits) -> Response:
        if not traits.is_secure:
            return whole(Kind.UNKNOWN, 421, _HTML, b"This host has no TLS.")
        return moved(Kind.TO_SECURE, 301, self._world.linker.origin(self._host) + request.target)

    def _page(self, request: Request, found: Resource) -> Response:
        vanished = self._world.state.vanished(self._host, found.number)
        if vanished:
            until = self._world.state.stands_until(self._host, found.number)
            return replace(self._not_found(found.kind, vanished), page=found.number, until=until)
        return self._pages.html(found.kind, found.number, request)

    def _slow(self, request: Request, found: Resource) -> Response:
        return slowed(
            Kind.SLOW, self._pages.html(Kind.SLOW, found.number, request), self._world.plan.profile.slow_seconds
        )

    def _recovering(self, request: Request, found: Resource) -> Response:
        """503 until the time that the first answer named is over."""
        now = time.monotonic()
        first = self._first_asked.setdefault(found.number, now)
        if len(self._first_asked) > _MOST_REMEMBERED:
            self._first_asked.popitem(last=False)
        left = first + self._world.plan.profile.retry_after_seconds - now
        if left <= 0:
            return replace(self._pages.html(Kind.RECOVERING, found.number, request), until=0.0)
        return busy(Kind.RECOVERING, 503, left)

    def _error(self, _: Request, found: Resource) -> Response:
        status, seconds = ERRORS[found.kind], self._world.plan.profile.retry_after_seconds
        if found.kind is Kind.MISSING:
            return self._not_found(Kind.MISSING, 404)
        if found.kind in (Kind.LIMITED, Kind.UNAVAILABLE):
            return busy(found.kind, status, seconds, as_date=found.kind is Kind.UNAVAILABLE)
        return _standing(whole(found.kind, status, _HTML, simple_page(f"Error {status}", "This is not here for you.")))

    def _not_found(self, kind: Kind, status: int) -> Response:
        """404 or 410; on some hosts a page that says so with 200."""
        if status == 404 and self._world.state.traits(self._host).is_soft_404:
            links = soft_links(self._world.linker.origin(self._host))
            return _standing(whole(kind, 200, _HTML, simple_page("Not found", "There is no such page here.", links)))
        return _standing(whole(kind, status, _HTML, simple_page(f"Error {status}", "There is no such page.")))

    def _redirect(self, _: Request, found: Resource) -> Response:
        world = self._world
        to = redirect_of(world.plan, world.hosts, world.linker, self._host, found.number, found.hop)
        return self._not_found(Kind.UNKNOWN, 404) if to is None else moved(found.kind, to.status, to.location)

    def _hostile(self, request: Request, found: Resource) -> Response:
        return hostile(found.kind, self._pages.page(found.number, request.target))

    def _sitemap(self, request: Request, _: Resource) -> Response:
        part = sitemap_part(request.path)
        body = sitemap_body(self._world.linker, self._host, part)
        media = "application/xml" if part is None else "application/gzip"
        return _standing(whole(Kind.SITEMAP, 200, [("Content-Type", media)], body))

    def _trap(self, request: Request, found: Resource) -> Response:
        origin = self._world.linker.origin(self._host)
        make = calendar_links if found.kind is Kind.CALENDAR else deep_links
        page = simple_page(f"{found.kind} {request.path}", f"Here is {request.path}.", make(origin, request.path))
        return _standing(whole(found.kind, 200, _HTML, page))


def _standing(response: Response) -> Response:
    return replace(response, until=_FOREVER)


def moved(kind: Kind, status: int, location: str) -> Response:
    return _standing(whole(kind, status, [*_HTML, ("Location", location)], simple_page("Moved", "It is elsewhere.")))


def busy(kind: Kind, status: int, seconds: float, *, as_date: bool = False) -> Response:
    """Come back in `seconds`, told in whole seconds or as a date."""
    now = time.time()
    later = math.ceil(now + seconds) if as_date else now + math.ceil(seconds)
    told = formatdate(later, usegmt=True) if as_date else str(math.ceil(seconds))
    answer = whole(kind, status, [*_HTML, ("Retry-After", told)], simple_page("Busy", "Come back later."))
    return replace(answer, retry_after=later - now)


def _late(response: Response, seconds: float) -> Response:
    data = STATUS_LINES[response.status] + response.rest
    return replace(response, pieces=lambda: iter([(seconds, data)]), until=0.0)
