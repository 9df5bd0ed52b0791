"""A record of a response becomes a page, a removal, or nothing."""

from __future__ import annotations

from typing import Final

from weft.archive.body_decoding import BodyRefused
from weft.archive.http_message import HttpHead, parse_head, split_response
from weft.intake.fetch_times import milliseconds_of_date
from weft.intake.record_heads import REVISIT, ArchiveRecord
from weft.intake.skip_reasons import PageRefused, SkipReason
from weft.linkindex.loaded import LoadedPage, load_seen_again
from weft.model.domain import reversed_domain
from weft.model.fetch_error import FetchError
from weft.model.url import PageUrl, UrlRefused, foreign_scheme
from weft.reading.http_reader import HttpReader, PageResponse, Payload, location_in
from weft.reading.outcomes import NOT_MODIFIED, PageOutcome, is_success
from weft.reading.response_body import foreign_body

_REASON: Final = {
    FetchError.TOO_LARGE: SkipReason.TOO_LARGE,
    FetchError.BOMB: SkipReason.BOMB,
    FetchError.BAD_ENCODING: SkipReason.ENCODING,
}


class RecordReader:
    """Makes pages of archived responses; a record without a date has the time `now_ms`."""

    def __init__(self, reader: HttpReader, now_ms: int) -> None:
        self._reader, self._now_ms = reader, now_ms

    def read(self, record: ArchiveRecord) -> LoadedPage | str:
        """A page, or what the record is if it says nothing of one; raises PageRefused."""
        if foreign_scheme(record.uri):
            return f"{record.kind} of another scheme"
        if record.not_a_page:
            return f"refused: {record.not_a_page}"
        if record.kind == REVISIT:
            return self._revisit(record)
        settings = self._reader.settings
        if record.kind == "resource":
            head = HttpHead(200, (("content-type", record.media),))
            return self.make(record, head, foreign_body(settings, record.uri, head, record.body))
        raw_head, body = split_response(record.body)
        if not raw_head.startswith(b"HTTP/") or len(record.body) - len(body) > settings.limits.header_bytes:
            raise PageRefused(SkipReason.RESPONSE, f"it begins with {record.body[:24]!r}; expected an HTTP response")
        head = parse_head(raw_head)
        if record.is_cut and not body and is_success(head.status):
            # Nothing is known of the page that was not known before.
            return "truncated to nothing"
        return self.make(record, head, foreign_body(settings, record.uri, head, body, is_cut=record.is_cut))

    def _revisit(self, record: ArchiveRecord) -> LoadedPage | str:
        """That a page still says what it said when the original was fetched; nothing if nobody knows when that was."""
        raw_head, body = split_response(record.body)
        head = parse_head(raw_head)
        if raw_head.startswith(b"HTTP/") and not (is_success(head.status) or head.status == NOT_MODIFIED):
            return self.make(record, head, foreign_body(self._reader.settings, record.uri, head, body))
        page = self._identify(record.uri)
        original = self._identify(record.refers_to or record.uri)
        if not (record.date and record.refers_to_date) or original.uri != page.uri:
            return REVISIT
        at, since = (milliseconds_of_date(date) for date in (record.date, record.refers_to_date))
        return load_seen_again(page.uri.encode(), reversed_domain(page.domain).encode(), at, since)

    def make(self, about: ArchiveRecord, head: HttpHead, payload: Payload) -> LoadedPage | str:
        """What follows from a response to a request for `about.uri`."""
        page = self._identify(about.uri)
        fetched = milliseconds_of_date(about.date) if about.date else self._now_ms
        response = PageResponse(page, fetched, head.status, location_in(head), lambda: payload)
        try:
            reading = self._reader.read(response)
        except BodyRefused as refused:
            raise PageRefused(_REASON[refused.reason], str(refused)) from refused
        if reading.page is not None:
            return reading.page
        is_self_redirect = reading.outcome is PageOutcome.SELF_REDIRECT
        return "redirect to itself" if is_self_redirect else f"status {head.status}"

    def _identify(self, uri: str) -> PageUrl:
        try:
            return self._reader.rules.identify(uri)
        except UrlRefused as refusal:
            raise PageRefused(SkipReason.URL, f"its URL is refused: {refusal.why}") from refusal
