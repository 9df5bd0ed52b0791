"""One search over all shards: ask, correct, widen, rank, fold, and cut into pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

import msgspec

from weft.search.analysis import words
from weft.search.ranking import with_references
from weft.search.result_folding import Candidate, Folded, fold
from weft.search.search_query import Kind, SearchQuery, Term
from weft.search.shard_reader import Hit, ScorePart, ShardAnswer, ShardQuestion
from weft.search.spelling import Correction

WINDOW: Final = 100
"""Hits that are ranked together with their references. Whoever looks further gets the next window behind it: so a page
of results does not depend on how far somebody has looked."""
_MOST_CORRECTED: Final = 8
"""Unknown words for which others are looked for, each among tens of thousands."""
DEEPEST: Final = 1000
"""Hits that anybody can page through."""


class Shards(Protocol):
    """All shards of an index, wherever they are. Answers are in the order of shards; None: it did not answer."""

    def ask(self, question: ShardQuestion) -> list[ShardAnswer | None]: ...

    def correct(self, word: str) -> list[Correction]: ...

    def explain(self, query: SearchQuery, uri: str) -> list[ScorePart]: ...

    def refresh(self) -> None:
        """Answer from what is committed now."""

    def close(self) -> None: ...


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a search has found, before pages of results are cut from it."""

    query: SearchQuery
    """What was searched for: not always what was typed."""
    results: list[Folded]
    """The best first."""
    uris: dict[int, str]
    """By the keys of the results."""
    total: int
    """Pages that match, before folding."""
    corrected: dict[str, str] = {}
    """Words that no page has, and what was searched for in their place."""
    all_words: bool = True
    """Whether these pages have all words; no page has if not."""
    missing: int = 0
    """Shards that did not answer."""
    seq: int = 0
    """The index as of this seq at least."""
    domains: dict[str, int] = {}
    languages: dict[str, int] = {}


class _Asked(NamedTuple):
    query: SearchQuery
    answers: list[ShardAnswer | None]
    corrected: dict[str, str]
    all_words: bool

    @property
    def total(self) -> int:
        return sum(answer.total for answer in self.answers if answer)


def search(
    shards: Shards, query: SearchQuery, *, most: int = WINDOW, folds: bool = True, facets: bool = False
) -> Found:
    """The best pages for a query, as many windows of them as hold `most` hits."""
    most = min(DEEPEST, -(-most // WINDOW) * WINDOW)
    asked = _ask(shards, query, most, facets)
    answers = [answer for answer in asked.answers if answer is not None]
    hits = _in_order(answers)[:most]
    candidates = [_candidate(hit) for hit in _ranked(hits)]
    return Found(
        query=asked.query,
        results=fold(candidates) if folds else [Folded(candidate, 0) for candidate in candidates],
        uris={hit.key: hit.uri for hit in hits},
        total=asked.total,
        corrected=asked.corrected,
        all_words=asked.all_words,
        missing=len(asked.answers) - len(answers),
        seq=min((answer.cursors.content for answer in answers), default=0),
        domains=_summed([answer.domains for answer in answers]),
        languages=_summed([answer.languages for answer in answers]),
    )


def _ask(shards: Shards, query: SearchQuery, most: int, facets: bool) -> _Asked:
    """All words; if no page has them, without misspellings; if still none has, any of the words."""

    def ask(wanted: SearchQuery, *, some: bool = False) -> list[ShardAnswer | None]:
        return shards.ask(ShardQuestion(query=wanted, some=some, most=most, facets=facets))

    asked = _Asked(query, ask(query), {}, all_words=True)
    if asked.total:
        return asked
    if corrected := _corrections(shards, asked.answers):
        better = _replaced(query, corrected)
        asked = _Asked(better, ask(better), corrected, all_words=True)
        if asked.total:
            return asked
    if len(query.groups) < 2:
        return _Asked(query, asked.answers, {}, all_words=True)
    return asked._replace(answers=ask(asked.query, some=True), all_words=False)


def _corrections(shards: Shards, answers: Sequence[ShardAnswer | None]) -> dict[str, str]:
    """For each word that no shard knows, the word that was probably meant."""
    unknown = [set(answer.unknown) for answer in answers if answer is not None]
    everywhere = sorted(set.intersection(*unknown))[:_MOST_CORRECTED] if unknown else []
    found = {word: min(shards.correct(word), default=None) for word in everywhere}
    return {word: best.word for word, best in found.items() if best is not None}


def _replaced(query: SearchQuery, corrected: dict[str, str]) -> SearchQuery:
    return replace(
        query, groups=tuple(tuple(_replaced_term(term, corrected) for term in group) for group in query.groups)
    )


def _replaced_term(term: Term, corrected: dict[str, str]) -> Term:
    if term.kind is not Kind.WORD:
        return term
    found = words(term.text)
    if not corrected.keys() & set(found):
        return term
    return term._replace(text=" ".join(corrected.get(word, word) for word in found))


def _in_order(answers: Sequence[ShardAnswer]) -> list[Hit]:
    """By score; those with the same in the order in which the shards gave them, so that more hits change nothing."""
    return sorted((hit for answer in answers for hit in answer.hits), key=lambda hit: -hit.score)


def _ranked(hits: Sequence[Hit]) -> list[Hit]:
    windows = [hits[at : at + WINDOW] for at in range(0, len(hits), WINDOW)]
    return [hit for window in windows for hit in sorted(window, key=_rank)]


def _rank(hit: Hit) -> tuple[float, int]:
    return -with_references(hit.score, hit.references), hit.key


def _candidate(hit: Hit) -> Candidate:
    score = with_references(hit.score, hit.references)
    return Candidate(score, hit.key, hit.group, hit.simhash, hit.domain, hit.references)


def _summed(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total.most_common())
