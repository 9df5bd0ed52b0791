"""A store that is put back from a checkpoint: whenever that was made, the crawl ends where it would have ended."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec
import pytest

from support.built_world import HTML, RULES, LocalReading, World
from weft.actions.restore import LackingLinks, after_backup, build_again
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.warc_records import Exchange
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.sections import DispatcherSettings, IndexSettings
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch, is_loaded
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.scope import Scope
from weft.home import Home
from weft.index.archive_reader import ArchiveReader
from weft.index.builder import Builder
from weft.index.chunk_markers import forget_all
from weft.index.fetch_reader_pool import ReaderSettings
from weft.index.handlers import PageHandlers
from weft.index.verify_archive import verify_archive
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.verify import verify
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import ClaimedLink, NewLink, NodeState, NodeType, Result, StoreOwner, WarcPosition
from weft.model.site import Site, SiteSettings
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

START: Final = "https://a.com/"
DEPTH: Final = 3
SETTINGS: Final = DispatcherSettings(learn_parameters=False)
_DAYS: Final = 40 * 86_400.0
ROUNDS: Final = 3
"""How often everything is fetched."""


def site(path: str, turn: int) -> tuple[int, str, str]:
    """Status, body and Location of a page when it is fetched for the n-th time; some change in between."""
    links = {
        "/": ["/a", "/b", "/old", "/file", "/broken"] + ["/late"] * (turn > 0),
        "/a": ["/a/1", "/a/2"],
        "/a/1": ["/deep"],
        "/b": ["/a/1", "/away"] if turn != 1 else ["/a/2"],
        "/deep": ["/too/deep"],
        "/late": ["/later", "/b"],
    }
    if path == "/old" and turn:
        return 301, "", "/new"
    if path == "/file":
        return (404, "", "") if turn == 2 else (200, "a file", "")
    if path == "/broken":
        return 500 if turn == 1 else 404, "", ""
    changes = turn if path in ("/", "/b", "/a/2") else 0
    named = "".join(f'<a href="{link}">to {link}</a> ' for link in links.get(path, []))
    return 200, f"<title>{path}</title><p>words of {path}, version {changes} {named}", ""


class Crawl:
    """One process that fetches, builds and dispatches, step by step."""

    def __init__(self, place: Path) -> None:
        self.place, self.clock = place, ManualClock(1_770_000_000_000)
        self.mgmt, self.store = MemoryMgmt(self.clock), MemoryStore()
        self.archive = ArchiveWriter(place / Settings().spider.warc_dir, clock=self.clock)
        self.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.lease = self.mgmt.register(NodeType.INDEX_BUILDER, "builder")
        self.mgmt.add([NewLink(RULES.identify(START).uri, START, "a.com")])
        self.scope = Scope([Site(name="a.com", settings=SiteSettings(depth=DEPTH, priority=2))], SETTINGS)
        self.fetched: Counter[str] = Counter()
        self.turn = 0
        self.start()

    def start(self) -> None:
        """As a process starts: nothing is left but the store."""
        reading = LocalReading(ReaderSettings.from_settings(Settings(), RULES, self.place / "warc").reader())
        index = LinkIndex(self.store, IndexSettings(), self.clock)
        self.builder = Builder(self.store, index, reading, SETTINGS, self.clock, PageHandlers({}))
        self.dispatcher = Dispatcher(self.store, self.mgmt, SETTINGS, self.clock)

    def with_store(self, store: MemoryStore) -> Crawl:
        """Another one, whose store was put back, and whose control plane is as it is now."""
        other = copy.copy(self)
        other.mgmt, other.clock = copy.deepcopy((self.mgmt, self.clock))
        other.store, other.fetched = copy.deepcopy(store), Counter()
        other.start()
        return other

    def restore(self) -> LackingLinks:
        return after_backup(Settings(), Home(self.place), self.store, self.mgmt)[1]

    def fetch(self) -> bool:
        self.clock.advance(1)
        chunk = self.mgmt.claim(self.crawler, 2)
        for link in chunk.links if chunk else []:
            self._fetch(link)
        return chunk is not None

    def _fetch(self, link: ClaimedLink) -> None:
        self.clock.advance(0.5)
        now, asked = self.clock.now(), self.mgmt.details([link.doc_id])[link.doc_id]
        path = link.url.removeprefix("https://a.com")
        self.fetched[path] += 1
        status, body, location = site(path, self.turn)
        etag = f'"{hash(body)}"' if status == 200 else ""
        if etag and etag == asked.etag:
            status, body = 304, ""
        kind = "application/pdf" if path == "/file" else HTML
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n" + f"Location: {location}\r\n" * bool(location)
        exchange = Exchange(
            url=link.url, ip="192.0.2.1", started=now, request=b"GET / HTTP/1.1\r\n\r\n", body=body.encode(),
            head=f"{head}\r\n".encode(), status=status, content_type=kind, original=asked.original,
        )  # fmt: skip
        is_lost = path == "/away" and self.turn == 0
        position = None if is_lost else WarcPosition("spider", *self.archive.store([exchange])[0])
        result = Result(
            doc_id=link.doc_id, claim=link.claim, status=0 if is_lost else status, position=position, started=now,
            ended=now, content_type=kind, etag=etag, location=location, error="timeout" if is_lost else "",
        )  # fmt: skip
        assert self.mgmt.report([result]) == [True]

    def build(self) -> bool:
        """Load a chunk, and report it a little later: another one may be loaded before."""
        chunks = self.mgmt.take_crawled(self.lease, 1)
        self.builder.open(chunks)
        while self.builder.is_busy:
            self.builder.build(self.scope)
            for chunk in self.builder.take_built():
                assert self.mgmt.built(self.lease, chunk.id, chunk.attempt, self.builder.seq)
                self.builder.reported(chunk.id)
        return bool(chunks)

    def dispatch(self) -> bool:
        step = self.dispatcher.step(self.scope, 3)
        return bool(step.given or step.hidden or step.looked_at)

    def to_the_end(self) -> Crawl:
        """Until nothing is left to do, and then once more on each of the days on which the others crawl too."""
        while True:
            while any([self.fetch(), self.build(), self.dispatch()]):
                pass
            if self.turn == ROUNDS - 1:
                return self
            self.next_turn()

    def next_turn(self) -> None:
        self.turn += 1
        self.clock.advance(_DAYS)

    def cells(self) -> dict[tuple[bytes, ...], bytes]:
        """What the index says of pages and links, whenever that was seen."""
        rows = self.store.scan_rows(Table.QUERY, b"p:")
        pages = [cell for cell in self.store.scan_rows(Table.FLUO, b"p:") if cell.qualifier == b"cur"]
        return {(cell.row, cell.family, cell.qualifier): cell.value for cell in [*rows, *pages]}

    def check(self) -> None:
        """The tables are what the pages say, and pages what their records say."""
        assert verify(self.store, "all", self.place).differences == 0
        archive = ArchiveReader(ReaderSettings.from_settings(Settings(), RULES, self.place / "warc"))
        found = verify_archive(self.store, lambda fetches: ((fetch, archive.read(fetch)) for fetch in fetches))
        assert (found.differences, found.left_out) == (0, 0), found.examples


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Crawl]:
    """A crawl, after each of its steps; the last one is at its end."""
    crawl = Crawl(tmp_path_factory.mktemp("crawl"))
    found = [crawl.with_store(crawl.store)]
    while True:
        steps = [crawl.fetch, crawl.build, crawl.fetch, crawl.dispatch]
        worked = []
        for step in steps:
            worked.append(step())
            if worked[-1]:
                found.append(crawl.with_store(crawl.store))
        if not any(worked):
            if crawl.turn == ROUNDS - 1:
                return [*found, crawl.with_store(crawl.store)]
            crawl.next_turn()


@pytest.mark.parametrize("of_the_last", [0.2, 0.45, 0.7, 1.0])
def test_whenever_the_checkpoint_was_made_the_index_ends_as_if_nothing_was_lost(
    moments: list[Crawl], of_the_last: float
) -> None:
    last = round((len(moments) - 1) * of_the_last)
    kept = moments[last].with_store(moments[last].store).to_the_end()
    expected = kept.cells()
    assert len(expected) > 40
    assert not any(b"too/deep" in row and b"cur" in rest for row, *rest in expected)
    for checkpoint in moments[: last + 1]:
        crawl = moments[last].with_store(checkpoint.store)
        crawl.restore()
        crawl.to_the_end()
        assert crawl.cells() == expected
        crawl.check()


def test_what_the_archive_holds_is_not_fetched_again(moments: list[Crawl]) -> None:
    for checkpoint in moments:
        crawl = moments[-1].with_store(checkpoint.store)
        lacking = crawl.restore()
        crawl.to_the_end()
        assert crawl.fetched.total() == lacking.refetched
        assert set(crawl.fetched.values()) <= {1}


def test_a_checkpoint_of_the_newest_state_lacks_nothing(moments: list[Crawl]) -> None:
    crawl = moments[-1].with_store(moments[-1].store)
    assert crawl.restore() == LackingLinks(0, 0, 0)
    assert not crawl.mgmt.take_crawled(crawl.lease)


def test_running_it_twice_or_after_a_kill_changes_nothing(moments: list[Crawl]) -> None:
    expected = moments[-1].cells()
    for checkpoint in moments[::7]:
        crawl = moments[-1].with_store(checkpoint.store)
        crawl.restore()
        crawl.build()  # and then killed
        crawl.start()
        crawl.mgmt.retry()
        assert crawl.restore().refetched == 0
        assert crawl.to_the_end().cells() == expected
        crawl.check()


def test_an_index_that_an_older_weft_put_back_is_completed_later(moments: list[Crawl]) -> None:
    """Its seqs have gone on: they do not tell what it lacks."""
    expected = moments[-1].cells()
    for checkpoint in moments[1::5]:
        crawl = moments[-1].with_store(checkpoint.store)
        for _ in range(100):
            crawl.store.write(Batch(), crawl.store.last_seq + 1)
        crawl.restore()
        assert crawl.to_the_end().cells() == expected
        crawl.check()


def test_a_record_that_is_gone_is_fetched_again(moments: list[Crawl], tmp_path: Path) -> None:
    crawl = moments[-1].with_store(moments[3].store)
    crawl.place = tmp_path
    crawl.archive = ArchiveWriter(tmp_path / Settings().spider.warc_dir, clock=crawl.clock)
    crawl.start()
    lacking = crawl.restore()
    assert lacking.refetched > 5
    assert crawl.to_the_end().cells() == moments[-1].cells()
    assert crawl.fetched.total() >= lacking.refetched


def test_an_index_that_is_built_again_has_no_page_for_a_capture_that_it_lacks(moments: list[Crawl]) -> None:
    crawl = moments[-1].with_store(MemoryStore())
    crawl.mgmt.tell(crawl.lease, NodeState.OFFLINE)
    build_again(crawl.mgmt, crawl.store, StoreOwner("new", "here:/home"))
    crawl.crawler = crawl.mgmt.register(NodeType.CRAWLER, "crawler")
    crawl.lease = crawl.mgmt.register(NodeType.INDEX_BUILDER, "builder")
    assert crawl.to_the_end().cells() == moments[-1].cells()
    crawl.check()


@pytest.mark.parametrize(
    "fetched",
    [
        Fetched(kind=FetchKind.PAGE, at=5, status=200, fingerprint=7),
        Fetched(kind=FetchKind.SAME, at=5, status=304),
        Fetched(kind=FetchKind.FAILED, at=5, error="timeout"),
        Fetched(kind=FetchKind.FAILED, at=5, status=503, error="busy"),
        Fetched(kind=FetchKind.SELF_REDIRECT, at=5, status=301, location="https://a.com/"),
        Fetched(kind=FetchKind.GONE, at=5, status=404),
        Fetched(kind=FetchKind.FAILED, at=5, status=200, error="unwanted_type", content_type="image/png"),
    ],
)
def test_the_last_fetch_is_known_when_it_comes_again(fetched: Fetched) -> None:
    given = LinkRecord(url="http://a.com/", phase=LinkPhase.GIVEN, fetched=3, interval=86_400_000, fingerprint=1)
    once = after_fetch(given, fetched, SETTINGS)
    assert is_loaded(once, fetched)
    assert not is_loaded(given, fetched)
    assert not is_loaded(once, msgspec.structs.replace(fetched, at=6))


def test_a_chunk_that_is_loaded_again_changes_no_schedule(tmp_path: Path) -> None:
    world = World(tmp_path)
    urls = [f"https://a.com/{name}" for name in ("page", "failed", "moved", "gone")]
    world.crawl(urls[0], "<p>words")
    world.crawl(urls[1], error="timeout")
    world.crawl(urls[2], status=301, location="https://a.com/moved?")
    world.crawl(urls[3], status=404)
    before = [world.record(url) for url in urls]
    forget_all(world.store)
    assert world.mgmt.offer_built() == 4
    assert world.build().results == 4
    assert [world.record(url) for url in urls] == before
