"""Content encodings, for clients that ask for them."""

from __future__ import annotations

import brotli  # type: ignore[import-untyped]
from isal import igzip
from zstandard import ZstdCompressor

from weft.demo.web.definition.traits import Encoding


def chosen(liked: Encoding, accepted: bytes) -> Encoding | None:
    """What a host sends to a client that accepts so; gzip when it does not take what the host likes best."""
    names = {name.partition(b";")[0].strip() for name in accepted.lower().split(b",")}
    for encoding in (liked, Encoding.GZIP):
        if encoding.value.encode() in names:
            return encoding
    return None


def encode(body: bytes, encoding: Encoding) -> bytes:
    if encoding is Encoding.BROTLI:
        packed: bytes = brotli.compress(body, quality=2)
        return packed
    if encoding is Encoding.ZSTD:
        return ZstdCompressor(level=1).compress(body)
    return igzip.compress(body, compresslevel=1, mtime=0)
