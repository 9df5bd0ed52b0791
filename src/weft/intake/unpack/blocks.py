"""Files as pieces of bytes, unpacked on the way; however much a file unpacks to, little of it is held at a time.

What could be unpacked before a break is given out first. Then EOFError says that the file ends too early, and
zlib.error or ZstdError that it is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.intake.unpack.compression import Compression, compression_of
from weft.intake.unpack.gunzip import gunzip
from weft.intake.unpack.packed_file import BLOCK, PackedFile, Piece, without_first
from weft.intake.unpack.unzstd import read_dictionary, unzstd


def blocks(packed: PackedFile, compression: Compression | None, start: int = 0) -> Iterator[bytes]:
    """The bytes from `start` on, a position in what the file unpacks to; None: recognise the compression first."""
    if compression is Compression.NONE:
        return (data for data, _ in pieces(packed, compression, start))
    return (data for data, _ in pieces(packed, compression, within=start))


def pieces(packed: PackedFile, compression: Compression | None, offset: int = 0, within: int = 0) -> Iterator[Piece]:
    """What is unpacked from the member on that begins at `offset`, without its first `within` bytes."""
    if compression is None:
        compression = compression_of(packed.look_ahead())
    if offset:
        if compression is Compression.ZSTD:
            read_dictionary(packed)
        packed.skip_to(offset)
    unpacked = {Compression.NONE: _plain, Compression.GZIP: gunzip, Compression.ZSTD: unzstd}[compression](packed)
    return without_first(within, unpacked) if within else unpacked


def _plain(packed: PackedFile) -> Iterator[Piece]:
    while data := packed.some(BLOCK):
        yield Piece(data, packed.bytes_read - len(data))
