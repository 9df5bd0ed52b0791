"""How soon is a page found while weft crawls at full speed? From the end of its fetch to the commit that has it.

The pages are those of `weft bench crawl`. The search index is looked at many times a second, as any reader would see
it; which round of the link index a page came with is read from the feed afterwards. In a second, smaller crawl somebody
searches meanwhile.
"""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import weft
from crawl import Watch, crawl
from measuring import disk_used, percentile
from weft.config import Settings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.server.serving import serving
from weft.errors import WeftError
from weft.home import Home
from weft.linkindex import keys
from weft.linkindex.feed import read_feed
from weft.model.versions import BASES
from weft.search.indexer import shard_path
from weft.search.shard import ShardDirectory, ShardName
from weft.search.shard_reader import ShardReader
from weft.store.api import Reader
from weft.store.directory import store_id
from weft.store.open import open_reader
from weft.store.tables import Table

_LOOK_EVERY = 0.02
_ASK_EVERY = 0.1
_WORD = re.compile("[a-z]{3,}")


class Fresh(NamedTuple):
    watch: Watch
    pages: int
    seconds: float
    found: list[float]
    """Seconds from the end of each page's fetch until it is found."""
    indexed: list[float]
    """Of these, the seconds until the link index has it."""
    search_bytes: int


class Sightings:
    """When which cursor of content was first seen."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._seqs: list[int] = []
        self._times: list[float] = []
        self._ended = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def seen_at(self, seq: int) -> float | None:
        at = bisect_left(self._seqs, seq)
        return self._times[at] if at < len(self._seqs) else None

    def _look(self) -> None:
        reader: ShardReader | None = None
        last = 0
        while not self._ended.is_set():
            with suppress(OSError, WeftError):
                if reader is None:
                    reader = self._open()
                changed = max(file.stat().st_mtime_ns for file in self._path.glob("generation-*/meta.json"))
                if changed != last:
                    reader.refresh()
                    self._note(reader.cursors.content)
                    last = changed
            self._ended.wait(_LOOK_EVERY)
        if reader is not None:
            reader.refresh()
            self._note(reader.cursors.content)

    @property
    def _path(self) -> Path:
        return shard_path(self._home.search_row(1), 0)

    def _open(self) -> ShardReader:
        return ShardReader(ShardDirectory(self._path, ShardName(store_id(self._home.store), 0, 1)))

    def _note(self, seq: int) -> None:
        if not self._seqs or seq > self._seqs[-1]:
            self._seqs.append(seq)
            self._times.append(time.time())


def measure_freshness(plan: WebPlan, directory: Path) -> Fresh:
    home = Home(directory / "home")
    with serving(plan) as served:
        sightings = Sightings(home)
        try:
            watch, seconds, status = crawl(served, directory)
        finally:
            sightings.end()
    reader = open_reader(home.store, Settings())
    found = [(seen - fetched, indexed - fetched) for seen, indexed, fetched in _pages(reader, sightings)]
    each = [one for one, _ in found], [one for _, one in found]
    return Fresh(watch, status.get("pages") or 1, seconds, *each, disk_used(home.search_row(1)))


def make_plan(hosts: int, pages: int) -> WebPlan:
    return WebPlan(hosts=hosts, pages=pages, addresses=20, profile=PROFILES["plain"])


def searches_meanwhile(plan: WebPlan, directory: Path) -> list[float]:
    """Seconds of each search while weft crawls."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    asker = context.Process(target=_ask, args=(directory / "home", theirs))
    with serving(plan) as served:
        asker.start()
        theirs.close()
        try:
            crawl(served, directory)
        finally:
            mine.send("stop")
            asked: list[float] = mine.recv()
            asker.join()
    return asked


def _pages(reader: Reader, sightings: Sightings) -> Iterator[tuple[float, float, float]]:
    """Of each page: when it was found, when the link index had it, when its fetch had ended."""
    first: dict[bytes, tuple[int, int]] = {}
    for base in range(BASES):
        for cell in read_feed(reader, base, 0):
            for uri in cell.content:
                first.setdefault(uri, (cell.seq, cell.recorded))
    changed = reader.get(Table.DOCS, [keys.doc_changed_column(uri) for uri in first])
    for (seq, recorded), cell_ in zip(first.values(), changed, strict=True):
        seen = sightings.seen_at(seq)
        # A page that is gone, or a file, has no time.
        if cell_ is not None and seen is not None:
            yield seen, recorded / 1000, int(cell_.value) / 1000


def _ask(home: Path, told: Connection) -> None:
    """Search for words of what was found before, as a user of a running weft would."""
    dice, known, times = random.Random(5), ["page"], list[float]()
    index = None
    while not told.poll(_ASK_EVERY):
        with suppress(OSError, WeftError):
            index = index or weft.open(home)
            text = " ".join(dice.sample(known, min(len(known), dice.randint(1, 3))))
            index.refresh()
            began = time.perf_counter()
            listing = index.search(text)
            times.append(time.perf_counter() - began)
            said = [word for item in listing.items for word in _WORD.findall(f"{item.title} {item.snippet}".lower())]
            known = sorted({*known, *said})[-5000:]
    told.send(times)


def freshness_table(found: Fresh) -> Iterator[str]:
    cpu = found.watch.by_role()
    own, all_ = cpu.get("indexserver", 0.0), sum(cpu.values())
    yield (
        f"{found.pages:,} pages at {found.pages / found.seconds:.0f} pages/s, starting and stopping included; "
        f"{len(found.found):,} of them timed\n"
    )
    yield "| seconds from the end of a fetch | p50 | p99 | worst |\n|---|---|---|---|"
    yield _times("until the link index has the page", found.indexed, "s")
    yield _times("until it is found", found.found, "s")
    searching = [found_ - indexed for found_, indexed in zip(found.found, found.indexed, strict=True)]
    yield _times("of that, from the link index to search", searching, "s")
    memory = found.watch.memory.get("indexserver")
    yield (
        f"\nindex server: {own / found.pages * 1000:.2f} ms CPU per page of {all_ / found.pages * 1000:.2f} in all "
        f"({own / all_:.0%}); peak memory {memory.peak / 2**20 if memory else 0:.0f} MB; "
        f"{found.search_bytes / found.pages:,.0f} bytes of search index per page"
    )


def meanwhile_table(plan: WebPlan, seconds: list[float]) -> Iterator[str]:
    name = f"{len(seconds):,} searches, while {plan.hosts * plan.pages:,} pages are crawled"
    yield "\n| milliseconds of a whole answer | p50 | p99 | worst |\n|---|---|---|---|"
    yield _times(name, seconds, "ms")


def _times(name: str, seconds: list[float], unit: str) -> str:
    scale, digits = (1, 2) if unit == "s" else (1000, 1)
    shown = (percentile(seconds, 0.5), percentile(seconds, 0.99), max(seconds))
    return f"| {name} | {' | '.join(f'{value * scale:.{digits}f}' for value in shown)} |"
