"""The part of a page that shows why it was found, with the words that were searched for marked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

from weft.model.shown_text import readable_text
from weft.search.wanted_words import Attention, Match, Wanted, follows, matches, wanted

_T = TypeVar("_T")

__all__ = ["Attention", "Snippet", "Wanted", "make_snippet", "mark_words", "wanted"]

_LINE: Final = 20
"""Characters of a line, at least on average: a line costs as much as so many characters."""
_SHORTEST: Final = 16
_CUT: Final = "…"
_BETWEEN_BLOCKS: Final = " · "
_ENDS_SENTENCE: Final = ".!?…。！？"
_ENDS_BLOCK: Final = _ENDS_SENTENCE + ":;,、，：；"
_SENTENCE_END: Final = re.compile(r"[.!?…][\])\"'”’»]*\s+|[。！？]+[」』）]*\s*|\s·\s")
_LONGEST_RAGGED: Final = 30
"""Characters that may be given up at the end so that a word stays whole."""
_NEAR: Final = 30
"""Characters between different words that count as close to each other."""
_JOINER: Final = "\u200d"
_MOST_MARKS: Final = 8
"""On one letter; whoever has more of them may be cut within."""


class Snippet(NamedTuple):
    text: str
    marks: tuple[tuple[int, int], ...]
    """Ranges of characters of `text` to highlight, ascending, none of which overlap."""


def make_snippet(text: str, asked: Wanted, longest: int = 240, attention: Attention | None = None) -> Snippet:
    """At most `longest` characters around most of the wanted words; without any of them, the beginning."""
    longest, attention = max(longest, _SHORTEST), attention or Attention()
    flat = _flat(text, attention)
    found = matches(flat, asked, attention)
    begin, end = _window(flat, found, asked, longest)
    before = _CUT if begin and not _starts_sentence(flat, begin) else ""
    after = _CUT if end < len(flat) and flat[end - 1] not in _ENDS_SENTENCE else ""
    return Snippet(before + flat[begin:end] + after, _marks(found, begin, end, len(before)))


def mark_words(text: str, asked: Wanted, attention: Attention | None = None) -> Snippet:
    """All of a short text, such as a title."""
    attention = attention or Attention()
    flat = _flat(text, attention)
    return Snippet(flat, _marks(matches(flat, asked, attention), 0, len(flat), 0))


def _flat(text: str, attention: Attention) -> str:
    """One line; where a block of the page ends without a full stop, a dot stands between it and the next."""
    most = 1 + attention.characters // _LINE
    written = text[: attention.characters].splitlines()[:most]
    lines = (" ".join(readable_text(line).replace("\u00ad", "").split()) for line in written)
    blocks = [line for line in lines if line]
    between = (" " if block[-1] in _ENDS_BLOCK else _BETWEEN_BLOCKS for block in blocks[:-1])
    return "".join(part for pair in zip(blocks, [*between, ""], strict=True) for part in pair) if blocks else ""


def _marks(found: list[Match], begin: int, end: int, shift: int) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for match in found:
        start, stop = max(match.start, begin), min(match.end, end)
        if start >= stop:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return tuple((start - begin + shift, stop - begin + shift) for start, stop in merged)


def _window(text: str, found: list[Match], asked: Wanted, longest: int) -> tuple[int, int]:
    if len(text) <= longest:
        return 0, len(text)
    room = longest - 2 * len(_CUT)
    start, stop = _densest(text, found, asked, room * 3 // 4) if found else (0, 0)
    begin = _beginning(text, start, stop, room)
    return begin, _ending(text, begin, max(stop, begin + 1), begin + room)


def _densest(text: str, found: list[Match], asked: Wanted, room: int) -> tuple[int, int]:
    """Where matches are that fit into the room and are best together: different ones, in order, close; the first such.

    One pass: what a match adds is taken away again when the window leaves it behind.
    """
    in_order, near = _bonds(text, found, asked)
    words: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    close = behind = 0
    best, place = (0, 0, 0), (found[0].start, found[0].end)
    for first, match in enumerate(found):
        while behind < len(found) and (behind == first or found[behind].end - match.start <= room):
            words[found[behind].number] += 1
            if behind > first:
                pairs.update(in_order[behind - 1])
                close += near[behind - 1]
            behind += 1
        score = len(words), len(pairs), min(close, len(words))
        if score > best:
            best, place = score, (match.start, max(one.end for one in found[first:behind]))
        _take_back(words, match.number)
        if first + 1 < behind:
            close -= near[first]
            for pair in in_order[first]:
                _take_back(pairs, pair)
    return place


def _bonds(text: str, found: list[Match], asked: Wanted) -> tuple[list[list[tuple[int, int]]], list[bool]]:
    """For each match: the pair of the query's words that it makes with the next one, and whether that is close."""
    in_order, near = [], []
    for one, other in pairwise(found):
        pair = one.number, other.number
        in_order.append([pair] if pair in asked.neighbours and follows(text, one, other) else [])
        near.append(one.number != other.number and other.start - one.end <= _NEAR)
    return in_order, near


def _take_back(counts: Counter[_T], what: _T) -> None:
    counts[what] -= 1
    if not counts[what]:
        del counts[what]


def _beginning(text: str, start: int, stop: int, room: int) -> int:
    """Where the sentence of the first match begins, if there is room for it; else a few words before the match."""
    slack = max(0, room - (stop - start))
    earliest = max(0, start - slack)
    starts = _sentence_starts(text, max(earliest, start - room // 2), start)
    begin = starts[-1] if starts else _word_start(text, max(0, start - slack // 2), start)
    # At the end of a text there is room for more before it.
    earlier = _sentence_starts(text, max(0, len(text) - room), begin)
    return earlier[0] if earlier else begin


def _sentence_starts(text: str, earliest: int, latest: int) -> list[int]:
    starts = [0] if earliest == 0 else []
    # A start may be where the range begins: its end of a sentence stands before it.
    found = _SENTENCE_END.finditer(text, max(0, earliest - 8), latest)
    return starts + [end.end() for end in found if earliest <= end.end() <= latest]


def _starts_sentence(text: str, begin: int) -> bool:
    return begin in _sentence_starts(text, begin, begin)


def _word_start(text: str, earliest: int, latest: int) -> int:
    space = text.find(" ", max(0, earliest - 1), latest)
    if 0 <= space - earliest <= _LONGEST_RAGGED or space == earliest - 1 >= 0:
        return space + 1
    return _between_letters(text, earliest)


def _ending(text: str, begin: int, earliest: int, latest: int) -> int:
    if latest >= len(text):
        return len(text)
    space = text.rfind(" ", max(earliest, latest - _LONGEST_RAGGED), latest + 1)
    end = space if space > begin else max(begin + 1, _between_letters(text, latest))
    return begin + max(1, len(text[begin:end].rstrip(" ·,;:-–(")))


def _between_letters(text: str, at: int) -> int:
    """This place or one just before it, so that a letter keeps its marks."""
    for place in range(at, max(0, at - _MOST_MARKS), -1):
        if unicodedata.category(text[place])[0] != "M" and _JOINER not in text[place - 1 : place + 1]:
            return place
    return at
