"""From a source to blocks of pages: read here in groups, parsed by workers, given out in the order of the source."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple, Protocol

from weft.config.sections import LimitsSettings
from weft.intake.import_source import ImportSource
from weft.intake.page_parser import ParseResult, ParseTask
from weft.intake.record_heads import REVISIT, ArchiveRecord
from weft.intake.skip_reasons import Refused
from weft.intake.source_format import SourceFormat
from weft.intake.source_lines import SourceLine, SourceLines
from weft.intake.source_position import BEGINNING, SourceDamaged, SourcePosition
from weft.intake.source_records import RecordEntry, SourceRecords
from weft.linkindex.loaded import LoadedPage

GROUP: Final = 32
"""Lines or records of a group, at most."""
_GROUP_BYTES: Final = 1 << 20
_GROUP_UNPARSED: Final = 1_000
"""Records that need no parsing: there may be nothing else for a long time."""
_WAITING: Final = 64
_WAITING_BYTES: Final = 64 << 20
"""Tasks on their way: about as many pages as a round has, so that workers stay busy while one is written."""


class Skipped(NamedTuple):
    """A line or record that gave no page though it should."""

    position: SourcePosition
    refused: Refused


@dataclass(slots=True)
class ParseGroup:
    """Lines or records that are parsed together, and what was found between them; reading can continue at `after`."""

    after: SourcePosition
    bytes_read: int = 0
    lines: list[bytes | None] = field(default_factory=list)
    records: list[ArchiveRecord] = field(default_factory=list)
    positions: list[SourcePosition] = field(default_factory=list)
    """Where each line or record begins."""
    skipped: list[Skipped] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    size: int = 0

    def add(self, found: SourceLine | RecordEntry) -> None:
        self.after = found.after
        if isinstance(found, SourceLine):
            self.lines.append(found.data)
            self._count(found.position, len(found.data or b""))
        elif found.record is not None:
            self.records.append(found.record)
            self._count(found.position, len(found.record.body))
        elif found.refused is not None:
            self.skipped.append(Skipped(found.position, found.refused))
        else:
            self.passed[found.passed] += 1

    def _count(self, position: SourcePosition, size: int) -> None:
        self.positions.append(position)
        self.size += size

    def is_full(self, most: int) -> bool:
        unparsed = len(self.skipped) + self.passed.total()
        return len(self.positions) >= most or self.size >= _GROUP_BYTES or unparsed >= _GROUP_UNPARSED

    def task(self, now_ms: int) -> ParseTask:
        return ParseTask(now_ms, self.lines, self.records)


def groups(reader: SourceLines | SourceRecords, start: SourcePosition, most: int = GROUP) -> Iterator[ParseGroup]:
    """All that `reader` gives from `start` on; raises SourceDamaged behind the last group."""
    group = ParseGroup(start)
    damage: SourceDamaged | None = None
    try:
        for found in reader:
            group.add(found)
            if group.is_full(most):
                group.bytes_read = reader.bytes_read
                yield group
                group = ParseGroup(group.after)
    except SourceDamaged as error:
        damage = error
    group.bytes_read = reader.bytes_read
    yield group
    if damage is not None:
        raise damage


class ParsePromise(Protocol):
    """A task on its way; each is taken or dropped, in order."""

    def take(self) -> list[ParseResult]:
        """Wait for what each line or record gave."""
        ...

    def drop(self) -> None:
        """Go without the answer."""
        ...


class Parsers(Protocol):
    def give(self, task: ParseTask) -> ParsePromise: ...


class PageBlock(NamedTuple):
    """Neighbouring pages of a source, sorted by uri; reading can continue at `after`."""

    pages: list[LoadedPage]
    after: SourcePosition
    bytes_read: int
    """How much of the file, as it is stored, was read when this block was."""
    skipped: list[Skipped]
    passed: Counter[str]
    """Records that say nothing of a page, by what they are."""

    @property
    def loads(self) -> list[LoadedPage]:
        """Without pages that were only seen again: `passed` counts those."""
        return [page for page in self.pages if page.same_since is None]


class PageReader:
    """Reads sources into blocks, such that rounds of `round_pages` can be made of whole ones."""

    def __init__(self, parsers: Parsers, limits: LimitsSettings, round_pages: int = GROUP) -> None:
        self._parsers, self._limits = parsers, limits
        self._most = ceil(round_pages / ceil(round_pages / GROUP))

    def blocks(
        self, source: ImportSource, now_ms: int, start: SourcePosition = BEGINNING, pages: int | None = None
    ) -> Iterator[PageBlock]:
        """The pages of `source` from `start` on, or the first so many; raises SourceDamaged behind the last block.

        `now_ms` is the time of pages that have none of their own. Of a block whose pages were loaded, `after` is all
        that must be remembered to continue later, in another process too.
        """
        waiting: deque[tuple[ParseGroup, ParsePromise]] = deque()
        try:
            for group, answer in self._answers(source, start, now_ms, waiting):
                block = _block(group, answer, pages)
                yield block
                if pages is not None:
                    pages -= len(block.loads)
                    if pages <= 0:
                        return
        finally:
            for _, given in waiting:
                given.drop()

    def _answers(
        self, source: ImportSource, start: SourcePosition, now_ms: int, waiting: deque[tuple[ParseGroup, ParsePromise]]
    ) -> Iterator[tuple[ParseGroup, list[ParseResult]]]:
        damage: SourceDamaged | None = None
        try:
            for group in groups(self._open(source, start), start, self._most):
                waiting.append((group, self._parsers.give(group.task(now_ms))))
                while len(waiting) > _WAITING or sum(waits.size for waits, _ in waiting) > _WAITING_BYTES:
                    yield _taken(waiting)
        except SourceDamaged as error:
            damage = error
        while waiting:
            yield _taken(waiting)
        if damage is not None:
            raise damage

    def _open(self, source: ImportSource, start: SourcePosition) -> SourceLines | SourceRecords:
        if source.format is SourceFormat.JSONL:
            return SourceLines(source, self._limits.line_bytes, start)
        return SourceRecords(source, self._limits.line_bytes, start)


def _taken(waiting: deque[tuple[ParseGroup, ParsePromise]]) -> tuple[ParseGroup, list[ParseResult]]:
    group, given = waiting.popleft()
    return group, given.take()


def _block(group: ParseGroup, answer: list[ParseResult], most: int | None) -> PageBlock:
    """What a group gave, up to the first `most` pages."""
    pages: list[LoadedPage] = []
    skipped, passed, loads = [*group.skipped], Counter(group.passed), 0
    for position, found in zip(group.positions, answer, strict=True):
        if loads == most:
            break
        if isinstance(found, LoadedPage):
            pages.append(found)
            is_load = found.same_since is None
            loads, passed[REVISIT] = loads + is_load, passed[REVISIT] + (not is_load)
        elif isinstance(found, Refused):
            skipped.append(Skipped(position, found))
        else:
            passed[found] += 1
    pages.sort(key=lambda page: page.uri)
    return PageBlock(pages, group.after, group.bytes_read, sorted(skipped), +passed)
