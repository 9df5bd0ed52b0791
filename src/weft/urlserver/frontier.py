"""All that the URL server decides. No I/O: time comes in with every call, fetches and errands go out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import ClaimedLink, Outcome
from weft.model.fetch_error import FetchError
from weft.urlserver.errands import News, Place
from weft.urlserver.hosts import ARRIVING, NEEDS_ADDRESS, Host, Ip
from weft.urlserver.packed import PackedLink, doc_id_of, pack, url_of
from weft.urlserver.pending import Pending, Pendings, SpiderId
from weft.urlserver.registry import Registry
from weft.urlserver.returns import Returns, Why
from weft.urlserver.robots import Known, Verdict
from weft.wire import Fetch, TransId

BUSY_ELSEWHERE = 5000
"""How long to wait while another URL server fetches a robots.txt that we need."""


class Frontier:
    def __init__(self, settings: UrlserverSettings, *, generation: int = 0) -> None:
        self._bound = max(settings.leftover_len, 10_000)
        self.registry = Registry(settings)
        self.errands = self.registry.errands
        self.pendings = Pendings(round(settings.timeout_spider_status * 1000), settings.spider_urls, generation)
        self.returns = Returns(self.registry, self.pendings, settings.host_failures)

    # Links come in.

    @property
    def wants_links(self) -> bool:
        """More are wanted while a queue is empty, unless too many wait for the DNS or rest."""
        queues = self.registry.queues
        resting = len(self.registry.hosts) - queues.taken
        return queues.has_empty and queues.arriving < self._bound and resting < self._bound

    @property
    def is_empty(self) -> bool:
        return not (self.registry.queues.queued or len(self.pendings) or self.errands)

    @property
    def has_foreign_pendings(self) -> bool:
        """Tell whether URLs are under way to addresses that are not ours any more."""
        return any(not self.registry.addresses.owns(ip) for ip in self.pendings.ips())

    def reject_list(self) -> set[str]:
        """Hosts of which no more links are wanted: full, crowded at their address, failing, or without a queue."""
        registry = self.registry
        return (
            registry.queues.full | registry.addresses.crowded | registry.backing_off | registry.queues.slotless.keys()
        )

    def offer(self, links: Iterable[ClaimedLink], now: int) -> None:
        for link in links:
            host = self.registry.meet(link.web_host)
            if self.registry.queues.append(host, pack(link)):
                self.registry.addresses.count(host, 1)
            else:
                self.errands.release.append(link.doc_id)
            self.registry.go_on(host, now)

    def learn(self, news: News, now: int) -> None:
        """Take in what came of errands."""
        for name, place in news.places.items():
            self.locate(name, place, now)
        for origin in news.robots_unknown:
            self._robots_unknown(origin, news.robots_failures.get(origin, 0), now)
        for origin, link in news.robots_opened.items():
            self.robots_opened(origin, link, now)
        for origin, known in news.robots_known.items():
            self.robots_known(origin, known, now)
        for origin in news.robots_busy:
            self._robots_busy(origin, now)
        self.offer(news.links, now)

    # What hosts need to know.

    def own(self, parts: Iterable[int], now: int) -> None:
        """These parts of all addresses are ours from now on; what waits for others is given back."""
        addresses = self.registry.addresses
        addresses.own(parts, now)
        for host in addresses.foreign_hosts():
            self.registry.release_all(host)
            self.registry.go_on(host, now)

    def locate(self, name: str, place: Place, now: int) -> None:
        """The address of a host is known, or that it has none."""
        host = self.registry.hosts.get(name)
        if host is None:
            return
        host.needs &= ~NEEDS_ADDRESS
        if not place.ip:
            self._miss(host, place, now)
        elif not self.registry.addresses.is_ours(place.ip_key):
            self.registry.release_all(host)
        else:
            host.address, host.expires = place.ip, place.expires
            self._settle(host, place.ip_key)
        self.registry.go_on(host, now)

    def _miss(self, host: Host, place: Place, now: int) -> None:
        if place.may_change:
            self.registry.back_off(host, now)
            self.registry.release_all(host)
        else:
            self.registry.refuse_all(host, place.reason)

    def robots_opened(self, origin: str, link: ClaimedLink, now: int) -> None:
        """A robots.txt, or what one redirects to, goes before everything else that waits for its host."""
        searcher = self.registry.origins.opened(origin, link.doc_id)
        if searcher is None:
            self.errands.release.append(link.doc_id)
            return
        host, packed = self.registry.meet(link.web_host), pack(link, is_robots=True)
        if searcher is not host:
            self.registry.unseat(searcher, now)  # or all slots might wait for a host without one
            self.registry.origins.remember(host, packed)
        self.registry.put_first(host, packed)
        self.registry.reschedule(host, now)

    def robots_known(self, origin: str, known: Known, now: int) -> None:
        host = self.registry.origins.learn(origin, known)
        if host is not None:
            if host.delay:
                host.last = max(host.last, now)  # with several requests at a time their ends were not noted
            self.registry.reschedule(host, now)

    def _robots_unknown(self, origin: str, failures: int, now: int) -> None:
        host = self.registry.origins.unknown(origin, failures)
        if host is not None:
            self.registry.go_on(host, now)

    def _robots_busy(self, origin: str, now: int) -> None:
        host = self.registry.origins.give_up(origin)
        if host is not None:
            self.errands.defer[host.name] = now + BUSY_ELSEWHERE
            self.registry.release_all(host)
            self.registry.go_on(host, now)

    def _settle(self, host: Host, ip_key: str) -> None:
        was_at = host.ip
        self.registry.addresses.attach(host, ip_key)
        if was_at is not host.ip:
            self.registry.schedule.leave(host)
            if was_at is not None:
                self.registry.leave_address(was_at)
        if host.slot == ARRIVING:
            overflow = self.registry.queues.admit(host)
            self.registry.addresses.count(host, -len(overflow))
            self.errands.release += map(doc_id_of, overflow)

    # URLs go out and come back.

    def due(self, now: int) -> Iterator[tuple[SpiderId, Fetch]]:
        """Every URL that may be sent at `now` without rudeness, and the spider to send it to."""
        registry = self.registry
        while self.pendings.has_room and (host := registry.schedule.next_host(now)) is not None:
            ip = host.ip
            link = self._next_link(host, now)
            if link is not None and ip is not None:
                yield self._send(host, ip, link, now)
            registry.go_on(host, now)
            if ip is not None:
                registry.schedule.plan(ip)

    def come_back(self, trans_id: TransId, why: Why, outcome: Outcome | None, now: int) -> None:
        """A URL is out of a spider's hands, and this is what the control plane holds about it."""
        self.returns.take(trans_id, why, outcome, now)
        if outcome is not None and outcome.replacement is not None:
            self.offer([outcome.replacement], now)

    def next_moment(self, *, may_send: bool) -> int | None:
        """When something is to be done if nothing happens."""
        moments = [self.registry.next_moment(), self.pendings.next_deadline()]
        if may_send and self.pendings.has_room:
            moments.append(self.registry.schedule.next_moment())
        return min((moment for moment in moments if moment is not None), default=None)

    def _next_link(self, host: Host, now: int) -> PackedLink | None:
        """Take the first link that may be fetched, refusing others on the way; None: the host has to wait."""
        if host.expires <= now:
            host.needs |= NEEDS_ADDRESS
            self.errands.resolve.append(host.name)
            return None
        if host.ip is not None and not self.registry.addresses.owns(host.ip):
            self.registry.release_all(host)
        while host.links:
            verdict = self.registry.origins.judge(host, host.links[0], now)
            if verdict is Verdict.UNKNOWN:
                self.registry.origins.search(host, host.links[0])
                return None
            link = self.registry.take(host)
            if verdict is Verdict.ALLOWED:
                return link
            self.registry.refuse(link, host, FetchError.ROBOTS)
        return None

    def _send(self, host: Host, ip: Ip, link: PackedLink, now: int) -> tuple[SpiderId, Fetch]:
        spider = self.pendings.choose(host)
        place = self.registry.politeness.begin(host, ip, now)
        trans_id = self.pendings.add(Pending(host, ip, place, link, spider, now))
        return spider, Fetch(trans_id, doc_id_of(link), host.address, url_of(link, host.name))
