"""The words of a text as bytes, looked at all at once."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

WINDOW: Final = 8
"""Bytes that are looked at together, as one number."""
MARGIN: Final = 4 * WINDOW
"""Zeros on both sides of a text, which may be looked at as well."""

_FIRST_WIDE: Final = 0xE3
"""The lead byte from which on UTF-8 holds scripts that are written without spaces: each character is a word."""


def _normal(byte: int) -> int:
    if byte >= 0x80:
        return byte
    return ord(chr(byte).lower()) if chr(byte).isalnum() else 0


_NORMAL: Final = bytes(_normal(byte) for byte in range(256))


def raw_bytes(text: str) -> bytes:
    """A text in UTF-8, with its margins."""
    return b"".join([bytes(MARGIN), text.encode("utf-8", "replace"), bytes(MARGIN)])


def normal_bytes(raw: bytes) -> bytes:
    """Letters and digits make words, everything else in ASCII parts them and becomes zero; A and a are the same."""
    return raw.translate(_NORMAL)


def windows_of(normal: bytes) -> Numbers:
    """The eight bytes that begin at each byte. Index them, do not `take`: that would copy all of them first."""
    return np.ndarray((len(normal) - WINDOW + 1,), np.uint64, normal, 0, (1,))


def word_starts(normal: bytes) -> Places:
    data = np.frombuffer(normal, np.uint8)
    is_word = data != 0
    begins = is_word[1:] > is_word[:-1]
    if data.max() >= _FIRST_WIDE:
        begins |= data[1:] >= _FIRST_WIDE
    return np.flatnonzero(begins) + 1
