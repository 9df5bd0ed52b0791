"""Sets the wall clock of one process: Python imports this module at its start if its directory is on the path.

The file that CLOCK_FILE names holds how many seconds the clock is ahead; a test may rewrite it at any time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

_LOOK_EVERY = 0.05


class SetClock:
    """How far ahead the clock is, in nanoseconds; the file is read now and then, as every look costs time."""

    def __init__(self, file: Path) -> None:
        self._file, self._ahead, self._look_at = file, 0, 0.0

    def ahead(self) -> int:
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY
            self._ahead = round(float(self._file.read_text() or 0) * 1e9)
        return self._ahead


def _set(clock: SetClock, now: Callable[[], int]) -> None:
    time.time_ns = lambda: now() + clock.ahead()
    time.time = lambda: time.time_ns() / 1e9


if _file := os.environ.get("CLOCK_FILE"):
    _set(SetClock(Path(_file)), time.time_ns)
