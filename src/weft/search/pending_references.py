"""Uris whose references changed: written together, so that a page with many inlinks is not written for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from weft.clock import Clock

MOST: Final = 200_000
"""Uris that wait at most; with more of them they are written before their time."""
REST: Final = 2000
"""Milliseconds without anything new after which all of them are written."""


class PendingReferences:
    """First gathers, then hands out what it gathered; meanwhile it gathers the next.

    `cursor` is the seq up to which everything was handed out: what is behind it may be read again after a crash.
    """

    def __init__(self, every: float, clock: Clock, cursor: int = 0) -> None:
        """Every uri is handed out at most once in `every` seconds, unless too many wait."""
        self._every, self._clock = round(every * 1000), clock
        self.cursor = self._reached = self._upto = cursor
        self._gathered: dict[bytes, None] = {}
        self._due: dict[bytes, None] = {}
        self._began = self._fed = clock.now()
        self._flushes = False

    @property
    def is_empty(self) -> bool:
        return not (self._gathered or self._due)

    def __len__(self) -> int:
        return len(self._gathered) + len(self._due)

    def add(self, uris: Iterable[bytes]) -> None:
        added = dict.fromkeys(uris)
        if added:
            self._fed = self._clock.now()
            self._began = self._began if self._gathered else self._fed
            self._gathered.update(added)

    def reached(self, seq: int) -> None:
        """All changes of references up to this seq were added."""
        self._reached = seq
        self._settle()

    def drop(self, uris: Iterable[bytes]) -> None:
        """These are written anyway, as of now."""
        for uri in uris:
            self._fed = self._clock.now()
            self._gathered.pop(uri, None)
            self._due.pop(uri, None)
        self._settle()

    def flush_all(self) -> None:
        """Hand out everything from now on, until it is empty."""
        self._flushes = True

    def take(self, most: int) -> list[bytes]:
        """Up to `most` uris to write now, before the cursor is committed."""
        self._move()
        taken = list(islice(self._due, most))
        for uri in taken:
            del self._due[uri]
        self._settle()
        return taken

    def _settle(self) -> None:
        if not self._due:
            self.cursor = max(self.cursor, self._upto) if self._gathered else self._reached
            self._flushes = self._flushes and bool(self._gathered)

    def _move(self) -> None:
        if not self._due and self._gathered and self._is_time():
            self._due, self._gathered, self._upto = self._gathered, {}, self._reached

    def _is_time(self) -> bool:
        now = self._clock.now()
        waited, rested = now - self._began, now - self._fed
        return self._flushes or len(self._gathered) >= MOST or waited >= self._every or rested >= REST
