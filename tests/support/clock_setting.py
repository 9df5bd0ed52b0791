"""Clocks that a test sets, for the processes that it starts. Timers of event loops and of libcurl stay as they are.

libfaketime can do the same, but makes time.sleep fail on some machines.
"""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

from support import set_clock
from support.set_clock.sitecustomize import TIMES


@dataclass(frozen=True)
class ClockFile:
    """Processes that run with its `environment`, and their children, see the time that it says."""

    path: Path

    def set(self, seconds_ahead: float) -> None:
        """The wall clock, as somebody may do who runs the machine."""
        self._write(0, seconds_ahead)

    def pass_time(self, seconds: float) -> None:
        """All clocks, as if the machine had slept."""
        self._write(1, self._read(1) + seconds)

    def now(self) -> float:
        """Seconds since 1970, by the wall clock if nobody had set it."""
        return time.time() + self._read(1)

    def wall(self) -> float:
        """The same by the clock as it is set."""
        return self.now() + self._read(0)

    def since_boot(self) -> float:
        """What weft's clock that nobody sets says, in seconds."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) + self._read(1)

    def _read(self, number: int) -> float:
        return TIMES.unpack(self.path.read_bytes())[number] / 1e9 if self.path.exists() else 0.0

    def _write(self, number: int, seconds: float) -> None:
        if not self.path.exists():
            self.path.write_bytes(bytes(TIMES.size))
        with (
            self.path.open("r+b") as file,
            mmap.mmap(file.fileno(), TIMES.size) as times,
            memoryview(times).cast("q") as numbers,
        ):
            numbers[number] = round(seconds * 1e9)

    @property
    def environment(self) -> dict[str, str]:
        places = [str(Path(next(iter(set_clock.__path__)))), os.environ.get("PYTHONPATH", "")]
        return {"CLOCK_FILE": str(self.path), "PYTHONPATH": os.pathsep.join(places)}
