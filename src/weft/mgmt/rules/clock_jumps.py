"""A wall clock that is set back: how it is noticed, and what becomes of waits that were set before.

A wait is stored with the moment it was set at. When the clock goes back behind that moment, the wait is cut to its own
length, counted from now: a host that had to rest for a minute rests for a minute, not for the day that the clock lost.
"""

from __future__ import annotations

from typing import Final

from weft.mgmt.values import ClockJump

NOTE_EVERY: Final = 1_000
"""Milliseconds between two notes of the newest moment: what is set between them may be that much newer."""
LEAST_JUMP: Final = 5_000
"""Smaller steps back, as time servers make them, lengthen a wait by no more than this and are left alone."""
_LEAST_TOLD: Final = 60_000
_TOLD_FOR: Final = 24 * 3_600_000


def has_gone_back(newest: int, now: int) -> bool:
    """Whether the clock was set back since the newest moment that was noted."""
    return newest - now > LEAST_JUMP


def is_to_be_noted(newest: int, now: int) -> bool:
    return now - newest >= NOTE_EVERY


def told_jump(newest: int, last: ClockJump, now: int) -> ClockJump | None:
    """What people should know: a jump that nobody has dealt with yet, or the last one, for a day."""
    if newest - now > _LEAST_TOLD:
        return ClockJump(by=newest - now)
    is_recent = last.at is not None and 0 <= now - last.at < _TOLD_FOR
    return last if is_recent and last.by > _LEAST_TOLD else None
