"""Two months of a crawl on a clock that is moved by hand: every page gets its turn, and nothing grows without bound."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from weft.clock import ManualClock
from weft.config.sections import DispatcherSettings
from weft.dispatcher.discovery import DiscoveredLink, Discovery
from weft.dispatcher.dispatcher import Dispatcher
from weft.dispatcher.fetch_results import Fetched, FetchKind, after_fetch
from weft.dispatcher.link_records import LINK, LinkPhase, LinkRecord, decode_record
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.scope import Scope
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import Reopen
from weft.model.fetch_error import FetchError
from weft.model.site import Site
from weft.store.api import Batch
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table

HOUR, DAY = 3_600_000, 86_400_000
BEGIN = 1_770_000_000_000
ERRORS = ("network", "dns", "http", "robots")


@dataclass
class Page:
    """What a page does over time."""

    kind: str
    changes_every: int = 0
    """Milliseconds."""
    error: str = ""
    gone_from: int = 0
    fetches: list[int] = field(default_factory=list)
    failed_at: list[int] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    """When each fetch was due; 0 of the first."""


class Segment(NamedTuple):
    """What could be chosen of a domain, and what was."""

    new: int
    due: int
    taken_new: int
    taken_due: int


class Handed(MemoryMgmt):
    """A control plane that only takes note of what is handed over."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.waiting: list[str] = []

    def reopen(self, wanted: Sequence[Reopen]) -> list[bool]:
        self.waiting += [link.uri for link in wanted]
        return [True] * len(wanted)


class Months:
    """Domains with pages of all kinds, fetched at so many a tick."""

    def __init__(self, place: Path, domains: int, pages: int, settings: DispatcherSettings, a_tick: int) -> None:
        self.dice, self.settings, self.a_tick = random.Random(3), settings, a_tick
        self.clock = ManualClock(BEGIN)
        self.store, self.mgmt = RocksStore(place / "store"), Handed(self.clock)
        self.scope = Scope([Site(name="*", scope="any")], settings)
        self.dispatcher = Dispatcher(self.store, self.mgmt, settings, self.clock)
        self.discovery = Discovery(settings)
        self.pages: dict[str, Page] = {}
        self.most_outstanding = 0
        self.due: dict[str, int] = {}
        """When those are due that wait to be fetched again."""
        self.segments: list[Segment] = []
        for domain in range(domains):
            self.find(domain, pages)

    def find(self, domain: int, count: int) -> None:
        begin = sum(uri.startswith(f"com.s{domain}/") for uri in self.pages)
        names = range(begin, begin + count)
        made = {f"com.s{domain}/{n}": self._page() for n in names}
        self.pages |= made
        found = [DiscoveredLink(b"com.s%d" % domain, uri.encode(), url_of(uri), 1, "") for uri in made]
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        self.discovery.offer(round_, self.scope, found, self.clock.now())
        self._write(round_)

    def _page(self) -> Page:
        kind = self.dice.choices(["steady", "changing", "failing", "vanishing"], [5, 5, 2, 1])[0]
        if kind == "changing":
            return Page(kind, changes_every=self.dice.choice([2 * HOUR, 12 * HOUR, 3 * DAY, 10 * DAY]))
        if kind == "failing":
            return Page(kind, error=self.dice.choice(ERRORS))
        return Page(kind, gone_from=BEGIN + 20 * DAY if kind == "vanishing" else 0)

    def _write(self, round_: LinkRound) -> None:
        if cells := round_.cells():
            self.store.write(Batch(cells), self.store.last_seq + 1)

    def tick(self, seconds: float) -> None:
        """Choose, fetch some of what waits, and let time pass."""
        room = self.settings.outstanding - len(self.mgmt.waiting)
        if room > 0:
            before, waited = len(self.mgmt.waiting), self._waiting()
            self.dispatcher.step(self.scope, room)
            self._note_segments(self.mgmt.waiting[before:], waited)
        self.most_outstanding = max(self.most_outstanding, len(self.mgmt.waiting))
        ready, self.mgmt.waiting = self.mgmt.waiting[: self.a_tick], self.mgmt.waiting[self.a_tick :]
        round_ = LinkRound(self.store, self.dispatcher.low_water)
        places = [(uri.partition("/")[0].encode(), uri.encode()) for uri in ready]
        for place, record in zip(places, round_.read(places), strict=True):
            assert record is not None
            assert record.phase is LinkPhase.GIVEN
            round_.put(*place, self._fetch(record, place[1].decode()))
        self._write(round_)
        self.clock.advance(seconds)

    def _waiting(self) -> Counter[tuple[str, bool]]:
        """How many of each domain may be chosen now, new ones and others."""
        handed, now = {*self.mgmt.waiting}, self.clock.now()
        new = (domain_of(uri) for uri, page in self.pages.items() if not page.fetches and uri not in handed)
        due = (domain_of(uri) for uri, moment in self.due.items() if moment <= now)
        return Counter([*((domain, False) for domain in new), *((domain, True) for domain in due)])

    def _note_segments(self, uris: list[str], waited: Counter[tuple[str, bool]]) -> None:
        taken = Counter((domain_of(uri), uri in self.due) for uri in uris)
        for uri in uris:
            self.due.pop(uri, None)
        self.segments += [
            Segment(waited[domain, False], waited[domain, True], taken[domain, False], taken[domain, True])
            for domain in {domain for domain, _ in taken}
        ]

    def _fetch(self, record: LinkRecord, uri: str) -> LinkRecord:
        now, page = self.clock.now(), self.pages[uri]
        last, is_first = page.fetches[-1] if page.fetches else 0, not page.fetches
        page.due.append(record.due)
        page.fetches.append(now)
        if page.error and self.dice.random() < 0.9:
            page.failed_at.append(now)
            fetched = Fetched(kind=FetchKind.FAILED, at=now, error=page.error)
        elif page.gone_from and now >= page.gone_from:
            fetched = Fetched(kind=FetchKind.GONE, at=now, status=404)
        else:
            every = page.changes_every
            has_changed = is_first or bool(every and last // every != now // every)
            fetched = Fetched(
                kind=FetchKind.PAGE if has_changed else FetchKind.SAME, at=now, status=200, fingerprint=now
            )
        after = after_fetch(record, fetched, self.settings)
        self.due[uri] = after.due
        return after

    def records(self) -> dict[str, LinkRecord]:
        cells = self.store.scan_rows(Table.LINKS, b"l:")
        return {cell.qualifier.decode(): decode_record(cell.value) for cell in cells if cell.family == LINK}


def domain_of(uri: str) -> str:
    return uri.partition("/")[0]


def url_of(uri: str) -> str:
    host, _, path = uri.partition("/")
    return f"https://{'.'.join(reversed(host.split('.')))}/{path}"


def two_months(place: Path, domains: int, pages: int, ticks_a_day: int, a_tick: int) -> Months:
    settings = DispatcherSettings(segment_size=20, outstanding=200, refresh_percentage=25)
    months = Months(place, domains, pages, settings, a_tick)
    for day in range(60):
        for _ in range(ticks_a_day):
            months.tick(86_400 / ticks_a_day)
        if day % 5 == 4 and day < 50:
            months.find(day % domains, pages // 2)
    return months


def check(months: Months) -> None:
    settings, end = months.settings, months.clock.now()
    shortest, longest = (int(bound * 1000) for bound in (settings.refresh_min, settings.refresh_max))
    assert all(page.fetches for page in months.pages.values()), "every page got its turn"
    # Each domain may go over by one segment in a step, no more.
    assert months.most_outstanding <= settings.outstanding + settings.segment_size
    for uri, record in months.records().items():
        page = months.pages[uri]
        _check_waits(page)
        if page.kind != "failing":
            assert shortest <= record.interval <= longest
        if record.phase is LinkPhase.DUE:
            assert end - record.due < 4 * DAY, ("starved", uri, record)
    _check_paces(months)
    _check_shares(months)


def _check_waits(page: Page) -> None:
    """None was asked before it was due, and failures in a row wait longer and longer, by their class."""
    assert all(at >= due for at, due in zip(page.fetches, page.due, strict=True))
    failures = 0
    failed = set(page.failed_at)
    for at, after in zip(page.fetches, page.fetches[1:], strict=False):
        failures = failures + 1 if at in failed else 0
        if failures:
            assert after - at >= FetchError.of(page.error).wait(failures)


def _check_paces(months: Months) -> None:
    """What changes more often is asked more often."""
    fetches: defaultdict[int, list[int]] = defaultdict(list)
    for page in months.pages.values():
        if page.kind in ("changing", "steady") and page.fetches[0] < BEGIN + 10 * DAY:
            fetches[page.changes_every or 1000 * DAY].append(len(page.fetches))
    means = [sum(counts) / len(counts) for _, counts in sorted(fetches.items())]
    assert len(means) == 5
    assert means == sorted(means, reverse=True)
    assert means[0] > 5 * means[-1]


def _check_shares(months: Months) -> None:
    """A quarter of a segment is crawled again if so many are due; what one side cannot fill, the other does."""
    size, share = months.settings.segment_size, months.settings.segment_size // 4
    for new, due, taken_new, taken_due in months.segments:
        assert taken_new == min(new, size - min(due, share))
        assert taken_due == min(due, size - taken_new)
    crowded = [each for each in months.segments if each.new > size and each.due > share]
    assert crowded, "both waited in abundance at least once"


def test_two_months_of_a_small_crawl(tmp_path: Path) -> None:
    check(two_months(tmp_path, domains=3, pages=60, ticks_a_day=8, a_tick=60))


@pytest.mark.long
def test_two_months_of_a_larger_crawl(tmp_path: Path) -> None:
    check(two_months(tmp_path, domains=30, pages=200, ticks_a_day=24, a_tick=600))
