"""Who is asked: weft's own search, and plain rankings over exactly the documents that weft has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import tantivy

import weft
from weft.config import Settings
from weft.home import Home
from weft.linkindex.records import read_doc
from weft.store.open import open_reader
from weft.store.tables import Table

DEPTH = 10
WEFT = "weft"


class Document(NamedTuple):
    uri: str
    title: str
    text: str


class Contestant(Protocol):
    name: str

    def ask(self, text: str) -> list[str]:
        """The uris of the best ten, best first."""
        ...


def documents(home: Path) -> list[Document]:
    """What weft has crawled: every page that has words, as weft has read it."""
    with closing(open_reader(Home(home).store, Settings())) as reader:
        docs = (cell for cell in reader.scan_rows(Table.DOCS, b"x:") if not cell.qualifier)
        cells = [(cell.row[len(b"x:") :].decode(), cell.value) for cell in docs]
    read = ((uri, read_doc(value)) for uri, value in cells)
    return [Document(uri, doc.title, doc.text) for uri, doc in read if doc.text]


class TantivyRanking:
    """Tantivy's BM25 over stemmed words, any of which may match, summed over the fields."""

    def __init__(self, name: str, documents: Sequence[Document], fields: Sequence[str]) -> None:
        self.name, self._fields = name, list(fields)
        builder = tantivy.SchemaBuilder().add_text_field("uri", stored=True, tokenizer_name="raw")
        for field in fields:
            builder = builder.add_text_field(field, tokenizer_name="en_stem")
        self._index = tantivy.Index(builder.build())
        writer = self._index.writer(64 << 20, 1)
        for document in documents:
            known = document._asdict()
            writer.add_document(tantivy.Document(uri=document.uri, **{field: known[field] for field in fields}))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def ask(self, text: str) -> list[str]:
        # In lower case, since AND, OR, NOT and IN are operators otherwise.
        query = self._index.parse_query(text.lower(), self._fields)
        hits = self._searcher.search(query, DEPTH).hits
        return [str(self._searcher.doc(address)["uri"][0]) for _, address in hits]


class SqliteRanking:
    """SQLite FTS5 over stemmed words, any of which may match; a word of the title counts three times."""

    name = "SQLite FTS5, title 3, text 1"

    def __init__(self, documents: Sequence[Document]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE d USING fts5(uri UNINDEXED, title, text, tokenize='porter unicode61')"
        )
        self._database.executemany("INSERT INTO d VALUES (?, ?, ?)", documents)

    def ask(self, text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in text.split())
        command = "SELECT uri FROM d WHERE d MATCH ? ORDER BY bm25(d, 1, 3, 1) LIMIT ?"
        return [uri for (uri,) in self._database.execute(command, (words, DEPTH))]


class WeftSearch:
    """weft's own answers. Its limit for each domain is off: a set has few, and the page meant may be the third."""

    name = WEFT

    def __init__(self, index: Any) -> None:
        self._index = index

    def ask(self, text: str) -> list[str]:
        return [str(item.uri) for item in self._index.search(text, limit=DEPTH, per_domain=0).items]


def contestants(home: Path, documents: Sequence[Document]) -> Iterator[Contestant]:
    """One after the other: ask each before the next."""
    yield TantivyRanking("Tantivy BM25, text", documents, ["text"])
    yield TantivyRanking("Tantivy BM25, title and text", documents, ["title", "text"])
    yield SqliteRanking(documents)
    with weft.open(home) as index:
        if hasattr(index, "search"):
            yield WeftSearch(index)
