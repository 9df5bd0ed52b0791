"""The whole URL server without its sockets, in simulated time; frontier, gateway and control plane are real."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from support.polite_checker import Checker, Request, Rules
from support.simulated_web import Behaviour, SimulatedWeb
from weft.clock import ManualClock
from weft.config.sections import UrlserverSettings
from weft.mgmt.api import Mgmt
from weft.mgmt.values import Address, DocId, NodeType
from weft.urlserver.address_policy import AddressPolicy
from weft.urlserver.frontier import Frontier
from weft.urlserver.hosts import Host
from weft.urlserver.in_flight import SpiderId
from weft.urlserver.mgmt_gateway import Clocks, MgmtGateway, RobotsPolicy
from weft.urlserver.mgmt_messages import MgmtReplies
from weft.urlserver.returns import ReturnReason
from weft.wire import Fetch, TransId

CLAIM_EVERY = 500
CHUNK = 100
TICK = 20


@dataclass
class Flight:
    """A fetch that a simulated spider does."""

    fetch: Fetch
    host: str
    behaviour: Behaviour
    life: tuple[int, int]
    robots_of: str | None
    """The origin whose robots.txt it is."""
    is_over: bool = False


@dataclass
class Simulation:
    web: SimulatedWeb
    mgmt: Mgmt
    clock: ManualClock
    settings: UrlserverSettings
    spiders: int = 3
    kills: int = 0
    server_kills: int = 0
    moves: int = 0
    events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    server_life: int = 0
    refetches: int = 0

    def __post_init__(self) -> None:
        politeness = Frontier(self.settings).registry.politeness
        plain_gap = politeness.gap(Host("plain.test"))
        self.checker = Checker(
            Rules(plain_gap, politeness.host_concurrent, politeness.ip_gap, politeness.ip_concurrent)
        )
        self.spider_life = dict.fromkeys(range(self.spiders), 0)
        self.flights: dict[int, list[Flight]] = {spider: [] for spider in range(self.spiders)}
        self._fetched: set[int] = set()
        self._pages: Counter[str] = Counter()
        self._ended: dict[int, list[Flight]] = {spider: [] for spider in range(self.spiders)}
        self._counter = 0
        delay_max = round(self.settings.crawl_delay_max * 1000)
        clocks = Clocks(self.clock, self.clock)
        self.gateway = MgmtGateway(
            self.mgmt, clocks, RobotsPolicy("weft", 512_000, delay_max), AddressPolicy(self.settings)
        )
        self._begin_server()

    def at(self, delay: int, event: Callable[[], None]) -> None:
        self._counter += 1
        heapq.heappush(self.events, (self.clock.now() + delay, self._counter, event))

    # The URL server's life.

    def _begin_server(self) -> None:
        self.lease = self.mgmt.register(NodeType.CRAWLER, "127.0.0.1:7069")
        self.frontier = Frontier(self.settings, generation=self.server_life << 40)
        self.frontier.own(self.mgmt.own_slots(self.lease), self.clock.now())
        for spider in range(self.spiders):
            self.frontier.in_flight.connect(SpiderId(spider))
        self.is_up = True
        self._next_claim = 0

    def kill_server(self) -> None:
        """Its connections close, so spiders abort what it asked for."""
        if not self.is_up:
            return
        self.is_up = False
        self.server_life += 1
        for flights in self.flights.values():
            self._abort(flights)
        self.at(self.web.random.randrange(0, 5000), self._begin_server)

    def _abort(self, flights: list[Flight]) -> None:
        for flight in flights:
            self._land(flight)
        flights.clear()

    # The loop.

    def run(self, until: int) -> None:
        """Until every link has ended; fails when that takes longer than simulated `until`."""
        self._plan_accidents()
        while not self._has_ended():
            moment = self._next_moment()
            assert moment is not None, "nothing is left to happen, but links have not ended"
            assert moment < until, f"links have not ended: {self.mgmt.counts()}"
            self._advance_to(moment)

    def run_for(self, milliseconds: int) -> None:
        """So much simulated time, whether or not links are left."""
        until = self.clock.now() + milliseconds
        while (moment := self._next_moment()) is not None and moment < until:
            self._advance_to(moment)

    def fetched_from(self) -> Counter[str]:
        """How many pages were asked of each host."""
        return self._pages

    def _advance_to(self, moment: int) -> None:
        self.clock.advance((max(moment, self.clock.now()) - self.clock.now()) / 1000)
        while self.events and self.events[0][0] <= self.clock.now():
            heapq.heappop(self.events)[2]()
        if self.is_up:
            self._turn()

    def _has_ended(self) -> bool:
        if self.events and self.events[0][0] <= self.clock.now():
            return False
        if self.is_up and not self.frontier.is_empty:
            return False
        links = self.mgmt.counts().links
        return not links.get("pending", 0) and not links.get("crawling", 0)

    def _next_moment(self) -> int | None:
        moments = [self.events[0][0]] if self.events else []
        if self.is_up:
            moment = self.frontier.next_moment(may_send=True)
            moments += [] if moment is None else [max(moment, self.clock.now() + 1)]
            moments += [self._next_claim] if self.frontier.wants_links(self.clock.now()) else []
        return min(moments, default=None)

    def _turn(self) -> None:
        now = self.clock.now()
        self._look_for_overdue(now)
        self.frontier.registry.forget(now)
        while True:
            self._send_requests(now)
            self._claim(now)
            self._take_off(list(self.frontier.due(now)), now)
            if not self.frontier.requests:
                return

    def _send_requests(self, now: int) -> None:
        while self.frontier.requests:
            replies = MgmtReplies()
            self.gateway.run(self.lease, self.frontier.requests.take(), replies)
            for name in replies.unresolved:
                self.at(self.web.random.randrange(1, 2000), partial(self._resolve, name, self.server_life))
            self.frontier.learn(replies, now)

    def _claim(self, now: int) -> None:
        if self.frontier.wants_links(now) and now >= self._next_claim:
            replies = self.gateway.claim(self.lease, CHUNK, self.frontier.reject_list())
            self._next_claim = now + (1 if replies.links else CLAIM_EVERY)
            self.frontier.learn(replies, now)

    def _resolve(self, name: str, life: int) -> None:
        if life != self.server_life or not self.is_up:
            return
        host = self.web.by_name[name]
        expires = self.clock.now() + host.ttl
        address = Address(name, "" if host.is_unknown else host.ip, host.ip, expires, "dns" * host.is_unknown)
        self.mgmt.save_addresses([address])
        self.frontier.locate(name, self.gateway.host_address(address), self.clock.now())

    def _look_for_overdue(self, now: int) -> None:
        overdue = [sent.trans_id for sent in self.frontier.in_flight.overdue(now)]
        self._come_back(overdue, ReturnReason.SILENT)

    def _come_back(self, trans_ids: list[TransId], reason: ReturnReason) -> None:
        """What the URL server does when URLs are out of a spider's hands."""
        if not trans_ids:
            return
        found = {trans_id: self.frontier.in_flight.find(trans_id) for trans_id in trans_ids}
        outcomes = self.gateway.outcomes([sent.doc_id for sent in found.values() if sent])
        for trans_id, sent in found.items():
            outcome = outcomes.get(sent.doc_id) if sent else None
            if sent and outcome and outcome.retry_after and outcome.claim == sent.claim:
                self.checker.asked_to_wait(sent.host.name, sent.done_at + outcome.retry_after)
            self.frontier.come_back(trans_id, reason, outcome, self.clock.now())

    # Spiders.

    def _take_off(self, sends: list[tuple[SpiderId, Fetch]], now: int) -> None:
        details = self.mgmt.details([DocId(fetch.doc_id) for _, fetch in sends]) if sends else {}
        for spider, fetch in sends:
            assert fetch.doc_id in details, "a link is asked for that is not being crawled"
            doc_id = DocId(fetch.doc_id)
            behaviour = self.web.fetch(doc_id, details[doc_id].claim, fetch.url)
            life = self.server_life, self.spider_life[spider]
            self._show_checker(fetch, now)
            origin = self.frontier.registry.origins.origin_of_link(DocId(fetch.doc_id))
            flight = Flight(fetch, urlsplit(fetch.url).netloc, behaviour, life, origin)
            self.flights[spider].append(flight)
            self.at(behaviour.latency, partial(self._end, spider, flight))
            for beat in range(5000, behaviour.latency, 5000):
                self.at(beat, partial(self._say_working, spider, flight))

    def _show_checker(self, fetch: Fetch, now: int) -> None:
        parts = urlsplit(fetch.url)
        is_robots = parts.path == "/robots.txt"
        origin = self.frontier.registry.origins.origin_of_link(DocId(fetch.doc_id))
        # After a restart nobody can tell that the target of another host's robots.txt redirect asked for patience.
        is_hop = is_robots and urlsplit(origin).netloc != parts.netloc
        if not is_robots:
            self.refetches += fetch.doc_id in self._fetched
            self._fetched.add(fetch.doc_id)
            self._pages[parts.netloc] += 1
        its_own = f"{parts.scheme}://{parts.netloc}"
        is_allowed = self.web.is_allowed(fetch.url)
        self.checker.start(Request(parts.netloc, fetch.ip, its_own, is_robots, is_hop, is_allowed), now)

    def _land(self, flight: Flight) -> None:
        if not flight.is_over:
            flight.is_over = True
            self.checker.end(flight.host, flight.fetch.ip, self.clock.now())

    def _end(self, spider: int, flight: Flight) -> None:
        if flight.is_over:
            return
        self._land(flight)
        self.flights[spider].remove(flight)
        if not self._ended[spider]:
            self.at(TICK, partial(self._report, spider))
        self._ended[spider].append(flight)

    def _report(self, spider: int) -> None:
        """Results are durable before DONE; both go in ticks."""
        ended, self._ended[spider] = self._ended[spider], []
        self.mgmt.report([flight.behaviour.result for flight in ended if flight.behaviour.result])
        for flight in ended:
            if flight.behaviour.result is not None:
                self._tell_checker_of_robots(flight)
        quick = [flight for flight in ended if not flight.behaviour.done_after]
        self._say_done(spider, quick)
        for flight in ended:
            if flight.behaviour.done_after:
                self.at(flight.behaviour.done_after, partial(self._say_done, spider, [flight]))

    def _tell_checker_of_robots(self, flight: Flight) -> None:
        origin = flight.robots_of
        if origin is not None:
            is_last = not flight.behaviour.result.location
            delay = self.web.delay_of(origin) if is_last else 0
            self.checker.told_robots(origin, urlsplit(origin).netloc, delay)

    def _is_connected(self, spider: int, flight: Flight) -> bool:
        return self.is_up and flight.life == (self.server_life, self.spider_life[spider])

    def _say_working(self, spider: int, flight: Flight) -> None:
        if not flight.is_over and self._is_connected(spider, flight):
            self.frontier.in_flight.working(SpiderId(spider), flight.fetch.trans_id, self.clock.now())

    def _say_done(self, spider: int, flights: list[Flight]) -> None:
        said = [
            flight.fetch.trans_id
            for flight in flights
            if self._is_connected(spider, flight) and not flight.behaviour.is_silent
        ]
        in_flight, now = self.frontier.in_flight, self.clock.now()
        self._come_back(
            [trans_id for trans_id in said if in_flight.done(SpiderId(spider), trans_id, now)], ReturnReason.DONE
        )

    def kill_spider(self, spider: int) -> None:
        self._abort(self.flights[spider])
        self._ended[spider] = []
        self.spider_life[spider] += 1
        if self.is_up:
            self.frontier.in_flight.disconnect(SpiderId(spider))
            life = self.server_life, self.spider_life[spider]
            self.at(self.web.random.randrange(100, 40_000), lambda: self._reconnect(spider, life))

    def _reconnect(self, spider: int, life: tuple[int, int]) -> None:
        if not self.is_up or life != (self.server_life, self.spider_life[spider]):
            return
        orphans = [sent.trans_id for sent in self.frontier.in_flight.of(SpiderId(spider))]
        self._come_back(orphans, ReturnReason.LOST)
        self.frontier.in_flight.connect(SpiderId(spider))

    def _plan_accidents(self) -> None:
        choose = self.web.random
        span = 120_000
        for _ in range(self.kills):
            self.at(choose.randrange(span), partial(self.kill_spider, choose.randrange(self.spiders)))
        for _ in range(self.server_kills):
            self.at(choose.randrange(span), self.kill_server)
        for _ in range(self.moves):
            self.at(choose.randrange(span), self._move_host)

    def _move_host(self) -> None:
        host = self.web.by_name[f"h{self.web.random.randrange(self.web.hosts)}.example"]
        host.ip = self.web.any_ip()
