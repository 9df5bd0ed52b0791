"""Runs all roles of one machine until the work is done or somebody stops them."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from weft.process_lock import ProcessLock
from weft.roles.supervisor_pipe import SupervisorPipe
from weft.supervisor.role_process import RoleCommand, RoleProcess

_LOOK_EVERY: Final = 0.2
_PATIENCE: Final = 40.0
"""Seconds that all roles together may take to finish what they hold: a limit that a person set is near or past."""
_PATIENCE_IF_STUCK: Final = 8.0
"""The same where nothing that they hold can be finished, because the disk is full."""
_PATIENCE_BETWEEN: Final = 15.0
"""Seconds that a role may take between two signs of progress, after all the others have ended."""
HANGUP_SECONDS: Final = 10.0
"""Seconds that all roles together may take after the terminal was closed."""
_STOPPING: Final = {
    signal.SIGINT: "stopping after the running fetches; press Ctrl-C again to stop at once",
    signal.SIGTERM: "stopping after the running fetches; a second SIGTERM stops at once",
    signal.SIGHUP: "the terminal was closed, stopping",
}


class Supervisor:
    """Starts roles in the given order and stops them in it: first the one that takes work."""

    def __init__(
        self,
        commands: Sequence[RoleCommand],
        logs: Path,
        say: Callable[[str], None],
        lock: ProcessLock,
        is_stuck: Callable[[], bool] = lambda: False,
        progress: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        """`lock` is the home's; the roles hold it too, until the last of them has ended.

        `is_stuck` tells whether nothing that they hold can be finished. `progress` gives, for roles that may have much
        to finish, something that changes while they get on: for so long they are waited for.
        """
        logs.mkdir(parents=True, exist_ok=True)
        self._pipe, self._lock = SupervisorPipe(lock.descriptor), lock
        self.processes = [RoleProcess(command, logs, self._pipe) for command in commands]
        self._say, self._is_stuck, self._progress = say, is_stuck, progress or {}
        self._stop, self._at_once = threading.Event(), threading.Event()
        self._signal: signal.Signals | None = None
        self._kill_at = math.inf
        self._waited_for: RoleProcess | None = None

    def run(self, is_over: Callable[[], str], shown: Callable[[], None]) -> str:
        """Until `is_over` gives a reason, or a signal comes; `shown` is called now and then. Returns why it ended."""
        reason = ""
        previous = {number: signal.signal(number, self._interrupted) for number in _signals()}
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
        """Only takes note: it may have interrupted a print, and another one would fail."""
        if number == signal.SIGHUP:
            self._kill_at = min(self._kill_at, time.monotonic() + HANGUP_SECONDS)
        elif self._stop.is_set():
            self._at_once.set()
        self._signal = self._signal or signal.Signals(number)
        self._stop.set()

    def _stop_all(self, shown: Callable[[], None]) -> None:
        """Whatever fails while it is shown, the roles are stopped: the terminal may be gone."""
        self._lock.tell_stopping()
        if self._signal is not None:
            with suppress(OSError):
                self._say(_STOPPING[self._signal])
        shown = _until_it_fails(shown)
        usual = _Patience(time.monotonic(), self._is_stuck)
        for process in self.processes:
            process.ask_to_stop()
            self._wait_for(process, usual, shown)
        for process in self.processes:
            process.kill()
            process.wait(5)

    def _wait_for(self, process: RoleProcess, usual: _Patience, shown: Callable[[], None]) -> None:
        progress = _Progress(self._progress.get(process.command.name))
        while not process.wait(0):
            if self._is_over_at(min(usual.end, self._kill_at)):
                if self._is_over_at(min(progress.end, self._kill_at)) or self._is_stuck():
                    return
                self._tell_of_waiting(process)
            process.wait(_LOOK_EVERY)
            shown()

    def _tell_of_waiting(self, process: RoleProcess) -> None:
        """Once: from now on a single signal stops everything."""
        if process is not self._waited_for:
            self._waited_for = process
            self._stop.set()
            with suppress(OSError):
                self._say(f"waiting for {process.command.name}, which still has work; Ctrl-C or SIGTERM stops at once")

    def _is_over_at(self, end: float) -> bool:
        return self._at_once.is_set() or time.monotonic() >= end


class _Patience:
    """How long all roles together may take."""

    def __init__(self, began: float, is_stuck: Callable[[], bool]) -> None:
        self._began, self._is_stuck = began, is_stuck

    @property
    def end(self) -> float:
        return self._began + (_PATIENCE_IF_STUCK if self._is_stuck() else _PATIENCE)


class _Progress:
    """How long a role may take that tells how it gets on."""

    def __init__(self, look: Callable[[], object] | None) -> None:
        self._look = look
        self._seen = look() if look else None
        self._since = time.monotonic()

    @property
    def end(self) -> float:
        if self._look is None:
            return 0.0
        if (seen := self._look()) != self._seen:
            self._seen, self._since = seen, time.monotonic()
        return self._since + _PATIENCE_BETWEEN


def _until_it_fails(shown: Callable[[], None]) -> Callable[[], None]:
    failed = threading.Event()

    def show() -> None:
        try:
            if not failed.is_set():
                shown()
        except Exception:
            failed.set()

    return show


def _signals() -> list[signal.Signals]:
    """Those that stop a crawl; a SIGHUP that was ignored from the start (nohup) stays ignored."""
    hears_hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hears_hangup else [])]
