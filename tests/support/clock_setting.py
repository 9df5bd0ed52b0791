"""A wall clock that a test sets, for the processes that it starts. All other clocks stay as they are.

libfaketime can do the same, but makes time.sleep fail on some machines.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from support import set_clock


@dataclass(frozen=True)
class ClockFile:
    """Processes that run with its `environment`, and their children, see the time that it says."""

    path: Path

    def set(self, seconds_ahead: float) -> None:
        aside = self.path.with_suffix(".new")
        aside.write_text(str(seconds_ahead))
        aside.replace(self.path)

    @property
    def environment(self) -> dict[str, str]:
        places = [str(Path(next(iter(set_clock.__path__)))), os.environ.get("PYTHONPATH", "")]
        return {"CLOCK_FILE": str(self.path), "PYTHONPATH": os.pathsep.join(places)}
