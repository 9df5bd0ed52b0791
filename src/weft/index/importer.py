"""Imports pages into the link index in rounds, each with a note of how far it got, so that an import can resume."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from weft import failpoints
from weft.errors import WeftError
from weft.index import import_run
from weft.index.round_weight import light_rounds
from weft.intake.import_source import ImportSource
from weft.intake.page_reader import PageBlock, PageReader, Skipped
from weft.intake.source_format import SourceFormat
from weft.intake.source_position import BEGINNING, SourceDamaged, SourceUnit
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import Applied, LinkIndex
from weft.store.api import Reader

ROUND_BYTES = 32 << 20
"""Content that one round may hold, whatever the number of its pages."""

LISTED = 100
"""Skipped lines and records that are listed one by one; the rest is only counted."""


class ImportRefused(WeftError):  # noqa: N818 - an answer about the input, not a fault
    """A strict import met a line or record that it cannot load; nothing of that file was loaded."""


@dataclass(slots=True)
class ImportReport:
    """What an import did so far."""

    pages: int = 0
    changed: int = 0
    unchanged: int = 0
    ignored: int = 0
    removed: int = 0
    """Pages, among `pages`, of which the input says that they are not there."""
    links: int = 0
    skipped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why lines and records were skipped."""
    passed: Counter[str] = field(default_factory=Counter)
    """Records that say nothing of a page, by what they are."""
    seq: int = 0
    resumed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    """One sentence for each file that could not be read to its end."""

    def add(self, applied: Applied, pages: list[LoadedPage]) -> None:
        self.pages += sum(page.same_since is None for page in pages)
        self.removed += sum(page.is_gone for page in pages)
        self.changed += applied.changed
        self.unchanged += applied.unchanged
        self.ignored += applied.ignored
        self.links += applied.links
        self.seq = applied.seq


@dataclass(frozen=True, slots=True)
class ImportWatcher:
    """Who wants to know: called after each block, and for each line or record that was skipped."""

    moved: Callable[[ImportReport, ImportSource, int], None] = lambda report, source, bytes_read: None
    skipped: Callable[[str], None] = lambda sentence: None


@dataclass(slots=True)
class _Round:
    most: int
    pages: list[LoadedPage] = field(default_factory=list)
    size: int = 0

    def add(self, block: PageBlock) -> None:
        self.pages += block.pages
        self.size += sum(len(page.cur) + len(page.doc) for page in block.pages)

    def has_room_for(self, block: PageBlock) -> bool:
        return not self.pages or len(self.pages) + len(block.pages) <= self.most

    @property
    def is_full(self) -> bool:
        return len(self.pages) >= self.most or self.size >= ROUND_BYTES


class ImportPace:
    """Holds up whoever takes more than `rate` pages a second; what was not used in the last second may be used now."""

    def __init__(
        self, rate: float, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._now, self._sleep = rate, now, sleep
        self._tokens, self._at = rate, now()

    def take(self, count: int) -> None:
        """Wait until `count` pages more are not too many."""
        now = self._now()
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate) - count
        self._at = now
        if self._tokens < 0:
            self._sleep(-self._tokens / self._rate)


class Importer:
    """Loads sources one after another into one index, by rounds of up to `round_pages`."""

    def __init__(
        self,
        index: LinkIndex,
        store: Reader,
        reader: PageReader,
        round_pages: int,
        now: int,
        pace: ImportPace | None = None,
    ) -> None:
        self._index, self._store, self._reader, self._now = index, store, reader, now
        self._round_pages, self._pace = round_pages, pace
        self.report = ImportReport()

    def load(self, source: ImportSource, *, strict: bool, most: int | None, watcher: ImportWatcher) -> None:
        """Load one source from where an earlier run of it was cut off; `most` bounds the pages of this whole import."""
        run = import_run.begin(self._store, source, self._now)
        started, start = (run.started, run.position) if run else (self._now, BEGINNING)
        if start != BEGINNING:
            self.report.resumed.append(f"{source.name}: resuming at {_unit(source)} {start.number}")
        if strict:
            check(source, self._reader.blocks(source, started, start))
        left = None if most is None else most - self.report.pages
        try:
            self._load_blocks(self._reader.blocks(source, started, start, left), source, run, watcher)
        except SourceDamaged as damage:
            self.report.damaged.append(str(damage))

    def _load_blocks(
        self,
        blocks: Iterator[PageBlock],
        source: ImportSource,
        run: import_run.ImportRun | None,
        watcher: ImportWatcher,
    ) -> None:
        collected, reached = _Round(self._round_pages), BEGINNING
        try:
            for block in blocks:
                if not collected.has_room_for(block):
                    collected = self._apply(collected, import_run.note(run, reached))
                collected.add(block)
                reached = block.after
                count_block(self.report, block, source, watcher)
                if collected.is_full:
                    collected = self._apply(collected, import_run.note(run, reached))
                watcher.moved(self.report, source, block.bytes_read)
        except SourceDamaged as damage:
            self._apply(collected, import_run.note(run, damage.reached))
            raise
        self._apply(collected, import_run.forget(run))

    def _apply(self, collected: _Round, notes: dict[bytes, bytes | None]) -> _Round:
        if self._pace is not None:
            self._pace.take(len(collected.pages))
        failpoints.point("import.round.before")
        *heavy, last = light_rounds(collected.pages)
        for pages in heavy:
            # Without a note: after a kill they come again, and change nothing.
            self.report.add(self._index.apply(pages), pages)
        applied = self._index.apply(last, notes)
        failpoints.point("import.round.after")
        self.report.add(applied, last)
        return _Round(collected.most)


def count_block(report: ImportReport, block: PageBlock, source: ImportSource, watcher: ImportWatcher) -> None:
    """Count and report what of a block was skipped or passed over."""
    report.passed += block.passed
    report.skipped += len(block.skipped)
    report.reasons.update(skipped.refused.reason for skipped in block.skipped)
    for skipped in block.skipped:
        watcher.skipped(_sentence(source, skipped))


def check(source: ImportSource, blocks: Iterator[PageBlock]) -> None:
    """Read all of a source; raises ImportRefused at the first thing that would be skipped."""
    try:
        for block in blocks:
            for skipped in block.skipped:
                raise ImportRefused(f"{_sentence(source, skipped)}; nothing of this file was loaded")
    except SourceDamaged as damage:
        raise ImportRefused(f"{damage}; nothing of this file was loaded") from damage


def _sentence(source: ImportSource, skipped: Skipped) -> str:
    position, why = skipped.position, skipped.refused.why
    if _unit(source) is SourceUnit.LINE:
        return f"{source.name}:{position.number}: {why}"
    return f"{source.name}: {position.in_words(SourceUnit.RECORD)}: {why}"


def _unit(source: ImportSource) -> SourceUnit:
    return (source.format or SourceFormat.JSONL).unit
