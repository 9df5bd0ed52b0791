"""Unpacking gzip: member by member, with the fast decoder until something is wrong."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from isal import isal_zlib

from weft.intake.unpack.packed_file import BLOCK, PackedFile, Piece, without_first

_PACKED_BLOCK: Final = 64 << 10
"""Small, because all that follows a member is copied at its end, and a file may have a member per line."""
_GZIP_FORMAT: Final = 31
"""What zlib calls a gzip header and trailer around a window of 32 KiB."""
_FAST_ERROR: Final[Any] = isal_zlib.error


def gunzip(packed: PackedFile) -> Iterator[Piece]:
    if not packed.can_go_back:
        yield from _gunzip_with(zlib, packed)
        return
    member, given = packed.member, 0
    try:
        for piece in _gunzip_with(isal_zlib, packed):
            given = len(piece.data) + (given if packed.member == member else 0)
            member = packed.member
            yield piece
    except (EOFError, _FAST_ERROR):
        # The slower decoder can be asked again for what the fast one had unpacked, and knows better what is wrong.
        packed.skip_to(packed.member)
        yield from without_first(given if packed.member == member else 0, _gunzip_with(zlib, packed))


def _gunzip_with(library: ModuleType, packed: PackedFile) -> Iterator[Piece]:
    member = library.decompressobj(_GZIP_FORMAT)
    begins: int | None = packed.bytes_read
    packed.member = packed.bytes_read
    is_between = False
    while data := packed.some(_PACKED_BLOCK):
        while data:
            if is_between:
                # Tapes and disk images pad a file with zeros.
                data = data.lstrip(b"\0")
                if not data:
                    break
                member, is_between = library.decompressobj(_GZIP_FORMAT), False
                begins = packed.member = packed.bytes_read - len(data)
            for block in filter(None, _inflate(member, data)):
                yield Piece(block, begins)
                begins = None
            data, is_between = member.unused_data, member.eof
    if not is_between:
        raise EOFError("it ends inside a gzip member")


def _inflate(member: Any, data: bytes) -> Iterator[bytes]:
    """What `data` adds; all of `data` is used, except what follows the member's end."""
    block = b""
    while (data or len(block) == BLOCK) and not member.eof:
        # The fast decoder cannot be copied; its user begins the member again.
        before = member.copy() if hasattr(member, "copy") else member
        try:
            block = member.decompress(data, BLOCK)
        except zlib.error:
            # All that this call unpacked is lost; do it again in the smallest steps.
            yield from (before.decompress(data[at : at + 1]) for at in range(len(data)))
            raise
        yield block
        data = member.unconsumed_tail
