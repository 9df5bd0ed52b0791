"""The questions of `weft bench search`: words as pages have them, alone and together, as phrases, on one site."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from search_texts import Texts
from weft.model.url import Uri, domain_of
from weft.search.document import SearchDocument

FREQUENT = range(20, 200)
"""Ranks of words that stand on a large part of all pages."""
RARE = range(5000, 50_000)


class Question(NamedTuple):
    kind: str
    text: str
    words: list[str]
    site: str = ""
    is_phrase: bool = False


def make_questions(pages: list[SearchDocument], each: int, seed: int = 7) -> list[Question]:
    """`each` of every kind, about words of these pages."""
    dice, words = random.Random(seed), Texts().words
    return [question for _ in range(each) for question in _some(dice, words, pages)]


def _some(dice: random.Random, words: list[str], pages: list[SearchDocument]) -> Iterator[Question]:
    frequent, rare = words[dice.choice(FREQUENT)], words[dice.choice(RARE)]
    yield Question("a frequent word", frequent, [frequent])
    yield Question("a rare word", rare, [rare])
    other = words[dice.choice(FREQUENT)]
    yield Question("two frequent words", f"{frequent} {other}", [frequent, other])
    for length, name in ((2, "two"), (3, "three"), (5, "five")):
        run = _run(dice, dice.choice(pages), length)
        yield Question(f"{name} words of a page", " ".join(run), run)
    run = _run(dice, dice.choice(pages), 3)
    yield Question("a phrase of three words", f'"{" ".join(run)}"', run, is_phrase=True)
    page = dice.choice(pages)
    run, site = _run(dice, page, 2), domain_of(Uri(page.uri))
    yield Question("two words on one site", f"{' '.join(run)} site:{site}", run, site)


def _run(dice: random.Random, page: SearchDocument, length: int) -> list[str]:
    words = page.text.split()
    at = dice.randrange(len(words) - length)
    return words[at : at + length]
