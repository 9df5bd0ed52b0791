"""Importing into an empty index: everything is collected first, then the whole index is made in one step."""

from __future__ import annotations

from weft.index.importer import ImportReport, ImportWatcher, check, count_block
from weft.intake.import_source import ImportSource
from weft.intake.page_reader import PageReader
from weft.intake.source_position import SourceDamaged
from weft.linkindex.bulk import BulkBuild


class BulkImporter:
    """Loads sources one after another into a bulk build. Until `finish` the index is empty: an import that is cut off
    starts over."""

    def __init__(self, build: BulkBuild, reader: PageReader, now: int) -> None:
        self._build, self._reader, self._now = build, reader, now
        self.report = ImportReport()

    def load(self, source: ImportSource, *, strict: bool, most: int | None, watcher: ImportWatcher) -> None:
        """Take in one source; `most` bounds the pages of this whole import."""
        if strict:
            check(source, self._reader.blocks(source, self._now))
        left = None if most is None else most - self.report.pages
        try:
            for block in self._reader.blocks(source, self._now, pages=left):
                self._build.add(block.pages)
                self.report.pages += len(block.loads)
                self.report.removed += sum(page.is_gone for page in block.pages)
                count_block(self.report, block, source, watcher)
                watcher.moved(self.report, source, block.bytes_read)
        except SourceDamaged as damage:
            self.report.damaged.append(str(damage))

    def finish(self) -> None:
        """Make the index of all that was loaded."""
        built = self._build.finish({}, self._now)
        self.report.changed, self.report.links, self.report.seq = built.pages, built.links, built.seq
        self.report.ignored = self.report.pages - built.pages
