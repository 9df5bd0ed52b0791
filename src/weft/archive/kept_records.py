"""Where the records lie that stayed of a file that was pruned: positions that others hold never change.

`NAME.kept` stands in place of `NAME.warc.gz`. It names the file that has the records now, and for each record where it
was and where it is. A record that it does not list was dropped on purpose.
"""

from __future__ import annotations

import mmap
import os
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from weft.archive.archive_directory import WARC_SUFFIX, sync_directory
from weft.archive.archive_errors import RecordDropped, RecordUnreadable
from weft.archive.cdxj import RecordPosition

SUFFIX: Final = ".kept"
NEW: Final = ".new"
"""Ends the name of a file that is being written."""
_ENTRY: Final = 24
_LONGEST_HEAD: Final = 4096
_PRUNED: Final = re.compile(rf"(?P<name>.+)\.r(?P<number>\d+){re.escape(WARC_SUFFIX)}")


class MovedRecord(NamedTuple):
    """A response or revisit that stayed. Sorted, they are in the order in which they were written."""

    offset: int
    """In the file that it was written to: whoever refers to the record knows this one."""
    now: int
    """In the file that has it now."""
    length: int


class _Head(msgspec.Struct, frozen=True):
    file: str
    """Name of the file that has the records; empty: none stayed."""


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """What stayed of one file."""

    file: str
    records: list[MovedRecord]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises OSError, and RecordUnreadable if it is damaged."""
        data = path.read_bytes()
        head, start = _head(path, data)
        if (len(data) - start) % _ENTRY:
            raise RecordUnreadable(path, "is damaged")
        return cls(head.file, [_entry(data, start, number) for number in range((len(data) - start) // _ENTRY)])

    @staticmethod
    def file_named_in(path: Path) -> str:
        """Raises FileNotFoundError, and RecordUnreadable if it is damaged."""
        with path.open("rb") as file:
            return _head(path, file.read(_LONGEST_HEAD))[0].file

    def write(self, path: Path) -> None:
        """It is there whole or not at all, and survives a power cut."""
        aside = path.with_name(f"{path.name}{NEW}")
        with aside.open("wb") as file:
            file.write(msgspec.json.encode(_Head(self.file)) + b"\n")
            file.writelines(_packed(self.records))
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_directory(path.parent)


def kept_path(directory: Path, name: str) -> Path:
    """Of the file that records were written to."""
    return directory / (written_name(name).removesuffix(WARC_SUFFIX) + SUFFIX)


def written_name(name: str) -> str:
    """Name of the file to which the records of a file were written first: its own, unless it was pruned."""
    found = _PRUNED.fullmatch(name)
    return f"{found['name']}{WARC_SUFFIX}" if found else name


def next_name(name: str) -> str:
    """Name of the file that takes what stays of this one."""
    found = _PRUNED.fullmatch(name)
    number = int(found["number"]) + 1 if found else 1
    return f"{written_name(name).removesuffix(WARC_SUFFIX)}.r{number}{WARC_SUFFIX}"


def present_position(directory: Path, position: RecordPosition) -> RecordPosition | None:
    """Where a record lies now whose file is not there; None: nothing is known of that file.

    Raises RecordDropped if the record was dropped on purpose, and RecordUnreadable if that cannot be read.
    """
    path = kept_path(directory, position.file)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            head, start = _head(path, data)
            count = (len(data) - start) // _ENTRY
            at = bisect_left(range(count), position.offset, key=lambda number: _entry(data, start, number).offset)
            found = _entry(data, start, at) if at < count else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecordUnreadable(path, f"cannot be read: {error}") from error
    if found is None or (found.offset, found.length) != (position.offset, position.length):
        raise RecordDropped(position.file, position.offset)
    return RecordPosition(head.file, found.now, found.length)


def _head(path: Path, data: bytes | mmap.mmap) -> tuple[_Head, int]:
    end = data.find(b"\n", 0, _LONGEST_HEAD) + 1
    try:
        return msgspec.json.decode(data[:end], type=_Head), end
    except msgspec.DecodeError as error:
        raise RecordUnreadable(path, "is damaged") from error


def _entry(data: bytes | mmap.mmap, start: int, number: int) -> MovedRecord:
    at = start + number * _ENTRY
    return MovedRecord(*(int.from_bytes(data[at + n : at + n + 8], "big") for n in (0, 8, 16)))


def _packed(records: Iterable[MovedRecord]) -> Iterable[bytes]:
    return (b"".join(number.to_bytes(8, "big") for number in record) for record in sorted(records))
