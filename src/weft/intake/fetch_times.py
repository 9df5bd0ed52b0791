"""When a page was fetched: the times of archives and of JSON, in milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from weft.intake.skip_reasons import PageRefused, SkipReason

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""

# WARC 1.1 allows to leave out the smaller parts, and up to nine digits after the second.
_WARC: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?Z)?)?)?", re.ASCII | re.IGNORECASE
)
_DIGITS: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{0,3})", re.ASCII)
_EXPECTED: Final = "expected one such as 2026-01-31T12:00:00Z"


def milliseconds_of_date(text: str) -> int:
    """The beginning of what a WARC-Date or the date of an ARC line names; raises PageRefused."""
    parts = _WARC.fullmatch(text) or _DIGITS.fullmatch(text)
    try:
        at = _from_parts(parts) if parts else datetime.fromisoformat(text)
    except ValueError as error:
        raise PageRefused(SkipReason.TIME, f"its date is {text[:40]!r}; {_EXPECTED}") from error
    if at.tzinfo is None:
        raise PageRefused(SkipReason.TIME, f"its date {text[:40]!r} has no time zone; {_EXPECTED}")
    return milliseconds(at, "its date")


def _from_parts(parts: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, fraction = parts.groups()
    microsecond = int((fraction or "").ljust(6, "0")[:6])
    return datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), microsecond, UTC
    )


def milliseconds(at: datetime, name: str) -> int:
    """Raises PageRefused for a time that a version cannot hold; `name` says whose time it is."""
    since = (at - _EPOCH) // _MILLISECOND
    if not 0 <= since <= _LAST_MS:
        expected = "expected a time from 1970 to the end of 9999, UTC"
        raise PageRefused(SkipReason.TIME, f"{name} is {at.isoformat()}; {expected}")
    return since
