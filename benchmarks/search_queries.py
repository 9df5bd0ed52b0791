"""How fast answers are: raw tantivy with the very query that weft makes, weft's shard, the whole answer, and FTS5."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from measuring import percentile
from search_apart import CpuWatch, apart
from search_memory import STORE, Built
from search_questions import Question, make_questions
from weft.answers.search import SearchOptions, search_listing
from weft.answers.view import View
from weft.config.sections import IndexserverSettings
from weft.search.document import SearchDocument
from weft.search.document_source import DocumentSource
from weft.search.local_shards import LocalShards, shard_directories
from weft.search.query_language import parse
from weft.search.ranking import word_query, words_of
from weft.search.shard import Cursors, ShardWriter
from weft.search.shard_reader import ShardQuestion, ShardReader
from weft.store.rocksdb import RocksReader

RAW, RAW_UNCOUNTED = "raw tantivy", "raw, not counting"
ASK, ASK_ALL, WHOLE, FTS = "shard, 10 hits", "shard, 100 hits and facets", "whole answer", "SQLite FTS5"
WAYS = (RAW, RAW_UNCOUNTED, ASK, ASK_ALL, WHOLE, FTS)
REFRESH = "refresh"
_PAGES_ASKED_ABOUT = 500
_AGAIN = 1.0
"""Seconds between two commits while indexing goes on, and between two refreshes."""


class Taken(NamedTuple):
    """Seconds of an answer, on the clock and of this thread's CPU: others may be using the machine."""

    wall: float
    cpu: float


Times = dict[str, dict[str, list[Taken]]]
"""By way and kind of question."""


class Answered(NamedTuple):
    documents: int
    quiet: Times
    busy: Times
    """While another process writes documents as fast as it can."""


def measure_queries(built: Built, each: int) -> Answered:
    pages = apart(_some_pages, built.store, _PAGES_ASKED_ABOUT)
    questions = make_questions(pages, each)
    database = built.row.parent / "fts.db"
    apart(_fill_fts, built.store, database)
    quiet = apart(_ask_all, built, database, questions)
    with _writing(built):
        busy = apart(_ask_all, built, database, questions)
    return Answered(built.documents, quiet, busy)


def _some_pages(store: Path, count: int) -> list[SearchDocument]:
    return list(islice(_documents(store), count))


def _documents(store: Path) -> Iterator[SearchDocument]:
    source = DocumentSource(RocksReader(store))
    return (document for uris in source.uris() for document in source.documents(uris) if document)


def _fill_fts(store: Path, path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.execute(
        "CREATE VIRTUAL TABLE d USING fts5(uri UNINDEXED, site, title, headings, text, tokenize='porter unicode61')"
    )
    rows = ((one.uri, _site(one.uri), one.title, "\n".join(one.headings), one.text) for one in _documents(store))
    database.executemany("INSERT INTO d VALUES (?, ?, ?, ?, ?)", rows)
    database.execute("INSERT INTO d(d) VALUES ('optimize')")
    database.commit()
    database.close()


def _site(uri: str) -> str:
    return uri.split(".")[1]


def _fts_query(question: Question) -> str:
    words = " ".join(question.words) if question.is_phrase else '" AND "'.join(question.words)
    site = f' AND site:"{question.site.split(".")[0]}"' if question.site else ""
    return f'{{title headings text}}: ("{words}"){site}'


def _ask_all(built: Built, database: Path, questions: Sequence[Question]) -> Times:
    """Every question in every way, each just after it was asked in this way for the first time.

    So all of them find the machine equally warm. But words are new to weft each time, though it remembers them.
    """
    asker = _Asker(built, database)
    times: Times = defaultdict(lambda: defaultdict(list))
    refreshed = time.monotonic()
    for question in questions:
        if time.monotonic() - refreshed > _AGAIN:
            times[REFRESH][""].append(_timed(asker.refresh))
            refreshed = time.monotonic()
        for name, way in asker.ways(question).items():
            way()
            word_query.cache_clear()
            words_of.cache_clear()
            times[name][question.kind].append(_timed(way))
    return {way: dict(found) for way, found in times.items()}


class _Asker:
    def __init__(self, built: Built, database: Path) -> None:
        directory = shard_directories(built.row, STORE, 1)[0]
        self._reader = ShardReader(directory)
        self._shards = LocalShards([self._reader])
        self._view = View(RocksReader(built.store))
        self._database = sqlite3.connect(database)

    def refresh(self) -> None:
        self._reader.refresh()

    def ways(self, question: Question) -> dict[str, Callable[[], object]]:
        query, opened = parse(question.text), self._reader._opened
        made = opened.ranking.make(query).every
        few = ShardQuestion(query=query, most=10)
        many = ShardQuestion(query=query, most=100, facets=True)
        command = "SELECT uri FROM d WHERE d MATCH ? ORDER BY rank LIMIT 10"
        return {
            RAW: lambda: opened.searcher.search(made, 10),
            RAW_UNCOUNTED: lambda: opened.searcher.search(made, 10, count=False),
            ASK: lambda: self._reader.ask(few),
            ASK_ALL: lambda: self._reader.ask(many),
            WHOLE: lambda: search_listing(self._view, self._shards, question.text, SearchOptions()),
            FTS: lambda: self._database.execute(command, (_fts_query(question),)).fetchall(),
        }


def _timed(call: Callable[[], object]) -> Taken:
    watch = CpuWatch()
    call()
    return Taken(watch.wall, watch.own)


@contextmanager
def _writing(built: Built) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    writer = context.Process(target=_write, args=(built, theirs))
    writer.start()
    theirs.close()
    mine.recv()
    try:
        yield
    finally:
        mine.send("stop")
        writer.join()


def _write(built: Built, told: Connection) -> None:
    """Write documents anew, chosen by chance, with a commit each second."""
    directory = shard_directories(built.row, STORE, 1)[0]
    path = directory.current()
    assert path is not None
    writer = ShardWriter(path, IndexserverSettings().memory)
    source = DocumentSource(RocksReader(built.store))
    uris = next(source.uris())
    dice, seq, committed = random.Random(3), writer.cursors.content, time.monotonic()
    told.send("ready")
    while not told.poll():
        for document in source.documents(dice.choices(uris, k=50)):
            if document is not None:
                writer.put(document.uri, document)
        if time.monotonic() - committed > _AGAIN:
            seq, committed = seq + 1, time.monotonic()
            writer.commit(Cursors(seq, seq))
    writer.settle()


def queries_table(found: Answered) -> Iterator[str]:
    yield f"\n| {found.documents:,} documents, p50 ms | {' | '.join(WAYS)} | shard, of raw (CPU) |"
    yield f"|---|{'---|' * len(WAYS)}---|"
    for kind in found.quiet[RAW]:
        yield _row(kind, found.quiet, 0.5, kind)
    for name, times in (("quiet", found.quiet), ("while indexing", found.busy)):
        for share in (0.5, 0.99):
            yield _row(f"all, {name}, p{share * 100:.0f}", times, share)
    refreshes = [taken.wall for taken in found.busy.get(REFRESH, {}).get("", [])]
    if refreshes:
        p50, worst = percentile(refreshes, 0.5) * 1000, max(refreshes) * 1000
        yield f"\nrefresh while indexing: p50 {p50:.1f} ms, worst of {len(refreshes)} {worst:.1f} ms"


def _row(name: str, times: Times, share: float, kind: str | None = None) -> str:
    taken = {way: [one for of, some in times[way].items() if kind in (None, of) for one in some] for way in WAYS}
    cells = " | ".join(f"{percentile([one.wall for one in taken[way]], share) * 1000:.2f}" for way in WAYS)
    cpu = {way: percentile([one.cpu for one in taken[way]], share) for way in (RAW, ASK)}
    return f"| {name} | {cells} | {cpu[ASK] / cpu[RAW]:.2f} |"
