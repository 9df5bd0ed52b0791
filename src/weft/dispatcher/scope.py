"""What is to be crawled at all: the sites that the user named, and what was said about each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from weft.config.crawl_sections import DispatcherSettings
from weft.dispatcher.traps import trap
from weft.errors import UsageError
from weft.mgmt.values import Site
from weft.model.domain import Domain, registrable_domain, reversed_domain
from weft.model.refusal import Refusal, RefusalKind
from weft.model.url import PageUrl

ANYWHERE = "*"
"""The name of the site that stands for every domain."""

_PORTS = {"http": 80, "https": 443}


class Verdict(NamedTuple):
    """Whether a link is in scope, and if so why it is not crawled all the same."""

    site: Site | None
    """None: out of scope."""
    refusal: Refusal | None = None


class Scope:
    """The sites, as one question: may this link be crawled?"""

    def __init__(self, sites: Iterable[Site], settings: DispatcherSettings) -> None:
        self._sites = {site.name: site for site in sites}
        self._settings = settings
        # A site covers the host that it is named after, unless it says otherwise.
        wider = [site for site in self._sites.values() if site.scope != "hosts" and site.name != ANYWHERE]
        self._domains = {domain_of_site(site.name): site for site in wider}
        self._anywhere = self._sites.get(ANYWHERE) or next((site for site in wider if site.scope == "any"), None)

    @property
    def sites(self) -> Iterable[Site]:
        return self._sites.values()

    @property
    def anywhere(self) -> Site | None:
        """The site that stands for every domain, if there is one."""
        return self._anywhere

    @cached_property
    def _named_domains(self) -> frozenset[str]:
        return frozenset(domain_of_site(name) for name in self._sites)

    @cached_property
    def priorities(self) -> dict[bytes, int]:
        """By how much the priority of a domain differs from what holds for most, where it does; lower goes first."""
        usual = priority_of(self._anywhere) if self._anywhere else 0
        lowest: dict[str, int] = {}
        for site in self._sites.values():
            domain = domain_of_site(site.name)
            lowest[domain] = min(priority_of(site), lowest.get(domain, priority_of(site)))
        return {
            reversed_domain(Domain(domain)).encode(): priority - usual
            for domain, priority in lowest.items()
            if priority != usual
        }

    def concerns(self, domain: str) -> bool:
        """Whether anything was said that a link of this domain may fall under."""
        return self._anywhere is not None or domain in self._named_domains

    def site_of(self, page: PageUrl) -> Site | None:
        """The most particular site that a page belongs to: its host, its domain, or anywhere."""
        return self.site_at(page.url, page.domain)

    def site_at(self, url: str, domain: str) -> Site | None:
        """The same, for a URL of a domain."""
        host = web_host_of(url)
        found = self._sites.get(host) or self._sites.get(host.rpartition(":")[0] or host)
        return found or self._of_domain(domain) or self._anywhere

    def _of_domain(self, domain: str) -> Site | None:
        named = self._sites.get(domain)
        # What is excluded by the name of its domain is excluded with all its hosts.
        return named if named is not None and named.is_excluded else self._domains.get(domain)

    def judge(self, page: PageUrl, depth: int) -> Verdict:
        site = self.site_of(page)
        if site is None:
            return Verdict(None, Refusal(RefusalKind.OUT_OF_SCOPE))
        return Verdict(site, self.refusal(site, page, depth))

    def refusal(self, site: Site, page: PageUrl, depth: int) -> Refusal | None:
        """Why a page of a site is not crawled; None if it is."""
        if site.is_excluded:
            return Refusal(RefusalKind.EXCLUDED, f"site {site.name}")
        deepest = _number(site, "depth", self._settings.max_depth)
        if depth > deepest:
            return Refusal(RefusalKind.DEPTH, f"{depth} hops, over {deepest}")
        return _pattern_refusal(site, page.url) or trap(_target(page.url), self._settings)


def domain_of_site(name: str) -> str:
    """The registrable domain that a site lies in; of the one that stands for all its own name."""
    host = name.rpartition(":")[0] if ":" in name and not name.endswith("]") else name
    return registrable_domain(host)


def budget_of(site: Site) -> int | None:
    """Links of a site that may ever be crawled; None: any number."""
    budget = site.settings.get("budget")
    return int(budget) if isinstance(budget, int) else None


def priority_of(site: Site) -> int:
    return _number(site, "priority", 0)


def web_host_of(url: str) -> str:
    """Host name, with the port unless it is the scheme's own."""
    path = url.find("/", len("https://"))
    return _web_host_of(url if path < 0 else url[:path])


@lru_cache(maxsize=65_536)
def _web_host_of(origin: str) -> str:
    # Links of the same few hosts are asked for one after another.
    parts = urlsplit(origin)
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


def _pattern_refusal(site: Site, url: str) -> Refusal | None:
    if not site.settings:
        return None
    for pattern in _patterns(site, "exclude"):
        if pattern.search(url):
            return Refusal(RefusalKind.PATTERN, f"excluded by {pattern.pattern!r}")
    includes = _patterns(site, "include")
    if includes and not any(pattern.search(url) for pattern in includes):
        return Refusal(RefusalKind.PATTERN, "included by none of the site's patterns")
    return None


def _patterns(site: Site, name: str) -> list[re.Pattern[str]]:
    given = site.settings.get(name)
    return [compiled(text) for text in given] if isinstance(given, list) else []


@lru_cache(maxsize=10_000)
def compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no pattern: {error}; expected a regular expression") from None
