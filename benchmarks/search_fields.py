"""What each field costs, and what it is worth: the sets of `weft bench searchquality`, one field left out at a time.

Only queries of the tuning half are asked. weft itself knows no index without a field: it is left out here, between
weft's documents and tantivy, and of the queries nothing changes but that phrases go where there are no positions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import tantivy

from measuring import disk_used
from search_apart import CpuWatch, apart
from searchquality_pages import read_pages
from searchquality_queries import Query, make_queries
from searchquality_scores import Score, rank_of, score
from searchquality_sites import SETS, place_of
from weft.config import Settings
from weft.config.sections import IndexserverSettings
from weft.home import Home
from weft.search.analysis import words
from weft.search.document import SearchDocument
from weft.search.document_source import DocumentSource
from weft.search.local_shards import LocalShards
from weft.search.query_language import parse
from weft.search.ranking import Part, Ranking
from weft.search.schema import WORD_FIELDS, as_tantivy, make_schema
from weft.search.search import search
from weft.search.search_query import SearchQuery
from weft.search.shard import Cursors, ShardDirectory, ShardName, ShardWriter
from weft.store.open import open_reader

WHOLE = "all fields"
POSITIONS = "positions (phrases, pairs)"
FIELDS = ("title", "headings", "anchors", "url", "text", "stems", "names", "url and names")
_STORE = "bench"
_MEMORY = IndexserverSettings().memory
_TIMES = 2


class FieldCost(NamedTuple):
    documents: int
    cpu: float
    bytes: int
    ranks: list[int]


class SetHome(NamedTuple):
    name: str
    home: Path
    queries: list[tuple[str, frozenset[str]]]


def known_sets(cache: Path, of_a_kind: int) -> list[SetHome]:
    """Those that `weft bench searchquality` has made, with the queries of the tuning half."""
    found = []
    for one in SETS:
        directory = cache / one.name
        if (directory / "port").exists():
            queries = [(query.text, query.right) for query in _queries(directory, of_a_kind) if not query.is_unseen]
            found.append(SetHome(one.name, directory / "home", queries))
    return found


def _queries(directory: Path, of_a_kind: int) -> list[Query]:
    port, place = int((directory / "port").read_text()), place_of(directory / "pages")
    return make_queries(read_pages(place.served, port), read_pages(place.left_out, port), of_a_kind)


def measure_fields(sets: Sequence[SetHome]) -> dict[str, list[FieldCost]]:
    """By what is left out, for each set."""
    return {name: [apart(_measure, one, name) for one in sets] for name in (WHOLE, *FIELDS, POSITIONS)}


def _measure(asked: SetHome, left_out: str) -> FieldCost:
    _leave_out(left_out)
    reader = open_reader(Home(asked.home).store, Settings())
    source = DocumentSource(reader)
    documents = [document for uris in source.uris() for document in source.documents(uris) if document]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        costs = [_written(documents, Path(place) / str(n)) for n in range(_TIMES)]
        shards = LocalShards.open(Path(place) / "0", _STORE, 1)
        ranks = [rank_of(_answers(shards, text), right) for text, right in asked.queries]
        return FieldCost(len(documents), min(costs), disk_used(Path(place) / "0"), ranks)


def _written(documents: Sequence[SearchDocument], row: Path) -> float:
    directory = ShardDirectory(row / "shard-000", ShardName(_STORE, 0, 1))
    generation = directory.next_generation()
    writer = ShardWriter(generation, _MEMORY)
    watch = CpuWatch()
    for document in documents:
        writer.add(document)
    writer.commit(Cursors(1, 1))
    writer.settle()
    directory.switch(generation)
    return watch.all / len(documents)


def _answers(shards: LocalShards, text: str) -> list[str]:
    found = search(shards, parse(text))
    return [found.uris[result.candidate.key] for result in found.results[:10]]


class _Sieve:
    """A document of tantivy that does not take some fields."""

    def __init__(self, is_left_out: Callable[[str], bool]) -> None:
        self.document, self._is_left_out = tantivy.Document(), is_left_out

    def add_text(self, field: str, text: str) -> None:
        if not self._is_left_out(field):
            self.document.add_text(field, text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.document, name)


def _leave_out(name: str) -> None:
    """In this process, for good."""
    wanted = name.split(" and ")
    if name == POSITIONS:
        _leave_out_positions()
    if "names" in wanted:
        patch("weft.search.schema.names_of", lambda document: []).start()

    def is_left_out(field: str) -> bool:
        return field.partition("_")[0] in wanted

    def sieved(document: SearchDocument) -> tantivy.Document:
        made: object = as_tantivy(document)
        assert isinstance(made, _Sieve)
        return made.document

    patch("weft.search.schema.Document", lambda: _Sieve(is_left_out)).start()
    patch("weft.search.shard.as_tantivy", sieved).start()


class _Builder:
    """A schema of tantivy that knows no positions."""

    def __init__(self) -> None:
        self._builder = tantivy.SchemaBuilder()

    def add_text_field(self, name: str, **options: Any) -> None:
        changed = {"index_option": "freq"} if name in WORD_FIELDS else {}
        self._builder.add_text_field(name, **{**options, **changed})

    def __getattr__(self, name: str) -> object:
        return getattr(self._builder, name)


def _leave_out_positions() -> None:
    patch("weft.search.schema.SchemaBuilder", _Builder).start()
    patch.object(Ranking, "_nearby", _only_names).start()
    patch.object(Ranking, "_phrase", _anywhere).start()


def _only_names(ranking: Ranking, query: SearchQuery) -> list[Part]:
    found = [word for group in query.groups for word in words(group[0].text)]
    return ranking._name(query, found)


def _anywhere(ranking: Ranking, found: Sequence[str], fields: Sequence[str], weight: float = 1.0) -> tantivy.Query:
    schema, every = make_schema(), tantivy.Occur.Must
    places = [
        tantivy.Query.boolean_query([(every, tantivy.Query.term_query(schema, field, word)) for word in found])
        for field in fields
    ]
    return tantivy.Query.disjunction_max_query(places, 0.3)


def fields_table(sets: Sequence[SetHome], found: dict[str, list[FieldCost]]) -> Iterator[str]:
    whole = found[WHOLE]
    told = ", ".join(f"{one.name} {cost.documents:,} documents" for one, cost in zip(sets, whole, strict=True))
    yield f"{told}; {sum(len(one.queries) for one in sets):,} queries of the tuning half\n"
    yield f"| left out | CPU µs per document | index bytes per document | {_heads(sets)} | MRR@10, both | lost |"
    yield f"|---|---|---|{'---|' * len(sets)}---|---|"
    for name, costs in found.items():
        documents = sum(cost.documents for cost in costs)
        cpu = sum(cost.cpu * cost.documents for cost in costs) / documents * 1e6
        size = sum(cost.bytes for cost in costs) / documents
        each = " | ".join(f"{score(cost.ranks).mrr:.3f}" for cost in costs)
        both, best = _both(costs).mrr, _both(whole).mrr
        lost = "" if name == WHOLE else f"{best - both:.3f}"
        yield f"| {name if name != WHOLE else 'nothing'} | {cpu:,.0f} | {size:,.0f} | {each} | {both:.3f} | {lost} |"


def _heads(sets: Sequence[SetHome]) -> str:
    return " | ".join(f"MRR@10, {one.name}" for one in sets)


def _both(costs: Sequence[FieldCost]) -> Score:
    return score([rank for cost in costs for rank in cost.ranks])
