"""WAT: what Common Crawl extracted from a response, as one JSON object in a metadata record."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weft.archive.http_message import HttpHead
from weft.config.sections import LimitsSettings
from weft.html import FoundLink, RobotsDirectives
from weft.html.directives import robots_in
from weft.html.page_links import ASCII_SPACE, LONGEST_HREF
from weft.intake.json_lines import DESCRIPTION_CHARS, REL_CHARS, collapsed
from weft.intake.record_heads import ArchiveRecord
from weft.intake.response_records import RecordReader
from weft.intake.skip_reasons import PageRefused, SkipReason
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.records import Doc
from weft.model.url import foreign_scheme
from weft.reading.html_body import HTML_MEDIA_TYPES
from weft.reading.outcomes import BodyKind
from weft.reading.response_body import BodyType, PageContent, RecognisedBody, media_type_of
from weft.reading.settings import ReadingSettings

_WORDS_AT: Final = {"A@/href": "text", "AREA@/href": "alt", "FRAME@/src": "title"}
"""The kinds of links that count on a page too, and which field holds their words."""
_UNESCAPED_SINCE: Final = "2019-09"
"""Until then entities stood in WAT files as they stood in the page."""
_LONG_REFERENCE: Final = re.compile(r"&#(?:[0-9]{100,}+|[xX][0-9A-Fa-f]{100,}+);?")
"""To no character that there is; Python reads no numbers of thousands of digits."""
_STATUS: Final = re.compile(r"[0-9]{3}")


class _Link(msgspec.Struct, gc=False):
    """Anything may stand in a field; what is no text counts as empty."""

    path: Any = None
    url: Any = None
    text: Any = None
    alt: Any = None
    title: Any = None
    rel: Any = None


class _PageHead(msgspec.Struct, frozen=True, rename="pascal"):
    title: Any = None
    base: Any = None
    metas: list[dict[str, Any]] = []


class _Html(msgspec.Struct, frozen=True, rename="pascal"):
    head: _PageHead = _PageHead()
    links: list[_Link] = []


class _Response(msgspec.Struct):
    message: dict[str, Any] = msgspec.field(name="Response-Message", default_factory=dict)
    headers: dict[str, Any] = msgspec.field(name="Headers", default_factory=dict)
    page: _Html | None = msgspec.field(name="HTML-Metadata", default=None)


class _Payload(msgspec.Struct):
    response: _Response | None = msgspec.field(name="HTTP-Response-Metadata", default=None)


class _Envelope(msgspec.Struct):
    header: dict[str, Any] = msgspec.field(name="WARC-Header-Metadata", default_factory=dict)
    payload: _Payload = msgspec.field(name="Payload-Metadata", default_factory=_Payload)


class _Wat(msgspec.Struct):
    envelope: _Envelope | None = msgspec.field(name="Envelope", default=None)


_decode: Final = msgspec.json.Decoder(_Wat).decode


def read_wat(reader: RecordReader, record: ArchiveRecord) -> LoadedPage | str:
    """The page that a record describes, or what the record is if it describes none; raises PageRefused."""
    envelope = _decoded(record.body).envelope
    if envelope is None:
        return "metadata"
    kind = _text(envelope.header.get("WARC-Type"))
    response = envelope.payload.response
    if kind != "response" or response is None:
        return f"metadata of {kind or 'unknown'}"
    uri = _text(envelope.header.get("WARC-Target-URI")) or record.uri
    if foreign_scheme(uri):
        return "metadata of another scheme"
    date = _text(envelope.header.get("WARC-Date")) or record.date
    about = ArchiveRecord(kind, uri, date, media="", is_cut=False, body=b"")
    head = _head(response)
    return reader.make(about, head, _Extract(head, response.page, is_escaped=record.date < _UNESCAPED_SINCE))


class _Extract:
    """What a WAT record holds in place of a body: a page that was taken apart already, if it was HTML."""

    def __init__(self, head: HttpHead, page: _Html | None, *, is_escaped: bool) -> None:
        self.head, self._page, self._is_escaped = head, page, is_escaped
        self.media_type = media_type_of(head)
        self.size = None

    def recognise(self, types: Iterable[BodyType]) -> RecognisedBody | None:
        """Whatever else weft reads, an extract holds nothing of it."""
        is_html = self.media_type in HTML_MEDIA_TYPES if self.media_type else self._page is not None
        return RecognisedBody(BodyKind.PAGE, self._content) if is_html else None

    def _content(self, settings: ReadingSettings) -> PageContent:
        page, limits = self._page or _Html(), settings.limits
        robots = RobotsDirectives()
        named: dict[str, str] = {}
        for meta in page.head.metas:
            name = self._words(meta.get("name") or meta.get("property"), 64).lower()
            words = self._words(meta.get("content"), DESCRIPTION_CHARS)
            if name == "robots":
                robots |= robots_in(words)
            elif name in ("description", "og:description") and words:
                named.setdefault(name, words)
        title = self._words(page.head.title, limits.title_chars)
        doc = Doc(title=title, description=named.get("description") or named.get("og:description") or "")
        return PageContent(doc, self._links(page.links, limits), self._plain(page.head.base).strip(), robots)

    def _links(self, links: list[_Link], limits: LimitsSettings) -> list[FoundLink]:
        found = [link for link in links if isinstance(link.url, str) and _text(link.path) in _WORDS_AT]
        return [self._link(link, limits.anchor_chars) for link in found]

    def _link(self, link: _Link, anchor_chars: int) -> FoundLink:
        words = getattr(link, _WORDS_AT[link.path])
        rel = self._words(link.rel, REL_CHARS).lower()
        href = self._plain(link.url).strip(ASCII_SPACE)[:LONGEST_HREF]
        return FoundLink(href, self._words(words, anchor_chars), rel)

    def _words(self, value: object, longest: int) -> str:
        return collapsed(self._plain(value), longest)

    def _plain(self, value: object) -> str:
        text = _text(value)
        return plain_text(text) if self._is_escaped and "&" in text else text


def plain_text(text: str) -> str:
    """Without references to characters."""
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


def _decoded(body: bytes) -> _Wat:
    try:
        return _decode(body)
    except msgspec.ValidationError as error:
        raise PageRefused(SkipReason.FIELD, f"it is not built as WAT records are: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise PageRefused(SkipReason.JSON, f"it is not JSON: {error}") from error


def _head(response: _Response) -> HttpHead:
    """The header of the response; a field that was sent several times is a list."""
    status = _text(response.message.get("Status"))
    fields = [
        (name.strip().lower(), value)
        for name, given in response.headers.items()
        for value in (given if isinstance(given, list) else [given])
        if isinstance(value, str)
    ]
    return HttpHead(int(status) if _STATUS.fullmatch(status) else 0, tuple(fields))


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
