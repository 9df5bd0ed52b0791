"""A crawl without a network: pages are what a table says, fetches happen at once, and the index is real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings, IndexSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher, DispatchStep
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.linkindex.loaded import RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.mgmt.memory import MemoryMgmt
from weft.model.domain import reversed_domain
from weft.model.fetch_error import FetchError
from weft.model.site import Site
from weft.model.url import UrlRules
from weft.store.api import Cell, Column
from weft.store.memory import MemoryStore
from weft.store.tables import Table

RULES = UrlRules()
Links = Sequence[str | tuple[str, str]]
"""URLs, or URLs with a rel."""


def place_of(url: str) -> tuple[bytes, bytes]:
    page = RULES.identify(url)
    return reversed_domain(page.domain).encode(), page.uri.encode()


class CrawlWorld:
    def __init__(self, settings: DispatcherSettings, *sites: Site) -> None:
        self.clock, self.settings = ManualClock(1_770_000_000_000), settings
        self.store = MemoryStore()
        self.sites = {site.name: site for site in sites}
        self.start()

    def start(self) -> None:
        """As a process starts, perhaps after a kill: nothing is left but the store."""
        self.mgmt = MemoryMgmt(self.clock)
        self.index = LinkIndex(self.store, IndexSettings(), self.clock)
        self.discovery = Discovery(self.settings)
        self.dispatcher = Dispatcher(self.store, self.mgmt, self.settings, self.clock)
        self._hear()

    def say(self, *sites: Site) -> None:
        """What the user says of these sites from now on."""
        self.sites |= {site.name: site for site in sites}
        self._hear()

    def _hear(self) -> None:
        self.scope = Scope(self.sites.values(), self.settings)

    def crawl(self, url: str, *links: str | tuple[str, str]) -> None:
        """`url` was fetched, and named these."""
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        place = place_of(url)
        record = round_.read([place])[0] or LinkRecord(url=RULES.identify(url).url)
        fetched = Fetched(kind=FetchKind.PAGE, at=self.clock.now(), status=200)
        round_.put(*place, after_fetch(record, fetched, self.settings))
        round_.domain_limit.fetched(place[0], has_answered=True)
        raw = [RawLink(link) if isinstance(link, str) else RawLink(link[0], rel=link[1]) for link in links]
        follow = [link.href for link in raw if link.rel != "nofollow"]
        source = place[1].decode()
        found = [DiscoveredLink(*place_of(href), RULES.identify(href).url, record.depth + 1, source) for href in follow]
        self.discovery.offer(round_, self.scope, found, self.clock.now())
        page = load_page(RULES, RULES.identify(url), self.clock.now(), raw, Doc())
        self.index.apply([page], round_.cells())
        self.clock.advance(0.001)

    def fail(self, *urls: str, error: FetchError = FetchError.UNKNOWN_HOST) -> None:
        """These were asked and nobody answered."""
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        for url in urls:
            place = place_of(url)
            record = round_.read([place])[0]
            assert record is not None
            fetched = Fetched(kind=FetchKind.FAILED, at=self.clock.now(), error=error)
            round_.put(*place, after_fetch(record, fetched, self.settings))
            round_.domain_limit.fetched(place[0], has_answered=False)
        self.index.apply([], round_.cells())
        self.clock.advance(0.001)

    def step(self, room: int = 1000) -> DispatchStep:
        return self.dispatcher.step(self.scope, room)

    def settle(self, most: int = 1000) -> int:
        """Steps until nothing is looked at, given or hidden any more; how many."""
        for number in range(most):
            step = self.step()
            if not (step.given or step.hidden or step.looked_at):
                return number
        raise AssertionError("it does not come to rest")

    def record(self, url: str) -> LinkRecord | None:
        return LinkRound(self.store, 1).read([place_of(url)])[0]

    def records(self) -> dict[str, LinkRecord]:
        cells = self.store.scan_rows(Table.LINKS, b"l:")
        records = (decode_record(cell.value) for cell in cells if cell.family == LINK)
        return {record.url: record for record in records}

    def urls(self, place: LinkPhase) -> set[str]:
        return {url for url, record in self.records().items() if record.phase is place}


class CountingStore:
    """Counts what is read of a store."""

    def __init__(self, store: Any) -> None:
        self._store, self.cells = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, table: Table, columns: Sequence[Column]) -> list[Cell | None]:
        self.cells += len(columns)
        return self._store.get(table, columns)

    def scan(self, *where: Any, **how: Any) -> Iterator[Cell]:
        for cell in self._store.scan(*where, **how):
            self.cells += 1
            yield cell
