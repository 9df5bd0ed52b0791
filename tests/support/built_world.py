"""A small world around the index builder: fetches happen by saying what came back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from weft.answers.index import Index
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.warc_records import Exchange
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.sections import DispatcherSettings, IndexSettings
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.link_records import LinkRecord, decode_record, link_column
from weft.dispatcher.scope import Scope
from weft.index.builder import Builder, BuiltRound
from weft.index.fetch_reader import FetchReader
from weft.index.fetch_reader_pool import ReaderSettings, fetch_reader_pool
from weft.index.handlers import HandledPage, PageHandlers
from weft.index.parking import Parking
from weft.index.reading_lanes import AskedFetch, FetchReading, ReadyFetch
from weft.index.round_weight import ROUND_WEIGHT
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.verify import verify
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import BuildChunk, ClaimedLink, NewLink, NodeType, Reopen, Result, WarcPosition
from weft.model.domain import reversed_domain
from weft.model.site import Site
from weft.model.url import UrlRules
from weft.store.memory import MemoryStore
from weft.store.tables import Table

RULES = UrlRules()
HTML = "text/html; charset=utf-8"
SETTINGS = DispatcherSettings()


class LocalReading:
    """Reads fetches right here, one when one is taken."""

    def __init__(self, reader: FetchReader) -> None:
        self._reader = reader
        self.given: deque[AskedFetch] = deque()

    @property
    def waiting(self) -> int:
        return len(self.given)

    def give(self, fetches: Iterable[AskedFetch]) -> None:
        self.given.extend(fetches)

    def gather(self, most: int, seconds: float) -> None:
        """All are ready as soon as they are given."""

    def take(self, seconds: float) -> ReadyFetch | None:
        if not self.given:
            return None
        asked = self.given.popleft()
        return ReadyFetch(asked.ticket, asked.link, self._reader.read(asked.link, asked.members))

    def take_heavy(self) -> ReadyFetch | None:
        """Nothing is set apart: all are taken in the order in which they came."""

    heavy: dict[str, int] = {}  # noqa: RUF012 - never changed

    def is_heavy(self, domain: str) -> bool:
        return False

    def drop(self) -> None:
        self.given.clear()


class World:
    """A control plane, an archive and an index; fetches happen by saying what came back."""

    def __init__(self, place: Path, *, with_workers: bool = False) -> None:
        self.place, self.clock = place, ManualClock(1_770_000_000_000)
        self.mgmt, self.store = MemoryMgmt(self.clock), MemoryStore()
        self.archive = ArchiveWriter(place / "warc", clock=self.clock)
        self.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.lease = self.mgmt.register(NodeType.INDEX_BUILDER, "builder")
        self.node = "spider"
        """Whose records the next fetches are."""
        self.scope = Scope([Site(name="*", scope="any")], SETTINGS)
        self.handled: list[HandledPage] = []
        self.built: list[BuildChunk] = []
        self._open = ExitStack()
        if with_workers:
            reading = self._open.enter_context(fetch_reader_pool(Settings(), RULES, place / "warc", workers=1))
            self.reading: FetchReading = reading
        else:
            self.reading = LocalReading(ReaderSettings.from_settings(Settings(), RULES, place / "warc").reader())
        self.builder = self.new_builder()
        self.dispatcher = Dispatcher(self.store, self.mgmt, SETTINGS, self.clock)

    def new_builder(self, round_weight: int = ROUND_WEIGHT, parking: Parking | None = None) -> Builder:
        """A builder that knows what the store holds, as after a restart."""
        self.index = LinkIndex(self.store, IndexSettings(), self.clock)
        return Builder(
            self.store,
            self.index,
            self.reading,
            SETTINGS,
            self.clock,
            PageHandlers({"keeping": self.handled.append}),
            round_weight,
            parking,
        )

    def close(self) -> None:
        self._open.close()

    def fetch(self, url: str, body: str = "", status: int = 200, kind: str = HTML, **about: Any) -> None:
        """`url` was asked and this came back; an `error` in place of an answer."""
        self.fetch_chunk({url: body}, status, kind, **about)

    def fetch_chunk(self, bodies: Mapping[str, str], status: int = 200, kind: str = HTML, **about: Any) -> None:
        """These URLs were asked, as one chunk, and this came back."""
        pages = [RULES.identify(url) for url in bodies]
        self.mgmt.add([NewLink(page.uri, page.url, "host") for page in pages])
        chunk = self.mgmt.claim(self.crawler, len(pages))
        assert chunk is not None
        assert {link.url for link in chunk.links} == {page.url for page in pages}
        named = {page.url: body for page, body in zip(pages, bodies.values(), strict=True)}
        for link in chunk.links:
            self._answer(link, named[link.url], status, kind, **about)

    def _answer(self, link: ClaimedLink, body: str, status: int, kind: str, **about: Any) -> None:
        self.clock.advance(1)
        now = self.clock.now()
        position = None
        if "error" not in about:
            location = f"Location: {about['location']}\r\n" if "location" in about else ""
            head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{location}\r\n".encode()
            exchange = Exchange(
                url=link.url, ip="192.0.2.1", started=now, request=b"GET / HTTP/1.1\r\n\r\n",
                head=head, body=body.encode(), status=status, content_type=kind,
            )  # fmt: skip
            found = self.archive.store([exchange])[0]
            position = WarcPosition(self.node, *found)
        result = Result(
            doc_id=link.doc_id, claim=link.claim, status=0 if "error" in about else status, position=position,
            started=now, ended=now, content_type=kind, **about,
        )  # fmt: skip
        assert self.mgmt.report([result]) == [True]

    def fetch_again(self, url: str, body: str, **about: Any) -> None:
        """A known page was asked again, whenever it is due."""
        page = RULES.identify(url)
        known = self.mgmt.known([page.uri])[page.uri]
        again = Reopen(uri=page.uri, url=page.url, web_host="host", after=known.ended)
        assert self.mgmt.reopen([again]) == [True]
        self.fetch(url, body, **about)

    def build(self) -> BuiltRound:
        built = self.load(self.mgmt.take_crawled(self.lease))
        for chunk in self.built:
            assert self.mgmt.built(self.lease, chunk.id, chunk.attempt, self.builder.seq)
            self.builder.reported(chunk.id)
        assert verify(self.store, "all", self.place).differences == 0
        return built

    def load(self, chunks: Sequence[BuildChunk]) -> BuiltRound:
        """Load these chunks, in as many rounds as it takes."""
        self.builder.open(chunks)
        built, self.built = BuiltRound(), []
        while self.builder.is_busy:
            built = built.and_then(self.builder.build(self.scope))
            self.built += self.builder.take_built()
        return built

    def crawl(self, url: str, body: str = "", status: int = 200, kind: str = HTML, **about: str) -> None:
        self.fetch(url, body, status, kind, **about)
        self.build()

    def again(self) -> None:
        """Let a link that was crawled be asked again."""
        self.clock.advance(40 * 86_400)
        assert self.dispatcher.step(self.scope, 100).given >= 1

    def record(self, url: str) -> LinkRecord | None:
        page = RULES.identify(url)
        column = link_column(reversed_domain(page.domain).encode(), page.uri.encode())
        cell = self.store.get(Table.LINKS, [column])[0]
        return decode_record(cell.value) if cell else None

    @property
    def answers(self) -> Index:
        return Index(self.store, RULES)
