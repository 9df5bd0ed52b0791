"""Walking over the gzip members of a WARC file, also of one that was torn or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from isal import isal_zlib

from weft.archive.archive_errors import GzipError

_READ: Final = 256 << 10
_MAGIC: Final = b"\x1f\x8b\x08"
_LARGEST: Final = 1 << 30
"""A record is never larger after unpacking; beyond that it is damage."""


@dataclass(frozen=True, slots=True)
class Member:
    offset: int
    length: int
    record: bytes


class NotWhole(Exception):  # noqa: N818 - an answer, not a fault
    """There is no whole member at this place."""


def members(file: BinaryIO, start: int = 0) -> Iterator[Member]:
    """Every whole member from `start` on; damaged stretches are passed over."""
    at: int | None = start
    while at is not None:
        try:
            member = read_member(file, at)
        except NotWhole:
            at = _next_magic(file, at + 1)
        else:
            yield member
            at += member.length


def read_member(file: BinaryIO, offset: int) -> Member:
    """The member at `offset`, its check sum tested; raises NotWhole."""
    file.seek(offset)
    decoder = isal_zlib.decompressobj(31)
    parts, size, taken = [], 0, 0
    while not decoder.eof:
        data = file.read(_READ)
        if not data or size > _LARGEST:
            raise NotWhole
        try:
            part = decoder.decompress(data)
        except GzipError as error:
            raise NotWhole from error
        parts.append(part)
        size, taken = size + len(part), taken + len(data)
    record = b"".join(parts)
    if not record.startswith(b"WARC/"):
        raise NotWhole
    return Member(offset, taken - len(decoder.unused_data), record)


def _next_magic(file: BinaryIO, start: int) -> int | None:
    at, before = start, b""
    file.seek(start)
    while data := file.read(_READ):
        found = (before + data).find(_MAGIC)
        if found >= 0:
            return at - len(before) + found
        before = (before + data)[-len(_MAGIC) + 1 :]
        at += len(data)
    return None
