"""Drops records of a complete file: what stays is copied, byte for byte, to a file that then takes its place.

One step follows the other, and a kill between any two loses nothing: the copy is durable, it has an index, `NAME.kept`
names it (from here on readers find the copy once the file is gone), the file's index goes, the file goes.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from weft import __version__, failpoints
from weft.archive import archive_directory, cdxj
from weft.archive.archive_errors import ArchiveError, RecordUnreadable
from weft.archive.crash_recovery import capture_of
from weft.archive.http_message import parse_head, split_head
from weft.archive.kept_records import NEW, KeptRecords, MovedRecord, kept_path, next_name, written_name
from weft.archive.members import members
from weft.archive.warc_records import warcinfo

log = logging.getLogger(__name__)

_LOCK: Final = "prune.lock"
_OURS: Final = "weft-*"


class Listed(NamedTuple):
    """A line of an index."""

    key: bytes
    """What is the same for all captures of a page."""
    timestamp: str
    offset: int
    length: int
    is_revisit: bool


class _Fields(msgspec.Struct, frozen=True):
    offset: str
    length: str
    mime: str


_fields: Final = msgspec.json.Decoder(_Fields).decode


def listed(index: Path) -> Iterator[Listed]:
    """The captures in an index, also in that of a file which is being written; none if there is no index."""
    try:
        data = index.read_bytes()
    except FileNotFoundError:
        return
    for line in data.splitlines(keepends=True):
        # The last one may be half written.
        if line.endswith(b"\n"):
            key, timestamp, rest = line.split(b" ", 2)
            fields = _fields(rest)
            is_revisit = fields.mime == cdxj.REVISIT
            yield Listed(key, timestamp.decode(), int(fields.offset), int(fields.length), is_revisit)


@contextmanager
def pruning(directory: Path) -> Iterator[None]:
    """One process at a time drops records; raises ArchiveError if another one does."""
    handle = os.open(directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArchiveError(directory, "another process is pruning it") from None
        yield
    finally:
        os.close(handle)


def complete_files(directory: Path) -> list[Path]:
    """Files that nobody writes any more and whose records are all reported, the oldest first."""
    return [warc for warc in sorted(directory.glob(archive_directory.OUR_FILES)) if _is_complete(warc)]


def _is_complete(warc: Path) -> bool:
    if not cdxj.index_of(warc).exists():
        return False
    try:
        handle = os.open(warc, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def clear_leftovers(directory: Path) -> None:
    """Finish, or take back, what a killed process left behind. Only inside `pruning`."""
    for part in directory.glob(f"{_OURS}{archive_directory.WARC_SUFFIX}{NEW}"):
        part.unlink()
    with archive_directory.locked(directory):
        for warc in sorted(directory.glob(archive_directory.OUR_FILES)):
            original = written_name(warc.name)
            try:
                kept = KeptRecords.file_named_in(kept_path(directory, warc.name))
            except FileNotFoundError:
                kept = original  # a copy that nothing names was never finished
            except RecordUnreadable as error:
                log.error("%s; the file is left as it is", error)
                continue
            if warc.name != kept and (not kept or (directory / kept).exists()):
                _remove(warc)


def compact(warc: Path, keep: Collection[int], keeps_unlisted: Callable[[str], bool], now: int) -> int:
    """Drop all responses and revisits but those at the offsets in `keep`; returns how many bytes are free now.

    Of those that no index lists (304s) the ones stay whose timestamp `keeps_unlisted`. Requests and notes go with their
    response. Raises RecordUnreadable if a record that must stay is not there: then nothing is dropped.
    """
    directory = warc.parent
    try:
        was = _with_index(warc)
        moved = _copied(warc, keep, keeps_unlisted, now)
        failpoints.point("archive.copied")
        with archive_directory.locked(directory):
            left = _put_in_place(warc, moved)
    except OSError as error:
        with suppress(OSError):
            _aside(warc).unlink(missing_ok=True)
        raise archive_directory.unwritable(warc, error) from error
    return was - left


_Moved = dict[int, MovedRecord]
"""What was copied, by its offset in the file that it was copied from."""


def _copied(warc: Path, keep: Collection[int], keeps_unlisted: Callable[[str], bool], now: int) -> _Moved:
    written = _written_offsets(warc)
    moved: _Moved = {}
    about = [("software", f"weft/{__version__}"), ("format", "WARC File Format 1.1"), ("isPartOf", warc.name)]
    with warc.open("rb") as source, _aside(warc).open("wb") as target:
        target.write(warcinfo(next_name(warc.name), about, now))
        request, is_kept = b"", False
        for member in members(source):
            kind = _kind(member.record)
            if kind == "request":
                request, is_kept = _bytes_at(source, member.offset, member.length), False
            elif kind in ("response", "revisit"):
                capture = capture_of(member.record)
                is_unlisted = capture is not None and not capture.is_listed
                is_kept = member.offset in keep or (is_unlisted and keeps_unlisted(capture.timestamp))  # type: ignore[union-attr]
                if is_kept:
                    target.write(request)
                    offset = written.get(member.offset, member.offset)
                    moved[member.offset] = MovedRecord(offset, target.tell(), member.length)
                    target.write(_bytes_at(source, member.offset, member.length))
                request = b""
            elif kind == "metadata" and is_kept:
                target.write(_bytes_at(source, member.offset, member.length))
        missing = [offset for offset in keep if offset not in moved]
        if missing:
            _aside(warc).unlink()
            raise RecordUnreadable(warc, f"the record at {missing[0]} is needed and cannot be read; nothing is dropped")
        target.flush()
        os.fsync(target.fileno())
    return moved


def _put_in_place(warc: Path, moved: _Moved) -> int:
    """The bytes that are left."""
    directory, left = warc.parent, 0
    target = directory / next_name(warc.name) if moved else None
    if target is None:
        _aside(warc).unlink()
    else:
        _aside(warc).replace(target)
        cdxj.write_index(target, _moved_lines(warc, target.name, moved))
        left = _with_index(target)
        archive_directory.sync_directory(directory)
    failpoints.point("archive.indexed")
    KeptRecords(target.name if target else "", list(moved.values())).write(kept_path(directory, warc.name))
    failpoints.point("archive.switched")
    _remove(warc)
    return left


def _with_index(warc: Path) -> int:
    return warc.stat().st_size + cdxj.index_of(warc).stat().st_size


def _remove(warc: Path) -> None:
    cdxj.index_of(warc).unlink(missing_ok=True)
    failpoints.point("archive.unlisted")
    warc.unlink()
    archive_directory.sync_directory(warc.parent)
    failpoints.point("archive.removed")


def _moved_lines(warc: Path, name: str, moved: _Moved) -> Iterator[bytes]:
    for line in cdxj.index_of(warc).read_bytes().splitlines():
        key, timestamp, rest = line.split(b" ", 2)
        fields = json.loads(rest)
        found = moved.get(int(fields["offset"]))
        if found is not None:
            fields |= {"offset": str(found.now), "filename": name}
            yield b"%b %b %b\n" % (key, timestamp, json.dumps(fields).encode())


def _written_offsets(warc: Path) -> dict[int, int]:
    """For a file that was pruned before: where its records were written to first."""
    if written_name(warc.name) == warc.name:
        return {}
    return {record.now: record.offset for record in KeptRecords.read(kept_path(warc.parent, warc.name)).records}


def _kind(record: bytes) -> str:
    return dict(parse_head(split_head(record)[0]).fields).get("warc-type", "")


def _bytes_at(file: BinaryIO, offset: int, length: int) -> bytes:
    return os.pread(file.fileno(), length, offset)


def _aside(warc: Path) -> Path:
    return warc.with_name(f"{next_name(warc.name)}{NEW}")
