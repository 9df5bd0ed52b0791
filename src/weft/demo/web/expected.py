"""What a URL of a synthetic web answers, told without making the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from weft.demo.web.answering.page_answers import PageAnswers
from weft.demo.web.definition.hosts import Host
from weft.demo.web.definition.kinds import ERRORS, HTML, Kind
from weft.demo.web.definition.links import PageLink
from weft.demo.web.definition.redirects import redirect_of
from weft.demo.web.definition.resources import Resource, find, sitemap_part
from weft.demo.web.definition.sitemaps import sitemap_urls
from weft.demo.web.definition.small_pages import calendar_links, deep_links, soft_links
from weft.demo.web.definition.world import World
from weft.demo.web.fates import Fate

_OTHER: Final = (Kind.IMAGE, Kind.DOCUMENT, Kind.TEXT, Kind.STYLE)
_FAULTS: Final = {Kind.RESET: 200, Kind.SILENT: 0, Kind.TOO_SHORT: 200}
_HOSTILE: Final = (Kind.ENDLESS, Kind.ENDLESS_HEADERS, Kind.TOO_LONG, Kind.BOMB)
_REDIRECTS: Final = (Kind.MOVED, Kind.MOVED_AWAY, Kind.CHAIN, Kind.LOOP)


@dataclass(frozen=True, slots=True)
class Expected:
    """`links` in the order of the page; `found`: targets without a reference."""

    kind: Kind
    fate: Fate
    status: int
    links: Sequence[PageLink] = ()
    found: Sequence[str] = ()
    forbids_following: bool = False


def expected_answer(world: World, host: Host, url: str) -> Expected:
    """What a first GET of `url` comes to; a `recovering` page is told as it is once it has recovered."""
    parts, traits = urlsplit(url), world.state.traits(host)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    if traits.is_down:
        return Expected(Kind.RESET, Fate.FAULT, 0)
    if traits.is_secure and parts.scheme == "http":
        return Expected(Kind.TO_SECURE, Fate.REDIRECT, 301, found=[world.linker.origin(host) + target])
    if traits.overloaded:
        return Expected(Kind.OVERLOADED, Fate.ERROR, 503)
    return _of_resource(world, host, find(world.plan.seed, host, traits, parts.path), target)


def _of_resource(world: World, host: Host, found: Resource, target: str) -> Expected:
    path = target.partition("?")[0]
    if found.kind in HTML:
        return _page(world, host, found, target)
    if found.kind in _REDIRECTS:
        return _redirect(world, host, found)
    if found.kind is Kind.SITEMAP:
        return Expected(found.kind, Fate.SITEMAP, 200, found=sitemap_urls(world.linker, host, sitemap_part(path)))
    return _small(world, host, found, path)


def _page(world: World, host: Host, found: Resource, target: str) -> Expected:
    vanished = world.state.vanished(host, found.number)
    if vanished:
        return _not_found(world, host, found.kind, vanished)
    pages = PageAnswers(world, host)
    refresh = pages.refresh(found.number)
    return Expected(
        found.kind,
        Fate.PAGE,
        200,
        pages.links(found.number, target),
        [refresh] if refresh else [],
        pages.quality(found.number).forbids_following,
    )


def _redirect(world: World, host: Host, found: Resource) -> Expected:
    to = redirect_of(world.plan, world.hosts, world.linker, host, found.number, found.hop)
    if to is None:
        return _not_found(world, host, Kind.UNKNOWN, 404)
    return Expected(found.kind, Fate.REDIRECT, to.status, found=[to.url])


def _small(world: World, host: Host, found: Resource, path: str) -> Expected:
    kind, origin = found.kind, world.linker.origin(host)
    if kind in (Kind.MISSING, Kind.UNKNOWN):
        return _not_found(world, host, kind, 404)
    if kind in ERRORS:
        return Expected(kind, Fate.ERROR, ERRORS[kind])
    if kind in _OTHER:
        return Expected(kind, Fate.OTHER, 200)
    if kind in (Kind.CALENDAR, Kind.DEEP):
        links = calendar_links(origin, path) if kind is Kind.CALENDAR else deep_links(origin, path)
        return Expected(kind, Fate.PAGE, 200, links)
    return Expected(kind, Fate.HOSTILE, 200) if kind in _HOSTILE else Expected(kind, Fate.FAULT, _FAULTS[kind])


def _not_found(world: World, host: Host, kind: Kind, status: int) -> Expected:
    if status == 404 and world.state.traits(host).is_soft_404:
        return Expected(kind, Fate.PAGE, 200, soft_links(world.linker.origin(host)))
    return Expected(kind, Fate.ERROR, status)
