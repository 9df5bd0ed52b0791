"""Links that a crawl should know and does not: in scope by the sites as they are now, and without a record.

They are judged by what pages say and what the sites are, not by what discovery remembers. These are no loss:

- links out of scope, with rel nofollow (also where their page says it of all), or refused for another reason: most
  refusals leave a record, but one that holds now is no loss without it either;
- links beyond a limit that counts without keeping records: links of a domain or host, hosts of a domain, domains;
- links of a domain whose sites or settings changed, until the dispatcher has looked at its references again;
- links of which that look reads only the first few sources, none of which may be followed;
- links of pages that were imported, which are discovered by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, refusal_of
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.seen_links import SeenLinks
from weft.dispatcher.site_changes import Unsettled
from weft.dispatcher.traps.host_limits import host_of
from weft.dispatcher.unknown_references import SOURCES
from weft.linkindex.keys import CUR, INLINKS, PAGE
from weft.linkindex.records import Outlink, decode_page
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, has_odd_host, identity_of
from weft.store.api import Column, Reader
from weft.store.tables import Table

_AT_ONCE: Final = 2000
"""Links whose records are looked for together."""
_REMEMBERED: Final = 64 << 20
"""Bytes of links that were looked for already: pages name the same ones again and again."""


class CrawledPage(NamedTuple):
    """A page as the index holds it, whose content came from a fetch."""

    uri: bytes
    cur: bytes


class LostLink(NamedTuple):
    """One of them, and a page that leads to it."""

    domain: bytes
    uri: bytes
    url: str
    source: str


@dataclass(slots=True)
class LostLinks:
    """Takes pages in any order and gives the links that are lost; memory is bounded, whatever pages hold."""

    reader: Reader
    """Holds still, and its sites are not older than what it holds."""
    scope: Scope
    settings: DispatcherSettings
    unsettled: Unsettled
    now: int
    counts_within: bool
    """Whether references within a domain are counted. Otherwise those are found again when their pages are fetched."""
    judged: int = 0
    """Links in scope that were looked for."""
    waiting: int = 0
    """Links in scope that the dispatcher has yet to look at, because sites or settings changed."""
    _seen: SeenLinks = field(default_factory=lambda: SeenLinks(_REMEMBERED))

    def of(self, pages: Sequence[CrawledPage]) -> Iterator[LostLink]:
        """The lost links of these pages, each once as far as is remembered."""
        depths = self._depths(pages)
        links = (link for page, depth in zip(pages, depths, strict=True) for link in self._wanted(page, depth))
        while some := list(islice(links, _AT_ONCE)):
            round_ = LinkRound(self.reader, 1)
            records = round_.read([(link.domain, link.uri) for link in some])
            unknown = [link for link, record in zip(some, records, strict=True) if record is None]
            yield from self._lost(round_, unknown)

    def _depths(self, pages: Sequence[CrawledPage]) -> list[int]:
        places = [(_domain_key(page.uri), page.uri) for page in pages]
        return [record.depth if record else 0 for record in LinkRound(self.reader, 1).read(places)]

    def _wanted(self, page: CrawledPage, depth: int) -> Iterator[DiscoveredLink]:
        """Links that a site covers and nothing speaks against, each uri once."""
        own = _domain_key(page.uri)
        for link in decode_page(page.cur).outlinks:
            if "nofollow" in link.rel or has_odd_host(link.url):
                continue
            _, uri, domain = identity_of(link.url)
            found = DiscoveredLink(
                reversed_domain(domain).encode(), uri.encode(), link.url, depth + 1, page.uri.decode()
            )
            if not self.counts_within and found.domain == own:
                continue
            if self._seen.see(found.uri) or self.scope.site_at(link.url, domain) is None:
                continue
            if self.unsettled.covers(found.domain):
                self.waiting += 1
            elif refusal_of(self.scope, found, self.now, self.settings) is None:
                self.judged += 1
                self._seen.add([found.uri])
                yield found

    def _lost(self, round_: LinkRound, unknown: Sequence[DiscoveredLink]) -> Iterator[LostLink]:
        works = round_.works({link.domain for link in unknown})
        round_.hosts.read((link.domain, host_of(link.uri)) for link in unknown)
        for link in unknown:
            # Asked as if it was kept: what is still allowed is counted, in a round that nobody writes.
            is_beyond_a_limit = (
                works[link.domain].links >= self.settings.domain_links
                or (self._is_of_any_site(link) and not round_.enter(link.domain, self.settings.max_domains))
                or round_.hosts.refusal((link.domain, host_of(link.uri)), self.settings)
            )
            if not is_beyond_a_limit and self._may_be_found(link):
                yield LostLink(link.domain, link.uri, link.url, link.source)

    def _is_of_any_site(self, link: DiscoveredLink) -> bool:
        return self.scope.site_of(link.page) is self.scope.anywhere

    def _may_be_found(self, link: DiscoveredLink) -> bool:
        """Whether one of the first sources leads to it: only these are read when references are looked at again."""
        inlinks = self.reader.scan(Table.QUERY, b"p:" + link.uri, INLINKS, limit=SOURCES)
        sources = [cell.qualifier for cell in inlinks]
        if len(sources) < SOURCES or link.source.encode() in sources:
            return True
        pages = self.reader.get(Table.QUERY, [Column(b"p:" + source, PAGE, CUR) for source in sources])
        return any(_leads_to(link.uri, decode_page(page.value).outlinks) for page in pages if page is not None)


def _leads_to(uri: bytes, links: Sequence[Outlink]) -> bool:
    return any(identity_of(link.url).uri.encode() == uri and "nofollow" not in link.rel for link in links)


def _domain_key(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()
