"""The per-host queues: `count` slots, each `length` long; what does not fit is left over, up to a bound.

A host's links stand in one list in the order in which they came. With a slot, the first `length` of them are its queue
and the rest is left over; without one, all are. So leftovers move up by themselves and no order is ever lost. While a
host without a slot waits, none is free: an emptied slot goes to the host that has waited longest.
"""

from __future__ import annotations

from collections import OrderedDict

from weft.urlserver.hosts import ARRIVING, UNSEATED, Host
from weft.urlserver.packed_link import PackedLink, is_robots


class Queues:
    def __init__(self, count: int, length: int, leftover_len: int) -> None:
        self.count, self.length, self.leftover_len = count, length, leftover_len
        self.slots: list[Host | None] = []
        """By slot number; grows up to `count`."""
        self.full: set[str] = set()
        """Hosts to reject because their queue is full; until it is half empty, so that links come in bulk."""
        self.slotless: OrderedDict[str, Host] = OrderedDict()
        """Hosts with links and without a slot, the one that has waited longest first."""
        self.queued = self.leftovers = self.arriving = self.taken = 0
        """Links in all, left over, of hosts without an address; slots in use."""
        self._free: list[int] = []

    @property
    def has_empty(self) -> bool:
        return self.taken < self.count

    def append(self, host: Host, link: PackedLink) -> bool:
        """Put a link behind the host's others; False: it fits nowhere and must be given back."""
        self._welcome(host)
        if not self._make_room(host):
            self.full.add(host.name)
            return False
        host.links.append(link)
        self.queued += 1
        if len(host.links) >= self.length:
            self.full.add(host.name)
        return True

    def put_first(self, host: Host, link: PackedLink) -> None:
        """Put a link before the host's others: robots.txt, or one that has to be sent again. It always fits."""
        self._welcome(host)
        self._count_one_more(host)
        host.links.insert(0, link)
        self.queued += 1

    def take(self, host: Host) -> PackedLink:
        """The first link of a host that has a slot."""
        links = host.links
        self.queued -= 1
        if len(links) > self.length:
            self.leftovers -= 1
        elif len(links) == self.length // 2 + 1:
            self.full.discard(host.name)
        return links.pop(0)

    def clear(self, host: Host) -> list[PackedLink]:
        """Take all links of a host away; it keeps its slot."""
        links, host.links = host.links, []
        self.queued -= len(links)
        if host.slot == ARRIVING:
            self.arriving -= len(links)
        else:
            self.leftovers -= len(links) if host.slot == UNSEATED else max(0, len(links) - self.length)
        self.full.discard(host.name)
        self.slotless.pop(host.name, None)
        return links

    def admit(self, host: Host) -> list[PackedLink]:
        """The address of an arriving host is known: seat it or let it wait; returns the links that fit nowhere."""
        self.arriving -= len(host.links)
        host.slot = UNSEATED
        self.leftovers += len(host.links)
        if host.links:
            self.line_up(host)
        return self._overflow(host)

    def line_up(self, host: Host) -> None:
        """Give a slot to a host that has links and none; if none is free it waits for its turn."""
        if self.has_empty:
            self._seat(host)
        else:
            self.slotless[host.name] = host

    def unseat(self, host: Host) -> Host | None:
        """Take the slot from a host; returns the one that is seated instead. It does not line up by itself."""
        self.slots[host.slot] = None
        self._free.append(host.slot)
        host.slot = UNSEATED
        self.taken -= 1
        self.leftovers += min(len(host.links), self.length)
        next_host = next(iter(self.slotless.values()), None)
        if next_host is not None:
            self._seat(next_host)
        return next_host

    def _welcome(self, host: Host) -> None:
        if host.slot == UNSEATED and not host.links:
            self.line_up(host)

    def _seat(self, host: Host) -> None:
        self.slotless.pop(host.name, None)
        if self._free:
            host.slot = self._free.pop()
            self.slots[host.slot] = host
        else:
            host.slot = len(self.slots)
            self.slots.append(host)
        self.taken += 1
        self.leftovers -= min(len(host.links), self.length)
        if len(host.links) <= self.length // 2:
            self.full.discard(host.name)

    def _make_room(self, host: Host) -> bool:
        is_leftover = host.slot == UNSEATED or (host.slot >= 0 and len(host.links) >= self.length)
        if is_leftover and self.leftovers >= self.leftover_len:
            if not host.links:
                self.slotless.pop(host.name, None)
            return False
        self._count_one_more(host)
        return True

    def _count_one_more(self, host: Host) -> None:
        if host.slot == ARRIVING:
            self.arriving += 1
        elif host.slot == UNSEATED or len(host.links) >= self.length:
            self.leftovers += 1

    def _overflow(self, host: Host) -> list[PackedLink]:
        # robots.txt is in front and is always kept: others may wait for it.
        kept = sum(1 for link in host.links if is_robots(link))
        excess = min(self.leftovers - self.leftover_len, len(host.links) - kept)
        if host.slot >= 0:
            excess = min(excess, len(host.links) - self.length)
        if excess <= 0:
            return []
        fitting = len(host.links) - excess
        overflow, host.links = host.links[fitting:], host.links[:fitting]
        self.queued -= excess
        self.leftovers -= excess
        if not fitting:
            self.slotless.pop(host.name, None)
        return overflow
