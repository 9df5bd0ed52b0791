"""What it costs to make pages searchable: weft's indexer, and tantivy given the same documents ready.

A link index is written in one process, round by round; an indexer in another follows it, one step after each round, and
at the end writes what is left. Raw tantivy then plays the very same deletes, documents and commits, with every document
made before the clock starts. Merges are inside the clock for both.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import msgspec
from tantivy import Document, Index

from measuring import disk_used
from search_apart import CpuWatch, apart
from search_texts import TextPlan, make_pages, rounds
from weft.clock import ManualClock
from weft.config.sections import IndexserverSettings, IndexSettings
from weft.linkindex.cells import Cells
from weft.linkindex.feed import FeedChanges, feed_cells
from weft.linkindex.pipeline import LinkIndex
from weft.search.document import SearchDocument
from weft.search.document_source import DocumentSource
from weft.search.indexer import Indexer
from weft.search.schema import NOTE_FIELD, NOTE_NAME, as_tantivy, make_schema, register_analyzers
from weft.search.shard import Cursors, ShardWriter
from weft.store.rocksdb import RocksReader, RocksStore

STORE = "bench"
A_ROUND = 250
"""Pages that come between two commits: a second of a fast crawl."""
_SETTINGS = IndexserverSettings()

Written = list[list[tuple[str, SearchDocument | None]]]
"""Every document that was put, by commit."""


class Cost(NamedTuple):
    documents: int
    wall: float
    cpu: float
    own: float = 0.0
    """CPU of the thread that calls tantivy; the rest is tantivy's own threads."""
    bytes: int = 0


class Steps(NamedTuple):
    """CPU seconds of the indexer's own steps, for all documents."""

    reading: float
    making: float


class Indexing(NamedTuple):
    pages: int
    text_bytes: int
    followed: Cost
    raw_followed: Cost
    built: Cost
    raw_built: Cost
    steps: Steps


def measure_indexing(plan: TextPlan, directory: Path) -> Indexing:
    written = directory / "written"
    text, followed = _follow(plan, directory, written)
    raw_followed = apart(_play, written, directory / "raw-followed")
    built = apart(_build, directory / "store", directory / "built", written)
    raw_built = apart(_play, written, directory / "raw-built")
    steps = apart(_steps, directory / "store", written)
    return Indexing(plan.pages, text, followed, raw_followed, built, raw_built, steps)


def _follow(plan: TextPlan, directory: Path, written: Path) -> tuple[int, Cost]:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    text = 0
    with RocksStore(directory / "store") as store:
        index = LinkIndex(store, IndexSettings())
        indexer = context.Process(target=_follower, args=(directory, written, theirs))
        indexer.start()
        theirs.close()
        mine.recv()
        for some in rounds(make_pages(plan), A_ROUND):
            index.apply(some)
            text += sum(len(page.doc) for page in some)
            mine.send("step")
            mine.recv()
        mine.send("finish")
        cost: Cost = mine.recv()
        indexer.join()
    return text, cost


class _Recorder(ShardWriter):
    """Keeps what it was given, for the other contestant."""

    recorded: Written

    def put(self, uri: str, document: SearchDocument | None) -> None:
        self.recorded[-1].append((uri, document))
        super().put(uri, document)

    def add(self, document: SearchDocument) -> None:
        self.recorded[-1].append((document.uri, document))
        super().add(document)

    def commit(self, cursors: Cursors) -> None:
        super().commit(cursors)
        self.recorded.append([])


def _follower(directory: Path, written: Path, told: Connection) -> None:
    _Recorder.recorded = [[]]
    patch("weft.search.indexer.ShardWriter", _Recorder).start()
    clock = ManualClock(1_000_000)
    indexer = Indexer(RocksReader(directory / "store"), directory / "followed", STORE, _SETTINGS, clock)
    indexer.own([0])
    told.send("ready")
    watch, waited = CpuWatch(), 0.0
    while True:
        began = time.perf_counter()
        word = told.recv()
        waited += time.perf_counter() - began
        clock.advance(1)
        if word == "finish":
            break
        indexer.step()
        told.send("done")
    indexer.finish()
    indexer.settle()
    cost = Cost(indexer.documents, watch.wall - waited, watch.all, watch.own, disk_used(directory / "followed"))
    written.write_bytes(msgspec.msgpack.encode(_Recorder.recorded))
    told.send(cost)


def _read(written: Path) -> Written:
    return msgspec.msgpack.decode(written.read_bytes(), type=Written)


def _play(written: Path, path: Path) -> Cost:
    """Raw tantivy: documents are ready, in the schema that weft has."""
    ready = [
        [(uri, as_tantivy(document) if document else None) for uri, document in commit] for commit in _read(written)
    ]
    path.mkdir()
    index = Index(make_schema(), str(path))
    register_analyzers(index)
    watch = CpuWatch()
    writer = index.writer(_SETTINGS.memory, 1)
    for number, commit in enumerate(ready):
        for uri, document in commit:
            writer.delete_documents_by_term("uri", uri)
            if document is not None:
                writer.add_document(document)
        note = Document()
        note.add_text(NOTE_FIELD, NOTE_NAME)
        note.add_text("noted", str(number))
        writer.delete_documents_by_term(NOTE_FIELD, NOTE_NAME)
        writer.add_document(note)
        writer.commit()
    writer.wait_merging_threads()
    return Cost(sum(map(len, ready)), watch.wall, watch.all, watch.own, disk_used(path))


def _build(store: Path, path: Path, written: Path) -> Cost:
    _Recorder.recorded = [[]]
    patch("weft.search.indexer.ShardWriter", _Recorder).start()
    indexer = Indexer(RocksReader(store), path, STORE, _SETTINGS, ManualClock(1))
    watch = CpuWatch()
    indexer.own([0])
    indexer.settle()
    cost = Cost(indexer.documents, watch.wall, watch.all, watch.own, disk_used(path))
    written.write_bytes(msgspec.msgpack.encode(_Recorder.recorded))
    return cost


def _steps(store: Path, written: Path) -> Steps:
    documents = [document for commit in _read(written) for _, document in commit if document]
    uris = [document.uri.encode() for document in documents]
    source = DocumentSource(RocksReader(store))
    watch = CpuWatch()
    for at in range(0, len(uris), A_ROUND):
        source.documents(uris[at : at + A_ROUND])
    reading = watch.own
    watch = CpuWatch()
    for document in documents:
        as_tantivy(document)
    return Steps(reading / len(uris), watch.own / len(uris))


class FeedCost(NamedTuple):
    """Of a page: CPU seconds of the link index with the feed and without it; what making the feed's cells takes of
    that, and their bytes."""

    with_feed: float
    without: float
    making: float
    bytes: float


def measure_feed(plan: TextPlan, directory: Path, times: int) -> FeedCost:
    """The least of several runs, taken in turns."""
    runs = [
        (apart(_apply, plan, directory / f"with{n}", True), apart(_apply, plan, directory / f"without{n}", False))
        for n in range(times)
    ]
    fed = min(fed for fed, _ in runs)
    return FeedCost(fed.cpu, min(unfed.cpu for _, unfed in runs), fed.making, fed.bytes)


class _Applied(NamedTuple):
    """Of a page."""

    cpu: float
    making: float
    bytes: float


def _apply(plan: TextPlan, path: Path, is_fed: bool) -> _Applied:
    used = making = written = 0.0

    def counted(changes: FeedChanges, seq: int, recorded: int) -> Cells:
        nonlocal making, written
        watch = CpuWatch()
        cells = feed_cells(changes, seq, recorded)
        making += watch.own
        written += sum(len(key) + len(value or b"") for key, value in cells.items())
        return cells

    if is_fed:
        patch("weft.linkindex.pipeline.feed_cells", counted).start()
    else:
        patch.object(FeedChanges, "__bool__", lambda changes: False).start()
    with RocksStore(path) as store:
        index = LinkIndex(store, IndexSettings())
        for some in rounds(make_pages(plan), A_ROUND):
            watch = CpuWatch()
            index.apply(some)
            used += watch.all
    return _Applied(used / plan.pages, making / plan.pages, written / plan.pages)


def indexing_table(found: Indexing) -> Iterator[str]:
    yield (
        f"{found.pages:,} pages x 40 links, texts of 5 KB, {A_ROUND} pages to a commit: "
        f"{found.followed.documents / found.pages:.2f} documents written for a page"
    )
    yield "\n| | documents | documents/s | CPU µs per document | of raw (CPU) | index bytes per byte of text |"
    yield "|---|---|---|---|---|---|"
    rows = (
        ("indexer, following the feed", found.followed, found.raw_followed),
        ("raw tantivy, same documents and commits", found.raw_followed, found.raw_followed),
        ("indexer, built anew", found.built, found.raw_built),
        ("raw tantivy, same documents, one commit", found.raw_built, found.raw_built),
    )
    for name, cost, raw in rows:
        yield (
            f"| {name} | {cost.documents:,} | {cost.documents / cost.wall:,.0f} | {_each(cost):,.0f} "
            f"| {_each(cost) / _each(raw):.2f} | {cost.bytes / found.text_bytes:.2f} |"
        )
    built = found.built
    yield (
        f"\nof a document built anew, CPU µs: reading it from the store {found.steps.reading * 1e6:.0f}, making a "
        f"tantivy document of it {found.steps.making * 1e6:.0f}, tantivy's threads "
        f"{(built.cpu - built.own) / built.documents * 1e6:.0f}"
    )


def feed_table(found: FeedCost) -> Iterator[str]:
    yield (
        f"\nlink index, µs CPU a page: {found.without * 1e6:.0f} without the feed, {found.with_feed * 1e6:.0f} with it"
        f"; making its cells takes {found.making * 1e6:.1f}, and they have {found.bytes:,.0f} bytes per page"
    )


def _each(cost: Cost) -> float:
    return cost.cpu / cost.documents * 1e6
