"""Running all roles until there is nothing left to do, or somebody says stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor.child import Child, Role

_LOOK_EVERY: Final = 0.2
_PATIENCE: Final = 30.0
"""Seconds that a role may take to finish what it holds."""


class Supervisor:
    """Starts roles in their order and stops them in it: who takes work first, who finishes it last."""

    def __init__(self, roles: Sequence[Role], logs: Path, say: Callable[[str], None]) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._pipe = SupervisorPipe()
        self.children = [Child(role, logs, self._pipe) for role in roles]
        self._say = say
        self._stop, self._at_once = threading.Event(), threading.Event()

    def run(self, is_over: Callable[[], str], shown: Callable[[], None]) -> str:
        """Until `is_over` says why, or a signal comes; `shown` is called now and then. Returns why it ended."""
        reason = ""
        previous = {number: signal.signal(number, self._interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for child in self.children:
                child.start()
            while not reason and not self._stop.is_set():
                self._stop.wait(_LOOK_EVERY)
                for child in self.children:
                    if sentence := child.look_after():
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
        for child in self.children:
            child.ask_to_stop()
            end = time.monotonic() + _PATIENCE
            while not self._at_once.is_set() and time.monotonic() < end and not child.wait(_LOOK_EVERY):
                shown()
        for child in self.children:
            child.kill()
            child.wait(5)
