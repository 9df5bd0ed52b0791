"""A file as it is stored, and the pieces that it unpacks to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from zstandard import ZstdCompressionDict

from weft.intake.unpack.compression import MAGIC_BYTES

BLOCK: Final = 1 << 20
"""Bytes of a piece, about."""


class Piece(NamedTuple):
    """Some unpacked bytes, and where in the file the member begins that begins with them; None: inside of one.

    A member is what can be unpacked without knowing what came before: a gzip member, a zstd frame, any plain byte.
    """

    data: bytes
    begins: int | None


class PackedFile:
    """A file as it is stored, and how much of it was read."""

    def __init__(self, file: BinaryIO, ahead: bytes = b"") -> None:
        self._file = file
        self._ahead = ahead
        """What was read of `file` before."""
        self.bytes_read = 0
        self.member = 0
        """Where the member begins that is read."""
        self.dictionary: ZstdCompressionDict | None = None
        """What all zstd frames of this file build on."""

    @property
    def can_go_back(self) -> bool:
        return not self._ahead and self._file.seekable()

    def look_ahead(self) -> bytes:
        """The beginning, which is read again afterwards: a pipe cannot go back."""
        self._ahead = self._ahead or self._file.read(MAGIC_BYTES)
        return self._ahead

    def skip_to(self, offset: int) -> None:
        """Continue at `offset`; not for pipes."""
        size = self._file.seek(0, 2)
        if offset > size:
            raise EOFError(f"it ends at byte {size}, and was to be read from byte {offset} on")
        self.bytes_read = self._file.seek(offset)

    def some(self, most: int) -> bytes:
        """What there is, without waiting for more; empty at the end."""
        ahead, self._ahead = self._ahead, b""
        data = ahead or self._file.read1(most)  # type: ignore[attr-defined] # every buffered file has it
        self.bytes_read += len(data)
        return data

    def up_to(self, size: int) -> bytes:
        """That many bytes, or fewer at the end."""
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        data = ahead + self._file.read(size - len(ahead)) if ahead else self._file.read(size)
        self.bytes_read += len(data)
        return data

    def exactly(self, size: int) -> bytes:
        data = self.up_to(size)
        if len(data) < size:
            raise EOFError("it ends inside a zstd frame")
        return data


def without_first(size: int, unpacked: Iterator[Piece]) -> Iterator[Piece]:
    """What follows the first `size` bytes of `unpacked`."""
    for piece in unpacked:
        if size < len(piece.data):
            yield Piece(piece.data[size:], None) if size else piece
            yield from unpacked
            return
        size -= len(piece.data)
    if size:
        raise EOFError(f"it ends {size} bytes before the place from which it was to be read")
