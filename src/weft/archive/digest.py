"""Digests as replay tools write them: SHA-1 in base32."""

from __future__ import annotations

import hashlib
from mmap import mmap
from typing import Final

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS: Final = range(150, -1, -10)


def sha1(data: bytes | mmap) -> str:
    return base32(hashlib.sha1(data, usedforsecurity=False).digest())


def base32(digest: bytes) -> str:
    """The 20 bytes of a SHA-1; base64.b32encode() takes ten times as long, and every page has three."""
    number = int.from_bytes(digest)
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])
