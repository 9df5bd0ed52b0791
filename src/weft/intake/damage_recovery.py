"""Where in a damaged packed file the next whole record begins."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO, Final

from zstandard import ZstdCompressionDict, ZstdError

from weft.intake.record_heads import BEGINS
from weft.intake.source_format import SourceFormat
from weft.intake.unpack.blocks import pieces
from weft.intake.unpack.compression import ZSTD_MAGIC, Compression
from weft.intake.unpack.packed_file import PackedFile

_MAGIC: Final = {Compression.GZIP: b"\x1f\x8b\x08", Compression.ZSTD: ZSTD_MAGIC}
_TRIED_BYTES: Final = {Compression.GZIP: 16 << 10, Compression.ZSTD: 256 << 10}
"""Enough of a member to unpack its beginning; a zstd frame is unpacked by blocks of up to 128 KiB."""
_HEAD_BYTES: Final = 8 << 10
_STEP: Final = 1 << 20
_MOST_CANDIDATES: Final = 100_000
"""Members that are tried: a file may be nothing but their beginnings."""


def next_member(
    file: BinaryIO, compression: Compression, start: int, form: SourceFormat, dictionary: ZstdCompressionDict | None
) -> int | None:
    """The first member at or after `start` that begins with a record; None where there is none."""
    if compression not in _MAGIC:
        return None
    for tried, candidate in enumerate(_candidates(file, _MAGIC[compression], start)):
        if tried == _MOST_CANDIDATES:
            return None
        file.seek(candidate)
        packed = PackedFile(BytesIO(file.read(_TRIED_BYTES[compression])))
        packed.dictionary = dictionary
        if BEGINS[form].match(_beginning(packed, compression)):
            return candidate
    return None


def _candidates(file: BinaryIO, magic: bytes, start: int) -> Iterator[int]:
    while True:
        file.seek(start)
        data = file.read(_STEP)
        at = data.find(magic)
        while at >= 0:
            yield start + at
            at = data.find(magic, at + 1)
        if len(data) < _STEP:
            return
        start += len(data) - len(magic) + 1


def _beginning(packed: PackedFile, compression: Compression) -> bytes:
    """What can be unpacked, as far as a head may reach."""
    found = b""
    try:
        for piece in pieces(packed, compression):
            found += piece.data
            if len(found) >= _HEAD_BYTES:
                break
    except (EOFError, zlib.error, ZstdError):
        pass
    return found
