"""What a response means: the result to report and the exchange to archive. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from mmap import mmap
from typing import Final, NamedTuple

import ada_url

from weft.archive.body_decoding import BodyRefused, DecodeLimits, decode_beginning, decoded_size
from weft.archive.http_message import CHUNKED, HttpHead, parse_head, read_chunks, text_of
from weft.archive.warc_records import Exchange, sha1
from weft.mgmt.values import Details, LinkKind, Result
from weft.model.fetch_error import FetchError
from weft.model.site import SiteSettings
from weft.model.url import without_userinfo
from weft.spider.fetching import WITH_HEAD, Request, Response

LONGEST_WAIT: Final = 30 * 24 * 3600 * 1000
"""A Retry-After beyond it is a mistake or a joke."""

FIRST_STATUS: Final = 200
"""Of a final response; interim ones are not kept."""
LAST_STATUS: Final = 599

_SECONDS: Final = re.compile(r"\d{1,12}")
_LONGEST_FIELD: Final = 2048


@dataclass(frozen=True, slots=True)
class FetchRecord:
    """What a fetch found out; the result lacks its position until the exchange is archived."""

    result: Result
    exchange: Exchange | None
    """None: there was no response, so there is nothing to keep."""


class _Content(NamedTuple):
    """What is in a body."""

    size: int
    """After decoding."""
    error: str = ""
    """Class of what is wrong with it."""
    body: bytes = b""
    """Where it is wanted."""
    is_whole: bool = True
    """Whether its encoding has an end."""


@dataclass(frozen=True, slots=True)
class ResponseReader:
    """Knows the limits of a body, and what may be archived."""

    limits: DecodeLimits
    robots_bytes: int
    archive_credentials: bool = False

    def read(self, details: Details, request: Request, response: Response, started: int, ended: int) -> FetchRecord:
        if response.error is not None and response.error not in WITH_HEAD:
            return failed(details, response.error, started, ended)
        head = parse_head(response.head)
        if not FIRST_STATUS <= head.status <= LAST_STATUS:
            return failed(details, FetchError.BAD_HTTP, started, ended)
        payload, response = _framed(head, response)
        content = self._content(details, head, payload, response)
        result = Result(
            doc_id=details.doc_id,
            claim=details.claim,
            started=started,
            ended=ended,
            status=head.status,
            error=content.error,
            size=content.size,
            retry_after=retry_after(head, ended),
            etag=_short(head, "etag"),
            last_modified=_short(head, "last-modified"),
            location=_location(head, details.url),
            content_type=head.content_type,
            body=content.body,
        )
        exchange = self._exchange(details, request, response, head, content, started)
        return FetchRecord(result, replace(exchange, payload_digest=sha1(payload) if head.is_chunked else ""))

    def _content(self, details: Details, head: HttpHead, payload: bytes | mmap, response: Response) -> _Content:
        try:
            if response.error is FetchError.BAD_ENCODING:
                return _Content(len(payload), str(response.error))
            if details.kind is LinkKind.ROBOTS and 200 <= head.status < 300:
                body = self._robots(head, response, payload)
                return _Content(len(body), body=body)
            if response.error is not None:
                return _Content(len(payload), str(response.error))
            size, is_whole = decoded_size(payload, head.content_encoding, self._limits_of(details.site))
            return _Content(size, is_whole=is_whole)
        except BodyRefused as refused:
            return _Content(len(payload), str(refused.reason))

    def _limits_of(self, site: SiteSettings) -> DecodeLimits:
        return replace(self.limits, size=min(self.limits.size, site.max_bytes)) if site.max_bytes else self.limits

    def _robots(self, head: HttpHead, response: Response, payload: bytes | mmap) -> bytes:
        """A robots.txt, and one byte more where it is too long."""
        return decode_beginning(payload, head.content_encoding, self.robots_bytes + 1, is_cut=response.is_cut)

    def _exchange(
        self, details: Details, request: Request, response: Response, head: HttpHead, content: _Content, started: int
    ) -> Exchange:
        return Exchange(
            url=request.url,
            ip="" if request.access.proxy else request.ip,
            started=started,
            request=request.head(self.archive_credentials),
            head=response.head,
            body=response.body,
            status=head.status,
            content_type=head.content_type,
            content_encoding=head.content_encoding,
            truncated=_truncated(response, content),
            refused=content.error,
            is_robots=details.kind is LinkKind.ROBOTS,
            original=details.original,
        )


def _truncated(response: Response, content: _Content) -> str:
    """Why the body is not whole, in the words of ISO 28500, which has none for a body that nobody wanted.

    An encoding may also have no end: whoever reads the record must know that the part which came counts.
    """
    if response.is_cut:
        return "unspecified" if response.error is FetchError.UNWANTED_TYPE else "length"
    return "" if content.is_whole else "unspecified"


def _framed(head: HttpHead, response: Response) -> tuple[bytes | mmap, Response]:
    """The payload without its transfer coding, and the response without what libcurl hands on behind its end.

    What we cannot take apart as libcurl did is an error, never a page that lacks a part.
    """
    if not response.body or not head.transfer_codings:
        return response.body, response
    payload, end, is_whole = read_chunks(response.body)
    if end < len(response.body):
        response = replace(response, body=response.body[:end])
    if head.transfer_codings != CHUNKED or not (is_whole or response.is_cut):
        response = replace(response, error=response.error or FetchError.BAD_ENCODING)
    return payload, response


def failed(details: Details, error: FetchError, started: int, ended: int) -> FetchRecord:
    """There is no response, and why."""
    result = Result(doc_id=details.doc_id, claim=details.claim, error=str(error), started=started, ended=ended)
    return FetchRecord(result, None)


def _short(head: HttpHead, name: str) -> str:
    value = head.get(name)
    return value if len(value) <= _LONGEST_FIELD else ""


def _location(head: HttpHead, url: str) -> str:
    """The address that a redirect names, made whole; empty where there is none."""
    given = head.get("location")
    if not given or not 300 <= head.status < 400:
        return ""
    try:
        return without_userinfo(str(ada_url.join_url(url, text_of(given))))
    except ValueError:
        return ""


def retry_after(head: HttpHead, now: int) -> int:
    """Milliseconds to wait from `now`, by a number of seconds or a date; 0 where neither can be read.

    A date is compared with the server's own clock, if it tells the time: ours may be wrong.
    """
    given = head.get("retry-after")
    if not given:
        return 0
    if _SECONDS.fullmatch(given):
        return min(int(given) * 1000, LONGEST_WAIT)
    moment = _moment(given)
    return 0 if moment is None else min(max(0, moment - (_moment(head.get("date")) or now)), LONGEST_WAIT)


def _moment(text: str) -> int | None:
    """Milliseconds since 1970; None where the text is no date."""
    try:
        return round(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError, OverflowError):
        return None
