"""How well a page matches: from a parsed query to a tantivy query, and what each part of it adds to a score.

Every word counts once, in the field where it counts most (maximum, and a little of the others). Phrases and pairs of
neighbouring words count on top of that. References are added at the end, a little; see `with_references`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from math import inf, log2
from typing import Final, NamedTuple

from tantivy import FieldType, Occur, Query, Schema, Searcher

from weft.model.url import Uri, UrlRefused, UrlRules
from weft.search.analysis import STEMMED, is_unspaced, language_of, stems, words
from weft.search.query_terms import LONGEST_SITE
from weft.search.schema import MOST_NAME_WORDS, as_name, make_schema, stem_field
from weft.search.search_query import Field, Kind, SearchQuery, Term

_SCHEMA: Final[Schema] = make_schema()
_COMMON: Final = 0.4
"""A word on more than this share of all pages need not match, if others do."""
_FEW_PAGES: Final = 50
"""So few pages that no word is common."""
_PREFIX_WORDS: Final = 100
"""Words that a prefix stands for, the most frequent ones."""
_NEIGHBOURS: Final = 16
"""Pairs of neighbouring words that are looked for."""
_REMEMBERED: Final = 2000
"""Words whose queries are kept: a few kilobytes each. Every shard of a server asks for the same ones."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a match counts, by where it is; found by `weft bench searchquality`."""

    title: float = 2.0
    headings: float = 0.9
    anchors: float = 1.5
    url: float = 0.5
    text: float = 1.0
    stems: float = 0.7
    tie: float = 0.3
    """What a word's other fields add, as a share."""
    phrase: float = 2.5
    """All words of the query side by side."""
    pair: float = 0.8
    """Two neighbouring words side by side."""
    name: float = 1.0
    """The whole query is what the page is called: its title or a part of it, or the words of a link to it."""
    crawled: float = 2.0
    """The page itself was read, not only links to it."""
    references: float = 0.2
    """For each doubling of the number of pages that link here."""


WEIGHTS: Final = Weights()
_ANY_FIELDS: Final = ("title", "headings", "anchors", "url", "text")
_PHRASE_FIELDS: Final = ("title", "headings", "anchors", "text")
_FIELDS: Final = {Field.ANY: _ANY_FIELDS, Field.TITLE: ("title",), Field.URL: ("url",)}


class Part(NamedTuple):
    """A part of a query that adds to the score, with a name for people."""

    name: str
    query: Query


_Clause = tuple[Occur, Query]


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """What is asked of one shard; a tantivy query is made when it is asked for, because that copies all of it."""

    parts: tuple[Part, ...]
    _must: list[_Clause]
    _should: list[_Clause]
    _rest: list[_Clause]

    @property
    def every(self) -> Query:
        """All words must match."""
        return Query.boolean_query([*self._must, *self._rest])

    @property
    def some(self) -> Query:
        """Any word may match; the more the better."""
        some = [(Occur.Must, Query.boolean_query(self._should))] if self._should else []
        return Query.boolean_query([*some, *self._rest])


def with_references(score: float, references: int, weights: Weights = WEIGHTS) -> float:
    return score + weights.references * log2(1 + references)


class _Places:
    """Where words are looked for, and how much each place counts. Equal ones are the same one, so that it can be a part
    of a key."""

    def __init__(self, stemmers: tuple[str, ...], weights: Weights) -> None:
        self.stemmers, self.tie = stemmers, weights.tie
        self.of_stems = weights.stems
        self.of_field: dict[str, float] = {field: getattr(weights, field) for field in _ANY_FIELDS}
        own = Query.const_score_query(Query.term_query(_SCHEMA, "crawled", "yes"), weights.crawled)
        self.crawled = Part("crawled", own)

    def best(self, queries: list[Query]) -> Query:
        """The one that counts most, and a little of the others."""
        return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries, self.tie)


_places = lru_cache(maxsize=64)(_Places)


class Ranking:
    """Makes queries for one shard, as it is now: common words are judged by how many pages have them."""

    def __init__(self, searcher: Searcher, stemmers: Sequence[str], weights: Weights = WEIGHTS) -> None:
        """`stemmers` are those of the languages that the shard has pages in."""
        self._searcher, self._stemmers, self._weights = searcher, stemmers, weights
        self._places = _places(tuple(stemmers), weights)
        self._rarely = searcher.num_docs * _COMMON if searcher.num_docs >= _FEW_PAGES else inf
        """A word on more pages than this is common."""

    def make(self, query: SearchQuery) -> RankedQuery:
        groups = [self._group(group) for group in query.groups]
        nearby = self._nearby(query)
        filters = [*_filters(query), *((Occur.MustNot, self._term(term)) for term in query.excluded)]
        nearby.append(self._places.crawled)
        optional = [(Occur.Should, part.query) for part in nearby]
        must = [
            (Occur.Should if is_common else Occur.Must, part.query) for part, is_common in self._judged(query, groups)
        ]
        should = [(Occur.Should, part.query) for part in groups]
        everything = [] if groups else [(Occur.Must, Query.const_score_query(_crawled(), 1.0))]
        return RankedQuery((*groups, *nearby), must, should, [*everything, *filters, *optional])

    def is_known(self, word: str) -> bool:
        """Whether any page has this word, in any form."""
        fields = [*_ANY_FIELDS, *(stem_field(stemmer) for stemmer in self._stemmers)]
        forms = [*(word for _ in _ANY_FIELDS), *(_first(stems(word, stemmer)) for stemmer in self._stemmers)]
        return any(self._searcher.doc_freq(field, form) for field, form in zip(fields, forms, strict=True) if form)

    def _judged(self, query: SearchQuery, groups: Sequence[Part]) -> list[tuple[Part, bool]]:
        """Each group, and whether its word is so common that it need not match."""
        common = [len(groups) > 1 and self._is_common(group) for group in query.groups]
        if all(common):
            common = [False] * len(common)
        return list(zip(groups, common, strict=True))

    def _is_common(self, group: tuple[Term, ...]) -> bool:
        if not _is_plain(group):
            return False
        found = words_of(group[0].text)
        return len(found) == 1 and self._is_common_word(found[0])

    def _is_common_word(self, word: str) -> bool:
        return self._searcher.doc_freq("text", word) > self._rarely

    def _group(self, group: tuple[Term, ...]) -> Part:
        if len(group) == 1:
            return Part(group[0].text, self._term(group[0]))
        return Part(" OR ".join(term.text for term in group), self._places.best([self._term(term) for term in group]))

    def _term(self, term: Term) -> Query:
        if term.kind is Kind.PREFIX:
            return self._prefix(term)
        found = words_of(term.text)
        if len(found) > 1:
            return self._phrase(found, _FIELDS[term.field])
        if not found:
            return Query.empty_query()
        if len(found[0]) == 1 and is_unspaced(found[0]):
            return self._prefix(term)
        is_phrase = term.kind is Kind.PHRASE
        return self._phrase(found, _FIELDS[term.field]) if is_phrase else self._word(found[0], term)

    def _word(self, word: str, term: Term) -> Query:
        return word_query(self._places, word, term.field)

    def _prefix(self, term: Term) -> Query:
        """The words before the last one as they are, the last one as a beginning."""
        *whole, begun = words_of(term.text) or [term.text]
        found = [
            (field, self._searcher.terms_with_prefix(field, begun, limit=_PREFIX_WORDS))
            for field in _FIELDS[term.field]
        ]
        weights = self._places.of_field
        places = [
            Query.boost_query(
                Query.const_score_query(Query.term_set_query(_SCHEMA, field, [one for one, _ in some]), 1),
                weights[field],
            )
            for field, some in found
            if some
        ]
        last = Query.disjunction_max_query(places, self._weights.tie) if places else Query.empty_query()
        each = [*(self._word(word, term) for word in whole), last]
        return last if not whole else Query.boolean_query([(Occur.Must, one) for one in each])

    def _phrase(self, found: Sequence[str], fields: Sequence[str], weight: float = 1.0) -> Query:
        weights = self._places.of_field
        return self._places.best(
            [Query.boost_query(_side_by_side(field, found), weights[field] * weight) for field in fields]
        )

    def _nearby(self, query: SearchQuery) -> list[Part]:
        """What words count on top of their own because they stand side by side, as in the query."""
        found = [word for group in query.groups if _is_plain(group) for word in words_of(group[0].text)]
        parts = self._name(query, found)
        if len(found) < 2:
            return parts
        pairs = self._telling(list(pairwise(found)))[:_NEIGHBOURS]
        parts += [Part(" ".join(pair), self._phrase(pair, _PHRASE_FIELDS, self._weights.pair)) for pair in pairs]
        if len(found) > 2:
            whole = found[: _NEIGHBOURS + 1]
            parts.append(Part(f'"{" ".join(whole)}"', self._phrase(whole, _PHRASE_FIELDS, self._weights.phrase)))
        return parts

    def _telling(self, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Without pairs of two common words, if there are others: nearly all pages would be searched for them, even
        those that have no other word of the query."""
        if len(pairs) == 1:
            return pairs
        common = {word for word in set(chain.from_iterable(pairs)) if self._is_common_word(word)}
        return [pair for pair in pairs if not common.issuperset(pair)] or pairs

    def _name(self, query: SearchQuery, found: Sequence[str]) -> list[Part]:
        if not found or len(found) > MOST_NAME_WORDS or not all(map(_is_plain, query.groups)):
            return []
        called = Query.term_query(_SCHEMA, "names", as_name(found))
        return [Part(f"named {as_name(found)}", Query.boost_query(called, self._weights.name))]


@lru_cache(maxsize=_REMEMBERED)
def words_of(text: str) -> tuple[str, ...]:
    """The words of one piece of a query, which is looked at several times."""
    return tuple(words(text))


@lru_cache(maxsize=_REMEMBERED)
def word_query(places: _Places, word: str, field: Field) -> Query:
    """What finds a word; it does not change, however pages do."""
    weights = places.of_field
    found = [Query.boost_query(Query.term_query(_SCHEMA, name, word), weights[name]) for name in _FIELDS[field]]
    if field is Field.ANY:
        for stemmer in places.stemmers:
            if stem := _first(stems(word, stemmer)):
                in_stems = Query.term_query(_SCHEMA, stem_field(stemmer), stem, "freq")
                found.append(Query.boost_query(in_stems, places.of_stems))
    return places.best(found)


def stemmers_of(languages: Sequence[str]) -> list[str]:
    """The stemmers of these languages, each once."""
    return sorted({STEMMED[language] for language in languages if language in STEMMED})


def _is_plain(group: tuple[Term, ...]) -> bool:
    return len(group) == 1 and group[0].field is Field.ANY and group[0].kind is Kind.WORD


def _side_by_side(field: str, found: Sequence[str]) -> Query:
    if len(found) == 1:
        return Query.term_query(_SCHEMA, field, found[0])
    return Query.phrase_query(_SCHEMA, field, list(found))


def _first(found: Sequence[str]) -> str:
    return found[0] if found else ""


def _filters(query: SearchQuery) -> list[_Clause]:
    filters = [_any_of([_site(site) for site in query.sites])] if query.sites else []
    filters += [_any_of([_language(tag) for tag in query.languages])] if query.languages else []
    if query.after is not None or query.before is not None:
        filters.append(_changed(query.after, query.before))
    wanted = [(Occur.Must, Query.const_score_query(one, 0.0)) for one in filters]
    unwanted = [*map(_site, query.not_sites), *map(_language, query.not_languages)]
    return [*wanted, *((Occur.MustNot, one) for one in unwanted)]


def _any_of(queries: Sequence[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _crawled() -> Query:
    return Query.term_set_query(_SCHEMA, "crawled", ["yes", "no"])


def _site(site: str) -> Query:
    host, slash, _ = site.partition("/")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and ":" in host else host
    in_host = Query.term_query(_SCHEMA, "site", name)
    begin = _uri_prefix(site) if slash or name != host else ""
    if not begin:
        return in_host
    return Query.boolean_query([(Occur.Must, in_host), (Occur.Must, Query.regex_query(_SCHEMA, "uri", begin + ".*"))])


def _uri_prefix(site: str) -> str:
    """A regular expression for what uris below this address begin with; empty if it is no address."""
    try:
        uri: Uri = UrlRules((), 2048).identify(f"https://{site}").uri
    except UrlRefused:
        return ""
    return "".join(
        character if character.isalnum() else f"\\x{{{ord(character):x}}}" for character in uri[:LONGEST_SITE]
    )


def _language(tag: str) -> Query:
    return Query.term_query(_SCHEMA, "language", language_of(tag) or tag)


def _changed(after: int | None, before: int | None) -> Query:
    # 0 is the time of pages that were never crawled.
    latest = None if before is None else before - 1
    return Query.range_query(_SCHEMA, "changed", FieldType.Integer, lower_bound=max(1, after or 1), upper_bound=latest)
