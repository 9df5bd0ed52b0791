"""Which URLs a crawl follows from what it read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice

import msgspec
from xxhash import xxh3_64_intdigest

from weft.linkindex.loaded import Outlinks, count_within, rows_of_first
from weft.model.domain import reversed_domain
from weft.model.links import PageLinks, join_links
from weft.model.url import PageUrl, UrlRefused, UrlRules
from weft.reading.listing_entries import UrlListing


class FoundUrl(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link to follow."""

    domain: bytes
    uri: bytes
    url: str
    lastmod: int = 0
    """When it last changed, according to a sitemap of its own host; 0: none says."""


def followed_page(page: PageUrl) -> FoundUrl:
    return FoundUrl(reversed_domain(page.domain).encode(), page.uri.encode(), page.url)


def followed_links(outlinks: Outlinks, joined: PageLinks, rels: Sequence[str]) -> list[FoundUrl]:
    """Every target that some link does not mark nofollow.

    A target whose first link is marked has its reference from that one, and comes last, by its unmarked links. Links
    that were left out because the page has too many are not followed either.
    """
    rows = rows_of_first(joined.uris)[: len(outlinks.targets)]
    is_marked = ["nofollow" in rels[position] for position in joined.positions]
    follow = [
        FoundUrl(domain, target, joined.urls[row])
        for row, domain, target in zip(rows, outlinks.domains, outlinks.targets, strict=True)
        if not is_marked[row]
    ]
    marked = {joined.uris[row] for row in rows if is_marked[row]}
    if marked and len(rows) < len(is_marked):
        follow += [
            FoundUrl(reversed_domain(joined.domains[row]).encode(), uri.encode(), joined.urls[row])
            for row, uri in enumerate(joined.uris)
            if uri in marked and not is_marked[row]
        ]
    return follow


def followed_refresh(rules: UrlRules, page: PageUrl, refresh: str) -> list[FoundUrl]:
    """Where a meta refresh leads: discovered, no reference."""
    target = join_elsewhere(rules, page, refresh)
    return [followed_page(target)] if target else []


def followed_entries(rules: UrlRules, page: PageUrl, listing: UrlListing, most: int) -> list[FoundUrl]:
    """The pages that a sitemap names in its own domain, or a feed anywhere, up to `most` bytes of their URLs."""
    entries = listing.entries
    joined = join_links(rules, page.url, [entry.url for entry in entries])
    host = _host_of(page.uri)
    count = count_within(accumulate(map(len, joined.urls)), most)
    rows = islice(zip(joined.domains, joined.uris, joined.urls, joined.positions, strict=True), count)
    return [
        FoundUrl(
            reversed_domain(domain).encode(),
            uri.encode(),
            url,
            entries[position].lastmod if _host_of(uri) == host else 0,
        )
        for domain, uri, url, position in rows
        if domain == page.domain or not listing.kind.is_sitemap
    ]


def fingerprint_of_entries(follow: Sequence[FoundUrl]) -> int:
    """Of what a listing names, whatever else is in it."""
    return xxh3_64_intdigest(b"\n".join(b"%s %d" % (found.uri, found.lastmod) for found in follow)) or 1


def join_elsewhere(rules: UrlRules, page: PageUrl, href: str) -> PageUrl | None:
    """The other page that `href` names; None if it is empty, names this page, or names none."""
    if not href:
        return None
    try:
        target = rules.join(page.url, href)
    except UrlRefused:
        return None
    return target if target.uri != page.uri else None


def _host_of(uri: str) -> str:
    return uri.partition("/")[0].partition("?")[0]
