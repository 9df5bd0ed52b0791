"""Errands to the control plane, done in bulk. Every call may block: they run in a thread beside the loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from weft.clock import Clock
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Address, DocId, Lease, Outcome, Robots
from weft.robots.policy import FIRST_RETRY, good_until, is_reachable, policy
from weft.urlserver.errands import Errands, RobotsAnswer
from weft.urlserver.news import News, Place
from weft.urlserver.placing import Placing, is_unanswered
from weft.urlserver.robots import Known
from weft.urlserver.sitemaps import Sitemaps

T = TypeVar("T")

BULK = 1000
"""Links or hosts in one call."""
UNANSWERED_AGE = 86_400_000
"""For how long it matters that the DNS said nothing about a host."""


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    agent: str
    """Our product token."""
    limit: int
    """Bytes of a robots.txt that are read."""
    delay_max: int


class Clocks(NamedTuple):
    wall: Clock
    """Expiries are told by it: milliseconds since 1970."""
    steady: Clock
    """Politeness is measured by it."""


class Desk:
    def __init__(
        self, mgmt: Mgmt, clocks: Clocks, robots: RobotsPolicy, placing: Placing, sitemaps: Sitemaps | None = None
    ) -> None:
        """Without `sitemaps`, those that robots.txt names are left alone."""
        self._mgmt, self._robots, self._placing, self._sitemaps = mgmt, robots, placing, sitemaps
        self._wall, self._steady = clocks

    def claim(self, lease: Lease, limit: int, reject: Collection[str]) -> News:
        chunk = self._mgmt.claim(lease, limit, reject)
        return News(links=chunk.links if chunk else [])

    def outcomes(self, doc_ids: Sequence[DocId]) -> dict[DocId, Outcome]:
        found: dict[DocId, Outcome] = {}
        for some in _in_bulk(doc_ids):
            found |= self._mgmt.outcomes(some)
        return found

    def run(self, lease: Lease, errands: Errands, news: News) -> None:
        """Do all errands. What is done is off the list and in the news: after an error the rest can be tried again."""
        self._give_back(lease, errands, news)
        self._settle_robots(errands, news)
        self._read_robots(errands, news)
        self._open_robots(lease, errands, news)
        self._find_places(errands, news)

    def save(self, addresses: Sequence[Address]) -> None:
        for some in _in_bulk(addresses):
            self._mgmt.save_addresses(some)

    def place(self, address: Address, *, may_change: bool = False) -> Place:
        error = address.reason.partition(":")[0]
        return Place(address.ip, address.ip_key, self._to_steady(address.expires), error, may_change)

    def _give_back(self, lease: Lease, errands: Errands, news: News) -> None:
        # Deferred first: nothing that is given back may be claimed again before its time.
        if errands.defer:
            self._mgmt.defer({host: self._to_wall(moment) for host, moment in errands.defer.items()})
            errands.defer = {}
        for results in _taking(errands.refuse):
            replacements = (outcome.replacement for outcome in self._mgmt.refuse(lease, results))
            news.links += filter(None, replacements)
        for lost in _taking(errands.lose):
            self._mgmt.lost(lease, lost)
        for doc_ids in _taking(errands.release):
            self._mgmt.release(lease, doc_ids)

    def _settle_robots(self, errands: Errands, news: News) -> None:
        """What a fetch left in the control plane gets the expiry that its end calls for."""
        origins = list(errands.settle_robots)
        found = self._mgmt.robots(origins) if origins else {}
        settled = [self._settled(origin, errands.settle_robots[origin], found.get(origin)) for origin in origins]
        # First: once it is settled, nobody reads it again before it expires.
        self._add_sitemaps(settled)
        if settled:
            self._mgmt.save_robots(settled)
        news.robots_known |= {robots.origin: self._known(robots) for robots in settled}
        errands.settle_robots = {}

    def _settled(self, origin: str, answer: RobotsAnswer, stored: Robots | None) -> Robots:
        now = self._wall.now()
        is_stored = stored is not None and stored.status == answer.status
        return Robots(
            origin=origin,
            status=answer.status,
            body=stored.body if stored is not None and is_stored and is_reachable(answer.status) else b"",
            fetched=now,
            expires=good_until(answer.status, now, retry_after=answer.retry_after, failures=answer.failures),
        )

    def _read_robots(self, errands: Errands, news: News) -> None:
        found: dict[str, Robots] = {}
        for origins in _in_bulk(errands.read_robots):
            found |= self._mgmt.robots(origins)
        now = self._wall.now()
        fresh = {origin: robots for origin, robots in found.items() if robots.expires > now}
        # Again: a crash may have come between a robots.txt and its sitemaps, and sites change.
        self._add_sitemaps(fresh.values())
        news.robots_known |= {origin: self._known(robots) for origin, robots in fresh.items()}
        news.robots_unknown += (origin for origin in errands.read_robots if origin not in fresh)
        news.robots_failures |= {
            origin: failures for origin, robots in found.items() if (failures := failures_before(robots))
        }
        errands.read_robots = []

    def _add_sitemaps(self, robots: Iterable[Robots]) -> None:
        if self._sitemaps is not None:
            self._sitemaps.add(robots)

    def _known(self, robots: Robots) -> Known:
        has_rules = not is_reachable(robots.status) or 200 <= robots.status < 300
        rules = policy(robots.status, robots.body, self._robots.agent, self._robots.limit) if has_rules else None
        return Known(rules, self._to_steady(robots.expires), self._robots.delay_max)

    def _open_robots(self, lease: Lease, errands: Errands, news: News) -> None:
        if errands.open_robots:
            opened = self._mgmt.open_robots(lease, errands.open_robots)
            news.robots_opened |= opened
            news.robots_busy += errands.open_robots.keys() - opened.keys()
            errands.open_robots = {}

    def _find_places(self, errands: Errands, news: News) -> None:
        known: dict[str, Address] = {}
        for hosts in _in_bulk(errands.resolve):
            known |= self._mgmt.addresses(hosts)
        now = self._wall.now()
        for host in errands.resolve:
            address = known.get(host)
            if address is not None and address.expires > now and self._placing.may_use(address):
                news.places[host] = self.place(address)
            else:
                news.unplaced.append(host)
                if address is not None and is_unanswered(address) and address.expires > now - UNANSWERED_AGE:
                    news.unanswered.add(host)
        errands.resolve = []

    def _to_steady(self, moment: int) -> int:
        return moment - self._wall.now() + self._steady.now()

    def _to_wall(self, moment: int) -> int:
        return moment - self._steady.now() + self._wall.now()


def failures_before(robots: Robots) -> int:
    """How many fetches in a row could not be used, told by the wait that followed the last one."""
    return 0 if is_reachable(robots.status) else ((robots.expires - robots.fetched) // FIRST_RETRY).bit_length()


def _in_bulk(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while some := list(islice(left, BULK)):
        yield some


def _taking(items: list[T]) -> Iterator[list[T]]:
    """Parts of the list, each taken off once the caller is done with it."""
    while items:
        yield items[:BULK]
        del items[:BULK]
