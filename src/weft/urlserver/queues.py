"""The per-host queues: `count` slots, each `length` long; what does not fit is left over, up to a bound.

A host's links stand in one list in the order in which they came. With a slot, the first `length` of them are its queue
and the rest is left over; without one, all are. So leftovers move up by themselves and no order is ever lost. While a
host waits in line for a slot, none is empty and none is held by an idle host, one that cannot use it now.
"""

from __future__ import annotations

from collections import OrderedDict

from weft.urlserver.hosts import ARRIVING, UNSEATED, Host
from weft.urlserver.packed_link import PackedLink, is_robots
from weft.urlserver.slot_line import SlotLine, SlotShares

SHARE = 4
"""One domain, or one address, has at most one in so many slots while others wait."""


class Queues:
    def __init__(self, count: int, length: int, leftover_len: int) -> None:
        self.count, self.length, self.leftover_len = count, length, leftover_len
        self.slots: list[Host | None] = []
        """By slot number; grows up to `count`."""
        self.full: set[str] = set()
        """Hosts to reject because their queue is full; until it is half empty, so that links come in bulk."""
        self.slotless: dict[str, Host] = {}
        """Hosts with links and without a slot: in line for one, or waiting for something else first."""
        self.idle: OrderedDict[Host, int] = OrderedDict()
        """Hosts that have a slot and cannot use it now, and since when; the one that became so first is first."""
        self._shares = SlotShares(max(1, count // SHARE))
        self.line = SlotLine(self._shares)
        self.queued = self.leftovers = self.arriving = self.taken = 0
        """Links in all, left over, of hosts without an address; slots in use."""
        self._free: list[int] = []

    @property
    def has_empty(self) -> bool:
        return self.taken < self.count

    def is_room_for_others(self, idle_since: int) -> bool:
        """Whether a host from elsewhere would get a slot at once; slots that became idle later do not count.

        Who gives a slot up must be able to keep its links, or they would come and go without end.
        """
        if self.has_empty:
            return True
        if self.line.is_moving or self.leftovers >= self.leftover_len:
            return False
        return self._shares.is_exceeded or next(iter(self.idle.values()), idle_since + 1) <= idle_since

    def append(self, host: Host, link: PackedLink) -> bool:
        """Put a link behind the host's others; False: it fits nowhere and must be given back."""
        if not self._make_room(host):
            self.full.add(host.name)
            return False
        host.links.append(link)
        self._note_slotless(host)
        self.queued += 1
        if len(host.links) >= self.length:
            self.full.add(host.name)
        return True

    def put_first(self, host: Host, link: PackedLink) -> None:
        """Put a link before the host's others: robots.txt, or one that has to be sent again. It always fits."""
        self._count_one_more(host)
        host.links.insert(0, link)
        self._note_slotless(host)
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
        self._forget_slotless(host)
        return links

    def admit(self, host: Host) -> None:
        """The address of an arriving host is known: it may line up."""
        self.arriving -= len(host.links)
        host.slot = UNSEATED
        self.leftovers += len(host.links)
        self._note_slotless(host)

    def line_up(self, host: Host) -> Host | None:
        """Give a slot to a host without one, or let it wait for its turn; returns the host whose slot it took.

        It takes the slot of an idle host, or that of a domain or address with more than its share.
        """
        loser = None
        if not self.has_empty:
            loser = self._loser_to(host)
            if loser is None:
                self.line.add(host)
                return None
            self._vacate(loser)
        self._seat(host)
        return loser

    def set_idle(self, host: Host, now: int) -> Host | None:
        """The host cannot use its slot now; returns the one that is seated instead, if one waits in line."""
        if len(self.line):
            return self.unseat(host)
        self.idle.setdefault(host, now)
        return None

    def set_busy(self, host: Host) -> None:
        self.idle.pop(host, None)

    def unseat(self, host: Host) -> Host | None:
        """Take the slot from a host; returns the one that is seated instead. It does not line up by itself."""
        self._vacate(host)
        next_host = self.line.pop()
        if next_host is not None:
            self._seat(next_host)
        return next_host

    def overflow(self, host: Host) -> list[PackedLink]:
        """Take away the host's last links as far as too many are left over."""
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
            self._forget_slotless(host)
        return overflow

    def _loser_to(self, host: Host) -> Host | None:
        if self.idle:
            return next(iter(self.idle))
        return None if self._shares.full_group(host) else self._shares.first_to_go()

    def _vacate(self, host: Host) -> None:
        self.slots[host.slot] = None
        self._free.append(host.slot)
        host.slot = UNSEATED
        self.idle.pop(host, None)
        self.taken -= 1
        self.leftovers += min(len(host.links), self.length)
        self._note_slotless(host)
        for group in self._shares.give_back(host):
            self.line.release(group)

    def _note_slotless(self, host: Host) -> None:
        if host.slot == UNSEATED and host.links:
            self.slotless[host.name] = host

    def _forget_slotless(self, host: Host) -> None:
        self.slotless.pop(host.name, None)
        self.line.discard(host)

    def _seat(self, host: Host) -> None:
        self._forget_slotless(host)
        self._shares.take(host)
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
                self.line.discard(host)
            return False
        self._count_one_more(host)
        return True

    def _count_one_more(self, host: Host) -> None:
        if host.slot == ARRIVING:
            self.arriving += 1
        elif host.slot == UNSEATED or len(host.links) >= self.length:
            self.leftovers += 1
