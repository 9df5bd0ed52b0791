"""How a file is packed, recognised by its first bytes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

MAGIC_BYTES: Final = 4
"""How many bytes it takes to recognise what a file is packed with."""

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
# Tools that compress in parallel put a frame that decoders skip before the first one.
_ZSTD_SKIPPED: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


def compression_of(head: bytes, name: str = "") -> Compression:
    """What a file that begins with `head` is packed with; its name counts only where it ends inside the magic bytes."""
    name = name.lower()
    if head.startswith(GZIP_MAGIC) or (name.endswith(".gz") and GZIP_MAGIC.startswith(head)):
        return Compression.GZIP
    if (
        head.startswith(ZSTD_MAGIC)
        or _ZSTD_SKIPPED.match(head)
        or (name.endswith(".zst") and ZSTD_MAGIC.startswith(head))
    ):
        return Compression.ZSTD
    return Compression.NONE
