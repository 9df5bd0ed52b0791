"""One role as a process: started, found dead, started again after a while, asked to stop, made to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from weft.errors import WeftError

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0
_STEADY: Final = 60.0
"""Seconds after which a process counts as running well, and its next death is its first again."""


_REFUSED: Final = 2
"""The exit code of bad usage and bad input."""


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    arguments: tuple[str, ...]
    """What follows `weft`."""


class RoleRefused(WeftError):  # noqa: N818 - an answer of the role
    """A role does not run with these settings, or here."""


class Child:
    """The process of a role."""

    def __init__(self, role: Role, logs: Path) -> None:
        self.role = role
        self._logs = logs
        self._process: subprocess.Popen[bytes] | None = None
        self._wait, self._started, self._again_at = _FIRST_WAIT, 0.0, 0.0
        self.restarts = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        environment = {**os.environ, "WEFT_LOG": str(self._logs / f"{self.role.name}.log")}
        with (self._logs / f"{self.role.name}.err").open("wb") as stray:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", "weft", *self.role.arguments],
                stdin=subprocess.DEVNULL,
                stdout=stray,
                stderr=stray,
                env=environment,
                # Ctrl-C is ours to pass on, in order.
                start_new_session=True,
            )
        self._started = time.monotonic()

    def look_after(self) -> str:
        """Start it again if it died and has waited long enough; a sentence about a death that was just found.

        Raises RoleRefused if it says that it cannot run at all: another start would say the same.
        """
        if self.is_running:
            return ""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.returncode
            if code == _REFUSED:
                raise RoleRefused(f"{self.role.name} cannot run{self._last_words()}")
            self._wait = _FIRST_WAIT if now - self._started > _STEADY else min(self._wait * 2, _LONGEST_WAIT)
            self._again_at, self._process = now + self._wait, None
            return (
                f"{self.role.name} ended ({_ending(code)}), starting it again in {self._wait:.0f} s{self._last_words()}"
            )
        if now >= self._again_at:
            self.restarts += 1
            self.start()
        return ""

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self._logs / f"{self.role.name}.err").read_text(errors="replace").strip().splitlines()
            return f": {lines[-1].removeprefix('weft: ')}" if lines else ""
        return ""

    def ask_to_stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
