"""Who gets the next slot: hosts line up, but no domain and no address takes more than its share while others wait.

A host whose domain or address has its share is held until a slot of that domain or address is free again, or until
nobody else waits. Every host moves a bounded number of times for each slot that changes hands; nothing is scanned.
"""

from __future__ import annotations

from collections import OrderedDict

from weft.urlserver.hosts import Host

Group = str
"""A registrable domain, or an address as `@` and its key."""


def groups_of(host: Host) -> tuple[Group, ...]:
    return (host.domain,) if host.ip is None else (host.domain, f"@{host.ip.key}")


class SlotShares:
    """How many slots each domain and each address has."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._groups: dict[Host, tuple[Group, ...]] = {}
        """As they were when the host got its slot: its address may change meanwhile."""
        self._hosts: dict[Group, dict[Host, None]] = {}
        self._over: dict[Group, None] = {}

    @property
    def is_exceeded(self) -> bool:
        """Whether a domain or address has more than its share, which is fine until others wait."""
        return bool(self._over)

    def take(self, host: Host) -> None:
        groups = self._groups[host] = groups_of(host)
        for group in groups:
            hosts = self._hosts.setdefault(group, {})
            hosts[host] = None
            if len(hosts) > self._share:
                self._over[group] = None

    def give_back(self, host: Host) -> list[Group]:
        """Returns the groups of the host that have less than their share now."""
        groups, below = self._groups.pop(host), []
        for group in groups:
            hosts = self._hosts[group]
            del hosts[host]
            if len(hosts) <= self._share:
                self._over.pop(group, None)
            if len(hosts) < self._share:
                below.append(group)
            if not hosts:
                del self._hosts[group]
        return below

    def full_group(self, host: Host) -> Group | None:
        """The domain or address that keeps the host from taking a slot while others wait."""
        for group in groups_of(host):
            if len(self._hosts.get(group, ())) >= self._share:
                return group
        return None

    def first_to_go(self) -> Host | None:
        """Of a domain or address with more than its share, the host that came last."""
        for group in self._over:
            return next(reversed(self._hosts[group]))
        return None


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
