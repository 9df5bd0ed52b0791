"""What a fetch means for its link: when it is due again, and what to remember for that time."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.records import LinkRecord, Place
from weft.dispatcher.refresh import interval_after
from weft.mgmt.values import WarcPosition
from weft.model.fetch_error import FetchError


class Kind(StrEnum):
    """What came of a fetch."""

    PAGE = "page"
    SAME = "same"
    """304, or the content that was there before."""
    MOVED = "moved"
    """A redirect to another uri."""
    TURNED = "turned"
    """A redirect to another URL of the same uri."""
    GONE = "gone"
    OTHER = "other"
    """No page: an image, a PDF."""
    LISTING = "listing"
    """A sitemap or feed."""
    FAILED = "failed"


DECISIVE = frozenset({Kind.PAGE, Kind.MOVED, Kind.GONE, Kind.OTHER, Kind.LISTING})


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch as the scheduler sees it."""

    kind: Kind
    at: int
    status: int = 0
    error: str = ""
    retry_after: int = 0
    position: WarcPosition | None = None
    etag: str = ""
    last_modified: str = ""
    location: str = ""
    """Uri of the redirect's target; of one to the same uri its URL."""
    fingerprint: int = 0
    simhash: int = 0
    canonical: str = ""


def after_fetch(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    """The link's record after a fetch. A fetch older than the last one changes nothing but its place."""
    if fetched.at < record.fetched:
        return msgspec.structs.replace(record, place=Place.DUE) if record.place is Place.GIVEN else record
    if fetched.kind is Kind.TURNED:
        return _turned(record, fetched)
    if fetched.kind is Kind.FAILED:
        return _failed(record, fetched)
    return _succeeded(record, fetched, settings)


def _succeeded(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    has_changed = fetched.kind is not Kind.SAME and not _says_the_same(record, fetched)
    interval = interval_after(record, settings, has_changed=has_changed)
    after = msgspec.structs.replace(
        record,
        place=Place.DUE,
        reason="",
        due=fetched.at + interval,
        interval=interval,
        fetched=fetched.at,
        status=fetched.status,
        error="",
        failures=0,
        position=fetched.position,
        turned=False,
    )
    if fetched.kind not in DECISIVE:
        return after
    is_page = fetched.kind is Kind.PAGE
    return msgspec.structs.replace(
        after,
        changed=fetched.at if has_changed else record.changed,
        decided=fetched.at,
        decided_position=fetched.position,
        # Validators only while the page stands: one that comes back must really be fetched.
        etag=fetched.etag if is_page else "",
        last_modified=fetched.last_modified if is_page else "",
        location=fetched.location,
        fingerprint=fetched.fingerprint,
        simhash=fetched.simhash,
        canonical=fetched.canonical,
    )


def _says_the_same(record: LinkRecord, fetched: Fetched) -> bool:
    """Whether a page has the text that it had (dates and counters do not make it another), a sitemap its entries."""
    return (
        fetched.kind in (Kind.PAGE, Kind.LISTING)
        and fetched.fingerprint != 0
        and fetched.fingerprint == record.fingerprint
    )


def _failed(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    failures = record.failures + 1
    return msgspec.structs.replace(
        record,
        place=Place.DUE,
        reason="",
        due=fetched.at + FetchError.of(fetched.error or FetchError.HTTP).wait(failures, fetched.retry_after),
        fetched=fetched.at,
        status=fetched.status,
        error=fetched.error,
        failures=failures,
        position=fetched.position or record.position,
    )


def _turned(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    """Once per cycle the link follows a redirect to its own uri; again, or back to http, it is a loop."""
    goes_back = record.url.startswith("https:") and fetched.location.startswith("http:")
    if record.turned or goes_back:
        return _failed(record, msgspec.structs.replace(fetched, kind=Kind.FAILED, error=FetchError.REDIRECT_LOOP))
    return msgspec.structs.replace(
        record,
        url=fetched.location,
        place=Place.DUE,
        due=fetched.at,
        fetched=fetched.at,
        status=fetched.status,
        position=fetched.position,
        turned=True,
    )
