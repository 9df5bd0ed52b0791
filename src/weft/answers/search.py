"""Which pages match these words: what search has found, with titles, snippets and facets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from math import ceil
from typing import Final

import msgspec

from weft.answers.objects import Listing, moment_or_none
from weft.answers.view import View
from weft.errors import UsageError
from weft.linkindex import keys
from weft.linkindex.records import Doc, read_doc
from weft.model.url import Uri, domain_of
from weft.search.analysis import language_of
from weft.search.query_language import SearchQuery, parse, render
from weft.search.result_folding import Folded, ResultPage, page_of
from weft.search.search import DEEPEST, WINDOW, Found, Shards, search
from weft.search.shard_reader import ScorePart
from weft.search.snippets import Attention, Snippet, Wanted, make_snippet, mark_words, wanted
from weft.store.tables import Table

PER_DOMAIN: Final = 2
"""Results of one domain on a page of results, unless the query names a site."""
_AS_GOOD: Final = 0.5
"""Of the best score: a page that matches so much worse takes no better one's place because of its domain."""
FACETS: Final = 10
"""Values that are counted in an answer, the most frequent ones."""
_STEPS_OF_ITEM: Final = 1000
"""Of a budget, for the snippet of an item: some milliseconds."""
_STEPS_OF_WORD: Final = 60
"""For what a word of the query adds to the score of an item."""
MOST_RESULTS: Final = 100
"""Results on one page."""


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    limit: int = 10
    cursor: str | None = None
    per_domain: int | None = None
    """0: any number; None: two, or any number if the query names a site."""
    fold: bool = True
    """Whether pages that say nearly the same, or name the same canonical page, are one result."""
    explain: bool = False


class SearchItem(msgspec.Struct, frozen=True, kw_only=True):
    """A page that matches. Marks are ranges of characters: the words that were searched for."""

    uri: str
    url: str
    title: str
    title_marks: list[tuple[int, int]]
    snippet: str
    marks: list[tuple[int, int]]
    references: int
    score: float
    crawled: bool
    domain: str
    language: str
    changed: str | None
    """When the page became what it is; None: not crawled."""
    folded: int = 0
    """Other pages that say nearly the same."""
    parts: list[ScorePart] | None = None
    """How the score came about, if that was asked for."""


class Facet(msgspec.Struct, frozen=True):
    value: str
    count: int


class SearchListing(Listing, frozen=True, kw_only=True):
    """A page of results. `total` counts all pages that match, before folding."""

    query: str
    """What was searched for."""
    total_is_exact: bool
    """False while parts of the index cannot be reached."""
    all_words: bool
    """False: no page has all words, these have some of them."""
    corrected: dict[str, str]
    """Words that no page has, and what was searched for in their place."""
    notes: list[str]
    """What was read otherwise than it was perhaps meant; one sentence each."""
    domains: list[Facet]
    languages: list[Facet]
    missing_shards: int = 0


def search_listing(view: View, shards: Shards, text: str, options: SearchOptions) -> SearchListing:
    query = parse(text)
    if not 1 <= options.limit <= MOST_RESULTS:
        raise UsageError(f"limit {options.limit} is out of range; expected 1 to {MOST_RESULTS}")
    found, page = _look(shards, query, options)
    items = _items(view, found, page.items)
    if options.explain:
        items = [_explained(view, shards, found.query, item) for item in items]
    return SearchListing(
        seq=found.seq,
        count=len(items),
        total=found.total,
        items=items,
        next=page.next,
        prev=page.prev,
        counting=view.counting,
        query=render(found.query),
        total_is_exact=not found.missing,
        all_words=found.all_words,
        corrected=found.corrected,
        notes=list(query.notes),
        domains=[Facet(*one) for one in found.domains.items()][:FACETS],
        languages=[Facet(*one) for one in found.languages.items()][:FACETS],
        missing_shards=found.missing,
    )


def _look(shards: Shards, query: SearchQuery, options: SearchOptions) -> tuple[Found, ResultPage]:
    """As far as it takes to fill the page: what comes behind never moves what is on a full one."""
    most, per_domain = 0, options.per_domain
    while True:
        most += WINDOW
        found = search(shards, query, most=most, folds=options.fold, facets=True)
        if per_domain is None:
            per_domain = 0 if query.sites else _per_domain(found, options.limit)
        page = page_of(found.results, options.limit, per_domain, options.cursor)
        if (page.next and page.is_full) or most >= min(found.total, DEEPEST):
            return found, page


def _per_domain(found: Found, limit: int) -> int:
    """Two, or as many as it takes to fill a page with domains that match about as well as the best one."""
    least = _AS_GOOD * max((result.candidate.score for result in found.results), default=0.0)
    domains = {result.candidate.domain for result in found.results if result.candidate.score >= least}
    return max(PER_DOMAIN, ceil(limit / len(domains))) if domains else PER_DOMAIN


def _items(view: View, found: Found, results: Sequence[Folded]) -> list[SearchItem]:
    uris = [Uri(found.uris[result.candidate.key]) for result in results]
    infos = view.infos(uris)
    urls = view.urls(uris, infos)
    columns = [column(uri.encode()) for uri in uris for column in (keys.doc_column, keys.doc_changed_column)]
    cells = view.reader.get(Table.DOCS, columns)
    asked, attention = cache(partial(wanted, found.query)), Attention(len(results))
    items = []
    for at, (uri, url, info, result) in enumerate(zip(uris, urls, infos, results, strict=True)):
        stored, changed = cells[2 * at], cells[2 * at + 1]
        doc = read_doc(stored.value) if stored and info.docs else Doc()
        view.budget.spend(_STEPS_OF_ITEM)
        attention.turn_to(len(doc.text))
        title, snippet = _shown(asked(language_of(doc.language)), doc, attention)
        items.append(
            SearchItem(
                uri=uri,
                url=url,
                title=title.text,
                title_marks=list(title.marks),
                snippet=snippet.text,
                marks=list(snippet.marks),
                references=info.references,
                score=round(result.candidate.score, 4),
                crawled=bool(info.docs),
                domain=domain_of(uri),
                language=language_of(doc.language),
                changed=moment_or_none(int(changed.value) if changed else None),
                folded=result.folded,
            )
        )
    return items


def _shown(asked: Wanted, doc: Doc, attention: Attention) -> tuple[Snippet, Snippet]:
    title = mark_words(doc.title, asked, attention)
    snippet = make_snippet(doc.text, asked, attention=attention)
    if not snippet.marks and doc.description:
        snippet = make_snippet(doc.description, asked, attention=attention)
    return title, snippet


def _explained(view: View, shards: Shards, query: SearchQuery, item: SearchItem) -> SearchItem:
    words = sum(len(term.text.split()) for group in query.groups for term in group)
    view.budget.spend(_STEPS_OF_WORD * (1 + words))
    parts = shards.explain(query, item.uri)
    rest = item.score - sum(part.score for part in parts)
    references = ScorePart(f"{item.references:,} references", round(rest, 4))
    return msgspec.structs.replace(item, parts=[*parts, references])
