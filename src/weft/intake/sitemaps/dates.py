"""The lastmod of an entry: a W3C datetime, of which the smaller parts may be left out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MONTH: Final = re.compile(r"\d{4}(-\d\d)?", re.ASCII)
_LONGEST: Final = 40


def lastmod_of(text: bytes) -> int:
    """The beginning of what it names, in milliseconds since 1970; 0 for what is no time, or one before 1970."""
    written = text[:_LONGEST].decode("ascii", "replace").strip()
    if month := _MONTH.fullmatch(written):
        written += "-01" if month[1] else "-01-01"
    try:
        at = datetime.fromisoformat(written)
        return max(0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND)
    except (ValueError, OverflowError):
        return 0
