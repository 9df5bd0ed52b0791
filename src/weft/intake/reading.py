"""From a source to blocks of ready pages: read here, parsed by workers, given out in the order of the source."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple, Protocol

from weft.config.sections import LimitsSettings
from weft.intake.archives import Archive
from weft.intake.files import Source
from weft.intake.formats import Format
from weft.intake.groups import GROUP, Group, Skipped, groups
from weft.intake.lines import Lines
from weft.intake.parsing import Found, Task
from weft.intake.position import BEGINNING, Position, SourceDamaged
from weft.intake.records import Refused
from weft.linkindex.loaded import LoadedPage

_WAITING: Final = 64
_WAITING_BYTES: Final = 64 << 20
"""Tasks on their way: about as many pages as a round has, so that workers go on while one is written."""


class Given(Protocol):
    """A task on its way; each is taken or dropped, in order."""

    def take(self) -> list[Found]:
        """Wait for what each line or record gave."""
        ...

    def drop(self) -> None:
        """Go without the answer."""
        ...


class Parsers(Protocol):
    def give(self, task: Task) -> Given: ...


class Block(NamedTuple):
    """Pages that stand close together in a source, sorted by uri; reading can go on at `after`."""

    pages: list[LoadedPage]
    after: Position
    bytes_read: int
    """How much of the file, as it is stored, was read when this block was."""
    skipped: list[Skipped]
    passed: Counter[str]
    """Records that say nothing of a page, by what they are."""


class PageReader:
    """Reads sources into blocks, such that rounds of `round_pages` can be made of whole ones."""

    def __init__(self, parsers: Parsers, limits: LimitsSettings, round_pages: int = GROUP) -> None:
        self._parsers, self._limits = parsers, limits
        self._most = ceil(round_pages / ceil(round_pages / GROUP))

    def blocks(
        self, source: Source, now_ms: int, start: Position = BEGINNING, pages: int | None = None
    ) -> Iterator[Block]:
        """The pages of `source` from `start` on, or the first so many; raises SourceDamaged behind the last block.

        `now_ms` is the time of pages that have none of their own. Of a block whose pages were loaded, `after` is all
        that must be remembered to go on later, in another process too.
        """
        waiting: deque[tuple[Group, Given]] = deque()
        try:
            for group, answer in self._answers(source, start, now_ms, waiting):
                block = _block(group, answer, pages)
                yield block
                if pages is not None:
                    pages -= len(block.pages)
                    if pages <= 0:
                        return
        finally:
            for _, given in waiting:
                given.drop()

    def _answers(
        self, source: Source, start: Position, now_ms: int, waiting: deque[tuple[Group, Given]]
    ) -> Iterator[tuple[Group, list[Found]]]:
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

    def _open(self, source: Source, start: Position) -> Lines | Archive:
        if source.format is Format.JSONL:
            return Lines(source, self._limits.line_bytes, start)
        return Archive(source, self._limits.line_bytes, start)


def _taken(waiting: deque[tuple[Group, Given]]) -> tuple[Group, list[Found]]:
    group, given = waiting.popleft()
    return group, given.take()


def _block(group: Group, answer: list[Found], most: int | None) -> Block:
    """What a group gave, up to the first `most` pages."""
    pages: list[LoadedPage] = []
    skipped, passed = [*group.skipped], Counter(group.passed)
    for position, found in zip(group.positions, answer, strict=True):
        if len(pages) == most:
            break
        if isinstance(found, LoadedPage):
            pages.append(found)
        elif isinstance(found, Refused):
            skipped.append(Skipped(position, found))
        else:
            passed[found] += 1
    pages.sort(key=lambda page: page.uri)
    return Block(pages, group.after, group.bytes_read, sorted(skipped), passed)
