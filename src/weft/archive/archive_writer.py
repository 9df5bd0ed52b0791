"""Writes exchanges to the archive and returns the positions of the durable records."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from weft import __version__, failpoints
from weft.archive import archive_directory, cdxj
from weft.archive.cdxj import RecordPosition
from weft.archive.warc_file import WarcFile
from weft.archive.warc_records import EarlierRecord, Exchange, RenderedRecords, render, warcinfo
from weft.clock import Clock, SystemClock

MOST_RECORDS: Final = 600_000
"""In one file, whatever its size: its index is sorted in memory."""

_CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    roll_bytes: int = 1 << 30
    """Size at which a file is finished and the next one begun."""
    roll_seconds: float = 0
    """Age at which it is; 0: however old it is."""
    remembered: int = 50_000
    """URLs whose last record is known, so that an identical response becomes a revisit."""
    user_agent: str = ""
    """Stands in every file's first record."""


class ArchiveWriter:
    """One per process and directory; any number of processes may write to one directory, each its own files."""

    def __init__(self, path: Path, options: ArchiveOptions | None = None, clock: Clock | None = None) -> None:
        self.path, self._options, self._clock = path, options or ArchiveOptions(), clock or SystemClock()
        archive_directory.prepare(path)
        self._file: WarcFile | None = None
        self._serial = self._began = 0
        self._rolled: list[WarcFile] = []
        self._earlier: dict[str, EarlierRecord] = {}
        self.stored_bytes = 0
        """Of all records that are safe, as they lie in the files."""
        self._tag = f"{os.getpid()}-{secrets.token_hex(3)}"

    def render(self, exchange: Exchange) -> RenderedRecords:
        """The records of an exchange, ready to be stored."""
        earlier = self._earlier.get(exchange.url)
        if earlier is not None and not (self.path / earlier.position.file).exists():
            del self._earlier[exchange.url]  # somebody removed it
            earlier = None
        return render(exchange, earlier)

    def store(self, given: Sequence[RenderedRecords | Exchange]) -> list[RecordPosition]:
        """Append and sync; the records are safe when this returns, in the order given.

        Raises ArchiveUnwritable: then none of them counts, and the caller stores them again.
        """
        try:
            stored = [self._append(one) for one in given]
            self._written_out()
            failpoints.point("archive.written")
            if self._file is not None:
                self._file.sync()
        except OSError as error:
            self._give_up()
            raise archive_directory.unwritable(self.path, error) from error
        for rendered, position, size in stored:
            self._remember(rendered, position)
            self.stored_bytes += size
        return [position for _, position, _ in stored]

    def take_rolled(self) -> list[WarcFile]:
        """Files that are complete since the last call, for the caller to release.

        They must not be pruned as long as nobody else knows of their records, and as long as records may come that
        were rendered before and repeat one of theirs.
        """
        rolled, self._rolled = self._rolled, []
        return rolled

    def close(self) -> None:
        """Finish the current file; raises ArchiveUnwritable, and then the next start finishes it."""
        for file in self.take_rolled():
            file.release()
        if self._file is None:
            return
        try:
            self._file.finish()
        except OSError as error:
            self._give_up()
            raise archive_directory.unwritable(self.path, error) from error
        self._file.release()
        self._file = None

    def _append(self, one: RenderedRecords | Exchange) -> tuple[RenderedRecords, RecordPosition, int]:
        file = self._current()
        rendered = self.render(one) if isinstance(one, Exchange) else one
        positions = [file.append(member) for member in rendered.members]
        position = positions[rendered.main]
        if rendered.capture.is_listed:
            file.add_line(cdxj.line(rendered.capture, position))
        return rendered, position, sum(each.length for each in positions)

    def _written_out(self) -> None:
        if self._file is not None:
            self._file.write_out()

    def _current(self) -> WarcFile:
        file = self._file
        if file is not None and self._is_complete(file):
            file.finish()
            self._rolled.append(file)
            self._file = file = None
        if file is None:
            self._file = file = self._begin()
        return file

    def _is_complete(self, file: WarcFile) -> bool:
        options = self._options
        age = abs(self._clock.now() - self._began) / 1000
        is_old = 0 < options.roll_seconds <= age
        return is_old or file.size >= options.roll_bytes or file.records >= MOST_RECORDS

    def _begin(self) -> WarcFile:
        self._began = now = self._clock.now()
        # From now on records repeat those of this file alone: which of an older one are needed does not change.
        self._earlier.clear()
        moment = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%d%H%M%S")
        self._serial += 1
        name = f"weft-{moment}-{self._serial:05d}-{self._tag}{archive_directory.WARC_SUFFIX}"
        about = [
            ("software", f"weft/{__version__}"),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", _CONFORMS_TO),
            ("robots", "obey"),
        ]
        if self._options.user_agent:
            about.append(("http-header-user-agent", self._options.user_agent))
        with archive_directory.locked(self.path):
            file = WarcFile(self.path / name, warcinfo(name, about, now))
        archive_directory.sync_directory(self.path)
        return file

    def _give_up(self) -> None:
        if self._file is not None:
            self._file.give_up()
            self._file = None

    def _remember(self, rendered: RenderedRecords, position: RecordPosition) -> None:
        url, status = rendered.capture.url, rendered.capture.status
        if rendered.is_whole:
            # After a 404 the same page is stored in full: a reader of the archive no longer has it.
            self._earlier.pop(url, None)
        if not rendered.is_whole or status != 200:
            return
        self._earlier[url] = EarlierRecord(rendered.original, position, rendered.is_chunked)
        if len(self._earlier) > self._options.remembered:
            del self._earlier[next(iter(self._earlier))]
