"""Unpacking zstd: frame by frame, and a block of a frame at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from zstandard import ZstdCompressionDict, ZstdDecompressor, ZstdError

from weft.intake.unpack.compression import MAGIC_BYTES, Compression, compression_of
from weft.intake.unpack.packed_file import BLOCK, PackedFile, Piece

_RUN_LENGTH: Final = 1
"""The kind of block that stores one byte for any number of them."""
_SKIPPED: Final = b"\x2a\x4d\x18"
"""Ends the magic number of a frame that decoders skip."""
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
"""Begins the frame before all others in which WARC files keep the dictionary of the others."""
_LARGEST_DICTIONARY: Final = 16 << 20


def unzstd(packed: PackedFile) -> Iterator[Piece]:
    packed.member = packed.bytes_read
    magic = packed.exactly(MAGIC_BYTES)
    while magic:
        if compression_of(magic) is not Compression.ZSTD:
            raise ZstdError("what follows a zstd frame is not another one")
        if magic == _DICTIONARY and packed.member == 0:
            packed.dictionary = _dictionary(packed)
        elif magic[1:] == _SKIPPED:
            _skip(packed, int.from_bytes(packed.exactly(4), "little"))
        else:
            begins: int | None = packed.member
            for block in filter(None, _frame(packed, magic)):
                yield Piece(block, begins)
                begins = None
        packed.member = packed.bytes_read
        magic = packed.up_to(MAGIC_BYTES)


def read_dictionary(packed: PackedFile) -> None:
    """Know the dictionary, if the file has one, before a frame in its middle is read."""
    if packed.up_to(MAGIC_BYTES) == _DICTIONARY:
        packed.dictionary = _dictionary(packed)


def _dictionary(packed: PackedFile) -> ZstdCompressionDict:
    size = int.from_bytes(packed.exactly(4), "little")
    if size > _LARGEST_DICTIONARY:
        raise ZstdError(f"its dictionary has {size} bytes; expected at most {_LARGEST_DICTIONARY}")
    data = packed.exactly(size)
    if compression_of(data[:MAGIC_BYTES]) is Compression.ZSTD:
        unpacker = ZstdDecompressor().stream_reader(data, read_across_frames=False)
        data = unpacker.read(_LARGEST_DICTIONARY)
    return ZstdCompressionDict(data)


def _skip(packed: PackedFile, size: int) -> None:
    while size:
        size -= len(packed.exactly(min(size, BLOCK)))


def _frame(packed: PackedFile, magic: bytes) -> Iterator[bytes]:
    """One frame, block by block (RFC 8878, section 3.1.1): a block unpacks to 128 KiB at most.

    The decoder has no limit for what it returns: 1 MiB of blocks that store one byte each would become 32 GiB.
    """
    frame = ZstdDecompressor(dict_data=packed.dictionary).decompressobj()
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
