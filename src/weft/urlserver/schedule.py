"""Whose turn is it: hosts wait inside their address, addresses for the moment when one of their hosts may be asked.

An address is taken as a whole, so nothing polls and no two requests to it can race. Within an address the host that
may be asked since the earliest moment goes first: no host is overtaken by one that became ready later.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Generic, TypeVar

from weft.urlserver.hosts import NEVER, Host, Ip
from weft.urlserver.politeness import Politeness

T = TypeVar("T")

_SLOT_BITS = 24
_SLOT = (1 << _SLOT_BITS) - 1
_FEW = 64
"""So many entries that do not count any more are worth no work."""


class TimerWheel(Generic[T]):
    """One list per millisecond at which anything is due, and a heap of those milliseconds alone."""

    __slots__ = ("_lists", "_moments", "_open")

    def __init__(self) -> None:
        self._lists: dict[int, list[T]] = {}
        self._moments: list[int] = []
        self._open: list[T] = []

    def add(self, at: int, item: T) -> None:
        waiting = self._lists.get(at)
        if waiting is None:
            self._lists[at] = [item]
            heappush(self._moments, at)
        else:
            waiting.append(item)

    def take(self, now: int) -> T | None:
        """The next thing that is due, in the order of its moment, then of its arrival."""
        if not self._open:
            if not self._moments or self._moments[0] > now:
                return None
            self._open = self._lists.pop(heappop(self._moments))
            self._open.reverse()
        return self._open.pop()

    def next_moment(self) -> int | None:
        """When something is due; 0: at once."""
        if self._open:
            return 0
        return self._moments[0] if self._moments else None


class Schedule:
    def __init__(self, politeness: Politeness, slots: list[Host | None]) -> None:
        self._politeness = politeness
        self._slots = slots
        self._wheel: TimerWheel[Ip] = TimerWheel()

    def enter(self, host: Host) -> None:
        """Let a host with a slot and an address wait for its next start; again, if that moment has changed."""
        ip = host.ip
        if ip is None:
            raise ValueError(f"{host.name} has no address")
        self.postpone(host, ip, self._politeness.next_start(host))

    def postpone(self, host: Host, ip: Ip, moment: int) -> None:
        """Let a host with a slot wait until a moment that is not before its next start."""
        host.due = moment
        heappush(ip.waiting, moment << _SLOT_BITS | host.slot)
        if len(ip.waiting) > 2 * len(ip.hosts) + _FEW:
            self._tidy(ip)
        self.plan(ip)

    def leave(self, host: Host) -> None:
        # Its entry stays with the address and is passed over: only entries that name the host's moment count.
        host.due = 0

    def plan(self, ip: Ip) -> None:
        """Note the next moment at which the address may be asked, if there is one and it is new."""
        if ip.waiting and ip.active < self._politeness.ip_concurrent:
            first = ip.waiting[0] >> _SLOT_BITS
            # Not max(): this runs three times for each URL.
            moment = first if first > ip.next_start else ip.next_start
            if moment < ip.planned:
                ip.planned = moment
                self._wheel.add(moment, ip)

    def next_host(self, now: int) -> Host | None:
        """A host that may be asked now; the caller plans its address after asking (or not)."""
        while (ip := self._wheel.take(now)) is not None:
            if ip.planned > now:
                continue  # planned for a later moment since
            ip.planned = NEVER
            host = self._ready(ip, now)
            if host is not None:
                return host
            self.plan(ip)
        return None

    def next_moment(self) -> int | None:
        return self._wheel.next_moment()

    def _tidy(self, ip: Ip) -> None:
        """Drop entries of hosts that left their slot or wait for another moment."""
        ip.waiting = sorted({entry for entry in ip.waiting if self._host_of(entry, ip) is not None})

    def _host_of(self, entry: int, ip: Ip) -> Host | None:
        """The host that waits under this entry; None: it does not any more."""
        host = self._slots[entry & _SLOT]
        return host if host is not None and host.due == entry >> _SLOT_BITS and host.ip is ip else None

    def _ready(self, ip: Ip, now: int) -> Host | None:
        if ip.next_start > now:
            return None
        waiting = ip.waiting
        while waiting and waiting[0] >> _SLOT_BITS <= now:
            host = self._host_of(heappop(waiting), ip)
            if host is not None:
                host.due = 0
                return host
        return None
