"""Deletes leave tombstones for three days: those who read the top, or choose a segment, meet few of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pytest

from support.cassandra_store import new_registered_store
from support.dispatcher_world import RULES, place_of
from support.tombstones import tombstones_met
from weft.answers.index import Index
from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings, IndexSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.dispatcher.segment import choose
from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Reopen
from weft.model.site import Site
from weft.store.api import Batch
from weft.store.cassandra.cluster_session import ClusterSession
from weft.store.cassandra.registered_store import RegisteredStore
from weft.store.cassandra.schema import SHARDS

NOW: Final = 1_770_000_000_000
FEW: Final = 1000
SEGMENT: Final = 250
ROUNDS: Final = 5_000
TARGET: Final = "https://c.com/"


@pytest.fixture
def store(cassandra_hosts: tuple[str, ...]) -> Iterator[RegisteredStore]:
    with new_registered_store(cassandra_hosts, SHARDS) as made:
        yield made


class Crawl:
    """One domain whose links are found, handed over and fetched, without a network."""

    def __init__(self, store: RegisteredStore) -> None:
        self.store, self.clock = store, ManualClock(NOW)
        self.settings = DispatcherSettings(segment_size=SEGMENT, refresh_percentage=50)
        self.mgmt = KeepingMgmt(self.clock)
        self.dispatcher = Dispatcher(store, self.mgmt, self.settings, self.clock)
        self.scope = Scope([Site(name="a.com")], self.settings)

    def discover(self, count: int) -> None:
        for first in range(0, count, 10_000):
            numbers = range(first, min(count, first + 10_000))
            found = [DiscoveredLink(*place_of(f"https://a.com/{n}"), f"https://a.com/{n}", 1, "") for n in numbers]
            links = LinkRound(self.store, self.dispatcher.low_water)
            Discovery(self.settings).offer(links, self.scope, found, self.clock.now())
            self._write(links)
            self.clock.advance(1)

    def fetch_all(self, most: int) -> int:
        """Take and fetch segments until none is left, or `most` links were fetched; returns how many were."""
        fetched = 0
        while fetched < most and self.dispatcher.step(self.scope, SEGMENT).given:
            self.clock.advance(1)
            links = LinkRound(self.store, self.dispatcher.low_water)
            places = [place_of(wanted.url) for wanted in self.mgmt.given]
            self.mgmt.given.clear()
            for place, record in zip(places, links.read(places), strict=True):
                assert record is not None
                page = Fetched(kind=FetchKind.PAGE, at=self.clock.now(), status=200)
                links.put(*place, after_fetch(record, page, self.settings))
            self._write(links)
            fetched += len(places)
        return fetched

    def segment(self) -> int:
        links = LinkRound(self.store, self.dispatcher.low_water)
        return len(choose(self.store, links, b"com.a", self.settings, self.clock.now()))

    def _write(self, links: LinkRound) -> None:
        self.store.write(Batch(links.cells()), self.store.last_seq + 1)


class KeepingMgmt(MemoryMgmt):
    """Keeps nothing of links but those of the last step: they are fetched at once."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.given: list[Reopen] = []

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        self.given += wanted
        return [True] * len(wanted)


def take_links(store: RegisteredStore, count: int, seconds: float) -> None:
    """Fetch each of `count` links, and most of them again; then choose among the rest."""
    crawl = Crawl(store)
    crawl.discover(count + SEGMENT)
    until = time.monotonic() + seconds
    left = count
    while left > 0 and time.monotonic() < until:
        left -= crawl.fetch_all(min(left, 5_000))
    assert left <= 0, f"{left} links were not taken in time"
    assert crawl.segment() > 0
    _is_read_easily("the next segment, new", store, crawl.segment)
    crawl.clock.advance(2 * 86_400)
    left = count
    while left > 0 and time.monotonic() < until:
        left -= crawl.fetch_all(min(left, 5_000))
    assert left <= 0, f"{left} links were not taken again in time"
    _is_read_easily("the next segment, due", store, crawl.segment)


def _is_read_easily(what: str, store: RegisteredStore, read: Callable[[], object]) -> None:
    session = store._session
    assert isinstance(session, ClusterSession)
    met = tombstones_met(session, read)
    print(f"{what}: {met} tombstones")
    assert met < FEW


def toggled(number: int, sources: int) -> LoadedPage:
    """In every other lap each source comes to refer to the target, in the others not any more."""
    lap, source = divmod(number, sources)
    links = [RawLink(TARGET)] if lap % 2 == 0 else []
    return load_page(RULES, RULES.identify(f"https://s{source}.com/"), NOW + number, links, Doc())


def move_count(store: RegisteredStore, rounds: int, sources: int, seconds: float) -> None:
    """The references of one page go up and down, by one with each round: through every band on their way."""
    index = LinkIndex(store, IndexSettings(history=False), ManualClock(NOW))
    until = time.monotonic() + seconds
    for number in range(rounds):
        index.apply([toggled(number, sources)])
        assert time.monotonic() < until, f"{number} rounds in {seconds} s"
    answers = Index(store, RULES)
    _is_read_easily("the top", store, lambda: answers.top(limit=20))
    _is_read_easily("the domain's top", store, lambda: answers.top("c.com", limit=20))


def test_a_segment_meets_few_tombstones_of_links_that_were_taken(store: RegisteredStore) -> None:
    take_links(store, 5_000, 120)


def test_the_top_meets_few_tombstones_of_a_count_that_moved(store: RegisteredStore) -> None:
    move_count(store, ROUNDS, 900, 300)


@pytest.mark.long
def test_a_segment_meets_few_tombstones_of_very_many_links_that_were_taken(store: RegisteredStore) -> None:
    take_links(store, 200_000, 3600)


@pytest.mark.long
def test_the_top_meets_few_tombstones_of_a_count_that_moved_very_often(store: RegisteredStore) -> None:
    move_count(store, 40 * ROUNDS, 4_500, 7200)
