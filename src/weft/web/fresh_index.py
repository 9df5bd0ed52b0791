"""The index, read beside its writer: one reader answers while another one catches up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Event, Thread
from typing import Final

from weft.answers.home_index import HomeIndex
from weft.errors import StoreError, WeftError

log = logging.getLogger(__name__)

_EVERY: Final = 0.25
"""Seconds between two looks for what was written since, at least; half of the time is for answers in any case."""
_AFTER_FAILURE: Final = 2.0
_LAST_ANSWERS: Final = 5.0
"""Seconds for those who still read when the index is closed."""


@dataclass(slots=True, eq=False)
class _Reader:
    index: HomeIndex
    borrowers: int = 0


class FreshIndex:
    """Any number of threads may ask; nobody waits for a reader that catches up, which can take half a second.

    What somebody has borrowed stands still until it is given back.
    """

    def __init__(
        self, open_index: Callable[[], HomeIndex], every: float = _EVERY, after_failure: float = _AFTER_FAILURE
    ) -> None:
        self._open_index, self._every, self._after_failure = open_index, every, after_failure
        self._current = _Reader(open_index())
        self.seq = self._current.index.seq
        """Number of the last change that answers see."""
        self._spare: _Reader | None = None
        """None until it is opened, and after it failed: a reader whose files were replaced cannot catch up any more."""
        self._changed = Condition()
        self._is_over = Event()
        self._thread = Thread(target=self._follow, name="weft-follow", daemon=True)
        self._thread.start()

    @contextmanager
    def borrowed(self) -> Iterator[HomeIndex]:
        """Raises WeftError after `close`."""
        with self._changed:
            if self._is_over.is_set():
                raise StoreError("of this web app", "it is closed, because the web app stops")
            reader = self._current
            reader.borrowers += 1
        try:
            yield reader.index
        finally:
            with self._changed:
                reader.borrowers -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Waits a moment for those who still read; a reader that somebody reads is never closed under them."""
        with self._changed:
            self._is_over.set()
            self._changed.notify_all()
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not any(each.borrowers for each in self._readers()), _LAST_ANSWERS)
            idle = [each for each in self._readers() if not each.borrowers]
        for reader in idle:
            reader.index.close()

    def _readers(self) -> list[_Reader]:
        return [each for each in (self._current, self._spare) if each is not None]

    def _follow(self) -> None:
        pause = self._every
        while not self._is_over.wait(pause):
            began = time.monotonic()
            try:
                self._catch_up()
                pause = max(self._every, time.monotonic() - began)
            except WeftError as error:
                log.warning("the index cannot be read, trying again reason=%s", error)
                pause = self._after_failure
                self._drop_spare()
            except Exception:
                log.exception("the index cannot be read, trying again")
                pause = self._after_failure
                self._drop_spare()

    def _catch_up(self) -> None:
        if self._spare is None:
            self._spare = _Reader(self._open_index())
        spare = self._spare
        with self._changed:
            self._changed.wait_for(lambda: not spare.borrowers or self._is_over.is_set())
        if self._is_over.is_set():
            return
        spare.index.refresh()
        seq = spare.index.seq
        with self._changed:
            self._current, self._spare, self.seq = spare, self._current, seq

    def _drop_spare(self) -> None:
        """It failed, and nobody reads it; what is current goes on to answer."""
        failed, self._spare = self._spare, None
        if failed is not None:
            failed.index.close()
