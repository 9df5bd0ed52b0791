"""Dates as people type them into a query: a year, a month, a day, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

EXPECTED: Final = "a date such as 2024, 2024-05 or 2024-05-31, or a time ago such as 7d, 2w, 3m or 1y"
_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{1,2}))?(?:-([0-9]{1,2}))?")
_AGO: Final = re.compile(r"([0-9]{1,5})([dwmy])", re.IGNORECASE)
_EPOCH: Final = date(1970, 1, 1)
_DAY_MS: Final = 86_400_000


def start_of(text: str, today: date | None = None) -> int | None:
    """The first instant of a date, in milliseconds since 1970, UTC; None if the text is no date.

    A time ago is counted back from `today`, the current day unless given, in whole days.
    """
    try:
        day = _day_of(text, today)
    except (ValueError, OverflowError):
        return None
    return None if day is None else (day - _EPOCH).days * _DAY_MS


def shown_date(instant: int) -> str:
    """The day of an instant that `start_of` gave, which reads it back."""
    return (_EPOCH + timedelta(days=instant // _DAY_MS)).isoformat()


def _day_of(text: str, today: date | None) -> date | None:
    if found := _DATE.fullmatch(text):
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    if found := _AGO.fullmatch(text):
        return _days_ago(int(found[1]), found[2].lower(), today or datetime.now(UTC).date())
    return None


def _days_ago(count: int, unit: str, today: date) -> date:
    if unit in "dw":
        return today - timedelta(days=count * (7 if unit == "w" else 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
    return _day_in_month(months // 12, months % 12 + 1, today.day)


def _day_in_month(year: int, month: int, day: int) -> date:
    """A month before 31 May is 30 April."""
    first = date(year, month, 1)
    last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day, last.day))
