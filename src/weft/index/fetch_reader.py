"""A fetch, read from the archive by a worker: what the index, the schedule and the links get from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from weft.archive.archive_errors import RecordUnreadable
from weft.archive.body_decoding import BodyRefused
from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import ArchivedResponse, Packed, read_member_bytes, response_at
from weft.dispatcher.fetch_results import FetchKind
from weft.index.read_fetch import ReadFetch, failed, fetched_as
from weft.mgmt.values import BuildLink, Result, WarcPosition
from weft.model.fetch_error import FetchError, error_of_status
from weft.model.original import Original
from weft.model.url import PageUrl, UrlRefused, identity_of
from weft.reading.http_reader import HttpReader, PageResponse, Reading
from weft.reading.outcomes import PageOutcome
from weft.reading.response_body import Body, own_body
from weft.reading.settings import CRAWL, ReadingSettings

_KINDS: Final = {
    PageOutcome.PAGE: FetchKind.PAGE,
    PageOutcome.LISTING: FetchKind.LISTING,
    PageOutcome.OTHER: FetchKind.OTHER,
    PageOutcome.SAME: FetchKind.SAME,
    PageOutcome.MOVED: FetchKind.MOVED,
    PageOutcome.SELF_REDIRECT: FetchKind.SELF_REDIRECT,
    PageOutcome.GONE: FetchKind.GONE,
}


class FetchReader:
    """Reads fetches whose records lie in `archive`. Raises nothing for what a server sent."""

    def __init__(self, settings: ReadingSettings, archive: Path) -> None:
        self._reader = HttpReader(settings, CRAWL)
        self._archive = archive

    def _identity(self, url: str) -> PageUrl:
        try:
            return self._reader.rules.identify(url)
        except UrlRefused:
            return identity_of(url)  # it became a link before such hosts were refused

    def read(self, link: BuildLink, members: Sequence[Packed] = ()) -> ReadFetch:
        """`members`: its record and the one that this repeats, if they do not lie in the archive here."""
        result = link.result
        page = self._identity(link.url)
        if result.error or not result.position:
            return failed(result, result.error or FetchError.LOST)
        opened = _Opened(self._archive, result.position, members)
        open_payload = partial(self._body, page, result.content_type, opened)
        try:
            reading = self._reader.read(PageResponse(page, result.ended, result.status, result.location, open_payload))
        except RecordUnreadable:
            return failed(result, FetchError.ARCHIVE)
        except BodyRefused as refused:
            return failed(result, refused.reason)
        return _read_of(result, reading, opened.original)

    def _body(self, page: PageUrl, content_type: str, opened: _Opened) -> Body:
        return own_body(self._reader.settings, page.url, content_type, opened.read())


class _Opened:
    """The record of a fetch, if it is read: only responses with content are."""

    def __init__(self, archive: Path, at: WarcPosition, members: Sequence[Packed]) -> None:
        self._at = RecordPosition(at.file, at.offset, at.length)
        self._read = _Given(members).member if members else partial(read_member_bytes, archive)
        self.original: Original | None = None

    def read(self) -> ArchivedResponse:
        response = response_at(self._at, self._read)
        self.original = response.original
        return response


class _Given:
    """Members that came with the fetch, in the order in which they are asked for."""

    def __init__(self, members: Sequence[Packed]) -> None:
        self._left = iter(members)

    def member(self, position: RecordPosition) -> Packed:
        member = next(self._left, None)
        if member is None or len(member) != position.length:
            raise RecordUnreadable(position.file, f"the record at {position.offset} did not come")
        return member


def _read_of(result: Result, reading: Reading, original: Original | None) -> ReadFetch:
    outcome = reading.outcome
    if outcome is PageOutcome.FAILING:
        return failed(result, error_of_status(result.status))
    if outcome is PageOutcome.BAD_REDIRECT:
        return failed(result, FetchError.REDIRECT)
    # Validators only of content: a page that was gone and comes back must really be fetched. And only with the capture
    # that they came with: a 304 must be able to refer to it.
    has_validators = original is not None and bool(result.etag or result.last_modified)
    fetched = fetched_as(
        result,
        _KINDS[outcome],
        etag=result.etag if has_validators else "",
        last_modified=result.last_modified if has_validators else "",
        original=original if has_validators else None,
        location=_location(reading),
        fingerprint=reading.fingerprint,
        simhash=reading.simhash,
        canonical=reading.canonical,
    )
    return ReadFetch(
        fetched=fetched,
        page=reading.page,
        follow=list(reading.follow),
        is_index=reading.is_index,
        title=reading.title,
        text=reading.text,
    )


def _location(reading: Reading) -> str:
    if reading.target is None:
        return ""
    return reading.target.url if reading.outcome is PageOutcome.SELF_REDIRECT else reading.target.uri
