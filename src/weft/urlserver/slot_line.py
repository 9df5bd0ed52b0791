"""Who gets the next slot: hosts line up, but no domain and no address takes more than its share while others wait.

A host whose domain or address has its share is held until a slot of that domain or address is free again, or until
nobody else waits. Every host moves a bounded number of times for each slot that changes hands; nothing is scanned.
"""

from __future__ import annotations

from collections import OrderedDict

from weft.urlserver.hosts import Host, Ip

Group = str | Ip
"""A registrable domain, or an address."""


def groups_of(host: Host, ip: Ip | None) -> tuple[Group, ...]:
    return (host.domain,) if ip is None else (host.domain, ip)


class SlotShares:
    """How many slots each domain and each address has."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._counts: dict[Group, int] = {}
        self._excess: dict[Group, dict[Host, None]] = {}
        """For each group with more than its share, so many of its hosts as are too many."""

    @property
    def is_exceeded(self) -> bool:
        """Whether a domain or address has more than its share, which is fine until others wait."""
        return bool(self._excess)

    def take(self, host: Host) -> None:
        host.counted_at = host.ip
        for group in groups_of(host, host.ip):
            count = self._counts[group] = self._counts.get(group, 0) + 1
            if count > self._share:
                self._excess.setdefault(group, {})[host] = None

    def give_back(self, host: Host) -> list[Group]:
        """Returns the groups of the host that have less than their share now."""
        groups, host.counted_at = groups_of(host, host.counted_at), None
        return [group for group in groups if self._count_one_less(group, host) < self._share]

    def full_group(self, host: Host) -> Group | None:
        """The domain or address that keeps the host from taking a slot while others wait."""
        for group in groups_of(host, host.ip):
            if self._counts.get(group, 0) >= self._share:
                return group
        return None

    def first_to_go(self) -> Host | None:
        """A host of a domain or address with more than its share."""
        for hosts in self._excess.values():
            return next(reversed(hosts))
        return None

    def _count_one_less(self, group: Group, host: Host) -> int:
        left = self._counts.pop(group) - 1
        if left:
            self._counts[group] = left
        excess = self._excess.get(group)
        if excess:
            excess.pop(host if host in excess else next(iter(excess)))
            if not excess:
                del self._excess[group]
        return left


class SlotLine:
    """Hosts that may be asked and have no slot, the one that has waited longest first."""

    def __init__(self, shares: SlotShares) -> None:
        self._shares = shares
        self._next: OrderedDict[str, Host] = OrderedDict()
        self._held: dict[Group, OrderedDict[str, Host]] = {}
        self._held_by: dict[str, Group] = {}

    def __len__(self) -> int:
        return len(self._next) + len(self._held_by)

    def __contains__(self, host: Host) -> bool:
        return host.name in self._next or host.name in self._held_by

    @property
    def is_moving(self) -> bool:
        """Whether a host waits whose domain and address have less than their share."""
        return bool(self._next)

    def add(self, host: Host) -> None:
        group = self._shares.full_group(host)
        if group is None:
            self._next[host.name] = host
        else:
            self._hold(host, group)

    def discard(self, host: Host) -> None:
        if self._next.pop(host.name, None) is None and host.name in self._held_by:
            self._take_held(self._held_by[host.name], host)

    def pop(self) -> Host | None:
        """Whose turn it is; hosts beyond their share only if nobody else waits."""
        while self._next:
            _, host = self._next.popitem(last=False)
            group = self._shares.full_group(host)
            if group is None:
                return host
            self._hold(host, group)
        for group, hosts in self._held.items():
            return self._take_held(group, next(iter(hosts.values())))
        return None

    def release(self, group: Group) -> None:
        """The domain or address has less than its share: one of its hosts is next."""
        hosts = self._held.get(group)
        if hosts:
            host = self._take_held(group, next(iter(hosts.values())))
            self._next[host.name] = host
            self._next.move_to_end(host.name, last=False)

    def _hold(self, host: Host, group: Group) -> None:
        self._held.setdefault(group, OrderedDict())[host.name] = host
        self._held_by[host.name] = group

    def _take_held(self, group: Group, host: Host) -> Host:
        hosts = self._held.pop(group)
        del hosts[host.name], self._held_by[host.name]
        if hosts:
            self._held[group] = hosts  # behind the other groups
        return host
