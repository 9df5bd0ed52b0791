"""Two numbers for the text of a page: one tells whether it is the same, the other how alike it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import xxhash

from weft.html.volatile_text import Spans, volatile_spans
from weft.html.word_bytes import WINDOW, Numbers, Places, normal_bytes, raw_bytes, windows_of, word_starts

LEAST_TEXT: Final = 16
"""Bytes of letters and digits that make a real text: more than `Please wait…` has."""

_VOTERS: Final = 240
"""About the most groups of words that a simhash counts."""
_ALL: Final = 2**64
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_THIRD: Final = np.uint64(0x165667B19E3779F9)
_STIR: Final = np.uint64(0xBF58476D1CE4E5B9)
_HALF: Final = np.uint64(32)


def fingerprint_and_simhash(text: str, titles: Sequence[str]) -> tuple[int, int]:
    """Both for the visible text of a page; (0, 0) when it says next to nothing.

    `titles` are the page's title and headings. Numbers in them always count: they are its name, not its clock.
    """
    if not text:
        return 0, 0
    raw = raw_bytes(text)
    normal = normal_bytes(raw)
    lasting = _without(normal, volatile_spans(raw, normal))
    if len(text) < 4 * LEAST_TEXT and len(lasting.replace(b"\0", b"")) < LEAST_TEXT:
        return 0, 0
    return _fingerprint(lasting, titles), _simhash(lasting)


def _without(normal: bytes, spans: Spans) -> bytes:
    pieces, at = [], 0
    for start, end in spans:
        pieces.append(normal[at:start])
        at = max(at, end)
    return b"".join([*pieces, normal[at:]])


def _fingerprint(words: bytes, titles: Sequence[str]) -> int:
    named = "\n".join(titles).lower().encode("utf-8", "replace")
    return xxhash.xxh3_64_intdigest(words + named) or 1


def _simhash(normal: bytes) -> int:
    """Each word with those behind it, 24 bytes, votes on each bit; of many the same few vote in every page."""
    windows, starts = windows_of(normal), word_starts(normal)
    votes = windows[starts] * _FIRST
    if len(starts) > _VOTERS:
        chosen = _smallest(votes)
        starts, votes = starts.take(chosen), votes.take(chosen)
    votes += windows[starts + WINDOW] * _SECOND
    votes += windows[starts + 2 * WINDOW] * _THIRD
    return _majority(_stirred(votes))


def _smallest(votes: Numbers) -> Places:
    """About the share that is allowed to vote: the same ones, whatever else is in the text."""
    chosen = np.flatnonzero(votes < np.uint64(_ALL // len(votes) * _VOTERS))
    if len(chosen) < _VOTERS // 8:
        # A text that says the same again and again: nearly all of its words are larger, or equal.
        chosen = np.flatnonzero(votes <= np.partition(votes, _VOTERS)[_VOTERS])
    return chosen[: 8 * _VOTERS]


def _majority(votes: Numbers) -> int:
    bits = np.unpackbits(votes.view(np.uint8)).reshape(-1, 64)
    # Not as a product of matrices, which would start threads.
    ayes = np.add.reduce(bits, axis=0, dtype=np.uint16)
    return int.from_bytes(np.packbits(ayes > len(votes) // 2).tobytes(), "little") or 1


def _stirred(numbers: Numbers) -> Numbers:
    """Numbers whose every bit depends on every bit of the given ones, which are products."""
    mixed = numbers ^ (numbers >> _HALF)
    mixed *= _STIR
    mixed ^= mixed >> _HALF
    return mixed
