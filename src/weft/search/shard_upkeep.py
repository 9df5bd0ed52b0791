"""Keeps the shards of a server written and served, whatever fails: a full disk waits, what is damaged is built anew."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from weft.clock import Clock
from weft.errors import SearchDamaged, SearchError, StoreError
from weft.search.indexer import BuildStopped, Indexer
from weft.search.served_shards import ServedShards
from weft.search.server_figures import FreshnessWindow, ServerFigures
from weft.search.shard import Cursors
from weft.search.shard_check import damage_of

log = logging.getLogger(__name__)

_FIRST_WAIT: Final = 1000
_LONGEST_WAIT: Final = 60_000
_CHECK_EVERY: Final = 600_000
"""Milliseconds between two checks of one shard: whoever can make questions fail must not keep the disk busy."""
_SHARD: Final = re.compile(r"shard-(\d+)")


class ShardUpkeep:
    """One thread calls it, a turn after the other; `figures` may be read by any."""

    def __init__(self, indexer: Indexer, served: ServedShards, row: int, count: int, clock: Clock) -> None:
        """`clock` is one that nobody sets."""
        self._indexer, self.served, self._row, self._count = indexer, served, row, count
        self._clock = clock
        self._freshness = FreshnessWindow()
        self._anew: set[int] = set()
        """Shards that are damaged."""
        self._checked: dict[int, int] = {}
        self._wait, self._again_at = _FIRST_WAIT, 0
        self._complete_at: int | None = None
        """When search had everything."""
        self._wanted: frozenset[int] = frozenset()
        self._last_seq: int | None = None
        """What is to be had before the server ends."""
        self._building = 0
        self._problem = ""
        self.dropped = 0
        """How often what was acknowledged was lost, and is built anew."""
        self.figures = ServerFigures(row=row, count=count)
        self.owned: frozenset[int] = frozenset()
        """The shards that are written here; `figures` tells how far they are."""
        indexer.progress = self._building_goes_on

    def turn(self, wanted: Collection[int], is_stopping: Callable[[], bool]) -> bool:
        """Own these shards, write what is new, serve what is there; whether there was anything to write."""
        self._serve(wanted)
        if self._clock.now() < self._again_at:
            self._tell()
            return False
        return self._guarded(wanted, is_stopping, self._step)

    def rest(self, wanted: Collection[int]) -> None:
        """Only serve what is there."""
        self._serve(wanted)
        self._tell()

    def finish(self, wanted: Collection[int], is_stopping: Callable[[], bool]) -> bool:
        """A step towards having all that the store had at the first of these; whether that is so."""
        self._serve(wanted)
        if self._clock.now() < self._again_at:
            return False
        return self._guarded(wanted, is_stopping, lambda: self._flush(wanted))

    def close(self) -> None:
        self._indexer.close()

    def _guarded(self, wanted: Collection[int], is_stopping: Callable[[], bool], work: Callable[[], bool]) -> bool:
        done = False
        try:
            self._own(wanted, is_stopping)
            done = work()
            self._wait, self._again_at, self._problem = _FIRST_WAIT, 0, ""
        except BuildStopped:
            log.info("build stopped; it begins again when its shards are owned again")
        except SearchDamaged as error:
            self._damaged(error)
        except (SearchError, StoreError, OSError) as error:
            self._failed(str(error))
        except Exception as error:
            # Answers go on from what was committed, whatever this is.
            log.exception("search index not written")
            self._failed(f"{type(error).__name__}: {error}")
        self._serve(wanted)
        self._tell()
        return done

    def _serve(self, wanted: Collection[int]) -> None:
        self._wanted = frozenset(wanted)
        self.served.serve(wanted)

    def _own(self, wanted: Collection[int], is_stopping: Callable[[], bool]) -> None:
        self._check(self.served.take_suspects() & set(wanted))
        anew = self._anew & set(wanted)
        if anew or self._indexer.shards != set(wanted):
            for held in self._indexer.own(wanted, is_stopping, anew):
                log.debug("shard not taken yet: %s writes it", held.holder)
            self._anew -= self._indexer.shards
            self._building = 0

    def _step(self) -> bool:
        done = self._indexer.step()
        now = self._clock.now()
        self._building = 0
        self._freshness.add(done.freshness, now)
        if self._indexer.shards == self._wanted and self._lag() == 0:
            self._complete_at = now
        return done.has_worked

    def _flush(self, wanted: Collection[int]) -> bool:
        if self._last_seq is None:
            self._indexer.look()
            self._last_seq = self._indexer.seq
        is_done = self._indexer.flush(self._last_seq)
        return is_done and self._indexer.shards == set(wanted)

    def _building_goes_on(self, documents: int) -> None:
        self._building = documents
        self._tell(is_building=True)

    def _check(self, suspects: Collection[int]) -> None:
        """A question failed, or a commit could not be read: are the files to blame?"""
        now = self._clock.now()
        for number in suspects:
            if number in self._anew or now < self._checked.get(number, 0):
                continue
            self._checked[number] = now + _CHECK_EVERY
            current = self._indexer.directory(number).current()
            if current is None:
                continue
            problem = damage_of(current)
            if problem:
                self._drop(number, problem)
            else:
                log.warning("a question failed, but the files are sound shard=%d", number)

    def _damaged(self, error: SearchDamaged) -> None:
        number = _number_of(error.path)
        self._failed(str(error))
        if number is not None:
            self._drop(number, error.damage)

    def _drop(self, number: int, problem: str) -> None:
        log.error("shard damaged, building it anew shard=%d reason=%s", number, problem)
        self._anew.add(number)
        self.dropped += 1

    def _failed(self, problem: str) -> None:
        """Tried again after a while: tantivy's writers are of no use after an error."""
        if problem != self._problem:
            log.error("search index not written, answers go on reason=%s", problem)
        elif self._wait >= 2 * _FIRST_WAIT:
            # Not a full disk's only sign: what cannot be read fails in writing, too.
            for number in self._indexer.shards:
                self.served.suspect(number)
        self._problem = problem
        self._indexer.close()
        self._again_at = self._clock.now() + self._wait
        self._wait = min(self._wait * 2, _LONGEST_WAIT)
        self._building = 0

    def _cursors(self) -> Cursors:
        """Of what is served, if nothing is owned now."""
        return self._indexer.cursors if self._indexer.shards else self.served.cursors(self._wanted)

    def _lag(self) -> int:
        return max(0, self._indexer.seq - self._cursors().content) if self._wanted else 0

    def _tell(self, *, is_building: bool = False) -> None:
        indexer, now = self._indexer, self._clock.now()
        cursors = self._cursors()
        self.figures = ServerFigures(
            row=self._row,
            count=self._count,
            shards=sorted(self._wanted & self.served.ready),
            documents=self.served.documents,
            content=cursors.content,
            references=cursors.references,
            lag=self._lag(),
            lag_ms=None if self._complete_at is None else now - self._complete_at,
            pending=indexer.pending,
            freshness=self._freshness.lately(now),
            fresh=self._freshness.ever(),
            building=is_building,
            build=self._building,
            built=indexer.built,
            written=indexer.documents,
            problem=self._problem,
        )
        self.owned = indexer.shards


def _number_of(path: Path | str) -> int | None:
    found = _SHARD.findall(str(path))
    return int(found[-1]) if found else None
