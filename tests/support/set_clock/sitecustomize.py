"""Sets the clocks of one process: Python imports this module at its start if its directory is on the path.

The file that CLOCK_FILE names holds two numbers of nanoseconds: how far the wall clock was set ahead, and how much time
has passed beyond what really did, by all clocks. A test may change them at any time, and every process sees it at once.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import Final

TIMES: Final = struct.Struct("=qq")
_LONG_WAIT: Final = 60.0
"""Seconds. Threads that wait for so long wait by the clock that is moved; shorter waits take their time."""
_LOOK_EVERY: Final = 0.5


def _set(file: Path) -> None:
    with file.open("rb") as opened:
        times = mmap.mmap(opened.fileno(), TIMES.size, access=mmap.ACCESS_READ)
    # One look is one aligned read of each number: nobody sees half of a change.
    numbers = memoryview(times).cast("q")
    wall, monotonic, gettime = time.time_ns, time.monotonic_ns, time.clock_gettime_ns

    def passed(number: int) -> int:
        return gettime(number) + (numbers[0] if number == time.CLOCK_REALTIME else 0) + numbers[1]

    time.time_ns = lambda: wall() + numbers[0] + numbers[1]
    time.time = lambda: time.time_ns() / 1e9
    time.monotonic_ns = lambda: monotonic() + numbers[1]
    time.monotonic = lambda: time.monotonic_ns() / 1e9
    time.clock_gettime_ns = passed
    time.clock_gettime = lambda number: passed(number) / 1e9
    _follow_in_long_waits()


def _follow_in_long_waits() -> None:
    wait = threading.Event.wait

    def follow(event: threading.Event, timeout: float | None = None) -> bool:
        if timeout is None or timeout < _LONG_WAIT:
            return wait(event, timeout)
        end = time.monotonic() + timeout
        while not event.is_set() and (left := end - time.monotonic()) > 0:
            wait(event, min(left, _LOOK_EVERY))
        return event.is_set()

    threading.Event.wait = follow  # type: ignore[assignment,method-assign]


if _file := os.environ.get("CLOCK_FILE"):
    _set(Path(_file))
