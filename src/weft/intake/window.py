"""The stretch of a source that is looked at: it can be searched, moved forward, and every byte knows its place."""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from zstandard import ZstdError

from weft.intake.unpack.packed_file import Piece


class BytePlace(NamedTuple):
    """A byte: where in the file its member begins, and how many unpacked bytes after that it stands."""

    offset: int
    within: int


class Window:
    """Unpacked bytes from where the window stands up to what was needed so far; a break counts as the end.

    `start` is where the first of `pieces` stands; of a plain file every byte begins a member.
    """

    def __init__(self, pieces: Iterator[Piece], start: BytePlace, *, is_plain: bool) -> None:
        self._pieces, self._is_plain = pieces, is_plain
        # Python deletes from the front of a bytearray without moving the rest.
        self._data = bytearray()
        self._passed = 0
        """Unpacked bytes before the first one in view."""
        self._members = deque([(-start.within, start.offset)])
        self._is_at_end = False
        self.damage: Exception | None = None
        """Why the bytes end where they do, unless that is the end of the file."""

    def reach(self, size: int) -> int:
        """Have that many bytes in view; returns how many there are, which is less only at the end."""
        while len(self._data) < size and not self._is_at_end:
            self._read()
        return len(self._data)

    def _read(self) -> None:
        try:
            piece = next(self._pieces, None)
        except (EOFError, OSError, zlib.error, ZstdError) as error:
            self.damage, piece = error, None
        if piece is None:
            self._is_at_end = True
            return
        if piece.begins is not None:
            self._members.append((self._passed + len(self._data), piece.begins))
        self._data += piece.data

    def cut(self, start: int, end: int) -> bytes:
        """The bytes between `start` and `end`, counted from where the window stands."""
        return bytes(memoryview(self._data)[start:end])

    def match(self, pattern: re.Pattern[bytes], start: int = 0) -> bool:
        return pattern.match(self._data, start) is not None

    def search(self, pattern: re.Pattern[bytes], start: int, end: int) -> tuple[int, int] | None:
        """Where `pattern` stands first between `start` and `end`."""
        found = pattern.search(self._data, start, end)
        return found.span() if found else None

    def advance(self, size: int) -> None:
        """Move forward over bytes that are in view."""
        del self._data[:size]
        self._passed += size
        while len(self._members) > 1 and self._members[1][0] <= self._passed:
            self._members.popleft()

    def skip(self, size: int) -> bool:
        """Move forward over any number of bytes; returns whether there were so many."""
        while size:
            there = min(size, self.reach(1))
            if not there:
                return False
            self.advance(there)
            size -= there
        return True

    def place(self, ahead: int = 0) -> BytePlace:
        """Where the byte stands that is `ahead` bytes from here; no further than what is in view."""
        at = self._passed + ahead
        first, offset = self._members[0]
        for begins, of_file in self._members:
            if begins > at:
                break
            first, offset = begins, of_file
        return BytePlace(offset + at - first, 0) if self._is_plain else BytePlace(offset, at - first)
