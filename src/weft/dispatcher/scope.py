"""What is to be crawled at all: the sites that the user named, and what was said about each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.traps import trap
from weft.errors import UsageError
from weft.mgmt.values import Site
from weft.model.url import PageUrl

ANYWHERE = "*"
"""The name of the site that stands for every domain."""

_PORTS = {"http": 80, "https": 443}


class Verdict(NamedTuple):
    """Whether a link is in scope, and if so why it is not crawled all the same."""

    site: Site | None
    """None: out of scope."""
    reason: str = ""


class Scope:
    """The sites, as one question: may this link be crawled?"""

    def __init__(self, sites: Iterable[Site], settings: DispatcherSettings) -> None:
        self._sites = {site.name: site for site in sites}
        self._settings = settings

    @property
    def sites(self) -> Iterable[Site]:
        return self._sites.values()

    @property
    def is_anywhere(self) -> bool:
        return ANYWHERE in self._sites

    def site_of(self, page: PageUrl) -> Site | None:
        """The most particular site that a page belongs to: its host, its domain, or anywhere."""
        host = web_host_of(page.url)
        found = self._sites.get(host) or self._sites.get(host.rpartition(":")[0] or host)
        return found or self._of_domain(page.domain) or self._sites.get(ANYWHERE)

    def _of_domain(self, domain: str) -> Site | None:
        site = self._sites.get(domain)
        # A site named after a domain's own host covers that host alone, unless it says otherwise.
        return site if site is not None and (site.scope == "domains" or site.is_excluded) else None

    def judge(self, page: PageUrl, depth: int) -> Verdict:
        site = self.site_of(page)
        if site is None:
            return Verdict(None, "out of scope")
        return Verdict(site, self._refusal(site, page, depth))

    def _refusal(self, site: Site, page: PageUrl, depth: int) -> str:
        if site.is_excluded:
            return f"excluded: site {site.name}"
        deepest = _number(site, "depth", self._settings.max_depth)
        if depth > deepest:
            return f"depth: {depth} hops, over {deepest}"
        return _pattern_refusal(site, page.url) or trap(_target(page.url), self._settings)


def budget_of(site: Site) -> int | None:
    """Links of a site that may ever be crawled; None: any number."""
    budget = site.settings.get("budget")
    return int(budget) if isinstance(budget, int) else None


def priority_of(site: Site) -> int:
    return _number(site, "priority", 0)


def web_host_of(url: str) -> str:
    """Host name, with the port unless it is the scheme's own."""
    parts = urlsplit(url)
    port = parts.port
    name = parts.netloc.rpartition("@")[2].rsplit(":", 1)[0] if port else parts.netloc.rpartition("@")[2]
    return f"{name}:{port}" if port and port != _PORTS[parts.scheme] else name


def _target(url: str) -> str:
    """Path and query."""
    begin = url.find("/", url.index("//") + 2)
    return url[begin:] if begin >= 0 else "/"


def _number(site: Site, name: str, default: int) -> int:
    value = site.settings.get(name)
    return value if isinstance(value, int) else default


def _pattern_refusal(site: Site, url: str) -> str:
    for pattern in _patterns(site, "exclude"):
        if pattern.search(url):
            return f"pattern: excluded by {pattern.pattern!r}"
    includes = _patterns(site, "include")
    if includes and not any(pattern.search(url) for pattern in includes):
        return "pattern: included by none of the site's patterns"
    return ""


def _patterns(site: Site, name: str) -> list[re.Pattern[str]]:
    given = site.settings.get(name)
    return [compiled(text) for text in given] if isinstance(given, list) else []


@lru_cache(maxsize=10_000)
def compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no pattern: {error}; expected a regular expression") from None
