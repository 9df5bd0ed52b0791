"""The process of one role: started, restarted after it died, asked to stop, killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from weft.errors import WeftError
from weft.roles.supervisor_pipe import SupervisorPipe

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0
_STEADY: Final = 60.0
"""Seconds after which a process counts as running well: if it dies later, the waiting begins with the first wait."""

_REFUSED: Final = 2
"""The exit code of bad usage and bad input."""
_FROM_OUTSIDE: Final = (-signal.SIGKILL, -signal.SIGTERM)
_COMPLAINT: Final = "weft: "
"""How an error message begins; a role that is ready prints something else first."""


@dataclass(frozen=True, slots=True)
class RoleCommand:
    name: str
    """Of its log files."""
    arguments: tuple[str, ...]
    """What follows `weft` on the command line, where everybody can read it."""
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By environment variable; they may hold secrets."""


class RoleRefused(WeftError):  # noqa: N818 - an answer of the role
    """A role cannot run with these settings, or on this machine."""


class RoleProcess:
    def __init__(self, command: RoleCommand, logs: Path, pipe: SupervisorPipe) -> None:
        self.command = command
        self._logs, self._pipe = logs, pipe
        self._process: subprocess.Popen[bytes] | None = None
        self._wait, self._started, self._again_at = _FIRST_WAIT, 0.0, 0.0
        self.restarts = 0
        self._has_run = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        log = {"WEFT_LOG": str(self._logs / f"{self.command.name}.log")}
        with (self._logs / f"{self.command.name}.err").open("wb") as stray:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", "weft", *self.command.arguments],
                stdin=subprocess.DEVNULL,
                stdout=stray,
                stderr=stray,
                env={**os.environ, **self.command.settings, **log, **self._pipe.environment},
                pass_fds=self._pipe.descriptors,
                # Ctrl-C is ours to pass on, in order.
                start_new_session=True,
            )
        self._started = time.monotonic()

    def look_after(self) -> str:
        """Restart it if it died and has waited long enough; returns a sentence when it is found dead, else "".

        Raises RoleRefused if it never ran and reports that it cannot: a restart would fail in the same way. One that
        ran before may have met a full disk or an unavailable control plane, and those come back.
        """
        if self.is_running:
            return ""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.returncode
            printed = self._output()
            self._has_run = self._has_run or bool(printed and not printed[0].startswith(_COMPLAINT))
            if code == _REFUSED and not self._has_run:
                raise RoleRefused(f"{self.command.name} cannot run{_complaint(printed)}")
            self._wait = self._next_wait(code, now - self._started)
            self._again_at, self._process = now + self._wait, None
            reason = _complaint(printed)
            return f"{self.command.name} ended ({_ending(code)}), restarting in {self._wait:.0f} s{reason}"
        if now >= self._again_at:
            self.restarts += 1
            self.start()
        return ""

    def _next_wait(self, code: int, lived: float) -> float:
        """Longer after each death that may be its own fault; one that was killed from outside did no wrong."""
        if lived > _STEADY or code in _FROM_OUTSIDE:
            return _FIRST_WAIT
        return min(self._wait * 2, _LONGEST_WAIT)

    def _output(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self._logs / f"{self.command.name}.err").read_text(errors="replace").strip().splitlines()
        return []

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


def _complaint(printed: list[str]) -> str:
    """Its error message; the line that a role prints when it is ready is none."""
    is_complaint = len(printed) > 1 or (printed and printed[0].startswith(_COMPLAINT))
    return f": {printed[-1].removeprefix(_COMPLAINT)}" if is_complaint else ""
