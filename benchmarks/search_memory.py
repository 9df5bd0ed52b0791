"""How much memory it takes to build a search index anew from a store, merges included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measuring import disk_used
from search_apart import CpuWatch, PeakMemory, apart, watching_memory
from search_texts import LONG_TEXT, TextPlan, make_pages
from weft.clock import SystemClock
from weft.config.sections import IndexserverSettings, IndexSettings
from weft.linkindex.bulk import BulkBuild
from weft.search.indexer import Indexer
from weft.store.rocksdb import RocksReader, RocksStore

STORE = "bench"


class Built(NamedTuple):
    """A home of made-up pages: its store, and the row with its one shard."""

    plan: TextPlan
    store: Path
    row: Path
    text_bytes: int
    index_bytes: int
    documents: int
    seconds: float
    cpu: float
    memory: PeakMemory


def build_apart(plan: TextPlan, directory: Path) -> Built:
    """The store and the index, each in a process of its own; the second one is measured."""
    text = apart(_bulk, plan, directory)
    return apart(_index, plan, directory, text)


def _bulk(plan: TextPlan, directory: Path) -> int:
    text = 0
    with RocksStore(directory / "store") as store, BulkBuild(store, IndexSettings(), directory) as build:
        for batch in make_pages(plan):
            text += sum(len(page.doc) for page in batch)
            build.add(batch)
        build.finish({}, 1)
    return text


def _index(plan: TextPlan, directory: Path, text: int) -> Built:
    row = directory / "row-1"
    with watching_memory() as memory:
        indexer = Indexer(RocksReader(directory / "store"), row, STORE, IndexserverSettings(), SystemClock())
        watch = CpuWatch()
        indexer.own([0])
        indexer.settle()
    size = disk_used(row)
    return Built(plan, directory / "store", row, text, size, indexer.documents, watch.wall, watch.all, memory)


def memory_table(found: Built) -> Iterator[str]:
    kind = "5 KB" if found.plan.words == LONG_TEXT else f"{found.plan.words} words"
    yield "\n| built anew | documents/s | CPU µs per document | peak memory, MB | not backed by files | at the start |"
    yield "|---|---|---|---|---|---|"
    memory = " | ".join(f"{size / 2**20:.0f}" for size in (found.memory.all, found.memory.own, found.memory.at_begin))
    yield (
        f"| {found.documents:,} documents of {kind} | {found.documents / found.seconds:,.0f} "
        f"| {found.cpu / found.documents * 1e6:,.0f} | {memory} |"
    )
    ratio = found.index_bytes / found.text_bytes
    yield f"\nindex {found.index_bytes / 2**20:,.0f} MB, {ratio:.2f} of the text; memory setting 64 MB"
