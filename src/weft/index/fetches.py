"""What became of a fetch: read from the archive and parsed in a worker, ready for the index and for the links."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from weft.archive.cdxj import Position
from weft.archive.decode import BodyRefused, DecodeLimits
from weft.archive.faults import RecordUnreadable
from weft.archive.http_message import Head
from weft.archive.reading import ArchivedResponse, read_record
from weft.dispatcher.results import Fetched, Kind
from weft.dispatcher.traps.hosts import host_of
from weft.html import ParsedPage, parse_page, robots_in_header
from weft.intake.outcome import is_html_type, is_redirect, is_success, looks_like_html
from weft.intake.records import PageRefused, Reason
from weft.intake.responses import Content, Reading, Responses
from weft.intake.sitemaps import ListingKind, kind_of, read_listing, unpacked
from weft.linkindex.loaded import LoadedPage, load_gone
from weft.linkindex.records import Doc, decode_page
from weft.mgmt.values import BuildLink, Result, WarcPosition
from weft.model.domain import reversed_domain
from weft.model.links import base_for_links, join_links
from weft.model.url import PageUrl, UrlRefused

_GONE: Final = frozenset({404, 410})
_NOT_MODIFIED: Final = 304


class FoundUrl(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link to follow."""

    domain: bytes
    uri: bytes
    url: str
    lastmod: int = 0
    """Since when it is as it is, as a sitemap of its own host says; 0: none does."""


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch, read: what the schedule, the index and the links need of it."""

    fetched: Fetched
    page: LoadedPage | None = None
    """What the index shall hold from now on; None: nothing new."""
    follow: list[FoundUrl] = []
    is_index: bool = False
    """Whether what it names are sitemaps."""
    title: str = ""
    text: str = ""

    def claims(self) -> list[tuple[bytes, bytes, int]]:
        """(domain, uri, moment) of the pages that changed, as it says."""
        return [(each.domain, each.uri, each.lastmod) for each in self.follow if each.lastmod]


class FetchReader:
    """Reads fetches whose records lie in `archive`. Raises nothing for what a server sent."""

    def __init__(self, reading: Reading, archive: Path) -> None:
        self._reading, self._archive = reading, archive

    def read(self, link: BuildLink) -> Read:
        result = link.result
        page = self._reading.rules.identify(link.url)
        if result.error or not result.position:
            return failed(result, result.error or "lost")
        if result.status == _NOT_MODIFIED:
            return Read(fetched=_fetched(result, Kind.SAME))
        if is_redirect(result.status):
            return self._redirected(page, result)
        if result.status in _GONE:
            return Read(fetched=_fetched(result, Kind.GONE), page=load_gone(page, result.ended))
        if not is_success(result.status):
            return failed(result, "http")
        return self._succeeded(page, result, result.position)

    def _redirected(self, page: PageUrl, result: Result) -> Read:
        try:
            target = self._reading.rules.join(page.url, result.location)
        except UrlRefused:
            return failed(result, "redirect")
        if target.uri == page.uri:
            return Read(fetched=_fetched(result, Kind.TURNED, location=target.url))
        fetched = _fetched(result, Kind.MOVED, location=target.uri)
        return Read(fetched=fetched, page=load_gone(page, result.ended), follow=[_found(target)])

    def _succeeded(self, page: PageUrl, result: Result, position: WarcPosition) -> Read:
        try:
            response = read_record(self._archive, Position(position.file, position.offset, position.length))
            body = _Body(self._reading, response)
            if body.is_html():
                return self._page(page, result, body)
            kind = kind_of(result.content_type, page.url, body.decoded())
            if kind is not None:
                return self._listing(page, result, body.decoded(), kind)
        except (PageRefused, BodyRefused, RecordUnreadable) as refused:
            return failed(result, _class_of(refused))
        return Read(fetched=_fetched(result, Kind.OTHER), page=load_gone(page, result.ended))

    def _page(self, page: PageUrl, result: Result, body: _Body) -> Read:
        content = body.content(result.content_type)
        parsed = body.parsed
        loaded = Responses(self._reading)._load(page, result.ended, body.head, content)
        fetched = _fetched(
            result,
            Kind.PAGE,
            etag=result.etag,
            last_modified=result.last_modified,
            fingerprint=parsed.fingerprint,
            simhash=parsed.simhash,
            canonical=self._canonical(page, parsed),
        )
        follow = [*_followable(loaded), *self._unmarked_elsewhere(page, body.head, content, loaded)]
        follow += self._refreshed(page, parsed)
        return Read(fetched=fetched, page=loaded, follow=follow, title=parsed.title, text=parsed.text)

    def _canonical(self, page: PageUrl, parsed: ParsedPage) -> str:
        try:
            found = self._reading.rules.join(page.url, parsed.canonical) if parsed.canonical else page
        except UrlRefused:
            return ""
        return found.uri if found.uri != page.uri else ""

    def _unmarked_elsewhere(self, page: PageUrl, head: Head, content: Content, loaded: LoadedPage) -> list[FoundUrl]:
        """Targets whose first link says nofollow while a later one does not: the reference is the first, both count."""
        hrefs = [link.href for link in content.links if not _is_nofollow(link.rel)]
        if len(hrefs) == len(content.links) or not hrefs:
            return []
        values = [value for name, value in head.fields if name == "x-robots-tag"]
        if (content.robots | robots_in_header(values, self._reading.product)).nofollow:
            return []
        targets, links = loaded.outlinks.targets, decode_page(loaded.cur).outlinks
        marked = {target for target, link in zip(targets, links, strict=True) if _is_nofollow(link.rel)}
        joined = join_links(self._reading.rules, base_for_links(page.url, content.base or None), hrefs)
        return [
            FoundUrl(reversed_domain(domain).encode(), uri.encode(), url)
            for domain, uri, url in zip(joined.domains, joined.uris, joined.urls, strict=True)
            if uri.encode() in marked
        ]

    def _refreshed(self, page: PageUrl, parsed: ParsedPage) -> list[FoundUrl]:
        """Where a meta refresh leads: discovered, no reference."""
        if parsed.refresh is None or not parsed.refresh.url:
            return []
        try:
            target = self._reading.rules.join(page.url, parsed.refresh.url)
        except UrlRefused:
            return []
        return [_found(target)] if target.uri != page.uri else []

    def _listing(self, page: PageUrl, result: Result, body: bytes, kind: ListingKind) -> Read:
        limits = self._reading.limits
        text = unpacked(body, DecodeLimits(size=limits.sitemap_bytes, ratio=limits.body_ratio))
        entries = read_listing(text, kind, limits.sitemap_entries).entries
        joined = join_links(self._reading.rules, page.url, [entry.url for entry in entries])
        host = host_of(page.uri.encode())
        follow = [
            FoundUrl(
                reversed_domain(domain).encode(),
                uri.encode(),
                url,
                entries[position].lastmod if host_of(uri.encode()) == host else 0,
            )
            for domain, uri, url, position in zip(
                joined.domains, joined.uris, joined.urls, joined.positions, strict=True
            )
            # A sitemap speaks for its own site; a feed may name any page.
            if not kind.is_sitemap or domain == page.domain
        ]
        fetched = _fetched(result, Kind.LISTING, fingerprint=_fingerprint(follow))
        return Read(
            fetched=fetched, page=load_gone(page, result.ended), follow=follow, is_index=kind is ListingKind.INDEX
        )


class _Body:
    """A response's body, decoded and parsed once."""

    def __init__(self, reading: Reading, response: ArchivedResponse) -> None:
        self._reading, self._response = reading, response
        self._decoded: bytes | None = None
        self.head = response.head
        self.parsed = ParsedPage()

    def decoded(self) -> bytes:
        if self._decoded is None:
            limits = DecodeLimits(size=self._reading.max_body, ratio=self._reading.limits.body_ratio)
            self._decoded = self._response.content(limits).data
        return self._decoded

    def is_html(self) -> bool:
        content_type = self.head.get("content-type")
        return is_html_type(content_type) if content_type else looks_like_html(self.decoded())

    def content(self, content_type: str) -> Content:
        reading = self._reading
        self.parsed = parsed = parse_page(self.decoded(), content_type, reading.limits, reading.product)
        doc = Doc(
            title=parsed.title,
            description=parsed.description,
            language=parsed.language,
            headings=parsed.headings,
            text=parsed.text,
        )
        return Content(doc, parsed.links, parsed.base, parsed.robots)


def _fetched(result: Result, kind: Kind, **about: object) -> Fetched:
    return Fetched(kind=kind, at=result.ended, status=result.status, position=result.position, **about)  # type: ignore[arg-type]


def failed(result: Result, error: str) -> Read:
    return Read(fetched=_fetched(result, Kind.FAILED, error=error, retry_after=result.retry_after))


def _class_of(refused: PageRefused | BodyRefused | RecordUnreadable) -> str:
    if isinstance(refused, RecordUnreadable):
        return "archive"
    reason = refused.reason
    return reason.value if isinstance(reason, Reason) else str(reason)


def _found(page: PageUrl) -> FoundUrl:
    return FoundUrl(reversed_domain(page.domain).encode(), page.uri.encode(), page.url)


def _fingerprint(follow: list[FoundUrl]) -> int:
    """Of what a listing says, whatever it looks like."""
    return xxh3_64_intdigest(b"\n".join(b"%s %d" % (found.uri, found.lastmod) for found in follow)) or 1


def _followable(page: LoadedPage) -> list[FoundUrl]:
    """References that are not marked nofollow."""
    links = page.outlinks
    return [
        FoundUrl(domain, target, link.url)
        for domain, target, link in zip(links.domains, links.targets, decode_page(page.cur).outlinks, strict=True)
        if not _is_nofollow(link.rel)
    ]


def _is_nofollow(rel: str) -> bool:
    return "nofollow" in rel
