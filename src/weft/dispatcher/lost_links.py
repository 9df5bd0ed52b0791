"""Links that a crawl should know and does not: in scope by the sites as they are now, and without a record.

They are judged by what pages say and what the sites are, not by what discovery remembers. These are no loss:

- links out of scope, with rel nofollow (also where their page says it of all), or refused for another reason: most
  refusals leave a record, but one that holds now is no loss without it either;
- links beyond a limit that counts without keeping records: links of a domain or host, hosts of a domain;
- where any domain may be crawled, links of those that were not entered: which of them are tried depends on the order;
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
from weft.dispatcher.link_records import LinkRecord
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
    """What the index holds of a uri that was fetched: a page, or where it redirects to."""

    uri: bytes
    cur: bytes
    location: str = ""


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
        records = LinkRound(self.reader, 1).read([(_domain_key(page.uri), page.uri) for page in pages])
        known = ((page, record) for page, record in zip(pages, records, strict=True) if record is not None)
        links = (link for page, record in known for link in _links_of(page, record) if self._is_wanted(link))
        while some := list(islice(links, _AT_ONCE)):
            round_ = LinkRound(self.reader, 1)
            records = round_.read([(link.domain, link.uri) for link in some])
            unknown = [link for link, record in zip(some, records, strict=True) if record is None]
            yield from self._lost(round_, unknown)

    def _is_wanted(self, link: DiscoveredLink) -> bool:
        """Whether a site covers it and nothing speaks against it; each uri once."""
        if self._seen.see(link.uri):
            return False
        if not self.counts_within and link.domain == _domain_key(link.source.encode()):
            return False
        if self.scope.site_of(link.page) is None:
            return False
        if self.unsettled.covers(link.domain):
            self.waiting += 1
            return False
        if refusal_of(self.scope, link, self.now, self.settings) is not None:
            return False
        self.judged += 1
        self._seen.add([link.uri])
        return True

    def _lost(self, round_: LinkRound, unknown: Sequence[DiscoveredLink]) -> Iterator[LostLink]:
        works = round_.works({link.domain for link in unknown})
        round_.hosts.read((link.domain, host_of(link.uri)) for link in unknown)
        for link in unknown:
            # Asked as if it was kept: what is still allowed is counted, in a round that nobody writes.
            is_beyond_a_limit = (
                works[link.domain].links >= self.settings.domain_links
                or (self._is_of_any_site(link) and not round_.domain_limit.is_entered(link.domain))
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
        if link.redirects or len(sources) < SOURCES or link.source.encode() in sources:
            return True
        pages = self.reader.get(Table.QUERY, [Column(b"p:" + source, PAGE, CUR) for source in sources])
        return any(_leads_to(link.uri, decode_page(page.value).outlinks) for page in pages if page is not None)


def _links_of(page: CrawledPage, record: LinkRecord) -> Iterator[DiscoveredLink]:
    """As a crawl follows them: a redirect is no step away from a seed, but counts as one in a row."""
    links = decode_page(page.cur).outlinks if page.cur else []
    followed = [(link.url, record.depth + 1, 0) for link in links if "nofollow" not in link.rel]
    moved = [(page.location, record.depth, record.redirects + 1)] if page.location else []
    for url, depth, redirects in (*followed, *moved):
        if not has_odd_host(url):
            _, uri, domain = identity_of(url)
            key, source = reversed_domain(domain).encode(), page.uri.decode()
            yield DiscoveredLink(key, uri.encode(), url, depth, source, redirects=redirects)


def _leads_to(uri: bytes, links: Sequence[Outlink]) -> bool:
    return any(identity_of(link.url).uri.encode() == uri and "nofollow" not in link.rel for link in links)


def _domain_key(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()
