"""All that the URL server decides. No I/O: time comes in with every call, fetches and requests go out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.config.sections import UrlserverSettings
from weft.mgmt.values import ClaimedLink, DocId, Outcome
from weft.model.site import Affects, SiteSettings
from weft.model.wait_reason import ROBOTS_ELSEWHERE, wait_reason
from weft.urlserver.hosts import ARRIVING, NEEDS_ADDRESS, Host, Ip
from weft.urlserver.in_flight import InFlight, SentUrl, SpiderId
from weft.urlserver.mgmt_messages import Deferral, HostAddress, MgmtReplies
from weft.urlserver.origin_robots import OriginRules, RobotsVerdict
from weft.urlserver.packed_link import PackedLink, doc_id_of, pack, url_of
from weft.urlserver.registry import Registry
from weft.urlserver.returns import ReturnReason, Returns
from weft.urlserver.server_tally import ServerTally
from weft.wire import Fetch, TransId

BUSY_ELSEWHERE = 5000
"""How long to wait while another URL server fetches a robots.txt that we need."""
MOST_JUDGED_OF_HOST = 8
"""Links of one host that are refused in a row: then other hosts have their turn, because judging a link takes time."""
JUDGING_REST = 10
"""Milliseconds until the next ones are judged, so that one host cannot take all the time there is."""
MOST_JUDGED = 128
"""Links of all hosts that are refused before due() ends, so that spiders and timers have theirs."""
JUST_LOCATED = 30_000
"""For so long after a look-up one request may be made, even if the DNS allows nobody to keep the address."""
SLOW_ANSWER = 2000
"""A host that has a queue and cannot use it for so long is a reason to claim links of others."""
LOOK_AGAIN = 250
"""How long a host waits whose domain or address has too many URLs with spiders."""


class Frontier:
    def __init__(self, settings: UrlserverSettings, *, generation: int = 0, tally: ServerTally | None = None) -> None:
        self._bound = max(settings.leftover_len, 10_000)
        self._tally = tally or ServerTally()
        self.registry = Registry(settings, self._tally)
        self.requests = self.registry.requests
        self.in_flight = InFlight(round(settings.timeout_spider_status * 1000), settings.spider_urls, generation)
        self.returns = Returns(self.registry, self.in_flight, settings.host_failures)
        self._refused = 0
        """Links, since due() was called."""

    # Links come in.

    def wants_links(self, now: int) -> bool:
        """More are wanted while a host from elsewhere would get a queue, unless too many wait for the DNS or rest."""
        queues = self.registry.queues
        resting = len(self.registry.hosts) - queues.taken
        has_room = queues.is_room_for_others(idle_since=now - SLOW_ANSWER)
        return has_room and queues.arriving < self._bound and resting < self._bound

    @property
    def is_empty(self) -> bool:
        return not (self.registry.queues.queued or len(self.in_flight) or self.requests)

    @property
    def has_foreign_in_flight(self) -> bool:
        """Tell whether URLs are under way to addresses that are not ours any more."""
        return any(not self.registry.ips.owns(ip) for ip in self.in_flight.ips())

    def known_links(self) -> set[DocId]:
        """All that the control plane may have given us: waiting, under way, or about to be handed back."""
        requests = self.requests
        known = {doc_id_of(link) for host in self.registry.hosts.values() for link in host.links}
        known.update(doc_id_of(link) for links in self.in_flight.links_by_host().values() for link in links)
        known.update(result.doc_id for result in requests.refuse)
        return known.union(requests.release, (doc_id for doc_id, _ in requests.lose))

    def reject_list(self) -> set[str]:
        """Hosts of which no more links are wanted: full, crowded at their address, failing, or without a queue."""
        registry = self.registry
        return registry.queues.full | registry.ips.crowded | registry.backing_off | registry.queues.slotless.keys()

    def offer(self, links: Iterable[ClaimedLink], now: int) -> None:
        for link in links:
            host = self.registry.meet(link.web_host)
            if not self.registry.append(host, pack(link), now):
                self.requests.release.append(link.doc_id)
            self.registry.proceed(host, now)

    def learn(self, replies: MgmtReplies, now: int) -> None:
        """Take in what the control plane replied."""
        for name, address in replies.addresses.items():
            self.locate(name, address, now)
        for name, settings in replies.settings.items():
            self.change_settings(name, settings, now)
        for name in replies.wanted:
            self.end_wait(name, now)
        for origin in replies.robots_unknown:
            self._robots_unknown(origin, replies.robots_failures.get(origin, 0), now)
        for origin, link in replies.robots_opened.items():
            self.robots_opened(origin, link, now)
        for origin, known in replies.robots_known.items():
            self.robots_known(origin, known, now)
        for origin in replies.robots_given_back:
            self._robots_given_back(origin, now)
        for origin in replies.robots_busy:
            self._robots_busy(origin, now)
        self.offer(replies.links, now)

    # What hosts need to know.

    def own(self, parts: Iterable[int], now: int) -> None:
        """These parts of all addresses are ours from now on; what waits for others is given back."""
        self.registry.ips.own(parts, now)
        for host in self.registry.ips.foreign_hosts():
            self.registry.release_all(host)
            self.registry.proceed(host, now)

    def locate(self, name: str, address: HostAddress, now: int) -> None:
        """The address of a host is known, or that it has none."""
        host = self.registry.hosts.get(name)
        if host is None:
            return
        host.needs &= ~NEEDS_ADDRESS
        if not address.ip:
            self._miss(host, address, now)
        elif not self.registry.ips.is_ours(address.ip_key):
            self.registry.release_all(host)
        else:
            host.address, host.expires = address.ip, address.expires
            host.just_located_until = now + JUST_LOCATED
            self._obey(host, address.settings, now)
            if host.ip is None:
                # Later on, we know better than what we had stored.
                self.registry.politeness.learned.remember(host, address.rate)
            self._settle(host, address.ip_key, now)
        self.registry.proceed(host, now)

    def _miss(self, host: Host, address: HostAddress, now: int) -> None:
        if address.may_change:
            self.registry.back_off(host, now, wait_reason(error=address.reason))
            self.registry.release_all(host)
        else:
            self.registry.refuse_all(host, address.reason)

    def end_wait(self, name: str, now: int) -> None:
        """A user wants a page of this host now: it waits no longer than its server asked for."""
        host = self.registry.hosts.get(name)
        if host is not None:
            self.registry.forget_verdicts(host, now)
            self.registry.reschedule(host, now)

    def change_settings(self, name: str, settings: SiteSettings, now: int) -> None:
        """A user changed what is set for a host; it is obeyed from now on."""
        host = self.registry.hosts.get(name)
        if host is not None and host.settings != settings:
            if host.settings.of(Affects.FETCH) != settings.of(Affects.FETCH):
                self.registry.forget_verdicts(host, now)
            self._obey(host, settings, now)
            self.registry.reschedule(host, now)

    def _obey(self, host: Host, settings: SiteSettings, now: int) -> None:
        politeness = self.registry.politeness
        had_gap = politeness.gap(host)
        had_places = politeness.places(host)
        host.obey_settings(settings)
        if host.ip is not None and (politeness.gap(host) > had_gap or politeness.places(host) < had_places):
            host.last = max(host.last, now)  # with several requests at a time their ends were not noted

    def robots_opened(self, origin: str, link: ClaimedLink, now: int) -> None:
        """A robots.txt, or what one redirects to, goes before everything else that waits for its host."""
        searcher = self.registry.origins.opened(origin, link.doc_id)
        if searcher is None:
            self.requests.release.append(link.doc_id)
            return
        host, packed = self.registry.meet(link.web_host), pack(link, is_robots=True)
        if searcher is not host:
            self.registry.origins.remember(host, packed)
        self.registry.put_first(host, packed)
        self.registry.reschedule(host, now)

    def robots_known(self, origin: str, known: OriginRules, now: int) -> None:
        host = self.registry.origins.learn(origin, known)
        if host is not None:
            if host.delay:
                host.last = max(host.last, now)  # with several requests at a time their ends were not noted
            self.registry.reschedule(host, now)

    def _robots_unknown(self, origin: str, failures: int, now: int) -> None:
        host = self.registry.origins.unknown(origin, failures)
        if host is not None:
            self.registry.proceed(host, now)

    def _robots_given_back(self, origin: str, now: int) -> None:
        """Whoever still waits for it asks again."""
        host = self.registry.origins.give_up(origin)
        if host is not None:
            self.registry.proceed(host, now)

    def _robots_busy(self, origin: str, now: int) -> None:
        host = self.registry.origins.give_up(origin)
        if host is not None:
            self.requests.defer[host.name] = Deferral(now + BUSY_ELSEWHERE, ROBOTS_ELSEWHERE)
            self.registry.release_all(host)
            self.registry.proceed(host, now)

    def _settle(self, host: Host, ip_key: str, now: int) -> None:
        was_at = host.ip
        self.registry.ips.attach(host, ip_key)
        if was_at is not host.ip:
            self.registry.schedule.leave(host)
            if was_at is not None:
                self.registry.leave_address(was_at)
        if host.slot == ARRIVING:
            self.registry.admit(host, now)

    # URLs go out and come back.

    def due(self, now: int) -> Iterator[tuple[SpiderId, Fetch]]:
        """Every URL that may be sent at `now` without rudeness, and the spider to send it to.

        It may end before all hosts had their turn: next_moment() then says that there is more to do at once.
        """
        registry, self._refused = self.registry, 0
        registry.wake(now)
        while self._may_go_on and (host := registry.schedule.next_host(now)) is not None:
            ip = host.ip
            if ip is not None and not self.in_flight.has_room_for(host):
                registry.schedule.postpone(host, ip, now + LOOK_AGAIN)
                continue
            link = self._next_link(host, now)
            if link is not None and ip is not None:
                yield self._send(host, ip, link, now)
            registry.proceed(host, now)
            if ip is not None:
                registry.schedule.plan(ip)

    def come_back(self, trans_id: TransId, reason: ReturnReason, outcome: Outcome | None, now: int) -> None:
        """A URL is out of a spider's hands, and this is what the control plane holds about it."""
        self.returns.take(trans_id, reason, outcome, now)
        if outcome is not None and outcome.replacement is not None:
            self.offer([outcome.replacement], now)

    def next_moment(self, *, may_send: bool) -> int | None:
        """When something is to be done if nothing happens."""
        moments = [self.registry.next_moment(), self.in_flight.next_deadline()]
        if may_send:
            moments.append(self.registry.next_waking())
        if may_send and self.in_flight.has_room:
            moments.append(self.registry.schedule.next_moment())
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def _may_go_on(self) -> bool:
        return self.in_flight.has_room and self._refused < MOST_JUDGED

    def _next_link(self, host: Host, now: int) -> PackedLink | None:
        """Take the first link that may be fetched, refusing a few others on the way; None: the host has to wait."""
        if host.expires <= now and host.just_located_until <= now:
            host.needs |= NEEDS_ADDRESS
            self.requests.resolve.append(host.name)
            return None
        if host.ip is not None and not self.registry.ips.owns(host.ip):
            self.registry.release_all(host)
        for link in host.links[:MOST_JUDGED_OF_HOST]:
            verdict = self.registry.origins.judge(host, link, now)
            if verdict is RobotsVerdict.UNKNOWN:
                self.registry.origins.search(host, link)
                return None
            self.registry.take(host)
            if verdict is RobotsVerdict.ALLOWED:
                host.just_located_until = 0
                return link
            self._refused += 1
            self.registry.refuse(link, host, self.registry.origins.refusal(host, link))
        host.wait_until = max(host.wait_until, now + JUDGING_REST)
        return None

    def _send(self, host: Host, ip: Ip, link: PackedLink, now: int) -> tuple[SpiderId, Fetch]:
        self._tally.sent += 1
        spider = self.in_flight.choose(host)
        place = self.registry.politeness.begin(host, ip, now)
        trans_id = self.in_flight.add(SentUrl(host, ip, place, link, spider, now))
        return spider, Fetch(trans_id, doc_id_of(link), host.address, url_of(link, host.name))
