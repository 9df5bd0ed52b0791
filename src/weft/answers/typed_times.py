"""A moment as a person types it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from weft.errors import UsageError

_UNITS: Final = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def milliseconds_of(text: str, name: str) -> int:
    """A date or time (UTC unless it names an offset), or an age such as 36h; `name` is what the sentence calls it."""
    try:
        moment = _moment(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(f"{name} {text}: not a time; expected one such as 2026-01-31, 36h or 7d") from None


def _moment(text: str) -> datetime:
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        return datetime.now(UTC) - timedelta(seconds=int(text[:-1]) * _UNITS[text[-1]])
    return datetime.fromisoformat(text)
