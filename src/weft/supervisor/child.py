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
from weft.roles.supervisor_pipe import SupervisorPipe

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0
_STEADY: Final = 60.0
"""Seconds after which a process counts as running well, and its next death is its first again."""


_REFUSED: Final = 2
"""The exit code of bad usage and bad input."""
_FROM_OUTSIDE: Final = (-signal.SIGKILL, -signal.SIGTERM)
_COMPLAINT: Final = "weft: "
"""How a sentence about what is wrong begins; a role that is ready says something else first."""


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    arguments: tuple[str, ...]
    """What follows `weft`."""


class RoleRefused(WeftError):  # noqa: N818 - an answer of the role
    """A role does not run with these settings, or here."""


class Child:
    """The process of a role."""

    def __init__(self, role: Role, logs: Path, pipe: SupervisorPipe) -> None:
        self.role = role
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
        log = {"WEFT_LOG": str(self._logs / f"{self.role.name}.log")}
        with (self._logs / f"{self.role.name}.err").open("wb") as stray:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", "weft", *self.role.arguments],
                stdin=subprocess.DEVNULL,
                stdout=stray,
                stderr=stray,
                env={**os.environ, **log, **self._pipe.environment},
                pass_fds=[self._pipe.reading],
                # Ctrl-C is ours to pass on, in order.
                start_new_session=True,
            )
        self._started = time.monotonic()

    def look_after(self) -> str:
        """Start it again if it died and has waited long enough; a sentence about a death that was just found.

        Raises RoleRefused if it never ran and says that it cannot: another start would say the same. One that ran may
        find a full disk or a control plane that is away, and those come back.
        """
        if self.is_running:
            return ""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.returncode
            said = self._output()
            self._has_run = self._has_run or bool(said and not said[0].startswith(_COMPLAINT))
            if code == _REFUSED and not self._has_run:
                raise RoleRefused(f"{self.role.name} cannot run{_last_words(said)}")
            self._wait = self._next_wait(code, now - self._started)
            self._again_at, self._process = now + self._wait, None
            words = _last_words(said)
            return f"{self.role.name} ended ({_ending(code)}), restarting in {self._wait:.0f} s{words}"
        if now >= self._again_at:
            self.restarts += 1
            self.start()
        return ""

    def _next_wait(self, code: int, lived: float) -> float:
        """Longer after each death that may be its own fault; who was killed from outside did nothing wrong."""
        if lived > _STEADY or code in _FROM_OUTSIDE:
            return _FIRST_WAIT
        return min(self._wait * 2, _LONGEST_WAIT)

    def _output(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self._logs / f"{self.role.name}.err").read_text(errors="replace").strip().splitlines()
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


def _last_words(said: list[str]) -> str:
    """Its complaint; what a role says when it is ready is none."""
    is_complaint = len(said) > 1 or (said and said[0].startswith(_COMPLAINT))
    return f": {said[-1].removeprefix(_COMPLAINT)}" if is_complaint else ""
