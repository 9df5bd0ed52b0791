"""Runs all roles of one machine until the work is done or somebody stops them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor.role_process import RoleCommand, RoleProcess

_LOOK_EVERY: Final = 0.2
_PATIENCE: Final = 30.0
"""Seconds that a role may take to finish what it holds."""


class Supervisor:
    """Starts roles in the given order and stops them in it: first the one that takes work."""

    def __init__(self, commands: Sequence[RoleCommand], logs: Path, say: Callable[[str], None]) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._pipe = SupervisorPipe()
        self.processes = [RoleProcess(command, logs, self._pipe) for command in commands]
        self._say = say
        self._stop, self._at_once = threading.Event(), threading.Event()

    def run(self, is_over: Callable[[], str], shown: Callable[[], None]) -> str:
        """Until `is_over` gives a reason, or a signal comes; `shown` is called now and then. Returns why it ended."""
        reason = ""
        previous = {number: signal.signal(number, self._interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for process in self.processes:
                process.start()
            while not reason and not self._stop.is_set():
                self._stop.wait(_LOOK_EVERY)
                for process in self.processes:
                    if sentence := process.look_after():
                        self._say(sentence)
                shown()
                reason = is_over()
        finally:
            self._stop_all(shown)
            self._pipe.close()
            for number, handler in previous.items():
                signal.signal(number, handler)
        return reason or "interrupted"

    def stop(self) -> None:
        self._stop.set()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self._stop.is_set():
            self._at_once.set()
        else:
            self._say("stopping after the running fetches; press Ctrl-C again to stop at once")
        self._stop.set()

    def _stop_all(self, shown: Callable[[], None]) -> None:
        for process in self.processes:
            process.ask_to_stop()
            end = time.monotonic() + _PATIENCE
            while not self._at_once.is_set() and time.monotonic() < end and not process.wait(_LOOK_EVERY):
                shown()
        for process in self.processes:
            process.kill()
            process.wait(5)
