"""Looks after a SQLite control plane, in the background: checked after an unclean stop, copied every day."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Final, Self

from weft.clock import Clock, SystemClock
from weft.errors import MgmtError
from weft.home import Home
from weft.mgmt.sqlite_copies import copies_of, damage_of, database_of, make_copy
from weft.roles.status_file import last_status, write_status

log = logging.getLogger(__name__)

STATUS: Final = "mgmt"
_COPY_AGE: Final = 86_400.0
_LOOK_EVERY: Final = 600.0
_STOP_SECONDS: Final = 5.0
WAY_OUT: Final = "stop weft and run `weft restore`, which puts back the newest copy"


class MgmtUpkeep:
    """One process of a home, the index process, enters it; nobody waits for its thread."""

    def __init__(self, home: Home, least_free: int, clock: Clock | None = None) -> None:
        self._home, self._least_free, self._clock = home, least_free, clock or SystemClock()
        self._stop = Event()
        self._thread = Thread(target=self._work, name="weft-upkeep", daemon=True)
        self._damage = ""
        self._complaint = ""

    def __enter__(self) -> Self:
        before = last_status(self._home.path, STATUS) or {}
        self._was_unclean = not before.get("ended")
        self._damage = str(before.get("damage") or "")
        self._tell()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(_STOP_SECONDS)
        # Only an orderly end is one: after anything else the next process looks for damage.
        self._tell(ended=error is None)

    def _work(self) -> None:
        if self._was_unclean or self._damage:
            self.check()
        while not self._stop.is_set():
            if self.is_copy_due:
                self.copy()
            self._stop.wait(_LOOK_EVERY)

    def check(self) -> None:
        """Look for damage; what is found is logged and told."""
        self._damage = damage_of(database_of(self._home), self._stop.is_set)
        self._tell()
        if self._damage:
            log.error("control plane %s is damaged (%s); %s", database_of(self._home), self._damage, WAY_OUT)

    @property
    def is_copy_due(self) -> bool:
        """Not while there is damage. A copy from the future was made before the clock was set back: it is old."""
        copied = self._copied()
        return not self._damage and (copied is None or not 0 <= self._clock.now() / 1000 - copied < _COPY_AGE)

    def copy(self) -> None:
        try:
            if self._has_room() and make_copy(self._home, self._stop.is_set):
                self._complaint = ""
                self._tell()
        except MgmtError as error:
            self._complain(str(error))

    def _has_room(self) -> bool:
        size, free = _size(database_of(self._home)), shutil.disk_usage(self._home.path).free
        if free - size < self._least_free:
            self._complain(f"the disk is too full for a copy of the control plane: {size:,} bytes, {free:,} are free")
        return free - size >= self._least_free

    def _complain(self, complaint: str) -> None:
        """Once, however often it is tried."""
        if complaint != self._complaint:
            log.warning("%s", complaint)
        self._complaint = complaint

    def _copied(self) -> float | None:
        newest = copies_of(self._home)[0]
        return newest.stat().st_mtime if newest.exists() else None

    def _tell(self, **more: Any) -> None:
        write_status(self._home.path, STATUS, {"copied": self._copied(), "damage": self._damage, **more})


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
