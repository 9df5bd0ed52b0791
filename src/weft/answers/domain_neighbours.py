"""Which domains a domain has links from and to, by the links of its most referenced pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from weft.answers.view import View
from weft.linkindex import keys
from weft.linkindex.records import decode_page
from weft.model.domain import Domain, reversed_domain
from weft.model.host import domain_of_host, web_host_of
from weft.model.url import Uri, domain_of
from weft.store.encoding import split_descending
from weft.store.tables import Table

PAGES: Final = 50
"""Pages whose links are counted, the most referenced ones."""
LINKS: Final = 200
"""Links of each page that are counted: with PAGES, 10,000 links in each direction, some 10 ms."""
_RANKED: Final = 500
"""Pages among which loaded ones are looked for: of those that are referenced most, few may be loaded."""
_HOST_AND_MORE: Final = re.compile(rb"((?:\[[^]]*\]|[^:/]+))([:/])")


class Neighbour(NamedTuple):
    """Another domain, and how many links there are between the two."""

    domain: str
    references: int


class Neighbours(NamedTuple):
    links: Counter[Domain]
    is_sample: bool
    """Whether there may be more links."""

    def most(self, limit: int) -> list[Neighbour]:
        """The domains with the most links; equals by name."""
        ordered = sorted(self.links.items(), key=lambda item: (-item[1], item[0]))
        return [Neighbour(domain, references) for domain, references in ordered[:limit]]


def referring_domains(view: View, domain: Domain) -> Neighbours:
    """Who references the most referenced pages of the domain."""
    targets = list(islice(_ranked_pages(view, domain), PAGES + 1))
    links: Counter[Domain] = Counter()
    is_sample = len(targets) > PAGES
    for target in targets[:PAGES]:
        sources = list(islice(_sources(view, target, domain), LINKS + 1))
        is_sample = is_sample or len(sources) > LINKS
        links.update(source for source in sources[:LINKS] if source is not None)
    return Neighbours(links, is_sample)


def referred_domains(view: View, domain: Domain) -> Neighbours:
    """Whom the most referenced pages of the domain reference, as far as they are loaded."""
    ranked = list(islice(_ranked_pages(view, domain), _RANKED + 1))
    infos = view.infos(ranked[:_RANKED])
    loaded = [uri for uri, info in zip(ranked, infos, strict=False) if info.docs]
    links: Counter[Domain] = Counter()
    is_sample = len(ranked) > _RANKED or len(loaded) > PAGES
    for cell in view.reader.get(Table.FLUO, [keys.page_column(uri.encode(), keys.CUR) for uri in loaded[:PAGES]]):
        outlinks = decode_page(cell.value).outlinks if cell else []
        is_sample = is_sample or len(outlinks) > LINKS
        hosts = Counter(web_host_of(link.url) for link in outlinks[:LINKS])
        for host, count in hosts.items():
            links[domain_of_host(host)] += count
    del links[domain]
    return Neighbours(links, is_sample)


def _ranked_pages(view: View, domain: Domain) -> Iterator[Uri]:
    for cell in view.reader.scan(Table.QUERY, b"d:" + reversed_domain(domain).encode(), keys.RANK):
        yield Uri(split_descending(cell.qualifier)[1].decode())


def _sources(view: View, target: Uri, own: Domain) -> Iterator[Domain | None]:
    """The domain of each page that references the target; None for the domain's own, of which most are passed over.

    Many pages are referenced mostly by others of their own site: the rest of a host is left out in one step.
    """
    scan = view.row_scan(Table.QUERY, b"p:" + target.encode(), keys.INLINKS)
    start: bytes | None = None
    while True:
        for cell in scan(start, reverse=False):
            source = domain_of(Uri(cell.qualifier.decode()))
            yield None if source == own else source
            host = _HOST_AND_MORE.match(cell.qualifier) if source == own else None
            if host is not None:
                start = host[1] + bytes([host[2][0] + 1])
                break
        else:
            return
