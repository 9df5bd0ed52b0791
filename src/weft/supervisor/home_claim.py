"""One crawl at a time in a home: whoever comes next is told who is there, and waits for one that is ending."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from weft.errors import HomeError, why_unwritable
from weft.home import Home
from weft.process_lock import LockHeld, LockHolder, ProcessLock

ENDING_SECONDS: Final = 45.0
"""How long roles may need to end: in order, at once, by force, on a busy machine."""
_LOOK_EVERY: Final = 0.1


class HomeInUse(HomeError):  # noqa: N818
    """A crawl is running in this home, and only one may."""


def claim_home(home: Home, say: Callable[[str], None], patience: float = ENDING_SECONDS) -> ProcessLock:
    """Take the home for one crawl; raises HomeInUse.

    The lock is inherited by the roles, so nobody gets it while a role of an earlier crawl is still running.
    """
    end, is_told = time.monotonic() + patience, False
    while True:
        try:
            return ProcessLock.take(home.crawl_lock)
        except LockHeld as held:
            holder = held.holder
        except OSError as error:
            raise HomeError(f"{home.path}: the home cannot be written: {why_unwritable(error)}") from error
        if time.monotonic() >= end or (holder.is_alive and not holder.is_stopping):
            raise HomeInUse(_refusal(home.path, holder))
        if not is_told:
            is_told = True
            say(f"waiting for an earlier weft (pid {holder.pid}) to end")
        time.sleep(_LOOK_EVERY)


def _refusal(path: Path, holder: LockHolder) -> str:
    if holder.pid and not holder.is_alive:
        return f"{path}: processes of an earlier weft (pid {holder.pid}) are still running; see `weft stop`"
    return f"{path}: {holder} is using this home; stop it with `weft stop`"
