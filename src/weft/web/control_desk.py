"""The control plane, for many who look and few who change something."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from weft.answers.status import Status, status
from weft.config import Settings
from weft.errors import MgmtError
from weft.mgmt.api import Mgmt, OperatorCalls
from weft.web.recent_figures import RecentFigures, figures_of

_STATUS_SECONDS: Final = 1.0
"""However many people look, the figures are read once in this time."""

Answer = TypeVar("Answer")


class ControlDesk:
    """One connection to read with, kept open; one for each change.

    `identity` tells one control plane from the next: a file may appear, or be replaced by a copy.
    """

    def __init__(
        self,
        open_to_read: Callable[[], Mgmt],
        open_to_write: Callable[[], Mgmt],
        identity: Callable[[], object],
        home: Path,
        settings: Settings,
    ) -> None:
        self._open_to_read, self._open_to_write, self._identity = open_to_read, open_to_write, identity
        self._home, self._settings = home, settings
        self._reading: Mgmt | None = None
        self._read_identity: object = None
        self._lock, self._status_lock = Lock(), Lock()
        self._status: tuple[float, Status] | None = None
        self.recent = RecentFigures()

    def read(self, question: Callable[[OperatorCalls], Answer]) -> Answer:
        """Ask now. A connection that fails is made anew with the next question."""
        with self._lock:
            if (identity := self._identity()) != self._read_identity:
                self._close_reading()
            if self._reading is None:
                self._reading, self._read_identity = self._open_to_read(), identity
            try:
                return question(self._reading)
            except MgmtError:
                self._close_reading()
                raise

    def change(self, action: Callable[[Mgmt], Answer]) -> Answer:
        with closing(self._open_to_write()) as mgmt:
            answer = action(mgmt)
        with self._status_lock:
            self._status = None
        return answer

    def status(self) -> Status:
        """As of a second ago at most."""
        with self._status_lock:
            if self._status is None or time.monotonic() - self._status[0] > _STATUS_SECONDS:
                found = self.read(lambda mgmt: status(mgmt, self._home, self._settings))
                self._status = time.monotonic(), found
                self.recent.add(figures_of(found, self._home))
            return self._status[1]

    def close(self) -> None:
        with self._lock:
            self._close_reading()

    def _close_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None
