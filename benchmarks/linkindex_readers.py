"""Answers while the index is written: a writer in one process, questions in another, each on a core of its own.

Part of `weft bench linkindex`; alone, `weft bench linkindex_readers`, on ten million links that were built in bulk.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from linkindex_contestants import _reworked, bulk
from measuring import percentile
from weft.answers.index import Index
from weft.config.sections import IndexSettings
from weft.errors import NotKnown
from weft.linkindex.pipeline import LinkIndex
from weft.model.url import Uri, UrlRules, url_of
from weft.store.encoding import cell_key
from weft.store.rocksdb import RocksReader, RocksStore
from weft.store.tables import Table
from workload import Web

QUESTIONS = ("top", "domain", "links", "page")
_NOTE = cell_key(Table.META.byte, b"bench", b"", b"")


def _write(path: Path, pages: int, seconds: float, told: Connection) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with RocksStore(path) as store:
        index = LinkIndex(store, IndexSettings())
        end = time.monotonic() + seconds
        batches = _reworked(pages)
        told.send("ready")
        for batch in batches:
            for at in range(0, len(batch), 100):
                index.apply(batch[at : at + 100], {_NOTE: b"%d" % time.time_ns()})
                if time.monotonic() > end:
                    return


def readers_while_writing(path: Path, pages: int, seconds: float = 30.0) -> dict[str, list[float]]:
    """Seconds of each answer by its question, of `refresh`, and from commit to visible (`fresh`)."""
    # Not forked: RocksDB's threads, if this process has had a store open, do not survive that.
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    writer = context.Process(target=_write, args=(path, pages, seconds, theirs))
    writer.start()
    mine.recv()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    dice, web, rules = random.Random(1), Web(pages), UrlRules()
    times: dict[str, list[float]] = {name: [] for name in (*QUESTIONS, "refresh", "fresh")}
    reader = RocksReader(path)
    seen = 0
    with Index(reader, rules) as index:
        while writer.is_alive():
            began = time.perf_counter()
            index.refresh()
            times["refresh"].append(time.perf_counter() - began)
            if reader.last_seq > seen:
                seen = reader.last_seq
                note = next(iter(reader.scan(Table.META, b"bench")), None)
                if note is not None:
                    times["fresh"].append((time.time_ns() - int(note.value)) / 1e9)
            for name in QUESTIONS:
                url = url_of(Uri(web.uri(min(int(dice.paretovariate(0.7)), pages - 1)).decode()))
                began = time.perf_counter()
                # That a page is gone and nothing refers to it is an answer, too.
                with suppress(NotKnown):
                    _ask(index, name, url)
                times[name].append(time.perf_counter() - began)
    writer.join()
    return times


def _ask(index: Index, name: str, url: str) -> None:
    if name == "top":
        index.top()
    elif name == "domain":
        index.top(url.split("/")[2])
    elif name == "links":
        index.links(url)
    else:
        index.page(url)


def table(times: dict[str, list[float]]) -> list[str]:
    lines = ["| while writing | answers | p50 ms | p99 ms |", "|---|---|---|---|"]
    for name, found in times.items():
        if found:
            half, most = percentile(found, 0.5) * 1000, percentile(found, 0.99) * 1000
            lines.append(f"| {name} | {len(found)} | {half:.2f} | {most:.2f} |")
    return lines


def main() -> None:
    pages = 10_000 if "--quick" in sys.argv else 250_000
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        built = bulk(pages, Path(directory))
        print(
            f"{built.pages:,} pages, {built.links:,} links, built in bulk with {built.memory / 2**20:,.0f} MB\n",
            flush=True,
        )
        for line in table(readers_while_writing(Path(directory) / "bulk", pages)):
            print(line)


if __name__ == "__main__":
    main()
