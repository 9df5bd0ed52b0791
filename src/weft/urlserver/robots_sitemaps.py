"""Sitemaps that a robots.txt names: links like any other, as far as they are the site's own and in scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from weft.mgmt.api import UrlServerCalls
from weft.mgmt.values import NewLink, Robots
from weft.model.host import web_host_of
from weft.model.site import Site
from weft.model.url import PageUrl, UrlRefused, UrlRules, identity_of
from weft.robots.file import parse
from weft.urlserver.site_cache import SiteCache

MOST: Final = 50
"""Sitemaps that are taken from one robots.txt."""
MOST_NAMED: Final = 1000
"""Names of sitemaps that are looked at in one robots.txt: those of other domains are not taken."""
_MAYBE: Final = re.compile(rb"site-?map", re.IGNORECASE)

SitemapPriority = Callable[[PageUrl], int | None]
"""The priority of a link that is to be crawled; None: it is not."""


def sitemaps_of(robots: Robots, rules: UrlRules, limit: int) -> list[PageUrl]:
    """What a robots.txt names of its own registrable domain; nobody can send us to other people's sites."""
    if not 200 <= robots.status < 300 or not _MAYBE.search(robots.body):
        return []
    home = identity_of(f"{robots.origin}/")
    found: dict[str, PageUrl] = {}
    for text in parse(robots.body, limit).sitemaps[:MOST_NAMED]:
        page = _named(rules, home, text)
        if page is not None:
            found.setdefault(page.uri, page)
        if len(found) == MOST:
            break
    return list(found.values())


def _named(rules: UrlRules, home: PageUrl, text: str) -> PageUrl | None:
    try:
        page = rules.join(home.url, text)
    except UrlRefused:
        return None
    return page if page.domain == home.domain else None


@dataclass(slots=True)
class Sitemaps:
    """Adds sitemaps to the control plane. Adding one that is known changes nothing."""

    mgmt: UrlServerCalls
    rules: UrlRules
    limit: int
    """Bytes of a robots.txt that are read."""
    priority_by: Callable[[Sequence[Site]], SitemapPriority]
    """Makes a scope of the sites."""
    _priority: SitemapPriority | None = None
    _version: int = 0
    """Of the sites that `_priority` was made of."""

    def add(self, robots: Iterable[Robots], sites: SiteCache) -> None:
        named = [page for each in robots for page in sitemaps_of(each, self.rules, self.limit)]
        if not named:
            return
        priority = self._fresh_priority(sites)
        judged = ((page, priority(page)) for page in named)
        links = [NewLink(page.uri, page.url, web_host_of(page.url), rank) for page, rank in judged if rank is not None]
        if links:
            self.mgmt.add(links)

    def _fresh_priority(self, sites: SiteCache) -> SitemapPriority:
        if self._priority is None or self._version != sites.version:
            self._version, self._priority = sites.version, self.priority_by(sites.sites())
        return self._priority
