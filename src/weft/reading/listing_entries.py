"""The entries of a listing, each URL once, in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Final, NamedTuple

from weft.reading.listing_kinds import ListingKind, prefix_of

# All counts are bounded: an element that never ends costs no more than its beginning.
_TEXT: Final = rb"\s{0,1000}(?:<!\[CDATA\[\s{0,1000})?([^<\s][^<]{0,4095})"
_SITEMAP: Final = (
    rb"<(?:%(prefix)s(?P<tag>url|sitemap|loc|lastmod)(?:\s[^<>]{0,500})?>(?:" + _TEXT + rb")?"
    rb"|(?:[\w.-]{1,32}:)?(?P<link>link)\s(?P<attributes>[^<>]{1,4500})>)"
)
_FEED: Final = (
    rb"<(?:[\w.-]{1,32}:)?(?:(?P<tag>item|entry|updated)(?:\s[^<>]{0,500})?>(?:" + _TEXT + rb")?"
    rb"|(?P<link>link)(?P<attributes>\s[^<>]{0,4500})?>(?:\s{0,1000}(?:<!\[CDATA\[\s{0,1000})?([^<\s]{1,4096}))?)"
)
_ATTRIBUTE: Final = re.compile(rb"([\w:.-]{1,64})\s{0,50}=\s{0,50}(?:\"([^\"]{0,4096})\"|'([^']{0,4096})')")
_FOLLOWED: Final = frozenset({b"", b"alternate", b"next", b"previous", b"prev-archive", b"next-archive"})
"""Relations of a feed's links that lead to pages or to more of the feed."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MONTH: Final = re.compile(r"\d{4}(-\d\d)?", re.ASCII)
_LONGEST_DATE: Final = 40


class ListedUrl(NamedTuple):
    url: str
    """As it is written."""
    lastmod: int = 0
    """Milliseconds since 1970 of its last change, as the listing says; 0: it does not."""


class UrlListing(NamedTuple):
    kind: ListingKind
    entries: list[ListedUrl]
    is_cut: bool
    """There were more entries than are taken."""


def read_listing(body: bytes, kind: ListingKind, most: int) -> UrlListing:
    """At most `most` entries of an unpacked body."""
    found: dict[str, int] = {}
    for url, lastmod in _ENTRIES[kind](body):
        text = unescape(url.decode("utf-8", "replace")).strip()
        if text not in found and len(found) == most:
            return UrlListing(kind, _entries(found), is_cut=True)
        found[text] = max(lastmod, found.get(text, 0))
    return UrlListing(kind, _entries(found), is_cut=False)


def _entries(found: dict[str, int]) -> list[ListedUrl]:
    return [ListedUrl(url, lastmod) for url, lastmod in found.items() if url]


_Raw = Iterator[tuple[bytes, int]]


def _of_sitemap(body: bytes) -> _Raw:
    """Locations, each when its lastmod is known, and the other languages that an entry names."""
    pattern = re.compile(_SITEMAP.replace(b"%(prefix)s", re.escape(prefix_of(body))), re.IGNORECASE)
    location, lastmod, others = b"", 0, list[bytes]()
    for found in pattern.finditer(body):
        tag, text = (found["tag"] or b"").lower(), _plain(found[2])
        if found["link"]:
            others += _alternate(found["attributes"])
        elif tag == b"lastmod":
            lastmod = lastmod_of(text)
        elif text or tag != b"loc":
            yield from _entry(location, lastmod, others)
            # Some leave out the element of an entry, some indexes that of a location.
            lastmod = lastmod if tag == b"loc" and not location else 0
            location, others = text if tag == b"loc" or text.startswith(b"http") else b"", []
    yield from _entry(location, lastmod, others)


def _entry(location: bytes, lastmod: int, others: list[bytes]) -> _Raw:
    if location:
        yield location, lastmod
    yield from ((other, 0) for other in others)


def _alternate(attributes: bytes) -> list[bytes]:
    """The same page in another language."""
    given = _attributes(attributes)
    return [given[b"href"]] if given.get(b"hreflang") and given.get(b"href") else []


def _of_feed(body: bytes) -> _Raw:
    """Links of a feed; `updated` speaks of the entry that it stands in."""
    links: list[bytes] = []
    updated = 0
    for found in re.finditer(_FEED, body, re.IGNORECASE):
        tag = (found["tag"] or b"").lower()
        if found["link"]:
            given = _attributes(found["attributes"] or b"")
            href = given.get(b"href") or _plain(found[5])
            if href and given.get(b"rel", b"").lower() in _FOLLOWED:
                links.append(href)
        elif tag == b"updated":
            updated = lastmod_of(_plain(found[2]))
        else:
            yield from ((link, updated) for link in links)
            links, updated = [], 0
    yield from ((link, updated) for link in links)


def _of_text(body: bytes) -> _Raw:
    for line in body.splitlines():
        url = line.strip()
        if url[:8].lower().startswith((b"http://", b"https://")) and len(url) <= 4096:
            yield url, 0


def lastmod_of(text: bytes) -> int:
    """The lastmod of an entry, a W3C datetime of which the smaller parts may be left out.

    The beginning of what it names, in milliseconds since 1970; 0 for what is no time, or one before 1970.
    """
    written = text[:_LONGEST_DATE].decode("ascii", "replace").strip()
    if month := _MONTH.fullmatch(written):
        written += "-01" if month[1] else "-01-01"
    try:
        at = datetime.fromisoformat(written)
        return max(0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND)
    except (ValueError, OverflowError):
        return 0


def _plain(text: bytes | None) -> bytes:
    """Without the end of a CDATA section."""
    return (text or b"").partition(b"]]>")[0].strip()


def _attributes(text: bytes) -> dict[bytes, bytes]:
    return {name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(text)}


_ENTRIES: Final = {
    ListingKind.PAGES: _of_sitemap,
    ListingKind.INDEX: _of_sitemap,
    ListingKind.RSS: _of_feed,
    ListingKind.ATOM: _of_feed,
    ListingKind.RDF: _of_feed,
    ListingKind.TEXT: _of_text,
}
