"""The jobs that `weft bench linkindex` measures, each run in a process of its own on one core.

Flushes and compactions count: whenever the watch is paused, the engine's own work is finished first. Pages are made and
cells are read back while the watch is paused. History is on, as it is by default.
"""

from __future__ import annotations

import marshal
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import msgspec
from rocksdict import Rdict, WriteBatch, WriteOptions
from zstandard import ZstdCompressor, ZstdDecompressor

from measuring import Stopwatch, disk_used, peak_memory, timed
from weft.config.sections import IndexSettings, StoreSettings
from weft.linkindex.bulk import BulkBuild
from weft.linkindex.loaded import NO_OUTLINKS, LoadedPage, Outlinks
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import GONE_CONTENT, Doc, Outlink, PageRecord, Version, encode_page, pack_doc
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, url_of
from weft.store.api import Batch
from weft.store.rocks_options import engine_options, open_database
from weft.store.rocksdb import RocksStore
from weft.store.values import seq_prefix
from workload import PAGES_PER_BATCH, Web

ANCHOR = "anchor text of a link"
DOC = pack_doc(Doc(title="A page of the benchmark", text="Some words that stand for a text. " * 30))
AGAIN = 100_000
"""Pages that come again: enough to tell what one costs among all that are there."""
_BACKGROUND_WORK = ("compaction-pending", "num-running-compactions", "mem-table-flush-pending", "num-running-flushes")

Pages = list[tuple[bytes, list[bytes]]]


class Result(msgspec.Struct):
    pages: int
    links: int
    cells: int
    wall: float
    cpu: float
    memory: int
    disk: int
    batches: list[float]
    """Seconds of each batch, without the engine's work behind it."""
    marks: list[float]
    """Seconds on the watch after each batch, with it."""


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


def _loads(pages: int, version: int) -> Iterator[list[LoadedPage]]:
    for batch in Web(pages).batches():
        yield [load_page(uri, targets, version) for uri, targets in batch]


def _reworked(pages: int) -> Iterator[list[LoadedPage]]:
    """The same pages later, with one link in ten leading elsewhere."""
    web = Web(pages)
    for number, batch in enumerate(web.batches()):
        elsewhere = [web.uri((number * 7919 + n * 104_729) % pages) for n in range(4)]
        yield [load_page(uri, list(dict.fromkeys([*targets[4:], *elsewhere])), 2000) for uri, targets in batch]


def _gone(pages: int) -> Iterator[list[LoadedPage]]:
    """One page in ten is gone."""
    for batch in Web(pages).batches():
        yield [
            LoadedPage(uri, _domain(uri), Version(3000, GONE_CONTENT), b"", b"", NO_OUTLINKS) for uri, _ in batch[::10]
        ]


def _play(store: RocksStore, batches: Iterator[list[LoadedPage]], watch: Stopwatch, path: Path) -> Result:
    with watch.paused():
        index = LinkIndex(store, IndexSettings())
    pages = links = 0
    seconds: list[float] = []
    marks: list[float] = []
    while True:
        with watch.paused():
            ready = next(batches, None)
        if ready is None:
            break
        changed = 0

        def apply(ready: list[LoadedPage] = ready) -> None:
            nonlocal changed
            changed = index.apply(ready).links

        seconds.append(timed(apply))
        await_compaction(store._database)
        marks.append(watch.elapsed)
        with watch.paused():
            pages += len(ready)
            links += changed
    settle(store._database)
    watch.stop()
    return Result(pages, links, 0, watch.wall, watch.cpu, peak_memory(), disk_used(path), seconds, marks)


def incremental(pages: int, directory: Path) -> Result:
    watch = Stopwatch()
    with watch.paused():
        records = directory / "records"
        records.mkdir()
        store = Recorder(directory / "store")
    cells = 0

    def recorded() -> Iterator[list[LoadedPage]]:
        """Between two batches what the last one wrote is put aside, for the raw contestant."""
        nonlocal cells
        compress = ZstdCompressor(level=1).compress
        for ready in _loads(pages, 1000):
            yield ready
            cells += len(store.last)
            (records / f"{store.last_seq:06d}").write_bytes(compress(marshal.dumps(store.last)))

    result = _play(store, recorded(), watch, directory / "store")
    store.close()
    return msgspec.structs.replace(result, cells=cells)


def raw(pages: int, directory: Path) -> Result:
    """The very same cells, ready and sorted; values as they are, where the store packs long ones."""
    database = open_database(directory / "raw", engine_options(StoreSettings(), create=True))
    synced = WriteOptions()
    synced.sync = True
    watch, cells = Stopwatch(), 0
    seconds: list[float] = []
    marks: list[float] = []
    for seq, file in enumerate(sorted((directory / "records").iterdir()), 1):
        with watch.paused():
            ready = _ready(file, seq)
            cells += len(ready)
        seconds.append(timed(lambda ready=ready: _write(database, ready, synced)))  # type: ignore[misc]
        await_compaction(database)
        marks.append(watch.elapsed)
    settle(database)
    watch.stop()
    database.close()
    disk = disk_used(directory / "raw")
    return Result(pages, 0, cells, watch.wall, watch.cpu, peak_memory(), disk, seconds, marks)


def _ready(file: Path, seq: int) -> list[tuple[bytes, bytes | None]]:
    stamp = seq_prefix(seq)
    cells: dict[bytes, bytes | None] = marshal.loads(ZstdDecompressor().decompress(file.read_bytes()))
    return sorted((key, None if value is None else stamp + value) for key, value in cells.items())


def _write(database: Rdict, ready: list[tuple[bytes, bytes | None]], synced: WriteOptions) -> None:
    batch = WriteBatch(raw_mode=True)
    for key, value in ready:
        if value is None:
            batch.delete(key)
        else:
            batch[key] = value
    database.write(batch, synced)


def bulk(pages: int, directory: Path) -> Result:
    watch = Stopwatch()
    path = directory / "bulk"
    links = 0
    with RocksStore(path) as store:
        with BulkBuild(store, IndexSettings(), directory) as build:
            batches = _loads(pages, 1000)
            while True:
                with watch.paused():
                    ready = next(batches, None)
                if ready is None:
                    break
                build.add(ready)
            links = build.finish({}, 5).links
        settle(store._database)
        watch.stop()
    return Result(pages, links, 0, watch.wall, watch.cpu, peak_memory(), disk_used(path), [], [])


def _again(name: str, batches: Callable[[int], Iterator[list[LoadedPage]]]) -> Callable[[int, Path], Result]:
    def contestant(pages: int, directory: Path) -> Result:
        watch = Stopwatch()
        with watch.paused():
            store = RocksStore(directory / "store")
        with store:
            some = islice(batches(pages), AGAIN // PAGES_PER_BATCH)
            return _play(store, some, watch, directory / "store")

    contestant.__name__ = name
    return contestant


CONTESTANTS: dict[str, Callable[[int, Path], Result]] = {
    "incremental": incremental,
    "raw": raw,
    "bulk": bulk,
    "unchanged": _again("unchanged", lambda pages: _loads(pages, 1500)),
    "changed": _again("changed", _reworked),
    "deleted": _again("deleted", _gone),
}


def settle(database: Rdict) -> None:
    """Wait for the engine's own work: whoever writes faster must not leave more of it undone."""
    database.flush()
    await_compaction(database)


def await_compaction(database: Rdict) -> None:
    """Before each pause of the watch too: what the engine does meanwhile would cost nothing."""
    figure = database.property_int_value
    while any(figure(f"rocksdb.{name}") for name in _BACKGROUND_WORK):
        time.sleep(0.001)
