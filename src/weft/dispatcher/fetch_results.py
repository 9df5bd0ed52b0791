"""What a fetch does to the record of its link: when the link is due again, and what is remembered until then."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.mgmt.values import WarcPosition
from weft.model.fetch_error import FetchError


class FetchKind(StrEnum):
    """What a fetch found."""

    PAGE = "page"
    SAME = "same"
    """304, or the content that was there before."""
    MOVED = "moved"
    """A redirect to another uri."""
    SELF_REDIRECT = "self_redirect"
    """A redirect to another URL of the same uri."""
    GONE = "gone"
    OTHER = "other"
    """No page: an image, a PDF."""
    LISTING = "listing"
    """A sitemap or feed."""
    FAILED = "failed"


_SECOND: Final = 1000
DECISIVE: Final = frozenset({FetchKind.PAGE, FetchKind.MOVED, FetchKind.GONE, FetchKind.OTHER, FetchKind.LISTING})


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch as the scheduler sees it."""

    kind: FetchKind
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


def time_of_fetch(ended: int, record: LinkRecord | None, now: int) -> int:
    """When a fetch counts as ended: one that nobody began, now.

    If the last fetch ended in what is the future now, because the clock was set back, this one counts as later still:
    it is the newer one.
    """
    last = record.fetched if record else 0
    return last + 1 if (ended or now) <= last and last > now else ended or now


def after_fetch(
    record: LinkRecord, fetched: Fetched, settings: DispatcherSettings, now: int | None = None
) -> LinkRecord:
    """The link's record after a fetch. A fetch older than the last one only makes the link due again.

    A fetch that ended after `now` ended so by a clock that was ahead: the link waits from now on.
    """
    after = _after_fetch(record, fetched, settings)
    if now is None or fetched.at <= now or after.due <= now:
        return after
    return msgspec.structs.replace(after, due=max(now, after.due - (fetched.at - now)))


def _after_fetch(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    if fetched.at < record.fetched:
        return msgspec.structs.replace(record, phase=LinkPhase.DUE) if record.phase is LinkPhase.GIVEN else record
    if fetched.kind is FetchKind.SELF_REDIRECT:
        return _self_redirected(record, fetched)
    if fetched.kind is FetchKind.FAILED:
        return _failed(record, fetched)
    return _succeeded(record, fetched, settings)


def interval_after(record: LinkRecord, settings: DispatcherSettings, *, has_changed: bool) -> int:
    """How long to wait after a fetch that succeeded: half as long if the page changed, twice as long if it did not."""
    shortest, longest = (int(bound * _SECOND) for bound in (settings.refresh_min, settings.refresh_max))
    if not record.interval:
        return min(max(int(settings.refresh_first * _SECOND), shortest), longest)
    wanted = record.interval // 2 if has_changed else record.interval * 2
    return min(max(wanted, shortest), longest)


def _succeeded(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    has_changed = fetched.kind is not FetchKind.SAME and not _says_the_same(record, fetched)
    interval = interval_after(record, settings, has_changed=has_changed)
    after = msgspec.structs.replace(
        record,
        phase=LinkPhase.DUE,
        reason="",
        due=fetched.at + interval,
        interval=interval,
        fetched=fetched.at,
        status=fetched.status,
        error="",
        failures=0,
        failing_since=0,
        position=fetched.position,
        self_redirect=False,
    )
    if fetched.kind not in DECISIVE:
        return after
    is_page = fetched.kind is FetchKind.PAGE
    return msgspec.structs.replace(
        after,
        changed=fetched.at if has_changed else record.changed,
        decided=fetched.at,
        decided_position=fetched.position,
        # Validators only while the page exists: one that comes back must really be fetched.
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
        fetched.kind in (FetchKind.PAGE, FetchKind.LISTING)
        and fetched.fingerprint != 0
        and fetched.fingerprint == record.fingerprint
    )


def _failed(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    failures = record.failures + 1
    return msgspec.structs.replace(
        record,
        phase=LinkPhase.DUE,
        reason="",
        due=fetched.at + FetchError.of(fetched.error or FetchError.HTTP).wait(failures, fetched.retry_after),
        fetched=fetched.at,
        status=fetched.status,
        error=fetched.error,
        failures=failures,
        failing_since=record.failing_since or fetched.at,
        position=fetched.position or record.position,
    )


def _self_redirected(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    """Once per cycle the link follows a redirect to its own uri; again, or back to http, it is a loop."""
    goes_back = record.url.startswith("https:") and fetched.location.startswith("http:")
    if record.self_redirect or goes_back:
        return _failed(record, msgspec.structs.replace(fetched, kind=FetchKind.FAILED, error=FetchError.REDIRECT_LOOP))
    return msgspec.structs.replace(
        record,
        url=fetched.location,
        phase=LinkPhase.DUE,
        due=fetched.at,
        fetched=fetched.at,
        status=fetched.status,
        position=fetched.position,
        self_redirect=True,
    )
