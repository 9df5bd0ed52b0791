"""The store API against the engines below and beside it, on the cells of a link index.

Every contestant writes the same cells in the same batches, durable at each commit: per page its current version, per
link the inlink cell of its target, per touched target its reference count. Run by `weft bench store`.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocksdict import Rdict, WriteBatch, WriteOptions

from measuring import Stopwatch, disk_used, timed
from weft.config.sections import StoreSettings
from weft.store.api import Batch, Column
from weft.store.encoding import cell_key
from weft.store.rocks_options import engine_options
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table
from weft.store.values import seq_prefix
from workload import Web

Groups = list[tuple[bytes, bytes, dict[bytes, bytes]]]
"""(row, family, qualifier -> value), as a link index has them: combined per target, in order of targets."""


Contestant = Callable[[Path, Iterator[Groups], Stopwatch], None]


def groups_of(web: Web) -> Iterator[Groups]:
    references: dict[bytes, int] = {}
    for pages in web.batches():
        groups: Groups = []
        inlinks: dict[bytes, dict[bytes, bytes]] = {}
        for uri, targets in pages:
            groups.append((b"p:" + uri, b"page", {b"cur": b'{"outlinkcount":%d}' % len(targets)}))
            for target in targets:
                inlinks.setdefault(target, {})[uri] = b"anchor text of a link"
        for target, sources in inlinks.items():
            references[target] = references.get(target, 0) + len(sources)
            groups.append((b"p:" + target, b"inlinks", sources))
            groups.append((b"p:" + target, b"page", {b"incount": b"%d" % references[target]}))
        yield sorted(groups, key=lambda group: group[:2])


def through_the_store(path: Path, batches: Iterator[Groups], _: Stopwatch) -> None:
    with RocksStore(path) as store:
        for groups in batches:
            batch = Batch()
            for row, family, qualifier, value in _cells(groups):
                batch.put(Table.QUERY, row, family, qualifier, value)
            store.write(batch, store.last_seq + 1)


def _cells(groups: Groups) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    return ((row, family, qualifier, value) for row, family, values in groups for qualifier, value in values.items())


def raw_rocksdict(path: Path, batches: Iterator[Groups], watch: Stopwatch) -> None:
    """The engine alone: keys and values ready and sorted, which is not timed."""
    database = Rdict(str(path), engine_options(StoreSettings(), create=True))
    synced = WriteOptions()
    synced.sync = True
    for number, groups in enumerate(batches, 1):
        with watch.paused():
            ready = _ready(groups, number)
        batch = WriteBatch(raw_mode=True)
        for key, value in ready:
            batch[key] = value
        database.write(batch, synced)
    database.close()


def _ready(groups: Groups, seq: int) -> list[tuple[bytes, bytes]]:
    stamp = seq_prefix(seq)
    made = {cell_key(b"q", row, family, qualifier): stamp + value for row, family, qualifier, value in _cells(groups)}
    return sorted(made.items())


def sqlite(path: Path, batches: Iterator[Groups], _: Stopwatch) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA cache_size = -262144")
    database.execute(
        "CREATE TABLE cell (row BLOB, family BLOB, qualifier BLOB, seq INT, value BLOB,"
        " PRIMARY KEY (row, family, qualifier)) WITHOUT ROWID"
    )
    for seq, groups in enumerate(batches, 1):
        with database:
            database.executemany(
                "INSERT INTO cell VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq,"
                " value = excluded.value",
                sorted((row, family, qualifier, seq, value) for row, family, qualifier, value in _cells(groups)),
            )
    database.close()


@dataclass
class Result:
    name: str
    cells: int
    wall: float
    cpu: float
    disk: int


def measure(name: str, write: Contestant, batches: list[Groups], path: Path) -> Result:
    watch = Stopwatch()
    write(path, iter(batches), watch)
    watch.stop()
    cells = sum(1 for groups in batches for _ in _cells(groups))
    return Result(name, cells, watch.wall, watch.cpu, disk_used(path))


def print_writes(results: list[Result]) -> None:
    raw = results[0]
    print("\n| writing | cells/s | CPU µs/cell | of raw (wall) | of raw (CPU) | bytes/cell |")
    print("|---|---|---|---|---|---|")
    for r in results:
        print(
            f"| {r.name} | {r.cells / r.wall:,.0f} | {r.cpu / r.cells * 1e6:.2f} | {raw.wall / r.wall:.0%}"
            f" | {raw.cpu / r.cpu:.0%} | {r.disk / r.cells:.1f} |"
        )


def print_reads(path: Path, web: Web) -> None:
    """Point reads and scans of a store that was just written, in a fresh reader."""
    import random

    from weft.store.rocksdb import RocksReader

    chosen = random.Random(7)
    with RocksReader(path) as reader:
        columns = [Column(b"p:" + web.uri(chosen.randrange(web.pages)), b"page", b"cur") for _ in range(20_000)]
        single = timed(lambda: [reader.get(Table.QUERY, [column]) for column in columns[:5_000]]) / 5_000
        many = timed(lambda: [reader.get(Table.QUERY, columns[n : n + 500]) for n in range(0, 20_000, 500)]) / 20_000
        scans = sorted(
            timed(lambda row=column.row: list(reader.scan(Table.QUERY, row, b"inlinks", limit=50)))  # type: ignore[misc]
            for column in columns[:3_000]
        )
        whole = timed(lambda: sum(1 for _ in reader.scan_rows(Table.QUERY)))
        cells = sum(1 for _ in reader.scan_rows(Table.QUERY))
    print("\n| reading | |\n|---|---|")
    print(f"| point reads, one at a time | {1 / single:,.0f}/s |")
    print(f"| point reads, 500 at a time | {1 / many:,.0f}/s |")
    print(f"| 50 inlinks of a page, p50 | {scans[len(scans) // 2] * 1e6:,.0f} µs |")
    print(f"| 50 inlinks of a page, p99 | {scans[len(scans) * 99 // 100] * 1e6:,.0f} µs |")
    print(f"| cells scanned | {cells / whole:,.0f}/s |")


TURNS = 3
"""The machine is shared: the best of a few runs tells most about the code."""

CONTESTANTS: dict[str, Contestant] = {
    "raw rocksdict, cells ready and sorted": raw_rocksdict,
    "weft store": through_the_store,
    "SQLite (WAL, upsert)": sqlite,
}


def run_one(name: str, pages: int, path: Path) -> None:
    """One contestant in its own process, so that memory and caches are its own."""
    batches = list(groups_of(Web(pages)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = measure(name, CONTESTANTS[name], batches, path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{result.cells} {result.wall} {result.cpu} {result.disk} {grown:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    pages = options.pages or (5_000 if options.quick else 50_000)
    if options.one:
        run_one(options.one[0], pages, Path(options.one[1]))
        return
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        compare(pages, directory)
    finally:
        shutil.rmtree(directory)


def run_apart(name: str, pages: int, path: Path) -> tuple[Result, str]:
    command = [sys.executable, __file__, "--pages", str(pages), "--one", name, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return Result(name, int(output[0]), float(output[1]), float(output[2]), int(output[3])), output[4]


def compare(pages: int, directory: Path) -> None:
    print(f"{pages:,} pages x 40 links, batches of 1000 pages, durable at every commit; best of {TURNS}")
    results, memory = [], {}
    for name in CONTESTANTS:
        runs = [run_apart(name, pages, directory / f"{list(CONTESTANTS).index(name)}-{turn}") for turn in range(TURNS)]
        best, memory[name] = min(runs, key=lambda run: run[0].wall)
        results.append(best)
    print_writes(results)
    print("\nmemory grown by, MB: " + ", ".join(f"{name} {mb}" for name, mb in memory.items()))
    print_reads(directory / "1-0", Web(pages))


if __name__ == "__main__":
    main()
