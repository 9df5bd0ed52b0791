"""Reads a record back by its position in the archive."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from isal import isal_zlib

from weft.archive.archive_directory import WARC_SUFFIX
from weft.archive.archive_errors import GzipError, RecordUnreadable
from weft.archive.body_decoding import Decoded, DecodeLimits, decode
from weft.archive.cdxj import RecordPosition
from weft.archive.http_message import HttpHead, parse_head, payload_of, split_head
from weft.archive.kept_records import kept_path, present_position
from weft.archive.warc_records import REFERS_TO
from weft.model.original import Original

LARGEST_MEMBER: Final = 1 << 30
_TRIES: Final = 5
_BEGINNING: Final = 64 << 10
"""Bytes, packed and unpacked, that the header of a record lies in."""


@dataclass(frozen=True, slots=True)
class ArchivedResponse:
    """A response as it is kept."""

    url: str
    date: str
    """Of the request, as the record says it."""
    head: HttpHead
    body: bytes
    """Without transfer coding, still in its content encoding."""
    truncated: str
    """Why the body is not whole: length, time, disconnect; empty: it is."""
    is_revisit: bool
    """The payload is that of an earlier fetch: `body` was read there, and is empty after a 304."""
    original: Original
    """The capture that `body` was read from."""

    @property
    def status(self) -> int:
        return self.head.status

    def content(self, limits: DecodeLimits) -> Decoded:
        """The body out of its content encoding; raises BodyRefused."""
        return decode(self.body, self.head.content_encoding, limits)


Packed = bytes | bytearray
"""A record as it lies in its file: a gzip member."""
ReadMember = Callable[[RecordPosition], Packed]
"""Gives a packed record, wherever it lies; raises RecordUnreadable or NodeUnreachable."""


def read_record(directory: Path, position: RecordPosition) -> ArchivedResponse:
    """The response at a position that a result names; raises RecordUnreadable."""
    return response_at(position, partial(read_member_bytes, directory))


def response_at(position: RecordPosition, read: ReadMember) -> ArchivedResponse:
    """The response at a position; raises RecordUnreadable, and what `read` raises."""
    return response_of(parse_record(read(position), position), read)


def response_of(record: WarcRecord, read: ReadMember) -> ArchivedResponse:
    """The response that a record holds, with the payload that it may refer to; raises as `response_at` does."""
    if record.refers_to is None:
        return record.response()
    return record.response(parse_record(read(record.refers_to), record.refers_to))


def is_here(directory: Path, name: str) -> bool:
    """Whether the file lies in this archive, or did until it was pruned. A name that is none of our files lies nowhere
    else either."""
    try:
        return file_path(directory, name).exists() or kept_path(directory, name).exists()
    except RecordUnreadable:
        return True


def read_member_bytes(directory: Path, position: RecordPosition) -> bytes:
    """The packed record, as it lies in its file; raises RecordUnreadable, RecordDropped if that is on purpose."""
    path = file_path(directory, position.file)
    if position.offset < 0 or not 0 < position.length <= LARGEST_MEMBER:
        raise RecordUnreadable(path, f"{position.offset}+{position.length} is no position of a record")
    for _ in range(_TRIES):
        try:
            return _read_at(path, position)
        except FileNotFoundError:
            moved = present_position(directory, position)
            if moved is None:
                break
            # It may be pruned again between these two lines.
            with suppress(FileNotFoundError):
                return _read_at(directory / moved.file, moved)
    raise RecordUnreadable(path, f"cannot be read: {os.strerror(errno.ENOENT)}")


def _read_at(path: Path, position: RecordPosition) -> bytes:
    """Raises FileNotFoundError and RecordUnreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.pread(handle, position.length, position.offset)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RecordUnreadable(path, f"cannot be read: {error.strerror}") from error
    if len(data) != position.length:
        raise RecordUnreadable(path, f"ends before {position.offset}+{position.length}")
    return data


def file_path(directory: Path, name: str) -> Path:
    """A name comes from outside: it must be one of our files in this directory and nothing else."""
    if "/" in name or "\0" in name or name.startswith(".") or not name.endswith(WARC_SUFFIX):
        raise RecordUnreadable(directory, f"{name!r} is not the name of an archive's file")
    return directory / name


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record taken apart."""

    fields: dict[str, str]
    head: HttpHead
    body: bytes
    refers_to: RecordPosition | None

    def response(self, earlier: WarcRecord | None = None) -> ArchivedResponse:
        source = earlier or self
        body = payload_of(source.head, source.body)
        return ArchivedResponse(
            url=self.fields.get("warc-target-uri", ""),
            date=self.fields.get("warc-date", ""),
            head=source.head if earlier else self.head,
            body=bytes(body),
            truncated=self.fields.get("warc-truncated", ""),
            is_revisit=self.fields.get("warc-type") == "revisit",
            original=source.name(),
        )

    def name(self) -> Original:
        """How others refer to this record."""
        record, url, date = (self.fields.get(name, "") for name in ("warc-record-id", "warc-target-uri", "warc-date"))
        return Original(record, url, date, self.fields.get("warc-payload-digest", "").removeprefix("sha1:"))


def parse_record(member: Packed, position: RecordPosition) -> WarcRecord:
    """Unpack a response or revisit record; raises RecordUnreadable."""
    try:
        record = isal_zlib.decompress(member, 31)
    except GzipError as error:
        raise RecordUnreadable(position.file, f"the record at {position.offset} is damaged: {error}") from error
    warc_head, rest = split_head(record)
    fields = dict(parse_head(warc_head).fields)
    if not record.startswith(b"WARC/1.") or fields.get("warc-type") not in ("response", "revisit"):
        raise RecordUnreadable(position.file, f"the record at {position.offset} holds no response")
    try:
        http_head, body = split_head(rest[: int(fields.get("content-length", 0))])
        return WarcRecord(fields, parse_head(http_head), body, _refers_to(fields))
    except (KeyError, ValueError) as error:
        raise RecordUnreadable(position.file, f"the record at {position.offset} has a bad field: {error}") from error


def earlier_record(member: Packed) -> RecordPosition | None:
    """Which record this one repeats, by its beginning: the rest may unpack to anything, and stays packed.

    None as well if the beginning is damaged: whoever unpacks the record finds out.
    """
    try:
        beginning = isal_zlib.decompressobj(31).decompress(memoryview(member)[:_BEGINNING], _BEGINNING)
        return _refers_to(dict(parse_head(split_head(beginning)[0]).fields))
    except (GzipError, KeyError, ValueError):
        return None


def _refers_to(fields: dict[str, str]) -> RecordPosition | None:
    if not fields.get("warc-profile", "").endswith("identical-payload-digest"):
        return None
    file, offset, length = fields[REFERS_TO.lower()].split()
    return RecordPosition(file, int(offset), int(length))
