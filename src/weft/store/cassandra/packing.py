"""Values as the cluster stores them: long ones packed, for every byte is sent to three machines."""

from __future__ import annotations

from threading import local
from typing import Final

from zstandard import ZstdCompressor, ZstdDecompressor

from weft.store.values import LONG

_PLAIN, _PACKED = b"\x00", b"\x01"
_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""What zstd's own output begins with: packed by whoever wrote the cell."""


class _Zstd(local):
    """For each thread its own: they must not be shared."""

    def __init__(self) -> None:
        self.pack = ZstdCompressor(level=1).compress
        self.unpack = ZstdDecompressor().decompress


_zstd: Final = _Zstd()


def packed(value: bytes) -> bytes:
    if len(value) >= LONG and not value.startswith(_FRAME):
        shorter = _zstd.pack(value)
        if len(shorter) < len(value):
            return _PACKED + shorter
    return _PLAIN + value


def unpacked(stored: bytes) -> bytes:
    return stored[1:] if stored[:1] == _PLAIN else _zstd.unpack(stored[1:])
