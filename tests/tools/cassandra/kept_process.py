"""A Java process below a keeper, known by a file with its pid: another program can stop it later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tools.cassandra.processes import is_running

_TESTS = Path(__file__).parents[2]
_PATIENCE = 30.0


class KeptProcess:
    """In `place`: its pid and its output. `place` must be in its command line, which tells it from others."""

    def __init__(self, place: Path) -> None:
        self.output = place / "output"
        self._place = place
        self._pid_file = place / "pid"
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the last one that was started; 0 if there was none."""
        return self._pids()[0]

    @property
    def is_running(self) -> bool:
        return self._lives(self.pid)

    def start(self, command: list[str], owner: int, remove: Path | None) -> None:
        """It ends when `owner`, a pid, ended (0: nobody), and then `remove` is removed."""
        self._pid_file.unlink(missing_ok=True)
        keeper = [sys.executable, "-m", "tools.cassandra.keeper", str(owner), str(self._pid_file)]
        environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
        with self.output.open("ab") as output:
            self._keeper = subprocess.Popen(
                [*keeper, str(remove or ""), *command],
                cwd=self._place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the program that started it
            )
        until = time.monotonic() + _PATIENCE
        while not self.pid and self._keeper.poll() is None and time.monotonic() < until:
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self, number: signal.Signals, patience: float) -> None:
        """Send the signal and wait; kill what is still there after `patience` seconds."""
        self.send(signal.SIGCONT)
        self.send(number)
        if not self._ends_within(patience):
            self.send(signal.SIGKILL)
            self._ends_within(_PATIENCE)
        if self._keeper is not None:
            self._keeper.wait(_PATIENCE)

    def _ends_within(self, patience: float) -> bool:
        """The process and its keeper."""
        until = time.monotonic() + patience
        while any(map(self._lives, self._pids())):
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def _lives(self, pid: int) -> bool:
        return pid != 0 and is_running(pid, str(self._place))

    def _pids(self) -> tuple[int, int]:
        try:
            process, keeper = map(int, self._pid_file.read_text().split())
        except (OSError, ValueError):
            return 0, 0
        return process, keeper
