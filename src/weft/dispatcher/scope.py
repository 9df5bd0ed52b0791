"""What is crawled at all: the sites that the user named, and the settings of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.scope_digests import scope_digest
from weft.dispatcher.traps import trap
from weft.errors import UsageError
from weft.model.content_type import is_type_wanted, is_wanted, suffix_type
from weft.model.domain import Domain, reversed_domain
from weft.model.host import domain_of_host, name_of, web_host_of
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import NO_SETTINGS, Site, SiteSettings, settings_for
from weft.model.url import PageUrl


class ScopeVerdict(NamedTuple):
    """Whether a link is in scope, and if so why it is not crawled all the same."""

    site: Site | None
    """None: out of scope."""
    refusal: Refusal | None = None


class Scope:
    """The sites, as one question: may this link be crawled?"""

    def __init__(self, sites: Iterable[Site], settings: DispatcherSettings) -> None:
        self.sites: Sequence[Site] = list({site.name: site for site in sites}.values())
        self._settings = settings
        # The one that stands for every host is not among them: no URL can name it.
        self._named = {site.name: site for site in self.sites if not site.is_anywhere}
        # A site covers the host that it is named after, unless its scope is wider.
        wider = [site for site in self._named.values() if site.scope != "hosts"]
        self._domains: dict[str, Site] = {domain_of_host(site.name): site for site in wider}
        self._anywhere = next((site for site in self.sites if site.is_anywhere), None)
        if self._anywhere is None:
            self._anywhere = next((site for site in wider if site.scope == "any"), None)

    @property
    def anywhere(self) -> Site | None:
        """The site that covers every domain, if there is one."""
        return self._anywhere

    @cached_property
    def digest(self) -> int:
        """Changes with whatever decides which links are crawled; never 0."""
        return scope_digest(self.sites, self._settings)

    @cached_property
    def _named_domains(self) -> frozenset[str]:
        return frozenset(domain_of_host(name) for name in self._named)

    @cached_property
    def priorities(self) -> dict[bytes, int]:
        """By how much the priority of a domain differs from what holds for most, where it does; lower goes first."""
        usual = (self._anywhere.settings.priority or 0) if self._anywhere else 0
        lowest: dict[str, int] = {}
        for site in self._named.values():
            domain = domain_of_host(site.name)
            priority = site.settings.priority or 0
            lowest[domain] = min(priority, lowest.get(domain, priority))
        return {
            reversed_domain(Domain(domain)).encode(): priority - usual
            for domain, priority in lowest.items()
            if priority != usual
        }

    @cached_property
    def _shared(self) -> dict[str, SiteSettings]:
        """Settings of sites that hold for narrower sites, too."""
        shared = ((site.name, site.settings) for site in self.sites)
        return {name: settings for name, settings in shared if (settings.recrawl, settings.types) != (None, None)}

    def _settings_at(self, url: str) -> SiteSettings:
        return settings_for(web_host_of(url), self._shared) if self._shared else NO_SETTINGS

    def recrawl_of(self, url: str) -> float | None:
        """Seconds between two crawls of a page, if any of its sites sets them; the narrowest one counts."""
        return self._settings_at(url).recrawl

    def wants_type(self, url: str, content_type: str) -> bool:
        """Whether a file is to be fetched, given the type that the header of its response names."""
        types = self._settings_at(url).types
        return types is None or is_wanted(types, content_type, url)

    def concerns(self, domain: str) -> bool:
        """Whether any site may cover links of this domain."""
        return self._anywhere is not None or domain in self._named_domains

    def site_of(self, page: PageUrl) -> Site | None:
        """The most particular site that a page belongs to: its host, its domain, or anywhere."""
        return self.site_at(page.url, page.domain)

    def site_at(self, url: str, domain: str) -> Site | None:
        """The same, for a URL of a domain."""
        host = web_host_of(url)
        found = self._named.get(host) or self._named.get(name_of(host))
        return found or self._of_domain(domain) or self._anywhere

    def _of_domain(self, domain: str) -> Site | None:
        named = self._named.get(domain)
        # What is excluded by the name of its domain is excluded with all its hosts.
        return named if named is not None and named.is_excluded else self._domains.get(domain)

    def judge(self, page: PageUrl, depth: int) -> ScopeVerdict:
        site = self.site_of(page)
        if site is None:
            return ScopeVerdict(None, Refusal(RefusalKind.OUT_OF_SCOPE))
        return ScopeVerdict(site, self.refusal(site, page, depth))

    def refusal(self, site: Site, page: PageUrl, depth: int) -> Refusal | None:
        """Why a page of a site is not crawled; None if it is."""
        if site.is_excluded:
            return Refusal(RefusalKind.EXCLUDED, f"site {site.name}")
        deepest = self._settings.max_depth if site.settings.depth is None else site.settings.depth
        if depth > deepest:
            return Refusal(RefusalKind.DEPTH, f"{depth} hops, over {deepest}")
        by_site = _pattern_refusal(site.settings, page.url, is_seed=depth == 0) or self._type_refusal(page.url)
        return by_site or trap(_target(page.url), self._settings)

    def _type_refusal(self, url: str) -> Refusal | None:
        media_type = suffix_type(url) if self._shared else ""
        types = self._settings_at(url).types if media_type else None
        if types is None or is_type_wanted(types, media_type):
            return None
        return Refusal(
            RefusalKind.TYPE, f"{media_type} by its suffix; wanted: {', '.join(dict.fromkeys(('html', *types)))}"
        )


def _target(url: str) -> str:
    """Path and query."""
    begin = url.find("/", url.index("//") + 2)
    return url[begin:] if begin >= 0 else "/"


def _pattern_refusal(settings: SiteSettings, url: str, *, is_seed: bool) -> Refusal | None:
    """A seed need not be included: it is where the links to what is included are found."""
    for pattern in settings.exclude or ():
        if _compiled(pattern).search(url):
            return Refusal(RefusalKind.PATTERN, f"excluded by {pattern!r}")
    if settings.include and not is_seed and not any(_compiled(pattern).search(url) for pattern in settings.include):
        return Refusal(RefusalKind.PATTERN, "included by none of the site's patterns")
    return None


@lru_cache(maxsize=10_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is no pattern: {error}; expected a regular expression") from None
