"""Repairs what a process that was killed left behind: cuts torn tails, and writes the index of unfinished files."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from weft.archive import archive_directory, cdxj
from weft.archive.cdxj import REVISIT, Capture, RecordPosition
from weft.archive.http_message import parse_head, split_head
from weft.archive.members import Member, members

log = logging.getLogger(__name__)

_NOT_WORTH_KEEPING: Final = 64 << 20
"""A file that was killed while its first records were written holds no response."""


class Recovered(NamedTuple):
    file: str
    records: int
    cut: int
    """Bytes of a torn tail."""


def recover(path: Path) -> list[Recovered]:
    """Finish every file of this directory that nobody writes any more; raises ArchiveUnwritable."""
    try:
        with archive_directory.locked(path):
            found = [_finish(warc) for warc in sorted(path.glob(archive_directory.OUR_FILES)) if _is_unfinished(warc)]
    except OSError as error:
        raise archive_directory.unwritable(path, error) from error
    return [one for one in found if one is not None]


def _is_unfinished(warc: Path) -> bool:
    return not cdxj.index_of(warc).exists()


def _finish(warc: Path) -> Recovered | None:
    with warc.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None  # it is being written
        lines, known = _known_lines(warc)
        records, end = len(lines), known
        for member in members(file, known):
            _warn_of_gap(warc, end, member)
            end = member.offset + member.length
            capture = capture_of(member.record)
            if capture is None:
                continue
            records += 1
            if capture.is_listed:
                lines.append(cdxj.line(capture, RecordPosition(warc.name, member.offset, member.length)))
        if not records and file.seek(0, os.SEEK_END) > _NOT_WORTH_KEEPING:
            # Not what a kill leaves behind: somebody should look at it before anything is thrown away.
            log.error("no whole record found, left as it is file=%s", warc.name)
            return None
        cut = _cut(file, end)
        if cut:
            log.warning("torn tail cut file=%s bytes=%d", warc.name, cut)
        _leave(warc, lines if records else None)
        return Recovered(warc.name, records, cut)


def _leave(warc: Path, lines: list[bytes] | None) -> None:
    """Write the index; without a response (None) the file goes."""
    if lines is None:
        warc.unlink()
    else:
        cdxj.write_index(warc, lines)
    cdxj.part_of(warc).unlink(missing_ok=True)
    archive_directory.sync_directory(warc.parent)


def _known_lines(warc: Path) -> tuple[list[bytes], int]:
    """Index lines of records that were synced, and where the last of them ends: no need to read those again."""
    try:
        data = cdxj.part_of(warc).read_bytes()
        lines = [line for line in data.splitlines(keepends=True) if line.endswith(b"\n")]
        places = [cdxj.offset_and_length(line) for line in lines]
    except (OSError, ValueError, KeyError):
        return [], 0
    if not places or places != sorted(places) or sum(places[-1]) > warc.stat().st_size:
        return [], 0
    return lines, sum(places[-1])


def _warn_of_gap(warc: Path, end: int, member: Member) -> None:
    if member.offset != end:
        log.error("damaged stretch kept file=%s from=%d to=%d", warc.name, end, member.offset)


def _cut(file: BinaryIO, end: int) -> int:
    size = file.seek(0, os.SEEK_END)
    if size > end:
        file.truncate(end)
        file.flush()
    os.fsync(file.fileno())
    return size - end


def capture_of(record: bytes) -> Capture | None:
    """What the index may say of a record; None where it says nothing."""
    warc_head, rest = split_head(record)
    fields = dict(parse_head(warc_head).fields)
    kind = fields.get("warc-type")
    if kind not in ("response", "revisit"):
        return None
    head = parse_head(split_head(rest)[0])
    mime = REVISIT if kind == "revisit" else head.content_type.partition(";")[0]
    moment = "".join(_digits(fields.get("warc-date", "")))[:14]
    digest = fields.get("warc-payload-digest", "").removeprefix("sha1:")
    return Capture(fields.get("warc-target-uri", ""), moment, mime, head.status, digest)


def _digits(text: str) -> Iterator[str]:
    return (character for character in text if character.isdigit())
