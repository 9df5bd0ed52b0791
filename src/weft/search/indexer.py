"""Keeps shards of the search index up to date with the store: from its feed, or built anew where that is not enough."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from weft import failpoints
from weft.clock import Clock
from weft.config.sections import IndexserverSettings
from weft.errors import SearchDamaged
from weft.linkindex.feed import FeedCell, must_build_anew, read_feed
from weft.model.versions import BASES
from weft.search.document import SearchDocument
from weft.search.document_source import DocumentSource
from weft.search.pending_references import PendingReferences
from weft.search.shard import Cursors, ShardDirectory, ShardHeld, ShardLock, ShardName, ShardWriter
from weft.store.api import Reader

log = logging.getLogger(__name__)

_READ_AT_ONCE: Final = 20_000
"""Uris that one step takes from the feed, about: what happened while a server was away comes in pieces."""
_REFERENCES_BESIDE: Final = 300
"""Documents that one step writes because of references while content waits; new pages come first."""
_REFERENCES_ALONE: Final = 5000
_A_BLOCK: Final = 50
"""Documents that are read together; tantivy takes them in while the next ones are read."""
_TELL_EVERY: Final = 1000


def shard_of(uri: bytes, count: int) -> int:
    return crc32(uri) % count


class StepDone(NamedTuple):
    """What one step did."""

    content: int = 0
    """Documents written because their content changed."""
    references: int = 0
    """Documents written because others link to them."""
    freshness: Sequence[int] = ()
    """For each of the former, milliseconds from the index to search."""

    @property
    def has_worked(self) -> bool:
        return bool(self.content or self.references)


class _OwnShard(NamedTuple):
    directory: ShardDirectory
    lock: ShardLock
    writer: ShardWriter


class Indexer:
    """The writer of some shards. Every step leaves them whole: it may be killed between any two operations.

    Not thread-safe: one thread calls it, another may search.
    """

    def __init__(
        self,
        reader: Reader,
        path: Path,
        store: str,
        settings: IndexserverSettings,
        clock: Clock,
        progress: Callable[[int], None] = lambda documents: None,
    ) -> None:
        """`path` holds the shards of one row; `progress` is told how many documents a build has written."""
        self._reader, self._path, self._store = reader, path, store
        self._settings, self._clock, self.progress = settings, clock, progress
        self._source = DocumentSource(reader)
        self._shards: dict[int, _OwnShard] = {}
        self._read = 0
        self._checked: int | None = None
        """The seq at which the feed was last seen to reach back far enough."""
        self._pending = PendingReferences(settings.anchors_every, clock)
        self._is_stopping: Callable[[], bool] = lambda: False
        self.built = 0
        """Shards that were built anew."""
        self.documents = 0
        """Documents written."""

    @property
    def seq(self) -> int:
        """Of the store, as it was when it was last looked at."""
        return self._reader.last_seq

    @property
    def pending(self) -> int:
        """Documents that wait to be written because others link to them."""
        return len(self._pending)

    @property
    def shards(self) -> frozenset[int]:
        return frozenset(self._shards)

    @property
    def cursors(self) -> Cursors:
        """How far the feed is in all of the shards."""
        found = [shard.writer.cursors for shard in self._shards.values()]
        if not found:
            return Cursors()
        return Cursors(min(one.content for one in found), min(one.references for one in found))

    def directory(self, number: int) -> ShardDirectory:
        name = ShardName(self._store, number, self._settings.shards)
        return ShardDirectory(shard_path(self._path, number), name)

    def own(
        self,
        numbers: Iterable[int],
        is_stopping: Callable[[], bool] = lambda: False,
        anew: Iterable[int] = (),
    ) -> list[ShardHeld]:
        """Take these shards and let go of all others; those that need it, and those in `anew`, are built anew.

        Returns who holds those that could not be taken. They stay where they are. Raises BuildStopped when
        `is_stopping` says so; shards that need no building are taken by then.
        """
        self._is_stopping = is_stopping
        wanted, damaged = set(numbers), set(anew)
        for number in self._shards.keys() - wanted:
            self._let_go(number)
        self._reader.refresh()
        try:
            if again := sorted(damaged & self._shards.keys()):
                self._build(again)
            return self._take(sorted(wanted - self._shards.keys()), damaged)
        finally:
            # Some may have been taken before a build was stopped or failed: their past must be read, too.
            self._start_reading()

    def look(self) -> None:
        """See what the store has now."""
        self._reader.refresh()

    def step(self) -> StepDone:
        """Write what the store has that the shards have not, up to a bounded number of documents."""
        self._reader.refresh()
        if not self._shards:
            return StepDone()
        if self._is_behind_the_feed():
            self._build([number for number in self._shards if self._is_stale(self._shards[number].writer.cursors)])
            self._start_reading()
        return self._follow()

    def _is_behind_the_feed(self) -> bool:
        """Whether a shard must be built anew. Only a new round can be the reason: a store that rests is not asked."""
        if self._checked == self._reader.last_seq:
            return False
        behind = must_build_anew(self._reader, self.cursors.references)
        self._checked = None if behind else self._reader.last_seq
        return behind

    def flush(self, seq: int) -> bool:
        """A step towards having all that the store had at this seq; whether that is so now."""
        if self._shards and self.cursors.references < seq:
            self._pending.flush_all()
            self.step()
        return not self._shards or self.cursors.references >= seq

    def finish(self) -> None:
        """Write all that the store has now; then what is searchable follows from that state exactly."""
        self._reader.refresh()
        seq = self._reader.last_seq
        while not self.flush(seq):
            pass

    def settle(self) -> None:
        """Wait for merges; nothing can be written after this."""
        for shard in self._shards.values():
            shard.writer.settle()

    def close(self) -> None:
        """Let go of everything; what was not committed is lost, and read again by whoever owns it next."""
        for number in list(self._shards):
            self._let_go(number)

    def _take(self, numbers: Sequence[int], anew: Collection[int]) -> list[ShardHeld]:
        """Those that must be built are built together: each build reads the whole store."""
        held, to_build = list[ShardHeld](), dict[int, ShardLock]()
        try:
            for number in numbers:
                lock = ShardLock.try_take(self.directory(number).path)
                if isinstance(lock, ShardHeld):
                    held.append(lock)
                    continue
                to_build[number] = lock
                if number not in anew and (writer := self._open(self.directory(number))):
                    self._shards[number] = _OwnShard(self.directory(number), to_build.pop(number), writer)
            self._build_taken(to_build)
        except BaseException:
            for lock in to_build.values():
                lock.release()
            raise
        return held

    def _build_taken(self, locks: dict[int, ShardLock]) -> None:
        if locks:
            directories = [self.directory(number) for number in locks]
            writers = self._built(directories)
            for directory, writer in zip(directories, writers, strict=True):
                number = directory.name.number
                self._shards[number] = _OwnShard(directory, locks.pop(number), writer)

    def _open(self, directory: ShardDirectory) -> ShardWriter | None:
        """None: it must be built anew."""
        current = directory.current_of_format()
        if current is None:
            return None
        try:
            writer = ShardWriter(current, self._settings.memory)
        except SearchDamaged as error:
            log.warning("building anew shard=%s reason=%s", directory.path, error.damage)
            return None
        if self._is_stale(writer.cursors):
            log.info("building anew shard=%s reason=the feed does not reach back far enough", directory.path)
            return None
        return writer

    def _is_stale(self, cursors: Cursors) -> bool:
        """Whether the feed cannot bring a shard up to date; a store that was put back is behind its shards."""
        return cursors.content > self._reader.last_seq or must_build_anew(self._reader, cursors.references)

    def _build(self, numbers: Sequence[int]) -> None:
        """Anew, while the generations of before go on answering."""
        log.info("building anew shards=%s", numbers)
        writers = self._built([self._shards[number].directory for number in numbers])
        for number, writer in zip(numbers, writers, strict=True):
            self._shards[number] = self._shards[number]._replace(writer=writer)

    def _built(self, directories: Sequence[ShardDirectory]) -> list[ShardWriter]:
        # Taken before the scan: whatever changes meanwhile is in the feed behind it.
        cursors = Cursors(self._reader.last_seq, self._reader.last_seq)
        generations = [directory.next_generation() for directory in directories]
        writers = [ShardWriter(generation, self._settings.memory) for generation in generations]
        by_number = {directory.name.number: writer for directory, writer in zip(directories, writers, strict=True)}
        number = 0
        self.progress(0)
        for number, document in enumerate(self._all_documents(by_number.keys()), 1):
            by_number[shard_of(document.uri.encode(), self._settings.shards)].add(document)
            if number % _TELL_EVERY == 0:
                failpoints.point("search.build")
                self.progress(number)
                if self._is_stopping():
                    raise BuildStopped
        for directory, generation, writer in zip(directories, generations, writers, strict=True):
            writer.commit(cursors)
            directory.switch(generation)
        self.progress(number)
        self.built += len(directories)
        self.documents += number
        return writers

    def _all_documents(self, numbers: Iterable[int]) -> Iterator[SearchDocument]:
        wanted, count = frozenset(numbers), self._settings.shards
        for uris in self._source.uris():
            own = [uri for uri in uris if shard_of(uri, count) in wanted]
            yield from (document for document in self._source.documents(own) if document is not None)

    def _start_reading(self) -> None:
        """From where the shard that is furthest behind has got to: reading the same again is harmless."""
        self._read, self._checked = self.cursors.references, None
        self._pending = PendingReferences(self._settings.anchors_every, self._clock, self._read)

    def _follow(self) -> StepDone:
        content = self._read_feed()
        self._write(list(content))
        references = self._pending.take(_REFERENCES_BESIDE if content else _REFERENCES_ALONE)
        self._write(references)
        self._commit()
        now = self._clock.now()
        return StepDone(len(content), len(references), [max(0, now - recorded) for recorded in content.values()])

    def _read_feed(self) -> dict[bytes, int]:
        """The uris whose content changed, each with when that was recorded; references are pending from now on."""
        upto, taken, found = self._reader.last_seq, 0, dict[bytes, int]()
        for cell in self._cells():
            if taken >= _READ_AT_ONCE and cell.seq > self._read:
                upto = self._read
                break
            self._read = cell.seq
            own = [uri for uri in cell.content if self._is_own(uri, cell.seq)]
            references = [uri for uri in cell.references if self._is_own(uri)]
            found.update(dict.fromkeys(own, cell.recorded))
            self._pending.add(references)
            taken += len(own) + len(references)
        self._read = upto
        self._pending.reached(upto)
        self._pending.drop(found)
        return found

    def _cells(self) -> Iterator[FeedCell]:
        """In the order of their seqs, whatever base they are of."""
        after = self._read
        if after >= self._reader.last_seq:
            return iter(())
        rows = [read_feed(self._reader, base, after) for base in range(BASES)]
        # A cluster shows the cells of a batch before all of them are in.
        last = self._reader.last_seq
        return takewhile(lambda cell: cell.seq <= last, heapq.merge(*rows, key=lambda cell: cell.seq))

    def _is_own(self, uri: bytes, content_seq: int | None = None) -> bool:
        """Whether a change concerns one of our shards and, if it is one of content, is not in it yet."""
        shard = self._shards.get(shard_of(uri, self._settings.shards))
        return shard is not None and (content_seq is None or content_seq > shard.writer.cursors.content)

    def _write(self, uris: Sequence[bytes]) -> None:
        for at in range(0, len(uris), _A_BLOCK):
            self._write_block(uris[at : at + _A_BLOCK])
        self.documents += len(uris)

    def _write_block(self, uris: Sequence[bytes]) -> None:
        for uri, document in zip(uris, self._source.documents(uris), strict=True):
            number = shard_of(uri, self._settings.shards)
            failpoints.point("search.put")
            self._shards[number].writer.put(uri.decode(), document)

    def _commit(self) -> None:
        cursors = Cursors(self._read, self._pending.cursor)
        for shard in self._shards.values():
            writer = shard.writer
            # Cursors alone are worth a commit only when there is nothing else to do: then they show that it is all in.
            if writer.written or (writer.cursors != cursors and self._pending.is_empty):
                writer.commit(Cursors(max(cursors.content, writer.cursors.content), cursors.references))

    def _let_go(self, number: int) -> None:
        shard = self._shards.pop(number)
        # After an error tantivy's writer may fail in ways of its own; what was committed is safe.
        with suppress(Exception):
            shard.writer.settle()
        shard.lock.release()


class BuildStopped(Exception):  # noqa: N818 - an answer; nothing is lost
    """A build was asked to stop; it starts over the next time."""


def shard_path(row: Path, number: int) -> Path:
    return row / f"shard-{number:03d}"
