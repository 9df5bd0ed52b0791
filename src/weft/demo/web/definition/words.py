"""Words, sentences and anchors that look like language and mean nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from weft.demo.web.definition.dice import Dice

_HEADS: Final = (
    "b",
    "br",
    "d",
    "f",
    "g",
    "gr",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
)
_MIDDLES: Final = ("a", "e", "i", "o", "u", "ai", "ea", "ou", "ie")
_TAILS: Final = ("", "", "n", "r", "l", "s", "t", "nd", "rk", "mp")
_ACCENTED: Final = ("é", "ü", "ñ", "ø", "ç", "ï")
_VOCABULARY: Final = 2_000
_SENTENCES: Final = 3_000
_ANCHORS: Final = 4_096
_ENTITIES: Final = {"é": "&eacute;", "ü": "&#252;", "ñ": "&#xF1;", "ç": "&ccedil;"}


@dataclass(frozen=True, slots=True)
class Language:
    """`plain` words are ASCII; a sentence is ready to stand in HTML."""

    words: tuple[str, ...]
    plain: tuple[str, ...]
    sentences: tuple[str, ...]
    anchors: tuple[str, ...]
    plain_anchors: tuple[str, ...]


@lru_cache(maxsize=4)
def language(seed: int) -> Language:
    dice = Dice(seed, "language")
    plain = tuple(dict.fromkeys(_word(dice) for _ in range(_VOCABULARY)))
    words = tuple(word + dice.pick(_ACCENTED) if dice.chance(0.06) else word for word in plain)
    sentences = tuple(_sentence(words, dice) for _ in range(_SENTENCES))
    anchors, plain_anchors = (tuple(phrase(kind, dice, 1, 4) for _ in range(_ANCHORS)) for kind in (words, plain))
    return Language(words, plain, sentences, anchors, plain_anchors)


def _word(dice: Dice) -> str:
    syllables = dice.between(1, 3)
    return "".join(dice.pick(_HEADS) + dice.pick(_MIDDLES) for _ in range(syllables)) + dice.pick(_TAILS)


def _sentence(words: tuple[str, ...], dice: Dice) -> str:
    # The first words of the vocabulary are the common ones, as in any language.
    chosen = [words[dice.zipf(len(words))] for _ in range(dice.between(6, 18))]
    if dice.chance(0.1):
        chosen[len(chosen) // 2] = "&amp;"
    return " ".join(chosen).capitalize() + dice.pick((".", ".", ".", "?", "!"))


def phrase(words: tuple[str, ...], dice: Dice, least: int, most: int) -> str:
    return " ".join(dice.picks(words, dice.between(least, most)))


def escaped(text: str) -> str:
    """Text for HTML, content or attribute."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def with_entities(text: str) -> str:
    """Text for HTML with its accented letters as entities."""
    text = escaped(text)
    for letter, entity in _ENTITIES.items():
        text = text.replace(letter, entity)
    return text
