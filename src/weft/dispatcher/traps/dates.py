"""Months and days in the path or query of a URL, as calendars write them."""

from __future__ import annotations

import re
from typing import Final

_YEAR: Final = r"(?P<year>\d{4})"
_MONTH: Final = r"(?P<month>0?[1-9]|1[0-2])"
_FORMS: Final = (
    # /2026/01/, /2026-01-31, =2026-1, 2026.01
    re.compile(rf"(?<![0-9]){_YEAR}[/._-]{_MONTH}(?![0-9])(?:[/._-](?:0?[1-9]|[12][0-9]|3[01])(?![0-9]))?"),
    # year=2026&month=1, in any order, also y= and m=
    re.compile(rf"(?<=[?&])y(?:ear)?={_YEAR}&(?:[^#]*&)?m(?:onth)?={_MONTH}(?![0-9])"),
    re.compile(rf"(?<=[?&])m(?:onth)?={_MONTH}&(?:[^#]*&)?y(?:ear)?={_YEAR}(?![0-9])"),
    # 20260131 and 202601, with nothing but the month to tell them from other numbers
    re.compile(r"(?<![0-9])(?P<year>\d{4})(?P<month>0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])?(?![0-9])"),
)
_DIGITS: Final = re.compile(r"\d+")


def month_of(target: str) -> int | None:
    """The first month that a path with its query names, counted since the year 0."""
    for form in _FORMS:
        if found := form.search(target):
            return int(found["year"]) * 12 + int(found["month"]) - 1
    return None


def month_text(months: int) -> str:
    return f"{months // 12:04d}-{months % 12 + 1:02d}"


def shape_of(target: str) -> str:
    """A URL without its numbers: the pages of one calendar share it."""
    return _DIGITS.sub("0", target)
