"""What a URL of a synthetic web answers, told without making the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from weft.demo.web.answering.page_answers import PageAnswers
from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import ERRORS, HTML, PageKind
from weft.demo.web.definition.links import PageLink
from weft.demo.web.definition.redirects import redirect_of
from weft.demo.web.definition.resources import Resource, find, sitemap_part
from weft.demo.web.definition.sitemaps import sitemap_urls
from weft.demo.web.definition.small_pages import calendar_links, deep_links, soft_links
from weft.demo.web.definition.world import World
from weft.demo.web.fates import Fate

_OTHER: Final = (PageKind.IMAGE, PageKind.DOCUMENT, PageKind.TEXT, PageKind.STYLE)
_FAULTS: Final = {PageKind.RESET: 200, PageKind.SILENT: 0, PageKind.TOO_SHORT: 200}
_HOSTILE: Final = (PageKind.ENDLESS, PageKind.ENDLESS_HEADERS, PageKind.TOO_LONG, PageKind.BOMB)
_REDIRECTS: Final = (PageKind.MOVED, PageKind.MOVED_AWAY, PageKind.CHAIN, PageKind.LOOP)


@dataclass(frozen=True, slots=True)
class Expected:
    """`links` in the order of the page; `found`: targets without a reference."""

    kind: PageKind
    fate: Fate
    status: int
    links: Sequence[PageLink] = ()
    found: Sequence[str] = ()
    forbids_following: bool = False


def expected_answer(world: World, host: DemoHost, url: str) -> Expected:
    """What a first GET of `url` comes to; a `recovering` page is told as it is once it has recovered."""
    parts, traits = urlsplit(url), world.state.traits(host)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    if traits.is_down:
        return Expected(PageKind.RESET, Fate.FAULT, 0)
    if traits.is_secure and parts.scheme == "http":
        return Expected(PageKind.TO_SECURE, Fate.REDIRECT, 301, found=[world.linker.origin(host) + target])
    if traits.overloaded:
        return Expected(PageKind.OVERLOADED, Fate.ERROR, 503)
    return _of_resource(world, host, find(world.plan.seed, host, traits, parts.path), target)


def _of_resource(world: World, host: DemoHost, found: Resource, target: str) -> Expected:
    path = target.partition("?")[0]
    if found.kind in HTML:
        return _page(world, host, found, target)
    if found.kind in _REDIRECTS:
        return _redirect(world, host, found)
    if found.kind is PageKind.SITEMAP:
        return Expected(found.kind, Fate.SITEMAP, 200, found=sitemap_urls(world.linker, host, sitemap_part(path)))
    return _small(world, host, found, path)


def _page(world: World, host: DemoHost, found: Resource, target: str) -> Expected:
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


def _redirect(world: World, host: DemoHost, found: Resource) -> Expected:
    to = redirect_of(world.plan, world.hosts, world.linker, host, found.number, found.hop)
    if to is None:
        return _not_found(world, host, PageKind.UNKNOWN, 404)
    return Expected(found.kind, Fate.REDIRECT, to.status, found=[to.url])


def _small(world: World, host: DemoHost, found: Resource, path: str) -> Expected:
    kind, origin = found.kind, world.linker.origin(host)
    if kind in (PageKind.MISSING, PageKind.UNKNOWN):
        return _not_found(world, host, kind, 404)
    if kind in ERRORS:
        return Expected(kind, Fate.ERROR, ERRORS[kind])
    if kind in _OTHER:
        return Expected(kind, Fate.OTHER, 200)
    if kind in (PageKind.CALENDAR, PageKind.DEEP):
        links = calendar_links(origin, path) if kind is PageKind.CALENDAR else deep_links(origin, path)
        return Expected(kind, Fate.PAGE, 200, links)
    return Expected(kind, Fate.HOSTILE, 200) if kind in _HOSTILE else Expected(kind, Fate.FAULT, _FAULTS[kind])


def _not_found(world: World, host: DemoHost, kind: PageKind, status: int) -> Expected:
    if status == 404 and world.state.traits(host).is_soft_404:
        return Expected(kind, Fate.PAGE, 200, soft_links(world.linker.origin(host)))
    return Expected(kind, Fate.ERROR, status)
