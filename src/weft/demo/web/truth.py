"""The whole expected graph: what a polite crawler that starts somewhere must find, page by page."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.links import PageLink
from weft.demo.web.definition.robots import Verdict, rules_of, verdict_of
from weft.demo.web.definition.world import World
from weft.demo.web.expected import Expected, expected_answer
from weft.demo.web.fates import Fate
from weft.model.url import UrlRefused, UrlRules

CRAWL_DELAY_MAX: Final = 60.0


class TruthLink(msgspec.Struct, frozen=True):
    """One reference: the first link of a page to a target; its rel in lower case."""

    uri: str
    url: str
    anchor: str
    rel: str


class TruthPage(msgspec.Struct, frozen=True, tag="page"):
    """One URL that the crawl comes to. `found` are targets without a reference: of redirects, refreshes, sitemaps."""

    url: str
    uri: str
    depth: int
    fate: Fate
    kind: str
    status: int
    outlinks: list[TruthLink] = []
    found: list[str] = []


class TruthUri(msgspec.Struct, frozen=True, tag="uri"):
    """A uri that is known at the end: pages that reference it, and whether its own content was loaded."""

    uri: str
    references: int
    is_loaded: bool


class Truth:
    """Walks the web by its definition; nothing is fetched.

    `rules` tell URL identity as the crawler's settings do. `in_scope` judges host names. With `sitemaps`, those that
    robots.txt names are followed too. After the walk `uris` has every known uri.
    """

    def __init__(
        self,
        world: World,
        rules: UrlRules | None = None,
        *,
        in_scope: Callable[[str], bool] = lambda _: True,
        max_depth: int | None = None,
        sitemaps: bool = False,
        crawl_delay_max: float = CRAWL_DELAY_MAX,
    ) -> None:
        self._world, self._rules, self._in_scope = world, rules or UrlRules(), in_scope
        self._max_depth, self._sitemaps, self._crawl_delay_max = max_depth, sitemaps, crawl_delay_max
        self._references: Counter[str] = Counter()
        self._loaded: set[str] = set()
        self._seen: set[str] = set()
        self._sitemap_hosts: set[int] = set()
        self._waiting: deque[tuple[str, int]] = deque()

    def walk(self, starts: Iterable[str], limit: int = 1_000_000) -> Iterator[TruthPage]:
        """Every URL in the order of its distance from `starts`, up to `limit` of them."""
        for url in starts:
            self._offer(url, 0)
        while self._waiting and limit > 0:
            limit -= 1
            yield self._visit(*self._waiting.popleft())

    @property
    def is_whole(self) -> bool:
        """Whether the walk came to its end before its limit."""
        return not self._waiting

    def uris(self) -> Iterator[TruthUri]:
        for uri in sorted(self._loaded | set(self._references)):
            yield TruthUri(uri, self._references[uri], uri in self._loaded)

    def _offer(self, url: str, depth: int) -> None:
        try:
            page = self._rules.identify(url)
        except UrlRefused:
            return
        host = urlsplit(page.url).hostname or ""
        is_too_deep = self._max_depth is not None and depth > self._max_depth
        if page.uri in self._seen or is_too_deep or not self._in_scope(host):
            return
        self._seen.add(page.uri)
        self._waiting.append((page.url, depth))

    def _visit(self, url: str, depth: int) -> TruthPage:
        uri, host = self._rules.identify(url).uri, self._world.hosts.named(urlsplit(url).hostname or "")
        if host is None:
            return TruthPage(url, uri, depth, Fate.FAULT, PageKind.UNKNOWN_HOST, 0)
        if self._sitemaps:
            self._offer_sitemaps(host, depth)
        if not self._is_open(host, url):
            return TruthPage(url, uri, depth, Fate.CLOSED, "", 0)
        answer = expected_answer(self._world, host, url)
        outlinks = self._outlinks(answer)
        self._follow(answer, depth)
        if answer.fate is Fate.PAGE:
            self._loaded.add(uri)
            self._references.update(link.uri for link in outlinks)
        return TruthPage(url, uri, depth, answer.fate, answer.kind, answer.status, outlinks, list(answer.found))

    def _is_open(self, host: DemoHost, url: str) -> bool:
        traits = self._world.state.traits(host)
        verdict = verdict_of(traits)
        if verdict is not Verdict.RULES:
            return verdict is Verdict.ALL_OPEN
        rules = rules_of(host, traits, self._world.linker)
        return rules.crawl_delay <= self._crawl_delay_max and rules.is_open(target_of(url))

    def _offer_sitemaps(self, host: DemoHost, depth: int) -> None:
        traits = self._world.state.traits(host)
        if host.number in self._sitemap_hosts or verdict_of(traits) is not Verdict.RULES:
            return
        self._sitemap_hosts.add(host.number)
        for url in rules_of(host, traits, self._world.linker).sitemaps:
            self._offer(url, depth)

    def _outlinks(self, answer: Expected) -> list[TruthLink]:
        """One per target, in order; the first link to a target gives its words."""
        first: dict[str, TruthLink] = {}
        for link in answer.links:
            page = self._rules.identify(link.url)
            first.setdefault(page.uri, TruthLink(page.uri, page.url, link.anchor, link.rel.lower()))
        return list(first.values())

    def _follow(self, answer: Expected, depth: int) -> None:
        followed: Iterable[PageLink] = () if answer.forbids_following else answer.links
        for url in (link.url for link in followed if link.is_followed):
            self._offer(url, depth + 1)
        for url in answer.found:
            self._offer(url, depth + 1)


def target_of(url: str) -> str:
    """Path and query of a URL."""
    return url[url.index("/", len("https://")) :]
