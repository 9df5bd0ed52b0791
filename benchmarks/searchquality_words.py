"""The words of queries: which texts are worth typing, and what becomes of them on a keyboard."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

RUN: Final = 5
"""Words in a row that are typed from a text."""
_LONGEST = 8
_TRIES = 12
_WORD = re.compile(r"\w+")
_GENERIC = frozenset(
    re.findall(
        r"\w+",
        """about above all back below bottom class classes code contents default deprecated description details
    documentation download example examples field first frames full function help here home index interface
    introduction last license link list main manual method methods module modules more next notes object overview
    package packages page prev previous read reference search section see source summary table that this top tree
    up use view""",
    )
)
_PLAIN = re.compile(r"[a-z]+")


def words_of(text: str) -> list[str]:
    """The words of a text as a person would type them: letters, digits and underscores."""
    return _WORD.findall(text)


def normal(text: str) -> str:
    """By which two texts of the same words are known to be the same."""
    return " ".join(words_of(text.lower()))


def misspell(text: str, dice: random.Random, vocabulary: frozenset[str]) -> str:
    """The text with one slip in a word of five letters or more, which makes it no word; "" if there is none to take."""
    words = text.split()
    places = [at for at, word in enumerate(words) if len(word) >= 5 and word.isalpha()]
    for _ in range(_TRIES if places else 0):
        at = dice.choice(places)
        wrong = _slip(words[at], dice)
        if wrong.lower() not in vocabulary:
            return " ".join([*words[:at], wrong, *words[at + 1 :]])
    return ""


def _slip(word: str, dice: random.Random) -> str:
    at = dice.randrange(1, len(word) - 1)
    begin, letter, after, end = word[:at], word[at], word[at + 1], word[at + 2 :]
    other = dice.choice("abcdefghijklmnopqrstuvwxyz")
    return dice.choice(
        [
            begin + after + letter + end,
            begin + after + end,
            begin + letter + letter + after + end,
            begin + other + after + end,
        ]
    )


def may_be_asked(text: str) -> bool:
    """Whether somebody who types this could mean one page: not `next`, not a single short word, not a sentence."""
    words = words_of(text.lower())
    telling = [word for word in words if word not in _GENERIC and not word.isdigit() and len(word) > 2]
    return len(words) <= _LONGEST and bool(telling) and (len(telling) > 1 or len(telling[0]) >= 6)


def is_prose(words: Sequence[str]) -> bool:
    """Whether a run of words reads like text: all plain and different, most of them longer than an article."""
    is_plain = all(_PLAIN.fullmatch(word) for word in words) and len(set(words)) == RUN
    return is_plain and sum(len(word) >= 4 for word in words) >= 3
