"""Which word was meant by one that no page has."""

from __future__ import annotations

from typing import Final, NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract
from tantivy import Searcher

_LOOKED_AT: Final = 20_000
"""Words that begin alike and are compared, the most frequent ones."""
_SHORTEST: Final = 4
"""Letters of a word that is corrected; shorter ones are like too many others."""
_TWO_MISTAKES: Final = 8
"""Letters from which on a word may hold two mistakes."""
_FIELDS: Final = ("title", "anchors", "text")
_MOST: Final = 5


class Correction(NamedTuple):
    """The best sorts first."""

    mistakes: int
    rarity: int
    """The number of pages that have the word, negative."""
    word: str


def corrections(searcher: Searcher, word: str) -> list[Correction]:
    """Words of this shard that differ from `word` in a letter or two, the best first."""
    if len(word) < _SHORTEST:
        return []
    most = 2 if len(word) >= _TWO_MISTAKES else 1
    found: dict[str, Correction] = {}
    for field in _FIELDS:
        for prefix in _beginnings(word):
            pages = dict(searcher.terms_with_prefix(field, prefix, limit=_LOOKED_AT))
            for term, mistakes, _ in extract(word, pages.keys(), scorer=OSA.distance, score_cutoff=most, limit=_MOST):
                known = found.get(term)
                rarity = min(-pages[term], known.rarity if known else 0)
                found[term] = Correction(int(mistakes), rarity, term)
    return sorted(one for one in found.values() if one.mistakes)[:_MOST]


def _beginnings(word: str) -> list[str]:
    """What the word that was meant may begin with: a mistake is seldom in the first letter, unless two are swapped."""
    return list(dict.fromkeys((word[0], word[1])))
