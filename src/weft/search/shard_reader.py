"""Searching one shard."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import msgspec
from tantivy import DocAddress, Index, Query, Searcher

from weft.errors import SearchMissing
from weft.search.analysis import STEMMED, words
from weft.search.ranking import RankedQuery, Ranking, stemmers_of
from weft.search.schema import make_schema
from weft.search.search_query import Kind, SearchQuery
from weft.search.shard import Cursors, ShardDirectory, open_searcher, read_cursors, reading
from weft.search.spelling import Correction, corrections

_FACET_VALUES: Final = 10
_COLUMNS: Final = ("key", "group", "simhash", "domain_key", "references")
_SCHEMA: Final = make_schema()
_FACETS: Final = {name: {"terms": {"field": name, "size": _FACET_VALUES}} for name in ("domain", "language")}


class Hit(msgspec.Struct, frozen=True, array_like=True):
    """A page that matches, with what ranking and folding need to know of it."""

    score: float
    uri: str
    key: int
    group: int
    simhash: int
    domain: int
    references: int


class ShardQuestion(msgspec.Struct, frozen=True, kw_only=True):
    query: SearchQuery
    some: bool = False
    """Whether any word may match; else all must."""
    most: int = 100
    """Hits that are wanted."""
    facets: bool = False


class ShardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    cursors: Cursors
    total: int = 0
    """Pages that match."""
    hits: list[Hit] = []
    """The best of them, the best first."""
    unknown: list[str] = []
    """Words of the query that no page of this shard has; asked only where nothing matches."""
    domains: dict[str, int] = {}
    """How many of the pages that match, for the most frequent domains."""
    languages: dict[str, int] = {}


class ScorePart(msgspec.Struct, frozen=True):
    """What a part of the query adds to a score."""

    name: str
    score: float


class _Opened(NamedTuple):
    path: Path
    tantivy: Index | None
    """None: it cannot be loaded again."""
    searcher: Searcher
    cursors: Cursors
    ranking: Ranking


class ShardReader:
    """Answers from the newest commit at the time of the last `refresh`. Several threads may ask at a time."""

    def __init__(self, directory: ShardDirectory) -> None:
        """Raises SearchMissing if there is no such shard, SearchDamaged if it cannot be read."""
        self._directory = directory
        self._refreshing = Lock()
        self._opened = self._open()

    @property
    def cursors(self) -> Cursors:
        return self._opened.cursors

    @property
    def documents(self) -> int:
        return max(0, self._opened.searcher.num_docs - 1)

    def refresh(self) -> None:
        """Move to the newest commit, or to a new generation."""
        with self._refreshing:
            opened = self._opened
            if opened.tantivy is None or self._directory.current() != opened.path:
                self._opened = self._open()
                return
            with reading(opened.path):
                opened.tantivy.reload()
                searcher = opened.tantivy.searcher()
            self._opened = _opened(opened.path, opened.tantivy, searcher)

    def ask(self, question: ShardQuestion) -> ShardAnswer:
        opened = self._opened
        # Not within `reading`: a query that tantivy refuses is our mistake, not a damaged index.
        ranked = opened.ranking.make(question.query)
        query = ranked.some if question.some else ranked.every
        with reading(opened.path):
            found = opened.searcher.search(query, max(1, question.most), count=True)
            facets = opened.searcher.aggregate(query, _FACETS) if question.facets else {}
            return ShardAnswer(
                cursors=opened.cursors,
                total=found.count,  # type: ignore[attr-defined]  # tantivy's types leave it out
                hits=_hits(opened.searcher, found.hits),
                unknown=[] if found.count else _unknown(question.query, opened.ranking),  # type: ignore[attr-defined]
                domains=_buckets(facets, "domain"),
                languages=_buckets(facets, "language"),
            )

    def correct(self, word: str) -> list[Correction]:
        """Words that may be meant by one that no page has."""
        opened = self._opened
        with reading(opened.path):
            return corrections(opened.searcher, word)

    def explain(self, query: SearchQuery, uri: str) -> list[ScorePart]:
        """What each part of the query adds to the score of a page; nothing if the page is not here."""
        opened = self._opened
        ranked = opened.ranking.make(query)
        with reading(opened.path):
            found = opened.searcher.search(Query.term_query(_SCHEMA, "uri", uri), 1).hits
            if not found:
                return []
            return _explained(opened.searcher, ranked, found[0][1])

    def _open(self) -> _Opened:
        path = self._directory.current()
        if path is None:
            raise SearchMissing(self._directory.path)
        index, searcher = open_searcher(path)
        with reading(path):
            return _opened(path, index, searcher)


def _opened(path: Path, index: Index | None, searcher: Searcher) -> _Opened:
    languages = [tag for tag in STEMMED if searcher.doc_freq("language", tag)]
    return _Opened(path, index, searcher, read_cursors(searcher, path), Ranking(searcher, stemmers_of(languages)))


def _hits(searcher: Searcher, found: list[tuple[Any, DocAddress]]) -> list[Hit]:
    addresses = [address for _, address in found]
    columns = [searcher.fast_field_values(name, addresses) for name in _COLUMNS]
    uris = [searcher.doc(address).get_first("uri") for address in addresses]
    return [Hit(score, uri or "", *facts) for (score, _), uri, *facts in zip(found, uris, *columns, strict=True)]


def _unknown(query: SearchQuery, ranking: Ranking) -> list[str]:
    pieces = [term.text for group in query.groups for term in group if term.kind is Kind.WORD]
    return [word for piece in pieces for word in words(piece) if not ranking.is_known(word)]


def _buckets(facets: dict[str, Any], name: str) -> dict[str, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in facets.get(name, {}).get("buckets", ())}


def _explained(searcher: Searcher, ranked: RankedQuery, address: DocAddress) -> list[ScorePart]:
    parts = []
    for name, query in ranked.parts:
        value = _value(query, searcher, address)
        if value:
            parts.append(ScorePart(name, value))
    return parts


def _value(query: Query, searcher: Searcher, address: DocAddress) -> float:
    try:
        return float(json.loads(query.explain(searcher, address).to_json())["value"])
    except ValueError:
        # tantivy explains nothing to pages that do not match.
        return 0.0
