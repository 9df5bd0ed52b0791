"""The link index, page by page, beside raw sorted RocksDB writes of the very same cells.

Run by `weft bench linkindex`. Each runs in a process of its own on one core, flushes and compactions included; pages
are made and cells are read back while the watch is stopped. History is on, as it is by default.
"""

from __future__ import annotations

import argparse
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec
from rocksdict import Rdict, WriteBatch, WriteOptions

from measuring import Stopwatch, disk_used, peak_memory, percentile, timed
from weft.config.index_sections import IndexSettings, StoreSettings
from weft.linkindex.loaded import LoadedPage, Outlinks
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc, Outlink, PageRecord, Version, encode_page, pack_doc
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, url_of
from weft.store.api import Batch
from weft.store.encoding import seq_prefix
from weft.store.rocks_options import engine_options, open_database
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table
from workload import PAGES_PER_BATCH, Web

_BACKGROUND_WORK = ("compaction-pending", "num-running-compactions", "mem-table-flush-pending", "num-running-flushes")
ANCHOR = "anchor text of a link"
DOC = pack_doc(Doc(title="A page of the benchmark", text="Some words that stand for a text. " * 30))


class Result(msgspec.Struct):
    pages: int
    links: int
    cells: int
    wall: float
    cpu: float
    memory: int
    disk: int
    early: list[float]
    """Seconds per batch up to 10,000 pages."""
    late: list[float]
    """Seconds per batch of the last 10,000."""


class Recorder(RocksStore):
    """A store that tells what was written last, for the other contestant."""

    last: dict[bytes, bytes | None]

    def write(self, batch: Batch, seq: int) -> None:
        super().write(batch, seq)
        self.last = batch.cells


def load_page(uri: bytes, targets: list[bytes], version: int) -> LoadedPage:
    outlinks = [Outlink(url_of(Uri(target.decode())), ANCHOR) for target in targets]
    cur = encode_page(PageRecord(url=url_of(Uri(uri.decode())), outlinkcount=len(targets), outlinks=outlinks))
    columns = Outlinks(targets, [_domain(t) for t in targets], [ANCHOR.encode()] * len(targets), [False] * len(targets))
    return LoadedPage(uri, _domain(uri), Version(version, blake2b(cur, digest_size=16).digest()), cur, DOC, columns)


def _domain(uri: bytes) -> bytes:
    return reversed_domain(domain_of(Uri(uri.decode()))).encode()


def incremental(pages: int, directory: Path) -> Result:
    watch = Stopwatch()
    with watch.paused():
        (directory / "records").mkdir()
        store = Recorder(directory / "store")
        index = LinkIndex(store, IndexSettings())
    links, cells, seconds = 0, 0, []
    for batch in Web(pages).batches():
        with watch.paused():
            ready = [load_page(uri, targets, 1000) for uri, targets in batch]
        seconds.append(timed(lambda ready=ready: index.apply(ready)))  # type: ignore[misc]
        await_compaction(store._database)
        with watch.paused():
            links += sum(len(page.outlinks.targets) for page in ready)
            cells += len(store.last)
            (directory / "records" / f"{store.last_seq:06d}").write_bytes(marshal.dumps(store.last))
    settle(store._database)
    watch.stop()
    store.close()
    return _result(pages, links, cells, watch, seconds, directory / "store")


def raw(pages: int, directory: Path) -> Result:
    database = open_database(directory / "raw", engine_options(StoreSettings(), create=True))
    synced = WriteOptions()
    synced.sync = True
    watch, cells, seconds = Stopwatch(), 0, []
    for seq, file in enumerate(sorted((directory / "records").iterdir()), 1):
        with watch.paused():
            ready = _ready(file, seq)
            cells += len(ready)
        seconds.append(timed(lambda ready=ready: _write(database, ready, synced)))  # type: ignore[misc]
        await_compaction(database)
    settle(database)
    watch.stop()
    database.close()
    return _result(pages, 0, cells, watch, seconds, directory / "raw")


def settle(database: Rdict) -> None:
    """Wait for the engine's own work: whoever writes faster must not leave more of it undone."""
    database.flush()
    await_compaction(database)


def await_compaction(database: Rdict) -> None:
    """Before each pause of the watch too: what the engine does meanwhile would cost nothing."""
    figure = database.property_int_value
    while any(figure(f"rocksdb.{name}") for name in _BACKGROUND_WORK):
        time.sleep(0.001)


def _ready(file: Path, seq: int) -> list[tuple[bytes, bytes | None]]:
    stamp = seq_prefix(seq)
    cells: dict[bytes, bytes | None] = marshal.loads(file.read_bytes())
    return sorted((key, None if value is None else stamp + value) for key, value in cells.items())


def _write(database: Rdict, ready: list[tuple[bytes, bytes | None]], synced: WriteOptions) -> None:
    batch = WriteBatch(raw_mode=True)
    for key, value in ready:
        if value is None:
            batch.delete(key)
        else:
            batch[key] = value
    database.write(batch, synced)


def reload(pages: int, directory: Path) -> Result:
    """The same pages again, fetched later."""
    watch = Stopwatch()
    with watch.paused():
        store = RocksStore(directory / "store")
        index = LinkIndex(store, IndexSettings())
    seconds = []
    for batch in Web(pages).batches():
        with watch.paused():
            ready = [load_page(uri, targets, 2000) for uri, targets in batch]
        seconds.append(timed(lambda ready=ready: index.apply(ready)))  # type: ignore[misc]
    watch.stop()
    store.close()
    return _result(pages, 0, pages, watch, seconds, directory / "store")


def _result(pages: int, links: int, cells: int, watch: Stopwatch, seconds: list[float], path: Path) -> Result:
    some = 10_000 // PAGES_PER_BATCH
    return Result(
        *(pages, links, cells, watch.wall, watch.cpu, peak_memory(), disk_used(path)),
        early=seconds[:some],
        late=seconds[-some:],
    )


CONTESTANTS = {"incremental": incremental, "raw": raw, "reload": reload}


def run_apart(name: str, pages: int, directory: Path) -> Result:
    command = [sys.executable, __file__, "--pages", str(pages), "--one", name, str(directory)]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return msgspec.json.decode(output, type=Result)


def compare(pages: int, directory: Path) -> Iterator[str]:
    index, raw_cells, again = (run_apart(name, pages, directory) for name in CONTESTANTS)
    links = index.links
    yield f"{pages:,} pages x 40 links, batches of {PAGES_PER_BATCH} pages, history on, durable at every commit"
    yield "\n| | link index | raw RocksDB, same cells sorted | reload, unchanged |\n|---|---|---|---|"
    results = (index, raw_cells, again)
    yield _row("pages/s", (f"{r.pages / r.wall:,.0f}" for r in results))
    yield _row("links/s", (f"{links / r.wall:,.0f}" for r in results))
    yield _row("CPU µs per link", (f"{r.cpu / links * 1e6:.2f}" for r in results))
    yield _row("cells per link", (f"{r.cells / links:.2f}" for r in results))
    yield _row("bytes on disk per link", (f"{r.disk / links:.1f}" for r in results))
    yield _row("peak memory, MB", (f"{r.memory / 2**20:,.0f}" for r in results))
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        for when, batches in (("to 10,000 pages", "early"), ("last 10,000 pages", "late")):
            label = f"batch {name}, {when}, ms"
            yield _row(label, (f"{percentile(getattr(r, batches), share) * 1000:,.0f}" for r in results))
    ratio, cpu = raw_cells.wall / index.wall, raw_cells.cpu / index.cpu
    yield f"\nlink index at {ratio:.0%} of raw by the clock, {cpu:.0%} by CPU"
    yield f"query table: {_query_bytes(directory / 'store') / links:.1f} bytes on disk per link"


def _row(name: str, cells: Iterator[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _query_bytes(path: Path) -> float:
    """The query table's part of the disk, by its share of all bytes of keys and values."""
    with RocksStore(path) as store:
        sizes = {
            table: sum(len(cell.row) + len(cell.qualifier) + len(cell.value) for cell in store.scan_rows(table))
            for table in Table
        }
    return disk_used(path) * sizes[Table.QUERY] / sum(sizes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "DIRECTORY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    pages = options.pages or (100_000 if options.quick else 300_000)
    if options.one:
        # One core for everything, the engine's threads too: what they do is part of the price.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(msgspec.json.encode(CONTESTANTS[options.one[0]](pages, Path(options.one[1]))).decode())
        return
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        for line in compare(pages, directory):
            print(line, flush=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
