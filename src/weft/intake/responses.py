"""A record of a response becomes a page, the knowledge that there is none, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from weft.archive.chunked import dechunked
from weft.archive.decode import BodyRefused, DecodeLimits, decode
from weft.archive.http_message import Head, parse_head, split_head
from weft.config.crawl_sections import LimitsSettings
from weft.html import FoundLink, Robots, parse_page, robots_in_header
from weft.intake.outcome import Effect, effect_of, is_html_type, is_redirect, is_success, looks_like_html
from weft.intake.records import PageRefused, Reason, Record
from weft.intake.times import milliseconds_of_date
from weft.linkindex.loaded import LoadedPage, load_gone, load_joined
from weft.linkindex.records import Doc
from weft.model.fetch_error import FetchError
from weft.model.links import base_for_links, join_links
from weft.model.url import PageUrl, UrlRefused, UrlRules, foreign_scheme

_CHUNK: Final = re.compile(rb"[ \t]*[0-9A-Fa-f]{1,15}[ \t]*(?:;[^\n]*)?\r?\n")
_REASON: Final = {
    FetchError.TOO_LARGE: Reason.TOO_LARGE,
    FetchError.BOMB: Reason.BOMB,
    FetchError.BAD_ENCODING: Reason.ENCODING,
}


class Content(NamedTuple):
    """What a page says, wherever that was read."""

    doc: Doc
    links: Sequence[FoundLink]
    base: str
    robots: Robots


class Body(Protocol):
    """What a response holds; asked only if that matters."""

    def looks_like_html(self) -> bool: ...

    def content(self, content_type: str) -> Content: ...


class Reading(NamedTuple):
    """How pages are read."""

    rules: UrlRules
    limits: LimitsSettings
    max_body: int
    product: str
    """The name by which a page can speak to this crawler alone."""
    now_ms: int
    """The time of what has none of its own."""


class Responses:
    """Makes pages of responses, by the table of what an outcome does to the index."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, record: Record) -> LoadedPage | str:
        """A page, or what the record is if it says nothing of one; raises PageRefused."""
        if foreign_scheme(record.uri):
            return f"{record.kind} of another scheme"
        if record.kind == "resource":
            head = Head(200, (("content-type", record.media),))
            return self.make(record, head, _ArchivedBody(self._reading, head, record.body))
        raw_head, body = split_head(record.body)
        if not raw_head.startswith(b"HTTP/") or len(raw_head) > self._reading.limits.header_bytes:
            raise PageRefused(Reason.RESPONSE, f"it begins with {record.body[:24]!r}; expected an HTTP response")
        head = parse_head(raw_head)
        return self.make(record, head, _ArchivedBody(self._reading, head, body, record.is_cut))

    def make(self, about: Record, head: Head, body: Body) -> LoadedPage | str:
        """What follows from a response to a request for `about.uri`."""
        page = self._identify(about.uri)
        fetched = milliseconds_of_date(about.date) if about.date else self._reading.now_ms
        elsewhere = self._leads_elsewhere(page, head) if is_redirect(head.status) else None
        is_html = is_success(head.status) and _is_html(head, body)
        effect = effect_of(head.status, is_html=is_html, leads_elsewhere=elsewhere)
        if effect is Effect.REPLACE:
            return self._load(page, fetched, head, body.content(head.get("content-type")))
        if effect is Effect.REMOVE:
            return load_gone(page, fetched)
        return "redirect to itself" if elsewhere is False else f"status {head.status}"

    def _load(self, page: PageUrl, fetched: int, head: Head, content: Content) -> LoadedPage:
        values = [value for name, value in head.fields if name == "x-robots-tag"]
        robots = content.robots | robots_in_header(values, self._reading.product)
        rels = [_with_nofollow(link.rel) if robots.nofollow else link.rel for link in content.links]
        base = base_for_links(page.url, content.base or None)
        joined = join_links(self._reading.rules, base, [link.href for link in content.links])
        doc = Doc() if robots.noindex else content.doc
        return load_joined(page, fetched, joined, [link.anchor for link in content.links], rels, doc)

    def _identify(self, uri: str) -> PageUrl:
        try:
            return self._reading.rules.identify(uri)
        except UrlRefused as refusal:
            raise PageRefused(Reason.URL, f"its URL is refused: {refusal.why}") from refusal

    def _leads_elsewhere(self, page: PageUrl, head: Head) -> bool | None:
        location = head.get("location")
        if not location:
            return None
        try:
            return self._reading.rules.join(page.url, _as_utf8(location)).uri != page.uri
        except UrlRefused:
            return True


class _ArchivedBody:
    def __init__(self, reading: Reading, head: Head, raw: bytes, is_cut: bool = False) -> None:
        self._reading, self._head, self._raw, self._is_cut = reading, head, raw, is_cut
        self._limits = DecodeLimits(size=reading.max_body, ratio=reading.limits.body_ratio)

    def looks_like_html(self) -> bool:
        return looks_like_html(self._decoded())

    def content(self, content_type: str) -> Content:
        parsed = parse_page(self._decoded(), content_type, self._reading.limits, self._reading.product)
        doc = Doc(
            title=parsed.title,
            description=parsed.description,
            language=parsed.language,
            headings=parsed.headings,
            text=parsed.text,
        )
        return Content(doc, parsed.links, parsed.base, parsed.robots)

    def _decoded(self) -> bytes:
        """The body as its author wrote it. Archives often hold it decoded, with the headers of how it was sent."""
        body = self._raw
        if self._head.is_chunked and _CHUNK.match(body):
            body = dechunked(body)
        encoding = self._head.content_encoding
        try:
            decoded = decode(body, encoding, self._limits)
        except BodyRefused as refused:
            if refused.reason is FetchError.BAD_ENCODING and looks_like_html(body):
                return body
            raise PageRefused(_REASON[refused.reason], str(refused)) from refused
        if not decoded.is_whole and not self._is_cut:
            raise PageRefused(Reason.ENCODING, f"its {encoding} ends too early; expected a whole body")
        return decoded.data


def _is_html(head: Head, body: Body) -> bool:
    content_type = head.get("content-type")
    return is_html_type(content_type) if content_type else body.looks_like_html()


def _with_nofollow(rel: str) -> str:
    return rel if "nofollow" in rel.split() else f"{rel} nofollow".strip()


def _as_utf8(field: str) -> str:
    """A header field that was read as latin-1; servers write UTF-8 into them, as browsers expect."""
    try:
        return field.encode("latin-1").decode()
    except UnicodeError:
        return field
