"""Uris of a domain that pages refer to but that never became known links, with the page that leads to each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from weft.dispatcher.discovery import DiscoveredLink
from weft.dispatcher.link_round import LinkRound
from weft.linkindex.keys import CUR, INLINKS, PAGE, RANK
from weft.linkindex.records import Outlink, decode_page
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, identity_of
from weft.store.api import Column, Reader
from weft.store.encoding import split_descending
from weft.store.tables import Table

SOURCES: Final = 8
"""Pages that refer to a uri and are read; one that says nofollow does not lead to it."""
_GROUP: Final = 200
_PAGE_COST: Final = 10
"""Reading a page costs about as much as looking at so many references."""


class UnknownLinks(NamedTuple):
    found: list[DiscoveredLink]
    cost: int
    """In references looked at."""


class UnknownReferences:
    """Finds them in the domain's ranking, a part at a time."""

    def __init__(self, reader: Reader, links: LinkRound, domain: bytes) -> None:
        self._reader, self._links, self._domain = reader, links, domain
        self._pages: dict[bytes, dict[str, Outlink]] = {}
        self._cost = 0

    def some(
        self, start: bytes | None, room: int, is_wanted: Callable[[bytes], bool]
    ) -> tuple[UnknownLinks, bytes | None]:
        """Those of about `room` uris from `start` on that are wanted and unknown; and where to continue."""
        found: list[DiscoveredLink] = []
        size = min(_GROUP, room)
        while self._cost < room:
            cells = list(self._reader.scan(Table.QUERY, b"d:" + self._domain, RANK, start=start, limit=size + 1))
            counted = [split_descending(cell.qualifier) for cell in cells[:size]]
            self._cost += len(counted)
            # Those that no page refers to come last; nothing leads to them.
            uris = {uri: references for references, uri in counted if references and is_wanted(uri)}
            records = self._links.read([(self._domain, uri) for uri in uris])
            for (uri, references), record in zip(uris.items(), records, strict=True):
                way = self._way_to(uri) if record is None else None
                if way is not None:
                    found.append(way._replace(references=references))
            if len(cells) <= size or not counted[-1][0]:
                return UnknownLinks(found, self._cost), None
            start = cells[-1].qualifier
        return UnknownLinks(found, self._cost), start

    def _way_to(self, uri: bytes) -> DiscoveredLink | None:
        """By the nearest of the first pages that refer to it, as far as they may be followed."""
        inlinks = self._reader.scan(Table.QUERY, b"p:" + uri, INLINKS, limit=SOURCES)
        sources = [cell.qualifier for cell in inlinks]
        places = [(reversed_domain(domain_of(Uri(source.decode()))).encode(), source) for source in sources]
        # A page that was imported was never crawled: it counts as one that was added.
        depths = [record.depth if record else 0 for record in self._links.read(places)]
        for depth, source in sorted(zip(depths, sources, strict=True)):
            link = self._outlinks(source).get(uri.decode())
            if link is not None and "nofollow" not in link.rel:
                return DiscoveredLink(self._domain, uri, link.url, depth + 1, source.decode())
        return None

    def _outlinks(self, source: bytes) -> dict[str, Outlink]:
        if source not in self._pages:
            self._cost += _PAGE_COST
            cell = self._reader.get(Table.QUERY, [Column(b"p:" + source, PAGE, CUR)])[0]
            links = decode_page(cell.value).outlinks if cell else []
            if len(self._pages) >= _GROUP:
                self._pages.clear()
            self._pages[source] = {identity_of(link.url).uri: link for link in links}
        return self._pages[source]
