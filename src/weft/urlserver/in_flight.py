"""URLs that were sent and not settled yet: which spider has them, since when it is silent, and by what TRANS_ID."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Collection
from typing import NewType
from zlib import crc32

from weft.mgmt.values import DocId, LinkState, Outcome
from weft.urlserver.hosts import Host, Ip
from weft.urlserver.packed_link import PackedLink, claim_of, doc_id_of
from weft.wire import Slots, TransId, make_trans_id

SpiderId = NewType("SpiderId", int)


class SentUrl:
    """A URL that was sent and is not settled."""

    __slots__ = ("done_at", "host", "ip", "last_reply", "link", "place", "sent_at", "spider", "trans_id")

    def __init__(self, host: Host, ip: Ip, place: int, link: PackedLink, spider: SpiderId, now: int) -> None:
        self.host, self.ip, self.place, self.link, self.spider = host, ip, place, link, spider
        self.sent_at = self.last_reply = now
        self.done_at = 0
        """When DONE came; its outcome is being read since."""
        self.trans_id = TransId("")

    @property
    def doc_id(self) -> DocId:
        return doc_id_of(self.link)

    @property
    def claim(self) -> int:
        return claim_of(self.link)

    def is_over(self, outcome: Outcome | None) -> bool:
        """Tell whether a result is stored for this sending, or the link is not ours to ask for any more."""
        return outcome is not None and (outcome.claim != self.claim or outcome.state is not LinkState.CRAWLING)


class InFlight:
    def __init__(self, timeout: int, most_per_spider: int, generation: int) -> None:
        """`generation` must be higher than any that was ever used with these spiders."""
        self.timeout, self._most = timeout, most_per_spider
        self._generation = generation
        self._all: OrderedDict[TransId, SentUrl] = OrderedDict()
        """The one whose last reply is oldest first."""
        self._by_spider: dict[SpiderId, dict[TransId, SentUrl]] = {}
        self._by_domain: dict[str, int] = {}
        self._connected: list[SpiderId] = []
        self._room = 0
        self._allowed = sys.maxsize
        """How many more may be sent before somebody says so again."""
        self._held: frozenset[str] = frozenset()
        """Domains to which nothing is sent before somebody says so again."""

    def __len__(self) -> int:
        return len(self._all)

    @property
    def has_room(self) -> bool:
        return self._room > 0 and self._allowed > 0

    def allow(self, count: int = sys.maxsize) -> None:
        """No more than so many may be sent from now on."""
        self._allowed = count

    def hold(self, domains: Collection[str]) -> None:
        """Nothing may be sent to these domains from now on, and to all others again."""
        self._held = frozenset(domains)

    def has_room_for(self, host: Host) -> bool:
        """Whether the host's domain is not held, and it and its address have no more URLs in flight than there is room
        for others.

        So one domain gets half of the room at most, several share it, and a new one always finds some.
        """
        if host.domain in self._held:
            return False
        at_address = 0 if host.ip is None else host.ip.active
        return max(at_address, self._by_domain.get(host.domain, 0)) <= self._room

    def connect(self, spider: SpiderId) -> None:
        self._by_spider.setdefault(spider, {})
        self._connected = sorted({*self._connected, spider})
        self._measure()

    def disconnect(self, spider: SpiderId) -> None:
        """What the spider has stays in flight: a closed socket alone frees nothing."""
        self._connected = [other for other in self._connected if other != spider]
        self._measure()

    def choose(self, host: Host) -> SpiderId:
        """The spider for the host's next URL: its usual one, which may keep a connection, unless that is much busier.

        Only while there is room.
        """
        spiders = self._connected
        if len(spiders) == 1:
            return spiders[0]
        usual = spiders[crc32(host.name.encode()) % len(spiders)]
        load = len(self._by_spider[usual])
        least = min(spiders, key=lambda spider: len(self._by_spider[spider]))
        is_busier = load >= self._most or load > 2 * len(self._by_spider[least]) + 8
        return least if is_busier else usual

    def add(self, sent: SentUrl) -> TransId:
        self._generation += 1
        sent.trans_id = make_trans_id(Slots(sent.host.slot, sent.place, self._generation))
        self._all[sent.trans_id] = self._by_spider[sent.spider][sent.trans_id] = sent
        self._by_domain[sent.host.domain] = self._by_domain.get(sent.host.domain, 0) + 1
        self._room -= 1
        self._allowed -= 1
        return sent.trans_id

    def working(self, spider: SpiderId, trans_id: TransId, now: int) -> bool:
        """False: no such URL is in this spider's hands."""
        sent = self._by_spider[spider].get(trans_id)
        if sent is None:
            return False
        self._note_reply(sent, now)
        return True

    def done(self, spider: SpiderId, trans_id: TransId, now: int) -> SentUrl | None:
        """None: late, twice or made up; it frees nothing."""
        sent = self._by_spider[spider].get(trans_id)
        if sent is None or sent.done_at:
            return None
        sent.done_at = now
        self._note_reply(sent, now)
        return sent

    def find(self, trans_id: TransId) -> SentUrl | None:
        return self._all.get(trans_id)

    def remove(self, trans_id: TransId) -> SentUrl | None:
        sent = self._all.pop(trans_id, None)
        if sent is not None:
            del self._by_spider[sent.spider][trans_id]
            self._count_one_less(sent.host.domain)
            self._room += sent.spider in self._connected
        return sent

    def ips(self) -> set[Ip]:
        return {sent.ip for sent in self._all.values()}

    def links_by_host(self) -> dict[Host, list[PackedLink]]:
        """Goes through all that is in flight: for people who look, not for every URL."""
        found: dict[Host, list[PackedLink]] = {}
        for sent in self._all.values():
            found.setdefault(sent.host, []).append(sent.link)
        return found

    def loads(self) -> dict[SpiderId, int]:
        return {spider: len(in_flight) for spider, in_flight in self._by_spider.items()}

    def of(self, spider: SpiderId) -> list[SentUrl]:
        return list(self._by_spider[spider].values())

    def overdue(self, now: int) -> list[SentUrl]:
        """URLs without a reply for too long; each is returned again only after as long a time."""
        overdue = []
        while self._all:
            sent = next(iter(self._all.values()))
            if sent.last_reply + self.timeout > now:
                break
            self._note_reply(sent, now)
            if not sent.done_at:
                overdue.append(sent)
        return overdue

    def next_deadline(self) -> int | None:
        first = next(iter(self._all.values()), None)
        return None if first is None else first.last_reply + self.timeout

    def _count_one_less(self, domain: str) -> None:
        left = self._by_domain.pop(domain) - 1
        if left:
            self._by_domain[domain] = left

    def _measure(self) -> None:
        self._room = sum(self._most - len(self._by_spider[spider]) for spider in self._connected)

    def _note_reply(self, sent: SentUrl, now: int) -> None:
        sent.last_reply = now
        self._all.move_to_end(sent.trans_id)
