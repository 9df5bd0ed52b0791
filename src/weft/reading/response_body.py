"""The body of a response: decoded once, under caps, and only if somebody looks at it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from weft.archive.body_decoding import BodyRefused, DecodeLimits, decode
from weft.archive.http_message import HttpHead, dechunked
from weft.archive.record_reader import ArchivedResponse
from weft.html import FoundLink, RobotsDirectives
from weft.linkindex.records import Doc
from weft.model.fetch_error import FetchError
from weft.reading.listing_entries import UrlListing
from weft.reading.outcomes import BodyKind
from weft.reading.settings import ReadingSettings

_CHUNK: Final = re.compile(rb"[ \t]*[0-9A-Fa-f]{1,15}[ \t]*(?:;[^\n]*)?\r?\n")

# The beginnings by which the standard of MIME sniffing knows HTML.
_LOOKS_LIKE_HTML: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*"
    rb"<(?:(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]|!--)",
    re.IGNORECASE,
)


class PageContent(NamedTuple):
    """What a page says, whatever its format."""

    doc: Doc
    links: Sequence[FoundLink]
    base: str = ""
    robots: RobotsDirectives = RobotsDirectives()
    canonical: str = ""
    refresh: str = ""
    """Where a meta refresh leads; empty: nowhere else."""
    fingerprint: int = 0
    simhash: int = 0


ReadBody = Callable[[ReadingSettings], PageContent | UrlListing]
"""Raises BodyRefused."""


class RecognisedBody(NamedTuple):
    kind: BodyKind
    read: ReadBody


class BodyType(NamedTuple):
    """A format that weft reads. All of them are listed in `body_types`."""

    kind: BodyKind
    """PAGE: `read` gives a PageContent; LISTING: a UrlListing."""
    recognise: Callable[[Body], ReadBody | None]
    """What reads this body; None if it is of another type. Raises BodyRefused if it had to look inside."""


class Body:
    """A body whose bytes are still encoded."""

    def __init__(
        self,
        url: str,
        head: HttpHead,
        content_type: str,
        open_payload: Callable[[], bytes],
        decode_payload: Callable[[bytes], bytes],
    ) -> None:
        self.url, self.head = url, head
        self.content_type = content_type
        """As the server gives it now; `head` may be that of an earlier response with the same payload."""
        self._open_payload, self._decode_payload = open_payload, decode_payload

    @cached_property
    def _payload(self) -> bytes:
        return self._open_payload()

    @property
    def size(self) -> int:
        """Bytes without transfer coding, in the content encoding."""
        return len(self._payload)

    @cached_property
    def data(self) -> bytes:
        """As its author wrote it; raises BodyRefused."""
        return self._decode_payload(self._payload)

    @property
    def media_type(self) -> str:
        """Lower case, without parameters; empty if the server does not say."""
        return media_type_of(self.head)

    def recognise(self, types: Iterable[BodyType]) -> RecognisedBody | None:
        for body_type in types:
            read = body_type.recognise(self)
            if read is not None:
                return RecognisedBody(body_type.kind, read)
        return None


def own_body(settings: ReadingSettings, url: str, content_type: str, response: ArchivedResponse) -> Body:
    """A body out of weft's own archive. Where its encoding ends too early, what came counts."""
    limits = _decode_limits(settings)
    return Body(url, response.head, content_type, lambda: response.body, lambda _: response.content(limits).data)


def foreign_body(settings: ReadingSettings, url: str, head: HttpHead, raw: bytes, *, is_cut: bool = False) -> Body:
    """A body out of any archive. Many hold it decoded, under the header with which it was sent.

    `is_cut`: its record admits that a part is missing, so that an encoding may end too early.
    """
    limits = _decode_limits(settings)
    return Body(
        url,
        head,
        head.content_type,
        lambda: dechunked(raw) if head.is_chunked and _CHUNK.match(raw) else raw,
        lambda payload: _decode_foreign(head, payload, limits, is_cut),
    )


def media_type_of(head: HttpHead) -> str:
    return head.content_type.partition(";")[0]


def looks_like_html(data: bytes) -> bool:
    """For bodies whose type no header gives."""
    return _LOOKS_LIKE_HTML.match(data) is not None


def _decode_limits(settings: ReadingSettings) -> DecodeLimits:
    return DecodeLimits(size=settings.max_body, ratio=settings.limits.body_ratio)


def _decode_foreign(head: HttpHead, payload: bytes, limits: DecodeLimits, is_cut: bool) -> bytes:
    encoding = head.content_encoding
    try:
        decoded = decode(payload, encoding, limits)
    except BodyRefused as refused:
        if refused.reason is FetchError.BAD_ENCODING and looks_like_html(payload):
            return payload
        raise
    if not decoded.is_whole and not is_cut:
        raise BodyRefused(FetchError.BAD_ENCODING, f"its {encoding} ends too early; expected a whole body")
    return decoded.data
