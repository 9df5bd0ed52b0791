"""The archived response that the index has a page from."""

from __future__ import annotations

import codecs
from functools import partial
from typing import Final, Protocol

import msgspec

from weft.archive.archive_errors import ArchiveError, NodeUnreachable, RecordDropped
from weft.archive.body_decoding import BodyRefused, decode_beginning
from weft.archive.cdxj import RecordPosition
from weft.archive.http_message import text_of
from weft.archive.record_reader import ArchivedResponse, Packed, response_at
from weft.dispatcher.link_records import LinkRecord
from weft.errors import NotKnown
from weft.html.charset import read_document
from weft.mgmt.values import WarcPosition
from weft.model.url import PageUrl, UrlRefused, UrlRules

MOST_BODY: Final = 256 << 10
"""Bytes of a body that are shown, after decoding. People look at its beginning; whoever wants all has the archive."""
_ENCODING_IS_IN: Final = 4 << 10
"""Bytes in which a page says its encoding: the standard asks for the first thousand."""
_TEXT: Final = ("application/json", "application/javascript", "application/x-javascript", "application/ecmascript")
_MARKUP: Final = ("text/html", "application/xhtml+xml", "text/xml", "application/xml")


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """A response as it is archived. Header names are in lower case."""

    uri: str
    url: str
    """As it was asked for."""
    request_target: str
    """Path and query, as the request line has them."""
    fetched: str
    """When the request was sent."""
    status: int
    headers: list[tuple[str, str]]
    content_type: str
    """Media type, with the charset if the server names one; empty: it names none."""
    size: int
    """Bytes of the body without transfer coding, in its content encoding."""
    body: str | None
    """Its beginning as text; None if it is no text, or cannot be decoded."""
    truncated: bool
    """Whether the body has more than is shown."""
    incomplete: str
    """Why the archive has only a part of the body: length, time, disconnect …; empty: it has all."""
    problem: str | None
    """Why the body cannot be decoded."""
    node: str
    """The spider that fetched it."""
    file: str
    """The WARC file with its record, and where that is in it."""
    offset: int


class Records(Protocol):
    """Where archived records are had from."""

    def member(self, node: str, position: RecordPosition) -> Packed:
        """The packed record; raises RecordUnreadable and NodeUnreachable."""
        ...

    def close(self) -> None: ...


def position_of(page: PageUrl, record: LinkRecord | None) -> WarcPosition:
    """Where the response lies that decided what the index holds of a page; if none did, the last one."""
    if record is None:
        raise NotKnown(f"no crawl has fetched {page.url}, so no response is archived")
    found = record.decided_position or record.position
    if found is None:
        raise NotKnown(f"no response of {page.url} is archived: no request was answered yet")
    return found


def capture_at(page: PageUrl, at: WarcPosition, records: Records, rules: UrlRules) -> Capture:
    position = RecordPosition(at.file, at.offset, at.length)
    try:
        response = response_at(position, partial(records.member, at.node))
    except RecordDropped as error:
        raise NotKnown(f"the response of {page.url} was dropped on purpose ([archive] says what is kept)") from error
    except NodeUnreachable as error:
        raise NotKnown(
            f"the response of {page.url} is on node {error.node}, which cannot be asked: {error.reason}"
        ) from error
    return _capture(_asked(page, response, position, rules), response, at)


def _asked(page: PageUrl, response: ArchivedResponse, position: RecordPosition, rules: UrlRules) -> PageUrl:
    """The page as it was asked for: files that were mixed up must not show one page as another."""
    try:
        asked = rules.identify(response.url)
    except UrlRefused:
        asked = None
    if asked is None or asked.uri != page.uri:
        raise ArchiveError(position.file, f"the record at {position.offset} is of {response.url}, not of {page.url}")
    return asked


def _capture(page: PageUrl, response: ArchivedResponse, at: WarcPosition) -> Capture:
    body, problem = b"", None
    content_type = response.head.content_type
    try:
        # Where an encoding ends too early, what came is shown.
        body = decode_beginning(response.body, response.head.content_encoding, MOST_BODY + 1, is_cut=True)
    except BodyRefused as refused:
        problem = str(refused)
    is_shown = problem is None and _is_text(content_type, body)
    return Capture(
        uri=page.uri,
        url=page.url,
        request_target="/" + page.url.split("/", 3)[3],
        fetched=response.date,
        status=response.status,
        headers=[(name, text_of(value)) for name, value in response.head.fields],
        content_type=content_type,
        size=len(response.body),
        body=_decoded(body[:MOST_BODY], content_type) if is_shown else None,
        truncated=is_shown and len(body) > MOST_BODY,
        incomplete=response.truncated,
        problem=problem,
        node=at.node,
        file=at.file,
        offset=at.offset,
    )


def _is_text(content_type: str, body: bytes) -> bool:
    media_type = content_type.partition(";")[0]
    if not media_type:
        return b"\0" not in body
    return media_type.startswith("text/") or media_type.endswith(("+xml", "+json")) or media_type in _TEXT + _MARKUP


def _decoded(body: bytes, content_type: str) -> str:
    """By the encoding that the server or the page names, else as UTF-8; what does not fit becomes U+FFFD."""
    return body.decode(_codec(body, content_type), "replace")


def _codec(body: bytes, content_type: str) -> str:
    media_type, _, charset = content_type.partition(";")
    if not charset and media_type not in _MARKUP:
        return "utf-8-sig"
    beginning = body[:_ENCODING_IS_IN]
    if len(body) > len(beginning):
        # Not in the middle of a character, which would look like another encoding.
        beginning = beginning[: beginning.rfind(b"<") + 1] or beginning
    encoding = read_document(beginning, content_type).encoding or "utf-8"
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return "utf-8-sig"
    return "utf-8-sig" if name == "utf-8" else name
