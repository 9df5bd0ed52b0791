"""Files as blocks of bytes, unpacked on the way; however much a file unpacks to, little of it is held at a time.

What could be unpacked before a break is given out first. Then EOFError says that the file ends too early, and
zlib.error or ZstdError that it is damaged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

from zstandard import ZstdDecompressor, ZstdError

from weft.intake.files import MAGIC_BYTES, Compression, compression_of

BLOCK: Final = 1 << 20
"""Bytes of a block, about."""

_PACKED_BLOCK: Final = 64 << 10
"""Small, because all that follows a gzip member is copied at its end, and a file may have a member per line."""
_GZIP_FORMAT: Final = 31
"""What zlib calls a gzip header and trailer around a window of 32 KiB."""

_RUN_LENGTH: Final = 1
"""The kind of zstd block that stores one byte for any number of them."""


class Packed:
    """A file as it is stored, and how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ahead = b""
        self.bytes_read = 0

    def look_ahead(self) -> bytes:
        """The beginning, which is read again afterwards: a pipe cannot go back."""
        self._ahead = self._file.read(MAGIC_BYTES)
        return self._ahead

    def skip_to(self, offset: int) -> None:
        """Go on at `offset`; only for files, which can."""
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


def blocks(packed: Packed, compression: Compression | None, start: int = 0) -> Iterator[bytes]:
    """The bytes from `start` on, a position in what the file unpacks to; None: its beginning tells the compression."""
    if compression is None:
        compression = compression_of(packed.look_ahead())
    elif compression is Compression.NONE:
        packed.skip_to(start)
        start = 0
    unpacked = {Compression.NONE: _plain, Compression.GZIP: _gunzip, Compression.ZSTD: _unzstd}[compression](packed)
    return _without_first(start, unpacked) if start else unpacked


def _without_first(size: int, unpacked: Iterator[bytes]) -> Iterator[bytes]:
    for block in unpacked:
        if size < len(block):
            yield block[size:]
            yield from unpacked
            return
        size -= len(block)
    if size:
        raise EOFError(f"it ends {size} bytes before the place from which it was to be read")


def _plain(packed: Packed) -> Iterator[bytes]:
    while block := packed.some(BLOCK):
        yield block


def _gunzip(packed: Packed) -> Iterator[bytes]:
    member = zlib.decompressobj(_GZIP_FORMAT)
    is_between = False
    while data := packed.some(_PACKED_BLOCK):
        while data:
            if is_between:
                # Tapes and disk images pad a file with zeros.
                data = data.lstrip(b"\0")
                if not data:
                    break
                member, is_between = zlib.decompressobj(_GZIP_FORMAT), False
            yield from _inflate(member, data)
            data, is_between = member.unused_data, member.eof
    if not is_between:
        raise EOFError("it ends inside a gzip member")


def _inflate(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What `data` adds; all of `data` is used, except what follows the member's end."""
    block = b""
    while (data or len(block) == BLOCK) and not member.eof:
        before = member.copy()
        try:
            block = member.decompress(data, BLOCK)
        except zlib.error:
            # All that this call unpacked is lost; do it again in the smallest steps.
            yield from (before.decompress(data[at : at + 1]) for at in range(len(data)))
            raise
        yield block
        data = member.unconsumed_tail


def _unzstd(packed: Packed) -> Iterator[bytes]:
    magic = packed.exactly(MAGIC_BYTES)
    while magic:
        if compression_of(magic) is not Compression.ZSTD:
            raise ZstdError("what follows a zstd frame is not another one")
        if magic[1:] == b"\x2a\x4d\x18":
            _skip(packed, int.from_bytes(packed.exactly(4), "little"))
        else:
            yield from _frame(packed, magic)
        magic = packed.up_to(MAGIC_BYTES)


def _skip(packed: Packed, size: int) -> None:
    while size:
        size -= len(packed.exactly(min(size, BLOCK)))


def _frame(packed: Packed, magic: bytes) -> Iterator[bytes]:
    """One frame, block by block (RFC 8878, section 3.1.1): a block unpacks to 128 KiB at most.

    The decoder has no limit for what it returns: 1 MiB of blocks that store one byte each would become 32 GiB.
    """
    frame = ZstdDecompressor().decompressobj()
    descriptor = packed.exactly(1)
    frame.decompress(magic + descriptor + packed.exactly(_rest_of_header(descriptor[0])))
    is_last = False
    while not is_last:
        header = packed.exactly(3)
        number = int.from_bytes(header, "little")
        is_last, kind, size = bool(number & 1), number >> 1 & 3, number >> 3
        yield frame.decompress(header + packed.exactly(1 if kind == _RUN_LENGTH else size))
    if descriptor[0] & 0b100:
        frame.decompress(packed.exactly(4))


def _rest_of_header(descriptor: int) -> int:
    """Bytes of window size, dictionary number and content size."""
    is_single = descriptor >> 5 & 1
    return (1 - is_single) + (0, 1, 2, 4)[descriptor & 3] + (is_single, 2, 4, 8)[descriptor >> 6]
