"""Time, from outside: the system's, or one that a test moves by hand."""

from __future__ import annotations

import time
from typing import Final, Protocol

_NEVER_SET: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += round(seconds * 1000)


class MonotonicClock:
    """Milliseconds since some moment before this process began: nobody sets it, and it runs while the machine sleeps.

    Politeness and leases are measured by it.
    """

    def now(self) -> int:
        return time.clock_gettime_ns(_NEVER_SET) // 1_000_000
