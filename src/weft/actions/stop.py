"""Stopping the weft that uses a home."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import HomeError
from weft.home import Home
from weft.process_lock import LockHolder, holder_of

STOP_SECONDS: Final = 60.0
_KILL_AFTER: Final = 10.0
"""Seconds that a weft may take to stop at once, before it is killed."""
_LOOK_EVERY: Final = 0.1
_REPEAT_EVERY: Final = 1.0


class StopAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Who was asked to stop; `found` is false if nobody uses the home."""

    found: bool = False
    stopped: bool = False
    pid: int = 0
    command: str = ""
    ran: float = 0.0
    """Seconds from its start to the request."""
    took: float = 0.0
    """Seconds from the request to the end of its last process, or how long that was waited for."""
    killed: bool = False


def stop_weft(home: Home, patience: float = STOP_SECONDS, *, at_once: bool = False) -> StopAnswer:
    """Have whoever crawls or writes in this home finish its work and end; returns when it has, or after `patience`.

    With `at_once` it drops its work instead, and is killed if it does not. That is safe, too: fetches that were
    running are repeated. Raises HomeError if it is not ours to stop.
    """
    found = _user_of(home)
    if found is None:
        return StopAnswer()
    lock, holder = found
    began, ran = time.monotonic(), time.time() - holder.since
    stopping = _Stopping(lock, holder, began + patience)
    is_killed = stopping.at_once() if at_once else stopping.in_order()
    return StopAnswer(
        found=True,
        stopped=stopping.is_gone(),
        pid=holder.pid,
        command=holder.command,
        ran=round(max(0.0, ran), 1),
        took=round(time.monotonic() - began, 1),
        killed=is_killed,
    )


def ask_to_stop(home: Home) -> LockHolder | None:
    """Ask whoever crawls or writes in this home to finish its work and end, without waiting; None: nobody does.

    Raises HomeError if it is not ours to stop.
    """
    found = _user_of(home)
    if found is None:
        return None
    lock, holder = found
    _Stopping(lock, holder, 0.0).ask()
    return holder


def _user_of(home: Home) -> tuple[Path, LockHolder] | None:
    """A crawl comes first: it also starts the process that writes the store."""
    for lock in (home.crawl_lock, home.store_lock):
        try:
            holder = holder_of(lock)
        except OSError as error:
            raise HomeError(f"{lock} cannot be read: {error.strerror}") from error
        if holder is not None:
            return lock, holder
    return None


class _Stopping:
    def __init__(self, lock: Path, holder: LockHolder, end: float) -> None:
        self._lock, self._holder, self._end = lock, holder, end

    def is_gone(self) -> bool:
        """Whether it and its roles have ended; somebody else may use the home by now."""
        now = holder_of(self._lock)
        if now is None:
            return True
        return bool(now.pid) and (now.pid, now.born) != (self._holder.pid, self._holder.born)

    def ask(self) -> None:
        # One that is stopping already would take a second request for haste.
        if not self._holder.is_stopping:
            self._send(signal.SIGTERM)

    def in_order(self) -> bool:
        self.ask()
        self._wait(self.is_gone, self._end)
        return False

    def at_once(self) -> bool:
        """Returns whether it had to be killed."""
        kill_at = min(self._end, time.monotonic() + _KILL_AFTER)
        while time.monotonic() < kill_at and not self.is_gone():
            # The second one means haste; two that come together count as one, so they are repeated.
            self._send(signal.SIGTERM)
            self._wait(self.is_gone, min(kill_at, time.monotonic() + _REPEAT_EVERY))
        if self.is_gone():
            return False
        is_killed = self._send(signal.SIGKILL)
        self._wait(self.is_gone, self._end)  # its roles end by themselves
        return is_killed

    def _send(self, number: signal.Signals) -> bool:
        """Only to the process that took the lock, not to another one that has its number by now."""
        if not self._holder.is_alive:
            return False
        try:
            os.kill(self._holder.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            raise HomeError(f"{self._holder} belongs to another user of this machine, who must stop it") from None
        return True

    def _wait(self, condition: Callable[[], bool], end: float) -> None:
        while not condition() and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)
