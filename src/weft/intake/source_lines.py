"""The lines of a file, numbered, each with its position; no more of a line is held in memory than a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from zstandard import ZstdError

from weft.intake.import_source import ImportSource
from weft.intake.source_position import BEGINNING, SourceDamaged, SourcePosition, SourceUnit, problem_of
from weft.intake.unpack.blocks import blocks
from weft.intake.unpack.packed_file import PackedFile


class SourceLine(NamedTuple):
    """A line without its line feed."""

    number: int
    offset: int
    end: int
    """Where the next line begins."""
    data: bytes | None
    """None when it is longer than the limit."""

    @property
    def position(self) -> SourcePosition:
        return SourcePosition(self.number, self.offset)

    @property
    def after(self) -> SourcePosition:
        """From where to read on when this line is done."""
        return SourcePosition(self.number + 1, self.end)


class SourceLines:
    """The lines of `source` from `start` on; empty ones are left out, but have a number.

    Takes memory for two lines of `limit` bytes. Iterating raises SourceDamaged behind the last whole line.
    """

    def __init__(self, source: ImportSource, limit: int, start: SourcePosition = BEGINNING) -> None:
        self._source, self._limit, self._start = source, limit, start
        self._packed: PackedFile | None = None

    @property
    def bytes_read(self) -> int:
        """How much of the file, as it is stored, was read: comparable to the source's size."""
        return self._packed.bytes_read if self._packed else 0

    def __iter__(self) -> Iterator[SourceLine]:
        line: SourceLine | None = None
        try:
            with self._source.open() as file:
                self._packed = PackedFile(file, self._source.ahead)
                unpacked = blocks(self._packed, self._source.compression, self._start.offset)
                for line in _cut(unpacked, self._limit, self._start):
                    if line.data is None or (line.data and not line.data.isspace()):
                        yield line
        except (EOFError, OSError, zlib.error, ZstdError) as error:
            reached = line.after if line else self._start
            raise SourceDamaged(self._source.name, SourceUnit.LINE, reached, problem_of(error)) from error


class _Unfinished:
    """A line whose end was not read yet: kept up to `limit`, beyond that only measured."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Not a list of pieces: a pipe may give a byte at a time, and an object for each is far more than the limit.
        self._data = bytearray()
        self.length = 0

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        if self.length > self._limit:
            self._data.clear()
        else:
            self._data += piece

    def finish(self, start: SourcePosition, feed: int) -> SourceLine:
        """The line that began at `start` and ends with `feed` bytes of line feed; the next one begins."""
        data = bytes(self._data) if self.length <= self._limit else None
        line = SourceLine(start.number, start.offset, start.offset + self.length + feed, data)
        self._data.clear()
        self.length = 0
        return line


def _cut(unpacked: Iterator[bytes], limit: int, start: SourcePosition) -> Iterator[SourceLine]:
    """All lines, also empty ones."""
    unfinished = _Unfinished(limit)
    for block in unpacked:
        *ended, begun = block.split(b"\n")
        if ended:
            unfinished.add(ended[0])
            line = unfinished.finish(start, feed=1)
            yield line
            offset = line.end
            for number, data in enumerate(ended[1:], line.number + 1):
                end = offset + len(data) + 1
                yield SourceLine(number, offset, end, data if len(data) <= limit else None)
                offset = end
            start = SourcePosition(line.number + len(ended), offset)
        unfinished.add(begun)
    if unfinished.length:
        yield unfinished.finish(start, feed=0)
