"""The shards that a server answers for: read by many threads, opened and refreshed by the one that writes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Final

from weft.clock import Clock, MonotonicClock
from weft.errors import SearchDamaged, SearchError
from weft.search.shard import Cursors, ShardDirectory
from weft.search.shard_reader import ShardReader

log = logging.getLogger(__name__)

LINGER: Final = 30_000
"""Milliseconds that a shard is still answered for after it went to another server: askers learn of that later."""


class NotReady(SearchError):  # noqa: N818 - an answer
    """There is no index of this shard here, or not yet."""


class ServedShards:
    """`reader` may be called by any thread, everything else by one.

    A shard is answered for from the first generation that can be read, whoever writes it, to a while after it went to
    another server.
    """

    def __init__(self, directory: Callable[[int], ShardDirectory], clock: Clock | None = None) -> None:
        self._directory, self._clock = directory, clock or MonotonicClock()
        self._readers: dict[int, ShardReader] = {}
        self._until: dict[int, int] = {}
        """Shards that went to another server, and when they are forgotten."""
        self._suspects: set[int] = set()
        self._states: dict[int, object] = {}
        """What each shard looked like when it was last refreshed, which takes time: often nothing is new."""

    @property
    def ready(self) -> frozenset[int]:
        return frozenset(self._readers)

    @property
    def documents(self) -> int:
        return sum(reader.documents for number, reader in self._readers.items() if number not in self._until)

    def cursors(self, numbers: Collection[int]) -> Cursors:
        """How far the feed is in all of these."""
        found = [self._readers[number].cursors for number in numbers if number in self._readers]
        if not found or len(found) < len(numbers):
            return Cursors()
        return Cursors(min(one.content for one in found), min(one.references for one in found))

    def reader(self, number: int) -> ShardReader:
        """Raises NotReady."""
        found = self._readers.get(number)
        if found is None:
            raise NotReady(self._directory(number).path, "it is not served here, or not ready yet")
        return found

    def suspect(self, number: int) -> None:
        """A question to this shard failed as if it was damaged; from any thread."""
        self._suspects.add(number)

    def take_suspects(self) -> set[int]:
        found, self._suspects = self._suspects, set()
        return found

    def serve(self, numbers: Iterable[int]) -> None:
        """Answer for these from now on, each at its newest commit."""
        wanted, now = set(numbers), self._clock.now()
        for number in self._readers.keys() - wanted - self._until.keys():
            self._until[number] = now + LINGER
        for number in [number for number, until in self._until.items() if number in wanted or now >= until]:
            del self._until[number]
        kept = {number: reader for number, reader in self._readers.items() if number in wanted or number in self._until}
        for number in sorted(wanted | kept.keys()):
            reader = self._refreshed(number, kept.get(number))
            if reader is not None:
                kept[number] = reader
        # Replaced as a whole: another thread may be looking.
        self._readers = kept

    def _refreshed(self, number: int, reader: ShardReader | None) -> ShardReader | None:
        """The reader at the newest commit, or as it was if that cannot be read; None: there is none yet."""
        directory = self._directory(number)
        state = _state(directory)
        if reader is not None and state == self._states.get(number):
            return reader
        self._states[number] = state
        try:
            if reader is None:
                return ShardReader(directory)
            reader.refresh()
        except SearchDamaged as error:
            log.debug("shard not refreshed shard=%d reason=%s", number, error.problem)
            self.suspect(number)
        except SearchError:
            pass  # none yet; one that is gone is answered for by what is open
        return reader


def _state(directory: ShardDirectory) -> object:
    """Something that changes with every commit and every generation."""
    current = directory.current()
    try:
        facts = (current / "meta.json").stat() if current else None
    except OSError:
        return None
    return facts and (current, facts.st_ino, facts.st_mtime_ns)
