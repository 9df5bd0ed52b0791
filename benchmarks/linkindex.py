"""The link index, page by page, beside raw sorted RocksDB writes of the very same cells, the bulk build, and others.

Run by `weft bench linkindex`: `--quick` takes 100,000 pages and leaves the readers out, otherwise a million.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from charts import bars, curves
from linkindex_contestants import CONTESTANTS, Result
from linkindex_peers import PEERS
from linkindex_readers import readers_while_writing, table
from measuring import disk_used, percentile
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table
from workload import PAGES_PER_BATCH

PEER_PAGES = 100_000
"""Pages that others are given: enough to see how they slow down."""
_MERGING = 120
"""Batches within which RocksDB merges its youngest files at least once."""
CHARTS = Path(__file__).parent / "charts"


def run_apart(name: str, pages: int, directory: Path) -> Result:
    command = [sys.executable, __file__, "--pages", str(pages), "--one", name, str(directory)]
    complaints = directory / f"{name}.err"
    # Into files: a server that a contestant starts would keep a pipe open.
    with complaints.open("wb") as errors:
        code = subprocess.run(command, check=False, stdout=errors, stderr=errors, timeout=7200).returncode
    if code:
        raise SystemExit(f"{name} failed: {complaints.read_text(errors='replace')[-2000:]}")
    result = msgspec.json.decode((directory / f"{name}.json").read_bytes(), type=Result)
    print(f"{name}: {result.pages:,} pages in {result.wall:,.0f} s", file=sys.stderr, flush=True)
    return result


def compare(pages: int, directory: Path, *, is_quick: bool) -> Iterator[str]:
    yield f"{pages:,} pages x 40 links, batches of {PAGES_PER_BATCH} pages, history on, durable at every commit"
    found = {name: run_apart(name, pages, directory) for name in CONTESTANTS}
    yield from _main_table(found)
    yield from _batch_table(found["incremental"], pages)
    yield from _ratios(found, directory)
    peers = {name: run_apart(name, min(pages, PEER_PAGES), directory) for name in PEERS}
    yield from _peer_table(found["incremental"], peers)
    _draw(found, peers)
    if not is_quick:
        yield ""
        yield from table(readers_while_writing(directory / "store", pages))


def _main_table(found: dict[str, Result]) -> Iterator[str]:
    names = {
        "incremental": "link index",
        "raw": "raw RocksDB, same cells sorted",
        "bulk": "bulk build",
        "unchanged": "reload, unchanged",
        "changed": "reload, 10 % of links changed",
        "deleted": "10 % of pages deleted",
    }
    yield f"\n| | {' | '.join(names.values())} |\n|---|{'---|' * len(names)}"
    results = [found[name] for name in names]
    links = [result.pages * 40 for result in results]
    yield _row("pages", (f"{r.pages:,}" for r in results))
    yield _row("pages/s", (f"{r.pages / r.wall:,.0f}" for r in results))
    yield _row("links/s (of the pages)", (f"{n / r.wall:,.0f}" for r, n in zip(results, links, strict=True)))
    yield _row("CPU µs per link", (f"{r.cpu / n * 1e6:.2f}" for r, n in zip(results, links, strict=True)))
    yield _row("references changed", (f"{r.links:,}" if r.links else "" for r in results))
    yield _row("bytes on disk per link", (f"{r.disk / n:.1f}" for r, n in zip(results[:3], links, strict=False)))
    yield _row("peak memory, MB", (f"{r.memory / 2**20:,.0f}" for r in results))


def _batch_table(index: Result, pages: int) -> Iterator[str]:
    marks = _marks(pages)
    heads = " | ".join(f"to {mark:,} pages" for mark in marks)
    yield f"\n| batches of {PAGES_PER_BATCH} pages, ms | {heads} |\n|---|{'---|' * len(marks)}"
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        before = [_before(mark) for mark in marks]
        yield _row(name, (f"{percentile(index.batches[part], share) * 1000:,.0f}" for part in before))
    whole = [_whole_page(index, mark) for mark in marks]
    own = [sum(index.batches[part]) / len(index.batches[part]) / PAGES_PER_BATCH for part in map(_before, marks)]
    yield _row("a page, up to its commit", (f"{seconds * 1000:.2f}" for seconds in own))
    yield _row(
        "a page, RocksDB's flushing and merging after it",
        (f"{(a - b) * 1000:.2f}" for a, b in zip(whole, own, strict=True)),
    )
    yield _row("a page, all of it", (f"{seconds * 1000:.2f}" for seconds in whole))
    yield f"\na page takes {whole[-1] / whole[0]:.1f} times as long at {marks[-1]:,} pages as at {marks[0]:,}"


def _marks(pages: int) -> list[int]:
    return [mark for mark in (10_000, 100_000, 1_000_000) if mark <= pages] or [pages]


def _before(mark: int) -> slice:
    """The batches that lead to a mark, enough of them that the engine merges files twice, if it ever did."""
    end = mark // PAGES_PER_BATCH
    return slice(max(0, end - 2 * _MERGING), end)


def _whole_page(index: Result, mark: int) -> float:
    """Seconds for a page, with the engine's work."""
    first: int = _before(mark).start * PAGES_PER_BATCH
    return (_at(index.marks, mark) - _at(index.marks, first)) / (mark - first)


def _at(marks: Sequence[float], pages: int) -> float:
    number = pages // PAGES_PER_BATCH
    return marks[number - 1] if number else 0.0


def _ratios(found: dict[str, Result], directory: Path) -> Iterator[str]:
    index, raw, bulk = found["incremental"], found["raw"], found["bulk"]
    yield ""
    for mark in _marks(index.pages)[1:] or [index.pages]:
        yield f"link index at {_at(raw.marks, mark) / _at(index.marks, mark):.0%} of raw over the first {mark:,} pages"
    yield f"bulk build at {index.wall / bulk.wall:.1f} times the link index"
    links = index.pages * 40
    query = _query_bytes(directory / "store") / links
    yield f"query table: {query:.1f} bytes on disk per link; cells written per link: {index.cells / links:.2f}"


def _peer_table(index: Result, peers: dict[str, Result]) -> Iterator[str]:
    yield "\n| the same job, first pages only | pages | links/s | link index is faster by |\n|---|---|---|---|"
    names = {"postgres": "PostgreSQL, COPY and upsert", "duckdb": "DuckDB, all anew after each batch"}
    for name, peer in peers.items():
        ours = _at(index.marks, peer.pages)
        yield f"| {names[name]} | {peer.pages:,} | {peer.links / peer.wall:,.0f} | {peer.wall / ours:.1f}x |"
    last = peers["duckdb"].batches[-1] / (
        _at(index.marks, peers["duckdb"].pages) - _at(index.marks, peers["duckdb"].pages - PAGES_PER_BATCH)
    )
    yield f"\nDuckDB's last batch took {last:.1f} times as long as ours, and grows with all that was there before"


def _draw(found: dict[str, Result], peers: dict[str, Result]) -> None:
    CHARTS.mkdir(exist_ok=True)
    index, raw, bulk, other = found["incremental"], found["raw"], found["bulk"], peers["postgres"]
    some = f"first {other.pages:,}"
    speeds = {
        f"bulk build, {bulk.pages:,} pages": bulk.pages * 40 / bulk.wall,
        f"link index, {index.pages:,} pages": index.pages * 40 / index.wall,
        f"raw RocksDB, {raw.pages:,} pages": raw.pages * 40 / raw.wall,
        f"raw RocksDB, {some}": other.links / _at(raw.marks, other.pages),
        f"link index, {some}": other.links / _at(index.marks, other.pages),
        f"DuckDB, all anew, {some}": peers["duckdb"].links / peers["duckdb"].wall,
        f"PostgreSQL, {some}": other.links / other.wall,
    }
    bars(CHARTS / "linkindex-speed.svg", "Links a second, one core", speeds, "links/s")
    lines = {
        "link index, committed": _curve(index.batches),
        "with RocksDB's merging": _curve(_smooth(index.marks)),
        "raw RocksDB, with it": _curve(_smooth(raw.marks)),
        "DuckDB, all anew": _curve(peers["duckdb"].batches),
        "PostgreSQL": _curve(other.batches),
    }
    title = f"Milliseconds for a batch of {PAGES_PER_BATCH} pages, by pages that are there"
    curves(CHARTS / "linkindex-batches.svg", title, lines, "pages", "ms")


def _curve(seconds: Sequence[float]) -> list[tuple[float, float]]:
    return [(n * PAGES_PER_BATCH, value * 1000) for n, value in enumerate(seconds, 1)]


def _smooth(marks: Sequence[float]) -> list[float]:
    """Seconds of a batch, averaged with those before it: merging comes at times, for many batches at once."""
    some = 2 * _MERGING
    begun = [0.0] * some + list(marks)
    return [(end - begun[n]) / min(n + 1, some) for n, end in enumerate(marks)]


def _row(name: str, cells: Iterator[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _query_bytes(path: Path) -> float:
    """The query table's part of the disk, by its share of all bytes of keys and values."""
    with RocksStore(path) as store:
        sizes = {table: sum(len(key) + len(value) for key, value in store.encoded_rows(table)) for table in Table}
    return disk_used(path) * sizes[Table.QUERY] / sum(sizes.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "DIRECTORY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    pages = options.pages or (100_000 if options.quick else 1_000_000)
    if options.one:
        # One core for everything, the engine's threads too: what they do is part of the price.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        contestant = {**CONTESTANTS, **PEERS}[options.one[0]]
        place = Path(options.one[1])
        (place / f"{options.one[0]}.json").write_bytes(msgspec.json.encode(contestant(pages, place)))
        return
    directory = Path(tempfile.mkdtemp(prefix="weft-bench-"))
    try:
        for line in compare(pages, directory, is_quick=options.quick):
            print(line, flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
