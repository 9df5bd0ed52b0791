"""Importing: files in, rounds of pages into the link index, and an exact place to go on from after a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from weft import failpoints
from weft.config import Settings
from weft.errors import WeftError
from weft.index import runs
from weft.intake.files import Source
from weft.intake.jsonl import JsonPages, LineRefused
from weft.intake.lines import BEGINNING, Line, Lines, Position, SourceDamaged
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.pipeline import Applied, LinkIndex
from weft.model.url import UrlRules
from weft.store.api import Reader

ROUND_BYTES = 32 << 20
"""Content that one round may hold, whatever the number of its pages."""

LISTED = 100
"""Skipped lines that are kept word by word; the rest is counted."""


class ImportRefused(WeftError):  # noqa: N818 - an answer about the input, not a fault
    """A strict import met a line that it cannot load; nothing of that file was loaded."""


@dataclass(slots=True)
class Report:
    """What an import did so far."""

    pages: int = 0
    changed: int = 0
    unchanged: int = 0
    ignored: int = 0
    links: int = 0
    skipped: int = 0
    seq: int = 0
    resumed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    """One sentence for each file that could not be read to its end."""

    def add(self, applied: Applied, pages: int) -> None:
        self.pages += pages
        self.changed += applied.changed
        self.unchanged += applied.unchanged
        self.ignored += applied.ignored
        self.links += applied.links
        self.seq = applied.seq


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who wants to know: called after each round, and for each line that was skipped."""

    moved: Callable[[Report, Source, int], None] = lambda report, source, bytes_read: None
    skipped: Callable[[str], None] = lambda sentence: None


@dataclass(slots=True)
class _Round:
    most: int
    pages: list[LoadedPage] = field(default_factory=list)
    size: int = 0

    def add(self, page: LoadedPage) -> None:
        self.pages.append(page)
        self.size += len(page.cur) + len(page.doc)

    @property
    def is_full(self) -> bool:
        return len(self.pages) >= self.most or self.size >= ROUND_BYTES


class Importer:
    """Loads sources one after another into one index."""

    def __init__(self, index: LinkIndex, store: Reader, rules: UrlRules, settings: Settings, now: int) -> None:
        self._index, self._store, self._rules, self._settings, self._now = index, store, rules, settings, now
        self.report = Report()

    def load(self, source: Source, *, strict: bool, most: int | None, watcher: Watcher) -> None:
        """Load one source from where an earlier run of it was cut off; `most` bounds the pages of this whole import."""
        run = runs.begin(self._store, source, self._now)
        start = run.position if run else BEGINNING
        if start != BEGINNING:
            self.report.resumed.append(f"{source.name}: going on at line {start.number}")
        parser = JsonPages(self._rules, self._settings.limits, run.started if run else self._now)
        if strict:
            self._check(source, start, parser)
        lines = Lines(source, self._settings.limits.line_bytes, start)
        try:
            self._load_lines(lines, source, run, parser, most, watcher)
        except SourceDamaged as damage:
            self.report.damaged.append(str(damage))

    def _check(self, source: Source, start: Position, parser: JsonPages) -> None:
        try:
            for line in Lines(source, self._settings.limits.line_bytes, start):
                parser.read(line.data)
        except LineRefused as refused:
            raise ImportRefused(f"{source.name}:{line.number}: {refused}; nothing of this file was loaded") from refused
        except SourceDamaged as damage:
            raise ImportRefused(f"{damage}; nothing of this file was loaded") from damage

    def _load_lines(
        self, lines: Lines, source: Source, run: runs.Run | None, parser: JsonPages, most: int | None, watcher: Watcher
    ) -> None:
        left = None if most is None else most - self.report.pages
        following = iter(lines)
        while left is None or left > 0:
            collected = _Round(self._settings.index.round_pages)
            try:
                reached, ended = self._fill(collected, following, source, parser, left, watcher)
            except SourceDamaged as damage:
                self._apply(collected, runs.note(run, damage.reached))
                raise
            self._apply(collected, runs.forget(run) if ended else runs.note(run, reached or BEGINNING))
            left = None if left is None else left - len(collected.pages)
            watcher.moved(self.report, source, lines.bytes_read)
            if ended:
                return

    def _fill(
        self,
        collected: _Round,
        following: Iterator[Line],
        source: Source,
        parser: JsonPages,
        left: int | None,
        watcher: Watcher,
    ) -> tuple[Position | None, bool]:
        """Take lines until the round is full; tell how far that is and whether it is the end."""
        reached: Position | None = None
        for line in following:
            try:
                collected.add(parser.read(line.data))
            except LineRefused as refused:
                self.report.skipped += 1
                watcher.skipped(f"{source.name}:{line.number}: {refused}")
            reached = line.after
            if left is not None and len(collected.pages) >= left:
                return reached, True
            if collected.is_full:
                return reached, False
        return reached, True

    def _apply(self, collected: _Round, notes: dict[bytes, bytes | None]) -> None:
        failpoints.point("import.round.before")
        applied = self._index.apply(collected.pages, notes)
        failpoints.point("import.round.after")
        self.report.add(applied, len(collected.pages))
