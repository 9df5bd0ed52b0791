"""Taking the chunked transfer coding off a body (RFC 9112, section 7.1)."""

from __future__ import annotations

import re
from mmap import mmap
from typing import Final

MOST_CHUNKS: Final = 100_000
"""Chunks of one byte would cost a hundred times the work of the bytes themselves."""

_CHUNK_LINE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[^\n]{0,16384}\n")


def dechunked(raw: bytes | mmap) -> bytes:
    """The payload of a chunked body; what does not follow the form, or ends early, ends the payload there."""
    parts, at = [], 0
    for _ in range(MOST_CHUNKS):
        line = _CHUNK_LINE.match(raw, at)
        if line is None:
            break
        size = int(line[1], 16)
        if size == 0:
            break
        begin = line.end()
        parts.append(raw[begin : begin + size])
        at = begin + size
        at += 2 if raw[at : at + 2] == b"\r\n" else 1
    return b"".join(parts)
