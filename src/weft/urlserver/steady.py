"""A clock that nobody sets and that goes on while the machine sleeps: what politeness and leases are measured by."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """Milliseconds since some moment before this process began."""

    def now(self) -> int:
        return time.clock_gettime_ns(_CLOCK) // 1_000_000
