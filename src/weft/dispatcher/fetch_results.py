"""What a fetch does to the record of its link: when the link is due again, and what is remembered until then."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.mgmt.values import WarcPosition
from weft.model.fetch_error import HASTE_TRIES, Fault, FetchError
from weft.model.original import Original
from weft.model.refusal import type_by_header


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
SOON: Final = _SECOND
"""Wait after a refusal for haste that names no time: how long the host rests is up to the URL server."""
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
    original: Original | None = None
    """The capture that holds what came; None without a validator."""
    location: str = ""
    """Uri of the redirect's target; of one to the same uri its URL."""
    fingerprint: int = 0
    simhash: int = 0
    canonical: str = ""
    content_type: str = ""
    """As the header says; only of a file whose type is not wanted."""


def answered(fetched: Fetched) -> bool | None:
    """Whether there is a server that answered; None: that was not found out."""
    if fetched.status or not fetched.error:
        return True
    fault = FetchError.of(fetched.error).fault
    return None if fault is Fault.OURS else fault is Fault.LINK


def time_of_fetch(ended: int, record: LinkRecord | None, now: int) -> int:
    """When a fetch counts as ended: one that nobody began, now.

    If the last fetch ended in what is the future now, because the clock was set back, this one counts as later still:
    it is the newer one.
    """
    last = record.fetched if record else 0
    return last + 1 if (ended or now) <= last and last > now else ended or now


def after_fetch(
    record: LinkRecord,
    fetched: Fetched,
    settings: DispatcherSettings,
    now: int | None = None,
    recrawl: float | None = None,
) -> LinkRecord:
    """The link's record after a fetch. A fetch older than the last one only makes the link due again.

    `recrawl` is the interval that its site sets, in seconds.

    A fetch that ended after `now` ended so by a clock that was ahead: the link waits from now on.
    """
    after = _after_fetch(record, fetched, settings, recrawl)
    if now is None or fetched.at <= now or after.due <= now:
        return after
    return msgspec.structs.replace(after, due=max(now, after.due - (fetched.at - now)))


def _after_fetch(
    record: LinkRecord, fetched: Fetched, settings: DispatcherSettings, recrawl: float | None
) -> LinkRecord:
    if fetched.at < record.fetched:
        return msgspec.structs.replace(record, phase=LinkPhase.DUE) if record.phase is LinkPhase.GIVEN else record
    if fetched.kind is FetchKind.SELF_REDIRECT:
        return _self_redirected(record, fetched, settings)
    if fetched.error == FetchError.UNWANTED_TYPE:
        return _left_out(record, fetched)
    if fetched.kind is FetchKind.FAILED:
        return _failed(record, fetched, settings)
    return _succeeded(record, fetched, settings, recrawl)


def is_loaded(record: LinkRecord, fetched: Fetched) -> bool:
    """Whether this is the last fetch once more: after a restore some are loaded again."""
    last = record.fetched, record.status, record.error
    return record.phase is not LinkPhase.GIVEN and last == (fetched.at, fetched.status, fetched.error) != (0, 0, "")


def refers_to_nothing(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    """The record after a "not modified" that stands for a capture which the index lacks: the page is fetched again.

    Its own validators stay, which are those of what the index holds.
    """
    if fetched.at < record.fetched:
        return record
    return msgspec.structs.replace(
        record, phase=LinkPhase.DUE, reason="", due=fetched.at, wanted=0, fetched=fetched.at, retry_soon=False
    )


def rescheduled(record: LinkRecord, recrawl: float) -> LinkRecord:
    """The record of a page that waits for its next fetch, by the interval that its site sets now."""
    if record.phase is not LinkPhase.DUE or record.failures or not record.fetched:
        return record
    interval = int(recrawl * _SECOND)
    return msgspec.structs.replace(record, due=record.fetched + interval, interval=interval)


def interval_after(record: LinkRecord, settings: DispatcherSettings, *, has_changed: bool) -> int:
    """How long to wait after a fetch that succeeded: half as long if the page changed, twice as long if it did not."""
    shortest, longest = (int(bound * _SECOND) for bound in (settings.refresh_min, settings.refresh_max))
    if not record.interval:
        return min(max(int(settings.refresh_first * _SECOND), shortest), longest)
    wanted = record.interval // 2 if has_changed else record.interval * 2
    return min(max(wanted, shortest), longest)


def _succeeded(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings, recrawl: float | None) -> LinkRecord:
    has_changed = fetched.kind is not FetchKind.SAME and not _says_the_same(record, fetched)
    adapted = interval_after(record, settings, has_changed=has_changed)
    interval = adapted if recrawl is None else int(recrawl * _SECOND)
    after = msgspec.structs.replace(
        record,
        phase=LinkPhase.DUE,
        reason="",
        due=fetched.at + interval,
        wanted=0,
        interval=interval,
        fetched=fetched.at,
        status=fetched.status,
        error="",
        failures=0,
        retry_soon=False,
        failing_since=0,
        position=fetched.position,
        self_redirect=False,
    )
    if fetched.kind not in DECISIVE:
        return after
    return msgspec.structs.replace(
        after,
        changed=fetched.at if has_changed else record.changed,
        decided=fetched.at,
        decided_position=fetched.position,
        etag=fetched.etag,
        last_modified=fetched.last_modified,
        original=fetched.original,
        scope=0,
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


def _failed(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    failures = record.failures + 1
    error = FetchError.of(fetched.error or FetchError.HTTP)
    is_soon = _is_tried_soon(error, failures, fetched.retry_after, settings)
    # Of a page that is refused for haste, only every fifth failure counts as one.
    rounds = -(-failures // HASTE_TRIES) if error is FetchError.BUSY else failures
    wait = max(fetched.retry_after, SOON) if is_soon else error.wait(rounds, fetched.retry_after)
    return msgspec.structs.replace(
        record,
        phase=LinkPhase.DUE,
        reason="",
        due=fetched.at + wait,
        wanted=0,
        fetched=fetched.at,
        status=fetched.status,
        error=fetched.error,
        failures=failures,
        retry_soon=is_soon,
        failing_since=record.failing_since or fetched.at,
        position=fetched.position or record.position,
    )


def _left_out(record: LinkRecord, fetched: Fetched) -> LinkRecord:
    """Its site does not want this type of file: it is not asked for again until the types of the site change."""
    left_out = msgspec.structs.replace(
        record,
        due=0,
        wanted=0,
        fetched=fetched.at,
        status=fetched.status,
        error=fetched.error,
        position=fetched.position or record.position,
        retry_soon=False,
        self_redirect=False,
    )
    return left_out.hide(type_by_header(fetched.content_type))


def _is_tried_soon(error: FetchError, failures: int, retry_after: int, settings: DispatcherSettings) -> bool:
    """Whether a link is fetched again within the same crawl: refused for haste, and neither too often nor for long."""
    is_patient = retry_after <= settings.retry_patience * _SECOND
    return error is FetchError.BUSY and failures % HASTE_TRIES != 0 and is_patient


def _self_redirected(record: LinkRecord, fetched: Fetched, settings: DispatcherSettings) -> LinkRecord:
    """Once per cycle the link follows a redirect to its own uri; again, or back to http, it is a loop."""
    goes_back = record.url.startswith("https:") and fetched.location.startswith("http:")
    if record.self_redirect or goes_back:
        looped = msgspec.structs.replace(fetched, kind=FetchKind.FAILED, error=FetchError.REDIRECT_LOOP)
        return _failed(record, looped, settings)
    return msgspec.structs.replace(
        record,
        url=fetched.location,
        phase=LinkPhase.DUE,
        due=fetched.at,
        wanted=0,
        fetched=fetched.at,
        status=fetched.status,
        position=fetched.position,
        retry_soon=False,
        self_redirect=True,
    )
