"""Sitemaps that a robots.txt names: links like any other, as far as they are the site's own and in scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from weft.clock import Clock
from weft.mgmt.api import UrlServerCalls
from weft.mgmt.values import NewLink, Robots
from weft.model.host import web_host_of
from weft.model.site import Site
from weft.model.url import PageUrl, UrlRefused, UrlRules
from weft.robots.file import parse

MOST: Final = 50
"""Sitemaps that are taken from one robots.txt."""
SITES_AGE: Final = 5_000
"""For how long what the user said about sites is not read again."""
_MAYBE: Final = re.compile(rb"site-?map", re.IGNORECASE)

Judge = Callable[[PageUrl], int | None]
"""The priority of a link that is to be crawled; None: it is not."""


def sitemaps_of(robots: Robots, rules: UrlRules, limit: int) -> list[PageUrl]:
    """What a robots.txt names of its own registrable domain; nobody can send us to other people's sites."""
    if not 200 <= robots.status < 300 or not _MAYBE.search(robots.body):
        return []
    home = rules.identify(f"{robots.origin}/")
    found: dict[str, PageUrl] = {}
    for text in parse(robots.body, limit).sitemaps:
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
    judging: Callable[[Sequence[Site]], Judge]
    """What the sites say, as a question about one link."""
    clock: Clock
    _judge: Judge | None = None
    _read_at: int = 0

    def add(self, robots: Iterable[Robots]) -> None:
        named = [page for each in robots for page in sitemaps_of(each, self.rules, self.limit)]
        if not named:
            return
        judge = self._fresh_judge()
        judged = ((page, judge(page)) for page in named)
        links = [NewLink(page.uri, page.url, web_host_of(page.url), rank) for page, rank in judged if rank is not None]
        if links:
            self.mgmt.add(links)

    def _fresh_judge(self) -> Judge:
        now = self.clock.now()
        if self._judge is None or now - self._read_at >= SITES_AGE:
            self._judge, self._read_at = self.judging(self.mgmt.sites()), now
        return self._judge
