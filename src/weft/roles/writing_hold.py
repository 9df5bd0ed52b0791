"""A view of the store that holds still: embedded stores give one; of a cluster, writing is held meanwhile."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import Final, Self

from weft.clock import MonotonicClock
from weft.config import Settings
from weft.errors import MgmtError, StoreError
from weft.home import Home
from weft.mgmt.api import HolderCalls
from weft.mgmt.open import open_mgmt
from weft.mgmt.values import TakenBucket
from weft.store.api import Reader
from weft.store.open import is_cluster, open_cluster, open_reader

log = logging.getLogger(__name__)

SECONDS: Final = 30.0
"""A hold whose holder is gone ends after so long."""


@contextmanager
def still_reader(settings: Settings, home: Home, holder: str, say: Callable[[str], None]) -> Iterator[Reader]:
    """The store as it is now, for as long as this lasts. Raises StoreError at the end if it did not hold still.

    `holder` names this process to those who wait; `say` is told that they wait.
    """
    if not is_cluster(settings):
        with open_reader(home.store, settings) as reader:
            yield reader
        return
    with (
        open_cluster(settings) as cluster,
        closing(open_mgmt(settings, home)) as mgmt,
        WritingHold(mgmt, holder) as hold,
    ):
        say("writing to the index is held until this is done")
        cluster.complete(hold.last, hold.check)
        yield cluster
        hold.check()


class WritingHold:
    """From entering to leaving no batch is registered; a thread extends it."""

    def __init__(self, mgmt: HolderCalls, holder: str, seconds: float = SECONDS) -> None:
        self._mgmt, self._id, self._holder, self._seconds = mgmt, uuid.uuid4().hex, holder, seconds
        self._clock, self._stop = MonotonicClock(), Event()
        self._ends = 0
        """By our own clock, on the safe side."""
        self._has_moved = False
        """Whether a batch was registered: a hold may end before the call that extends it arrives."""
        self.last: TakenBucket
        """The last batch that was registered: it may still be on its way into the store."""

    def __enter__(self) -> Self:
        self._ends, self.last = self._hold()
        self._thread = Thread(target=self._keep, name="weft-hold", daemon=True)
        self._thread.start()
        return self

    def check(self) -> None:
        """Raises StoreError if others may have written meanwhile."""
        if self._has_moved or self._clock.now() >= self._ends:
            raise StoreError("of the cluster", "it did not hold still: the control plane did not answer; try again")

    def _hold(self) -> tuple[int, TakenBucket]:
        began = self._clock.now()
        last = self._mgmt.hold_writing(self._id, self._holder, self._seconds)
        return began + round(self._seconds * 1000), last

    def _extend(self) -> None:
        ends, last = self._hold()
        # Before the new end: whoever checks must not see that alone.
        self._has_moved = self._has_moved or last.seq != self.last.seq
        self._ends = ends

    def _keep(self) -> None:
        while not self._stop.wait(self._seconds / 6):
            try:
                self._extend()
            except MgmtError as error:
                log.warning("a hold on writing could not be extended reason=%s", error)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        try:
            self._mgmt.release_writing(self._id)
        except MgmtError as error:
            log.warning("a hold on writing ends by itself reason=%s", error)
