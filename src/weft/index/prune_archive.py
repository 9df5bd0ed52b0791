"""Which captures the archive keeps: what the index needs, and of the rest as much as `[archive]` says.

Needed is every record that the control plane or the index names, and every record that one of these repeats. The order
matters: files first (of those that are complete, all records are reported), then the control plane, then the index. A
record of these files that the index names later is one that the control plane named by then.
"""

from __future__ import annotations

import logging
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from weft.archive import cdxj
from weft.archive.archive_directory import OUR_FILES
from weft.archive.archive_errors import RecordUnreadable
from weft.archive.cdxj import RecordPosition
from weft.archive.compaction import Listed, clear_leftovers, compact, complete_files, listed, pruning
from weft.archive.kept_records import KeptRecords, MovedRecord, kept_path, written_name
from weft.archive.record_reader import earlier_record, read_member_bytes
from weft.config.sections import ArchiveSettings
from weft.dispatcher.domain_work import domains
from weft.dispatcher.link_records import DOMAIN_ROW, LINK
from weft.linkindex.external_sort import ExternalSort
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import WarcPosition
from weft.store.api import Reader
from weft.store.tables import Table

log = logging.getLogger(__name__)

WORTH: Final = 0.25
"""A file is copied without being asked for only if this share of it goes: so all copying costs three times what is
dropped at most."""
_AROUND: Final = 400
"""Bytes of a request and what else goes with a response, on average; exact once a file was pruned."""
_UNLISTED: Final = 700
_DAY: Final = 86_400_000
_PAGE: Final = 10_000
_SORT_BYTES: Final = 64 << 20
_NO_FILE: Final = 2**32 - 1

_GOES, _MAY_GO, _NEEDED = 0, 1, 2
"""What is decided of a capture: by its age or number it goes; only for its size it goes; it stays."""


class Pruned(msgspec.Struct, kw_only=True):
    """What was dropped, or would be."""

    captures: int = 0
    """Dropped, without 304s."""
    files: int = 0
    """Rewritten or removed."""
    freed: int = 0
    size: int = 0
    """Bytes of the archive now, or then."""
    needed: int = 0
    """Captures that stay because the index needs them, though the settings let them go."""
    problems: list[str] = []


class Needed:
    """Positions by file, as the records were written."""

    def __init__(self) -> None:
        self._offsets: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))

    def add(self, file: str, offset: int) -> None:
        if offset >= 0:
            self._offsets[file].append(offset)

    def of(self, file: str) -> set[int]:
        return set(self._offsets.get(file, ()))


class _Positions(msgspec.Struct, frozen=True):
    """The part of a link's record that says where its captures lie."""

    position: WarcPosition | None = None
    decided_position: WarcPosition | None = None


_positions: Final = msgspec.msgpack.Decoder(_Positions).decode


def needed_by(mgmt: OperatorCalls, open_reader: Callable[[], AbstractContextManager[Reader]]) -> Needed:
    """What the control plane names now, and the index after that; `open_reader` opens the index as it is then."""
    needed, after = Needed(), 0
    while page := mgmt.archived(after, _PAGE):
        for record in page:
            needed.add(record.file, record.offset)
        after = page[-1].doc_id
    with open_reader() as reader:
        for domain in domains(reader):
            for cell in reader.scan(Table.LINKS, DOMAIN_ROW + domain, LINK):
                found = _positions(cell.value)
                for at in (found.position, found.decided_position):
                    if at is not None:
                        needed.add(at.file, at.offset)
    return needed


class _File:
    """A complete file, and what is decided of its captures, in the order of its index."""

    def __init__(self, path: Path) -> None:
        self.path, self.written = path, written_name(path.name)
        found = path.stat()
        self.size, self.ended = found.st_size, _timestamp(found.st_mtime * 1000)
        self.decided = bytearray([_MAY_GO]) * sum(1 for _ in self.captures())
        self.unlisted: set[int] = set()
        """Offsets of needed records that its index does not list."""
        self.around = _AROUND
        if records := self._records():
            self.around = max(0, self.size - sum(one.length for one in records)) // len(records)

    def captures(self) -> Iterator[Listed]:
        return listed(cdxj.index_of(self.path))

    def staying(self, least: int) -> list[Listed]:
        return [one for one, decided in zip(self.captures(), self.decided, strict=True) if decided >= least]

    def keep(self, wanted: set[int]) -> None:
        """The records that were written at these offsets are needed."""
        if self.written != self.path.name:
            wanted = {one.now for one in self._records() if one.offset in wanted}
        for number, one in enumerate(self.captures()):
            if one.offset in wanted:
                self.decided[number] = _NEEDED
                wanted.discard(one.offset)
        self.unlisted = wanted

    def _records(self) -> list[MovedRecord]:
        """Of a file that was pruned before: what stayed, and where it was written to first."""
        return (
            []
            if self.written == self.path.name
            else KeptRecords.read(kept_path(self.path.parent, self.path.name)).records
        )


def prune_archive(
    directory: Path,
    settings: ArchiveSettings,
    find_needed: Callable[[], Needed],
    workplace: Path,
    now: int,
    *,
    worth: float = WORTH,
    is_dry: bool = False,
) -> Pruned:
    """Drop what need not be kept, the oldest first; `worth` is the share of a file that must go to rewrite it.

    Raises ArchiveError if another process does so now, and ArchiveUnwritable. May be killed at any moment.
    """
    if not directory.is_dir():
        return Pruned()
    with pruning(directory):
        if not is_dry:
            clear_leftovers(directory)
        return _Pruning(directory, settings, workplace, now, worth, is_dry=is_dry).run(find_needed)


class _Pruning:
    def __init__(
        self, directory: Path, settings: ArchiveSettings, workplace: Path, now: int, worth: float, *, is_dry: bool
    ) -> None:
        self._directory, self._settings, self._workplace = directory, settings, workplace
        self._now, self._worth, self._is_dry = now, worth, is_dry
        self._since = _timestamp(now - settings.keep_days * _DAY) if settings.keep_days else ""
        self._done = Pruned(size=archive_bytes(directory))

    def run(self, find_needed: Callable[[], Needed]) -> Pruned:
        files = [_File(path) for path in complete_files(self._directory)]
        if not self._may_drop(files):
            return self._done
        needed = find_needed()
        if self._settings.keep_captures:
            self._by_number(files)
        self._keep_needed(files, needed)
        self._drop(files)
        if not self._is_dry:
            self._done.size = archive_bytes(self._directory)
        self._done.needed = sum(file.decided.count(_NEEDED) for file in files)
        return self._done

    def _may_drop(self, files: list[_File]) -> bool:
        """Whether it is worth finding out what is needed."""
        oldest = min((one.timestamp for file in files[:1] for one in file.captures()), default="")
        is_old = bool(files) and oldest < self._since
        return is_old or self._is_over(0) or bool(files and self._settings.keep_captures)

    def _by_number(self, files: list[_File]) -> None:
        """Of each page, captures beyond the newest ones go. Files that are being written count, too."""
        complete = {file.path.name: number for number, file in enumerate(files)}
        with ExternalSort(self._workplace, _SORT_BYTES) as sorting:
            for warc in sorted(self._directory.glob(OUR_FILES)):
                number = complete.get(warc.name, _NO_FILE)
                lines = chain(listed(cdxj.index_of(warc)), listed(cdxj.part_of(warc)) if number == _NO_FILE else ())
                for line, one in enumerate(lines):
                    newest_first = (10**15 - int(one.timestamp or 0)).to_bytes(8, "big")
                    place = number.to_bytes(4, "big") + line.to_bytes(4, "big")
                    sorting.add(blake2b(one.key, digest_size=8).digest() + newest_first + place)
            page, rank = b"", 0
            for record in sorting:
                rank = rank + 1 if record[:8] == page else 1
                page = record[:8]
                number = int.from_bytes(record[16:20], "big")
                if rank > self._settings.keep_captures and number != _NO_FILE:
                    files[number].decided[int.from_bytes(record[20:], "big")] = _GOES

    def _keep_needed(self, files: list[_File], needed: Needed) -> None:
        """Decide by age, then keep what is needed, and what is repeated by whatever stays."""
        for file in files:
            for number, one in enumerate(file.captures()):
                if one.timestamp < self._since:
                    file.decided[number] = _GOES
            file.keep(needed.of(file.written))
        for file in files:
            for number, one in enumerate(file.captures()):
                if one.is_revisit and file.decided[number]:
                    self._keep_repeated(file.path.name, one, needed)
        complete = {file.path for file in files}
        for warc in set(self._directory.glob(OUR_FILES)) - complete:
            for one in chain(listed(cdxj.part_of(warc)), listed(cdxj.index_of(warc))):
                if one.is_revisit:
                    self._keep_repeated(warc.name, one, needed)
        for file in files:
            file.keep(needed.of(file.written))

    def _keep_repeated(self, name: str, revisit: Listed, needed: Needed) -> None:
        at = RecordPosition(name, revisit.offset, revisit.length)
        try:
            repeated = earlier_record(read_member_bytes(self._directory, at))
        except RecordUnreadable:
            return  # whoever copies its file finds out
        if repeated is not None:
            needed.add(repeated.file, repeated.offset)

    def _drop(self, files: list[_File]) -> None:
        by_policy = {file.path: self._worthwhile(file, _MAY_GO) for file in files}
        pending = sum(by_policy.values())
        left = []
        for file in files:
            pending -= by_policy[file.path]
            # What goes by age or number may make enough room.
            least = _NEEDED if self._is_over(pending + by_policy[file.path]) else _MAY_GO
            if self._worthwhile(file, least):
                self._rewrite(file, least)
            else:
                left.append(file)
        for file in left:
            if self._is_over(0) and self._savings(file, _NEEDED):
                self._rewrite(file, _NEEDED)

    def _is_over(self, pending: int) -> bool:
        return 0 < self._settings.keep_bytes < self._done.size - pending

    def _worthwhile(self, file: _File, least: int) -> int:
        savings = self._savings(file, least)
        return savings if savings >= self._worth * file.size else 0

    def _savings(self, file: _File, least: int) -> int:
        """Bytes, by estimate: how large requests and 304s are is not known before the file was copied once."""
        stays = goes = going = 0
        around = file.around
        for one, decided in zip(file.captures(), file.decided, strict=True):
            if decided >= least:
                stays += one.length + around
            else:
                goes, going = goes + one.length + around, going + 1
        if self._keeps_unlisted(least, file.ended):
            return min(goes, file.size)
        rest = max(0, file.size - stays - len(file.unlisted) * _UNLISTED)
        return rest if going or rest > file.size // 10 else 0

    def _keeps_unlisted(self, least: int, timestamp: str) -> bool:
        """Whether a 304 stays that nobody needs. It confirms a capture; where those are counted it is none."""
        return least == _MAY_GO and not self._settings.keep_captures and timestamp >= self._since

    def _rewrite(self, file: _File, least: int) -> None:
        self._done.files += 1
        going = sum(decided < least for decided in file.decided)
        if self._is_dry:
            lines = cdxj.index_of(file.path).stat().st_size
            freed = self._savings(file, least) + lines * going // max(1, len(file.decided))
        else:
            keep = {one.offset for one in file.staying(least)} | file.unlisted
            try:
                freed = compact(file.path, keep, lambda moment: self._keeps_unlisted(least, moment), self._now)
            except RecordUnreadable as error:
                log.error("%s", error)
                self._done.files -= 1
                self._done.problems.append(str(error))
                return
            log.info("pruned file=%s captures=%d freed=%d", file.path.name, going, freed)
        self._done.captures += going
        self._done.freed += freed
        self._done.size -= freed


def _timestamp(moment: float) -> str:
    """As an index has it, of milliseconds since 1970."""
    return f"{datetime.fromtimestamp(max(0, moment) / 1000, UTC):%Y%m%d%H%M%S}"


def archive_bytes(directory: Path) -> int:
    """All records and their indexes."""
    return sum(_size(file) for file in directory.glob("weft-*"))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # it went meanwhile
