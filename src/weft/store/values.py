"""Values as an engine stores them: behind their sequence number, and packed when they are long.

The first byte tells how many bytes the number has; its highest bit tells that zstd packed what follows the number.
"""

from __future__ import annotations

from threading import local
from typing import Final

from zstandard import ZstdCompressor, ZstdDecompressor

LONG: Final = 512
"""Bytes from which on a value is packed. Every byte is written to the log and then rewritten with each compaction: a
page's record, which is most of what a page brings, shrinks to a fifth before that."""

_PACKED: Final = 0x80
_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""What zstd's own output begins with: packed by whoever wrote the cell."""


class _Zstd(local):
    """For each thread its own: they work without the interpreter's lock and must not be shared."""

    def __init__(self) -> None:
        self.pack = ZstdCompressor(level=1).compress
        self.unpack = ZstdDecompressor().decompress


_zstd: Final = _Zstd()


def seq_prefix(seq: int) -> bytes:
    """What a stored value begins with, unless it is packed: the length of its sequence number, then the number."""
    number = seq.to_bytes((seq.bit_length() + 7) // 8, "big")
    return bytes([len(number)]) + number


class Stamp:
    """Makes the stored values of one seq. Short ones are `prefix + value`, which those who write millions do in
    place."""

    __slots__ = ("_packed_prefix", "prefix")

    def __init__(self, seq: int) -> None:
        self.prefix = seq_prefix(seq)
        self._packed_prefix = bytes([self.prefix[0] | _PACKED]) + self.prefix[1:]

    def stored(self, value: bytes) -> bytes:
        if len(value) < LONG or value.startswith(_FRAME):
            return self.prefix + value
        packed = _zstd.pack(value)
        return self._packed_prefix + packed if len(packed) < len(value) else self.prefix + value


def split_value(stored: bytes) -> tuple[int, bytes]:
    """(seq, value) of a stored value."""
    size = stored[0]
    if size < _PACKED:
        return int.from_bytes(stored[1 : 1 + size], "big"), stored[1 + size :]
    end = 1 + size - _PACKED
    return int.from_bytes(stored[1:end], "big"), _zstd.unpack(stored[end:])


def value_of(stored: bytes) -> bytes:
    size = stored[0]
    return stored[1 + size :] if size < _PACKED else _zstd.unpack(stored[1 + size - _PACKED :])
